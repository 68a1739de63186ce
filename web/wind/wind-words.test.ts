// Directions, speeds, ages and faults in words, at their boundaries.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  beaufort,
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
  for (const ageMs of [-20, 0, 240, 4999]) assert.equal(isStale(ageMs), false)
  assert.equal(isStale(5000), true)
})

test('times are in the largest whole unit', () => {
  assert.deepEqual([5000, 59_999, 60_000, 3_600_000, 90_000_000, 604_800_000].map(formatTime), [
    '5 s',
    '59 s',
    '1 min',
    '1 h',
    '25 h',
    '7 d',
  ])
})

test('the forces of the Beaufort scale begin at their tenths', () => {
  const lowest = [0.3, 1.6, 3.4, 5.5, 8, 10.8, 13.9, 17.2, 20.8, 24.5, 28.5, 32.7]
  assert.deepEqual(
    lowest.flatMap((speed) => [beaufort(speed - 0.06).force, beaufort(speed).force]),
    lowest.flatMap((_, index) => [index, index + 1]),
  )
  assert.deepEqual(beaufort(0), { force: 0, name: 'Calm' })
  assert.deepEqual(beaufort(60), { force: 12, name: 'Hurricane' })
  // 3.3 and 3.4 m/s are the ends of two forces: what lies between belongs to the nearer.
  assert.deepEqual(
    [3.34, 3.36].map((speed) => beaufort(speed).name),
    ['Light breeze', 'Gentle breeze'],
  )
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
