// Compares clocks with the server's around a run, and bounds their error.

import {
  type ClockEstimate,
  type ClockReading,
  createClockEstimate,
  type Exchange,
  roundTripMs,
} from '../../client/wire.ts'

export { type ClockReading, combine } from '../../client/wire.ts'

/** Largest clock error with which the 2012 paper accepted a test ("Time Synchronization"). */
export const paperBoundMs = 2

/**
 * `server exchange` if windows are on several machines, whose clocks are compared with the
 * server's.
 */
export type ClockMethod = 'one machine' | 'server exchange'

/** Largest error between two windows' stamps. */
export interface RunClock {
  readonly method: ClockMethod
  readonly boundMs: number
}

const keptPerCheck = 4

const wholeRun = { maxExchanges: 256, keepMs: 24 * 3_600_000 }

export interface FollowedClock {
  readonly name: string
  /** Makes this many exchanges with the server, bypassing the simulated network. */
  readonly exchange: (times: number) => Promise<readonly Exchange[]>
  readonly estimate: ClockEstimate
}

export interface CheckedClock extends ClockReading {
  readonly name: string
}

export function followClock(name: string, exchange: FollowedClock['exchange']): FollowedClock {
  return { name, exchange, estimate: createClockEstimate(wholeRun) }
}

/** The errors of two windows may add up. */
export function boundBetween(clocks: readonly ClockReading[]): number {
  const [largest = 0, second = 0] = clocks.map(({ boundMs }) => boundMs).sort((one, other) => other - one)
  return largest + second
}

/**
 * Compares each clock with the server's, one after the other. Call before, every 30 s during and
 * after a run: drift between two checks is not seen. Rejects if a clock jumped since its last
 * check; the caller judges the bounds.
 */
export async function checkClocks(clocks: readonly FollowedClock[], { exchanges = 24 } = {}) {
  const checked: CheckedClock[] = []
  for (const clock of clocks) checked.push(await check(clock, exchanges))
  return checked
}

async function check({ name, exchange, estimate }: FollowedClock, times: number): Promise<CheckedClock> {
  const exchanges = await exchange(times)
  const fastest = exchanges.toSorted((one, other) => roundTripMs(one) - roundTripMs(other))
  const isTaken = fastest.slice(0, keptPerCheck).every(estimate.take)
  const reading = estimate.at(Math.max(...exchanges.map(({ returnedAt }) => returnedAt)))
  if (isTaken && reading) return { name, offsetMs: reading.offsetMs, boundMs: reading.boundMs }
  throw new Error(
    `The clock of ${name} or of the server was changed or stopped since the last check, so stamps made meanwhile are unknown. Run it again.`,
  )
}
