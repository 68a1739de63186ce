// Ages in words, at the borders.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ageWords, isStale } from './age.ts'

test('a live reading does not flicker', () => {
  for (const ageMs of [-20, 0, 240, 999, 4999]) assert.equal(ageWords(ageMs), 'just now')
})

test('is stale after five seconds, and says how old', () => {
  assert.equal(isStale(4999), false)
  assert.equal(isStale(5000), true)
  assert.equal(ageWords(5000), '5 s ago')
  assert.equal(ageWords(59_999), '59 s ago')
  assert.equal(ageWords(60_000), '1 min ago')
  assert.equal(ageWords(3_600_000), '1 h ago')
  assert.equal(ageWords(90_000_000), 'more than a day ago')
})
