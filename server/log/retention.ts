// What the log retains: its limits, the recent messages in memory, and what a file drops.

import {
  type Draft,
  deletedForMs,
  emptyForMs,
  hasContent,
  isKind,
  type Kind,
  logName,
  type Message,
  overviewChannel,
} from '../wire/messages.ts'
import type { Clock } from '../wire/time.ts'
import { upsert } from '../wire/upsert.ts'
import type { Folding } from './folding.ts'
import type { Bounds, Identified, LogParts, Memory } from './log.ts'

/** Whether the oldest message, accepted at `oldestAt` (ms since the epoch), must go. */
function exceeds(bounds: Bounds, held: Memory & { readonly oldestAt: number }, now: number): boolean {
  if (held.oldestAt + bounds.ageMs < now) return true
  return held.messages > bounds.messages || (held.bytes > bounds.bytes && held.messages > 1)
}

export interface Stored {
  readonly bytes: number
  readonly acceptedAt: number
}

/** Numbers from `floor` (exclusive) to `head`. */
export interface Extent {
  readonly floor: number
  readonly head: number
  readonly bytes: number
}

interface RetentionParts {
  readonly bounds: Bounds
  readonly now: Clock
  readonly extent: Extent
  /** Returns some of the oldest after `seq`, in order without a gap. */
  readonly oldestAfter: (seq: number) => readonly Stored[]
}

/**
 * At least `least`, so that neighbours leave a page together; at most `most`, so that no append
 * waits long.
 */
const erasePortion = {
  least: { messages: 64, bytes: 262_144 },
  most: { messages: 256, bytes: 2_097_152 },
}

/**
 * Which messages a file holds. Dropped ones count as gone at once and are erased later, in
 * portions.
 */
export class Retention {
  readonly #parts: RetentionParts
  #floor: number
  #head: number
  #heldBytes: number
  /** Messages read ahead after the floor, and the index of the oldest. */
  #upcoming: readonly Stored[] = []
  #place = 0
  /** Sizes of messages dropped but not erased, oldest first. */
  readonly #gone: number[] = []
  #goneBytes = 0

  constructor(parts: RetentionParts) {
    const { floor, head, bytes } = parts.extent
    this.#parts = parts
    this.#floor = floor
    this.#head = head
    this.#heldBytes = bytes
  }

  /** Messages after this number are held; earlier ones may not be erased yet. */
  get floor(): number {
    return this.#floor
  }

  /** Messages after this number are still stored. */
  get erasedTo(): number {
    return this.#floor - this.#gone.length
  }

  add(bytes: number): void {
    this.#head += 1
    this.#heldBytes += bytes
  }

  forget(): void {
    const { bounds, now } = this.#parts
    const time = now()
    for (let oldest = this.#findOldest(); oldest; oldest = this.#findOldest()) {
      const { bytes, acceptedAt } = oldest
      const held = { messages: this.#head - this.#floor, bytes: this.#heldBytes, oldestAt: acceptedAt }
      if (!exceeds(bounds, held, time)) return
      this.#drop(bytes)
    }
  }

  /** Drops everything up to this number, which another program has erased. */
  lost(upTo: number): void {
    for (let oldest = this.#findOldest(); oldest && this.#floor < upTo; oldest = this.#findOldest())
      this.#drop(oldest.bytes)
  }

  #drop(bytes: number): void {
    this.#floor += 1
    this.#place += 1
    this.#heldBytes -= bytes
    this.#gone.push(bytes)
    this.#goneBytes += bytes
  }

  /** The number of messages in the next portion; 0 for none. */
  erasable(): number {
    const { least, most } = erasePortion
    const gone = this.#gone
    if (gone.length < least.messages && this.#goneBytes < least.bytes) return 0
    let count = 0
    for (let sum = 0; count < Math.min(gone.length, most.messages) && sum < most.bytes; count += 1) {
      sum += gone[count] ?? 0
    }
    return count
  }

  erased(count: number): void {
    for (const size of this.#gone.splice(0, count)) this.#goneBytes -= size
  }

  /** Records that messages after the floor lost this many bytes. */
  shrank(bytes: number): void {
    this.#heldBytes -= bytes
    this.#upcoming = []
  }

  #findOldest(): Stored | undefined {
    if (this.#place >= this.#upcoming.length) {
      this.#upcoming = this.#floor < this.#head ? this.#parts.oldestAfter(this.#floor) : []
      this.#place = 0
    }
    return this.#upcoming[this.#place]
  }
}

/** A message that a channel keeps, or has dropped but not erased. */
interface Kept extends Stored {
  readonly seq: number
}

interface KeptChannel {
  readonly bounds: Bounds
  /** Oldest first. */
  readonly held: Kept[]
  bytes: number
  /** The channel's messages after this number are held. */
  floor: number
  gone: Kept[]
  goneBytes: number
}

/** What single channels keep, if that is less than the log does. */
export class ChannelRetention {
  readonly #boundsOf: NonNullable<LogParts['keepOn']>
  readonly #now: Clock
  readonly #logFloor: () => number
  readonly #channels = new Map<string, KeptChannel>()

  /** `logFloor` returns the number after which the log holds all messages. */
  constructor({ keepOn = () => undefined, now }: Pick<LogParts, 'keepOn' | 'now'>, logFloor: () => number) {
    this.#boundsOf = keepOn
    this.#now = now
    this.#logFloor = logFloor
  }

  add(channel: string, message: Kept): void {
    const bounds = this.#boundsOf(channel)
    if (!bounds) return
    const logFloor = this.#logFloor()
    const kept = upsert(this.#channels, channel, () => ({
      bounds,
      held: [],
      bytes: 0,
      floor: 0,
      gone: [],
      goneBytes: 0,
    }))
    kept.held.push(message)
    kept.bytes += message.bytes
    for (let oldest = kept.held[0]; oldest && oldest.seq <= logFloor; oldest = kept.held[0]) {
      kept.held.shift()
      kept.bytes -= oldest.bytes
    }
    this.#forget(kept)
  }

