// How many times one median is another, with an interval drawn by resampling whole messages.

import type { Random } from '../../../server/wire/random.ts'
import { ascending, median, quantile } from './summary.ts'

/** The samples of one message, one for each window that received it. */
export type Cluster = readonly number[]

export interface Ratio {
  readonly ratio: number
  /** Confidence interval, low end first. */
  readonly interval: readonly [number, number]
}

export interface Resampling {
  readonly random: Random
  /** How many times both groups are drawn anew. */
  readonly resamples?: number
  readonly level?: number
}

/**
 * Median of all samples of the first group over that of the second, with a percentile-bootstrap interval (Efron and
 * Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13). Messages are drawn, each with all its samples:
 * windows that receive one message share its fate, and drawing single samples would make the interval too narrow
 * (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8). Throws RangeError for a group
 * without samples.
 */
export function medianRatio(
  first: readonly Cluster[],
  second: readonly Cluster[],
  { random, resamples = 2000, level = 0.95 }: Resampling,
): Ratio {
  const drawFirst = medianDrawer(first)
  const drawSecond = medianDrawer(second)
  const ratios = ascending(Array.from({ length: resamples }, () => drawFirst(random) / drawSecond(random)))
  return {
    ratio: median(first.flat()) / median(second.flat()),
    interval: [quantile(ratios, (1 - level) / 2), quantile(ratios, (1 + level) / 2)],
  }
}

/** Draws as many messages as there are, with replacement, and tells the median of their samples. */
function medianDrawer(clusters: readonly Cluster[]): (random: Random) => number {
  const filled = clusters.filter((cluster) => cluster.length > 0)
  // Sorted once: a draw then only counts how often each message came up, instead of sorting all again.
  const samples = filled.flatMap((cluster, message) => cluster.map((value) => ({ value, message })))
  samples.sort((a, b) => a.value - b.value)
  const sizes = Uint32Array.from(filled, (cluster) => cluster.length)
  const values = Float64Array.from(samples, ({ value }) => value)
  const owners = Uint32Array.from(samples, ({ message }) => message)
  return (random) => {
    const timesDrawn = draw(filled.length, random)
    const middle =
      (timesDrawn.reduce((sum, times, message) => sum + times * (sizes[message] ?? 0), 0) - 1) / 2
    const at = (rank: number) => valueAtRank(values, (place) => timesDrawn[owners[place] ?? 0] ?? 0, rank)
    return Number.isInteger(middle) ? at(middle) : (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2
  }
}

/** How often each of `count` messages came up in as many draws. */
function draw(count: number, random: Random): Uint32Array {
  const timesDrawn = new Uint32Array(count)
  for (let drawn = 0; drawn < count; drawn++) {
    const message = Math.floor(random() * count)
    timesDrawn[message] = (timesDrawn[message] ?? 0) + 1
  }
  return timesDrawn
}

/** The value at a rank, from 0, of ascending values of which each is there several times or not at all. */
function valueAtRank(values: Float64Array, timesAt: (place: number) => number, rank: number): number {
  let seen = 0
  for (let place = 0; place < values.length; place++) {
    seen += timesAt(place)
    if (seen > rank) return values[place] ?? Number.NaN
  }
  throw new RangeError('No samples: an empty group has no median')
}
