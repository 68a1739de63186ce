// Polling clients: each response contains everything after the request's cursor.

import { type Cursor, estimateLength, formatCursor } from '../../protocol/messages.ts'
import type { Timers } from '../../protocol/time.ts'
import { trace } from '../../protocol/trace.ts'
import { upsert } from '../../protocol/upsert.ts'
import type { Awareness } from './awareness.ts'
import { type CaughtUp, Delivery } from './delivery.ts'
import type { Registry } from './registry.ts'
import { type ClientIdentity, idOf, type SubscriberHub, welcomeTo } from './subscriber.ts'
import type { VolatileMessages } from './volatile.ts'

export interface Poll {
  readonly identity: ClientIdentity
  /** Acknowledges everything up to this cursor; the server keeps no queue. */
  readonly cursor: Cursor | null
  /** Longest wait for messages, ms; 0 responds at once. */
  readonly holdMs: number
  /** The client's first poll: responds at once, with a welcome. */
  readonly isFirst: boolean
  readonly signal: AbortSignal
}

export interface PollReply {
  readonly cursor: string
  readonly deliveries: readonly Delivery[]
}

interface PollsParts {
  readonly streams: SubscriberHub
  readonly registry: Registry
  readonly awareness: Awareness
  readonly volatile: VolatileMessages
  readonly timers: Timers
  /** Throws a `Refusal` when full or draining. */
  readonly admit: (identity: ClientIdentity) => void
  readonly onSent: (messages: number) => void
}

const drainLookMs = 10

export class Polls {
  readonly #parts: PollsParts
  /** Functions that end a hold, by channel. */
  readonly #held = new Map<string, Set<() => void>>()

  constructor(parts: PollsParts) {
    this.#parts = parts
  }

  /** Rejects with a `Refusal` when full or draining. */
  async poll(poll: Poll): Promise<PollReply> {
    const { registry, awareness, volatile } = this.#parts
    const { identity, cursor, holdMs, isFirst, signal } = poll
    this.#admit(identity)
    const isNew = registry.find(identity) === undefined
    const client = registry.polled(identity)
    if (isNew) registry.presenceChanged()
    // An earlier client of that name received it, not this one.
    if (client) awareness.polled(identity, isFirst)
    if (client && isFirst) client.lastPresence = null
    if (client && (isFirst || client.volatileSeen === null)) volatile.newsFor(client)
    // Registered before reading, so that messages in between end the hold.
    const { ended, end } = this.#hold(identity.channels, holdMs, signal)
    try {
      let found = await this.#read(cursor, identity.channels)
      if (!isFirst && holdMs > 0 && found.recovered && found.deliveries.length === 0) {
        const holding = registry.polled(identity, holdMs)
        if (!awareness.hasNewsFor(identity) && !(holding && volatile.hasNewsFor(holding))) await ended
        if (holding) holding.quietUntil = null
        // An aborted client may have left.
        if (!signal.aborted) {
          this.#admit(identity)
          registry.polled(identity)
        }
        found = await this.#read(cursor, identity.channels)
      }
      return this.#replyTo(poll, found)
    } finally {
      end()
    }
  }

  wake(channel: string): void {
    for (const end of this.#held.get(channel) ?? []) end()
  }

  heldOn(channel: string): number {
    return this.#held.get(channel)?.size ?? 0
  }

  wakeAll(): void {
    for (const channel of this.#held.keys()) this.wake(channel)
  }

  /**
   * Ends all held polls; resolves when all clients are notified, or at `until` (ms since the
   * epoch).
   */
  drain(until: number): Promise<void> {
    const { registry, timers } = this.#parts
    this.wakeAll()
    return new Promise((resolve) => {
      function look(): void {
        const isOver = registry.all().every(({ stream }) => stream) || timers.now() >= until
        if (isOver) resolve()
        else timers.later(look, Math.min(drainLookMs, until - timers.now()))
      }
      look()
    })
  }

  /** Also removes a refused client. */
  #admit(identity: ClientIdentity): void {
    const { registry, admit } = this.#parts
    try {
      admit(identity)
    } catch (refusal) {
      registry.dismiss(identity)
      throw refusal
    }
  }

  /** Skips portions without messages for this client. */
  async #read(cursor: Cursor | null, channels: ReadonlySet<string>): Promise<CaughtUp> {
    const { log, recent } = this.#parts.streams
    let found = await recent.read(log, cursor, channels)
    while (found.deliveries.length === 0 && found.reached.seq < found.head.seq)
      found = await recent.read(log, found.reached, channels)
    return found
  }

