// A clock that was set back, and on.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../wire/manual-time.ts'
import { createSteadyClock } from './steady-clock.ts'

test('goes on from where it was when the clock is set back', () => {
  const time = createManualTime(1000)
  const now = createSteadyClock(time.now)
  const first = now()
  time.setClock(-3_600_000)
  assert.equal(now(), first)
  time.advance(500)
  assert.equal(now(), first + 500)
  time.setClock(3_600_000)
  assert.equal(now(), first + 500 + 3_600_000)
})
