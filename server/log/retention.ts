// What the log retains: its room, shared out by channel and by writer, and the messages in memory.

import { deletedForMs, emptyForMs, hasContent, overviewChannel } from '../page/page-messages.ts'
import { type Draft, isKind, type Kind, logName, type Message } from '../wire/messages.ts'
import type { Clock } from '../wire/time.ts'
import { upsert } from '../wire/upsert.ts'
import type { Folding } from './folding.ts'
import { writerOf } from './kept-json.ts'
import type { Bounds, Identified, LogParts, Memory } from './log.ts'

/** A message that the log holds, or has dropped but not erased. */
export interface Held {
  readonly seq: number
  readonly channel: string
  /** Of the body as JSON. */
  readonly bytes: number
  /** Ms since the epoch. */
  readonly acceptedAt: number
  /** Null if nobody vouches for the sender's name. */
  readonly writer: string | null
}

/** First in, first out, in the order of the numbers. */
class Queue<Item extends { readonly seq: number }> {
  #items: Item[] = []
  #start = 0

  get length(): number {
    return this.#items.length - this.#start
  }

  get first(): Item | undefined {
    return this.#items[this.#start]
  }

  push(item: Item): void {
    this.#items.push(item)
  }

  shift(): Item | undefined {
    const { first } = this
    if (!first) return undefined
    this.#start += 1
    // Halves at a time: removing the first item of a long list moves all others.
    if (this.#start * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#start)
      this.#start = 0
    }
    return first
  }

  /** Iterates over the items with greater numbers. */
  *after(seq: number): Generator<Item, undefined> {
    let from = this.#placeAfter(seq)
    for (let item = this.#items[from]; item; item = this.#items[from]) {
      yield item
      from += 1
    }
  }

  countBefore(seq: number): number {
    return this.#placeAfter(seq - 1) - this.#start
  }

  /** Of the first item with a greater number. */
  #placeAfter(seq: number): number {
    let from = this.#start
    let to = this.#items.length
    while (from < to) {
      const middle = (from + to) >>> 1
      if ((this.#items[middle]?.seq ?? 0) <= seq) from = middle + 1
      else to = middle
    }
    return from
  }
}

/** What takes room in the log: a channel or a writer. */
interface Party {
  weight: number
}

/** Finds a heavy party at once: no other is twice as heavy. */
class Heaviest<One extends Party> {
  /** By the binary logarithm of the weight, rounded down. */
  readonly #ranks: (Set<One> | undefined)[] = []

  change(party: One, by: number): void {
    const former = rankOf(party)
    party.weight += by
    const rank = rankOf(party)
    if (rank === former) return
    this.#ranks[former]?.delete(party)
    if (rank < 0) return
    this.#ranks[rank] ??= new Set()
    this.#ranks[rank].add(party)
  }

  find(): One | undefined {
    for (let rank = this.#ranks.length - 1; rank >= 0; rank -= 1) {
      const [first] = this.#ranks[rank] ?? []
      if (first) return first
    }
    return undefined
  }
}

const rankOf = ({ weight }: Party) => (weight > 0 ? Math.floor(Math.log2(weight)) : -1)

interface Writer extends Party {
  readonly rooms: Map<Room, number>
}

/** One channel's messages. */
interface Room extends Party {
  readonly keep: Bounds | undefined
  /** Oldest first. */
  readonly held: Queue<Held>
  bytes: number
  /** The channel's messages up to this number, if any, are not known here. */
  readonly begin: number
  /** The number of the newest message that was dropped; 0 for none. */
  dropped: number
  /** Its document was erased, and nothing was written there since. */
  isErased: boolean
}

/**
 * At least `least`, so that neighbours leave a page together; at most `most`, so that no append
 * waits long.
 */
const erasePortion = {
  least: { messages: 64, bytes: 262_144 },
  most: { messages: 256, bytes: 2_097_152 },
}

/** Takes a few ms. A larger message is a portion of its own. */
export const portion = { messages: 500, bytes: 1_048_576 }

/** Whether the oldest message must go. */
function exceeds(bounds: Bounds, { held, bytes }: Room, { acceptedAt }: Held, now: number): boolean {
  return held.length > bounds.messages || bytes > bounds.bytes || acceptedAt + bounds.ageMs < now
}

interface RetentionParts extends Pick<LogParts, 'keepOn' | 'now'> {
  readonly bounds: Bounds
  /** The number before the first message that is added. */
  readonly floor?: number | undefined
  /** Also called for messages of an erased channel. */
  readonly onDropped: (held: Held) => void
}

/**
 * Which messages the log holds: of each channel the newest ones. When the log is full, whoever takes
 * most of it pays with the oldest: the largest channel, or the channel where the largest writer
 * holds most, if that writer takes more than any channel. So a flood shortens no other channel that
 * takes less than half of an equal part.
 *
 * Dropped messages count as gone at once and are erased later, in portions.
 */
export class Retention {
  readonly #parts: RetentionParts
  /** The room that a message takes besides its bytes. */
  readonly #placeBytes: number
  readonly #rooms = new Map<string, Room>()
  readonly #writers = new Map<string, Writer>()
  readonly #largestRooms = new Heaviest<Room>()
  readonly #largestWriters = new Heaviest<Writer>()
  #count = 0
  #bytes = 0
  #head: number
  /** See `missed`. */
  #missing = 0
  #sweptAt = Number.NEGATIVE_INFINITY
  /** Dropped but not erased. */
  readonly #gone: Held[] = []
  #goneBytes = 0

