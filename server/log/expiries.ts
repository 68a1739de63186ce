// Channels that the log erases by itself: those that have expired, and those that can be spared.

import { type Draft, logName } from '../../protocol/messages.ts'
import type { Clock } from '../../protocol/time.ts'
import type { Content, Expiry } from '../channels/channel-type.ts'
import type { Channel } from './channel.ts'

/** Drafts an erasure, which takes effect if `head` is still the channel's newest number. */
export function erasureOf(channel: string, head: number, at: number): Draft<'erasure'> {
  return { id: `${logName}-${head}`, channel, kind: 'erasure', from: logName, at, body: { head } }
}

export class Expiries {
  readonly #now: Clock
  readonly #due = new Set<Channel>()
  readonly #spare = new Set<Channel>()
  #nextAt = Number.POSITIVE_INFINITY

  constructor(now: Clock) {
    this.#now = now
  }

  /** Call after each message of the channel. */
  consider(channel: Channel, contentOf: (name: string) => Content): void {
    const { expiry } = channel.type
    if (!expiry || channel.piles.size === 0) return
    this.delete(channel)
    channel.expiry = expiry(contentOf(channel.name))
    this.add(channel)
  }

  /** Schedules the channel's `expiry`. */
  add(channel: Channel): void {
    const { at, spareAt } = channel.expiry
    if (spareAt !== null) this.#spare.add(channel)
    if (at === null) return
    this.#due.add(channel)
    this.#nextAt = Math.min(this.#nextAt, at)
  }

  delete(channel: Channel): void {
    this.#due.delete(channel)
    this.#spare.delete(channel)
  }

  /** Drafts the erasure of the channel that expired first: all servers of a log create the same draft. */
  due(): Draft<'erasure'> | null {
    if (this.#now() < this.#nextAt) return null
    const first = earliest(this.#due, 'at')
    this.#nextAt = first?.expiry.at ?? Number.POSITIVE_INFINITY
    return this.#erasureOf(first, 'at')
  }

  /** Drafts the erasure of the channel that could have made room for longest; null if there is none. */
  spare(isInUse: (channel: string) => boolean): Draft<'erasure'> | null {
    const first = earliest(this.#spare, 'spareAt', ({ name }) => !isInUse(name))
    return this.#erasureOf(first, 'spareAt')
  }

  #erasureOf(channel: Channel | undefined, when: keyof Expiry): Draft<'erasure'> | null {
    const at = channel?.expiry[when] ?? Number.POSITIVE_INFINITY
    return channel && at <= this.#now() ? erasureOf(channel.name, channel.head, at) : null
  }
}

function earliest(
  channels: Iterable<Channel>,
  when: keyof Expiry,
  isFit: (channel: Channel) => boolean = () => true,
): Channel | undefined {
  let first: Channel | undefined
  let least = Number.POSITIVE_INFINITY
  for (const channel of channels) {
    const at = channel.expiry[when] ?? Number.POSITIVE_INFINITY
    if (at >= least || !isFit(channel)) continue
    first = channel
    least = at
  }
  return first
}
