// Checks what counts as received, lost, duplicated and reordered.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTallying } from './tally.ts'

const interval = { first: 10, count: 3, startAt: 1000, intervalMs: 100 }

test('a message is late from the moment it was due', () => {
  const tallying = createTallying(1, interval, () => undefined)
  tallying.take(0, 10, 1004)
  tallying.take(0, 12, 1250)
  assert.deepEqual([...tallying.result().latenciesMs], [4, 50])
})

test('copies and messages out of order are counted, those of the warm-up are not', () => {
  const tallying = createTallying(2, interval, () => undefined)
  for (const mark of [9, 10, 12, 11, 12, 13]) tallying.take(1, mark, 2000)
  const { received, duplicated, reordered } = tallying.result()
  assert.deepEqual({ received, duplicated, reordered }, { received: 3, duplicated: 1, reordered: 1 })
})

test('it is complete when every window has every message, and not before', () => {
  let completed = 0
  const tallying = createTallying(2, interval, () => {
    completed += 1
  })
  for (const window of [0, 1])
    for (const mark of [10, 11, 12]) {
      assert.equal(tallying.isComplete(), false)
      tallying.take(window, mark, 2000)
    }
  assert.equal(tallying.isComplete(), true)
  tallying.take(1, 12, 2001)
  assert.equal(completed, 1)
})
