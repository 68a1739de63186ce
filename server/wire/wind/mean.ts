// The mean wind over some time.

import type { WindSums } from './sums.ts'
import { directionOf, lengthOf } from './vector.ts'

/** A WindSonic resolves 0.01 m/s (1405-PS-0019): winds that cancel out to less than that come from nowhere. */
const leastVectorMetresPerSecond = 0.01

export interface WindMean {
  /** Arithmetic mean of the speeds, calms included: what is reported as the mean speed (WMO-No. 8, I, 5.1). */
  readonly speedMetresPerSecond: number
  /** Length of the mean vector: at most the mean speed, and less the more the wind turns. */
  readonly vectorMetresPerSecond: number
  /** Where the mean vector points, each direction weighted by its speed; null in a calm. */
  readonly directionDegrees: number | null
  /** How much of the time readings stand for: less than the window's at the beginning and after an outage. */
  readonly coversMs: number
}

/** Scalar mean of speed, vector mean of direction: both as in EPA-454/R-99-005, 6.2.1 and 6.2.2. */
export function meanOf(sums: WindSums): WindMean {
  const vector = { east: sums.east / sums.count, north: sums.north / sums.count }
  const vectorMetresPerSecond = lengthOf(vector)
  return {
    speedMetresPerSecond: sums.speed / sums.count,
    vectorMetresPerSecond,
    directionDegrees: vectorMetresPerSecond < leastVectorMetresPerSecond ? null : directionOf(vector),
    coversMs: sums.coversMs,
  }
}
