// A difference of two means with what is known about its error: shared by Welch's and Student's test.

import { criticalT, twoSidedP } from './distributions.ts'

/** All that a t-test needs to know of a group. */
export interface Group {
  readonly n: number
  readonly mean: number
  /** Sample standard deviation, divided by n - 1. */
  readonly sd: number
}

/** In the unit of the means. */
export interface Difference {
  /** First mean minus second: negative where the first is smaller. */
  readonly difference: number
  /** Confidence interval of the difference, low end first. */
  readonly interval: readonly [number, number]
  readonly t: number
  readonly degreesOfFreedom: number
  /** Two-sided. */
  readonly p: number
}

/** Throws RangeError for a group that a t-test cannot use, and says which figure is at fault. */
export function checkGroup({ n, mean, sd }: Group): void {
  if (!Number.isInteger(n) || n < 2)
    throw new RangeError(`A t-test needs n of 2 or more in each group; got ${n}`)
  if (!Number.isFinite(mean)) throw new RangeError(`A t-test needs a finite mean; got ${mean}`)
  if (!Number.isFinite(sd) || sd < 0) throw new RangeError(`A standard deviation is 0 or more; got ${sd}`)
}

/**
 * The test and the interval that follow from a standard error and its degrees of freedom. A standard error of 0
 * (every value in each group the same) leaves no doubt: p is 1 and t is 0 for equal means, else p is 0 and t
 * infinite, and the interval is the difference itself.
 */
export function differenceOfMeans(
  first: Group,
  second: Group,
  { standardError, degreesOfFreedom }: { standardError: number; degreesOfFreedom: number },
  level: number,
): Difference {
  const difference = first.mean - second.mean
  const t = difference === 0 ? 0 : difference / standardError
  const reach = criticalT(level, degreesOfFreedom) * standardError
  return {
    difference,
    interval: [difference - reach, difference + reach],
    t,
    degreesOfFreedom,
    p: twoSidedP(t, degreesOfFreedom),
  }
}
