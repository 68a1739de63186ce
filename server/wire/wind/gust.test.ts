// Gusts: the highest 3 s mean, and what is none.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGusts } from './gust.ts'
import { createSampling } from './sampling.ts'
import { assertNear, measured, startAt } from './testing.ts'

/** Takes readings in metres per second, `everyMs` apart, and knows the gust as of the last. */
function record() {
  const sampling = createSampling()
  const gusts = createGusts()
  let now = startAt
  return {
    take(speeds: readonly number[], everyMs = 250) {
      for (const speed of speeds) {
        now += everyMs
        const { sample } = sampling.take(measured(speed, 200), now)
        if (sample) gusts.add(sample)
      }
      return gusts.ofTenMinutes(now)
    },
    wait: (ms: number) => {
      now += ms
      return { minute: gusts.ofOneMinute(now), tenMinutes: gusts.ofTenMinutes(now) }
    },
  }
}

const seconds = (count: number, speed: number): number[] => Array.from({ length: count * 4 }, () => speed)

test('there is none before 2.5 s are covered', () => {
  const anemometer = record()
  assert.equal(anemometer.take(seconds(2, 5)), null)
  assert.equal(anemometer.take(seconds(1, 5)), 5)
})

test('three seconds of 11 are a gust of 11; one second of 20 is 3 s of 10', () => {
  const anemometer = record()
  anemometer.take(seconds(10, 5))
  anemometer.take(seconds(3, 11))
  assertNear(anemometer.take(seconds(10, 5)), 11)
  // One second of 20 within 3 s of 5: (20 + 5 + 5) / 3.
  const other = record()
  other.take(seconds(10, 5))
  other.take(seconds(1, 20))
  assertNear(other.take(seconds(10, 5)), 10)
})

test('leaves after ten minutes, and the gust of the last minute after one', () => {
  const anemometer = record()
  anemometer.take(seconds(3, 9))
  anemometer.take(seconds(57, 2))
  assert.equal(anemometer.wait(0).minute, 9)
  const later = anemometer.wait(60_000)
  assert.equal(later.minute, null)
  assert.equal(later.tenMinutes, 9)
  assert.equal(anemometer.wait(600_000).tenMinutes, null)
})

test('one reading a second is enough, one in two seconds too, one in four is not', () => {
  assert.equal(record().take([5, 5, 5, 5], 1000), 5)
  assert.equal(record().take([5, 5, 5], 2000), 5)
  assert.equal(record().take([5, 5, 5, 5, 5], 4000), null)
})

test('a backlog that comes all at once is no gust', () => {
  const anemometer = record()
  anemometer.take(seconds(5, 5))
  anemometer.wait(9000)
  // 36 readings of 9 s within 36 ms, 3 s of 14 among them.
  const backlog = [...seconds(3, 5), ...seconds(3, 14), ...seconds(3, 5)]
  assert.equal(anemometer.take(backlog, 1), 5)
  const after = anemometer.take(seconds(4, 5))
  assert.ok(after !== null && after < 14, `${after}`)
})

test('two readings around a pause are no gust, however long the pause is', () => {
  for (const pauseMs of [2400, 3250, 4000]) {
    const anemometer = record()
    anemometer.take(seconds(10, 3))
    anemometer.take([3], pauseMs)
    anemometer.take([12])
    // The highest that 3 s of whole readings can be: one of 12 among eleven of 3.
    assertNear(anemometer.take(seconds(10, 3)), (12 + 11 * 3) / 12, 0.1)
  }
})

test('a stall whose readings come all at once is no gust of the first two', () => {
  const anemometer = record()
  anemometer.take(seconds(10, 3))
  anemometer.take([12], 4000)
  anemometer.take([12, ...seconds(3, 3)], 0)
  const gust = anemometer.take(seconds(10, 3))
  assert.ok(gust !== null && gust < 4.5, `${gust}`)
})

test('stamps that come in pairs, and a sensor that is set to another rate, keep their gusts', () => {
  const pairs = record()
  for (let pair = 0; pair < 20; pair += 1) {
    pairs.take([7], 450)
    pairs.take([7], 50)
  }
  assertNear(pairs.wait(0).minute, 7)
  const slower = record()
  slower.take(seconds(10, 3))
  assertNear(slower.take([8, 8, 8, 8, 8, 8, 8], 2000), 8)
})
