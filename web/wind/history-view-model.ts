// View model of the wind's history: columns, axes, summary.

import { joinStretches, type WindHistory } from '../../app/shared/wind-history.ts'
import { gapMs, meanOf, minGustCoverMs, type Stretch } from '../../app/shared/wind-statistics.ts'
import { fromMetresPerSecond, type WindUnit } from '../../sensor/wind-units.ts'
import type { HistoryMinutes } from '../store.ts'
import { formatTime, speedDigits, speedIn, units, wholeDegrees } from './wind-words.ts'

export type HistoryModel = ReturnType<typeof historyModel>

/** Every value is null in a gap. */
export interface Column {
  /** Before now, negative; where it is drawn: the middle of `from` and `to`. */
  readonly seconds: number
  /** Its first and last reading, or those around a gap; before now, negative. */
  readonly from: number
  readonly to: number
  /** In the chosen unit. */
  readonly speed: number | null
  /** Highest 3 s mean of the preceding minute; null beside single readings, which may exceed it. */
  readonly gust: number | null
  /** Null also in a calm. */
  readonly direction: number | null
}

interface Shown {
  readonly minutes: HistoryMinutes
  /** The right edge in history time; ms. */
  readonly nowAt: number
  readonly unit: WindUnit
  /** CSS pixels. */
  readonly width: number
}

export function historyModel(history: Pick<WindHistory, 'since'>, { minutes, nowAt, unit, width }: Shown) {
  const spanMs = minutes * 60_000
  const isFull = minutes === 1
  const stretches = history.since(nowAt - spanMs, isFull ? 'reading' : minutes > 60 ? 'minute' : 'second')
  const columns = isFull
    ? columnsOf(stretches, nowAt, unit).map((column) => ({ ...column, gust: null }))
    : columnsOf(joined(stretches, columnMsFor(spanMs, width)), nowAt, unit)
  return {
    columns,
    timeAxis: timeAxisFor(minutes),
    speedAxis: speedAxisFor(columns, unit),
    summary: summaryOf(stretches, spanMs, nowAt, unit),
  }
}

export type TimeAxis = ReturnType<typeof timeAxisFor>

/** Ticks in seconds before now, negative. */
function timeAxisFor(minutes: HistoryMinutes) {
  const [unitSeconds, unit, step] = axisUnits[minutes]
  const span = (minutes * 60) / unitSeconds
  const ticks = Array.from({ length: span / step + 1 }, (_, index) => {
    const ago = span - index * step
    const word = index === 0 ? `${ago} ${unit}` : ago === 0 ? 'now' : String(ago)
    return { seconds: (index * step - span) * unitSeconds, word }
  })
  return { seconds: minutes * 60, ticks }
}

/** A unit in seconds, its sign, and the units between ticks. */
const axisUnits: Readonly<Record<HistoryMinutes, readonly [seconds: number, unit: string, step: number]>> = {
  1: [1, 's', 15],
  10: [60, 'min', 2],
  60: [60, 'min', 15],
  1440: [3600, 'h', 6],
  10080: [86_400, 'd', 1],
}

/** Redraw interval: one pixel of movement, but no shorter than a reading at 4 Hz. */
export function redrawMsFor(minutes: HistoryMinutes, width: number): number {
  return Math.min(5000, Math.max(200, (minutes * 60_000) / Math.max(1, width)))
}

/**
 * Fixed steps keep the same readings in a column while it moves. None is shorter than the gust's 3
 * s.
 */
const columnSteps = [3000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000]

/** About 1.5 pixels. */
function columnMsFor(spanMs: number, width: number): number {
  const wished = (1.5 * spanMs) / Math.max(1, width)
  return columnSteps.find((step) => step >= wished) ?? 3_600_000
}

/** Groups by fixed multiples of `columnMs`, so that columns do not change as they move. */
function joined(stretches: readonly Stretch[], columnMs: number): readonly Stretch[] {
  const columns: Stretch[] = []
  let newest = Number.NEGATIVE_INFINITY
  for (const stretch of stretches) {
    const column = Math.floor(stretch.firstAt / columnMs)
    const last = columns.at(-1)
    if (last && column === newest) columns[columns.length - 1] = joinStretches(last, stretch)
    else columns.push(stretch)
    newest = column
  }
  return columns
}

