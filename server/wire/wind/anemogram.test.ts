// An hour of wind on its way: comes out as it went in, fits what is there already, and is small.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createSeededRandom } from '../random.ts'
import type { ReadingBody } from '../reading.ts'
import { anemogramOf, type PastWind, readAnemogram } from './anemogram.ts'
import { type Anemograph, createAnemograph } from './anemograph.ts'
import { retake } from './retake.ts'
import { assertNear, calm, fault, measured, startAt } from './testing.ts'
import { joinTraces, type Trace } from './trace.ts'

const newest = { seq: 9, faultAt: null }

function sent(history: Anemograph['history'], faultAt: number | null = null): PastWind {
  return readAnemogram(JSON.parse(JSON.stringify(anemogramOf(history, { seq: 9, faultAt }))))
}

function again(trace: Trace, faultAt: number | null = null): Anemograph & { newestAt: number | null } {
  const anemograph = createAnemograph()
  const steps = retake(anemograph, trace, faultAt)
  let step = steps.next()
  while (!step.done) step = steps.next()
  return { ...anemograph, newestAt: step.value }
}

/** Readings that swing about 9 m/s and 350 degrees as a gusty wind's do, stamped by a clock with fractions. */
function blow(anemograph: Anemograph, seconds: number, rateHz: number, from = startAt): number {
  const random = createSeededRandom(5)
  let [speed, direction, at] = [9, 350, from]
  for (let count = 0; count < seconds * rateHz; count += 1) {
    speed = Math.max(0.4, speed + 0.1 * (9 - speed) + 1.6 * (random() - 0.5))
    direction += 0.1 * (350 - direction) + 20 * (random() - 0.5)
    at = from + (count * 1000) / rateHz + 3 * random()
    anemograph.take(measured(Math.round(speed * 100) / 100, Math.round(direction + 360) % 360), at)
  }
  return at
}

