// An hour of wind in bounded memory: the last minute in full, the rest by the second.

import type { Sample } from './sampling.ts'
import { addSums, sumsOf, type WindSums } from './sums.ts'

/** Some samples of one stretch of time, together. */
export interface Stretch {
  /** Stamps of the first and the last sample, ms. */
  readonly firstAt: number
  readonly lastAt: number
  readonly sums: WindSums
  readonly lowestMetresPerSecond: number
  readonly highestMetresPerSecond: number
  /** Highest 3 s mean of the minute before its end, m/s; null while there was none. */
  readonly gustMetresPerSecond: number | null
  /** Nothing joins it to the one before: an outage or a fault lies between. */
  readonly startsAnew: boolean
}

export interface WindHistory {
  readonly add: (sample: Sample, gustMetresPerSecond: number | null) => void
  /**
   * What lies after `at`, oldest first: each sample of the last minute where `isFull`, and of the last hour by the
   * second where not.
   */
  readonly since: (at: number, isFull: boolean) => readonly Stretch[]
  /** Stamp of the oldest sample that is kept; null while there is none. */
  readonly oldestAt: () => number | null
}

/** The last minute keeps 20 samples a second, as many as the fastest sensors of this make send; more are joined. */
const full = { spanMs: 61_000, grainMs: 50 }
const bySecond = { spanMs: 3_601_000, grainMs: 1000 }

/** At most 1,220 stretches in full and 3,601 by the second. */
export function createHistory(): WindHistory {
  const minute = createStretches(full)
  const hour = createStretches(bySecond)
  return {
    add(sample, gustMetresPerSecond) {
      const stretch = stretchOf(sample, gustMetresPerSecond)
      minute.add(stretch)
      hour.add(stretch)
    },
    since: (at, isFull) => (isFull ? minute : hour).since(at),
    oldestAt: hour.oldestAt,
  }
}

function stretchOf(sample: Sample, gustMetresPerSecond: number | null): Stretch {
  const { at, speedMetresPerSecond, startsAnew } = sample
  return {
    firstAt: at,
    lastAt: at,
    sums: sumsOf(sample),
    lowestMetresPerSecond: speedMetresPerSecond,
    highestMetresPerSecond: speedMetresPerSecond,
    gustMetresPerSecond,
    startsAnew,
  }
}

/** Two neighbours as one, the earlier first. A gap between them is a gap before both. */
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

function createStretches({ spanMs, grainMs }: { spanMs: number; grainMs: number }) {
  let kept: Stretch[] = []
  let head = 0

  /** Moves what is left only when half is over, so that each is moved about once. */
  function dropUntil(at: number): void {
    while ((kept[head]?.lastAt ?? Number.POSITIVE_INFINITY) <= at) head += 1
    if (head * 2 <= kept.length) return
    kept = kept.slice(head)
    head = 0
  }

  return {
    add(stretch: Stretch): void {
      dropUntil(stretch.lastAt - spanMs)
      const last = kept.at(-1)
      const isSameGrain = last && Math.floor(last.firstAt / grainMs) === Math.floor(stretch.firstAt / grainMs)
      if (isSameGrain) kept[kept.length - 1] = joinStretches(last, stretch)
      else kept.push(stretch)
    },
    since(at: number): readonly Stretch[] {
      let first = kept.length
      while (first > head && (kept[first - 1]?.lastAt ?? at) > at) first -= 1
      return kept.slice(first)
    },
    oldestAt: () => kept[head]?.firstAt ?? null,
  }
}
