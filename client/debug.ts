// For the option `debug`: a link that traces its events and its messages on the console.

import type { Bodies, DownFrame, Draft, Kind } from '../protocol/messages.ts'
import type { LinkMode } from '../protocol/modes.ts'
import type { Clock } from '../protocol/time.ts'
import { trace, turnOnTraces } from '../protocol/trace.ts'
import type { WakeUp } from './browser-services.ts'
import { Link, type LinkListener, type LinkOptions, type LinkState } from './link.ts'
import { BusyError, type OpenTransport, type WebTransport } from './transports/transport.ts'

/**
 * For `connect(url, { debug: debug('link,outbox') })`: turns on these sections of docs/testing.md, or
 * all by `*`. `write` receives lines.
 */
export function debug(
  sections: string,
  write: (line: string) => void = (line) => console.debug(line),
): typeof Link {
  const unknown = turnOnTraces(sections, (section, sentence) =>
    write(`${new Date().toISOString()} ${section.padEnd(8)} ${sentence}`),
  )
  if (unknown !== null) write(unknown)
  return TracedLink
}

class TracedLink extends Link {
  readonly #teller: Teller

  constructor(options: LinkOptions, listener: LinkListener) {
    const teller = new Teller(options.window, options.timers.now)
    const traced = Object.entries(options.transports).map(([name, one]) => [name, teller.tracing(one)])
    super({ ...options, transports: Object.fromEntries(traced) }, teller.before(listener))
    this.#teller = teller
  }

  override publish<K extends Kind>(channel: string, kind: K, body: Bodies[K]): Draft<K> | null {
    const draft = super.publish(channel, kind, body)
    if (draft) this.#teller.drafted(draft)
    else trace.outbox?.(`${this.#teller.window} has no room for another draft on ${channel}`)
    return draft
  }

  override switchMode(next: LinkMode): void {
    this.#teller.switched(next)
    super.switchMode(next)
  }

  override wake(by: WakeUp): void {
    trace.link?.(`${this.#teller.window} wakes up: ${by}`)
    super.wake(by)
  }

  protected override planProbe(): number | null {
    const pauseMs = super.planProbe()
    if (pauseMs !== null) this.#teller.planned(pauseMs)
    return pauseMs
  }
}

/** Traces a link's transports and its listener's events. */
class Teller {
  readonly window: string
  readonly #now: Clock
  /** How often each draft was sent, by id, until it is answered. */
  readonly #attempts = new Map<string, number>()
  #state: LinkState | null = null
  /** The mode that was opened last, except beside an open connection. */
  #tried = ''

  constructor(window: string, now: Clock) {
    this.window = window
    this.#now = now
  }

