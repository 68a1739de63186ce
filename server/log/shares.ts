// Divides a full log's room: the largest consumer pays with the oldest messages.

import { upsert } from '../../protocol/upsert.ts'
import type { Channel } from './channel.ts'
import type { Held, ShareRow } from './tables.ts'

/** A consumer of room in the log: a channel or a writer. */
interface Party {
  weight: number
}

/** Finds a heavy party at once: none is twice as heavy. */
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
  readonly shares: Map<Channel, Share>
}

/** One writer's messages on one channel. */
interface Share {
  messages: number
  bytes: number
}

/**
 * When the log is full, the largest consumer pays with the oldest messages: the largest channel, or, if
 * the largest writer takes more than any channel, the channel where that writer holds most. So a flood
 * shortens no other channel that takes less than half of an equal share.
 */
export class Shares {
  /** The room that a message takes besides its bytes. */
  readonly #placeBytes: number
  readonly #isWritten: boolean
  readonly #writers = new Map<string, Writer>()
  readonly #largestChannels = new Heaviest<Channel>()
  readonly #largestWriters = new Heaviest<Writer>()
  /** Shares changed since they were last written. */
  readonly #changed = new Map<Channel, Set<string>>()

  /** `isWritten`: `changedOf` is called from time to time. */
  constructor(placeBytes: number, isWritten: boolean) {
    this.#placeBytes = placeBytes
    this.#isWritten = isWritten
  }

  /** `sign` -1: the message has gone. */
  count(channel: Channel, { bytes, writer }: Pick<Held, 'bytes' | 'writer'>, sign: 1 | -1): void {
    this.#largestChannels.change(channel, (bytes + this.#placeBytes) * sign)
    if (writer !== null) this.#share(channel, writer, sign, bytes * sign)
  }

  /** Counts a channel's earlier messages. */
  load(channel: Channel): void {
    this.#largestChannels.change(channel, channel.bytes + channel.messages * this.#placeBytes)
  }

  loadShare(channel: Channel, { writer, messages, bytes }: Omit<ShareRow, 'channel'>): void {
    this.#share(channel, writer, messages, bytes)
    this.#changed.delete(channel)
  }

  /** Forgets an erased channel. */
  remove(channel: Channel): void {
    this.#largestChannels.change(channel, -channel.weight)
    for (const [name, { shares }] of this.#writers) {
      const share = shares.get(channel)
      if (share) this.#share(channel, name, -share.messages, -share.bytes)
    }
    this.#changed.delete(channel)
  }

  payer(): Channel | undefined {
    const channel = this.#largestChannels.find()
    const writer = this.#largestWriters.find()
    if (!channel || !writer || writer.weight <= channel.weight) return channel
    let largest = channel
    let most = 0
    for (const [one, share] of writer.shares) {
      const weight = this.#weightOf(share)
      if (weight <= most) continue
      largest = one
      most = weight
    }
    return largest
  }

  /** The channel's shares that have changed since they were written. */
  changedOf(channel: Channel): ShareRow[] {
    const names = this.#changed.get(channel) ?? []
    return Array.from(names, (writer) => {
      const { messages = 0, bytes = 0 } = this.#writers.get(writer)?.shares.get(channel) ?? {}
      return { channel: channel.number, writer, messages, bytes }
    })
  }

  written(channel: Channel): void {
    this.#changed.delete(channel)
  }

  #weightOf = ({ messages, bytes }: Share) => bytes + messages * this.#placeBytes

  #share(channel: Channel, name: string, messages: number, bytes: number): void {
    const writer = upsert(this.#writers, name, () => ({ weight: 0, shares: new Map<Channel, Share>() }))
    const share = upsert(writer.shares, channel, () => ({ messages: 0, bytes: 0 }))
    const before = this.#weightOf(share)
    share.messages += messages
    share.bytes += bytes
    this.#largestWriters.change(writer, this.#weightOf(share) - before)
    if (share.messages <= 0) writer.shares.delete(channel)
    if (writer.shares.size === 0) this.#writers.delete(name)
    if (this.#isWritten) upsert(this.#changed, channel, () => new Set()).add(name)
  }
}
