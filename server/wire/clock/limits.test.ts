// The arithmetic of ceilings and floors, by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { driftBetween, type Marks, offsetAt } from './limits.ts'

const most = 500e-6
const near = (actual: number | undefined, expected: number) =>
  assert.ok(actual !== undefined && Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`)

/** Offset 100 ± 1 ms at 0 s, 102 ± 1 ms at 10 s. */
const apart: Marks = {
  ceilings: [
    { at: 0, offsetMs: 101 },
    { at: 10_000, offsetMs: 103 },
  ],
  floors: [
    { at: 0, offsetMs: 99 },
    { at: 10_000, offsetMs: 101 },
  ],
}

test('one moment says nothing of the drift', () => {
  const { ceilings, floors } = apart
  const alone = { ceilings: ceilings.slice(0, 1), floors: floors.slice(0, 1) }
  assert.deepEqual(driftBetween(alone, { most, wander: 0 }), { least: -most, most })
})

test('two moments say the more, the further they are apart; what may wander widens it', () => {
  const steady = driftBetween(apart, { most, wander: 0 })
  near(steady?.least, 0)
  near(steady?.most, 400e-6)
  const wandering = driftBetween(apart, { most, wander: 10e-6 })
  near(wandering?.least, -10e-6)
  near(wandering?.most, 410e-6)
})

test('no clock drifts by more than it may, whatever the moments leave room for', () => {
  near(driftBetween(apart, { most: 100e-6, wander: 0 })?.most, 100e-6)
})

test('a floor above a ceiling, at one moment or further apart than any drift explains, is a jump', () => {
  const ceilings = [{ at: 0, offsetMs: 100 }]
  assert.equal(driftBetween({ ceilings, floors: [{ at: 0, offsetMs: 101 }] }, { most, wander: 0 }), null)
  assert.equal(driftBetween({ ceilings, floors: [{ at: 1000, offsetMs: 101 }] }, { most, wander: 0 }), null)
  assert.notEqual(
    driftBetween({ ceilings, floors: [{ at: 3000, offsetMs: 101 }] }, { most, wander: 0 }),
    null,
  )
})

test('between, before and after the moments the range is as wide as the drift leaves it', () => {
  const drift = { least: 0, most: 400e-6 }
  assert.deepEqual(offsetAt(apart, drift, 0, 0), { least: 99, most: 101 })
  assert.deepEqual(offsetAt(apart, drift, 0, 5000), { least: 99, most: 103 })
  const later = offsetAt(apart, drift, 0, 20_000)
  near(later.least, 101)
  near(later.most, 107)
  const before = offsetAt(apart, drift, 0, -10_000)
  near(before.least, 95)
  near(before.most, 101)
  const wandering = offsetAt(apart, drift, 10e-6, 20_000)
  near(wandering.least, 100.9)
  near(wandering.most, 107.1)
})
