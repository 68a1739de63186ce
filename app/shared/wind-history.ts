// The last hour and week of wind in bounded memory: statistics, plot data, and their JSON form.

import {
  addSums,
  type BareReading,
  meanOf,
  type Stretch,
  WindAggregator,
  type WindFigures,
} from './wind-statistics.ts'

interface WindEntry {
  /** The readings are spread evenly between these times, ms. */
  readonly fromAt: number
  readonly toAt: number
  readonly count: number
  /** Mean, including calms. */
  readonly speedMetresPerSecond: number
  readonly lowestMetresPerSecond: number
  readonly highestMetresPerSecond: number
  /** Direction of the mean vector; null for calm. */
  readonly directionDegrees: number | null
  readonly startsAnew: boolean
}

/** The response of `/api/wind/history`; PROTOCOL.md explains the fields. */
export interface WindSnapshot {
  readonly seq: number
  readonly faultAt: number | null
  readonly seconds: WindColumns
  readonly full: WindColumns
}

export interface WindColumns {
  readonly after: readonly number[]
  readonly count: readonly number[]
  readonly speed: readonly number[]
  readonly lowest: readonly number[]
  readonly highest: readonly number[]
  readonly direction: readonly (number | null)[]
  readonly gaps: readonly number[]
}

/** How finely wind is kept: readings for a minute, seconds for an hour, minutes for a week. */
export type Grain = 'reading' | 'second' | 'minute'

export interface PastWind extends Pick<WindSnapshot, 'seq' | 'faultAt'> {
  readonly entries: readonly WindEntry[]
}

const secondMs = 1000
export const minuteMs = 60_000
const hourMs = 3_600_000
export const weekMs = 7 * 24 * hourMs

const fault: BareReading = { state: 'fault', speedMetresPerSecond: null, directionDegrees: null }

export class WindHistory {
  readonly #statistics = new WindAggregator()
  readonly #kept: Readonly<Record<Grain, Stretches>> = {
    // 50 ms: 20 readings a second, the fastest WindSonic rate; faster readings are merged.
    reading: new Stretches(minuteMs + secondMs, 50),
    second: new Stretches(hourMs + secondMs, secondMs),
    minute: new Stretches(weekMs + minuteMs, minuteMs),
  }

  /**
   * Returns `stampedAt` (ms since the epoch) in the history's monotonic time. A fault leaves a gap.
   */
  take(reading: BareReading, stampedAt: number): number {
    const { at, stretch } = this.#statistics.take(reading, stampedAt)
    if (stretch) for (const kept of Object.values(this.#kept)) kept.add(stretch)
    return at
  }

  figures(now: number): WindFigures {
    return this.#statistics.figures(now)
  }

  /** Entries after `at`, oldest first. */
  since(at: number, grain: Grain): readonly Stretch[] {
    return this.#kept[grain].since(at)
  }

  /** Takes these minutes in place of its own, up to the last of them. */
  joinWeek(past: readonly Stretch[]): void {
    this.#kept.minute.putBefore(past)
  }

  snapshot({ seq, faultAt }: Pick<WindSnapshot, 'seq' | 'faultAt'>): WindSnapshot {
    const { seconds, full } = this.#entries()
    return {
      seq,
      faultAt: faultAt && Math.ceil(faultAt),
      seconds: columnsOf(seconds, secondMs),
      full: columnsOf(full, 1),
    }
  }

  /**
   * Joins `past` to this history's entries before it. Yields after each entry, so that a page can
   * work in slices. Returns the new history and its newest time; null if empty.
   */
  *joinedWith(past: PastWind) {
    const history = new WindHistory()
    let newestAt: number | null = null
    const { seconds, full } = this.#entries()
    for (const entry of joinEntries([...seconds, ...full], past.entries)) {
      newestAt = history.#repeat(entry)
      yield
    }
    if (past.faultAt !== null) newestAt = history.take(fault, past.faultAt)
    return newestAt === null ? null : { history, newestAt }
  }

  /** `full` begins on a whole second. */
  #entries(): { readonly seconds: WindEntry[]; readonly full: WindEntry[] } {
    const minute = this.since(Number.NEGATIVE_INFINITY, 'reading')
    const newestAt = minute.at(-1)?.lastAt
    if (newestAt === undefined) return { seconds: [], full: [] }
    const fullFromAt = (Math.floor((newestAt - minuteMs) / secondMs) + 1) * secondMs
    return {
      seconds: this.since(newestAt - hourMs, 'second')
        .filter(({ firstAt }) => firstAt < fullFromAt)
        .map((stretch) => {
          const fromAt = Math.floor(stretch.firstAt / secondMs) * secondMs
          return entryOf(stretch, fromAt, fromAt + secondMs)
        }),
      full: minute
        .filter(({ firstAt }) => firstAt >= fullFromAt)
        .map((stretch) => entryOf(stretch, stretch.firstAt, stretch.firstAt)),
    }
  }

  /**
   * Replays an entry with its count, mean, lowest and highest. Order and spread of direction are
   * lost.
   */
  #repeat(entry: WindEntry): number {
    const { fromAt, toAt, count, directionDegrees, startsAnew } = entry
    // A fault separates readings that are close in time.
    if (startsAnew) this.take(fault, fromAt)
    const state = directionDegrees === null ? 'calm' : 'measured'
    let newestAt = fromAt
    for (const [place, speedMetresPerSecond] of speedsOf(entry).entries()) {
      const at = fromAt + ((place + 0.5) / count) * (toAt - fromAt)
      newestAt = this.take({ state, directionDegrees, speedMetresPerSecond }, at)
    }
    return newestAt
  }
}

