// One server's view of a NATS stream: the newest messages, the state of every channel, and what may
// be erased. Loads the stream, reads back what it no longer holds, and catches up.

import { setTimeout as pause } from 'node:timers/promises'
import { DeliverPolicy, type JetStreamClient, type JetStreamManager, type JsMsg } from '@nats-io/jetstream'
import type { ObjectStore } from '@nats-io/obj'
import type { Cursor, Draft, Kind, Message } from '../wire/messages.ts'
import { Folding } from './folding.ts'
import { type LogParts, logUnavailable, type Memory } from './log.ts'
import { bytesOf, createKept, type KeptMessage, type Life, readKept, subjectOf } from './nats-bucket.ts'
import { deliverWithinMs, reasonOf } from './nats-connection.ts'
import {
  blankAt,
  boundsWithin,
  ChannelRetention,
  type Portion,
  portion,
  Retention,
  type Stored,
  Tail,
} from './retention.ts'
import type { Archive } from './sequencer.ts'

interface ViewParts extends LogParts {
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  /** The stream's name. */
  readonly name: string
  readonly life: Life
  readonly bucket: ObjectStore
  /** See `boundsWithin`. */
  readonly memory?: Memory | undefined
}

/** The state before the stream's first message. */
interface Start {
  readonly floor: number
  readonly kept: readonly KeptMessage[]
}

/** A consumer that misses two of these heartbeats (ms) is checked; one that is gone ends. */
export const pulling = { expires: 5000, idle_heartbeat: 1000, abort_on_missing_resource: true } as const
/** Deadline for receiving what another server has received already. */
const hearWithinMs = 2000
const hearAgainMs = 5
export const undelivered = 'the stream does not deliver messages that it accepted'

export class View implements Archive {
  readonly tail: Tail
  readonly #folding: Folding
  readonly #parts: ViewParts
  readonly #kept: ReturnType<typeof createKept>
  readonly #retention: Retention
  /** Messages after the retention's floor. */
  readonly #held = new Map<number, Stored & { readonly channel: string }>()
  #erasing: Promise<void> | null = null

  /** Loads everything that the stream and the bucket have. */
  static async load(parts: ViewParts): Promise<View> {
    const { client, manager, name, bucket, life } = parts
    const { state } = await manager.streams.info(name)
    const floor = state.messages > 0 ? state.first_seq - 1 : state.last_seq
    const loaded = new View(parts, { floor, kept: await readKept(bucket, life, floor) })
    if (state.messages === 0) return loaded
    const consumer = await client.consumers.get(name, from(state.first_seq))
    const messages = await consumer.consume(pulling)
    const late = setInterval(() => {
      if (loaded.tail.head === seen) messages.stop()
      seen = loaded.tail.head
    }, deliverWithinMs)
    let seen = loaded.tail.head
    try {
      for await (const received of messages) {
        // Missing messages in between were erased with their document.
        while (loaded.tail.head < received.seq - 1)
          loaded.take(blankAt(loaded.tail.head + 1, messageIn(received).acceptedAt))
        loaded.take(messageIn(received))
        if (received.seq >= state.last_seq) return loaded
      }
    } finally {
      clearInterval(late)
    }
    throw new Error(undelivered)
  }

