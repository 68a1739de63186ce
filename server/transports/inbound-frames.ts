// Frames from clients, over WebSocket or in a streamed body: checked, stored and answered in order.

import type { DownFrame, Draft, UpFrame } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Timers } from '../../protocol/time.ts'
import { trace } from '../../protocol/trace.ts'
import { counted } from '../http/refusals.ts'
import { admitBeat, idOf } from '../hub/admission.ts'
import { Delivery } from '../hub/delivery.ts'
import type { Hub } from '../hub/hub.ts'
import type { Subscriber } from '../hub/subscriber.ts'
import { output } from '../output.ts'
import type { Grant } from '../security/grants.ts'
import { maxBytesFor, type TransportLimits, tooLargeFor } from './body-reader.ts'
import type { Budget, Source } from './budget.ts'
import { asStored, type DraftSender, diagnostics, levelsAround, parseJson, takeDraft } from './intake.ts'
import type { Mounting } from './transport.ts'

interface InboundParts extends Pick<Mounting, 'admission'> {
  readonly hub: Pick<Hub, 'waitMs' | 'stateWaitMs' | 'hurried' | 'refused' | 'heard' | 'take' | 'show'>
  readonly timers: Timers
  readonly limits: Pick<TransportLimits, 'maxMessageBytes' | 'bodySeconds'>
  readonly grant: Grant
  /** The sender, for the rate limit and heartbeats. */
  readonly window: Subscriber
  /** Fingerprint of the stream's key. */
  readonly fingerprint: string | null
  /** Receives the answers; null once it has ended. */
  readonly stream: () => Pick<Subscriber, 'send' | 'isBehind' | 'isClosed'> | null
  /** Paused for backpressure, instead of refusing frames. */
  readonly source: Source
  readonly budget: Budget
  /** The HTTP/2 session or the socket, for the budget. */
  readonly connection: object
  /** Must end the stream: the waiting frames exceed the budget. */
  readonly onRefused: (refusal: Refusal) => void
}

/** A function answers a PING; null is a frame that needs no answer. */
type Received = string | Refusal | (() => void) | null

interface Held {
  readonly frame: Received
  readonly bytes: number
}

const lookAgainMs = 50

/** Time in which a client must repeat a refused message, in addition to its retry delay. */
const repeatWithinMs = 5000

/** Processes frames of one stream in order, with rate limit and backpressure. */
export class InboundFrames {
  readonly #parts: InboundParts
  readonly #sender: DraftSender
  /** Frames that had been read before the pause: at most one read's worth. */
  #held: Held[] = []
  /** Charge for the held frames, and for a large one that waits for its turn. */
  readonly #charge: ReturnType<Budget['open']>
  #stopTimer: (() => void) | null = null
  #isPaused = false
  /** A frame waits for its turn, or its message is being completed: later frames wait. */
  #isBusy = false
  #hasBeaten = false
  /** The last pending answer, which waits for the log or for earlier answers. */
  #answered: Promise<void> | null = null
  /**
   * A refused message that the client must repeat: until then, messages it sent later
   * are refused too.
   */
  #awaited: { readonly id: string; readonly refusal: Refusal; readonly endsAt: number } | null = null