/** Spans of the last `spanMs`, at most one per `grainMs`. */
class Stretches {
  readonly #spanMs: number
  readonly #grainMs: number
  #kept: Stretch[] = []
  #head = 0

  constructor(spanMs: number, grainMs: number) {
    this.#spanMs = spanMs
    this.#grainMs = grainMs
  }

  add(stretch: Stretch): void {
    this.#dropUntil(stretch.lastAt - this.#spanMs)
    const last = this.#kept.at(-1)
    const grainOf = ({ firstAt }: Stretch) => Math.floor(firstAt / this.#grainMs)
    const isSame = last && grainOf(last) === grainOf(stretch)
    if (isSame) this.#kept.pop()
    this.#kept.push(isSame ? joinStretches(last, stretch) : stretch)
  }

  since(at: number): readonly Stretch[] {
    let first = this.#kept.length
    while (first > this.#head && (this.#kept[first - 1]?.lastAt ?? at) > at) first -= 1
    return this.#kept.slice(first)
  }

  /** Keeps what is newer than these, and its own entry of their last grain, which may still grow. */
  putBefore(past: readonly Stretch[]): void {
    const grainOf = ({ firstAt }: Stretch) => Math.floor(firstAt / this.#grainMs)
    const last = past.at(-1)
    if (!last) return
    const [first, ...others] = this.#kept.slice(this.#head).filter((own) => grainOf(own) >= grainOf(last))
    const before = past.filter((one) => !first || grainOf(one) < grainOf(first))
    const endsAt = before.at(-1)?.lastAt ?? Number.NEGATIVE_INFINITY
    this.#head = 0
    this.#kept = first
      ? [
          ...before,
          { ...first, startsAnew: first.startsAnew && first.firstAt - endsAt > this.#grainMs },
          ...others,
        ]
      : before
  }

  /** Compacts only when half is stale: amortized O(1) per entry. */
  #dropUntil(at: number): void {
    while ((this.#kept[this.#head]?.lastAt ?? Number.POSITIVE_INFINITY) <= at) this.#head += 1
    if (this.#head * 2 <= this.#kept.length) return
    this.#kept = this.#kept.slice(this.#head)
    this.#head = 0
  }
}

/** Merges two neighbours, the earlier first. A gap between them moves before both. */
export function joinStretches(one: Stretch, other: Stretch): Stretch {
  const gusts = [one.gustMetresPerSecond, other.gustMetresPerSecond].filter((gust) => gust !== null)
  return {
    firstAt: one.firstAt,
    lastAt: other.lastAt,
    sums: addSums(one.sums, other.sums),
    lowestMetresPerSecond: Math.min(one.lowestMetresPerSecond, other.lowestMetresPerSecond),
    highestMetresPerSecond: Math.max(one.highestMetresPerSecond, other.highestMetresPerSecond),
    gustMetresPerSecond: gusts.length === 0 ? null : Math.max(...gusts),
    startsAnew: one.startsAnew || other.startsAnew,
  }
}

/** The stretch as it is sent: spread over a time. */
export function entryOf(
  { sums, lowestMetresPerSecond, highestMetresPerSecond, startsAnew }: Stretch,
  fromAt: number,
  toAt: number,
): WindEntry {
  const extremes = { lowestMetresPerSecond, highestMetresPerSecond }
  return { fromAt, toAt, count: sums.count, ...meanOf(sums), ...extremes, startsAnew }
}

/**
 * Returns `received`, preceded by `own` entries from before it. The start of `received` alone is
 * not a gap.
 */
function joinEntries(own: readonly WindEntry[], received: readonly WindEntry[]): readonly WindEntry[] {
  const [first, ...others] = received
  if (!first) return own
  const before = own.filter(({ toAt }) => toAt <= first.fromAt)
  return [...before, { ...first, startsAnew: before.length === 0 }, ...others]
}

function speedsOf(entry: WindEntry): number[] {
  const { count, speedMetresPerSecond: mean } = entry
  const { lowestMetresPerSecond: lowest, highestMetresPerSecond: highest } = entry
  if (count === 1) return [mean]
  const between = (count * mean - lowest - highest) / Math.max(1, count - 2)
  // The rounded mean of equal readings can lie outside them.
  const within = Math.min(highest, Math.max(lowest, between))
  return [lowest, ...Array<number>(count - 2).fill(within), highest]
}

/** `unitMs` is the time resolution. */
export function columnsOf(entries: readonly WindEntry[], unitMs: number): WindColumns {
  const times = entries.map(({ fromAt }) => Math.floor(fromAt / unitMs))
  const centi = (speedMetresPerSecond: number) => Math.round(speedMetresPerSecond * 100)
  return {
    after: times.map((time, place) => time - (times[place - 1] ?? 0)),
    count: entries.map(({ count }) => count),
    speed: entries.map(({ speedMetresPerSecond }) => centi(speedMetresPerSecond)),
    lowest: entries.map(({ lowestMetresPerSecond }) => centi(lowestMetresPerSecond)),
    highest: entries.map(({ highestMetresPerSecond }) => centi(highestMetresPerSecond)),
    direction: entries.map(({ directionDegrees: degrees }) => degrees && Math.round(degrees) % 360),
    gaps: entries.flatMap(({ startsAnew }, place) => (startsAnew ? [place] : [])),
  }
}

/** Throws a `TypeError` or `RangeError` for an invalid snapshot. */
export function readSnapshot(given: unknown): PastWind {
  const { seq, faultAt, seconds, full } = given as WindSnapshot
  if (!isCount(seq) || !(faultAt === null || Number.isFinite(faultAt)))
    throw new TypeError('A wind snapshot must have a "seq", and a "faultAt" that may be null.')
  return { seq, faultAt, entries: [...entriesIn(seconds, secondMs, secondMs), ...entriesIn(full, 1, 0)] }
}

/** `spanMs` is the duration of each entry. */
export function entriesIn(columns: WindColumns, unitMs: number, spanMs: number): readonly WindEntry[] {
  mustBeSound(columns)
  const { after, count, speed, lowest, highest, direction, gaps } = columns
  const afterGap = new Set(gaps)
  let time = 0
  return after.map((step, place) => {
    time += step
    return {
      fromAt: time * unitMs,
      toAt: time * unitMs + spanMs,
      count: count[place] ?? 0,
      speedMetresPerSecond: (speed[place] ?? 0) / 100,
      lowestMetresPerSecond: (lowest[place] ?? 0) / 100,
      highestMetresPerSecond: (highest[place] ?? 0) / 100,
      directionDegrees: direction[place] ?? null,
      startsAnew: afterGap.has(place),
    }
  })
}

/** More than an hour in seconds (3600), a minute in full (1200), or a week in minutes (10,080); or the readings of one entry. */
const maxEntries = 11_000

const maxCentimetresPerSecond = 100_000

function mustBeSound({ after, count, speed, lowest, highest, direction, gaps }: WindColumns): void {
  const { length } = after
  const isColumn = (column: readonly unknown[], fits: (value: unknown) => boolean) =>
    Array.isArray(column) && column.length === length && column.every(fits)
  const isNumberOrNull = (value: unknown) => value === null || Number.isFinite(value)
  const isSpeed = (value: unknown) => isCount(value) && value <= maxCentimetresPerSecond
  const isSound =
    length <= maxEntries &&
    isColumn(after, isCount) &&
    isColumn(count, (value) => isCount(value) && value > 0 && value <= maxEntries) &&
    [speed, lowest, highest].every((column) => isColumn(column, isSpeed)) &&
    isColumn(direction, isNumberOrNull) &&
    Array.isArray(gaps)
  if (!isSound) throw new RangeError('The columns of a wind snapshot must be valid lists of equal length.')
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0
}