  private constructor(parts: ViewParts, { floor, kept }: Start) {
    const { limits, folds = {}, now, onFailure, memory, life, bucket } = parts
    this.#parts = parts
    this.#kept = createKept({ bucket, life, loaded: kept, onFailure })
    this.#retention = new Retention({
      bounds: limits,
      now,
      extent: { floor, head: floor, bytes: 0 },
      oldestAfter: (seq) => {
        const stored = this.#held.get(seq + 1)
        return stored ? [stored] : []
      },
    })
    this.#folding = new Folding(
      {
        folds,
        bases: { ...this.#kept.bases, erase: (...which) => this.#eraseAll(...which) },
        defer: setImmediate,
        onFailure,
        onFolded: (messages) => messages.forEach((message) => void this.tail.superseded(message)),
        floor: () => this.#retention.floor,
      },
      this.#kept.stored((kind) => folds[kind] !== undefined),
    )
    const newest = this.#kept.newest((kind) => folds[kind] === undefined)
    const bounds = boundsWithin(limits, memory)
    const channels = new ChannelRetention(parts, () => this.#retention.floor)
    this.tail = new Tail(bounds, now, this.#folding, floor, newest, channels)
  }

  take(message: Message): void {
    const bytes = bytesOf(message)
    this.#held.set(message.seq, { bytes, acceptedAt: message.acceptedAt, channel: message.channel })
    this.#retention.add(bytes)
    this.tail.add(message, bytes)
    this.#retention.forget()
    this.#erasing ??= this.#eraseSome()
      .catch(this.#parts.onFailure)
      .finally(() => {
        this.#erasing = null
      })
  }

  floor(): number {
    this.#retention.forget()
    return this.#retention.floor
  }

  /** How many messages before this number it keeps, except those that were erased with their document. */
  keptBefore(seq: number): number {
    let count = 0
    for (let kept = this.floor() + 1; kept < seq; kept += 1)
      if (this.#held.has(kept) && !this.#isBlank(kept)) count += 1
    return count
  }

  /** Another program has erased the messages before this number. */
  lostBefore(seq: number): void {
    this.#retention.lost(seq - 1)
  }

  oldest(channel: string, kind: Kind) {
    return this.#folding.oldest(channel, kind)
  }

  /** Null if another server has erased some of the messages. */
  async after(seq: number, channels: ReadonlySet<string>): Promise<Portion | null> {
    if (seq >= this.tail.floor) return this.tail.after(seq, channels)
    const { client, name, onFailure } = this.#parts
    const count = Math.min(portion.messages, this.tail.floor - seq)
    const consumer = await client.consumers.get(name, from(seq + 1)).catch(notRead)
    try {
      const messages: Message[] = []
      let size = 0
      let upTo = seq
      for await (const received of await consumer.fetch({ ...pulling, max_messages: count })) {
        for (; upTo < received.seq - 1 && upTo < seq + count; upTo += 1)
          if (!this.#isBlank(upTo + 1)) return null
        if (upTo === seq + count) break
        const message = messageIn(received)
        const isAsked = channels.has(message.channel)
        if (isAsked) size += bytesOf(message)
        if (messages.length > 0 && size > portion.bytes) break
        if (isAsked) messages.push(message)
        upTo = received.seq
        if (upTo === seq + count) break
      }
      return { messages, upTo }
    } finally {
      await consumer.delete().catch(onFailure)
    }
  }

  /**
   * For a window that comes from a server that was ahead of this one: waits until this server has
   * received as much, if the stream has it. Rejects when that takes too long, because a snapshot
   * would be older than what the window has.
   */
  async catchUp({ epoch, seq }: Cursor): Promise<void> {
    const { manager, name, life } = this.#parts
    if (epoch !== life.epoch || seq <= this.tail.head) return
    const late = AbortSignal.timeout(hearWithinMs)
    const { state } = await manager.streams.info(name).catch(notRead)
    if (seq > state.last_seq) return
    while (seq > this.tail.head) {
      if (late.aborted) throw logUnavailable(late.reason)
      await pause(hearAgainMs)
    }
  }

  /** Whether the message with that number was erased with its document. */
  #isBlank(seq: number): boolean {
    return this.#held.get(seq)?.channel === ''
  }

  async close(): Promise<void> {
    await this.#erasing
    this.#folding.close()
    await this.#kept.written().catch(this.#parts.onFailure)
  }

  #eraseAll(channel: string, before: number, after = 0): void {
    const { manager, name, onFailure } = this.#parts
    this.#kept.erase(channel, before)
    for (const [seq, stored] of this.#held) {
      if (stored.channel !== channel || seq <= after || seq >= before) continue
      this.#held.set(seq, { channel: '', bytes: 0, acceptedAt: stored.acceptedAt })
      if (seq > this.#retention.floor) this.#retention.shrank(stored.bytes)
    }
    // Last: while something is in the bucket, the next start erases the rest.
    this.#kept
      .written()
      .then(() => manager.streams.purge(name, { filter: subjectOf(name, channel), seq: before }))
      .catch(onFailure)
  }

  async #eraseSome(): Promise<void> {
    const count = this.#retention.erasable()
    const after = this.#retention.erasedTo
    if (count === 0 || !this.#folding.areErasable(after, count)) return
    for (let seq = after + 1; seq <= after + count; seq += 1) {
      const newest = this.tail.newestAt(seq)
      if (newest) this.#kept.keep(newest)
    }
    // The stream may drop only messages that are stored elsewhere.
    await this.#kept.written()
    await this.#parts.manager.streams.purge(this.#parts.name, { seq: after + count + 1 })
    for (let seq = after + 1; seq <= after + count; seq += 1) this.#held.delete(seq)
    this.#retention.erased(count)
  }
}

function notRead(cause: unknown): never {
  throw logUnavailable(reasonOf(cause))
}

export const from = (seq: number) => ({ deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: seq })

export type StoredDraft = Draft & { readonly acceptedAt: number }

export function messageIn(received: JsMsg): Message {
  return { ...received.json<StoredDraft>(), seq: received.seq }
}
