import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryPauseMs } from './retry-pause.ts'

const pauses = { firstMs: 1000, longestMs: 10_000 }

test('pauses double up to the longest and stay there, however often it fails', () => {
  const longest = [0, 1, 2, 3, 4, 5, 1000, 5000].map((failures) => retryPauseMs(failures, pauses, () => 1))
  assert.deepEqual(longest, [1000, 2000, 4000, 8000, 10_000, 10_000, 10_000, 10_000])
})

test('the jitter is the upper half', () => {
  const spread = [0, 0.5, 1].map((draw) => retryPauseMs(1, pauses, () => draw))
  assert.deepEqual(spread, [1000, 1500, 2000])
})
