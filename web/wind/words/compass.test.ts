// Compass points at their middles and borders, and turns across north.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compassLetters, compassPoint, shortWay, wholeDegrees } from './compass.ts'

test('names the point a direction is nearest to', () => {
  assert.equal(compassPoint(0), 'north')
  assert.equal(compassPoint(90), 'east')
  assert.equal(compassPoint(225), 'south-west')
  assert.equal(compassPoint(337), 'north-north-west')
})

test('changes halfway between two points, north included', () => {
  assert.equal(compassPoint(11), 'north')
  assert.equal(compassPoint(12), 'north-north-east')
  assert.equal(compassPoint(348), 'north-north-west')
  assert.equal(compassPoint(349), 'north')
  assert.equal(compassPoint(359), 'north')
})

test('letters are those of the words', () => {
  assert.deepEqual([0, 45, 202, 337].map(compassLetters), ['N', 'NE', 'SSW', 'NNW'])
})

test('degrees are rounded within the circle', () => {
  assert.deepEqual([0.4, 359.4, 359.6, 228.5].map(wholeDegrees), [0, 359, 0, 229])
})

test('turns the short way across north, both ways', () => {
  assert.equal(shortWay(359, 1), 361)
  assert.equal(shortWay(1, 359), -1)
  assert.equal(shortWay(361, 358), 358)
})

test('keeps turning the short way after many rounds', () => {
  let angle = 0
  for (let direction = 0; direction < 3600; direction += 90) angle = shortWay(angle, direction % 360)
  assert.equal(angle, 3510)
  assert.ok(Math.abs(shortWay(angle, 45) - angle) <= 180)
})
