// Wind statistics over sliding time spans: means, gust, and the spread of the direction.

import { directionOf, vectorOf } from '../../sensor/wind-units.ts'
import type { ReadingBody } from './page-messages.ts'

export type BareReading = Pick<ReadingBody, 'state' | 'speedMetresPerSecond' | 'directionDegrees'>

export interface WindFigures {
  /**
   * Mean of the last 3 s: the speed to show beside a gust, which is the highest of these. Null if
   * readings cover less.
   */
  readonly threeSecondMetresPerSecond: number | null
  readonly tenMinutes: WindMean | null
  /** Highest 3 s mean of the last 10 minutes. */
  readonly gustMetresPerSecond: number | null
  readonly spread: Spread | null
}

export interface WindMean {
  /** Arithmetic mean of the speeds, including calms (WMO-No. 8, I, 5.1). */
  readonly speedMetresPerSecond: number
  /** Direction of the mean vector, weighted by speed; null for calm. */
  readonly directionDegrees: number | null
  /** Time covered by readings; less than the span after a start or an outage. */
  readonly coversMs: number
}

interface Spread {
  /** Mean of the directions as unit vectors, not weighted by speed. */
  readonly directionDegrees: number
  /** Standard deviation, 0 to 103.9 (uniform). */
  readonly deviationDegrees: number
}

export const noFigures: WindFigures = {
  threeSecondMetresPerSecond: null,
  tenMinutes: null,
  gustMetresPerSecond: null,
  spread: null,
}

/** Averaging period (WMO-No. 8, I, 5.1.1). */
export const meanMs = 600_000

/**
 * A longer silence is an outage: the slowest rate is one in 4 s (1405-PS-0019, command P20), plus 1
 * s of delay.
 */
export const gapMs = 5000

/** Peak gusts are means over 3 s (WMO-No. 8, I, 5.1.1; WMO-No. 306, FM 15, 15.5.5). */
const gustMs = 3000
/** Less coverage is a spike after an outage, or a backlog that arrived at once. */
export const minGustCoverMs = 2500
/**
 * A pause of several usual intervals adds no coverage: otherwise two readings would pass for a 3 s
 * mean.
 */
const longestPauseInPaces = 3
/** Smoothing of the usual interval, in readings. */
const paceReadings = 8

/** WindSonic resolution (1405-PS-0019): a shorter mean vector has no direction. */
const minVectorMetresPerSecond = 0.01

interface WindSums {
  readonly count: number
  /** Sums of the speeds, including calms, and of their vectors, m/s. */
  readonly speed: number
  readonly east: number
  readonly north: number
  /** Number of readings with a direction, and the sums of their unit vectors. */
  readonly directed: number
  readonly sine: number
  readonly cosine: number
  /** Time covered, ms: the interval before each reading, 0 where unknown. */
  readonly coversMs: number
}

/** Aggregate of the readings of one time span, from the first to the last, ms. */
export interface Stretch {
  readonly firstAt: number
  readonly lastAt: number
  readonly sums: WindSums
  readonly lowestMetresPerSecond: number
  readonly highestMetresPerSecond: number
  /** Highest 3 s mean of the minute before its end, m/s; null for none. */
  readonly gustMetresPerSecond: number | null
  /** Whether it is the first, or follows an outage or a fault. */
  readonly startsAnew: boolean
}

/**
 * Keeps running totals: constant cost per reading, fewer than 2000 numbers per total. Its time
 * follows the readings' timestamps but never runs backwards: after the host's clock is set back, it
 * continues from the newest timestamp.
 */
export class WindAggregator {
  readonly #minute = new SlidingTotal(60_000, addSums)
  readonly #tenMinutes = new SlidingTotal(meanMs, addSums)
  readonly #threeSeconds = new SlidingTotal(gustMs, addSums)
  readonly #minuteGust = new SlidingTotal<number>(60_000, Math.max)
  readonly #tenMinuteGust = new SlidingTotal<number>(meanMs, Math.max)
  #newestAt = Number.NEGATIVE_INFINITY
  #setBackMs = 0
  /** Null after a fault and at the start. */
  #previousAt: number | null = null
  #paceMs: number | null = null

