// Yamartino's estimate, worked out by hand, and beside the two-pass figure it stands for.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom, drawNormal } from '../random.ts'
import { spreadOf } from './spread.ts'
import { addSums, sumsOf } from './sums.ts'
import { assertNear, sampleOf } from './testing.ts'

function spread(...directions: (number | null)[]) {
  return spreadOf(directions.map((degrees) => sumsOf(sampleOf(5, degrees))).reduce(addSums))
}

test('a steady wind has none', () => {
  assertNear(spread(200, 200, 200)?.deviationDegrees, 0, 1e-5)
})

test('ten degrees to either side of north', () => {
  const result = spread(350, 10)
  assert.ok(result)
  assertNear(Math.min(result.directionDegrees, 360 - result.directionDegrees), 0)
  // epsilon is sin 10°, so 10° times 1 + 0.1547 × 0.17365³.
  assertNear(result.deviationDegrees, 10.0081, 1e-4)
})

test('a right angle', () => {
  const result = spread(0, 90)
  assertNear(result?.directionDegrees, 45)
  // epsilon is √½: 45° times 1 + 0.1547 × 0.35355.
  assertNear(result?.deviationDegrees, 47.4613, 1e-4)
})

test('all round is as far as it goes', () => {
  assertNear(spread(0, 90, 180, 270)?.deviationDegrees, 103.923, 1e-3)
})

test('one direction is no spread, and calms have none', () => {
  assert.equal(spread(90), null)
  assert.equal(spread(90, null, null), null)
})

test('within 2 % of the standard deviation for winds as they are', () => {
  for (const deviation of [5, 15, 30]) {
    const random = createSeededRandom(deviation)
    const directions = Array.from({ length: 20_000 }, () => deviation * drawNormal(random))
    const twoPass = Math.sqrt(directions.reduce((sum, degrees) => sum + degrees ** 2, 0) / directions.length)
    assertNear(
      spread(...directions.map((degrees) => degrees + 360))?.deviationDegrees,
      twoPass,
      twoPass * 0.02,
    )
  }
})
