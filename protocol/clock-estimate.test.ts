// Clocks that drift and jump, over slow paths: the true offset always lies within the bound.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { combine, createClockEstimate, type Exchange, exchangePauseMs } from './clock-estimate.ts'
import {
  type ClockSettings,
  createWrongClock,
  evenWays,
  exchangeAt,
  startMs,
  type Way,
  type Ways,
} from './testing.ts'
import { createSeededRandom } from './time.ts'

const minuteMs = 60_000

type Settings = NonNullable<Parameters<typeof createClockEstimate>[0]>

interface World extends ClockSettings {
  readonly ways?: Ways
  readonly seed?: number
  readonly settings?: Settings
}

/** Makes exchanges now and then, and compares the estimate with the truth four times a second. */
function live({ ways = evenWays, seed = 1, settings = {}, ...clockSettings }: World = {}) {
  const random = createSeededRandom(seed)
  const clock = createWrongClock(clockSettings)
  const estimate = createClockEstimate(settings)
  let sinceMs = 0

  function check(): void {
    const reading = estimate.at(clock.read(sinceMs))
    if (!reading) return
    const errorMs = Math.abs(reading.offsetMs - clock.offsetMs(sinceMs))
    const words = `${errorMs} ms off and ±${reading.boundMs} ms at ${sinceMs} ms, seed ${seed}`
    assert.ok(errorMs <= reading.boundMs, words)
  }

  function pass(ms: number): void {
    for (const endMs = sinceMs + ms; sinceMs < endMs; sinceMs += 250) check()
  }

  function exchange(over: Ways = ways): boolean {
    const { exchange, endsMs } = exchangeAt(clock, sinceMs, over, random)
    sinceMs = endsMs
    const fits = estimate.take(exchange)
    check()
    return fits
  }

  /** Follows the schedule of a window. True if all exchanges were consistent. */
  function follow(ms: number): boolean {
    const startMs = sinceMs
    let fit = true
    while (sinceMs < startMs + ms) {
      fit = exchange() && fit
      pass(exchangePauseMs(sinceMs - startMs, random))
    }
    return fit
  }

  const now = () => estimate.at(clock.read(sinceMs)) ?? assert.fail('nothing is known')
  const errorMs = () => Math.abs(now().offsetMs - clock.offsetMs(sinceMs))
  return { clock, estimate, exchange, follow, pass, now, errorMs, at: () => sinceMs }
}

const fixed = (ms: number): Way => ({ leastMs: ms, spreadMs: 0 })
const wild: Ways = { there: { leastMs: 1, spreadMs: 400 }, back: { leastMs: 1, spreadMs: 400 } }
const lopsided: Ways = { there: fixed(0), back: fixed(0.1) }
const uneven: Ways = { there: { leastMs: 1, spreadMs: 2 }, back: { leastMs: 40, spreadMs: 60 } }

const worlds: Readonly<Record<string, World>> = {
  'right and steady': {},
  '5 s ahead and 200 ppm fast': { aheadMs: 5000, fastPpm: 200 },
  '5 s behind and 200 ppm slow': { aheadMs: -5000, fastPpm: -200 },
  'at the largest allowed drift': { aheadMs: 5000, fastPpm: 499 },
  '200 ppm fast, over paths that are slow in one direction': { aheadMs: 5000, fastPpm: 200, ways: uneven },
  '200 ppm fast, all of the delay on the way there': {
    aheadMs: 5000,
    fastPpm: 200,
    ways: { there: fixed(80), back: fixed(0) },
  },
  '200 ppm fast, over paths of 1 to 400 ms': { aheadMs: 5000, fastPpm: 200, ways: wild },
  'a drift that wanders by 14 ppm in a minute': {
    aheadMs: 5000,
    fastPpm: 200,
    swingPpm: 7,
    ways: lopsided,
  },
  'a drift that wanders by 14 ppm in half an hour': {
    fastPpm: -90,
    swingPpm: 7,
    swingMs: 30 * minuteMs,
    ways: lopsided,
  },
  'a clock that is read in steps of 20 µs over no distance': {
    aheadMs: 5000,
    fastPpm: 200,
    resolutionMs: 0.02,
    ways: { there: fixed(0), back: fixed(0) },
  },
}

for (const [name, world] of Object.entries(worlds)) {
  test(`the truth is within the bound for ten minutes, whatever the seed: ${name}`, () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { follow, pass, now } = live({ ...world, seed })
      assert.equal(follow(10 * minuteMs), true, 'nothing jumped')
      const boundMs = now().boundMs
      pass(minuteMs)
      assert.ok(now().boundMs > boundMs, 'without an exchange for a minute the bound has grown')
    }
  })
}

