// Holds a log's messages: its tables, the newest in memory, and the choice of which to drop for room.

import { type Draft, isKind, type Kind, type Message } from '../../protocol/messages.ts'
import type { Clock } from '../../protocol/time.ts'
import type { Content, TypeOf } from '../channels/channel-type.ts'
import { Channel, type Pile } from './channel.ts'
import { DroppedMessages, erasePortion } from './dropped-messages.ts'
import { Expiries } from './expiries.ts'
import { Folding } from './folding.ts'
import type {
  Bounds,
  ChannelFigures,
  Defer,
  Earlier,
  Identified,
  Memory,
  OldestContent,
  OnFailure,
} from './log.ts'
import { type Portion, portion, RecentMessages } from './recent-messages.ts'
import { Shares } from './retention.ts'
import { type BaseStore, Entry, type Held, missing, type Placed, type Tables } from './tables.ts'

/** Number of a channel's oldest messages that are examined together. */
const aheadCount = 64

/** Number of messages whose age is examined together. */
const agedCount = 500

/**
 * `enough`: only if there are enough dropped messages for a portion; `what there is`: any number; `at
 * the end`: any number, and nothing is folded first.
 */
type Erasing = 'enough' | 'what there is' | 'at the end'

/** A channel whose messages may be erased up to a number, except some. */
interface Erasable {
  readonly name: string
  /** In the tables. */
  readonly number: number
  readonly upTo: number
  readonly survivors: readonly number[]
  /** Reads the survivors. */
  readonly newest: () => readonly Message[]
}

interface HistoryParts {
  readonly tables: Tables
  readonly typeOf: TypeOf
  readonly limits: Bounds
  /** See `RecentMessages`. */
  readonly memory?: Memory | undefined
  readonly now: Clock
  readonly onFailure: OnFailure
  /** Runs work that no append needs to wait for. */
  readonly defer: Defer
  /** Where bases are, if not in the tables. */
  readonly bases?: BaseStore
  /** The number before the first message that is added; by default the tables'. */
  readonly head?: number
  /** If false, the log's owner erases dropped messages (`takeDropped`). */
  readonly erases?: boolean
  /** Whether the tables are read again by a later start. */
  readonly isLasting?: boolean
  /** Whether all messages are read and checked at the start. */
  readonly isChecked?: boolean
  /** Called when a channel was erased by a message with that number. */
  readonly onChannelErased?: (channel: string, before: number) => void
  /** Called when messages with so many bytes were erased. */
  readonly onErased?: (bytes: number) => void
  /** Called when nothing is left of any erased channel. */
  readonly onNothingLeft?: () => void
}

/**
 * Holds the newest messages of each channel. Dropped messages count as gone at once and are erased
 * later, in portions; the newest of each kind and those that no base contains stay, for snapshots.
 */
export class History {
  readonly #parts: HistoryParts
  readonly #tables: Tables
  readonly #channels = new Map<string, Channel>()
  readonly #numbers = new Map<number, Channel>()
  readonly #heads = new Map<string, number>()
  readonly #shares: Shares
  readonly #folding: Folding
  readonly #recent: RecentMessages
  #head: number
  #last: Message | undefined
  #count = 0
  #bytes = 0
  /** Messages up to this number are missing, of unknown channels. */
  #missing = 0
  readonly #dropped = new DroppedMessages()
  /** Numbers of erased channels that still have messages in the tables. */
  #remains: number[] = []
  /** Erased channels whose last message was dropped. */
  readonly #emptied = new Set<Channel>()
  /** Erased channels without messages, whose names the tables still have. */
  readonly #leaving = new Map<string, number>()
  /** Channels that begin again under an erased name, by the number of the erasure. */
  readonly #anew = new Map<number, Channel>()
  /** The age of messages up to this number was examined. */
  #agedTo = 0
  #sweptAt = Number.NEGATIVE_INFINITY
  readonly #expiries: Expiries
  /** Channels whose rows in the tables are out of date. */
  readonly #changed = new Set<Channel>()
  #isPruning = false
  #isClosed = false

