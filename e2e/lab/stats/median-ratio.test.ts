// The ratio of medians: its value, its repeatability and its edges.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../../../server/wire/random.ts'
import { medianRatio } from './median-ratio.ts'

const slow = [[4, 6], [8], [2, 10]]
const fast = [[1, 3], [2]]

test('the ratio is that of the medians of all samples', () => {
  assert.equal(medianRatio(slow, fast, { random: createSeededRandom(1) }).ratio, 3)
})

test('the same seed gives the same interval, another seed another', () => {
  const many = Array.from({ length: 30 }, (_, key) => [1 + Math.sqrt(key)])
  const draw = (seed: number) =>
    medianRatio(many, many, { random: createSeededRandom(seed), resamples: 50 }).interval
  assert.deepEqual(draw(1), draw(1))
  assert.notDeepEqual(draw(1), draw(2))
})

test('messages without spread leave no doubt', () => {
  const still = (value: number) => [[value], [value, value]]
  assert.deepEqual(medianRatio(still(3), still(2), { random: createSeededRandom(1) }).interval, [1.5, 1.5])
})

test('a drawn median is the median of what was drawn, however it is counted', () => {
  // Always the first message: every resample is [4, 6, 4, 6, 4, 6] over [1, 3, 1, 3].
  assert.deepEqual(medianRatio(slow, fast, { random: () => 0 }).interval, [2.5, 2.5])
})

test('a group in which nothing arrived is refused', () => {
  assert.throws(() => medianRatio([[]], fast, { random: createSeededRandom(1) }), /No samples/)
})
