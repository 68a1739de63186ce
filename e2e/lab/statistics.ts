// Statistics of the lab: summaries, tests with intervals, and correlated series.

import {
  criticalT,
  differenceOfMeans,
  type Interval,
  intervalAround,
  mean,
  meanOfRatios,
  standardDeviation,
} from '../../client/statistics.ts'

export type Figures = ReturnType<typeof summarise>

/** `sd` is NaN for one value. Throws on an empty list. */
export function summarise(values: readonly number[]) {
  const sorted = ascending(values)
  return {
    n: sorted.length,
    mean: mean(sorted),
    sd: standardDeviation(sorted),
    p50: quantile(sorted, 0.5),
    p95: quantile(sorted, 0.95),
    p99: quantile(sorted, 0.99),
    min: quantile(sorted, 0),
    max: quantile(sorted, 1),
  }
}

export function ascending(values: readonly number[]): readonly number[] {
  return Array.from(Float64Array.from(values).sort())
}

export function median(values: readonly number[]): number {
  return quantile(ascending(values), 0.5)
}

/**
 * Quantile of ascending values; `probability` from 0 to 1. Linear interpolation at rank (n - 1) x probability:
 * definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (Am. Stat. 50, 1996), as in R and NumPy.
 * Throws on an empty list.
 */
export function quantile(sorted: readonly number[], probability: number): number {
  if (!(probability >= 0 && probability <= 1))
    throw new RangeError(`A quantile's probability must be from 0 to 1; got ${probability}`)
  const rank = (sorted.length - 1) * probability
  const below = sorted[Math.floor(rank)]
  const above = sorted[Math.ceil(rank)]
  if (below === undefined || above === undefined)
    throw new RangeError('No values: an empty list has no quantile')
  return below + (above - below) * (rank - Math.floor(rank))
}

/** First and last third of a series, to compare for a trend; empty for fewer than three values. */
export function outerThirds<Value>(values: readonly Value[]): readonly [readonly Value[], readonly Value[]] {
  const third = Math.floor(values.length / 3)
  return [values.slice(0, third), values.slice(values.length - third)]
}

/** Rounded to six significant digits; null unless finite, as in JSON. */
export function significant(value: number): number | null {
  return Number.isFinite(value) ? rounded(value) : null
}

/** Rounded to six significant digits; `value` must be finite. */
export function rounded(value: number): number {
  return Number(value.toPrecision(6))
}

export function roundedInterval([low, high]: Interval): Interval {
  return [rounded(low), rounded(high)]
}

export type Middle = ReturnType<typeof middleOf>

/** Median and range; null without values. */
export function middleOf(values: readonly number[]) {
  const known = ascending(values.filter(Number.isFinite))
  const at = (probability: number) => (known.length === 0 ? null : rounded(quantile(known, probability)))
  return { median: at(0.5), min: at(0), max: at(1) }
}

type Group = Pick<Figures, 'n' | 'mean' | 'sd'>

/**
 * Welch's t-test of first mean minus second. B. L. Welch, "The generalization of 'Student's' problem when several
 * different population variances are involved" (Biometrika 34, 1947); degrees of freedom by F. E. Satterthwaite
 * (Biometrics Bulletin 2, 1946). Throws RangeError for n below 2. Groups without spread: see `differenceOfMeans`.
 */
export function welch(first: Group, second: Group, level = 0.95) {
  const least = Math.min(first.n, second.n)
  if (least < 2) throw new RangeError(`A t-test needs n of 2 or more in each group; got ${least}`)
  const firstError = first.sd ** 2 / first.n
  const secondError = second.sd ** 2 / second.n
  const standardError = Math.sqrt(firstError + secondError)
  const spread = firstError ** 2 / (first.n - 1) + secondError ** 2 / (second.n - 1)
  // Without spread the formula is 0 / 0; any number works, since the standard error is 0.
  const degreesOfFreedom = spread === 0 ? first.n + second.n - 2 : (firstError + secondError) ** 2 / spread
  return differenceOfMeans(first.mean - second.mean, { standardError, degreesOfFreedom }, level)
}

/** Geometric mean of one ratio per session; null without any, and without an interval below two. */
export function sessionRatio(ratios: readonly number[]) {
  if (ratios.length < 2) return { ratio: significant(ratios[0] ?? Number.NaN), ratioCi95: null }
  const { ratio, interval } = meanOfRatios(ratios)
  return { ratio: rounded(ratio), ratioCi95: roundedInterval(interval) }
}

/**
 * 95 % interval of a share: E. B. Wilson, "Probable inference, the law of succession, and statistical inference" (J.
 * Am. Stat. Assoc. 22, 1927). `variance`: how many times that of independent draws. Throws RangeError for n below 1.
 */
export function shareInterval(count: number, n: number, variance = 1): Interval {
  if (n < 1) throw new RangeError(`A share needs n of 1 or more; got ${n}`)
  const share = count / n
  const z = 1.959964
  const spread = (z ** 2 * variance) / n
  const middle = (share + spread / 2) / (1 + spread)
  const half = Math.sqrt(spread * share * (1 - share) + spread ** 2 / 4) / (1 + spread)
  return [middle - half, middle + half]
}

