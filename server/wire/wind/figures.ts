// The figures of the wind as it is now: means over 2 and 10 minutes, the gust, and how far the direction swings.

import { createGusts, type Gusts } from './gust.ts'
import { meanOf, type WindMean } from './mean.ts'
import { createRunning } from './running.ts'
import type { Sample } from './sampling.ts'
import { type Spread, spreadOf } from './spread.ts'
import { addSums, sumsOf, type WindSums } from './sums.ts'

/** Means over 10 minutes, and 2 for aviation, are the usual ones (WMO-No. 8, I, 5.1.1). */
export const meanMs = { twoMinutes: 120_000, tenMinutes: 600_000 }

export interface WindFigures {
  /** Null where the time had no reading. */
  readonly twoMinutes: WindMean | null
  readonly tenMinutes: WindMean | null
  /** Highest 3 s mean of the last 10 minutes. */
  readonly gustMetresPerSecond: number | null
  /** Of the last minute. */
  readonly spread: Spread | null
}

export const noFigures: WindFigures = {
  twoMinutes: null,
  tenMinutes: null,
  gustMetresPerSecond: null,
  spread: null,
}

export interface RunningFigures {
  readonly add: (sample: Sample) => void
  /** As of `now`, in the samples' time. */
  readonly at: (now: number) => WindFigures
  readonly gusts: Pick<Gusts, 'ofOneMinute'>
}

/** Costs the same for each sample however many there are, and keeps under two thousand numbers for each figure. */
export function createFigures(): RunningFigures {
  const [minute, twoMinutes, tenMinutes] = [60_000, meanMs.twoMinutes, meanMs.tenMinutes].map((spanMs) =>
    createRunning<WindSums>({ spanMs, join: addSums }),
  ) as [Sums, Sums, Sums]
  const gusts = createGusts()
  return {
    add(sample) {
      const sums = sumsOf(sample)
      for (const running of [minute, twoMinutes, tenMinutes]) running.add(sums, sample.at)
      gusts.add(sample)
    },
    at: (now) => ({
      twoMinutes: nullOr(meanOf, twoMinutes.total(now)),
      tenMinutes: nullOr(meanOf, tenMinutes.total(now)),
      gustMetresPerSecond: gusts.ofTenMinutes(now),
      spread: nullOr(spreadOf, minute.total(now)),
    }),
    gusts,
  }
}

type Sums = ReturnType<typeof createRunning<WindSums>>

function nullOr<Result>(make: (sums: WindSums) => Result, sums: WindSums | null): Result | null {
  return sums && make(sums)
}