  /** The number after which the channel's messages are held. */
  floorOf(channel: string): number {
    const kept = this.#channels.get(channel)
    if (!kept) return 0
    this.#forget(kept)
    return kept.floor
  }

  /** The numbers of dropped messages, once it is worth erasing them: then they count as erased. */
  takeErasable(channel: string): readonly number[] {
    const kept = this.#channels.get(channel)
    const { least } = erasePortion
    if (!kept || (kept.gone.length < least.messages && kept.goneBytes < least.bytes)) return []
    const seqs = kept.gone.map(({ seq }) => seq)
    kept.gone = []
    kept.goneBytes = 0
    return seqs
  }

  forgetChannel(channel: string): void {
    this.#channels.delete(channel)
  }

  #forget(kept: KeptChannel): void {
    const now = this.#now()
    for (let oldest = kept.held[0]; oldest && kept.held.length > 1; oldest = kept.held[0]) {
      const held = { messages: kept.held.length, bytes: kept.bytes, oldestAt: oldest.acceptedAt }
      if (!exceeds(kept.bounds, held, now)) return
      kept.held.shift()
      kept.gone.push(oldest)
      kept.bytes -= oldest.bytes
      kept.goneBytes += oldest.bytes
      kept.floor = oldest.seq
    }
  }
}

export interface Portion {
  readonly messages: Message[]
  /** Last number examined. */
  readonly upTo: number
}

/** Takes a few ms. A larger message is a portion of its own. */
export const portion = { messages: 500, bytes: 1_048_576 }

/** Ids and senders contain no spaces. */
export const keyOf = ({ id, from, channel }: Identified) => `${id} ${from} ${channel}`

interface Held {
  readonly message: Message
  readonly bytes: number
}

/** Takes the place of a message whose document was erased, on a channel that nobody can read. */
export const blankAt = (seq: number, acceptedAt: number): Message<'erasure'> => ({
  id: '',
  channel: '',
  kind: 'erasure',
  from: '',
  at: 0,
  body: { head: 0 },
  seq,
  acceptedAt,
})

function erasureOf(channel: string, head: number, at: number): Draft<'erasure'> {
  return { id: `${logName}-${head}`, channel, kind: 'erasure', from: logName, at, body: { head } }
}

const usualMemory: Memory = { messages: 4096, bytes: 8_388_608 }

/** Limits for a tail in front of a file or a broker. */
export const boundsWithin = (limits: Bounds, { messages, bytes } = usualMemory): Bounds => ({
  messages: Math.min(messages, limits.messages),
  bytes: Math.min(bytes, limits.bytes),
  ageMs: limits.ageMs,
})

