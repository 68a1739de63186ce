// A week of wind in minutes, as it is sent.

import { columnsOf, entriesIn, entryOf, minuteMs, type WindColumns } from './wind-history.ts'
import { meanSums, type Stretch } from './wind-statistics.ts'

/** The response of `/api/wind/week`; PROTOCOL.md explains the fields. */
export interface WeekSnapshot {
  readonly isComplete: boolean
  readonly minutes: MinuteColumns
}

interface MinuteColumns extends WindColumns {
  readonly gust: readonly (number | null)[]
}

export interface PastWeek {
  /** False while the server still reads its log. */
  readonly isComplete: boolean
  /** Minutes, oldest first. */
  readonly stretches: readonly Stretch[]
}

/** `stretches`: minutes. */
export function writeWeek(stretches: readonly Stretch[], isComplete: boolean): WeekSnapshot {
  const entries = stretches.map((stretch) => {
    const fromAt = Math.floor(stretch.firstAt / minuteMs) * minuteMs
    return entryOf(stretch, fromAt, fromAt + minuteMs)
  })
  const gust = stretches.map(({ gustMetresPerSecond: gust }) => gust && Math.round(gust * 100))
  return { isComplete, minutes: { ...columnsOf(entries, minuteMs), gust } }
}

/** Throws a `TypeError` or `RangeError` for an invalid snapshot. */
export function readWeek(given: unknown): PastWeek {
  const { isComplete, minutes } = given as WeekSnapshot
  const entries = entriesIn(minutes, minuteMs, minuteMs)
  if (!Array.isArray(minutes.gust) || minutes.gust.length !== entries.length)
    throw new RangeError('The columns of a week of wind must be lists of equal length.')
  const stretches = entries.map((entry, place): Stretch => {
    const gust = minutes.gust[place] ?? null
    return {
      firstAt: entry.fromAt,
      lastAt: entry.toAt - 1,
      sums: meanSums(
        entry.count,
        entry.speedMetresPerSecond,
        entry.directionDegrees,
        gust === null ? 0 : minuteMs,
      ),
      lowestMetresPerSecond: entry.lowestMetresPerSecond,
      highestMetresPerSecond: entry.highestMetresPerSecond,
      gustMetresPerSecond: gust === null ? null : gust / 100,
      startsAnew: entry.startsAnew,
    }
  })
  return { isComplete: isComplete === true, stretches }
}