  constructor(parts: InboundParts) {
    const { source, fingerprint, grant } = parts
    const { id, mode } = parts.window.identity
    this.#parts = parts
    this.#sender = {
      how: `${mode.name} of ${id}`,
      source,
      fingerprint,
      grant,
      mustWait: (draft) => this.#mustWait(draft),
    }
    this.#charge = parts.budget.open(parts.connection, parts.onRefused)
  }

  handle(frame: Received): void {
    diagnostics.arrived.publish(this.#parts.source)
    const isQueued = this.#held.length > 0 || this.#isBusy
    const waitMs = isQueued ? 0 : this.#waitMs()
    const bytes = bytesOf(frame)
    if (!isQueued && waitMs === 0) return void this.#handleInTurn(frame, bytes)
    this.#held.push({ frame, bytes })
    this.#charge.set(this.#charge.bytes + bytes)
    this.#pause()
    if (waitMs > 0) this.#hold(waitMs)
  }

  stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = null
    this.#held = []
    this.#charge.end()
    this.#isPaused = false
  }

  /** Every frame counts, since each is parsed and answered. */
  #waitMs(): number {
    const { hub, window, stream } = this.#parts
    return stream()?.isBehind ? lookAgainMs : hub.waitMs(window)
  }

  #hold(waitMs: number): void {
    this.#stopTimer = this.#parts.timers.later(() => this.#handleHeld(), waitMs)
  }

  #pause(): void {
    if (!this.#isPaused) this.#parts.source.pause()
    this.#isPaused = true
  }

  #handleHeld(): void {
    const { source } = this.#parts
    this.#stopTimer = null
    for (let next = this.#held[0]; next; next = this.#held[0]) {
      const { frame, bytes } = next
      if (this.#isBusy) return
      const waitMs = this.#waitMs()
      if (waitMs > 0) return void this.#hold(waitMs)
      this.#held.shift()
      this.#charge.set(this.#charge.bytes - bytes)
      this.#handleInTurn(frame, bytes)
    }
    if (this.#isPaused) source.resume()
    this.#isPaused = false
  }

  #handleInTurn(frame: Received, bytes: number): void {
    const { budget, connection } = this.#parts
    let hasBegun = false
    budget.handle(connection, bytes, () => {
      hasBegun = true
      if (!this.#isBusy) return void this.#handleNow(frame, bytes)
      if (this.#charge.isOver) return
      this.#charge.set(this.#charge.bytes - bytes)
      this.#isBusy = false
      this.#handleNow(frame, bytes)
      this.#handleHeld()
    })
    if (hasBegun) return
    this.#isBusy = true
    this.#charge.set(this.#charge.bytes + bytes)
  }

  /** `ws` continues reading after `bye` until its peer closes too. Nothing read then is acknowledged. */
  #isOver(): boolean {
    const { stream, grant, timers } = this.#parts
    return stream()?.isClosed === true || grant.hasEnded(timers.now())
  }

  #handleNow(received: Received, bytes: number): void {
    const { hub, timers, window } = this.#parts
    if (this.#isOver()) return
    // The client's heartbeats wait in this queue: earlier frames count as signs of life.
    if (this.#hasBeaten) hub.heard(window)
    if (received === null) return
    if (typeof received === 'function') return void received()
    try {
      if (received instanceof Refusal) throw received
      const frame = frameIn(received)
      if (frame.type === 'heartbeat') {
        hub.heard(window, admitBeat(frame))
        this.#hasBeaten = true
      }
      // Immediately: it acknowledges nothing, and would be stale after the queue.
      else if (frame.type === 'clock') this.#say(answerClock(frame, timers.now()))
      else if (frame.type === 'awareness') this.#show(frame)
      else this.#publish(frame.message, bytes)
    } catch (error) {
      hub.refused(window, bytes)
      this.#answerInTurn(refusalFor(error))
    }
  }

  #show({ type: _, ...report }: Extract<UpFrame, { type: 'awareness' }>): void {
    const { hub, window, admission } = this.#parts
    if (hub.stateWaitMs(window) > 0) hub.hurried(window)
    hub.show(window, admission.awareness(report))
  }

  #publish(message: unknown, bytes: number): void {
    const { hub, timers, limits, grant, window, admission } = this.#parts
    if (bytes > maxBytesFor(grant, limits)) throw tooLargeFor(grant, limits, idOf(message))
    const draft = takeDraft(message, () => bytes, this.#sender, admission)
    const refused = (error: unknown) => {
      hub.refused(window, bytes)
      if (error instanceof Refusal && mustRepeat(error))
        this.#awaited ??= {
          id: draft.id,
          refusal: error,
          endsAt: timers.now() + (error.retryAfterMs ?? 0) + repeatWithinMs,
        }
      return refusalFor(error, draft.id)
    }
    const store = (completed: Draft) => {
      if (this.#isOver()) return
      const stored = hub.take(completed, window.identity.holder)
      this.#answerInTurn(stored instanceof Promise ? stored.catch(refused) : stored)
    }
    const { holder: { connection } = { connection: window } } = window.identity
    const completed = admission.complete?.(draft, grant, connection) ?? draft
    if (!(completed instanceof Promise)) return void store(completed)
    this.#isBusy = true
    void completed
      .then(store, (error) => this.#answerInTurn(refused(error)))
      .finally(() => {
        this.#isBusy = false
        this.#handleHeld()
      })
  }

  /** Until the client repeats such a message, its later ones are refused too. */
  #mustWait({ id }: Draft): void {
    if (this.#awaited && this.#awaited.id !== id && this.#parts.timers.now() < this.#awaited.endsAt)
      throw this.#awaited.refusal.about(id)
    this.#awaited = null
  }

  /** Keeps responses in order: storing may be slower than refusing. */
  #answerInTurn(said: DownFrame | Promise<DownFrame>): void {
    if (!this.#answered && !(said instanceof Promise)) return void this.#say(said)
    const turn = Promise.resolve(this.#answered)
      .then(async () => this.#say(await said))
      .catch((error) => output.incident('frame-failed', 'A frame could not be answered', error))
      .finally(() => {
        if (this.#answered === turn) this.#answered = null
      })
    this.#answered = turn
  }

  #say(frame: DownFrame): void {
    const { stream } = this.#parts
    if (frame.type === 'stored') trace.uplink?.(`${frame.id} answered: ${asStored(frame)}`)
    stream()?.send(new Delivery(frame))
  }
}

/** In UTF-8. */
const bytesOf = (frame: Received) => (typeof frame === 'string' ? Buffer.byteLength(frame) : 0)

const againAfterMs = 1000

function refusalFor(error: unknown, id: string | null = null): DownFrame {
  if (error instanceof Refusal) return counted(error).toJSON()
  output.incident('frame-failed', 'A frame could not be handled', error)
  // A retry may succeed: the disk may have been full.
  const again = id === null ? null : againAfterMs
  return counted(new Refusal('internal', 'The server failed on that frame.', id, again)).toJSON()
}

/** Whether the client sends the message again: later ones must not overtake it. */
const mustRepeat = ({ code }: Refusal) => code.startsWith('log-') || repeatedCodes.includes(code)

const repeatedCodes: readonly string[] = ['too-much-begun', 'application-failed']

/** Checks only the type; the rest is validated later. */
function frameIn(text: string): UpFrame {
  const frame = parseJson(text, levelsAround.frame, (given) => idOf(Object(given).message))
  if (typeof frame === 'object' && frame !== null && 'type' in frame) {
    if (frame.type === 'heartbeat' || frame.type === 'clock' || frame.type === 'awareness')
      return frame as UpFrame
    if (frame.type === 'publish' && 'message' in frame) return frame as UpFrame
  }
  const forms =
    '{"type":"publish","message":{…}}, {"type":"heartbeat"}, {"type":"clock","at":…} or {"type":"awareness","state":…}'
  throw new Refusal('bad-frame', `A frame is ${forms}.`)
}

/** `now` is both the time of receipt and of response, ms since the epoch. */
function answerClock({ at }: { readonly at?: unknown }, now: number): DownFrame {
  if (Number.isFinite(at)) return { type: 'clock', sent: at as number, received: now, at: now }
  throw new Refusal(
    'bad-shape',
    'A clock request must contain "at": the client\'s time, in ms since the epoch.',
  )
}
