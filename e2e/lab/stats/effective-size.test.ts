// Series whose memory is known by theory: independent ones, autoregressive ones, and one that takes turns.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom, drawNormal, type Random } from '../../../server/wire/random.ts'
import { autocovariances, effectiveSize } from './effective-size.ts'
import { autoregressive } from './made-series.ts'
import { mean } from './summary.ts'

function meanSize(trials: number, draw: (random: Random) => readonly number[]): number {
  const random = createSeededRandom(5)
  return mean(Array.from({ length: trials }, () => effectiveSize(draw(random))))
}

test('autocovariances by hand', () => {
  assert.deepEqual(autocovariances([1, 2, 3, 4], 2), [1.25, 0.3125, -0.375])
})

test('independent values all count', () => {
  const size = meanSize(200, (random) => Array.from({ length: 1200 }, () => drawNormal(random)))
  assert.ok(size > 1100 && size <= 1200, `${size}`)
})

for (const kept of [0.3, 0.7, 0.9]) {
  test(`of 1,200 values that keep ${kept} of the one before, (1 − φ)/(1 + φ) count`, () => {
    const size = meanSize(300, (random) => autoregressive(1200, kept, random))
    const expected = (1200 * (1 - kept)) / (1 + kept)
    assert.ok(Math.abs(size / expected - 1) <= 0.15, `${size} is not ${expected} ± 15 %`)
  })
}

test('values that take turns around their mean do not count for more than they are', () => {
  const random = createSeededRandom(6)
  const turns = Array.from({ length: 500 }, (_, place) => (place % 2) + 0.01 * drawNormal(random))
  assert.equal(effectiveSize(turns), 500)
})

test('what has no spread, or hardly any values, is taken for what it is', () => {
  assert.equal(effectiveSize([3, 3, 3, 3, 3, 3]), 6)
  for (const values of [[], [1], [1, 2], [1, 2, 4, 8, 16, 32, 64]])
    assert.equal(effectiveSize(values), values.length)
})
