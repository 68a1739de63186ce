// Two clocks and a way between them, for tests: one of them wrong, drifting, wandering and set, the ways as slow as wanted.

import type { Random } from '../random.ts'
import type { Exchange } from './exchange.ts'

export interface ClockSettings {
  /** How far the window's clock is ahead of the server's at the start, ms. */
  readonly aheadMs?: number
  /** How much faster it goes, ppm. */
  readonly fastPpm?: number
  /** By how much that swings up and down, ppm, and how long a swing takes, ms. */
  readonly swingPpm?: number
  readonly swingMs?: number
  /** Steps in which it can be read, ms; 0 for none. */
  readonly resolutionMs?: number
}

/** The server's clock at the start, ms since the epoch. */
export const startMs = 1_763_715_600_000

/** A window's clock beside the server's, which here is the true time; `sinceMs` is the time since the start. */
export function createWrongClock({
  aheadMs = 0,
  fastPpm = 0,
  swingPpm = 0,
  swingMs = 60_000,
  resolutionMs = 0,
}: ClockSettings) {
  let steppedMs = 0
  const turn = (2 * Math.PI) / swingMs

  function read(sinceMs: number): number {
    const driftMs = (sinceMs * fastPpm + (swingPpm / turn) * Math.sin(turn * sinceMs)) / 1e6
    const wholeMs = startMs + sinceMs + aheadMs + driftMs + steppedMs
    return resolutionMs === 0 ? wholeMs : Math.floor(wholeMs / resolutionMs) * resolutionMs
  }

  return {
    read,
    /** What has to be added to what it says, then, to have the server's time. */
    offsetMs: (sinceMs: number) => startMs + sinceMs - read(sinceMs),
    /** Sets it on or back. */
    step(byMs: number) {
      steppedMs += byMs
    },
  }
}

export type WrongClock = ReturnType<typeof createWrongClock>

/** How long a way takes, ms: from the least on, drawn anew each time. */
export interface Way {
  readonly leastMs: number
  readonly spreadMs: number
}

export interface Ways {
  readonly there: Way
  readonly back: Way
}

/** Between 5 and 10 ms, either way. */
export const evenWays: Ways = { there: { leastMs: 5, spreadMs: 5 }, back: { leastMs: 5, spreadMs: 5 } }

/** One exchange that begins then; `endsMs` is when the answer is there. */
export function exchangeAt(clock: WrongClock, sinceMs: number, ways: Ways, random: Random) {
  const draw = ({ leastMs, spreadMs }: Way) => leastMs + spreadMs * random()
  const thereMs = sinceMs + draw(ways.there)
  const answeredMs = thereMs + random()
  const endsMs = answeredMs + draw(ways.back)
  const exchange: Exchange = {
    sentAt: clock.read(sinceMs),
    receivedAt: startMs + thereMs,
    answeredAt: startMs + answeredMs,
    returnedAt: clock.read(endsMs),
  }
  return { exchange, endsMs }
}
