// Directions, speeds, ages and faults in words, at their boundaries.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  beaufortName,
  compassLetters,
  compassPoint,
  faultSentence,
  formatTime,
  isStale,
  quantityIn,
  wholeDegrees,
} from './wind-words.ts'

test('names the nearest compass point', () => {
  assert.equal(compassPoint(0), 'north')
  assert.equal(compassPoint(90), 'east')
  assert.equal(compassPoint(225), 'south-west')
  assert.equal(compassPoint(337), 'north-north-west')
})

test('changes halfway between two points, including north', () => {
  assert.equal(compassPoint(11), 'north')
  assert.equal(compassPoint(12), 'north-north-east')
  assert.equal(compassPoint(348), 'north-north-west')
  assert.equal(compassPoint(349), 'north')
  assert.equal(compassPoint(359), 'north')
})

test('letters match the words', () => {
  assert.deepEqual([0, 45, 202, 337].map(compassLetters), ['N', 'NE', 'SSW', 'NNW'])
})

test('degrees are rounded within the circle', () => {
  assert.deepEqual([0.4, 359.4, 359.6, 228.5].map(wholeDegrees), [0, 359, 0, 229])
})

test('rounds to tenths and names the unit', () => {
  assert.deepEqual(quantityIn('M', 2.74), { number: '2.7', unit: 'm/s', spokenUnit: 'metres per second' })
  assert.equal(quantityIn('N', 2.74).unit, 'kn')
  assert.equal(quantityIn('K', 0).number, '0.0')
})

test('feet per minute are large, so they are whole numbers', () => {
  assert.equal(quantityIn('F', 60).number, '11811')
})

test('10 m/s in every unit', () => {
  const shown = (['M', 'N', 'P', 'K', 'F'] as const).map((unit) => {
    const { number, unit: symbol } = quantityIn(unit, 10)
    return `${number} ${symbol}`
  })
  assert.deepEqual(shown, ['10.0 m/s', '19.4 kn', '22.4 mph', '36.0 km/h', '1969 ft/min'])
})

test('a reading is stale after five seconds', () => {
  assert.equal(isStale(4999), false)
  assert.equal(isStale(5000), true)
})

test('tells a time in its largest whole unit', () => {
  assert.deepEqual([5000, 59_999, 60_000, 3_600_000, 90_000_000].map(formatTime), [
    '5 s',
    '59 s',
    '1 min',
    '1 h',
    'more than a day',
  ])
})

test('names the wind by the Beaufort scale, at its limits', () => {
  assert.deepEqual([0, 0.29, 0.3, 5.4, 5.5, 32.6, 32.7].map(beaufortName), [
    'Calm',
    'Calm',
    'Light air',
    'Gentle breeze',
    'Moderate breeze',
    'Violent storm',
    'Hurricane',
  ])
})

test('names the faulty axis', () => {
  assert.match(faultSentence('01'), /U axis.*status 01/)
  assert.match(faultSentence('02'), /V axis.*status 02/)
  assert.match(faultSentence('04'), /both.*axes.*status 04/)
  assert.match(faultSentence('V'), /invalid.*status V/)
})

test('a code that is not in the manual is reported as it is', () => {
  assert.equal(faultSentence('77'), 'The sensor reports a fault, status 77.')
  assert.equal(faultSentence('toString'), 'The sensor reports a fault, status toString.')
})