test('over paths of 5 to 10 ms the estimate comes within 1 ms of a clock 5 s ahead that runs 200 ppm fast', () => {
  for (let seed = 1; seed <= 100; seed += 1) {
    const { follow, exchange, now, errorMs } = live({ aheadMs: 5000, fastPpm: 200, seed })
    follow(10 * minuteMs)
    exchange()
    const { offsetMs, boundMs, driftPpm } = now()
    assert.ok(errorMs() < 1, `${errorMs()} ms off with seed ${seed}`)
    assert.ok(boundMs < 9, `± ${boundMs} ms with seed ${seed}`)
    assert.ok(Math.abs(offsetMs + 5000 + 0.2 * 600) < 5)
    assert.ok(Math.abs(driftPpm + 200) < 5, `${driftPpm} ppm with seed ${seed}`)
  }
})

test('on a fast path the bound falls below 1 ms, and grows little until the next exchange', () => {
  const near: Ways = { there: { leastMs: 0.3, spreadMs: 1 }, back: { leastMs: 0.3, spreadMs: 1 } }
  const { follow, exchange, pass, now } = live({ aheadMs: 5000, fastPpm: 200, ways: near })
  follow(2 * minuteMs)
  exchange()
  assert.ok(now().boundMs < 1, `± ${now().boundMs} ms`)
  pass(15_000)
  assert.ok(now().boundMs < 1.3, `± ${now().boundMs} ms`)
})

test('one exchange gives a bound of half its round trip, without the server’s own time', () => {
  const estimate = createClockEstimate({ resolutionMs: 0 })
  assert.equal(estimate.at(startMs), null)
  const exchange = {
    sentAt: startMs,
    receivedAt: startMs + 5004,
    answeredAt: startMs + 5904,
    returnedAt: startMs + 910,
  }
  assert.equal(estimate.take(exchange), true)
  const { offsetMs, boundMs, exchanges } = estimate.at(startMs + 910) ?? assert.fail('nothing is known')
  // At most 5004 ms when the question left, 910 ms before; at least 4994 ms when the answer
  // arrived.
  assert.ok(Math.abs(offsetMs - 4999) < 1e-3, `${offsetMs} ms`)
  assert.ok(Math.abs(boundMs - 5 - 910 * 507.5e-6) < 1e-3, `± ${boundMs} ms`)
  assert.equal(exchanges, 1)
})

test('slow exchanges do not weaken the result of a fast one', () => {
  const { exchange, now } = live()
  exchange({ there: fixed(0.2), back: fixed(0.2) })
  const { boundMs } = now()
  for (let count = 0; count < 20; count += 1) exchange({ there: fixed(3), back: fixed(20) })
  assert.ok(now().boundMs < boundMs + 0.5)
})

for (const byMs of [3000, -3000, 40, -40]) {
  test(`a clock set by ${byMs} ms is detected: the estimate restarts, and the truth is within the bound at once`, () => {
    const { clock, exchange, follow, now, errorMs } = live({ fastPpm: 200 })
    follow(5 * minuteMs)
    clock.step(byMs)
    assert.equal(exchange(), false)
    assert.equal(now().exchanges, 1)
    follow(10 * minuteMs)
    assert.ok(errorMs() < 1)
  })
}

test('after an hour of sleep the estimate restarts', () => {
  const { clock, pass, exchange, follow, at } = live({ fastPpm: 50 })
  follow(minuteMs)
  const before = at()
  clock.step(-3_600_000)
  assert.equal(exchange(), false)
  pass(minuteMs)
  assert.ok(at() > before)
})

test('a late answer, in a window that was busy for three seconds, changes nothing', () => {
  const { exchange, follow, now } = live({ aheadMs: 5000, fastPpm: 200 })
  follow(2 * minuteMs)
  const { boundMs } = now()
  assert.equal(exchange({ there: fixed(5), back: fixed(3000) }), true)
  assert.ok(now().boundMs < boundMs + 0.5)
})

test('after a clock was set between question and answer nothing is known, and the next exchange starts again', () => {
  const { estimate, exchange, follow, now } = live()
  follow(minuteMs)
  const impossible = {
    sentAt: startMs,
    receivedAt: startMs,
    answeredAt: startMs + 500,
    returnedAt: startMs + 3,
  }
  assert.equal(estimate.take(impossible), false)
  assert.equal(estimate.at(startMs), null)
  assert.equal(exchange(), true)
  assert.equal(now().exchanges, 1)
})

test('the past is bounded too: an earlier timestamp is corrected as well as a current one', () => {
  const { clock, estimate, follow, at } = live({ aheadMs: 5000, fastPpm: 200 })
  follow(5 * minuteMs)
  for (let sinceMs = 0; sinceMs < at(); sinceMs += 1000) {
    const { offsetMs, boundMs } = estimate.at(clock.read(sinceMs)) ?? assert.fail('nothing is known')
    assert.ok(Math.abs(offsetMs - clock.offsetMs(sinceMs)) <= boundMs)
    assert.ok(boundMs < 8, `± ${boundMs} ms at ${sinceMs} ms`)
  }
})

