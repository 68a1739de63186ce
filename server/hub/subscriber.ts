// A client's open stream: a bounded queue of frames, sent at the client's pace.

import { type Bye, type ByeCode, type Cursor, formatCursor, type Welcome } from '../../protocol/messages.ts'
import type { WindowMode } from '../../protocol/modes.ts'
import { isRefusal } from '../../protocol/refusal.ts'
import type { Clock, Random } from '../../protocol/time.ts'
import { trace } from '../../protocol/trace.ts'
import type { CatchUp, Log } from '../log/log.ts'
import { Delivery, type Framing, type RecentDeliveries } from './delivery.ts'
import { Pace } from './pace.ts'

/** The party whose quotas a client counts against. */
export interface QuotaHolder {
  /** The HTTP/2 session or the socket. */
  readonly connection: object
  /** Clients with the same account share quotas; null if there is none. */
  readonly account: string | null
}

export interface ClientIdentity {
  readonly id: string
  /** Fingerprint of the proven name's key, shared by a browser's clients; null for a free name. */
  readonly owner: string | null
  /** The user, as the application names it; absent if it names none. */
  readonly user?: string
  readonly channels: ReadonlySet<string>
  /** Those of its channels to which it may not write; absent if there are none. */
  readonly readOnly?: readonly string[]
  readonly mode: WindowMode
  /** Increases per opening: a stream replaces older ones of its client, never newer ones. */
  readonly opening: number
  /** Whether it says that it answers heartbeats. */
  readonly answers?: boolean
  /** Absent if nothing is counted. */
  readonly holder?: QuotaHolder
  /** Absent if its rights cannot be revoked. */
  readonly isRevoked?: () => boolean
}

/** A user of an application, or one client by its name. */
export type Who = { readonly user: string } | { readonly client: string }

/** The destination of a stream's bytes. */
interface Sink {
  /** Backpressure: after false, do not write until `drained()`. */
  readonly write: (bytes: Buffer) => boolean
}

export interface Joining extends ClientIdentity {
  /** End of the session, ms since the epoch; null for never. */
  readonly expiresAt: number | null
  readonly framing: Framing
  readonly sink: Sink
  /** Receives the missed messages still unread; returns false if they are too many, which cuts the stream. */
  readonly holds?: (deliveries: readonly Delivery[]) => boolean
  /** Called at most once, after the last write. */
  readonly end: (bye: Bye) => void
}

/** Shared by the streams of a hub. */
export interface SubscriberHub {
  /** Maximum size of a stream's queue, besides one portion of missed messages. */
  readonly queueBytes: number
  readonly heartbeatMs: number
  readonly now: Clock
  /** Largest state that a window may show. */
  readonly stateBytes: number
  readonly recent: RecentDeliveries
  readonly log: Pick<Log, 'read'>
  /** Delay before a client that was sent away should reconnect, ms; jittered. */
  readonly reconnectDelayMs: () => number
  readonly on: {
    /** The client has caught up and accepts frames. */
    readonly live: (subscriber: Subscriber) => void
    /** A client resumed but gets a snapshot instead of the messages it missed. */
    readonly unrecovered: () => void
    /** A message that may be missed was dropped from a full queue. */
    readonly omitted: () => void
    /** The server ends the stream and is about to tell the client. */
    readonly ended: (subscriber: Subscriber, code: ByeCode) => void
    /** An unexpected error cost the client its stream. */
    readonly failed: (error: unknown) => void
  }
}

/** Delay before clients that were sent away should reconnect; jittered, to spread them. */
const reconnectDelay = { minMs: 300, spreadMs: 1200 }

export const drawReconnectDelayMs = (random: Random) =>
  Math.round(reconnectDelay.minMs + random() * reconnectDelay.spreadMs)

/** Unsent bytes before a volatile message. */
const maxBytesBefore = 16_384

/** About a hundred acknowledgements, in addition to the connection's buffer. */
const maxAnswerBytes = 16_384

/**
 * Starts with `open`: welcome, the messages since the client's cursor or a snapshot, then live
 * delivery. Ends with `dismiss`, `end` or `fail`, which give a reason, or with `gone`.
 */