/** A column per stretch, plus one for each gap between them; ascending. */
function columnsOf(stretches: readonly Stretch[], nowAt: number, unit: WindUnit): readonly Column[] {
  const inUnit = (speed: number | null) => (speed === null ? null : fromMetresPerSecond(speed, unit))
  const between = (fromAt: number, toAt: number) => ({
    seconds: ((fromAt + toAt) / 2 - nowAt) / 1000,
    from: (fromAt - nowAt) / 1000,
    to: (toAt - nowAt) / 1000,
  })
  return stretches.flatMap(({ firstAt, lastAt, sums, gustMetresPerSecond, startsAnew }, index) => {
    const previousAt = stretches[index - 1]?.lastAt
    const { speedMetresPerSecond, directionDegrees } = meanOf(sums)
    const column = {
      ...between(firstAt, lastAt),
      speed: inUnit(speedMetresPerSecond),
      gust: inUnit(gustBeside(speedMetresPerSecond, gustMetresPerSecond, sums.coversMs)),
      direction: directionDegrees,
    }
    if (!startsAnew || previousAt === undefined) return [column]
    return [{ ...between(previousAt, firstAt), ...nothing }, column]
  })
}

const nothing = { speed: null, gust: null, direction: null }

/**
 * Returns the measurement at a moment, in seconds before now, and its index in the columns: -1 before
 * the first, their number after the last. The column's `seconds` are its own, or the moment if nothing
 * was measured then.
 */
export function columnAt(
  columns: readonly Column[],
  seconds: number,
): { readonly place: number; readonly column: Column } {
  // A gap is between its ends, which are readings.
  const next = columns.findIndex(({ from, speed }) => (speed === null ? from >= seconds : from > seconds))
  const index = (next === -1 ? columns.length : next) - 1
  const before = columns[index]
  const after = columns[index + 1]
  const sinceSeconds = before ? Math.max(0, seconds - before.to) : Number.POSITIVE_INFINITY
  const untilSeconds = after ? after.from - seconds : Number.POSITIVE_INFINITY
  const isAfter = untilSeconds < sinceSeconds
  const nearest = isAfter ? after : before
  const isMeasured = nearest && nearest.speed !== null && Math.min(sinceSeconds, untilSeconds) * 1000 <= gapMs
  if (isMeasured) return { place: isAfter ? index + 1 : index, column: nearest }
  const isPast = after === undefined && before?.speed !== null
  return {
    place: isPast ? columns.length : index,
    column: { seconds, from: seconds, to: seconds, ...nothing },
  }
}

/**
 * Null unless the column's mean belongs to the means of which the gust is the highest: a shorter mean
 * may exceed it.
 */
function gustBeside(mean: number, gust: number | null, coversMs: number): number | null {
  if (gust === null || mean <= gust) return gust
  return coversMs < minGustCoverMs ? null : mean
}

/** Minimum of the axis, so that noise in light air does not look like wind. */
const minTopMetresPerSecond = 2

/** From 0 to a round number above all values. */
function speedAxisFor(columns: readonly Column[], unit: WindUnit) {
  const highest = Math.max(0, ...columns.flatMap(({ speed, gust }) => [speed ?? 0, gust ?? 0]))
  const needed = Math.max(highest * 1.05, fromMetresPerSecond(minTopMetresPerSecond, unit))
  const step = roundUp(needed / 4)
  const count = Math.ceil(needed / step - 1e-9)
  return { top: count * step, ticks: Array.from({ length: count + 1 }, (_, index) => index * step) }
}

/** To 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const factor = [1, 2, 5, 10].find((one) => one * power >= value * (1 - 1e-9)) ?? 10
  return factor * power
}

function summaryOf(stretches: readonly Stretch[], spanMs: number, nowAt: number, unit: WindUnit): string {
  const [first] = stretches
  if (!first) return `No readings in the last ${formatTime(spanMs)}.`
  const all = stretches.reduce(joinStretches)
  const { speedMetresPerSecond, directionDegrees } = meanOf(all.sums)
  const from = directionDegrees === null ? '' : ` from ${wholeDegrees(directionDegrees)}°`
  const range = `${speedIn(unit, all.lowestMetresPerSecond)} to ${speedIn(unit, all.highestMetresPerSecond)}`
  // Omits the length when the history fills the axis.
  const agoMs = nowAt - first.firstAt
  const readings = agoMs > 0.95 * spanMs ? 'Readings' : `${formatTime(Math.max(1000, agoMs))}: readings`
  return `${readings} ${range} ${units[unit].symbol}, mean ${speedIn(unit, speedMetresPerSecond)}${from}`
}

const { format: timeOfDay } = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const { format: dayAndTime } = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  hour: '2-digit',
  minute: '2-digit',
})

/** Seconds before now from which a time is told with its day. */
const dayFromSeconds = 3600

/** `now`: this window's clock, ms since the epoch. */
export function formatMoment(
  { seconds, speed, gust, direction }: Column,
  now: number,
  unit: WindUnit,
): string {
  const words = [
    speed === null ? 'no readings' : `${speedDigits(speed, unit)} ${units[unit].symbol}`,
    gust !== null && `gust ${speedDigits(gust, unit)}`,
    direction !== null && `${wholeDegrees(direction)}°`,
  ]
  const time = seconds < -dayFromSeconds ? dayAndTime : timeOfDay
  return `${time(now + seconds * 1000)}  ${words.filter(Boolean).join(', ')}`
}