  /** Ends on a message, after `holdMs`, on abort, on drain, or by `end`. */
  #hold(channels: ReadonlySet<string>, holdMs: number, signal: AbortSignal) {
    const held = this.#held
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const stopTimer = this.#parts.timers.later(end, holdMs)
    signal.addEventListener('abort', end, { once: true })
    for (const channel of channels) upsert(held, channel, () => new Set()).add(end)
    function end(): void {
      stopTimer()
      signal.removeEventListener('abort', end)
      for (const channel of channels) {
        const known = held.get(channel)
        known?.delete(end)
        if (known?.size === 0) held.delete(channel)
      }
      resolve()
    }
    if (signal.aborted) end()
    return { ended, end }
  }

  #replyTo({ identity, cursor, isFirst, signal }: Omit<Poll, 'holdMs'>, found: CaughtUp): PollReply {
    const { streams, registry, awareness, volatile, onSent } = this.#parts
    const { queueBytes, on } = streams
    const { recovered, head } = found
    if (cursor && !recovered) on.unrecovered()
    // Never cut a snapshot: only the whole matches its cursor. Otherwise the next reply continues.
    const deliveries = recovered ? asManyAsFit(found.deliveries, queueBytes) : found.deliveries
    onSent(deliveries.length)
    if (trace.stream) {
      const { id, mode } = identity
      if (isFirst || !recovered)
        trace.stream(
          `${id} polls by ${mode.name} ${cursor ? `from ${formatCursor(cursor)}` : 'without a cursor'}: ${recovered ? 'recovered' : 'not recovered'}`,
        )
      for (const delivery of deliveries) trace.stream(`${idOf(delivery)} written to ${id} by ${mode.name}`)
    }
    const newest = deliveries.at(-1)?.seq
    const isWhole = deliveries.length === found.deliveries.length
    const isComplete = isWhole && found.reached.seq >= head.seq
    const client = registry.find(identity)
    // An aborted response must not count as delivered.
    const isHeard = client !== undefined && !signal.aborted
    const news = isHeard && registry.presenceNewsFor(client)
    const isWelcome = isFirst || !recovered || cursor?.epoch !== head.epoch
    return {
      cursor: formatCursor(newest && !isWhole ? { epoch: head.epoch, seq: newest } : found.reached),
      deliveries: [
        ...(isWelcome ? [new Delivery(welcomeTo(identity, found, streams))] : []),
        ...deliveries,
        ...(isComplete && newest ? [new Delivery({ type: 'heartbeat', newest, at: streams.now() })] : []),
        ...(isHeard && !client.stream ? volatile.newsFor(client) : []),
        ...(news ? [news] : []),
        ...(isHeard && !client.stream ? awareness.newsFor(identity) : []),
      ],
    }
  }
}

/** Returns at least one message, however large. */
function asManyAsFit(deliveries: readonly Delivery[], maxBytes: number): readonly Delivery[] {
  let bytes = 0
  const end = deliveries.findIndex(({ frame }, index) => {
    bytes += frame.type === 'message' ? estimateLength(frame.message.body) : 0
    return index > 0 && bytes > maxBytes
  })
  return end < 0 ? deliveries : deliveries.slice(0, end)
}