  /** Also called when the draft is sent, which may be before `publish` returns. */
  drafted({ id, kind, channel }: Draft): void {
    if (this.#attempts.has(id)) return
    this.#attempts.set(id, 0)
    trace.outbox?.(`${id} drafted: ${kind} on ${channel}`)
  }

  switched({ name }: LinkMode): void {
    this.#state = null
    trace.fallback?.(`${this.window} switches to ${name}, as it was told`)
  }

  planned(pauseMs: number): void {
    trace.fallback?.(`${this.window} tries ${this.#state?.preferred} again in ${Math.round(pauseMs)} ms`)
  }

  tracing({ name, open }: WebTransport): WebTransport {
    return {
      name,
      open: (opening, platform) => {
        const { mode, query, onFrame, onClose } = opening
        this.#opens(mode, query)
        const transport = open(
          {
            ...opening,
            onFrame: (frame, receivedAt) => {
              this.#received(mode, frame)
              onFrame(frame, receivedAt)
            },
            onClose: (closing) => {
              const { code, retryAfterMs } = closing
              const pause = retryAfterMs === null ? '' : `, to reopen in ${retryAfterMs} ms`
              trace.link?.(`${this.window} lost ${mode.name}: ${code}${pause}`)
              onClose(closing)
            },
          },
          platform,
        )
        const { send, outlivesPage, askClock } = transport
        return {
          send: (draft) => this.#sent(mode, draft, send),
          outlivesPage,
          beat: (beat) => transport.beat(beat),
          ...(askClock && { askClock }),
          sendAwareness: (report) => transport.sendAwareness(report),
          close: (isForGood) => {
            trace.link?.(`${this.window} closes ${mode.name}`)
            transport.close(isForGood)
          },
        }
      },
    }
  }

  before(listener: LinkListener): LinkListener {
    const settled = ({ id }: Draft, how: string) => {
      this.#attempts.delete(id)
      trace.outbox?.(`${id} ${how}`)
    }
    return {
      ...listener,
      onState: (state) => {
        this.#changed(state)
        listener.onState(state)
      },
      onMessage: (message, receivedAt, dueAt) => {
        listener.onMessage(message, receivedAt, dueAt)
        trace.link?.(`${message.id} applied by ${this.window}`)
      },
      onDenied: (error) => {
        trace.link?.(`${this.window} is not let in: ${error}`)
        listener.onDenied?.(error)
      },
      onNewLog: () => {
        trace.link?.(`${this.window} is in a new log: its numbers begin anew`)
        listener.onNewLog()
      },
      onMissed: (from, to) => {
        trace.link?.(`${this.window} missed messages from ${from} to ${to}; the newest follow`)
        listener.onMissed?.(from, to)
      },
      onStored: (draft, seq) => {
        settled(draft, `answered: stored as ${seq}`)
        listener.onStored(draft, seq)
      },
      onRefused: (draft, sentence, code) => {
        settled(draft, `refused: ${code}`)
        listener.onRefused(draft, sentence, code)
      },
      onRenamed: (id, ...drafts) => {
        this.#attempts.delete(id)
        const why =
          drafts.length > 1 ? 'together they are too large' : 'the log has another message of its id'
        trace.outbox?.(`${id} renamed ${drafts.map((draft) => draft.id).join(', ')}: ${why}`)
        listener.onRenamed?.(id, ...drafts)
      },
      onAdopted: (drafts) => {
        for (const { id } of drafts) trace.outbox?.(`${id} adopted: a closed window has left it`)
        listener.onAdopted?.(drafts)
      },
    }
  }

  #opens({ name }: LinkMode, query: URLSearchParams): void {
    const cursor = query.get('cursor')
    const from = cursor === null ? 'without a cursor' : `from ${cursor}`
    trace.link?.(
      `${this.window} opens ${name} ${from}, opening ${query.get('opening')}: ${query.get('channels')}`,
    )
    if (this.#state?.status === 'open' && this.#state.mode !== name)
      trace.fallback?.(`${this.window} tries ${name} beside ${this.#state.mode}`)
    else this.#tried = name
  }

  #received({ name }: LinkMode, frame: DownFrame): void {
    if (frame.type === 'message') {
      const { id, seq } = frame.message
      trace.link?.(`${id} received by ${this.window} over ${name}: stored as ${seq}`)
    } else if (frame.type === 'welcome') {
      const how = frame.recovered ? 'recovered' : 'not recovered'
      trace.link?.(`${this.window} is welcomed over ${name} at ${frame.cursor}: ${how}`)
    } else if (frame.type === 'omitted')
      trace.link?.(`${this.window} was not sent ${frame.count} messages that may be missed: it was too slow`)
  }

  async #sent({ name }: LinkMode, draft: Draft, send: OpenTransport['send']) {
    const { id } = draft
    if (draft.volatile) {
      trace.outbox?.(`${id} sent over ${name}: volatile`)
      return send(draft)
    }
    this.drafted(draft)
    const attempt = (this.#attempts.get(id) ?? 0) + 1
    this.#attempts.set(id, attempt)
    trace.outbox?.(`${id} sent over ${name}, attempt ${attempt}`)
    try {
      return await send(draft)
    } catch (error) {
      // The error's message may contain the address, and with it the key.
      if (error instanceof BusyError)
        trace.outbox?.(`${id} to be sent again in ${error.retryAfterMs} ms: the server is busy`)
      throw error
    }
  }

  #changed(state: LinkState): void {
    const before = this.#state
    this.#state = state
    const { mode, preferred, fallbackReason, reason, retryAt, repairs } = state
    if (repairs > (before?.repairs ?? 0))
      trace.link?.(`${this.window} reopens: a message before the heartbeat is missing`)
    // Skips a call that only reports a clock comparison.
    if (before?.status === state.status && before.mode === mode && before.retryAt === retryAt) return
    if (state.status === 'waiting') {
      const next =
        retryAt === null
          ? 'asks whether it is let in'
          : `tries ${mode} in ${Math.round(retryAt - this.#now())} ms`
      trace.fallback?.(`${this.window} ${next}, after ${this.#tried}: ${reason}`)
    } else if (state.status === 'open') {
      const why =
        mode === preferred ? 'as wished' : `instead of ${preferred}: ${fallbackReason ?? 'not known yet why'}`
      trace.fallback?.(`${this.window} uses ${mode}, ${why}`)
    }
  }
}
