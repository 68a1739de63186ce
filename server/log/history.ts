// Holds a log's messages: its tables, and the newest in memory.

import { type Draft, isKind, type Kind, type Message } from '../../protocol/messages.ts'
import type { Clock } from '../../protocol/time.ts'
import type { Content, TypeOf } from '../channels/channel-type.ts'
import { changed, erases, isChange } from './changes.ts'
import { Channel, type Pile } from './channel.ts'
import { ChannelRows } from './channel-rows.ts'
import { Eraser } from './eraser.ts'
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
import { Retention } from './retention.ts'
import { type BaseStore, Entry, type Held, missing, notReadBack, type Placed, type Tables } from './tables.ts'

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
  /** If false, the log's owner erases dropped messages (`Eraser#take`). */
  readonly erasesDropped?: boolean
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
  readonly #retention: Retention
  readonly #rows: ChannelRows
  readonly #folding: Folding
  readonly #recent: RecentMessages
  readonly #eraser: Eraser
  readonly #expiries: Expiries
  #head: number
  #last: Message | undefined
  /** Messages up to this number are missing, of unknown channels. */
  #missing = 0
  /** Erased channels whose last message was dropped. */
  readonly #emptied = new Set<Channel>()
  /** Channels that begin under an erased name, by the number of the erasure. */
  readonly #successors = new Map<number, Channel>()

  constructor(parts: HistoryParts) {
    const { tables, limits, now, onFailure, defer, isLasting = false } = parts
    this.#parts = parts
    this.#tables = tables
    this.#expiries = new Expiries(now)
    this.#retention = new Retention({
      tables,
      limits,
      now,
      isLasting,
      channels: this.#numbers,
      onDropped: (channel, message) => this.#dropped(channel, message),
    })
    this.#rows = new ChannelRows(tables, this.#retention.shares, isLasting)
    this.#recent = new RecentMessages(limits, parts.memory)
    this.#folding = new Folding({
      bases: parts.bases ?? tables.baseStore((channel) => this.#channels.get(channel)?.number),
      read: ({ channel, kind }, after) =>
        this.#tables.ofKind(channel.number, channel.name, kind, after, this.#head),
      defer,
      onFailure,
      onFolded: () => this.#eraser.consider(),
      floor: (channel) => this.floorOf(channel),
    })
    this.#eraser = new Eraser({
      tables,
      folding: this.#folding,
      newestOf: (pile) => this.#newestOf(pile),
      erasesDropped: parts.erasesDropped !== false,
      defer,
      onFailure,
      onErasing: (upTo) => this.#writeRows(upTo),
      onErased: (bytes) => {
        parts.onErased?.(bytes)
        this.#rows.written()
      },
      onNothingLeft: () => parts.onNothingLeft?.(),
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

  /** What is to leave the tables, in portions. */
  get eraser(): Pick<Eraser, 'erase' | 'take'> {
    return this.#eraser
  }

  /** Channels that have expired, or can be spared. */
  get expiries(): Pick<Expiries, 'due' | 'spare'> {
    return this.#expiries
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
    this.#forgetEmptied()
    const [only] = group
    const known = only && this.#channels.get(only.draft.channel)
    if (group.length === 1 && known && !isErasure(only.draft) && !isChange(only.draft))
      return [this.#tables.insert(first, known.number, previousOf(known, first), only)]
    const places = new Map<string, { readonly channel: Channel; last: number }>()
    const begun: Channel[] = []
    const erasures: number[] = []
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
            place = { channel: this.#beginAgain(place.channel, next), last: 0 }
            places.set(name, place)
            erasures.push(next)
          }
          const stored = this.#tables.insert(next, place.channel.number, place.last, entry)
          if (stored !== next) return stored
          if (isChange(entry.draft) && erases(entry.draft))
            this.#tables.eraseContent(place.channel.number, name, entry.draft.body.seq, next)
          place.last = next
          next += 1
          return stored
        })
      })
    } catch (error) {
      for (const channel of begun) this.#unregister(channel)
      for (const seq of erasures) this.#successors.delete(seq)
      throw error
    }
  }

  /** Creates a channel, in the tables too. */
  #begin(name: string, begin: number): Channel {
    this.#eraser.freeName(name)
    const number = this.#tables.addChannel(name, begin)
    const channel = new Channel(name, this.#parts.typeOf(name), number, begin)
    this.#register(channel)
    return channel
  }

  #register(channel: Channel): void {
    this.#channels.set(channel.name, channel)
    this.#numbers.set(channel.number, channel)
  }

  /** In the tables, later messages on this channel belong to another one with the same name. */
  #beginAgain({ name, number, type, begin, floor }: Channel, erasure: number): Channel {
    this.#tables.eraseChannel(number)
    const next = new Channel(name, type, this.#tables.addChannel(name, begin, floor), begin)
    next.floor = floor
    next.erasedTo = floor
    this.#successors.set(erasure, next)
    return next
  }

  /**
   * Counts a message that `insert` stored, whose number is greater than `head`, and enforces the
   * limits, which may drop this message too. `bytes` is its body's size.
   */
  add(message: Message, bytes: number, writer: string | null): void {
    const { seq, acceptedAt, kind } = message
    this.#head = seq
    this.#last = message
    if (isChange(message)) this.#recent.change(message)
    this.#recent.add(message, bytes)
    const channel = this.#channels.get(message.channel)
    if (!channel) throw missing()
    if (isErasure(message)) this.#replaceErased(channel, seq)
    const found = this.#channels.get(message.channel) ?? channel
    this.#hold(found, { seq, kind, bytes, acceptedAt, writer })
    const pile = found.piles.get(kind)
    if (pile?.isCumulative) this.#folding.add(pile, message, bytes)
    try {
      this.#expiries.consider(found, this.contentOf)
      this.#retention.enforce(found)
      this.#eraser.consider()
    } catch (error) {
      // The message is stored: followers are notified all the same.
      this.#parts.onFailure(error)
    }
  }

  /** Counts the message among those of its channel. */
  #hold(channel: Channel, held: Held): void {
    const { seq, kind } = held
    this.#retention.add(channel, held)
    channel.head = seq
    channel.isErased = kind === 'erasure' && channel.piles.size === 0
    this.#rows.noteChange(channel)
    if (kind === 'erasure') return
    this.#heads.set(channel.name, seq)
    channel.pileOf(kind).newest = seq
  }

  #dropped(channel: Channel, { seq, bytes }: Held): void {
    this.#rows.noteChange(channel)
    this.#eraser.drop({ channel, seq, bytes })
    if (channel.isErased && channel.messages === 0) this.#emptied.add(channel)
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
  noteGap(upTo: number, name: string | null = null): void {
    if (name === null) this.#missing = Math.max(this.#missing, upTo)
    else {
      const channel = this.#channels.get(name) ?? this.#begin(name, upTo)
      channel.floor = Math.max(channel.floor, upTo)
    }
  }

  /** Number of held messages before this number. */
  heldBefore(seq: number): number {
    const time = this.#parts.now()
    for (const channel of this.#channels.values()) this.#retention.expire(channel, time)
    if (seq > this.#head) return this.#retention.count
    let count = 0
    for (const channel of this.#channels.values()) {
      const first = this.#retention.oldestOf(channel)
      if (first && first.seq < seq) count += this.#tables.countBetween(channel.number, channel.floor, seq)
    }
    return count
  }

  /** Drops the messages before this number, which another program has erased. */
  dropBefore(before: number): void {
    for (const channel of this.#channels.values()) this.#retention.dropBefore(channel, before)
  }

  /** The number after which all of the channel's messages are held. */
  floorOf(name: string): number {
    const channel = this.#channels.get(name)
    if (!channel) return this.#missing
    this.#retention.expire(channel)
    return Math.max(channel.floor, Math.min(channel.begin, this.#missing))
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

  /** See `ReadableLog#readBefore`. Throws a `SyntaxError` or SQLite's error if one is missing or damaged. */
  before(name: string, before: number, limit: number, kind?: Kind): Omit<Earlier, 'head'> {
    const floor = this.floorOf(name)
    const channel = this.#channels.get(name)
    if (!channel) return { messages: [], isOldest: true }
    const end = Math.min(before, this.#head + 1)
    const count = Math.min(limit, portion.messages)
    const places = Array.from(channel.piles.values())
      .filter((pile) => !pile.isCumulative && !notReadBack.includes(pile.kind))
      .filter((pile) => pile.kind === (kind ?? pile.kind))
      .flatMap((pile) => this.#placesBefore(pile, end, floor, count + 1))
      .sort((one, other) => other.seq - one.seq)
    const seqs: number[] = []
    let bytes = 0
    for (const placed of places.slice(0, count)) {
      bytes += placed.bytes
      if (seqs.length > 0 && bytes > portion.bytes) break
      seqs.unshift(placed.seq)
    }
    return { messages: this.#messages(seqs), isOldest: seqs.length === places.length }
  }

  /** Those after the floor, or the newest of its kind, which stays when it is dropped. */
  #placesBefore({ channel, kind, newest }: Pile, end: number, floor: number, count: number) {
    const places = this.#tables.before(channel.number, kind, end, Math.min(floor, newest - 1), count)
    if (newest < end && places[0]?.seq !== newest) throw missing()
    return places
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
    const messages = this.#tables.messages(seqs, (number) => this.#numbers.get(number)?.name ?? '')
    return this.#asChanged(messages)
  }

  /** The messages with the content that they have now. */
  #asChanged(messages: readonly Message[]): Message[] {
    const names = new Set(messages.map(({ channel }) => channel))
    const changes = new Map<number, Message<'change'>>()
    for (const name of names) {
      const channel = this.#channels.get(name)
      if (!channel?.piles.has('change')) continue
      const ofChannel = messages.filter((one) => one.channel === name).map(({ seq }) => seq)
      for (const [seq, change] of this.#tables.changes(channel.number, name, ofChannel))
        changes.set(seq, change)
    }
    return messages.map((message) => {
      const change = changes.get(message.seq)
      return change ? changed(message, change) : message
    })
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
    const recent = this.#recent.get(newest)
    if (recent) return recent
    const message = this.#tables.message(newest, channel.number, channel.name)
    return this.#asChanged([message])[0] ?? message
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
      message: (seq) => (channel ? this.#tables.findNumber(seq, channel.number, name) : undefined),
    }
  }

  #replaceErased(channel: Channel, erasure: number): void {
    const successor = this.#successors.get(erasure)
    this.#successors.delete(erasure)
    if (!successor) return
    this.#forget(channel)
    this.#recent.forget(channel.name, this.#head)
    this.#folding.erase(channel)
    this.#register(successor)
    this.#parts.onChannelErased?.(channel.name, erasure)
    this.#eraser.eraseMessages(channel)
  }

  #forget(channel: Channel): void {
    this.#retention.delete(channel)
    this.#rows.delete(channel)
    this.#expiries.delete(channel)
    this.#heads.delete(channel.name)
    this.#unregister(channel)
  }

  /** Another channel may have the name by now. */
  #unregister(channel: Channel): void {
    channel.isGone = true
    if (this.#channels.get(channel.name) === channel) this.#channels.delete(channel.name)
    this.#numbers.delete(channel.number)
  }

  /** The name of an erased channel is forgotten after its last message. */
  #forgetEmptied(): void {
    if (this.#emptied.size === 0) return
    for (const channel of this.#emptied) {
      if (!channel.isErased || channel.messages > 0) continue
      this.noteGap(channel.floor)
      this.#forget(channel)
      this.#eraser.eraseName(channel)
    }
    this.#emptied.clear()
  }

  /** Writes the changed figures of the channels, so that a start need not read their messages. */
  flush(): void {
    this.#tables.transaction(() => this.#writeRows())
    this.#rows.written()
  }

  #writeRows(erasedTo?: ReadonlyMap<number, number>): void {
    this.#rows.write({ head: this.#head, missing: this.#missing }, erasedTo)
  }

  /** Reads the channels' rows from the tables, and the messages after them. */
  #load(): void {
    const tables = this.#tables
    const mark = tables.meta('mark')
    this.#missing = tables.meta('missing')
    for (const channel of this.#rows.read(this.#parts.typeOf)) {
      const { name, floor, piles } = channel
      this.#register(channel)
      for (const { newest } of piles.values())
        this.#heads.set(name, Math.max(newest, this.#heads.get(name) ?? 0))
      this.#expiries.add(channel)
      if (channel.erasedTo < floor) this.#eraser.drop({ channel, seq: floor, bytes: 0 })
      if (channel.isErased && channel.messages === 0) this.#emptied.add(channel)
    }
    this.#retention.load()
    this.#eraser.load()
    if (this.#parts.isChecked) tables.check()
    this.#head = tables.head()
    const changed = this.#readAfter(mark)
    this.#loadBases()
    for (const channel of changed) this.#expiries.consider(channel, this.contentOf)
    this.#retention.expireLimited()
    for (const { piles } of this.#numbers.values())
      for (const pile of piles.values()) if (pile.isCumulative) this.#folding.load(pile)
    this.#retention.makeRoom()
    this.#eraser.plan()
  }

  /** Counts the messages that are newer than the rows. Returns their channels. */
  #readAfter(mark: number): ReadonlySet<Channel> {
    const changed = new Set<Channel>()
    for (const held of this.#tables.all(mark)) {
      const channel = this.#numbers.get(held.channel)
      // It is being erased.
      if (!channel) continue
      if (held.previous !== channel.head && channel.head > 0) throw missing()
      changed.add(channel)
      const pile = held.kind === 'erasure' ? undefined : channel.pileOf(held.kind)
      if (held.seq > channel.floor) this.#hold(channel, held)
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
    return changed
  }

  /** A base may have been written after the rest. */
  #loadBases(): void {
    for (const { channel: number, kind, seq, bytes } of this.#tables.bases()) {
      const pile = this.#numbers.get(number)?.pileOf(kind)
      if (!pile) continue
      if (pile.base !== seq) this.#countLoose(pile, seq)
      pile.base = seq
      pile.baseBytes = bytes
      pile.newest = Math.max(pile.newest, seq)
    }
    // The kind may not have been cumulative before.
    for (const { piles } of this.#numbers.values())
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
    this.#eraser.close()
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
