// The axis of time that all figures of a run share: every sample lies on it, and its ticks are round numbers.

import type { ModeTimes } from './times.ts'

/** A scale for Plot, for x or y. */
export interface TimeAxis {
  readonly type: 'log' | 'linear'
  readonly domain: [number, number]
  readonly ticks: number[] | number
  readonly tickFormat: (value: number) => string
}

/** Times of 0 or less, which a clock's error can make, have no place on a logarithmic axis. */
export function isLogarithmic(times: readonly ModeTimes[]): boolean {
  return times.every(({ values }) => values.every(({ ms }) => ms > 0))
}

/** From just below the fastest sample to just above the slowest, cut nowhere. */
export function timeAxis(times: readonly ModeTimes[]): TimeAxis {
  const { low, high } = extent(times)
  if (!isLogarithmic(times)) {
    const margin = (high - low) / 30 || 1
    return { type: 'linear', domain: [low - margin, high + margin], ticks: 6, tickFormat: String }
  }
  const domain: [number, number] = [low / 1.1, high * 1.1]
  return { type: 'log', domain, ticks: roundTicks(...domain), tickFormat: String }
}

function extent(times: readonly ModeTimes[]): { readonly low: number; readonly high: number } {
  const start = { low: Number.POSITIVE_INFINITY, high: Number.NEGATIVE_INFINITY }
  // No Math.min(...): a long run has more samples than a call may have arguments.
  return times
    .flatMap(({ values }) => values)
    .reduce(({ low, high }, { ms }) => ({ low: Math.min(low, ms), high: Math.max(high, ms) }), start)
}

/** 1, 2 and 5 of each power of ten; powers of ten alone where the axis spans more than three of them. */
function roundTicks(low: number, high: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))]
  const steps = Math.log10(high / low) > 3 ? [1] : [1, 2, 5]
  const powers = Array.from({ length: last - first + 1 }, (_, place) => first + place)
  const ticks = powers.flatMap((power) => steps.map((step) => Number(`${step}e${power}`)))
  return ticks.filter((tick) => tick >= low && tick <= high)
}
