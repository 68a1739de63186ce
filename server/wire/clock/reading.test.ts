import assert from 'node:assert/strict'
import { test } from 'node:test'
import { combine } from './reading.ts'

test('a clock that drifted by 0.2 ms is off by at most its reading’s doubt and half of that', () => {
  const { offsetMs, boundMs } = combine({ offsetMs: 5, boundMs: 0.01 }, { offsetMs: 5.2, boundMs: 0.02 })
  assert.ok(Math.abs(offsetMs - 5.1) < 1e-9)
  assert.ok(Math.abs(boundMs - 0.12) < 1e-9)
})
