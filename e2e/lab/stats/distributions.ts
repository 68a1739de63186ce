// The door to jstat: Student's t distribution under names in full, and nothing else of that library.

import jstat from 'jstat'

const { studentt } = jstat.jStat

/**
 * Two-sided p of a t statistic: the probability of one at least as far from 0 if there were no difference.
 * Degrees of freedom may have fractions. Taken from the lower tail, which keeps its digits down to about 1e-300;
 * below that it is 0.
 */
export function twoSidedP(t: number, degreesOfFreedom: number): number {
  if (t === 0) return 1
  if (!Number.isFinite(t)) return 0
  return Math.min(1, 2 * studentt.cdf(-Math.abs(t), degreesOfFreedom))
}

/** The t that leaves `level` of the distribution between -t and t: 1.96 for 0.95 and very many degrees. */
export function criticalT(level: number, degreesOfFreedom: number): number {
  if (!(level > 0 && level < 1)) throw new RangeError(`A level lies between 0 and 1, like 0.95; got ${level}`)
  return studentt.inv((1 + level) / 2, degreesOfFreedom)
}
