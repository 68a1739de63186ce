// The channels' rows in a log's tables, with figures, so that a start need not read all messages.

import type { TypeOf } from '../channels/channel-type.ts'
import { Channel } from './channel.ts'
import type { Shares } from './shares.ts'
import type { Tables } from './tables.ts'

/** What the log's own row has. */
interface LogFigures {
  /** The newest number. */
  readonly head: number
  /** Messages up to this number are missing, of unknown channels. */
  readonly missing: number
}

export class ChannelRows {
  readonly #tables: Tables
  readonly #shares: Shares
  readonly #isLasting: boolean
  /** Channels whose rows are out of date. */
  readonly #changed = new Set<Channel>()

  /** `isLasting`: the rows are read again by a later start; else none is written. */
  constructor(tables: Tables, shares: Shares, isLasting: boolean) {
    this.#tables = tables
    this.#shares = shares
    this.#isLasting = isLasting
  }

  /** The channels in the tables, with their kinds. */
  read(typeOf: TypeOf): Channel[] {
    const byNumber = new Map<number, Channel>()
    for (const row of this.#tables.channels()) {
      const channel = new Channel(row.name, typeOf(row.name), row.number, row.begin)
      channel.floor = row.floor
      channel.erasedTo = row.erasedTo
      channel.head = row.head
      channel.messages = row.messages
      channel.bytes = row.bytes
      channel.isErased = row.isErased
      channel.expiry = { at: row.expiresAt, spareAt: row.spareAt }
      byNumber.set(row.number, channel)
    }
    for (const row of this.#tables.piles()) {
      const pile = byNumber.get(row.channel)?.pileOf(row.kind)
      if (!pile) continue
      pile.newest = row.newest
      pile.base = row.base
      pile.loose = row.loose
      pile.looseBytes = row.looseBytes
    }
    return [...byNumber.values()]
  }

  noteChange(channel: Channel): void {
    if (this.#isLasting) this.#changed.add(channel)
  }

  /** Forgets an erased channel. */
  delete(channel: Channel): void {
    this.#changed.delete(channel)
  }

  /**
   * Writes what has changed; call `written` after the commit. `erasedTo` has the numbers up to which
   * the same transaction erases messages, by the numbers of their channels.
   */
  write({ head, missing }: LogFigures, erasedTo: ReadonlyMap<number, number> = new Map()): void {
    if (!this.#isLasting) return
    for (const channel of this.#changed) {
      const { number, name, begin, floor, messages, bytes, isErased, expiry } = channel
      this.#tables.writeChannel({
        number,
        name,
        begin,
        floor,
        erasedTo: erasedTo.get(number) ?? channel.erasedTo,
        head: channel.head,
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
    this.#tables.setMeta('mark', head)
    this.#tables.setMeta('missing', missing)
  }

  written(): void {
    for (const channel of this.#changed) this.#shares.written(channel)
    this.#changed.clear()
  }
}