  constructor(parts: RetentionParts) {
    this.#parts = parts
    this.#head = parts.floor ?? 0
    this.#placeBytes = Math.ceil(parts.bounds.bytes / parts.bounds.messages)
  }

  /** Drops what exceeds the limits, perhaps this message too. */
  add(held: Held): void {
    const { bounds, now } = this.#parts
    const { seq, channel, bytes } = held
    const time = now()
    this.#head = seq
    this.#count += 1
    this.#bytes += bytes
    const room = this.#roomOf(channel, seq - 1)
    room.isErased = false
    room.held.push(held)
    room.bytes += bytes
    this.#weigh(room, held, 1)
    this.#expire(room, time)
    this.#sweep(time)
    while (this.#count > bounds.messages || (this.#bytes > bounds.bytes && this.#count > 1)) {
      const payer = this.#payer()
      if (!payer) return
      this.#drop(payer)
    }
  }

  /**
   * Messages up to this number are missing: those of the channel, or, without one, of channels that
   * nobody knows.
   */
  missed(upTo: number, channel = ''): void {
    if (channel === '') this.#missing = Math.max(this.#missing, upTo)
    else this.#roomOf(channel, upTo).dropped = upTo
  }

  /** How many messages before this number are held. */
  heldBefore(seq: number): number {
    const time = this.#parts.now()
    let count = 0
    for (const room of this.#rooms.values()) {
      this.#expire(room, time)
      count += room.held.countBefore(seq)
    }
    return count
  }

