// How old a message was before it came.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whenDue } from './due.ts'

const message = { acceptedAt: 1_700_000_000_000 }

test('what was kept back is as old as its place in the log says, and never of the future', () => {
  assert.equal(whenDue(message, message.acceptedAt + 3_600_000), message.acceptedAt)
  assert.equal(whenDue(message, message.acceptedAt - 5000), message.acceptedAt - 5000)
})

test('by this window’s clock, where that is known', () => {
  for (const offsetMs of [3_600_000, -3_600_000]) {
    const acceptedHereAt = message.acceptedAt - offsetMs
    assert.equal(whenDue(message, acceptedHereAt + 20_000, offsetMs), acceptedHereAt)
    assert.equal(whenDue(message, acceptedHereAt - 1, offsetMs), acceptedHereAt - 1)
  }
})
