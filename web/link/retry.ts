// How long the link waits before it tries again: longer each time, and short again once it stayed open for a while.

import type { Random } from '../../server/wire/random.ts'
import { type RetryPauses, retryPauseMs } from '../../server/wire/retry-pause.ts'
import type { Clock } from '../../server/wire/time.ts'

const pauses: RetryPauses = { firstMs: 250, longestMs: 15_000 }

/** A link that lived shorter than this failed like one that never opened; else one that dies at once would flap for ever. */
const steadyMs = 5000

/** Where trying again soon is no use: not invited, refused, offline. */
const longMs = 60_000

export interface Retry {
  readonly opened: () => void
  /** The link closed: ms until the next try. `wishMs` is the server's; after a first failure it can only make it longer. */
  readonly pauseMs: (wishMs: number | null) => number
  /** For a wait that something else is to end: ms, at least half a minute. */
  readonly longPauseMs: () => number
  /** Forgets all failures. */
  readonly startOver: () => void
}

export function createRetry(now: Clock, random: Random): Retry {
  let failures = 0
  let openedAt: number | null = null

  function startOver(): void {
    failures = 0
    openedAt = null
  }

  return {
    opened() {
      openedAt = now()
    },
    pauseMs(wishMs) {
      // Sent away by a server that had let it in: no failure, and the server has said when to come back.
      if (wishMs !== null && openedAt !== null) {
        openedAt = null
        return wishMs
      }
      if (openedAt !== null && now() - openedAt >= steadyMs) startOver()
      openedAt = null
      const isFirst = failures === 0
      const ownMs = retryPauseMs(failures, pauses, random)
      failures += 1
      if (wishMs === null) return ownMs
      return isFirst ? wishMs : Math.max(wishMs, ownMs)
    },
    longPauseMs: () => longMs * (0.5 + random() / 2),
    startOver,
  }
}
