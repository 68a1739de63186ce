// Checks the gaps of a replay against clocks that stand, jump and go back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPacing } from './pacing.ts'

const hourMs = 3_600_000

const gapsOf = (times: readonly number[], rateHz = 4) => times.map(createPacing(rateHz))

test('gaps are those of the times, none where the clock went back', () => {
  assert.deepEqual(gapsOf([5000, 5250, 9000, 8000, 8250]), [0, 250, 3750, 0, 250])
})

test('a frame an hour is a pace; over a day, or since 1970, the replay waits no longer than that', () => {
  assert.deepEqual(gapsOf([0, hourMs, 2 * hourMs]), [0, hourMs, hourMs])
  assert.deepEqual(gapsOf([5000, Date.UTC(2026, 4, 2)]), [0, hourMs])
})

test('a second’s worth of frames with one time comes at once', () => {
  assert.deepEqual(gapsOf([0, 0, 0, 0, 1000, 1000, 1000, 1000]), [0, 0, 0, 0, 1000, 0, 0, 0])
  assert.deepEqual(gapsOf([0, 0, 0, 0, 0, 0], 6), [0, 0, 0, 0, 0, 0])
})

test('more of them are spread, and the log takes no longer for it', () => {
  assert.deepEqual(gapsOf([0, 0, 0, 0, 0, 0, 1000], 4), [0, 0, 0, 0, 250, 250, 500])
  const minutes = gapsOf(Array.from({ length: 721 }, (_, i) => 60_000 * Math.floor(i / 240)))
  assert.equal(Math.max(...minutes), 1000)
  assert.equal(
    minutes.reduce((sum, gapMs) => sum + gapMs),
    180_000,
  )
})

test('one time for all lines is none: they come at the rate', () => {
  const gaps = gapsOf(
    Array.from({ length: 100 }, () => 7),
    2,
  )
  assert.deepEqual(gaps, [0, 0, 0, 0, ...Array.from({ length: 96 }, () => 500)])
})