  /**
   * Returns `stampedAt` (ms since the epoch) in the aggregator's time, and the reading's stretch;
   * null for a fault. Repeated readings count. A calm counts with its speed and without a
   * direction.
   */
  take({ state, speedMetresPerSecond, directionDegrees }: BareReading, stampedAt: number) {
    this.#setBackMs = Math.max(this.#setBackMs, this.#newestAt - stampedAt)
    const at = stampedAt + this.#setBackMs
    const sinceMs = this.#previousAt === null ? null : at - this.#previousAt
    this.#newestAt = at
    this.#previousAt = null
    if (state === 'fault' || speedMetresPerSecond === null) return { at, stretch: null }
    this.#previousAt = at
    const startsAnew = sinceMs === null || sinceMs > gapMs
    const coversMs = startsAnew ? 0 : sinceMs
    const sums = sumsOf(speedMetresPerSecond, state === 'calm' ? null : directionDegrees, coversMs)
    this.#minute.add(sums, at)
    this.#tenMinutes.add(sums, at)
    this.#addToGusts(sums, startsAnew, at)
    const stretch: Stretch = {
      firstAt: at,
      lastAt: at,
      sums,
      lowestMetresPerSecond: speedMetresPerSecond,
      highestMetresPerSecond: speedMetresPerSecond,
      gustMetresPerSecond: this.#minuteGust.before(at),
      startsAnew,
    }
    return { at, stretch }
  }

  figures(now: number): WindFigures {
    const minute = this.#minute.before(now)
    const tenMinutes = this.#tenMinutes.before(now)
    return {
      threeSecondMetresPerSecond: this.#threeSecondMean(now),
      tenMinutes: tenMinutes && meanOf(tenMinutes),
      gustMetresPerSecond: this.#tenMinuteGust.before(now),
      spread: minute && spreadOf(minute),
    }
  }

  #addToGusts(sums: WindSums, startsAnew: boolean, at: number): void {
    let { coversMs } = sums
    if (!startsAnew) {
      const paceMs = this.#paceMs ?? coversMs
      this.#paceMs = paceMs + (coversMs - paceMs) / paceReadings
      if (coversMs > longestPauseInPaces * paceMs) coversMs = 0
    }
    this.#threeSeconds.add({ ...sums, coversMs }, at)
    const mean = this.#threeSecondMean(at)
    if (mean === null) return
    this.#minuteGust.add(mean, at)
    this.#tenMinuteGust.add(mean, at)
  }

  #threeSecondMean(now: number): number | null {
    const last = this.#threeSeconds.before(now)
    // Readings slower than one in 2.5 s yield none: a single reading is not a mean.
    return last && last.count >= 2 && last.coversMs >= minGustCoverMs ? last.speed / last.count : null
  }
}

/** Scalar mean of speed, vector mean of direction: EPA-454/R-99-005, 6.2.1 and 6.2.2. */
export function meanOf({ count, speed, east, north, coversMs }: WindSums): WindMean {
  const hasDirection = Math.hypot(east / count, north / count) >= minVectorMetresPerSecond
  return {
    speedMetresPerSecond: speed / count,
    directionDegrees: hasDirection ? directionOf({ east, north }) : null,
    coversMs,
  }
}

/** Yamartino's coefficient, chosen to give 103.9 degrees for a uniform distribution. */
const evenSpreadTerm = 2 / Math.sqrt(3) - 1

/**
 * Standard deviation of the direction from sums alone: Yamartino, J. Climate Appl. Meteor. 23
 * (1984), 1362, equation 10; within 2 % of the two-pass value. Null for fewer than two directions.
 */
function spreadOf({ directed, sine, cosine }: WindSums): Spread | null {
  if (directed < 2) return null
  const east = sine / directed
  const north = cosine / directed
  const epsilon = Math.sqrt(Math.max(0, 1 - (east ** 2 + north ** 2)))
  const deviation = Math.asin(epsilon) * (1 + evenSpreadTerm * epsilon ** 3)
  return { directionDegrees: directionOf({ east, north }), deviationDegrees: (deviation / Math.PI) * 180 }
}

