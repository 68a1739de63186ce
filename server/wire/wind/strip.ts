// A trace as columns of small whole numbers, which take little room as JSON; and back.

import type { Mark, Trace } from './trace.ts'
import { wholeTurn } from './vector.ts'

/** The same place in each column is the same mark, but in those that are written as runs: a value, how often, the next. */
export interface Strip {
  /** Runs. Units of time since the mark before; of the first, since the epoch. */
  readonly after: readonly number[]
  /** Runs. How many readings. */
  readonly count: readonly number[]
  /** Mean in cm/s: how much more than the mark before, the first than 0. */
  readonly faster: readonly number[]
  /** How far the lowest reading is below the mean, and the highest above it, cm/s. */
  readonly below: readonly number[]
  readonly above: readonly number[]
  /** Degrees clockwise from the last direction, the first from 0; null in a calm. */
  readonly turn: readonly (number | null)[]
  /** Places of marks that nothing joins to the one before, from 0. */
  readonly anew: readonly number[]
}

/** `unitMs`: how exact times are. */
export function stripOf(trace: Trace, unitMs: number): Strip {
  const times = trace.map(({ fromAt }) => Math.floor(fromAt / unitMs))
  const speeds = trace.map(({ speedMetresPerSecond }) => centi(speedMetresPerSecond))
  const speedAt = (place: number) => speeds[place] ?? 0
  return {
    after: runsOf(differences(times)),
    count: runsOf(trace.map(({ count }) => count)),
    faster: differences(speeds),
    below: trace.map((mark, place) => Math.max(0, speedAt(place) - centi(mark.lowestMetresPerSecond))),
    above: trace.map((mark, place) => Math.max(0, centi(mark.highestMetresPerSecond) - speedAt(place))),
    turn: turnsOf(trace),
    anew: trace.flatMap(({ startsAnew }, place) => (startsAnew ? [place] : [])),
  }
}

/** `spanMs`: how long each mark is. Throws a `RangeError` where the columns do not fit each other or what wind can be. */
export function traceFrom(strip: Strip, unitMs: number, spanMs: number): Trace {
  const units = sums(listFrom(strip.after))
  const counts = listFrom(strip.count)
  const speeds = sums(strip.faster)
  const directions = directionsFrom(strip.turn)
  const anew = new Set(strip.anew)
  const columns = [counts, speeds, directions, strip.below, strip.above]
  if (columns.some(({ length }) => length !== units.length))
    throw new RangeError('The columns of a strip are not of one length.')
  return units.map((unit, place) => {
    const speed = speeds[place] ?? 0
    return checked({
      fromAt: unit * unitMs,
      toAt: unit * unitMs + spanMs,
      count: counts[place] ?? 0,
      speedMetresPerSecond: speed / 100,
      lowestMetresPerSecond: (speed - (strip.below[place] ?? 0)) / 100,
      highestMetresPerSecond: (speed + (strip.above[place] ?? 0)) / 100,
      directionDegrees: directions[place] ?? null,
      startsAnew: anew.has(place),
    })
  })
}

/** More in one mark than any sensor sends: a backlog that came all at once. */
const mostReadings = 10_000

function checked(mark: Mark): Mark {
  const { count, lowestMetresPerSecond, highestMetresPerSecond } = mark
  const isCount = Number.isInteger(count) && count > 0 && count <= mostReadings
  if (!isCount || lowestMetresPerSecond < 0 || highestMetresPerSecond > 1000)
    throw new RangeError(
      `${count} readings of ${lowestMetresPerSecond} to ${highestMetresPerSecond} m/s are no wind.`,
    )
  return mark
}

const centi = (metres: number) => Math.round(metres * 100)

function differences(values: readonly number[]): number[] {
  return values.map((value, place) => value - (values[place - 1] ?? 0))
}

function sums(steps: readonly number[]): number[] {
  let sum = 0
  return steps.map((step) => {
    sum += step
    return sum
  })
}

function turnsOf(trace: Trace): (number | null)[] {
  let last = 0
  return trace.map(({ directionDegrees }) => {
    if (directionDegrees === null) return null
    const turn = wholeTurn(Math.round(directionDegrees) - last + 180) - 180
    last += turn
    return turn
  })
}

function directionsFrom(turns: Strip['turn']): (number | null)[] {
  let last = 0
  return turns.map((turn) => {
    last += turn ?? 0
    return turn === null ? null : wholeTurn(last)
  })
}

function runsOf(values: readonly number[]): number[] {
  const runs: number[] = []
  for (const value of values) {
    const times = runs.at(-1) ?? 0
    if (runs.length > 0 && runs.at(-2) === value) runs[runs.length - 1] = times + 1
    else runs.push(value, 1)
  }
  return runs
}

/** A strip is of an hour by the second, or of a minute; so much more is none. */
const mostMarks = 10_000

function listFrom(runs: readonly number[]): number[] {
  const values: number[] = []
  for (let place = 0; place < runs.length; place += 2) {
    const times = runs[place + 1] ?? 0
    if (!(times > 0 && values.length + times <= mostMarks))
      throw new RangeError(`A run of ${times} values, after ${values.length}, is none.`)
    for (let time = 0; time < times; time += 1) values.push(runs[place] ?? 0)
  }
  return values
}
