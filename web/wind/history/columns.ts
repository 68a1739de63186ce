// Makes a history into columns of numbers to draw: no more than there are pixels, with holes where nothing was measured.

import { joinStretches, type Stretch } from '../../../server/wire/wind/history.ts'
import { meanOf } from '../../../server/wire/wind/mean.ts'
import { fromMetresPerSecond, type WindUnit } from '../../../server/wire/wind/units.ts'

/** Beside each other: the same place in each is the same moment. */
export interface Columns {
  /** Seconds before now, negative, growing. */
  readonly seconds: number[]
  /** Mean speed, in the unit asked for; null in a hole, which ends the line. */
  readonly speed: (number | null)[]
  /** Highest 3 s mean of the minute before. */
  readonly gust: (number | null)[]
  /** Mean direction; null in a hole and in a calm. */
  readonly direction: (number | null)[]
}

export interface ColumnsOptions {
  /** The right edge, in the history's own time; ms. */
  readonly nowAt: number
  /** 0 leaves the stretches as they are. */
  readonly columnMs: number
  readonly unit: WindUnit
}

export function columnsOf(stretches: readonly Stretch[], { nowAt, columnMs, unit }: ColumnsOptions): Columns {
  const columns: Columns = { seconds: [], speed: [], gust: [], direction: [] }
  let previousAt: number | null = null
  for (const stretch of columnMs === 0 ? stretches : joined(stretches, columnMs)) {
    if (stretch.startsAnew && previousAt !== null)
      push(columns, ((previousAt + stretch.firstAt) / 2 - nowAt) / 1000, null, unit)
    push(columns, ((stretch.firstAt + stretch.lastAt) / 2 - nowAt) / 1000, stretch, unit)
    previousAt = stretch.lastAt
  }
  return columns
}

/** By whole columns of the history's own time, so that none changes when it only moves. */
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

function push(columns: Columns, seconds: number, stretch: Stretch | null, unit: WindUnit): void {
  const mean = stretch && meanOf(stretch.sums)
  const shown = (speed: number | null | undefined) =>
    speed == null ? null : fromMetresPerSecond(speed, unit)
  columns.seconds.push(seconds)
  columns.speed.push(shown(mean?.speedMetresPerSecond))
  columns.gust.push(shown(stretch?.gustMetresPerSecond))
  columns.direction.push(mean?.directionDegrees ?? null)
}
