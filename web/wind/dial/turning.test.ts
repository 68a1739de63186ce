// Turns: the short way, to rest, and without motion where none is wanted.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurning } from './turning.ts'

test('the first direction is simply there', () => {
  const turning = createTurning()
  assert.equal(turning.angleAt(0), null)
  turning.turnTo(90, 0, false)
  assert.equal(turning.angleAt(0), 90)
  assert.equal(turning.isTurningAt(0), false)
})

test('turns the short way across north, slowing down, and rests after 200 ms', () => {
  const turning = createTurning()
  turning.turnTo(350, 0, false)
  turning.turnTo(10, 1000, false)
  const angles = [1000, 1050, 1100, 1200, 1300].map((now) => turning.angleAt(now) ?? 0)
  assert.deepEqual(
    angles.map((angle) => Math.round(angle * 100) / 100),
    [350, 361.56, 367.5, 370, 370],
  )
  assert.equal(turning.isTurningAt(1199), true)
  assert.equal(turning.isTurningAt(1200), false)
})

test('a new direction on the way starts from where the pointer is', () => {
  const turning = createTurning()
  turning.turnTo(0, 0, false)
  turning.turnTo(90, 1000, false)
  const onTheWay = turning.angleAt(1100)
  turning.turnTo(45, 1100, false)
  assert.equal(turning.angleAt(1100), onTheWay)
  assert.equal(turning.angleAt(1300), 45)
})

test('the same direction again is no turn, and does not hold up the one under way', () => {
  const turning = createTurning()
  turning.turnTo(0, 0, false)
  turning.turnTo(90, 1000, false)
  turning.turnTo(90, 1100, false)
  assert.equal(turning.isTurningAt(1200), false)
  turning.turnTo(90, 2000, false)
  assert.equal(turning.isTurningAt(2000), false)
})

test('without motion it is there at once', () => {
  const turning = createTurning()
  turning.turnTo(0, 0, true)
  turning.turnTo(90, 1000, true)
  assert.equal(turning.angleAt(1000), 90)
  assert.equal(turning.isTurningAt(1000), false)
})

test('a degree is no turn', () => {
  const turning = createTurning()
  turning.turnTo(359.5, 0, false)
  turning.turnTo(0.5, 1000, false)
  assert.equal(turning.angleAt(1000), 360.5)
  assert.equal(turning.isTurningAt(1000), false)
})

test('after a calm the pointer does not come from where it was', () => {
  const turning = createTurning()
  turning.turnTo(0, 0, false)
  turning.turnTo(null, 1000, false)
  assert.equal(turning.angleAt(1000), null)
  turning.turnTo(180, 2000, false)
  assert.equal(turning.angleAt(2000), 180)
})
