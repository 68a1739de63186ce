// How punctual a lane was: the time between when something was due to leave and when it left.

import { createHistogram } from 'node:perf_hooks'

/** Ms; below 0 is early. NaN while nothing has left. */
export interface Lateness {
  readonly n: number
  readonly meanMs: number
  readonly p99Ms: number
  readonly maxMs: number
}

export interface LatenessRecord {
  readonly add: (lateMs: number) => void
  readonly figures: () => Lateness
}

/** Histograms hold whole numbers above 0: microseconds after the earliest that a lane allows. */
const earliestMs = -1

export function createLatenessRecord(): LatenessRecord {
  const histogram = createHistogram()
  const toMs = (micros: number) => (histogram.count === 0 ? Number.NaN : micros / 1000 + earliestMs)
  return {
    add: (lateMs) => histogram.record(Math.max(1, Math.round((lateMs - earliestMs) * 1000))),
    figures: () => ({
      n: histogram.count,
      meanMs: toMs(histogram.mean),
      p99Ms: toMs(histogram.percentile(99)),
      maxMs: toMs(histogram.max),
    }),
  }
}
