// The last hour of wind: bounded, with its gaps, and equal after transfer.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ReadingBody } from './page-messages.ts'
import { type PastWind, readSnapshot, WindHistory } from './wind-history.ts'
import { assertNear, calm, fault, gustyWind, measured, startAt } from './wind-testing.ts'

function recorded(count: number, everyMs: number): WindHistory {
  const history = new WindHistory()
  for (let index = 0; index < count; index += 1)
    history.take(measured(index % 10, 200), startAt + index * everyMs)
  return history
}

function sent(history: WindHistory, faultAt: number | null = null): PastWind {
  return readSnapshot(JSON.parse(JSON.stringify(history.snapshot({ seq: 9, faultAt }))))
}

/** Joins `own` with `past`. */
function again(past: PastWind, own = new WindHistory()): { history: WindHistory; newestAt: number } {
  const steps = own.joinedWith(past)
  let step = steps.next()
  while (!step.done) step = steps.next()
  assert.ok(step.value)
  return step.value
}

/** Seconds after the start at which something starts anew. */
function startsOf(history: WindHistory): number[] {
  return history
    .since(0, 'second')
    .filter(({ startsAnew }) => startsAnew)
    .map(({ firstAt }) => Math.floor((firstAt - startAt) / 1000))
}

describe('stretches', () => {
  test('keeps every reading of the last minute', () => {
    const stretches = recorded(1000, 250).since(startAt + 999 * 250 - 60_000, 'reading')
    assert.equal(stretches.length, 240)
    assert.ok(stretches.every(({ sums }) => sums.count === 1))
    assert.equal(stretches.at(-1)?.lastAt, startAt + 999 * 250)
  })

  test('keeps the last hour by the second', () => {
    const stretches = recorded(8 * 3600, 250).since(startAt + 3_600_000, 'second')
    assert.equal(stretches.length, 3600)
    assert.ok(stretches.slice(1).every(({ sums }) => sums.count === 4))
    const [, second] = stretches
    assert.deepEqual([second?.lowestMetresPerSecond, second?.highestMetresPerSecond], [4, 7])
  })

  test('takes no more room than its limits for 20 readings a second over two hours', () => {
    const history = recorded(20 * 7200, 50)
    assert.ok(history.since(0, 'reading').length <= 1221)
    assert.ok(history.since(0, 'second').length <= 3602)
    assert.equal(history.since(0, 'second')[0]?.firstAt, startAt + 7_200_000 - 3_601_000)
  })

  test('joins, and does not lose, repeats with the same timestamp', () => {
    const [stretch, ...others] = recorded(36, 0).since(0, 'reading')
    assert.equal(stretch?.sums.count, 36)
    assert.deepEqual(others, [])
  })

  test('keeps a gap, even within a second; a joined stretch has the higher gust', () => {
    const history = new WindHistory()
    const steady = (fromMs: number, speed: number) => {
      for (let ms = fromMs; ms < fromMs + 4000; ms += 250) history.take(measured(speed, 90), startAt + ms)
    }
    steady(0, 6)
    history.take(fault, startAt + 4250)
    steady(4500, 4)
    const stretches = history.since(0, 'second')
    assert.deepEqual(startsOf(history), [0, 4])
    assert.equal(stretches[0]?.gustMetresPerSecond, null)
    assertNear(stretches.at(-1)?.gustMetresPerSecond, 6)
    assert.deepEqual(
      history
        .since(startAt + 3900, 'reading')
        .map(({ startsAnew }) => startsAnew)
        .slice(0, 2),
      [true, false],
    )
  })
})

describe('figures', () => {
  test('a silent sensor’s figures expire with their period', () => {
    const history = new WindHistory()
    for (let index = 0; index < 40; index += 1) history.take(measured(6, 90), startAt + index * 250)
    const later = history.figures(startAt + 200_000)
    assert.equal(later.spread, null)
    assertNear(later.tenMinutes?.speedMetresPerSecond, 6)
    assert.equal(history.figures(startAt + 700_000).tenMinutes, null)
  })
})

describe('an hour at 4 Hz after transfer', () => {
  const first = new WindHistory()
  let now = startAt
  for (const { reading, at } of gustyWind(3700, 4)) now = first.take(reading, at)
  const { history: second, newestAt } = again(sent(first))

  test('has the same figures', () => {
    const had = first.figures(now)
    const has = second.figures(newestAt)
    assertNear(has.tenMinutes?.speedMetresPerSecond, had.tenMinutes?.speedMetresPerSecond ?? 0, 0.03)
    assertNear(has.tenMinutes?.directionDegrees, had.tenMinutes?.directionDegrees ?? 0, 0.3)
    assertNear(has.tenMinutes?.coversMs, had.tenMinutes?.coversMs ?? 0, 2500)
    assertNear(has.gustMetresPerSecond, had.gustMetresPerSecond ?? 0, 0.15)
    assertNear(has.spread?.deviationDegrees, had.spread?.deviationDegrees ?? 0, 0.3)
  })

  test('has the same stretches, by the second and in full', () => {
    for (const [grain, spanMs, least] of [
      ['second', 3_599_000, 3599],
      ['reading', 59_000, 235],
    ] as const) {
      const since = now - spanMs
      const had = first.since(since, grain)
      const has = second.since(since, grain)
      assert.ok(has.length >= least && Math.abs(has.length - had.length) <= 1, `${has.length}, ${had.length}`)
      for (const [place, stretch] of has.toReversed().slice(0, had.length).entries()) {
        const was = had.at(-1 - place)
        assert.equal(stretch.sums.count, was?.sums.count)
        assertNear(stretch.sums.speed, was?.sums.speed ?? 0, 0.05)
        assertNear(stretch.lowestMetresPerSecond, was?.lowestMetresPerSecond ?? 0, 0.006)
        assertNear(stretch.highestMetresPerSecond, was?.highestMetresPerSecond ?? 0, 0.006)
      }
    }
  })

  test('has gusts like the original ones', () => {
    const gusts = (history: WindHistory) =>
      history.since(now - 3_000_000, 'second').map(({ gustMetresPerSecond }) => gustMetresPerSecond ?? 0)
    const had = gusts(first)
    const has = gusts(second)
    const apart = has.map((gust, place) => Math.abs(gust - (had[place] ?? 0)))
    assert.ok(apart.reduce((sum, gap) => sum + gap) / apart.length < 0.05)
  })
})

