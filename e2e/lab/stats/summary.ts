// What a list of numbers amounts to: how many, where its middle lies, how far it spreads.

/** Figures of a list, in the unit of its values. */
export interface Figures {
  readonly n: number
  readonly mean: number
  /** Sample standard deviation, divided by n - 1; NaN for one value, which has no spread to speak of. */
  readonly sd: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly min: number
  readonly max: number
}

/** Throws on an empty list: nothing has no average. */
export function summarise(values: readonly number[]): Figures {
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
  return [...values].sort((a, b) => a - b)
}

/** NaN for an empty list. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** NaN below two values. */
export function standardDeviation(values: readonly number[]): number {
  const centre = mean(values)
  // In two passes: one pass over squares loses every digit where the mean is large beside the spread.
  const squares = values.reduce((sum, value) => sum + (value - centre) ** 2, 0)
  return values.length < 2 ? Number.NaN : Math.sqrt(squares / (values.length - 1))
}

/** The middle value, or the mean of the two in the middle. Throws on an empty list. */
export function median(values: readonly number[]): number {
  return quantile(ascending(values), 0.5)
}

/**
 * Quantile of values that are already ascending; `probability` from 0 to 1. Definition 7 of Hyndman and Fan,
 * "Sample Quantiles in Statistical Packages" (Am. Stat. 50, 1996), as in R, NumPy and spreadsheets: it lies at
 * rank (n - 1) x probability, with a straight line between the ranks. Throws on an empty list.
 */
export function quantile(sorted: readonly number[], probability: number): number {
  if (!(probability >= 0 && probability <= 1)) {
    throw new RangeError(`A quantile's probability lies from 0 to 1; got ${probability}`)
  }
  const rank = (sorted.length - 1) * probability
  const below = sorted[Math.floor(rank)]
  const above = sorted[Math.ceil(rank)]
  if (below === undefined || above === undefined)
    throw new RangeError('No values: an empty list has no quantile')
  return below + (above - below) * (rank - Math.floor(rank))
}