export class Tail {
  readonly #bounds: Bounds
  readonly #now: Clock
  readonly #folding: Folding
  readonly #channels: ChannelRetention
  #floor: number
  #head: number
  /** By number, in order. */
  readonly #held = new Map<number, Held>()
  #bytes = 0
  /** The tail and the messages of snapshots, but not bases. */
  readonly #index = new Map<string, Message>()
  readonly #newest = new Map<string, Map<Kind, Message>>()
  readonly #newestBySeq = new Map<number, Message>()
  readonly #heads = new Map<string, number>()
  /** The newest message of each deleted channel, in order. */
  readonly #deletions = new Map<string, Message<'deletion'>>()
  /** The newest message of each channel without content, in order. */
  readonly #empty = new Map<string, Message>()

  /**
   * Begins after `floor`; `newest` are the newest of each channel and kind up to there, in order.
   * `folding` holds those of cumulative kinds, `channels` what single ones keep of earlier messages.
   */
  constructor(
    bounds: Bounds,
    now: Clock,
    folding: Folding,
    floor = 0,
    newest: readonly Message[] = [],
    channels = new ChannelRetention({ now }, () => floor),
  ) {
    this.#bounds = bounds
    this.#now = now
    this.#folding = folding
    this.#channels = channels
    this.#floor = floor
    this.#head = floor
    for (const message of newest) {
      this.#setNewest(message)
      this.#index.set(keyOf(message), message)
    }
    for (const [channel, seq] of folding.heads()) {
      this.#empty.delete(channel)
      this.#heads.set(channel, Math.max(seq, this.#heads.get(channel) ?? 0))
    }
  }

  /** The newest number; 0 if there are none. */
  get head(): number {
    return this.#head
  }

  /** All messages after this number are held. */
  get floor(): number {
    return this.#floor
  }

  get heads(): ReadonlyMap<string, number> {
    return this.#heads
  }

  /** The number after which the channel's messages are held, if the log does not drop more. */
  floorOf(channel: string): number {
    return this.#channels.floorOf(channel)
  }

  /** `message.seq` is `head + 1`; `bytes` is its body's size. Enforces the bounds. */
  add(message: Message, bytes: number): void {
    this.#head = message.seq
    this.#held.set(message.seq, { message, bytes })
    this.#bytes += bytes
    if (isKind(message, 'erasure')) this.#erase(message)
    else {
      this.#keep(message, bytes)
      this.#drop(message, bytes)
    }
    this.forget()
  }

