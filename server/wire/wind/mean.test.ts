// Mean winds, worked out by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meanOf } from './mean.ts'
import { addSums, sumsOf } from './sums.ts'
import { assertNear, sampleOf } from './testing.ts'

function meanWind(...winds: (readonly [speed: number, degrees: number | null])[]) {
  return meanOf(winds.map(([speed, degrees]) => sumsOf(sampleOf(speed, degrees))).reduce(addSums))
}

test('north is between 359 and 1, whichever comes first', () => {
  for (const [one, other] of [
    [359, 1],
    [1, 359],
  ] as const) {
    const { directionDegrees } = meanWind([5, one], [5, other])
    assert.ok(directionDegrees !== null)
    assertNear(Math.min(directionDegrees, 360 - directionDegrees), 0)
  }
})

test('speed is averaged as a number, direction as a vector', () => {
  const mean = meanWind([10, 0], [10, 90])
  assertNear(mean.speedMetresPerSecond, 10)
  assertNear(mean.vectorMetresPerSecond, Math.sqrt(50))
  assertNear(mean.directionDegrees, 45)
})

test('a direction counts by its speed: 3 m/s from north and 4 from east', () => {
  const mean = meanWind([3, 0], [4, 90])
  assertNear(mean.speedMetresPerSecond, 3.5)
  assertNear(mean.vectorMetresPerSecond, 2.5)
  assertNear(mean.directionDegrees, 53.13010235415598)
})

test('a calm counts with its speed and no direction', () => {
  const mean = meanWind([4, 180], [0.02, null])
  assertNear(mean.speedMetresPerSecond, 2.01)
  assertNear(mean.directionDegrees, 180)
})

test('calm alone, and winds that cancel out, come from nowhere', () => {
  assert.equal(meanWind([0.02, null], [0, null]).directionDegrees, null)
  const opposite = meanWind([6, 20], [6, 200])
  assert.equal(opposite.directionDegrees, null)
  assertNear(opposite.speedMetresPerSecond, 6)
})
