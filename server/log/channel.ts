// A log's knowledge of one of its channels.

import type { Kind, Message } from '../../protocol/messages.ts'
import { upsert } from '../../protocol/upsert.ts'
import type { ChannelType, Expiry } from '../channels/channel-type.ts'
import { type Bounds, boundsFrom } from './log.ts'
import type { Held } from './tables.ts'

/** A channel's messages of one kind. */
export interface Pile {
  readonly channel: Channel
  readonly kind: Kind
  readonly isCumulative: boolean
  newest: number
  /** The messages after this number are in no base; 0 if there is none. */
  base: number
  baseBytes: number
  loose: number
  looseBytes: number
  /** The base as last read, which may be large; concurrent readers share one copy. */
  baseMessage: WeakRef<Message> | null
  isFolding: boolean
  /** After a failure, not retried below this many loose messages. */
  retryAt: number
}

/** One channel of the log. */
export class Channel {
  readonly name: string
  readonly type: ChannelType
  readonly keep: Bounds | null
  /** In the tables. */
  readonly number: number
  /** The number before its first message; whether there were earlier ones is unknown. */
  readonly begin: number
  /** See `Shares`. */
  weight = 0
  head = 0
  /** Number of held messages, and the size of their bodies. */
  messages = 0
  bytes = 0
  /** The number of the newest message that was dropped; 0 for none. */
  floor = 0
  /** Up to this number, the tables have no dropped messages except those that stay. */
  erasedTo = 0
  /** Whether the log has forgotten it. */
  isGone = false
  /** Whether its content was erased, and nothing was written there since. */
  isErased = false
  expiry: Expiry = { at: null, spareAt: null }
  readonly piles = new Map<Kind, Pile>()
  /** The oldest held messages, as far as they were read. */
  oldest: Held[] = []
  /** Whether messages were dropped since the start. */
  isShrinking = false

  constructor(name: string, type: ChannelType, number: number, begin: number) {
    this.name = name
    this.type = type
    this.keep = type.keep ? boundsFrom(type.keep) : null
    this.number = number
    this.begin = begin
  }

  pileOf(kind: Kind): Pile {
    return upsert(this.piles, kind, () => ({
      channel: this,
      kind,
      isCumulative: this.type.kinds[kind]?.fold !== undefined,
      newest: 0,
      base: 0,
      baseBytes: 0,
      loose: 0,
      looseBytes: 0,
      baseMessage: null,
      isFolding: false,
      retryAt: 0,
    }))
  }
}