function sumsOf(speed: number, directionDegrees: number | null, coversMs: number): WindSums {
  if (directionDegrees === null)
    return { count: 1, speed, east: 0, north: 0, directed: 0, sine: 0, cosine: 0, coversMs }
  const { east: sine, north: cosine } = vectorOf(directionDegrees)
  return { count: 1, speed, east: speed * sine, north: speed * cosine, directed: 1, sine, cosine, coversMs }
}

/** Sums of so many equal readings: the spread within them is lost. */
export function meanSums(
  count: number,
  speed: number,
  directionDegrees: number | null,
  coversMs: number,
): WindSums {
  const { east, north, directed, sine, cosine } = sumsOf(speed, directionDegrees, 0)
  return {
    count,
    speed: speed * count,
    east: east * count,
    north: north * count,
    directed: directed * count,
    sine: sine * count,
    cosine: cosine * count,
    coversMs,
  }
}

export function addSums(one: WindSums, other: WindSums): WindSums {
  return {
    count: one.count + other.count,
    speed: one.speed + other.speed,
    east: one.east + other.east,
    north: one.north + other.north,
    directed: one.directed + other.directed,
    sine: one.sine + other.sine,
    cosine: one.cosine + other.cosine,
    coversMs: one.coversMs + other.coversMs,
  }
}

/** Maximum number of values kept per span; closer ones are merged. */
const grains = 240

interface Entry<Value> {
  at: number
  value: Value
}

/**
 * The total over the last `spanMs`, or up to 1/240 more. A queue of two stacks with totals: it only
 * joins and never subtracts, so that a maximum slides like a sum and rounding errors do not
 * accumulate. At most three joins per value; at most 242 values.
 */
class SlidingTotal<Value> {
  readonly #spanMs: number
  readonly #join: (one: Value, other: Value) => Value
  /** The older part, oldest last; each entry has the total of itself and all younger ones here. */
  readonly #older: Entry<Value>[] = []
  /** The younger part, youngest last, unaggregated. */
  #younger: Entry<Value>[] = []
  #youngerTotal: Value | null = null

  /** `join` must be associative and commutative. */
  constructor(spanMs: number, join: (one: Value, other: Value) => Value) {
    this.#spanMs = spanMs
    this.#join = join
  }

  /** `at` (ms) must not decrease. */
  add(value: Value, at: number): void {
    this.#dropUntil(at - this.#spanMs)
    const last = this.#younger.at(-1)
    const grainMs = this.#spanMs / grains
    if (last && Math.floor(last.at / grainMs) === Math.floor(at / grainMs)) {
      last.at = at
      last.value = this.#join(last.value, value)
    } else {
      this.#younger.push({ at, value })
    }
    this.#youngerTotal = this.#joined(this.#youngerTotal, value)
  }

  /** Null when empty. `now` must not decrease. */
  before(now: number): Value | null {
    this.#dropUntil(now - this.#spanMs)
    const oldest = this.#older.at(-1)
    if (!oldest) return this.#youngerTotal
    return this.#youngerTotal === null ? oldest.value : this.#join(oldest.value, this.#youngerTotal)
  }

  #dropUntil(at: number): void {
    const isOver = (entry: Entry<Value> | undefined) => entry !== undefined && entry.at <= at
    while (isOver(this.#older.at(-1) ?? this.#younger[0])) {
      if (this.#older.length === 0) this.#turnOver()
      this.#older.pop()
    }
  }

  #turnOver(): void {
    let total: Value | null = null
    for (const { at, value } of this.#younger.toReversed()) {
      total = this.#joined(total, value)
      this.#older.push({ at, value: total })
    }
    this.#younger = []
    this.#youngerTotal = null
  }

  #joined(one: Value | null, other: Value): Value {
    return one === null ? other : this.#join(one, other)
  }
}
