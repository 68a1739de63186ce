// Turns readings into samples that can be averaged: none for a fault, in a time that never runs back, with gaps marked.

import type { ReadingBody } from '../reading.ts'

/**
 * After so long without a reading what came before says nothing about now. One reading in 4 s is the slowest that a
 * WindSonic sends by itself (1405-PS-0019, command P20); a second more for a late one.
 */
export const gapMs = 5000

export interface Sample {
  /** Ms; the readings' own time, but for what `createSampling` says. */
  readonly at: number
  readonly speedMetresPerSecond: number
  /** Null in a calm, which counts with its speed and without a direction. */
  readonly directionDegrees: number | null
  /** The time since the reading before, which it stands for; 0 where that is not known. */
  readonly coversMs: number
  /** It is the first, or follows an outage or a fault: nothing joins it to the one before. */
  readonly startsAnew: boolean
}

/** What is left of a reading in a trace, and all that counts of it here. */
export type BareReading = Pick<ReadingBody, 'state' | 'speedMetresPerSecond' | 'directionDegrees'>

export interface Moment {
  readonly at: number
  /** Null for a fault. */
  readonly sample: Sample | null
}

export interface Sampling {
  /** `stampedAt`: the reading's stamp, ms since the epoch. */
  readonly take: (reading: BareReading, stampedAt: number) => Moment
}

/**
 * Every reading counts, repeats too. Where the host's clock was set back, its time goes on from the newest stamp, so
 * that nothing is counted into a time that has passed.
 */
export function createSampling(): Sampling {
  let newestAt = Number.NEGATIVE_INFINITY
  let setBackMs = 0
  let previousAt: number | null = null

  function steady(stampedAt: number): number {
    setBackMs = Math.max(setBackMs, newestAt - stampedAt)
    newestAt = stampedAt + setBackMs
    return newestAt
  }

  return {
    take({ state, speedMetresPerSecond, directionDegrees }, stampedAt) {
      const at = steady(stampedAt)
      const sinceMs = previousAt === null ? null : at - previousAt
      previousAt = null
      if (state === 'fault' || speedMetresPerSecond === null) return { at, sample: null }
      previousAt = at
      const startsAnew = sinceMs === null || sinceMs > gapMs
      const coversMs = startsAnew ? 0 : sinceMs
      const direction = state === 'calm' ? null : directionDegrees
      return {
        at,
        sample: { at, speedMetresPerSecond, directionDegrees: direction, coversMs, startsAnew },
      }
    },
  }
}