export class Subscriber {
  // Hot fields are adjacent to reduce cache misses.
  #isClosed = false
  #isLive = false
  #isFull = false
  readonly #framing: Framing
  readonly #sink: Sink
  readonly identity: Joining
  readonly #queue: SendQueue
  readonly #hub: SubscriberHub
  #missed: (Delivery | undefined)[] = []
  #replayedCount = 0
  #onReplayed: (() => void) | null = null
  #omittedReported = 0
  /** Number of the newest message written. */
  #newest = 0
  /** Null until a message was written that supersedes others. */
  #pace: Pace | null = null

  constructor(joining: Joining, hub: SubscriberHub) {
    this.#framing = joining.framing
    this.#sink = joining.sink
    this.identity = joining
    this.#queue = new SendQueue(joining.framing, hub.queueBytes, hub.on.omitted)
    this.#hub = hub
  }

  /** Never rejects. */
  async open(cursor: Cursor | null): Promise<void> {
    try {
      const head = await this.#catchUp(cursor)
      if (head === null || this.#isClosed) return
      this.begin(head)
      if (!this.#isClosed) this.#hub.on.live(this)
    } catch (error) {
      this.fail(error)
    }
  }

  /**
   * Reads in portions, to bound memory. Resolves to the number of the newest message sent; null if
   * the stream has ended.
   */
  async #catchUp(cursor: Cursor | null): Promise<number | null> {
    const { log, recent, on } = this.#hub
    const { channels } = this.identity
    let found = await recent.read(log, cursor, channels)
    if (cursor && !found.recovered) on.unrecovered()
    trace.stream?.(
      `${this.identity.id} is welcomed at ${formatCursor(found.head)}: ${
        found.recovered ? 'recovered' : cursor ? 'not recovered' : 'new'
      }, messages first: ${found.deliveries.length}`,
    )
    if (this.#isClosed) return null
    const welcome = new Delivery(welcomeTo(this.identity, found, this.#hub))
    await this.replay([welcome, ...found.deliveries])
    while (found.reached.seq < found.head.seq && !this.#isClosed) {
      found = await recent.read(log, found.reached, channels)
      if (!found.recovered) {
        // The client restarts from a snapshot.
        this.dismiss('overflow', 'The log advanced faster than this window could read it.')
        return null
      }
      await this.replay(found.deliveries)
    }
    return found.reached.seq
  }

  /** Sends missed messages. Resolves when the connection has accepted them, or on close. */
  replay(deliveries: readonly Delivery[]): Promise<void> {
    if (this.identity.holds?.(deliveries) === false) {
      this.gone()
      return Promise.resolve()
    }
    this.#missed = [...deliveries]
    this.#replayedCount = 0
    return new Promise((resolve) => {
      this.#onReplayed = resolve
      this.#replayOn()
    })
  }

  /** Starts live delivery with queued messages newer than `head`. */
  begin(head: number): void {
    // The catch-up contains messages that arrived during the read.
    this.#queue.dropUntil(head)
    this.#isLive = true
    this.#flush()
  }

  send(delivery: Delivery): void {
    if (this.#isClosed) return
    if (this.#isFlowing()) this.#write(delivery)
    else if (delivery.isVolatile) this.#sendSoon(delivery)
    else if (!this.#queue.push(delivery)) this.dismiss('overflow', 'This window fell too far behind.')
    else if (trace.stream && delivery.seq !== null)
      trace.stream(
        `${idOf(delivery)} waits for ${this.identity.id}, which ${this.#isLive ? 'is slow' : 'catches up'}: ${this.#queue.bytes} bytes`,
      )
  }

  /** Drops it for a client that catches up or is slow. */
  #sendSoon(delivery: Delivery): void {
    if (this.#isLive && this.#queue.bytes <= maxBytesBefore) this.#queue.push(delivery)
    else trace.stream?.(`${idOf(delivery)} is not sent to ${this.identity.id}, which is behind`)
  }

  /** Sends only if nothing is queued; for frames that would be stale by then. */
  offer(delivery: Delivery): boolean {
    if (!this.#isFlowing()) return false
    this.#write(delivery)
    return true
  }

  drained(): void {
    if (this.#isFull) trace.stream?.(`${this.identity.id} drained: ${this.#queue.bytes} bytes waited`)
    this.#isFull = false
    this.#flush()
  }

  /** The client has read everything up to the heartbeat of `at`. */
  answered(at: number): void {
    this.#pace?.answered(at, this.#hub.now())
    if (!this.#isClosed) this.#ask()
    this.#flush()
  }

  /** Ends the stream; the client resumes with a new one. */
  dismiss(code: ByeCode, sentence: string): void {
    // Reconnecting at once would replace the other stream again.
    const afterMs = code === 'replaced' ? this.#hub.reconnectDelayMs() : 0
    this.end(code, `${sentence} The window resumes where it left off.`, afterMs)
  }

  /** Ends the stream because of a server error. */
  fail(error: unknown): void {
    // The log reports its outages itself.
    if (!isRefusal(error, 'log-unavailable')) this.#hub.on.failed(error)
    const sentence = 'The server failed this window; the window resumes where it left off.'
    this.end('failed', sentence, this.#hub.reconnectDelayMs())
  }

  end(code: ByeCode, message: string, retryAfterMs: number): void {
    if (this.#isClosed) return
    trace.stream?.(`${this.identity.id} is sent away: ${code}, to reopen in ${retryAfterMs} ms. ${message}`)
    this.gone()
    this.#hub.on.ended(this, code)
    try {
      this.identity.end({ type: 'bye', code, message, retryAfterMs })
    } catch (error) {
      this.#hub.on.failed(error)
    }
  }

  /** The connection ended: no `bye` is possible. */
  gone(): void {
    this.#isClosed = true
    this.#endReplay()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Responses are unread: stop reading from the client. */
  get isBehind(): boolean {
    return !this.#isFlowing() && this.#queue.answerBytes > maxAnswerBytes
  }

  get backlogBytes(): number {
    return this.#queue.bytes
  }

  get dropped(): number {
    return this.#queue.omitted
  }

  #isFlowing(): boolean {
    return this.#isLive && !this.#isFull && !this.#isClosed && this.#pace?.isFull !== true
  }

  #write(delivery: Delivery): void {
    this.#put(delivery)
    if (delivery.series !== null) this.#pace ??= new Pace(this.identity.answers)
    this.#ask()
  }

  #ask(): void {
    if (!this.#pace?.mustAsk) return
    const at = this.#hub.now()
    this.#put(new Delivery({ type: 'heartbeat', newest: this.#newest, at }))
    this.#pace.asked(at)
  }

  #put(delivery: Delivery): void {
    try {
      const bytes = delivery.bytes(this.#framing)
      this.#isFull = !this.#sink.write(bytes)
      this.#pace?.wrote(bytes.length)
      this.#newest = delivery.seq ?? this.#newest
      if (trace.stream && delivery.seq !== null)
        trace.stream(
          `${idOf(delivery)} written to ${this.identity.id} by ${this.identity.mode.name}${this.#isFull ? ', which is full' : ''}`,
        )
    } catch (error) {
      this.fail(error)
    }
  }

  #flush(): void {
    if (this.#onReplayed) this.#replayOn()
    while (this.#isFlowing()) {
      const delivery = this.#queue.shift()
      if (!delivery) return
      // The dropped deliveries were older than this one.
      const count = this.#queue.omitted - this.#omittedReported
      this.#omittedReported += count
      if (count > 0) {
        trace.stream?.(
          `${this.identity.id} is not sent ${count} messages that may be missed: it was too slow`,
        )
        this.#write(new Delivery({ type: 'omitted', count }))
      }
      this.#write(delivery)
    }
  }

  #replayOn(): void {
    const missed = this.#missed
    for (
      ;
      this.#replayedCount < missed.length && !this.#isFull && !this.#isClosed;
      this.#replayedCount += 1
    ) {
      const delivery = missed[this.#replayedCount]
      // Written frames belong to the connection: release them here.
      missed[this.#replayedCount] = undefined
      if (delivery) this.#write(delivery)
    }
    if (this.#isClosed || (this.#replayedCount === missed.length && !this.#isFull)) this.#endReplay()
  }

  #endReplay(): void {
    this.#missed = []
    this.identity.holds?.([])
    const onReplayed = this.#onReplayed
    this.#onReplayed = null
    onReplayed?.()
  }
}

/** Of a message; for other frames, their type. */
export const idOf = ({ frame }: Delivery) =>
  'message' in frame && typeof frame.message === 'object' ? frame.message.id : frame.type

/**
 * Holds at most `maxBytes` of encoded frames, or one larger frame. When full, drops only frames that
 * may be missed.
 */
class SendQueue {
  readonly #framing: Framing
  readonly #maxBytes: number
  readonly #onOmitted: () => void
  readonly #waiting = new Set<Delivery>()
  /** The newest waiting delivery of each series, and its turn: how many must have been shifted before. */
  readonly #newest = new Map<string, { readonly delivery: Delivery; readonly turn: number }>()
  #shifted = 0
  #replaceable = 0
  bytes = 0
  answerBytes = 0
  omitted = 0

  constructor(framing: Framing, maxBytes: number, onOmitted: () => void) {
    this.#framing = framing
    this.#maxBytes = maxBytes
    this.#onOmitted = onOmitted
  }

  /** False if it does not fit: the subscriber must close, and the client resumes. */
  push(delivery: Delivery): boolean {
    if (delivery.series !== null) this.#supersede(delivery.series, delivery)
    const size = delivery.bytes(this.#framing).length
    while (this.#waiting.size > 0 && this.bytes + size > this.#maxBytes) {
      const oldest = this.#replaceable > 0 && this.#waiting.values().find((old) => old.isReplaceable)
      if (!oldest) return false
      this.#takeOut(oldest)
      this.omitted += 1
      this.#onOmitted()
    }
    this.#waiting.add(delivery)
    this.#count(delivery, 1)
    return true
  }

  shift(): Delivery | undefined {
    const [delivery] = this.#waiting
    if (!delivery) return undefined
    this.#shifted += 1
    this.#takeOut(delivery)
    return delivery
  }

  dropUntil(head: number): void {
    for (const delivery of this.#waiting)
      if (delivery.seq !== null && delivery.seq <= head) this.#takeOut(delivery)
  }

  /**
   * Takes out the waiting delivery of the series, which loses its place by that. After its turn it stays:
   * otherwise series that change faster than the client reads would starve.
   */
  #supersede(series: string, delivery: Delivery): void {
    const known = this.#newest.get(series)
    const turn = this.#shifted + this.#waiting.size
    const isEarly = known && this.#shifted <= known.turn
    if (isEarly) this.#takeOut(known.delivery)
    this.#newest.set(series, { delivery, turn: isEarly ? known.turn : turn })
  }

  #takeOut(delivery: Delivery): void {
    const { series } = delivery
    this.#waiting.delete(delivery)
    this.#count(delivery, -1)
    if (series !== null && this.#newest.get(series)?.delivery === delivery) this.#newest.delete(series)
  }

  #count(delivery: Delivery, sign: 1 | -1): void {
    const size = delivery.bytes(this.#framing).length * sign
    this.bytes += size
    if (delivery.isAnswer) this.answerBytes += size
    if (delivery.isReplaceable) this.#replaceable += sign
  }
}

export function welcomeTo(
  { id, user, readOnly, mode }: ClientIdentity,
  { head, recovered }: Pick<CatchUp, 'head' | 'recovered'>,
  { heartbeatMs, stateBytes, now }: Pick<SubscriberHub, 'heartbeatMs' | 'stateBytes' | 'now'>,
): Welcome {
  const cursor = formatCursor(head)
  const { http } = mode
  const named = user !== undefined && { user }
  return {
    type: 'welcome',
    window: id,
    ...named,
    ...(readOnly && { readOnly }),
    cursor,
    recovered,
    http,
    heartbeatMs,
    at: now(),
    stateBytes,
  }
}
