// Checks that pauses grow from half a second to ten seconds and are never outside.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { longestPauseMs, retryPauseMs } from './retry-pause.ts'

test('pauses double, and stop at ten seconds', () => {
  const least = [0, 1, 2, 3, 4, 5, 1000, 5000].map((failures) => retryPauseMs(failures, () => 0))
  assert.deepEqual(least, [500, 1000, 2000, 4000, 5000, 5000, 5000, 5000])
  assert.equal(
    retryPauseMs(4, () => 1),
    longestPauseMs,
  )
})

test('the jitter is the upper half', () => {
  const pauses = [0, 0.5, 1].map((draw) => retryPauseMs(0, () => draw))
  assert.deepEqual(pauses, [500, 750, 1000])
})
