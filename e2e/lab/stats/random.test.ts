// The seeded generator repeats itself and is even.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalDraw, seededRandom } from './random.ts'
import { summarise } from './summary.ts'

test('a seed gives one sequence, another seed another', () => {
  const draw = (seed: number) => Array.from({ length: 5 }, seededRandom(seed))
  assert.deepEqual(draw(7), draw(7))
  assert.notDeepEqual(draw(7), draw(8))
})

test('draws are even over [0, 1)', () => {
  const { mean, sd, min, max } = summarise(Array.from({ length: 50_000 }, seededRandom(3)))
  assert.ok(Math.abs(mean - 0.5) < 0.006)
  assert.ok(Math.abs(sd - Math.sqrt(1 / 12)) < 0.003)
  assert.ok(min >= 0 && max < 1)
})

test('normal draws have mean 0 and standard deviation 1', () => {
  const random = seededRandom(4)
  const { mean, sd } = summarise(Array.from({ length: 50_000 }, () => normalDraw(random)))
  assert.ok(Math.abs(mean) < 0.02)
  assert.ok(Math.abs(sd - 1) < 0.015)
})
