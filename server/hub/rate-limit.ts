// Limits the rate of each sender on a connection.

import type { Clock } from '../../protocol/time.ts'

interface Bucket {
  tokens: number
  filledAt: number
}

interface Connection {
  /** Null until a sender with a name appears. */
  own: Map<string, Bucket> | null
  /** For the sender without a name, and for those without a bucket of their own. */
  readonly shared: Bucket
  sweptAt: number
}

/** Maximum number of active senders per connection with their own bucket. */
const ownBuckets = 64

/**
 * Allows `count` messages per sender and period (default: one second), with a burst of one period.
 * Clients can invent names; one that uses thousands still gets the rate of only 65 senders, and
 * does not slow other connections. Frames of a stream have the sender "".
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

  /** Charges any number of tokens; later messages wait for them. */
  charge(connection: object, tokens: number, sender = ''): void {
    this.#filled(connection, sender).tokens -= tokens
  }

  /** Ms until a connection has tokens again after it was charged more than it had. */
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
    // Runs at most once a second: unknown senders must not slow every message.
    if (own.size >= ownBuckets && at - known.sweptAt >= 1000) {
      known.sweptAt = at
      // An idle period fills a bucket, so forgetting it changes nothing.
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

/** The last quarter of windows and channels is reserved for clients that have none. */
export const reserveOf = (most: number) => most * 0.75

/** Refused bytes that cost one token. */
export const bytesPerToken = 16_384

/** Tokens charged for a refused request. */
export const costOfRefusal = (bytes: number) => 1 + bytes / bytesPerToken
