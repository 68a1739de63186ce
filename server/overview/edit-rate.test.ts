// Edits a minute, second by second.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEditRate } from './edit-rate.ts'

const startAt = 1_700_000_000_000
const total = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0)

test('nothing was edited', () => {
  assert.deepEqual(createEditRate().eachSecond(startAt), new Array(60).fill(0))
})

test('an edit counts for a minute, and moves back by a place a second', () => {
  const rate = createEditRate()
  rate.add(startAt + 400)
  rate.add(startAt + 999)
  for (const second of [0, 1, 30, 59]) {
    const counts = rate.eachSecond(startAt + second * 1000)
    assert.equal(counts.length, 60)
    assert.deepEqual([counts.at(-1 - second), total(counts)], [2, 2])
  }
  assert.equal(total(rate.eachSecond(startAt + 60_000)), 0)
})

test('a second after the other', () => {
  const rate = createEditRate()
  for (let ms = 0; ms < 90_000; ms += 250) rate.add(startAt + ms)
  assert.deepEqual(rate.eachSecond(startAt + 89_999), new Array(60).fill(4))
})

test('after a long time nothing is left, and it goes on', () => {
  const rate = createEditRate()
  rate.add(startAt)
  rate.add(startAt + 1_000_000_000)
  assert.equal(total(rate.eachSecond(startAt + 1_000_000_000)), 1)
})