describe('gaps after transfer', () => {
  const breeze = measured(3, 200)

  function told(readings: readonly (readonly [ReadingBody, number])[], faultAt: number | null = null) {
    const own = new WindHistory()
    for (const [reading, seconds] of readings) own.take(reading, startAt + seconds * 1000)
    const { history, newestAt } = again(sent(own, faultAt))
    return { starts: startsOf(history), newestAt }
  }

  test('an outage remains one, long ago and in the last minute, and slow readings have none', () => {
    const { starts } = told([0, 4, 8, 13.1, 17, 100, 104, 108.9, 114].map((at) => [breeze, at]))
    assert.deepEqual(starts, [0, 13, 100, 114])
  })

  test('a fault remains a gap, and one at the end separates the next reading', () => {
    const faultAt = startAt + 3000
    const readings = [breeze, fault, breeze, fault].map((reading, at) => [reading, at] as const)
    assert.deepEqual(told(readings, faultAt), { starts: [0, 2], newestAt: faultAt })
  })

  test('a calm has no direction', () => {
    const history = new WindHistory()
    for (const at of [0, 1, 2, 90]) history.take(calm(0.02), startAt + at * 1000)
    history.take(measured(2, 180), startAt + 91_000)
    assert.deepEqual(
      sent(history).entries.map(({ directionDegrees }) => directionDegrees),
      [null, null, null, null, 180],
    )
  })
})

describe('joined with what it has already', () => {
  /** One reading per second, the last included. */
  function between(first: number, last: number): WindHistory {
    const history = new WindHistory()
    for (let at = first; at <= last; at += 1) history.take(measured(5, 90), startAt + at * 1000)
    return history
  }
  const seconds = (history: WindHistory) =>
    history
      .since(0, 'second')
      .map(({ firstAt, sums }) => [Math.floor((firstAt - startAt) / 1000), sums.count])

  test('repeats nothing, misses nothing, and the start of the received part is not a gap', () => {
    const { history } = again(sent(between(100, 300)), between(0, 200))
    assert.deepEqual(
      seconds(history),
      Array.from({ length: 301 }, (_nothing, at) => [at, 1]),
    )
    assert.deepEqual(startsOf(history), [0])
  })

  test('a period that neither has remains a gap', () => {
    const { history } = again(sent(between(20, 30)), between(0, 10))
    assert.deepEqual(startsOf(history), [0, 20])
  })

  test('an empty snapshot changes nothing', () => {
    const own = between(0, 5)
    const { history } = again(sent(new WindHistory()), own)
    assert.deepEqual(seconds(history), seconds(own))
  })
})

describe('an invalid snapshot is refused', () => {
  const empty = new WindHistory().snapshot({ seq: 9, faultAt: null })
  const columns = {
    after: [5],
    count: [4],
    speed: [300],
    lowest: [300],
    highest: [300],
    direction: [0],
    gaps: [],
  }
  const cases: readonly (readonly [string, unknown])[] = [
    ['text', 'x'],
    ['nothing', null],
    ['no number', { ...empty, seq: '9' }],
    ['columns that are none', { ...empty, full: null }],
    ['a column that is none', { ...empty, full: { ...columns, lowest: { length: 1 } } }],
    ['a value that is none', { ...empty, full: { ...columns, lowest: [null] } }],
    ['columns of other lengths', { ...empty, full: { ...columns, lowest: [300, 300] } }],
    ['more entries than there are seconds', { ...empty, full: { ...columns, after: Array(10_001).fill(1) } }],
    ['half a reading', { ...empty, full: { ...columns, count: [0.5] } }],
    ['more readings than any sensor sends', { ...empty, full: { ...columns, count: [1e9] } }],
    ['a speed below nothing', { ...empty, full: { ...columns, lowest: [-300] } }],
    ['a speed above all', { ...empty, full: { ...columns, highest: [100_001] } }],
  ]
  test('but for one that is', () => {
    assert.equal(readSnapshot({ ...empty, full: columns }).entries.length, 1)
    assert.deepEqual(readSnapshot(empty), { seq: 9, faultAt: null, entries: [] })
  })
  for (const [what, given] of cases)
    test(what, () => {
      assert.throws(() => readSnapshot(given), /TypeError|RangeError/)
    })
})
