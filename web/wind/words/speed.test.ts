// Speeds as they are shown.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quantity, quantityIn } from './speed.ts'

test('rounds to tenths and names the unit', () => {
  assert.deepEqual(quantity(2.74, 'M'), { number: '2.7', unit: 'm/s', spokenUnit: 'metres per second' })
  assert.equal(quantity(5.33, 'N').unit, 'kn')
  assert.equal(quantity(0, 'K').number, '0.0')
})

test('feet per minute are large, so they are whole', () => {
  assert.equal(quantity(11811.02, 'F').number, '11811')
})

test('10 m/s in every unit', () => {
  const shown = (['M', 'N', 'P', 'K', 'F'] as const).map((unit) => {
    const { number, unit: symbol } = quantityIn(unit, 10)
    return `${number} ${symbol}`
  })
  assert.deepEqual(shown, ['10.0 m/s', '19.4 kn', '22.4 mph', '36.0 km/h', '1969 ft/min'])
})
