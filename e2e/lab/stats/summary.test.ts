// Figures of a list against values that R gives.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quantile, standardDeviation, summarise } from './summary.ts'

test('a list is summed up as R sums it up', () => {
  const figures = summarise([10, 3, 5, 1, 8, 2, 7, 4, 9, 6])
  assert.deepEqual(
    { n: figures.n, mean: figures.mean, p50: figures.p50, min: figures.min, max: figures.max },
    { n: 10, mean: 5.5, p50: 5.5, min: 1, max: 10 },
  )
  // R: sd(1:10); quantile(1:10, c(.95, .99), type = 7).
  assert.ok(Math.abs(figures.sd - 3.02765) < 1e-5)
  assert.ok(Math.abs(figures.p95 - 9.55) < 1e-12)
  assert.ok(Math.abs(figures.p99 - 9.91) < 1e-12)
})

test('an epoch in milliseconds does not swallow the spread', () => {
  const epochMs = 1_778_578_200_000
  assert.equal(standardDeviation([epochMs, epochMs + 1, epochMs + 2]), 1)
})

test('one value has a mean and no spread', () => {
  const figures = summarise([7])
  assert.equal(figures.p99, 7)
  assert.ok(Number.isNaN(figures.sd))
})

test('an empty list and an impossible quantile are refused', () => {
  assert.throws(() => summarise([]), /No values/)
  assert.throws(() => quantile([1, 2], 95), /from 0 to 1; got 95/)
})
