// How fast a window may send: a bucket of tokens for each sender, filled evenly, a second's worth deep.

import type { Clock } from '../wire/time.ts'

export interface Pace {
  /** Takes a token. Returns 0, or the ms to wait when there was none: then nothing was taken. */
  readonly take: (sender: string) => number
}

interface Bucket {
  tokens: number
  filledAt: number
}

/** At most `perSecond` messages a second for each sender; of senders who were busy within a second, at most `maxSenders`. */
export function createPace(perSecond: number, maxSenders: number, now: Clock): Pace {
  const buckets = new Map<string, Bucket>()
  let sweptAt = Number.NEGATIVE_INFINITY

  function bucketOf(sender: string): Bucket | null {
    const known = buckets.get(sender)
    if (known) return known
    if (buckets.size >= maxSenders) forgetIdle()
    if (buckets.size >= maxSenders) return null
    const bucket = { tokens: perSecond, filledAt: now() }
    buckets.set(sender, bucket)
    return bucket
  }

  /** A second without a message fills a bucket: then it says no more than a new one would. */
  function forgetIdle(): void {
    // Once a second at most, so that a crowd of unknown senders cannot make every message pay for it.
    if (now() - sweptAt < 1000) return
    sweptAt = now()
    const idleSince = sweptAt - 1000
    for (const [sender, { filledAt }] of buckets) if (filledAt < idleSince) buckets.delete(sender)
  }

  return {
    take(sender) {
      const bucket = bucketOf(sender)
      if (!bucket) return 1000
      const at = now()
      bucket.tokens = Math.min(perSecond, bucket.tokens + ((at - bucket.filledAt) / 1000) * perSecond)
      bucket.filledAt = at
      if (bucket.tokens < 1) return ((1 - bucket.tokens) / perSecond) * 1000
      bucket.tokens -= 1
      return 0
    },
  }
}