/**
 * The number of clusters that would narrow the interval of `meanOfClusters` to this share of its
 * width, if they differ as these do.
 */
export function clustersFor(n: number, share: number, level = 0.95): number {
  const width = (count: number) => criticalT(1 - level, count - 1) / Math.sqrt(count)
  const widest = share * width(n)
  // Student's t is above its limit, so that fewer never suffice.
  let needed = Math.max(n, Math.floor((criticalT(1 - level, 1e6) / widest) ** 2))
  while (width(needed) > widest) needed += 1
  return needed
}

/**
 * First mean minus second of paired values: Student's t on the effective size of the differences. Effects that a shared
 * network has on both series cancel. Throws RangeError for different lengths or fewer than 2 values.
 */
export function pairedDifference(first: readonly number[], second: readonly number[], level = 0.95) {
  const error = errorOfMean(pairs(first, second).map(([one, other]) => one - other))
  // `summarise` sorts: a sum of floats depends on their order.
  const difference = summarise(first).mean - summarise(second).mean
  return { ...differenceOfMeans(difference, error, level), effectiveSize: error.size }
}

/**
 * First mean over second, for paired values. Interval by the delta method: that of the mean of first − ratio × second,
 * over the second mean (W. G. Cochran, "Sampling Techniques", 3rd ed., 1977, section 6.3), on the effective size.
 * Throws RangeError as above.
 */
export function pairedRatio(first: readonly number[], second: readonly number[]) {
  const base = mean(second)
  const ratio = mean(first) / base
  const residuals = pairs(first, second).map(([one, other]) => (one - ratio * other) / base)
  return { ratio, interval: intervalAround(ratio, errorOfMean(residuals), 0.95) }
}

function pairs(first: readonly number[], second: readonly number[]): readonly (readonly [number, number])[] {
  if (first.length !== second.length || first.length < 2)
    throw new RangeError(`Pairs need two series of one length; got ${first.length} and ${second.length}`)
  return first.map((one, index) => [one, second[index] ?? Number.NaN])
}

function errorOfMean(values: readonly number[]) {
  const size = effectiveSize(values)
  const standardError = standardDeviation(values) / Math.sqrt(size)
  return { size, standardError, degreesOfFreedom: Math.max(1, size - 1) }
}

/** In standard errors; smaller autocorrelations count as none (Politis and White, 2004, section 3.2). */
const insignificant = 2
/** Fewer values show no autocorrelation. */
const minValues = 8

/**
 * Effective sample size of the mean: n times variance over long-run variance, with a flat-top lag window of data-driven
 * width (D. N. Politis and H. White, "Automatic Block-Length Selection for the Dependent Bootstrap", Econometric
 * Reviews 23, 2004, sections 3.1 and 3.2). At most n, although alternating values, as of polling, carry more
 * information; n for a series without spread or with few values.
 */
export function effectiveSize(values: readonly number[]): number {
  const n = values.length
  if (n < minValues) return n
  const covariances = autocovariances(values, Math.min(n - 1, Math.ceil(Math.sqrt(n)) + runLength(n)))
  const [variance = 0] = covariances
  const longRun = longRunVariance(covariances, lagWindow(covariances, n))
  return longRun <= variance ? n : (n * variance) / longRun
}

/**
 * From lag 0, each divided by n, which keeps the long-run variance from becoming negative by
 * chance.
 */
function autocovariances(values: readonly number[], maxLag: number): readonly number[] {
  const centre = mean(values)
  const deviations = values.map((value) => value - centre)
  return Array.from({ length: maxLag + 1 }, (_, lag) => {
    const products = deviations.slice(lag).map((deviation, index) => deviation * (deviations[index] ?? 0))
    return products.reduce((sum, product) => sum + product, 0) / values.length
  })
}

/** Insignificant autocorrelations in a row that end the search. */
const runLength = (n: number) => Math.max(5, Math.ceil(Math.sqrt(Math.log10(n))))

/** Twice the lag after which a whole run of autocorrelations is insignificant, else all lags. */
function lagWindow(covariances: readonly number[], n: number): number {
  const [variance = 0] = covariances
  const least = insignificant * Math.sqrt(Math.log10(n) / n) * variance
  const run = runLength(n)
  const most = covariances.length - 1
  for (let lag = 0; lag + run <= most; lag += 1) {
    const following = covariances.slice(lag + 1, lag + 1 + run)
    if (following.every((covariance) => Math.abs(covariance) <= least)) return Math.min(most, 2 * lag)
  }
  return most
}

function longRunVariance(covariances: readonly number[], window: number): number {
  // 1 up to half of the window, then falling to 0 at its end; 0 for an empty window.
  const flatTop = (share: number) => Math.min(1, Math.max(0, 2 * (1 - share)))
  return covariances.reduce(
    (sum, covariance, lag) => sum + (lag === 0 ? covariance : 2 * flatTop(lag / window) * covariance),
    0,
  )
}
