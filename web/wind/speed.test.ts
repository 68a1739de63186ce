// Speeds as they are shown.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quantity } from './speed.ts'

test('rounds to tenths and names the unit', () => {
  assert.deepEqual(quantity(2.74, 'M'), { number: '2.7', unit: 'm/s', spokenUnit: 'metres per second' })
  assert.equal(quantity(5.33, 'N').unit, 'kn')
  assert.equal(quantity(0, 'K').number, '0.0')
})

test('feet per minute are large, so they are whole', () => {
  assert.equal(quantity(11811.02, 'F').number, '11811')
})
