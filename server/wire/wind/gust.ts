// The gust: the highest mean over 3 s.

import { createRunning } from './running.ts'
import type { Sample } from './sampling.ts'
import { addSums, sumsOf, type WindSums } from './sums.ts'

/** Peak gusts are to stand for 3 s (WMO-No. 8, I, 5.1.1; WMO-No. 306, FM 15, 15.5.5). */
const gustMs = 3000

/** Of those 3 s: less is no mean over 3 s, but a spike after an outage or in a backlog that came all at once. */
const leastCoveredMs = 2500

/**
 * After a pause of so many usual ones readings are missing, or come late and all at once. A reading stands for no such
 * pause: two would pass for a mean over 3 s.
 */
const longestInPaces = 3

/** The usual pause is followed over about so many readings. */
const paceReadings = 8

export interface Gusts {
  readonly add: (sample: Sample) => void
  /** Highest 3 s mean that ended within the last 10 minutes before `now`, m/s; null when there was none. */
  readonly ofTenMinutes: (now: number) => number | null
  /** The same for the last minute. */
  readonly ofOneMinute: (now: number) => number | null
}

/** Readings that come slower than one in 2.5 s have no gusts: a single one is no mean. */
export function createGusts(): Gusts {
  const threeSeconds = createRunning<WindSums>({ spanMs: gustMs, join: addSums })
  const minute = createRunning<number>({ spanMs: 60_000, join: Math.max })
  const tenMinutes = createRunning<number>({ spanMs: 600_000, join: Math.max })
  let paceMs: number | null = null

  function coveredBy({ coversMs, startsAnew }: Sample): number {
    if (startsAnew) return coversMs
    paceMs ??= coversMs
    const covered = coversMs > longestInPaces * paceMs ? 0 : coversMs
    paceMs += (coversMs - paceMs) / paceReadings
    return covered
  }

  return {
    add(sample) {
      threeSeconds.add(sumsOf({ ...sample, coversMs: coveredBy(sample) }), sample.at)
      const sums = threeSeconds.total(sample.at)
      if (!sums || sums.count < 2 || sums.coversMs < leastCoveredMs) return
      const mean = sums.speed / sums.count
      minute.add(mean, sample.at)
      tenMinutes.add(mean, sample.at)
    },
    ofTenMinutes: tenMinutes.total,
    ofOneMinute: minute.total,
  }
}
