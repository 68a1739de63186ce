// How long to wait before a port is tried again.

import type { Random } from './time.ts'

const firstCeilingMs = 1000
const lastCeilingMs = 10_000

/** The longest pause there is, for sentences that say so. */
export const longestPauseMs = lastCeilingMs

/**
 * Pause in ms after `failures` failures in a row (0 for the first): 0.5 to 1 s, doubling up to 5 to 10 s. The jitter
 * covers the upper half, so that ports that failed together are not tried together.
 */
export function retryPauseMs(failures: number, random: Random): number {
  const ceilingMs = Math.min(lastCeilingMs, firstCeilingMs * 2 ** failures)
  return ceilingMs * (0.5 + 0.5 * random())
}
