// Compares two series that were measured side by side, reading by reading, with what neighbouring readings have in common.

import { type Difference, differenceOfMeans } from './difference.ts'
import { criticalT } from './distributions.ts'
import { effectiveSize } from './effective-size.ts'
import { mean, standardDeviation, summarise } from './summary.ts'

export interface PairedDifference extends Difference {
  /** How many independent differences would say as much. */
  readonly effectiveSize: number
}

export interface PairedRatio {
  /** Mean over mean. */
  readonly ratio: number
  /** Confidence interval, low end first. */
  readonly interval: readonly [number, number]
}

type Series = readonly number[]

/**
 * First mean minus second, place by place, with Student's t on as many values as the differences are worth
 * (`effective-size.ts`). Where both were measured over one network, what it did to both cancels. Throws RangeError where
 * the lengths differ or are below 2.
 */
export function pairedDifference(first: Series, second: Series, level = 0.95): PairedDifference {
  const differences = pairs(first, second).map(([one, other]) => one - other)
  const { standardError, degreesOfFreedom, size } = errorOfMean(differences)
  const found = differenceOfMeans(
    summarise(first),
    summarise(second),
    { standardError, degreesOfFreedom },
    level,
  )
  return { ...found, effectiveSize: size }
}

/**
 * How many times the second mean the first is. The interval is that of the mean of first − ratio × second, over the second
 * mean (the delta method; W. G. Cochran, "Sampling Techniques", 3rd ed., 1977, section 6.3), with the same allowance for
 * neighbours. Throws RangeError as above.
 */
export function pairedRatio(first: Series, second: Series, level = 0.95): PairedRatio {
  const base = mean(second)
  const ratio = mean(first) / base
  const left = pairs(first, second).map(([one, other]) => (one - ratio * other) / base)
  const { standardError, degreesOfFreedom } = errorOfMean(left)
  const reach = criticalT(level, degreesOfFreedom) * standardError
  return { ratio, interval: [ratio - reach, ratio + reach] }
}

function pairs(first: Series, second: Series): readonly (readonly [number, number])[] {
  if (first.length !== second.length || first.length < 2)
    throw new RangeError(`Pairs need two series of one length; got ${first.length} and ${second.length}`)
  return first.map((one, place) => [one, second[place] ?? Number.NaN])
}

function errorOfMean(values: Series) {
  const size = effectiveSize(values)
  const standardError = standardDeviation(values) / Math.sqrt(size)
  return { size, standardError, degreesOfFreedom: Math.max(1, size - 1) }
}
