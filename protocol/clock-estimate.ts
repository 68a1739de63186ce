// Offset and drift between two clocks from repeated exchanges, with a guaranteed error bound.

import type { Random } from './time.ts'

/**
 * T1 to T4 of RFC 5905, 8: first and last by the local clock, the others by the remote one; ms
 * since the epoch.
 */
export interface Exchange {
  readonly sentAt: number
  readonly receivedAt: number
  readonly answeredAt: number
  readonly returnedAt: number
}

/** Excludes the remote processing time. */
export function roundTripMs({ sentAt, receivedAt, answeredAt, returnedAt }: Exchange): number {
  return returnedAt - sentAt - (answeredAt - receivedAt)
}

/** Gives eight exchanges in the first two seconds. */
const shortestPauseMs = 250
/** Jittered, so that clients that opened together spread out. */
const meanPauseMs = 15_000

/**
 * `sinceMs` is the time since the first exchange: the drift is known well enough to extrapolate for
 * a quarter of it.
 */
export function exchangePauseMs(sinceMs: number, random: Random): number {
  const pauseMs = Math.max(shortestPauseMs, sinceMs / 4)
  return pauseMs < meanPauseMs ? pauseMs : meanPauseMs * (2 / 3 + (2 / 3) * random())
}

export interface ClockReading {
  /** Local time plus this is remote time, ms. */
  readonly offsetMs: number
  /** Largest possible error, ms. */
  readonly boundMs: number
}

/** Returns a reading that is valid at both moments and between them, assuming a constant drift. */
export function combine(before: ClockReading, after: ClockReading): ClockReading {
  const drift = Math.abs(after.offsetMs - before.offsetMs)
  return {
    offsetMs: (before.offsetMs + after.offsetMs) / 2,
    boundMs: Math.max(before.boundMs, after.boundMs) + drift / 2,
  }
}

interface ClockEstimateSettings {
  /** Above this number the slowest exchange is dropped. */
  readonly maxExchanges?: number
  readonly keepMs?: number
  /** Largest drift, ppm. 500 is the most that NTP corrects (RFC 5905, appendix A: MAXFREQ). */
  readonly maxDriftPpm?: number
  /**
   * Largest change of the drift while exchanges are kept, ppm. 15 is NTP's TOLERANCE (RFC 5905,
   * 7.2).
   */
  readonly wanderPpm?: number
  /** Local clock resolution, ms: 5 µs in an isolated page of Chromium, 20 µs in Firefox. */
  readonly resolutionMs?: number
}

export type ClockEstimate = ReturnType<typeof createClockEstimate>

const million = 1e6

/**
 * Each exchange bounds the offset from above when the request left and from below when the response
 * arrived, whatever the delays (Cristian, Distributed Computing 3, 1989). All bounds together limit
 * the drift, and so the offset now. `boundMs` covers that whole range: it holds for asymmetric
 * delays, grows with age, and shrinks as longer observation narrows the drift. Exception: a clock
 * jump smaller than the round trip looks like a slower path.
 */
export function createClockEstimate(settings: ClockEstimateSettings = {}) {
  const { maxExchanges = 64, keepMs = 600_000, resolutionMs = 0.02 } = settings
  const { maxDriftPpm = 500, wanderPpm = 15 } = settings
  const maxDrift = maxDriftPpm / million
  const wander = wanderPpm / 2 / million
  let kept: readonly Exchange[] = []
  let marks: readonly Marks[] = []
  let drift: Range | null = null
  let usualDrift = 0

  /** False if the exchanges contradict each other. */
  function keep(exchanges: readonly Exchange[]): boolean {
    kept = exchanges
    marks = kept.map((exchange) => marksOf(exchange, resolutionMs))
    drift = driftBetween(marks, maxDrift, wander)
    // Best fit without wander, if there is one.
    if (drift) usualDrift = middleOf(driftBetween(marks, maxDrift, 0) ?? drift)
    return drift !== null
  }

  return {
    /** False after a jump or sleep of a clock: the estimate then restarts from this exchange. */
    take(exchange: Exchange): boolean {
      const young = kept.filter(({ returnedAt }) => exchange.returnedAt - returnedAt <= keepMs)
      if (keep(withoutSlowest([...young, exchange], maxExchanges))) return true
      // An exchange that contains a jump contradicts itself.
      if (!keep([exchange])) keep([])
      return false
    },
    /** Estimate for a past or future local time; null while unknown. */
    at(localNow: number) {
      if (drift === null || kept.length === 0) return null
      const { least, most } = offsetAt(marks, drift, wander, localNow)
      const offsetMs = middleOf(offsetAt(marks, { least: usualDrift, most: usualDrift }, 0, localNow))
      return {
        offsetMs,
        boundMs: Math.max(most - offsetMs, offsetMs - least),
        driftPpm: usualDrift * million,
        exchanges: kept.length,
      }
    },
    forget: () => void keep([]),
  }
}

/** Always keeps the newest, the only evidence of the present. */
function withoutSlowest(exchanges: readonly Exchange[], most: number): readonly Exchange[] {
  if (exchanges.length <= most) return exchanges
  const older = exchanges.slice(0, -1)
  const slowest = older.reduce((one, other) => (roundTripMs(other) > roundTripMs(one) ? other : one))
  return exchanges.filter((exchange) => exchange !== slowest)
}

type Marks = ReturnType<typeof marksOf>

/**
 * An upper bound of the offset when the request left, a lower one when the response arrived;
 * widened by the resolution, which affects both the timestamp and a later reading.
 */
function marksOf({ sentAt, receivedAt, answeredAt, returnedAt }: Exchange, resolutionMs: number) {
  return {
    ceiling: { at: sentAt, offsetMs: receivedAt - sentAt + resolutionMs },
    floor: { at: returnedAt, offsetMs: answeredAt - returnedAt - resolutionMs },
  }
}

interface Range {
  readonly least: number
  readonly most: number
}

const middleOf = ({ least, most }: Range) => (least + most) / 2

/**
 * The drifts consistent with all marks, ms per ms; null after a jump. `wander` is the largest
 * deviation from a constant.
 */
function driftBetween(marks: readonly Marks[], maxDrift: number, wander: number): Range | null {
  let least = -maxDrift
  let most = maxDrift
  for (const { ceiling } of marks) {
    for (const { floor } of marks) {
      const spanMs = ceiling.at - floor.at
      const roomMs = ceiling.offsetMs - floor.offsetMs + wander * Math.abs(spanMs)
      if (spanMs > 0) most = Math.min(most, roomMs / spanMs)
      else if (spanMs < 0) least = Math.max(least, roomMs / spanMs)
      else if (roomMs < 0) return null
    }
  }
  return least <= most ? { least, most } : null
}

/** The range of the offset at any time; `drift` is from `driftBetween`. */
function offsetAt(marks: readonly Marks[], drift: Range, wander: number, at: number): Range {
  let least = Number.NEGATIVE_INFINITY
  let most = Number.POSITIVE_INFINITY
  for (const { ceiling, floor } of marks) {
    const upMs = at - ceiling.at
    const rise = Math.max(drift.least * upMs, drift.most * upMs) + wander * Math.abs(upMs)
    most = Math.min(most, ceiling.offsetMs + rise)
    const downMs = at - floor.at
    const fall = Math.min(drift.least * downMs, drift.most * downMs) - wander * Math.abs(downMs)
    least = Math.max(least, floor.offsetMs + fall)
  }
  return { least, most }
}
