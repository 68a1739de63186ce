// Chooses the messages that a log drops: by age, by a channel's own limits, and to make room.

import type { Clock } from '../../protocol/time.ts'
import type { Channel } from './channel.ts'
import type { Bounds } from './log.ts'
import { Shares } from './shares.ts'
import { type Held, missing, type Tables } from './tables.ts'

/** Number of a channel's oldest messages that are examined together. */
const aheadCount = 64

/** Number of messages whose age is examined together. */
const agedCount = 500

interface RetentionParts {
  readonly tables: Tables
  readonly limits: Bounds
  readonly now: Clock
  readonly isLasting: boolean
  /** By their numbers in the tables. */
  readonly channels: ReadonlyMap<number, Channel>
  /** Called when a channel's oldest message was dropped. */
  readonly onDropped: (channel: Channel, message: Held) => void
}

export class Retention {
  readonly #parts: RetentionParts
  readonly shares: Shares
  #count = 0
  #bytes = 0
  /** The age of messages up to this number was examined. */
  #agedTo = 0
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(parts: RetentionParts) {
    const { limits, isLasting } = parts
    this.#parts = parts
    this.shares = new Shares(Math.ceil(limits.bytes / limits.messages), isLasting)
  }

  /** Counts the earlier messages of all channels. */
  load(): void {
    const { channels, tables } = this.#parts
    for (const channel of channels.values()) {
      this.#count += channel.messages
      this.#bytes += channel.bytes
      this.shares.load(channel)
    }
    for (const row of tables.shares()) {
      const channel = channels.get(row.channel)
      if (channel) this.shares.loadShare(channel, row)
    }
  }

  /** Number of held messages. */
  get count(): number {
    return this.#count
  }

  /** Counts a channel's new message. */
  add(channel: Channel, held: Held): void {
    const { bytes } = held
    this.#count += 1
    this.#bytes += bytes
    const isAllAhead = channel.oldest.length === channel.messages && channel.messages < aheadCount
    if (isAllAhead) channel.oldest.push(held)
    channel.messages += 1
    channel.bytes += bytes
    this.shares.count(channel, held, 1)
  }

  /** Forgets an erased channel. */
  delete(channel: Channel): void {
    this.#count -= channel.messages
    this.#bytes -= channel.bytes
    this.shares.remove(channel)
  }

  /** Enforces all limits after a message of the channel. */
  enforce(channel: Channel): void {
    const time = this.#parts.now()
    this.expire(channel, time)
    this.#sweep(time)
    this.makeRoom()
  }

  /** Examines the age of messages on quiet channels from time to time. */
  #sweep(time: number): void {
    const { tables, limits, channels } = this.#parts
    const { ageMs } = limits
    if (time - this.#sweptAt < ageMs / 100) return
    let looked = 0
    for (const { seq, acceptedAt, channel } of tables.ages(this.#agedTo, agedCount)) {
      // The rest is examined with the next message.
      if (acceptedAt + ageMs >= time) break
      this.#agedTo = seq
      looked += 1
      const found = channels.get(channel)
      if (found) this.expire(found, time)
    }
    if (looked === agedCount) return
    this.#sweptAt = time
    this.expireLimited(time)
  }

  /** Drops messages of the channels that have limits of their own. */
  expireLimited(time = this.#parts.now()): void {
    for (const channel of this.#parts.channels.values()) if (channel.keep) this.expire(channel, time)
  }

  /** Drops the oldest messages of the largest channel or writer, down to the log's limits. */
  makeRoom(): void {
    const { messages, bytes } = this.#parts.limits
    while (this.#count > messages || (this.#bytes > bytes && this.#count > 1)) {
      const payer = this.shares.payer()
      const first = payer && this.oldestOf(payer)
      if (!first) return
      this.#drop(payer, first)
    }
  }

  /** Drops a channel's messages that are too old, or beyond the channel's own limits. */
  expire(channel: Channel, time = this.#parts.now()): void {
    const { limits } = this.#parts
    const { keep } = channel
    for (let first = this.oldestOf(channel); first; first = this.oldestOf(channel)) {
      const isOld = first.acceptedAt + limits.ageMs < time
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

  /** Drops a channel's messages before a number. */
  dropBefore(channel: Channel, before: number): void {
    for (let first = this.oldestOf(channel); first && first.seq < before; first = this.oldestOf(channel))
      this.#drop(channel, first)
  }

  /** Throws a `SyntaxError` if it is missing. */
  oldestOf(channel: Channel): Held | undefined {
    if (channel.messages === 0) return undefined
    if (channel.oldest.length === 0) {
      // For most channels, only the age of the oldest message is checked.
      const count = channel.isShrinking ? Math.min(aheadCount, channel.messages) : 1
      channel.oldest = this.#parts.tables.held(channel.number, channel.floor, count)
      if (channel.oldest.length === 0) throw missing()
    }
    return channel.oldest[0]
  }

  #drop(channel: Channel, first: Held): void {
    channel.oldest.shift()
    channel.isShrinking = true
    channel.floor = first.seq
    channel.messages -= 1
    channel.bytes -= first.bytes
    this.#count -= 1
    this.#bytes -= first.bytes
    this.shares.count(channel, first, -1)
    this.#parts.onDropped(channel, first)
  }
}