  /** Drops the messages before this number, which another program has erased. */
  lost(before: number): void {
    for (const room of this.#rooms.values())
      while (room.held.first && room.held.first.seq < before) this.#drop(room)
  }

  /** The number after which all of the channel's messages are held. */
  floorOf(channel: string): number {
    const room = this.#rooms.get(channel)
    if (!room) return this.#missing
    this.#expire(room, this.#parts.now())
    return Math.max(room.dropped, Math.min(room.begin, this.#missing))
  }

  /**
   * A portion of what these channels hold after a number, in order, and the number up to which they
   * hold nothing else.
   */
  after(seq: number, channels: Iterable<string>): { readonly held: readonly Held[]; readonly upTo: number } {
    const found: Held[] = []
    let bytes = 0
    for (const held of merged(Array.from(channels, (one) => this.#rooms.get(one)?.held.after(seq)))) {
      bytes += held.bytes
      const isFull = found.length === portion.messages || bytes > portion.bytes
      if (found.length > 0 && isFull) return { held: found, upTo: held.seq - 1 }
      found.push(held)
    }
    return { held: found, upTo: this.#head }
  }

  /** Forgets the channel's messages before this number, which the store erases itself. */
  erase(channel: string, before: number): void {
    const room = this.#rooms.get(channel)
    if (!room) return
    for (let first = room.held.first; first && first.seq < before; first = room.held.first)
      this.#remove(room, first)
    room.isErased = true
    this.#leave(channel, room)
  }

  /** The next portion to erase, in the order in which they were dropped; empty for none. */
  erasable(): readonly Held[] {
    const { least, most } = erasePortion
    const gone = this.#gone
    if (gone.length < least.messages && this.#goneBytes < least.bytes) return []
    let count = 0
    for (let sum = 0; count < Math.min(gone.length, most.messages) && sum < most.bytes; count += 1) {
      sum += gone[count]?.bytes ?? 0
    }
    return gone.slice(0, count)
  }

  /** That many of the dropped messages were erased. */
  erased(count: number): void {
    for (const { bytes } of this.#gone.splice(0, count)) this.#goneBytes -= bytes
  }

  #roomOf(channel: string, begin: number): Room {
    return upsert(this.#rooms, channel, () => ({
      keep: this.#parts.keepOn?.(channel),
      held: new Queue<Held>(),
      bytes: 0,
      weight: 0,
      begin,
      dropped: 0,
      isErased: false,
    }))
  }

  #payer(): Room | undefined {
    const room = this.#largestRooms.find()
    const writer = this.#largestWriters.find()
    if (!room || !writer || writer.weight <= room.weight) return room
    let largest = room
    let most = 0
    for (const [one, weight] of writer.rooms) {
      if (weight <= most) continue
      largest = one
      most = weight
    }
    return largest
  }

  /** Looks at the age of messages on quiet channels from time to time. */
  #sweep(time: number): void {
    if (time - this.#sweptAt < this.#parts.bounds.ageMs / 100) return
    this.#sweptAt = time
    for (const room of this.#rooms.values()) this.#expire(room, time)
  }

  #expire(room: Room, time: number): void {
    const { bounds } = this.#parts
    for (let first = room.held.first; first; first = room.held.first) {
      const isOld = first.acceptedAt + bounds.ageMs < time
      const isMuch = room.keep && room.held.length > 1 && exceeds(room.keep, room, first, time)
      if (!isOld && !isMuch) return
      this.#drop(room)
    }
  }

  #drop(room: Room): void {
    const { first } = room.held
    if (!first) return
    room.dropped = first.seq
    this.#gone.push(first)
    this.#goneBytes += first.bytes
    this.#remove(room, first)
    this.#leave(first.channel, room)
  }

  /** Forgets the name of an erased channel. */
  #leave(channel: string, room: Room): void {
    if (!room.isErased || room.held.length > 0) return
    this.missed(room.dropped)
    this.#rooms.delete(channel)
  }

  #remove(room: Room, first: Held): void {
    room.held.shift()
    room.bytes -= first.bytes
    this.#count -= 1
    this.#bytes -= first.bytes
    this.#weigh(room, first, -1)
    this.#parts.onDropped(first)
  }

  #weigh(room: Room, { bytes, writer: name }: Held, sign: 1 | -1): void {
    const weight = (bytes + this.#placeBytes) * sign
    this.#largestRooms.change(room, weight)
    if (name === null) return
    const writer = upsert(this.#writers, name, () => ({ weight: 0, rooms: new Map<Room, number>() }))
    this.#largestWriters.change(writer, weight)
    const there = (writer.rooms.get(room) ?? 0) + weight
    if (there > 0) writer.rooms.set(room, there)
    else writer.rooms.delete(room)
    if (writer.weight === 0) this.#writers.delete(name)
  }
}

/** Merges lists that are in order into one. */
function* merged(lists: readonly (Iterator<Held> | undefined)[]): Generator<Held, undefined> {
  const next = lists.flatMap((list) => {
    const { value } = list?.next() ?? {}
    return list && value ? [{ list, held: value as Held }] : []
  })
  while (next.length > 0) {
    let least = 0
    for (const [place, { held }] of next.entries()) if (held.seq < (next[least]?.held.seq ?? 0)) least = place
    const one = next[least]
    if (!one) return
    yield one.held
    const { value, done } = one.list.next()
    if (done) next.splice(least, 1)
    else one.held = value
  }
}

export interface Portion {
  readonly messages: Message[]
  /** Last number examined. */
  readonly upTo: number
}

/** Ids and senders contain no spaces. */
export const keyOf = ({ id, from, channel }: Identified) => `${id} ${from} ${channel}`

/** Erases the channel if `head` is still its newest number. */
export function erasureOf(channel: string, head: number, at: number): Draft<'erasure'> {
  return { id: `${logName}-${head}`, channel, kind: 'erasure', from: logName, at, body: { head } }
}

const usualMemory: Memory = { messages: 4096, bytes: 8_388_608 }

/** Limits for a tail in front of a file or a broker. */
export const memoryWithin = (limits: Bounds, { messages, bytes } = usualMemory): Memory => ({
  messages: Math.min(messages, limits.messages),
  bytes: Math.min(bytes, limits.bytes),
})

interface TailParts extends Pick<LogParts, 'keepOn' | 'now'> {
  readonly limits: Bounds
  /** Of the messages in memory; by default all that the log holds. */
  readonly memory?: Memory
  /** Holds the messages of cumulative kinds. */
  readonly folding: Folding
  /** The number before the first message that is added. */
  readonly floor?: number
  /** The newest of each channel and kind up to there, in order. */
  readonly newest?: readonly Message[]
}

/** The messages in memory, of what the log holds, and the state of every channel. */
export class Tail {
  readonly retention: Retention
  readonly #memory: Memory | undefined
  readonly #now: Clock
  readonly #folding: Folding
  #head: number
  readonly #messages = new Map<number, Message>()
  /** Those that were in memory, oldest first; some are dropped since. */
  readonly #recent = new Queue<Held>()
  #bytes = 0
  #last: Message | undefined
  /** The messages in memory and those of snapshots, but not bases. */
  readonly #index = new Map<string, Message>()
  readonly #newest = new Map<string, Map<Kind, Message>>()
  readonly #newestBySeq = new Map<number, Message>()
  readonly #heads = new Map<string, number>()
  /** The newest message of each deleted channel, in order. */
  readonly #deletions = new Map<string, Message<'deletion'>>()
  /** The newest message of each channel without content, in order. */
  readonly #empty = new Map<string, Message>()

  constructor({ limits, memory, keepOn, now, folding, floor = 0, newest = [] }: TailParts) {
    this.retention = new Retention({
      bounds: limits,
      floor,
      keepOn,
      now,
      onDropped: (held) => this.#release(held),
    })
    this.#memory = memory
    this.#now = now
    this.#folding = folding
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

  /** The message with that number, if it was added. */
  get last(): Message | undefined {
    return this.#last
  }

  get heads(): ReadonlyMap<string, number> {
    return this.#heads
  }

  /** `message.seq` is greater than `head`; `bytes` is its body's size. Enforces the limits. */
  add(message: Message, bytes: number): void {
    const { seq, channel, acceptedAt } = message
    const held = { seq, channel, bytes, acceptedAt, writer: writerOf(message) }
    this.#head = seq
    this.#last = message
    this.#messages.set(seq, message)
    this.#bytes += bytes
    if (this.#memory) this.#recent.push(held)
    if (!isKind(message, 'erasure')) this.#keep(message, bytes)
    this.retention.add(held)
    if (isKind(message, 'erasure')) this.#erase(message)
    if (this.#memory) this.#evict(this.#memory)
  }

  /** The file or the broker still has what leaves the memory. */
  #evict({ messages, bytes }: Memory): void {
    while (this.#recent.length > messages || (this.#bytes > bytes && this.#messages.size > 1)) {
      const oldest = this.#recent.shift()
      if (!oldest) return
      this.#release(oldest)
    }
  }

  #release({ seq, bytes }: Held): void {
    const message = this.#messages.get(seq)
    if (!message) return
    this.#messages.delete(seq)
    this.#bytes -= bytes
    if (!this.isNewest(seq) && !this.#folding.isLoose(seq)) this.#forgetId(message)
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
    this.retention.erase(channel, before)
    this.#deletions.delete(channel)
    this.#empty.delete(channel)
    this.#heads.delete(channel)
  }

  /** Snapshots no longer contain this message: its id is forgotten unless it is in memory. */
  superseded(message: Message): void {
    if (!this.#messages.has(message.seq)) this.#forgetId(message)
  }

  /** A newer message may have the id by now. */
  #forgetId(message: Message): void {
    const key = keyOf(message)
    if (this.#index.get(key) === message) this.#index.delete(key)
  }

  find(wanted: Identified): Message | undefined {
    return this.#index.get(keyOf(wanted))
  }

  /** Those messages, in the same order; null if one is not in memory. */
  inMemory(held: readonly Held[]): Message[] | null {
    const messages = held.flatMap(({ seq }) => this.#messages.get(seq) ?? [])
    return messages.length === held.length ? messages : null
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
