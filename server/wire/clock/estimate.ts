// Sets one clock against another by repeated exchanges: the fastest kept, their drift followed, with a bound that holds.

import { ceilingOf, type Exchange, floorOf, type Mark, roundTripMs } from './exchange.ts'
import { type Drift, driftBetween, type Marks, offsetAt, type Range } from './limits.ts'
import type { ClockReading } from './reading.ts'

export interface ClockEstimateSettings {
  /** So many exchanges are kept at most: of more, the slowest goes. */
  readonly mostExchanges?: number
  /** None is kept for longer than this, ms. */
  readonly keepMs?: number
  /** The clocks drift apart by no more, ppm. 500 is the most that NTP corrects (RFC 5905, appendix A: MAXFREQ). */
  readonly mostDriftPpm?: number
  /** Two moments' drifts differ by no more while exchanges are kept, ppm. 15 is what NTP allows (RFC 5905, 7.2: TOLERANCE). */
  readonly wanderPpm?: number
  /** Steps in which this side's clock is read, ms: 5 µs in an isolated page of Chromium, 20 µs in Firefox. */
  readonly resolutionMs?: number
}

export interface ClockEstimateReading extends ClockReading {
  /** How fast the offset grows. */
  readonly driftPpm: number
  /** How many exchanges it rests on. */
  readonly exchanges: number
}

export interface ClockEstimate {
  /**
   * False when it does not fit what was known, whatever its way there and back: one of the clocks has jumped, or has
   * slept. Then all begins anew, with this exchange alone.
   */
  readonly take: (exchange: Exchange) => boolean
  /** The offset at that time of this side's clock, past or to come; null while nothing is known. */
  readonly at: (localNow: number) => ClockEstimateReading | null
  readonly forget: () => void
}

const million = 1e6

/**
 * Each exchange says what the offset was at most when its question left, and at least when its answer was here; no delay,
 * on whichever way, makes that untrue (Cristian, Distributed Computing 3, 1989). Among all of them lie the drifts that are
 * possible, and so the offsets now. The bound reaches to the ends of that range: it holds for any delays, the same both
 * ways or not, grows with the age of what it rests on, and shrinks as a longer time shows the drift more clearly.
 *
 * It can fail in one way: a jump that is smaller than the ways there and back looks like a slower way.
 */
export function createClockEstimate(settings: ClockEstimateSettings = {}): ClockEstimate {
  const { mostExchanges = 64, keepMs = 600_000, resolutionMs = 0.02 } = settings
  const { mostDriftPpm = 500, wanderPpm = 15 } = settings
  const allowed: Drift = { most: mostDriftPpm / million, wander: wanderPpm / 2 / million }
  let kept: readonly Exchange[] = []
  let marks: Marks = marksOf(kept, resolutionMs)
  let drift: Range | null = null
  let usualDrift = 0

  function keep(exchanges: readonly Exchange[]): boolean {
    kept = exchanges
    marks = marksOf(kept, resolutionMs)
    drift = driftBetween(marks, allowed)
    // The line through the fastest: as if the drift did not wander, where that can be.
    if (drift) usualDrift = middleOf(driftBetween(marks, { ...allowed, wander: 0 }) ?? drift)
    return drift !== null
  }

  function forget(): void {
    keep([])
  }

  return {
    take(exchange) {
      const young = kept.filter(({ returnedAt }) => exchange.returnedAt - returnedAt <= keepMs)
      if (keep(withoutSlowest([...young, exchange], mostExchanges))) return true
      // One that contradicts itself saw the jump happen: nothing is known then.
      if (!keep([exchange])) forget()
      return false
    },
    at(localNow) {
      if (drift === null || kept.length === 0) return null
      const { least, most } = offsetAt(marks, drift, allowed.wander, localNow)
      const offsetMs = middleOf(offsetAt(marks, { least: usualDrift, most: usualDrift }, 0, localNow))
      return {
        offsetMs,
        boundMs: Math.max(most - offsetMs, offsetMs - least),
        driftPpm: usualDrift * million,
        exchanges: kept.length,
      }
    },
    forget,
  }
}

const middleOf = ({ least, most }: Range) => (least + most) / 2

/** A clock that is read in steps may be off by one of them, at the stamp and when it is read again. */
function marksOf(exchanges: readonly Exchange[], resolutionMs: number): Marks {
  const widened = ({ at, offsetMs }: Mark, byMs: number): Mark => ({ at, offsetMs: offsetMs + byMs })
  return {
    ceilings: exchanges.map((exchange) => widened(ceilingOf(exchange), resolutionMs)),
    floors: exchanges.map((exchange) => widened(floorOf(exchange), -resolutionMs)),
  }
}

/** The newest stays: it alone says what is so now. */
function withoutSlowest(exchanges: readonly Exchange[], most: number): readonly Exchange[] {
  if (exchanges.length <= most) return exchanges
  const older = exchanges.slice(0, -1)
  const slowest = older.reduce((one, other) => (roundTripMs(other) > roundTripMs(one) ? other : one))
  return exchanges.filter((exchange) => exchange !== slowest)
}
