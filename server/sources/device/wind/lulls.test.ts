// Checks how often and how long the wind drops.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../../../wire/random.ts'
import { createLulls } from './lulls.ts'

test('it begins blowing, drops and rises within five seconds, and lulls for its share of the time', () => {
  const next = createLulls(createSeededRandom(3), { everySeconds: 60, lastSeconds: 30 })
  const shares = Array.from({ length: 400_000 }, () => next(0.25))
  assert.equal(shares[0], 1)
  assert.ok(shares.every((share) => share >= 0 && share <= 1))
  assert.ok(shares.every((share, i) => Math.abs(share - (shares[i - 1] ?? 1)) <= 0.0501))
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length
  assert.ok(Math.abs(mean - 2 / 3) < 0.03, `blows ${mean} of the time`)
})

test('its share is the same in long steps', () => {
  const next = createLulls(createSeededRandom(4), { everySeconds: 600, lastSeconds: 300 })
  const shares = Array.from({ length: 40_000 }, () => next(10))
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length
  assert.ok(Math.abs(mean - 2 / 3) < 0.03, `blows ${mean} of the time`)
})
