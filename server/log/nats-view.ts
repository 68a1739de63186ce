// One server's view of a NATS stream: the newest messages, the state of every channel, and what may
// be erased. Loads the stream, reads back what it no longer holds, and catches up.

import { setTimeout as pause } from 'node:timers/promises'
import {
  DeliverPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  type StreamInfo,
} from '@nats-io/jetstream'
import type { ObjectStore } from '@nats-io/obj'
import type { Cursor, Draft, Kind, Message } from '../wire/messages.ts'
import { Folding } from './folding.ts'
import { keptAsText } from './kept-json.ts'
import { type LogParts, logUnavailable, type Memory } from './log.ts'
import { bytesOf, createKept, type KeptMessage, type Life, readKept, subjectOf } from './nats-bucket.ts'
import { deliverWithinMs, reasonOf } from './nats-connection.ts'
import { type Held, memoryWithin, type Portion, Tail } from './retention.ts'
import type { Archive } from './sequencer.ts'

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

export class View implements Archive {
  readonly tail: Tail
  readonly #folding: Folding
  readonly #parts: ViewParts
  readonly #kept: ReturnType<typeof createKept>
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
        loaded.take(messageIn(received))
        if (received.seq >= state.last_seq) return loaded
      }
    } finally {
      clearInterval(late)
    }
    throw new Error(undelivered)
  }

  private constructor(parts: ViewParts, { floor, kept }: Start) {
    const { limits, folds = {}, keepOn, now, onFailure, life, bucket } = parts
    this.#parts = parts
    this.#kept = createKept({ bucket, life, loaded: kept, onFailure })
    this.#folding = new Folding(
      {
        folds,
        bases: { ...this.#kept.bases, erase: (...which) => this.#eraseAll(...which) },
        defer: setImmediate,
        onFailure,
        onFolded: (messages) => messages.forEach((message) => void this.tail.superseded(message)),
        floor: (channel) => this.tail.retention.floorOf(channel),
      },
      this.#kept.stored((kind) => folds[kind] !== undefined),
    )
    const newest = this.#kept.newest((kind) => folds[kind] === undefined)
    const memory = memoryWithin(limits, parts.memory)
    this.tail = new Tail({ limits, memory, keepOn, now, folding: this.#folding, floor, newest })
    this.tail.retention.missed(floor)
    for (const { channel, seq } of this.#kept.floors()) this.tail.retention.missed(seq, channel)
  }

  take(message: Message): void {
    this.tail.add(message, bytesOf(message))
    this.#erasing ??= this.#eraseSome()
      .catch(this.#parts.onFailure)
      .finally(() => {
        this.#erasing = null
      })
  }

  /** How many messages before this number are held. */
  keptBefore(seq: number): number {
    return this.tail.retention.heldBefore(seq)
  }

  /** How many held messages a stream in this state lacks, at least. */
  lackedBy({ first_seq, last_seq, messages }: StreamInfo['state']): number {
    return Math.max(this.keptBefore(first_seq), this.keptBefore(last_seq + 1) - messages)
  }

  /** Another program has erased the messages before this number. */
  lostBefore(seq: number): void {
    this.tail.retention.lost(seq)
  }

  oldest(channel: string, kind: Kind) {
    return this.#folding.oldest(channel, kind)
  }

  /** Null if another server has erased some of the messages. */
  async after(seq: number, channels: ReadonlySet<string>): Promise<Portion | null> {
    const { held, upTo } = this.tail.retention.after(seq, channels)
    const recent = this.tail.inMemory(held)
    if (recent) return { messages: recent, upTo }
    const messages = await this.#readHeld(held)
    return messages && { messages, upTo }
  }

  async #readHeld(held: readonly Held[]): Promise<Message[] | null> {
    const byChannel = Map.groupBy(held, ({ channel }) => channel)
    const read = await Promise.all(Array.from(byChannel.values(), (group) => this.#readChannel(group)))
    const messages = read.flat().sort((one, other) => one.seq - other.seq)
    return messages.length === held.length ? messages : null
  }

  /** NATS 2.9 has no consumers of several subjects. Returns fewer if the stream lacks some. */
  async #readChannel(held: readonly Held[]): Promise<Message[]> {
    const { client, name, onFailure } = this.#parts
    const [first] = held
    if (!first) return []
    const subject = subjectOf(name, first.channel)
    const consumer = await client.consumers
      .get(name, { ...from(first.seq), filter_subjects: subject })
      .catch(notRead)
    try {
      const messages: Message[] = []
      for await (const received of await consumer.fetch({ ...pulling, max_messages: held.length })) {
        if (received.seq !== held[messages.length]?.seq) break
        messages.push(messageIn(received))
        if (messages.length === held.length) break
      }
      return messages
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

  async close(): Promise<void> {
    await this.#erasing
    this.#folding.close()
    await this.#kept.written().catch(this.#parts.onFailure)
  }

  #eraseAll(channel: string, before: number): void {
    this.#kept.erase(channel, before)
    // Last: while something is in the bucket, the next start erases the rest.
    this.#kept
      .written()
      .then(() => this.#purge(channel, before))
      .catch(this.#parts.onFailure)
  }

  async #eraseSome(): Promise<void> {
    const { retention } = this.tail
    const gone = retention.erasable()
    if (gone.length === 0 || !this.#folding.areErasable(gone)) return
    for (const { seq } of gone) {
      const newest = this.tail.newestAt(seq)
      if (newest) this.#kept.keep(newest)
    }
    // Each channel drops its oldest messages first.
    const floors = new Map(gone.map(({ channel, seq }) => [channel, seq]))
    for (const [channel, seq] of floors) this.#kept.keepFloor(channel, seq)
    // The stream may drop only messages that are stored elsewhere.
    await this.#kept.written()
    // The newest stays: a server that starts reads up to it.
    for (const [channel, seq] of floors) await this.#purge(channel, Math.min(seq + 1, this.tail.head))
    retention.erased(gone.length)
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
