// Machines that stood still: seen by either clock.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Standstill, watchForStandstill } from './standstill.ts'

test('a step of seconds is a standstill, by the monotonic clock or by the wall clock alone', () => {
  const time = { monotonic: 0, wall: 1_700_000_000_000 }
  const step = watchForStandstill({ monotonic: () => time.monotonic, wall: () => time.wall })
  const pass = (monotonicMs: number, wallMs = monotonicMs) => {
    time.monotonic += monotonicMs
    time.wall += wallMs
  }
  for (let steps = 0; steps < 100; steps += 1) {
    pass(500)
    step()
  }
  pass(20_000)
  assert.throws(step, new Standstill(20_000))
  pass(50)
  step()
  // A laptop slept.
  pass(50, 7_200_000)
  assert.throws(step, { message: 'The machine stood still for 7200.0 s.' })
})
