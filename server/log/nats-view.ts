// A server's view of a NATS stream: a copy of its messages, and how far they may be erased.

import { setTimeout as pause } from 'node:timers/promises'
import {
  DeliverPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  type StreamInfo,
} from '@nats-io/jetstream'
import type { ObjectStore } from '@nats-io/obj'
import type { Cursor, Draft, Message } from '../../protocol/messages.ts'
import { rulesFor } from '../channels/channel-type.ts'
import { History } from './history.ts'
import { keptAsText, writerOf } from './kept-json.ts'
import { type LogParts, logUnavailable, type Memory } from './log.ts'
import { openInMemory } from './memory-log.ts'
import { bytesOf, createKept, type KeptMessage, type Life, readKept, subjectOf } from './nats-bucket.ts'
import { deliverWithinMs, reasonOf } from './nats-connection.ts'
import { Entry, Tables } from './tables.ts'

interface ViewParts extends LogParts {
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  /** The stream's name. */
  readonly name: string
  readonly life: Life
  readonly bucket: ObjectStore
  /** See `memoryWithin`. */
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

export class View {
  readonly history: History
  readonly #database = openInMemory()
  readonly #parts: ViewParts
  readonly #kept: ReturnType<typeof createKept>
  /** The number up to which each channel had dropped its messages before the start. */
  readonly #floors: ReadonlyMap<string, number>
  #erasing: Promise<void> | null = null

  /** Loads the content of the stream and the bucket. */
  static async load(parts: ViewParts): Promise<View> {
    const { client, manager, name, bucket, life } = parts
    const { state } = await manager.streams.info(name)
    const floor = state.messages > 0 ? state.first_seq - 1 : state.last_seq
    const loaded = new View(parts, { floor, kept: await readKept(bucket, life, floor) })
    if (state.messages === 0) return loaded
    const consumer = await client.consumers.get(name, from(state.first_seq))
    const messages = await consumer.consume(pulling)
    const late = setInterval(() => {
      if (loaded.history.head === seen) messages.stop()
      seen = loaded.history.head
    }, deliverWithinMs)
    let seen = loaded.history.head
    try {
      for await (const received of messages) {
        loaded.take(messageIn(received))
        if (received.seq >= state.last_seq) return loaded
      }
    } finally {
      clearInterval(late)
    }
    throw new Error(undelivered)
  }

  private constructor(parts: ViewParts, { floor, kept }: Start) {
    const { limits, typeOf, now, onFailure, life, bucket, memory } = parts
    this.#parts = parts
    this.#kept = createKept({ bucket, life, loaded: kept, onFailure })
    this.history = new History({
      tables: new Tables(this.#database, false),
      bases: this.#kept.baseStore,
      head: floor,
      erasesDropped: false,
      onChannelErased: (channel, before) => this.#eraseAll(channel, before),
      defer: setImmediate,
      typeOf,
      limits,
      memory,
      now,
      onFailure,
    })
    this.#floors = new Map(this.#kept.floors().map(({ channel, seq }) => [channel, seq]))
    this.history.noteGap(floor)
    for (const base of this.#kept.bases())
      if (rulesFor(typeOf, base.channel, base.kind).fold) this.history.adopt(base, bytesOf(base), true)
    for (const message of this.#kept.newest()) {
      const { channel, kind, seq } = message
      const isDropped = seq <= Math.max(floor, this.#floors.get(channel) ?? 0)
      if (isDropped && !rulesFor(typeOf, channel, kind).fold)
        this.history.adopt(message, bytesOf(message), false)
    }
    for (const [channel, seq] of this.#floors) this.history.noteGap(seq, channel)
  }

  /** Returns null if it is a repeat of another message, or was dropped before the start. */
  take(message: Message): Message | null {
    if (message.seq <= (this.#floors.get(message.channel) ?? 0)) {
      this.history.skip(message.seq)
      return null
    }
    const entry = new Entry(message, message.acceptedAt)
    const [stored] = this.history.insert([entry], message.seq)
    if (stored !== message.seq) {
      this.history.skip(message.seq)
      return null
    }
    this.history.add(message, entry.bytes, writerOf(message))
    this.#erasing ??= this.#eraseSome()
      .catch(this.#parts.onFailure)
      .finally(() => {
        this.#erasing = null
      })
    return message
  }

  /** Number of held messages before this number. */
  keptBefore(seq: number): number {
    return this.history.heldBefore(seq)
  }

  /** Minimum number of held messages that a stream in this state lacks. */
  lackedBy({ first_seq, last_seq, messages }: StreamInfo['state']): number {
    return Math.max(this.keptBefore(first_seq), this.keptBefore(last_seq + 1) - messages)
  }

  /** Another program has erased the messages before this number. */
  lostBefore(seq: number): void {
    this.history.dropBefore(seq)
  }

  /**
   * For a window that comes from a server ahead of this one: waits until this server has received as
   * much, if the stream has it. Rejects when that takes too long, because a snapshot would be older
   * than the window's state.
   */
  async catchUp({ epoch, seq }: Cursor): Promise<void> {
    const { manager, name, life } = this.#parts
    if (epoch !== life.epoch || seq <= this.history.head) return
    const late = AbortSignal.timeout(hearWithinMs)
    const { state } = await manager.streams.info(name).catch(notRead)
    if (seq > state.last_seq) return
    while (seq > this.history.head) {
      if (late.aborted) throw logUnavailable(late.reason)
      await pause(hearAgainMs)
    }
  }

  async close(): Promise<void> {
    await this.#erasing
    this.history.close()
    await this.#kept.written().catch(this.#parts.onFailure)
    this.#database.close()
  }

  #eraseAll(channel: string, before: number): void {
    this.#kept.erase(channel, before)
    // Done last: while something is in the bucket, the next start erases the rest.
    this.#kept
      .written()
      .then(() => this.#purge(channel, before))
      .catch(this.#parts.onFailure)
  }

  async #eraseSome(): Promise<void> {
    const dropped = this.history.eraser.take()
    if (!dropped) return
    const { channels } = dropped
    for (const { name, upTo, newest } of channels) {
      for (const message of newest()) this.#kept.keep(message)
      this.#kept.keepFloor(name, upTo)
    }
    // The stream may drop only messages that are stored elsewhere.
    await this.#kept.written()
    // The newest stays: a server that starts reads up to it.
    for (const { name, upTo } of channels) await this.#purge(name, Math.min(upTo + 1, this.history.head))
    dropped.erase()
    dropped.done()
  }

  /** Erases the channel's messages before this number from the stream. */
  async #purge(channel: string, before: number): Promise<void> {
    const { manager, name } = this.#parts
    await manager.streams.purge(name, { filter: subjectOf(name, channel), seq: before })
  }
}

function notRead(cause: unknown): never {
  throw logUnavailable(reasonOf(cause))
}

export const from = (seq: number) => ({ deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: seq })

export type StoredDraft = Draft & { readonly acceptedAt: number }

export function messageIn(received: JsMsg): Message {
  return keptAsText({ ...received.json<StoredDraft>(), seq: received.seq })
}
