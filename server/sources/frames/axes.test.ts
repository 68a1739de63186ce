// Checks the convention of the axes: the four winds, and the way round the whole circle.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { axesOf, directionOf } from './axes.ts'

test('the four winds: +U blows from the south, +V from the east', () => {
  assert.equal(directionOf(-1, 0), 0)
  assert.equal(directionOf(0, 1), 90)
  assert.equal(directionOf(1, 0), 180)
  assert.equal(directionOf(0, -1), 270)
  assert.equal(directionOf(-1, 1), 45)
})

test('there and back again over the whole circle, a tenth of a degree at a time', () => {
  for (let tenths = 0; tenths < 3600; tenths++) {
    const { u, v } = axesOf(tenths / 10, 12.5)
    const back = directionOf(u, v)
    const apart = Math.abs(back - tenths / 10)
    assert.ok(Math.min(apart, 360 - apart) < 1e-9, `${tenths / 10} came back as ${back}`)
    assert.ok(Math.abs(Math.hypot(u, v) - 12.5) < 1e-9)
  }
})

test('a direction is never 360 and never minus zero', () => {
  assert.equal(directionOf(-1, -1e-300), 0)
  assert.ok(Object.is(directionOf(-1, -0), 0))
})
