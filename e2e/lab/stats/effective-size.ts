// How much of a series of values is news: readings that follow one another share queues and stalls, and repeat each other.

import { mean } from './summary.ts'

/** So many standard errors of an autocorrelation count as none (Politis and White, 2004, section 3.2). */
const insignificant = 2
/** A memory cannot be seen in fewer values. */
const fewest = 8

/**
 * So many independent values would say as much of the mean: n times variance over long-run variance, by a flat-top lag window
 * whose width is chosen by the data (D. N. Politis and H. White, "Automatic Block-Length Selection for the Dependent Bootstrap",
 * Econometric Reviews 23, 2004, sections 3.1 and 3.2). Never more than n, though values that take turns around their mean, as
 * polling's do, say more; and n for a series without spread or of a few values.
 */
export function effectiveSize(values: readonly number[]): number {
  const n = values.length
  if (n < fewest) return n
  const covariances = autocovariances(values, Math.min(n - 1, Math.ceil(Math.sqrt(n)) + runLength(n)))
  const [variance = 0] = covariances
  const longRun = longRunVariance(covariances, windowOf(covariances, n))
  return longRun <= variance ? n : (n * variance) / longRun
}

/** From lag 0 on, each divided by n, which keeps their sums from falling below 0 by chance. */
export function autocovariances(values: readonly number[], mostLag: number): readonly number[] {
  const centre = mean(values)
  const deviations = values.map((value) => value - centre)
  return Array.from({ length: mostLag + 1 }, (_, lag) => {
    let sum = 0
    for (let place = lag; place < deviations.length; place += 1)
      sum += (deviations[place] ?? 0) * (deviations[place - lag] ?? 0)
    return sum / values.length
  })
}

/** So many insignificant autocorrelations in a row end the memory. */
function runLength(n: number): number {
  return Math.max(5, Math.ceil(Math.sqrt(Math.log10(n))))
}

/** Twice the lag after which a whole run of autocorrelations is insignificant; all there are where that never is. */
function windowOf(covariances: readonly number[], n: number): number {
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
  return covariances.reduce(
    (sum, covariance, lag) => sum + (lag === 0 ? covariance : 2 * flatTop(lag / window) * covariance),
    0,
  )
}

/** 1 up to a half, then down to 0 at 1; beyond that, and for a window of 0, nothing. */
function flatTop(share: number): number {
  return Math.min(1, Math.max(0, 2 * (1 - share)))
}
