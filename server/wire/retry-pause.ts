// How long to wait before the next try: growing, and jittered so that those that failed together do not come back as a herd.

import type { Random } from './random.ts'

export interface RetryPauses {
  /** The first pause's upper end. */
  readonly firstMs: number
  readonly longestMs: number
}

/**
 * Pause in ms after `failures` failures in a row, 0 for the first: `firstMs`, doubled for each failure up to `longestMs`,
 * of which the upper half is left to chance.
 */
export function retryPauseMs(failures: number, { firstMs, longestMs }: RetryPauses, random: Random): number {
  const wholeMs = Math.min(longestMs, firstMs * 2 ** failures)
  return wholeMs * (0.5 + random() / 2)
}