  /** Erases what the message's channel no longer keeps. */
  #drop({ channel, seq, acceptedAt }: Message, bytes: number): void {
    this.#channels.add(channel, { seq, bytes, acceptedAt })
    const seqs = this.#channels.takeErasable(channel)
    const first = seqs[0]
    const last = seqs.at(-1)
    if (first === undefined || last === undefined) return
    this.#folding.eraseStored(channel, last + 1, first - 1)
    for (const seq of seqs) this.#blank(seq)
  }

  #blank(seq: number): void {
    const held = this.#held.get(seq)
    if (!held) return
    this.#forgetId(held.message)
    this.#held.set(seq, { message: blankAt(seq, held.message.acceptedAt), bytes: 0 })
    this.#bytes -= held.bytes
  }

  #keep(message: Message, bytes: number): void {
    this.#index.set(keyOf(message), message)
    if (this.#folding.isCumulative(message.kind)) {
      this.#heads.set(message.channel, message.seq)
      this.#empty.delete(message.channel)
      this.#folding.add(message, bytes)
    } else {
      const former = this.#setNewest(message)
      if (former) this.superseded(former)
    }
  }

  /** The newest deletion of a deleted channel. */
  deletionOf(channel: string): Message<'deletion'> | undefined {
    return this.#deletions.get(channel)
  }

  /**
   * Erases the channel that was deleted first, once its time is over: all servers of a log create
   * the same draft.
   */
  dueErasure(): Draft<'erasure'> | null {
    const [deletion] = this.#deletions.values()
    if (!deletion) return null
    const { channel, seq, acceptedAt } = deletion
    const at = acceptedAt + deletedForMs
    if (this.#now() < at) return null
    return erasureOf(channel, this.#heads.get(channel) ?? seq, at)
  }

  /**
   * Erases the channel that has been without content for longest, if its last message is at least
   * an hour old.
   */
  emptyErasure(isInUse: (channel: string) => boolean): Draft<'erasure'> | null {
    const empty = this.#empty.values().find(({ channel }) => !isInUse(channel))
    if (!empty) return null
    const at = empty.acceptedAt + emptyForMs
    return this.#now() < at ? null : erasureOf(empty.channel, empty.seq, at)
  }

  #erase({ channel, seq, body }: Message<'erasure'>): void {
    if ((this.#heads.get(channel) ?? Number.POSITIVE_INFINITY) > body.head) return
    this.#eraseChannel(channel, seq)
    const overview = overviewChannel(channel)
    if (overview !== null) this.#eraseChannel(overview, seq)
  }

  #eraseChannel(channel: string, before: number): void {
    for (const message of this.#newest.get(channel)?.values() ?? []) {
      this.#newestBySeq.delete(message.seq)
      this.#forgetId(message)
    }
    this.#newest.delete(channel)
    for (const message of this.#folding.erase(channel, before)) this.#forgetId(message)
    for (const [seq, held] of this.#held) {
      if (held.message.channel === channel && seq < before) this.#blank(seq)
    }
    this.#channels.forgetChannel(channel)
    this.#deletions.delete(channel)
    this.#empty.delete(channel)
    this.#heads.delete(channel)
  }

  forget(): void {
    const time = this.#now()
    // By number: iterating a Map steps over every deleted entry first.
    for (let oldest = this.#held.get(this.#floor + 1); oldest; oldest = this.#held.get(this.#floor + 1)) {
      const { message, bytes } = oldest
      const { seq } = message
      const held = { messages: this.#held.size, bytes: this.#bytes, oldestAt: message.acceptedAt }
      if (!exceeds(this.#bounds, held, time)) return
      this.#floor = seq
      this.#bytes -= bytes
      this.#held.delete(seq)
      if (!this.isNewest(seq) && !this.#folding.isLoose(seq)) this.#forgetId(message)
    }
  }

  /** Snapshots no longer contain this message: below the floor its id is forgotten. */
  superseded(message: Message): void {
    if (message.seq <= this.#floor) this.#forgetId(message)
  }

  /** A newer message may have the id by now. */
  #forgetId(message: Message): void {
    const key = keyOf(message)
    if (this.#index.get(key) === message) this.#index.delete(key)
  }

  find(wanted: Identified): Message | undefined {
    return this.#index.get(keyOf(wanted))
  }

  /** A portion after `seq`, which must be at least `floor`. */
  after(seq: number, channels: ReadonlySet<string>): Portion {
    const messages: Message[] = []
    let size = 0
    for (let held = this.#held.get(seq + 1); held; held = this.#held.get(held.message.seq + 1)) {
      const { message, bytes } = held
      if (!channels.has(message.channel)) continue
      size += bytes
      const isFull = messages.length === portion.messages || size > portion.bytes
      if (messages.length > 0 && isFull) return { messages, upTo: message.seq - 1 }
      messages.push(message)
    }
    return { messages, upTo: this.#head }
  }

  /**
   * The newest of each kind on these channels, and all messages of cumulative kinds, in order; not
   * subject to the limits.
   */
  newestOn(channels: Iterable<string>): Message[] {
    const found = Array.from(channels, (channel) => [
      ...(this.#newest.get(channel)?.values() ?? []),
      ...this.#folding.on(channel),
    ])
    return found.flat().sort((one, other) => one.seq - other.seq)
  }

  isNewest(seq: number): boolean {
    return this.#newestBySeq.has(seq)
  }

  newestAt(seq: number): Message | undefined {
    return this.#newestBySeq.get(seq)
  }

  /** Returns the superseded message. */
  #setNewest(message: Message): Message | undefined {
    const { channel, kind, seq } = message
    const kinds = upsert(this.#newest, channel, () => new Map<Kind, Message>())
    const former = kinds.get(kind)
    kinds.set(kind, message)
    if (isKind(message, 'deletion')) {
      this.#deletions.delete(channel)
      if (message.body.deleted) this.#deletions.set(channel, message)
    }
    this.#empty.delete(channel)
    if (!kinds.values().some(hasContent) && !this.#folding.has(channel)) this.#empty.set(channel, message)
    this.#heads.set(channel, seq)
    this.#newestBySeq.set(seq, message)
    if (former) this.#newestBySeq.delete(former.seq)
    return former
  }
}