describe('an hour at 4 Hz', () => {
  const first = createAnemograph()
  const now = blow(first, 3700, 4)
  const second = again(sent(first.history).trace)

  test('has the same figures', () => {
    const [had, has] = [first.figures(now), second.figures(second.newestAt ?? 0)]
    for (const mean of ['twoMinutes', 'tenMinutes'] as const) {
      assertNear(has[mean]?.speedMetresPerSecond, had[mean]?.speedMetresPerSecond ?? 0, 0.03)
      assertNear(has[mean]?.directionDegrees, had[mean]?.directionDegrees ?? 0, 0.3)
      assertNear(has[mean]?.coversMs, had[mean]?.coversMs ?? 0, 2500)
    }
    assertNear(has.gustMetresPerSecond, had.gustMetresPerSecond ?? 0, 0.15)
    assertNear(has.spread?.deviationDegrees, had.spread?.deviationDegrees ?? 0, 0.3)
  })

  test('has the same history, by the second and in full', () => {
    for (const [isFull, least] of [
      [false, 3599],
      [true, 235],
    ] as const) {
      const since = now - (isFull ? 59_000 : 3_599_000)
      const [had, has] = [first.history.since(since, isFull), second.history.since(since, isFull)]
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

  test('has gusts like those that were', () => {
    const gusts = (anemograph: Anemograph) =>
      anemograph.history
        .since(now - 3_000_000, false)
        .map(({ gustMetresPerSecond }) => gustMetresPerSecond ?? 0)
    const [had, has] = [gusts(first), gusts(second)]
    const apart = has.map((gust, place) => Math.abs(gust - (had[place] ?? 0)))
    assert.ok(apart.reduce((sum, gap) => sum + gap) / apart.length < 0.05)
  })
})

describe('its size', () => {
  for (const [rateHz, most] of [
    [4, 60_000],
    [20, 72_000],
    [0.25, 20_000],
  ] as const)
    test(`a full hour at ${rateHz} Hz takes less than ${most} bytes`, (t) => {
      const anemograph = createAnemograph()
      blow(anemograph, 3700, rateHz)
      const { length } = JSON.stringify(anemogramOf(anemograph.history, newest))
      t.diagnostic(`${length} bytes`)
      assert.ok(length < most && length > most / 10, `${length} bytes`)
    })
})

describe('what parts readings', () => {
  function startsOf(readings: readonly (readonly [ReadingBody, number])[], faultAt: number | null = null) {
    const anemograph = createAnemograph()
    for (const [reading, seconds] of readings) anemograph.take(reading, startAt + seconds * 1000)
    const { history, newestAt } = again(sent(anemograph.history, faultAt).trace, faultAt)
    const starts = history
      .since(0, false)
      .filter(({ startsAnew }) => startsAnew)
      .map(({ firstAt }) => Math.floor((firstAt - startAt) / 1000))
    return { starts, newestAt }
  }
  const breeze = measured(3, 200)

  test('an outage stays one, long ago and in the last minute, and slow readings have none', () => {
    const { starts } = startsOf([0, 4, 8, 13.1, 17, 100, 104, 108.9, 114].map((at) => [breeze, at]))
    assert.deepEqual(starts, [0, 13, 100, 114])
  })

  test('a fault stays a gap, and one at the end parts what comes', () => {
    const faultAt = startAt + 3000
    const told = startsOf(
      [
        [breeze, 0],
        [fault, 1],
        [breeze, 2],
        [fault, 3],
      ],
      faultAt,
    )
    assert.deepEqual(told, { starts: [0, 2], newestAt: faultAt })
  })

  test('a calm has no direction', () => {
    const anemograph = createAnemograph()
    for (const at of [0, 1, 2, 90]) anemograph.take(calm(0.02), startAt + at * 1000)
    anemograph.take(measured(2, 180), startAt + 91_000)
    const { trace } = sent(anemograph.history)
    assert.deepEqual(
      trace.map(({ directionDegrees }) => directionDegrees),
      [null, null, null, null, 180],
    )
  })
})

describe('beneath what is there already', () => {
  const seconds = (trace: Trace) => trace.map(({ fromAt }) => (fromAt - startAt) / 1000)
  const from = (first: number, last: number) => {
    const anemograph = createAnemograph()
    for (let at = first; at <= last; at += 1) anemograph.take(measured(5, 90), startAt + at * 1000)
    return sent(anemograph.history).trace
  }

  test('nothing is there twice, nothing is missing, and the beginning of theirs is no gap', () => {
    const joined = joinTraces(from(0, 200), from(100, 300))
    assert.deepEqual(
      seconds(joined),
      Array.from({ length: 301 }, (_nothing, at) => at),
    )
    assert.equal(joined.filter(({ startsAnew }) => startsAnew).length, 1)
  })

  test('a time that neither has stays a gap', () => {
    const { history } = again(joinTraces(from(0, 10), from(20, 30)))
    const starts = history.since(0, true).filter(({ startsAnew }) => startsAnew)
    assert.deepEqual(
      starts.map(({ firstAt }) => (firstAt - startAt) / 1000),
      [0, 20],
    )
  })

  test('none of theirs leaves all as it was', () => {
    const own = from(0, 5)
    assert.equal(joinTraces(own, []), own)
  })
})

describe('what is no anemogram is refused', () => {
  const empty = anemogramOf(createAnemograph().history, newest)
  const strip = {
    ...empty.seconds,
    after: [5, 1],
    count: [4, 1],
    faster: [300],
    below: [0],
    above: [0],
    turn: [0],
  }
  const cases: readonly (readonly [string, unknown])[] = [
    ['text', 'x'],
    ['nothing', null],
    ['no number', { ...empty, seq: '9' }],
    ['a strip that is none', { ...empty, full: null }],
    ['a column that is none', { ...empty, full: { ...strip, below: { length: 1 } } }],
    ['a value that is none', { ...empty, full: { ...strip, below: [null] } }],
    ['columns of other lengths', { ...empty, full: { ...strip, below: [0, 0] } }],
    ['more marks than there are seconds', { ...empty, full: { ...strip, after: [1, 1e9] } }],
    ['half a reading', { ...empty, full: { ...strip, count: [0.5, 1] } }],
    ['a speed below nothing', { ...empty, full: { ...strip, faster: [-300] } }],
  ]
  test('but for one that is', () => {
    assert.equal(readAnemogram({ ...empty, full: strip }).trace.length, 1)
    assert.deepEqual(readAnemogram(empty), { seq: 9, faultAt: null, trace: [] })
  })
  for (const [what, given] of cases)
    test(what, () => {
      assert.throws(() => readAnemogram(given), /TypeError|RangeError/)
    })
})
