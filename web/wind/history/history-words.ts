// The history in words: a summary of what is shown, and the values at one moment.

import { joinStretches, type Stretch } from '../../../server/wire/wind/history.ts'
import { meanOf } from '../../../server/wire/wind/mean.ts'
import { fromMetresPerSecond, type WindUnit } from '../../../server/wire/wind/units.ts'
import { timeWords } from '../words/age.ts'
import { wholeDegrees } from '../words/compass.ts'
import { speedDigits, units } from '../words/speed.ts'
import type { Columns } from './columns.ts'

/** All that is shown, in so few words that they fit into one line; `spanMs` is how long the axis is, `nowAt` its right edge. */
export function historySummary(
  stretches: readonly Stretch[],
  { spanMs, nowAt, unit }: { spanMs: number; nowAt: number; unit: WindUnit },
): string {
  const [first] = stretches
  if (!first) return `No readings in the last ${timeWords(spanMs)}.`
  const all = stretches.reduce(joinStretches)
  const { speedMetresPerSecond, directionDegrees } = meanOf(all.sums)
  const digits = (speed: number) => speedDigits(fromMetresPerSecond(speed, unit), unit)
  const from = directionDegrees === null ? '' : ` from ${wholeDegrees(directionDegrees)}°`
  const range = `${digits(all.lowestMetresPerSecond)} to ${digits(all.highestMetresPerSecond)}`
  const since = sinceWords(first.firstAt, nowAt, spanMs)
  return `${since}${range} ${units[unit].symbol}, mean ${digits(speedMetresPerSecond)}${from}`
}

/** How long that is, where there is nothing before it; else the axis says it. */
function sinceWords(firstAt: number, nowAt: number, spanMs: number): string {
  const agoMs = nowAt - firstAt
  return agoMs > 0.95 * spanMs ? '' : `${timeWords(Math.max(1000, agoMs))}: `
}

/** The column at `index`: when it was, by this window's clock (`now`, ms since the epoch), and what. */
export function momentWords(columns: Columns, index: number, now: number, unit: WindUnit): string {
  const { seconds, speed, gust, direction } = columns
  const at = new Date(now + (seconds[index] ?? 0) * 1000)
  const speedThen = speed[index]
  const directionThen = direction[index]
  const gustThen = gust[index]
  const words = [
    speedThen == null ? 'no measurement' : `${speedDigits(speedThen, unit)} ${units[unit].symbol}`,
    gustThen != null && `gust ${speedDigits(gustThen, unit)}`,
    directionThen != null && `${wholeDegrees(directionThen)}°`,
  ]
  return `${clockWords(at)}  ${words.filter((word) => word !== false).join(', ')}`
}

/** By the reader's own clock, with seconds, the same width always. */
function clockWords(at: Date): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
}
