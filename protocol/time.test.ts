// The seeded generator is repeatable and uniform; retry pauses grow and are jittered; tasks repeat.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from './testing.ts'
import { type Cancel, createSeededRandom, drawNormal, repeat, retryPauseMs } from './time.ts'

const draws = 50_000

function meanAndSd(values: readonly number[]): { mean: number; sd: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  return { mean, sd: Math.sqrt(squares / (values.length - 1)) }
}

test('a seed gives one sequence, another seed another', () => {
  const draw = (seed: number) => Array.from({ length: 5 }, createSeededRandom(seed))
  assert.deepEqual(draw(7), draw(7))
  assert.notDeepEqual(draw(7), draw(8))
})

test('draws are uniform over [0, 1)', () => {
  const drawn = Array.from({ length: draws }, createSeededRandom(3))
  const { mean, sd } = meanAndSd(drawn)
  assert.ok(Math.abs(mean - 0.5) < 0.006)
  assert.ok(Math.abs(sd - Math.sqrt(1 / 12)) < 0.003)
  assert.ok(drawn.every((value) => value >= 0 && value < 1))
})

test('normal draws have mean 0 and standard deviation 1', () => {
  const random = createSeededRandom(4)
  const { mean, sd } = meanAndSd(Array.from({ length: draws }, () => drawNormal(random)))
  assert.ok(Math.abs(mean) < 0.02)
  assert.ok(Math.abs(sd - 1) < 0.015)
})

const pauses = { firstMs: 1000, longestMs: 10_000 }

test('pauses double up to the longest and stay there, however often it fails', () => {
  const longest = [0, 1, 2, 3, 4, 5, 1000, 5000].map((failures) => retryPauseMs(failures, pauses, () => 1))
  assert.deepEqual(longest, [1000, 2000, 4000, 8000, 10_000, 10_000, 10_000, 10_000])
})

test('the jitter affects the upper half', () => {
  const spread = [0, 0.5, 1].map((draw) => retryPauseMs(1, pauses, () => draw))
  assert.deepEqual(spread, [1000, 1500, 2000])
})

test('a repeated task runs after each pause until it is cancelled, even from within', () => {
  const time = createManualTime()
  let runs = 0
  const cancel = repeat(time, () => void runs++, 100)
  time.advance(350)
  cancel()
  time.advance(1000)
  assert.deepEqual([runs, time.pending()], [3, 0])
  const cancelAtOnce: Cancel = repeat(time, () => cancelAtOnce(), 100)
  time.advance(1000)
  assert.equal(time.pending(), 0)
})
