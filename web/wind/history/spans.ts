// The lengths of the history to choose from, with the ticks of their time axes.

import { type HistoryMinutes, historyMinutes } from '../choices.ts'

export interface Span {
  readonly minutes: HistoryMinutes
  readonly ms: number
  /** Seconds before now, negative, oldest first: the axis stands still while the wind moves along it. */
  readonly tickSeconds: readonly number[]
  /** The tick's words, by its place. */
  readonly tickWords: readonly string[]
  /** Each sample of the last minute, or the hour's by the second. */
  readonly isFull: boolean
}

const ticks: Readonly<
  Record<HistoryMinutes, readonly [seconds: readonly number[], words: readonly string[]]>
> = {
  1: [
    [-60, -45, -30, -15, 0],
    ['60 s', '45', '30', '15', 'now'],
  ],
  10: [
    [-600, -480, -360, -240, -120, 0],
    ['10 min', '8', '6', '4', '2', 'now'],
  ],
  60: [
    [-3600, -2700, -1800, -900, 0],
    ['60 min', '45', '30', '15', 'now'],
  ],
}

export const spans: readonly Span[] = historyMinutes.map((minutes) => {
  const [tickSeconds, tickWords] = ticks[minutes]
  return { minutes, ms: minutes * 60_000, tickSeconds, tickWords, isFull: minutes === 1 }
})

export function spanOf(minutes: HistoryMinutes): Span {
  return spans.find((span) => span.minutes === minutes) ?? (spans[0] as Span)
}

/**
 * Whole steps of time, so that what shares a column stays together while the columns move. None is below the gust's 3 s:
 * the mean of a column is then no higher than the gust above it.
 */
const steps = [3000, 5000, 10_000, 15_000, 30_000, 60_000]

/** How long one column is: about a pixel and a half wide; 0 where every sample has a place of its own. */
export function columnMsFor({ ms, isFull }: Span, widthPixels: number): number {
  if (isFull) return 0
  const wished = (1.5 * ms) / Math.max(1, widthPixels)
  return steps.find((step) => step >= wished) ?? 60_000
}

/** How often it is worth to draw: when the wind has moved on by about a pixel, but at most each reading at 4 Hz. */
export function redrawMsFor({ ms }: Span, widthPixels: number): number {
  return Math.min(5000, Math.max(200, ms / Math.max(1, widthPixels)))
}