test('drops the slowest exchange beyond the maximum, and old ones in any case', () => {
  const { estimate, exchange, pass, now } = live({ settings: { maxExchanges: 4, keepMs: 30_000 } })
  exchange({ there: fixed(1), back: fixed(1) })
  for (let count = 0; count < 9; count += 1) exchange({ there: fixed(30), back: fixed(30) })
  assert.equal(now().exchanges, 4)
  assert.ok(now().boundMs < 2, 'the fast one is still there')
  pass(31_000)
  exchange({ there: fixed(30), back: fixed(30) })
  assert.equal(now().exchanges, 1)
  estimate.forget()
  assert.equal(estimate.at(startMs), null)
})

/** The offset was between `least` and `most` at that moment of the local clock. */
const limits = (at: number, least: number, most: number): Exchange => ({
  sentAt: at,
  receivedAt: at + most,
  answeredAt: at + least,
  returnedAt: at,
})

function estimateOf(exchanges: readonly Exchange[], settings: Settings = {}) {
  const estimate = createClockEstimate({ resolutionMs: 0, wanderPpm: 0, ...settings })
  const fits = exchanges.map((exchange) => estimate.take(exchange))
  return {
    fits: !fits.includes(false),
    at: (ms: number) => estimate.at(ms) ?? assert.fail('nothing is known'),
  }
}

const near = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`)

/** Offset 100 ± 1 ms at 0 s, 102 ± 1 ms at 10 s. */
const apart = [limits(0, 99, 101), limits(10_000, 101, 103)]

test('a single moment says nothing about the drift', () => {
  const { offsetMs, boundMs, driftPpm } = estimateOf(apart.slice(0, 1)).at(10_000)
  near(driftPpm, 0)
  near(offsetMs, 100)
  near(boundMs, 1 + 5)
})

test('two moments say more the further apart they are; wander widens the range', () => {
  const steady = estimateOf(apart)
  near(steady.at(0).driftPpm, 200)
  // A drift of 0 to 400 ppm: 101 to 107 ms.
  near(steady.at(20_000).offsetMs, 104)
  near(steady.at(20_000).boundMs, 3)
  // A drift of -10 to 410 ppm, and 10 ppm besides: 100.8 to 107.2 ms.
  const wandering = estimateOf(apart, { wanderPpm: 20 })
  near(wandering.at(20_000).offsetMs, 104)
  near(wandering.at(20_000).boundMs, 3.2)
})

test('no drift exceeds its maximum, whatever the moments allow', () => {
  near(estimateOf(apart, { maxDriftPpm: 100 }).at(0).driftPpm, 50)
})

test('a floor above a ceiling, at one moment or further apart than any drift explains, is a jump', () => {
  assert.equal(estimateOf([limits(0, 101, 100)]).fits, false)
  assert.equal(estimateOf([limits(0, 99, 100), limits(1000, 101, 102)]).fits, false)
  assert.equal(estimateOf([limits(0, 99, 100), limits(3000, 101, 102)]).fits, true)
})

test('between, before and after the moments the range is as wide as the drift allows', () => {
  const { at } = estimateOf(apart)
  for (const [ms, offsetMs, boundMs] of [
    [0, 100, 1],
    [5000, 101, 2],
    [20_000, 104, 3],
    [-10_000, 98, 3],
  ] as const) {
    near(at(ms).offsetMs, offsetMs)
    near(at(ms).boundMs, boundMs)
  }
})

test('a clock that drifted by 0.2 ms is off by at most its reading’s bound plus half of that', () => {
  const { offsetMs, boundMs } = combine({ offsetMs: 5, boundMs: 0.01 }, { offsetMs: 5.2, boundMs: 0.02 })
  assert.ok(Math.abs(offsetMs - 5.1) < 1e-9)
  assert.ok(Math.abs(boundMs - 0.12) < 1e-9)
})

function exchangesWithin(ms: number, random: () => number): number {
  let count = 0
  for (let sinceMs = 0; sinceMs <= ms; sinceMs += exchangePauseMs(sinceMs, random)) count += 1
  return count
}

test('makes a handful of exchanges at first, then one every ten to twenty seconds', () => {
  const middle = () => 0.5
  assert.equal(exchangesWithin(2000, middle), 8)
  assert.equal(exchangesWithin(60_000, middle), 23)
  assert.equal(exchangesWithin(3_600_000, middle) - exchangesWithin(60_000, middle), 236)
  assert.deepEqual([exchangePauseMs(600_000, () => 0), exchangePauseMs(600_000, () => 1)], [10_000, 20_000])
})
