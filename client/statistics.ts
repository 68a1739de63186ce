// Student’s t, intervals of means and Holm’s correction, for the lab and the page’s comparison.

/** NaN for an empty list. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Sample standard deviation (n - 1); NaN for fewer than two values. */
export function standardDeviation(values: readonly number[]): number {
  const centre = mean(values)
  // Uses two passes: a single pass over squares loses precision if the mean is large compared with
  // the spread.
  const squares = values.reduce((sum, value) => sum + (value - centre) ** 2, 0)
  return values.length < 2 ? Number.NaN : Math.sqrt(squares / (values.length - 1))
}

export type Interval = readonly [low: number, high: number]

interface MeanError {
  readonly standardError: number
  readonly degreesOfFreedom: number
}

/**
 * Two-sided test and interval from a standard error. For a standard error of 0 the interval is the
 * difference itself; for equal means p is 1 and t is 0, otherwise p is 0 and t infinite.
 */
export function differenceOfMeans(
  difference: number,
  { standardError, degreesOfFreedom }: MeanError,
  level: number,
) {
  const t = difference === 0 ? 0 : difference / standardError
  const interval = intervalAround(difference, { standardError, degreesOfFreedom }, level)
  return { difference, interval, t, degreesOfFreedom, p: twoSidedP(t, degreesOfFreedom) }
}

export function intervalAround(
  centre: number,
  { standardError, degreesOfFreedom }: MeanError,
  level: number,
): Interval {
  if (!(level > 0 && level < 1))
    throw new RangeError(`A level must be between 0 and 1, like 0.95; got ${level}`)
  const reach = criticalT(1 - level, degreesOfFreedom) * standardError
  return [centre - reach, centre + reach]
}

/**
 * Mean of independent values with Student's t: one figure for each cluster, such as a session,
 * instead of all its samples, which resemble each other (R. J. Hayes and L. H. Moulton, "Cluster
 * Randomised Trials", 2nd ed., 2017, chapter 10). Throws RangeError for fewer than 2 values.
 */
export function meanOfClusters(values: readonly number[], level = 0.95) {
  const n = values.length
  if (n < 2) throw new RangeError(`An interval needs 2 clusters or more; got ${n}`)
  const error = { standardError: standardDeviation(values) / Math.sqrt(n), degreesOfFreedom: n - 1 }
  return differenceOfMeans(mean(values), error, level)
}

/**
 * Geometric mean of one ratio for each cluster, with its interval, and p of a ratio of 1:
 * `meanOfClusters` of their logarithms.
 */
export function meanOfRatios(ratios: readonly number[], level = 0.95) {
  const { difference, interval, p } = meanOfClusters(ratios.map(Math.log), level)
  const [low, high] = interval
  return { ratio: Math.exp(difference), interval: [Math.exp(low), Math.exp(high)] as const, p }
}

/**
 * Two-sided p of Student's t; degrees of freedom may be fractional. Keeps its precision down to
 * about 1e-300.
 */
export function twoSidedP(t: number, degreesOfFreedom: number): number {
  if (t === 0) return 1
  if (!Number.isFinite(t)) return 0
  // M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions" (1964), 26.7.1.
  const whole = degreesOfFreedom + t ** 2
  return incompleteBeta([degreesOfFreedom / whole, t ** 2 / whole], degreesOfFreedom / 2, 0.5)
}

/** The t that is exceeded, in either direction, with probability `p`. */
export function criticalT(p: number, degreesOfFreedom: number): number {
  let low = 0
  let high = 1
  while (twoSidedP(high, degreesOfFreedom) > p) {
    low = high
    high *= 2
  }
  for (let middle = (low + high) / 2; middle > low && middle < high; middle = (low + high) / 2) {
    if (twoSidedP(middle, degreesOfFreedom) > p) low = middle
    else high = middle
  }
  return high
}

/**
 * Regularized, at `x` from 0 to 1 with `rest` = 1 - x (Abramowitz and Stegun, 6.6.2 and 26.5.8).
 */
function incompleteBeta([x, rest]: readonly [number, number], a: number, b: number): number {
  // The continued fraction converges fast only on this side.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta([rest, x], b, a)
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(rest))
  // Evaluated by Lentz's method: W. J. Lentz, Applied Optics 15 (1976), 668.
  let numerator = 1
  let denominator = 1 / (1 - ((a + b) * x) / (a + 1))
  let fraction = denominator
  for (let m = 1, change = 0; m < 1000 && Math.abs(change - 1) > 1e-16; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    denominator = 1 / (1 + even * denominator)
    numerator = 1 + even / numerator
    fraction *= denominator * numerator
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    denominator = 1 / (1 + odd * denominator)
    numerator = 1 + odd / numerator
    change = denominator * numerator
    fraction *= change
  }
  return (front * fraction) / a
}

/**
 * C. Lanczos, "A Precision Approximation of the Gamma Function" (SIAM J. Numer. Anal. B 1, 1964), g
 * = 7; for x above 0.
 */
function logGamma(x: number): number {
  const sum = lanczos.reduce((total, coefficient, index) => total + coefficient / (x + index), leading)
  const t = x + 6.5
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum)
}

const leading = 0.99999999999980993
const lanczos = [
  676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
]

/**
 * Corrected p's in the given order, which bound the family-wise error rate. S. Holm, "A Simple
 * Sequentially Rejective Multiple Test Procedure" (Scand. J. Statist. 6, 1979): the k-th smallest
 * of m times m - k + 1, at least its predecessor, at most 1. Throws RangeError for values outside 0
 * to 1.
 */
export function holm(probabilities: readonly number[]): readonly number[] {
  const wrong = probabilities.find((p) => !(p >= 0 && p <= 1))
  if (wrong !== undefined) throw new RangeError(`A p must be between 0 and 1; got ${wrong}`)
  const smallestFirst = [...probabilities.entries()].sort(([, a], [, b]) => a - b)
  const corrected = new Array<number>(probabilities.length)
  let floor = 0
  for (const [rank, [index, p]] of smallestFirst.entries()) {
    floor = Math.min(1, Math.max(floor, (probabilities.length - rank) * p))
    corrected[index] = floor
  }
  return corrected
}
