// What an anemograph has recorded as a line of marks, by the second and the last minute in full; and two lines as one.

import type { Stretch, WindHistory } from './history.ts'
import { meanOf } from './mean.ts'

/** Some readings that followed each other. */
export interface Mark {
  /** They lie evenly between these, ms in the anemograph's time. */
  readonly fromAt: number
  readonly toAt: number
  readonly count: number
  /** Their mean, calms included. */
  readonly speedMetresPerSecond: number
  readonly lowestMetresPerSecond: number
  readonly highestMetresPerSecond: number
  /** Of their mean vector; null in a calm. */
  readonly directionDegrees: number | null
  /** Nothing joins it to the one before: an outage or a fault lies between. */
  readonly startsAnew: boolean
}

/** Oldest first. */
export type Trace = readonly Mark[]

const secondMs = 1000
const fullMs = 60_000
const hourMs = 3_600_000

/** Of the hour before the newest reading; `full` begins with a whole second. */
export function traceOf({ since }: Pick<WindHistory, 'since'>): { seconds: Trace; full: Trace } {
  const minute = since(Number.NEGATIVE_INFINITY, true)
  const newestAt = minute.at(-1)?.lastAt
  if (newestAt === undefined) return { seconds: [], full: [] }
  const fullFromAt = (Math.floor((newestAt - fullMs) / secondMs) + 1) * secondMs
  return {
    seconds: since(newestAt - hourMs, false)
      .filter(({ firstAt }) => firstAt < fullFromAt)
      .map(markOfSecond),
    full: minute
      .filter(({ firstAt }) => firstAt >= fullFromAt)
      .map((stretch) => markOf(stretch, stretch.firstAt, stretch.firstAt)),
  }
}

function markOfSecond(stretch: Stretch): Mark {
  const fromAt = Math.floor(stretch.firstAt / secondMs) * secondMs
  return markOf(stretch, fromAt, fromAt + secondMs)
}

function markOf(stretch: Stretch, fromAt: number, toAt: number): Mark {
  const { sums, lowestMetresPerSecond, highestMetresPerSecond, startsAnew } = stretch
  const { speedMetresPerSecond, directionDegrees } = meanOf(sums)
  return {
    fromAt,
    toAt,
    count: sums.count,
    speedMetresPerSecond,
    lowestMetresPerSecond,
    highestMetresPerSecond,
    directionDegrees,
    startsAnew,
  }
}

/**
 * `theirs`, and before it what `own` has from before it began. That it began is no gap: where one is, the time says so.
 */
export function joinTraces(own: Trace, theirs: Trace): Trace {
  const [first, ...others] = theirs
  if (!first) return own
  const before = own.filter(({ toAt }) => toAt <= first.fromAt)
  return [...before, { ...first, startsAnew: before.length === 0 }, ...others]
}
