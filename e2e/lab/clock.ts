// Sets clocks against one common clock, before a run, meanwhile and after it, and bounds what is left of doubt.

import { type ClockEstimate, createClockEstimate } from '../../server/wire/clock/estimate.ts'
import { type Exchange, roundTripMs } from '../../server/wire/clock/exchange.ts'
import type { ClockReading } from '../../server/wire/clock/reading.ts'

export { type ClockReading, combine } from '../../server/wire/clock/reading.ts'

/** Of a window over one block: what to add to its stamps, and the doubt of either reading with half of the drift between. */
export type WindowClock = ClockReading

/** Between two windows both doubts may add up: the sum of the two largest. */
export function boundBetween(clocks: readonly WindowClock[]): number {
  const [largest = 0, second = 0] = clocks.map(({ boundMs }) => boundMs).sort((one, other) => other - one)
  return largest + second
}

/** No test began, and none counted, unless all clocks were within this (2012 paper, "Time Synchronization"). */
export const paperBoundMs = 2

/** Of the exchanges of one check so many are kept, the fastest. */
const keptPerCheck = 4

/** Far more than any scenario checks, and longer than any takes. */
const wholeRun = { mostExchanges: 256, keepMs: 24 * 3_600_000 }

/** So many exchanges with the server, by a way that nothing slows down on purpose. */
export type ExchangeClocks = (times: number) => Promise<readonly Exchange[]>

/** The clock of one window or client, followed through a run. */
export interface FollowedClock {
  /** For people: `window 2`, `Edmonton, sse/2`. */
  readonly name: string
  readonly exchange: ExchangeClocks
  readonly estimate: ClockEstimate
}

export interface Checking {
  readonly mostBoundMs?: number
  /** Of each clock. Meanwhile a few will do, so that what is measured is left alone. */
  readonly exchanges?: number
}

export interface CheckedClock extends ClockReading {
  readonly name: string
}

export function followClock(name: string, exchange: ExchangeClocks): FollowedClock {
  return { name, exchange, estimate: createClockEstimate(wholeRun) }
}

/**
 * Compares each clock with the server's, one after the other so that none makes another wait. To be called before a run,
 * every half minute meanwhile and after it: between two checks a drift can change unseen.
 * Rejects when a clock is not known to within `mostBoundMs`, and when one has jumped since the last check.
 */
export async function checkClocks(
  clocks: readonly FollowedClock[],
  { mostBoundMs = paperBoundMs, exchanges = 24 }: Checking = {},
): Promise<readonly CheckedClock[]> {
  const checked: CheckedClock[] = []
  for (const clock of clocks) checked.push(await check(clock, exchanges))
  refuseAbove(mostBoundMs, checked)
  return checked
}

async function check({ name, exchange, estimate }: FollowedClock, times: number): Promise<CheckedClock> {
  const exchanges = await exchange(times)
  const fastest = exchanges.toSorted((one, other) => roundTripMs(one) - roundTripMs(other))
  for (const kept of fastest.slice(0, keptPerCheck)) if (!estimate.take(kept)) throw jumped(name)
  const lastAt = Math.max(...exchanges.map(({ returnedAt }) => returnedAt))
  return { name, ...readingAt({ name, estimate }, lastAt) }
}

/** Stamps of that clock as the server's clock would have made them, and the largest doubt of any. Throws when it is too large. */
export function inServerTime(
  clock: Pick<FollowedClock, 'name' | 'estimate'>,
  stamps: readonly number[],
  mostBoundMs = paperBoundMs,
): { readonly times: readonly number[]; readonly boundMs: number } {
  let boundMs = 0
  const times = stamps.map((stamp) => {
    const reading = readingAt(clock, stamp)
    boundMs = Math.max(boundMs, reading.boundMs)
    return stamp + reading.offsetMs
  })
  refuseAbove(mostBoundMs, [{ name: clock.name, offsetMs: 0, boundMs }])
  return { times, boundMs }
}

/** `window 1 −5000.12 ms ± 0.43 ms`, one after the other: what was added to the stamps. */
export function clocksInWords(clocks: readonly CheckedClock[]): string {
  const words = ({ name, offsetMs, boundMs }: CheckedClock) =>
    `${name} ${offsetMs < 0 ? '−' : '+'}${Math.abs(offsetMs).toFixed(2)} ms ± ${boundMs.toFixed(2)} ms`
  return clocks.map(words).join(', ')
}

function readingAt({ name, estimate }: Pick<FollowedClock, 'name' | 'estimate'>, at: number): ClockReading {
  const reading = estimate.at(at)
  if (!reading) throw new Error(`The clock of ${name} was not compared with the server’s: check it first.`)
  return { offsetMs: reading.offsetMs, boundMs: reading.boundMs }
}

function refuseAbove(mostBoundMs: number, clocks: readonly CheckedClock[]): void {
  const vague = clocks.filter(({ boundMs }) => boundMs > mostBoundMs)
  if (vague.length === 0) return
  const found = vague.map(({ name, boundMs }) => `${name} only to ± ${boundMs.toFixed(2)} ms`).join(', ')
  const wayOut =
    'Give it a quieter machine, a way to the server that nothing slows down, and a check every half minute.'
  throw new Error(`Clocks have to be known to within ${mostBoundMs} ms; known are ${found}. ${wayOut}`)
}

function jumped(name: string): Error {
  return new Error(
    `The clock of ${name} or the server’s was set or stood still since the last check: what was stamped meanwhile cannot be told. Run it again.`,
  )
}