  constructor(parts: HistoryParts) {
    const { tables, limits, onFailure, defer } = parts
    this.#parts = parts
    this.#tables = tables
    this.#expiries = new Expiries(parts.now)
    this.#shares = new Shares(Math.ceil(limits.bytes / limits.messages), parts.isLasting === true)
    this.#recent = new RecentMessages(limits, parts.memory)
    this.#folding = new Folding({
      bases: parts.bases ?? tables.baseStore((channel) => this.#channels.get(channel)?.number),
      read: ({ channel, kind }, after) =>
        this.#tables.ofKind(channel.number, channel.name, kind, after, this.#head),
      defer,
      onFailure,
      onFolded: () => this.#considerPruning(),
      floor: (channel) => this.floorOf(channel),
    })
    this.#head = parts.head ?? 0
    if (parts.head === undefined) this.#load()
  }

  /** The newest number; 0 if there are none. */
  get head(): number {
    return this.#head
  }

  /** The message with that number, if it was added. */
  get last(): Message | undefined {
    return this.#last
  }

  /** The newest number of each channel; live. */
  get heads(): ReadonlyMap<string, number> {
    return this.#heads
  }

  /**
   * Stores entries in one transaction, without counting them yet: see `add`. Returns each one's
   * number: the next from `first` on, or a stored repeat's; null if another message has the id.
   */
  insert(group: readonly Entry[], first = this.#head + 1): (number | null)[] {
    this.#leaveEmptied()
    const [only] = group
    const known = only && this.#channels.get(only.draft.channel)
    if (group.length === 1 && known && only.draft.kind !== 'erasure')
      return [this.#tables.insert(first, known.number, previousOf(known, first), only)]
    const places = new Map<string, { readonly channel: Channel; last: number }>()
    const begun: Channel[] = []
    const anew: number[] = []
    try {
      return this.#tables.transaction(() => {
        let next = first
        return group.map((entry) => {
          const { channel: name } = entry.draft
          let place = places.get(name)
          if (!place) {
            const channel = this.#channels.get(name) ?? this.#begin(name, next - 1)
            if (channel.head === 0) begun.push(channel)
            place = { channel, last: previousOf(channel, next) }
            places.set(name, place)
          }
          if (isErasure(entry.draft) && place.last <= entry.draft.body.head && place.last > 0) {
            place = { channel: this.#replace(place.channel, next), last: 0 }
            places.set(name, place)
            anew.push(next)
          }
          const stored = this.#tables.insert(next, place.channel.number, place.last, entry)
          if (stored !== next) return stored
          place.last = next
          next += 1
          return stored
        })
      })
    } catch (error) {
      for (const channel of begun) this.#unknow(channel)
      for (const seq of anew) this.#anew.delete(seq)
      throw error
    }
  }

  /** Creates a channel, in the tables too. */
  #begin(name: string, begin: number): Channel {
    const former = this.#leaving.get(name)
    if (former !== undefined) this.#tables.eraseChannel(former)
    const number = this.#tables.addChannel(name, begin)
    const channel = new Channel(name, this.#parts.typeOf(name), number, begin)
    this.#know(channel)
    return channel
  }

  #know(channel: Channel): void {
    this.#channels.set(channel.name, channel)
    this.#numbers.set(channel.number, channel)
  }

  /** In the tables, later messages on this channel belong to another one with the same name. */
  #replace({ name, number, type, begin, dropped }: Channel, erasure: number): Channel {
    this.#tables.eraseChannel(number)
    const next = new Channel(name, type, this.#tables.addChannel(name, begin, dropped), begin)
    next.dropped = dropped
    next.erasedTo = dropped
    this.#anew.set(erasure, next)
    return next
  }

  /**
   * Counts a message that `insert` stored, whose number is greater than `head`, and enforces the
   * limits, which may drop this message too. `bytes` is its body's size.
   */
  add(message: Message, bytes: number, writer: string | null): void {
    const { seq, acceptedAt, kind } = message
    const { now, onFailure } = this.#parts
    this.#head = seq
    this.#last = message
    this.#recent.add(message, bytes)
    const channel = this.#channels.get(message.channel)
    if (!channel) throw missing()
    if (isErasure(message)) this.#erase(channel, seq)
    const found = this.#channels.get(message.channel) ?? channel
    this.#take(found, { seq, kind, bytes, acceptedAt, writer })
    const pile = found.piles.get(kind)
    if (pile?.isCumulative) this.#folding.add(pile, message, bytes)
    try {
      this.#enforce(found, now())
    } catch (error) {
      // The message is stored: followers are notified all the same.
      onFailure(error)
    }
  }

  #enforce(channel: Channel, time: number): void {
    this.#expiries.consider(channel, this.contentOf)
    this.#expire(channel, time)
    this.#sweep(time)
    this.#makeRoom()
    this.#considerPruning()
  }

  /** Counts the message among those of its channel. */
  #take(channel: Channel, held: Held): void {
    const { seq, kind, bytes } = held
    this.#count += 1
    this.#bytes += bytes
    const isAllAhead = channel.oldest.length === channel.messages && channel.messages < aheadCount
    if (isAllAhead) channel.oldest.push(held)
    channel.messages += 1
    channel.bytes += bytes
    channel.head = seq
    channel.isErased = kind === 'erasure' && channel.piles.size === 0
    this.#note(channel)
    this.#shares.count(channel, held, 1)
    if (kind === 'erasure') return
    this.#heads.set(channel.name, seq)
    channel.pileOf(kind).newest = seq
  }

  /** No message has this number. */
  skip(seq: number): void {
    this.#head = seq
    this.#last = undefined
  }

  /**
   * Records that messages up to this number are missing: the channel's, or, without a name, those of
   * unknown channels.
   */
  missed(upTo: number, name = ''): void {
    if (name === '') this.#missing = Math.max(this.#missing, upTo)
    else {
      const channel = this.#channels.get(name) ?? this.#begin(name, upTo)
      channel.dropped = Math.max(channel.dropped, upTo)
    }
  }

  /** Number of held messages before this number. */
  heldBefore(seq: number): number {
    const time = this.#parts.now()
    for (const channel of this.#channels.values()) this.#expire(channel, time)
    if (seq > this.#head) return this.#count
    let count = 0
    for (const channel of this.#channels.values()) {
      const first = this.#oldestOf(channel)
      if (first && first.seq < seq) count += this.#tables.countBetween(channel.number, channel.dropped, seq)
    }
    return count
  }

  /** Drops the messages before this number, which another program has erased. */
  lost(before: number): void {
    for (const channel of this.#channels.values())
      for (let first = this.#oldestOf(channel); first && first.seq < before; first = this.#oldestOf(channel))
        this.#drop(channel, first)
  }

  /** The number after which all of the channel's messages are held. */
  floorOf(name: string): number {
    const channel = this.#channels.get(name)
    if (!channel) return this.#missing
    this.#expire(channel, this.#parts.now())
    return Math.max(channel.dropped, Math.min(channel.begin, this.#missing))
  }

  /** A portion of these channels' messages after a number, in order, if it is in memory; else null. */
  recent(seq: number, channels: ReadonlySet<string>): Portion | null {
    const wanted = Array.from(channels, (name) => this.#channels.get(name))
    if (wanted.every((channel) => (channel?.head ?? 0) <= seq)) return { messages: [], upTo: this.#head }
    return this.#recent.after(seq, channels, this.#head)
  }

  /**
   * A portion of these channels' messages after a number, in order. Throws a `SyntaxError` or SQLite's
   * error if some of it is missing or damaged.
   */
  after(seq: number, channels: Iterable<string>): Portion {
    const head = this.#head
    const lists: Placed[][] = []
    for (const name of channels) {
      const channel = this.#channels.get(name)
      if (channel && channel.head > seq) lists.push(this.#placesAfter(channel, seq))
    }
    const seqs: number[] = []
    let upTo = head
    let bytes = 0
    for (const placed of merged(lists)) {
      bytes += placed.bytes
      const isFull = seqs.length === portion.messages || bytes > portion.bytes
      if (seqs.length > 0 && isFull) {
        upTo = placed.seq - 1
        break
      }
      seqs.push(placed.seq)
    }
    return { messages: this.#messages(seqs), upTo }
  }

  /** Enough of a channel's messages for a portion. Throws a `SyntaxError` if one is missing. */
  #placesAfter({ number, head }: Channel, after: number): Placed[] {
    const count = portion.messages + 1
    const places = this.#tables.after(number, after, this.#head, count)
    let last = after
    for (const [index, { seq, previous }] of places.entries()) {
      if (index === 0 ? previous > after : previous !== last) throw missing()
      last = seq
    }
    if (places.length < count && last < head) throw missing()
    return places
  }

  /**
   * The newest messages that a channel holds before a number, in order. Throws a `SyntaxError` or
   * SQLite's error if one is missing or damaged.
   */
  before(name: string, before: number, limit: number): Omit<Earlier, 'head'> {
    const floor = this.floorOf(name)
    const channel = this.#channels.get(name)
    if (!channel) return { messages: [], isOldest: true }
    const end = Math.min(before, this.#head + 1)
    const count = Math.min(limit, portion.messages)
    const places = this.#tables.before(channel.number, end, floor, count + 1)
    const seqs: number[] = []
    let bytes = 0
    for (const [index, placed] of places.slice(0, count).entries()) {
      bytes += placed.bytes
      if (index > 0 && bytes > portion.bytes) break
      const next = places[index + 1]?.seq ?? 0
      if (next > 0 ? placed.previous !== next : placed.previous > floor) throw missing()
      seqs.unshift(placed.seq)
    }
    const isOldest = seqs.length === places.length
    const survivors = isOldest ? this.#survivorsOf(channel, Math.min(end, floor + 1)) : []
    return { messages: [...survivors, ...this.#messages(seqs)], isOldest }
  }

  /** The newest messages of their kinds, which stay when they are dropped, before a number. */
  #survivorsOf({ piles }: Channel, before: number): Message[] {
    return Array.from(piles.values())
      .filter(({ isCumulative, newest }) => !isCumulative && newest < before)
      .map((pile) => this.#newestOf(pile))
      .sort((one, other) => one.seq - other.seq)
  }

  numberAt(name: string, at: number): number {
    const channel = this.#channels.get(name)
    let low = this.floorOf(name)
    let high = this.#head
    while (channel && low < high) {
      const middle = Math.floor((low + high) / 2)
      const [first] = this.#tables.held(channel.number, middle, 1)
      // If the first after the middle is early, so are those before it.
      if (first && first.acceptedAt < at) low = first.seq
      else high = middle
    }
    return channel ? low : this.#head
  }

  list(prefix: string, before: number, limit: number): ChannelFigures[] {
    const found: Channel[] = []
    for (const [name, head] of this.#heads) {
      const channel = this.#channels.get(name)
      if (channel && head < before && name.startsWith(prefix)) found.push(channel)
    }
    found.sort((one, other) => other.head - one.head)
    return found.slice(0, limit).map(({ name, head, messages, bytes }) => ({ name, head, messages, bytes }))
  }

  #messages(seqs: readonly number[]): Message[] {
    return this.#tables.messages(seqs, (number) => this.#numbers.get(number)?.name ?? '')
  }

  /** The message that the log holds with that id. */
  find({ channel: name, id, from }: Identified): Message | null {
    const channel = this.#channels.get(name)
    return channel ? this.#tables.find(channel.number, name, { id, from }) : null
  }

  /**
   * The newest of each kind on these channels, and all messages of cumulative kinds, in order; not
   * subject to the limits.
   */
  newestOn(channels: Iterable<string>): Message[] {
    const found: Message[] = []
    for (const name of channels)
      for (const pile of this.#channels.get(name)?.piles.values() ?? [])
        if (pile.isCumulative) found.push(...this.#folding.contentOf(pile))
        else found.push(this.#newestOf(pile))
    return found.sort((one, other) => one.seq - other.seq)
  }

  #newestOf({ channel, newest }: Pile): Message {
    return this.#recent.get(newest) ?? this.#tables.message(newest, channel.number, channel.name)
  }

  /** Adds a channel's newest message of a kind, or its base, from before the first message. */
  adopt(message: Message, bytes: number, isBase: boolean): void {
    const { channel: name, kind, seq, acceptedAt } = message
    const channel = this.#channels.get(name) ?? this.#begin(name, this.#head)
    const pile = channel.pileOf(kind)
    channel.head = Math.max(channel.head, seq)
    pile.newest = Math.max(pile.newest, seq)
    this.#heads.set(name, channel.head)
    if (isBase) {
      pile.base = seq
      pile.baseBytes = bytes
    } else this.#tables.insert(seq, channel.number, 0, new Entry(message, acceptedAt))
    this.#expiries.consider(channel, this.contentOf)
  }

  oldest(name: string, kind: Kind): Omit<OldestContent, 'after'> {
    return this.#folding.oldest(name, kind, this.#channels.get(name)?.piles.get(kind))
  }

  readonly contentOf = (name: string): Content => {
    const channel = this.#channels.get(name)
    return {
      channel: name,
      kinds: [...(channel?.piles.keys() ?? [])],
      newest: <K extends Kind>(kind: K) => {
        const pile = channel?.piles.get(kind)
        return pile && !pile.isCumulative ? (this.#newestOf(pile) as Message<K>) : undefined
      },
    }
  }

  /** See `Expiries`. */
  dueErasure(): Draft<'erasure'> | null {
    return this.#expiries.due()
  }

  spareErasure(isInUse: (channel: string) => boolean): Draft<'erasure'> | null {
    return this.#expiries.spare(isInUse)
  }

  #erase(channel: Channel, erasure: number): void {
    const anew = this.#anew.get(erasure)
    this.#anew.delete(erasure)
    if (!anew) return
    this.#remove(channel)
    this.#know(anew)
    this.#parts.onChannelErased?.(channel.name, erasure)
    this.#planPrune()
  }

  #remove(channel: Channel): void {
    this.#remains.push(channel.number)
    this.#forget(channel)
    this.#count -= channel.messages
    this.#bytes -= channel.bytes
    this.#recent.forget(channel.name, this.#head)
    this.#folding.erase(channel)
  }

  #forget(channel: Channel): void {
    this.#shares.remove(channel)
    this.#changed.delete(channel)
    this.#expiries.delete(channel)
    this.#heads.delete(channel.name)
    this.#unknow(channel)
  }

  /** Another channel may have the name by now. */
  #unknow(channel: Channel): void {
    if (this.#channels.get(channel.name) === channel) this.#channels.delete(channel.name)
    this.#numbers.delete(channel.number)
  }

  /** Examines the age of messages on quiet channels from time to time. */
  #sweep(time: number): void {
    const { ageMs } = this.#parts.limits
    if (time - this.#sweptAt < ageMs / 100) return
    let looked = 0
    for (const { seq, acceptedAt, channel } of this.#tables.ages(this.#agedTo, agedCount)) {
      // The rest is examined with the next message.
      if (acceptedAt + ageMs >= time) break
      this.#agedTo = seq
      looked += 1
      const found = this.#numbers.get(channel)
      if (found) this.#expire(found, time)
    }
    if (looked === agedCount) return
    this.#sweptAt = time
    for (const channel of this.#numbers.values()) if (channel.keep) this.#expire(channel, time)
  }

  #makeRoom(): void {
    const { messages, bytes } = this.#parts.limits
    while (this.#count > messages || (this.#bytes > bytes && this.#count > 1)) {
      const payer = this.#shares.payer()
      const first = payer && this.#oldestOf(payer)
      if (!first) return
      this.#drop(payer, first)
    }
  }

  #expire(channel: Channel, time: number): void {
    const { ageMs } = this.#parts.limits
    const { keep } = channel
    for (let first = this.#oldestOf(channel); first; first = this.#oldestOf(channel)) {
      const isOld = first.acceptedAt + ageMs < time
      const isMuch =
        keep !== null &&
        channel.messages > 1 &&
        (channel.messages > keep.messages ||
          channel.bytes > keep.bytes ||
          first.acceptedAt + keep.ageMs < time)
      if (!isOld && !isMuch) return
      this.#drop(channel, first)
    }
  }

  #oldestOf(channel: Channel): Held | undefined {
    if (channel.messages === 0) return undefined
    if (channel.oldest.length === 0) {
      // For most channels, only the age of the oldest message is checked.
      const count = channel.isShrinking ? Math.min(aheadCount, channel.messages) : 1
      channel.oldest = this.#tables.held(channel.number, channel.dropped, count)
      if (channel.oldest.length === 0) throw missing()
    }
    return channel.oldest[0]
  }

  #drop(channel: Channel, first: Held): void {
    channel.oldest.shift()
    channel.isShrinking = true
    channel.dropped = first.seq
    channel.messages -= 1
    channel.bytes -= first.bytes
    this.#count -= 1
    this.#bytes -= first.bytes
    this.#note(channel)
    this.#shares.count(channel, first, -1)
    this.#dropped.add({ channel, seq: first.seq, bytes: first.bytes })
    if (channel.isErased && channel.messages === 0) this.#emptied.add(channel)
  }

  #note(channel: Channel): void {
    if (this.#parts.isLasting) this.#changed.add(channel)
  }

  /** The name of an erased channel is forgotten after its last message. */
  #leaveEmptied(): void {
    if (this.#emptied.size === 0) return
    for (const channel of this.#emptied) {
      if (!channel.isErased || channel.messages > 0) continue
      this.missed(channel.dropped)
      this.#forget(channel)
      this.#leaving.set(channel.name, channel.number)
      this.#planPrune()
    }
    this.#emptied.clear()
  }

  /**
   * The channels from which a portion of dropped messages may be erased, up to which number, and the
   * messages up to there that stay. Call `done` when they are erased; it returns the size of their
   * bodies.
   */
  takeDropped(
    portion: Erasing = 'enough',
  ): { readonly channels: readonly Erasable[]; readonly done: () => number } | null {
    const { upTo, count } = this.#dropped.next(portion !== 'enough')
    // The other channels were erased meanwhile.
    const present = [...upTo].filter(([channel]) => this.#numbers.get(channel.number) === channel)
    const isFolded = present.map(([channel, seq]) =>
      this.#folding.mayErase(channel, seq, portion !== 'at the end'),
    )
    if (count === 0 || (present.length > 0 && !isFolded.includes(true))) return null
    const erasable = present.filter((_channel, index) => isFolded[index])
    return {
      channels: erasable.map(([channel, seq]) => this.#erasableOf(channel, seq)),
      done: () => {
        for (const [channel, seq] of erasable) channel.erasedTo = seq
        const bytes = this.#dropped.erased(count)
        // Messages that are in no base yet are erased later.
        for (const [index, [channel, seq]] of present.entries())
          if (!isFolded[index]) this.#dropped.add({ channel, seq, bytes: 0 })
        return bytes
      },
    }
  }

  #erasableOf({ name, number, piles }: Channel, upTo: number): Erasable {
    const survivors = [...piles.values()].filter((pile) => !pile.isCumulative && pile.newest <= upTo)
    return {
      name,
      number,
      upTo,
      survivors: survivors.map((pile) => pile.newest),
      newest: () => survivors.map((pile) => this.#newestOf(pile)),
    }
  }

  /** Erases from the tables the messages that the log's owner has erased elsewhere. */
  eraseDropped(channels: readonly Erasable[]): void {
    for (const { number, upTo, survivors } of channels) this.#tables.erase(number, upTo, survivors)
  }

  #considerPruning(): void {
    if (this.#parts.erases !== false && this.#dropped.isDue) this.#planPrune()
  }

  #planPrune(): void {
    if (this.#isPruning || this.#isClosed) return
    this.#isPruning = true
    this.#parts.defer(() => {
      this.#isPruning = false
      try {
        this.prune()
      } catch (error) {
        this.#parts.onFailure(error)
      }
    })
  }

  /** Erases a portion of the dropped messages. If it fails, the next call erases it. */
  prune(portion: Erasing = 'enough'): void {
    if (!this.#tables.isOpen) return
    const dropped = this.#parts.erases === false ? null : this.takeDropped(portion)
    const [remains] = this.#remains
    if (!dropped && remains === undefined && this.#leaving.size === 0) return
    const leaving = [...this.#leaving]
    const isOver = this.#tables.transaction(() => {
      for (const { number, upTo, survivors } of dropped?.channels ?? [])
        this.#tables.erase(number, upTo, survivors)
      for (const [, number] of leaving) this.#tables.eraseChannel(number)
      this.#write(dropped?.channels)
      return remains !== undefined && this.#tables.erasePortion(remains, erasePortion.most)
    })
    // After the commit: a rollback erases nothing.
    const bytes = dropped?.done() ?? 0
    this.#parts.onErased?.(bytes)
    this.#written()
    for (const [name, number] of leaving) {
      this.#leaving.delete(name)
      this.#remains.push(number)
    }
    if (isOver) this.#remains = this.#remains.filter((number) => number !== remains)
    if (this.#remains.length > 0) this.#planPrune()
    else if (isOver) this.#parts.onNothingLeft?.()
  }

  /** Writes the changed figures of the channels, so that a start need not read their messages. */
  flush(): void {
    if (!this.#parts.isLasting) return
    this.#tables.transaction(() => this.#write())
    this.#written()
  }

  #write(erased: readonly Erasable[] = []): void {
    if (!this.#parts.isLasting) return
    const erasedTo = new Map(erased.map(({ number, upTo }) => [number, upTo]))
    for (const channel of this.#changed) {
      const { number, name, begin, head, messages, bytes, isErased, expiry, dropped } = channel
      this.#tables.writeChannel({
        number,
        name,
        begin,
        floor: dropped,
        erasedTo: erasedTo.get(number) ?? channel.erasedTo,
        head,
        messages,
        bytes,
        isErased,
        expiresAt: expiry.at,
        spareAt: expiry.spareAt,
      })
      for (const { kind, newest, base, loose, looseBytes } of channel.piles.values())
        this.#tables.writePile({ channel: number, kind, newest, base, loose, looseBytes })
      for (const share of this.#shares.changedOf(channel)) this.#tables.writeShare(share)
    }
    this.#tables.setMeta('mark', this.#head)
    this.#tables.setMeta('missing', this.#missing)
  }

  #written(): void {
    for (const channel of this.#changed) this.#shares.written(channel)
    this.#changed.clear()
  }

  /** Reads the channels' rows from the tables, and the messages after them. */
  #load(): void {
    const tables = this.#tables
    const mark = tables.meta('mark')
    this.#missing = tables.meta('missing')
    const byNumber = new Map<number, Channel>()
    for (const row of tables.channels()) {
      const channel = new Channel(row.name, this.#parts.typeOf(row.name), row.number, row.begin)
      channel.dropped = row.floor
      channel.erasedTo = row.erasedTo
      channel.head = row.head
      channel.messages = row.messages
      channel.bytes = row.bytes
      channel.isErased = row.isErased
      channel.expiry = { at: row.expiresAt, spareAt: row.spareAt }
      byNumber.set(row.number, channel)
      this.#know(channel)
      this.#count += row.messages
      this.#bytes += row.bytes
      this.#shares.load(channel)
      this.#expiries.add(channel)
      if (row.erasedTo < row.floor) this.#dropped.add({ channel, seq: row.floor, bytes: 0 })
      if (row.isErased && row.messages === 0) this.#emptied.add(channel)
    }
    for (const row of tables.piles()) {
      const pile = byNumber.get(row.channel)?.pileOf(row.kind)
      if (!pile) continue
      pile.newest = row.newest
      pile.base = row.base
      pile.loose = row.loose
      pile.looseBytes = row.looseBytes
      const { name } = pile.channel
      this.#heads.set(name, Math.max(row.newest, this.#heads.get(name) ?? 0))
    }
    for (const row of tables.shares()) {
      const channel = byNumber.get(row.channel)
      if (channel) this.#shares.loadShare(channel, row)
    }
    this.#remains = tables.erased()
    if (this.#parts.isChecked) tables.check()
    this.#head = tables.head()
    const touched = this.#readAfter(mark, byNumber)
    this.#loadBases(byNumber)
    for (const channel of touched) this.#expiries.consider(channel, this.contentOf)
    const time = this.#parts.now()
    for (const channel of byNumber.values()) if (channel.keep) this.#expire(channel, time)
    for (const channel of byNumber.values())
      for (const pile of channel.piles.values()) if (pile.isCumulative) this.#folding.load(pile)
    this.#makeRoom()
    this.#planPrune()
  }

  #readAfter(mark: number, byNumber: ReadonlyMap<number, Channel>): ReadonlySet<Channel> {
    const touched = new Set<Channel>()
    for (const held of this.#tables.all(mark)) {
      const channel = byNumber.get(held.channel)
      // It is being erased.
      if (!channel) continue
      if (held.previous !== channel.head && channel.head > 0) throw missing()
      touched.add(channel)
      const pile = held.kind === 'erasure' ? undefined : channel.pileOf(held.kind)
      if (held.seq > channel.dropped) this.#take(channel, held)
      else {
        // It was the newest of its kind.
        channel.head = held.seq
        if (pile) pile.newest = held.seq
        this.#heads.set(channel.name, held.seq)
      }
      if (!pile?.isCumulative) continue
      pile.loose += 1
      pile.looseBytes += held.bytes
    }
    return touched
  }

  /** A base may have been written after the rest. */
  #loadBases(byNumber: ReadonlyMap<number, Channel>): void {
    for (const { channel: number, kind, seq, bytes } of this.#tables.bases()) {
      const pile = byNumber.get(number)?.pileOf(kind)
      if (!pile) continue
      if (pile.base !== seq) this.#countLoose(pile, seq)
      pile.base = seq
      pile.baseBytes = bytes
      pile.newest = Math.max(pile.newest, seq)
    }
    // The kind may not have been cumulative before.
    for (const { piles } of byNumber.values())
      for (const pile of piles.values())
        if (pile.isCumulative && pile.loose === 0 && pile.newest > pile.base)
          this.#countLoose(pile, pile.base)
  }

  #countLoose(pile: Pile, base: number): void {
    const { loose, looseBytes } = this.#tables.countOfKind(pile.channel.number, pile.kind, base)
    pile.loose = loose
    pile.looseBytes = looseBytes
  }

  /** From now on nothing is folded or erased in later turns. */
  close(): void {
    this.#folding.close()
    this.#isClosed = true
  }
}

/** The base that a channel began with may contain messages that are read after it. */
const previousOf = ({ head }: Channel, seq: number) => (head < seq ? head : 0)

const isErasure = <One extends Draft>(one: One): one is One & { readonly body: { readonly head: number } } =>
  isKind(one as unknown as Message, 'erasure')

/** Merges lists that are in order into one. */
function* merged(lists: readonly (readonly Placed[])[]): Generator<Placed, undefined> {
  const [only] = lists
  if (lists.length === 1 && only) {
    yield* only
    return
  }
  const next = lists.map((list) => ({ list, place: 0 }))
  for (;;) {
    let first: { readonly list: readonly Placed[]; place: number } | undefined
    let least = Number.POSITIVE_INFINITY
    for (const one of next) {
      const { seq = Number.POSITIVE_INFINITY } = one.list[one.place] ?? {}
      if (seq >= least) continue
      least = seq
      first = one
    }
    const placed = first?.list[first.place]
    if (!first || !placed) return
    first.place += 1
    yield placed
  }
}
