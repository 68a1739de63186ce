// Limits the rate of each sender on a connection.

import type { Clock } from '../wire/time.ts'

interface Bucket {
  tokens: number
  filledAt: number
}

interface Connection {
  /** Null before the first that has a name. */
  own: Map<string, Bucket> | null
  /** Of the sender without a name, and of those without a bucket of their own. */
  readonly shared: Bucket
  sweptAt: number
}

/** Active senders per connection with their own bucket. */
const ownBuckets = 64

/**
 * `count` messages per sender and period, a second by default, with a burst of one period. Names are free to invent: a client under thousands has
 * the rate of 65 senders, and does not slow other connections. The frames of a stream have the sender "".
 */
export class RateLimit {
  readonly #count: number
  readonly #now: Clock
  readonly #periodMs: number
  readonly #connections = new WeakMap<object, Connection>()

  constructor(count: number, now: Clock, periodMs = 1000) {
    this.#count = count
    this.#now = now
    this.#periodMs = periodMs
  }

  /** Takes a token and returns 0; without one, returns the ms to wait. */
  take(connection: object, sender = ''): number {
    const bucket = this.#filled(connection, sender)
    if (bucket.tokens < 1) return ((1 - bucket.tokens) / this.#count) * this.#periodMs
    bucket.tokens -= 1
    return 0
  }

  /** What costs more than a token: the next ones wait for it. */
  charge(connection: object, tokens: number, sender = ''): void {
    this.#filled(connection, sender).tokens -= tokens
  }

  /** Until a connection has tokens again after it was charged more than it had, ms. */
  debtMs(connection: object): number {
    return (Math.max(0, -this.#filled(connection, '').tokens) / this.#count) * this.#periodMs
  }

  #filled(connection: object, sender: string): Bucket {
    const at = this.#now()
    const bucket = this.#bucketOf(connection, sender, at)
    const tokens = ((at - bucket.filledAt) / this.#periodMs) * this.#count
    bucket.tokens = Math.min(this.#count, bucket.tokens + tokens)
    bucket.filledAt = at
    return bucket
  }

  #bucketOf(connection: object, sender: string, at: number): Bucket {
    let known = this.#connections.get(connection)
    if (!known) {
      known = { own: null, shared: this.#fullBucket(at), sweptAt: Number.NEGATIVE_INFINITY }
      this.#connections.set(connection, known)
    }
    const { shared } = known
    if (sender === '') return shared
    known.own ??= new Map()
    const { own } = known
    const bucket = own.get(sender)
    if (bucket) return bucket
    // At most once a second: unknown senders must not slow every message.
    if (own.size >= ownBuckets && at - known.sweptAt >= 1000) {
      known.sweptAt = at
      // An idle period fills a bucket, as if new.
      for (const [idle, { filledAt }] of own) if (filledAt < at - this.#periodMs) own.delete(idle)
    }
    if (own.size >= ownBuckets) return shared
    const full = this.#fullBucket(at)
    own.set(sender, full)
    return full
  }

  #fullBucket(at: number): Bucket {
    return { tokens: this.#count, filledAt: at }
  }
}

/** The last quarter of windows and channels is for those who have none. */
export const reserveOf = (most: number) => most * 0.75

/** Of a message's bytes that are refused: the cost of one token. */
export const bytesPerToken = 16_384

/** Tokens, for a refused request. */
export const costOfRefusal = (bytes: number) => 1 + bytes / bytesPerToken
