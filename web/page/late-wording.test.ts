// The words for modes, and the countdown to the next attempt.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { windowModes } from '../../protocol/modes.ts'
import { explanations, formatRetry } from './late-wording.ts'

const waiting = { state: 'waiting', retryAt: 5000 } as const

test('counts down in whole seconds, and never shows zero or less', () => {
  assert.equal(formatRetry({ ...waiting, state: 'open' }, 0), '')
  assert.equal(formatRetry({ ...waiting, retryAt: null }, 0), '')
  assert.equal(formatRetry(waiting, 2000), 'Trying again in 3 s.')
  assert.equal(formatRetry(waiting, 2001), 'Trying again in 3 s.')
  assert.equal(formatRetry(waiting, 4999), 'Trying again in 1 s.')
  assert.equal(formatRetry(waiting, 5000), 'Trying again…')
  assert.equal(formatRetry(waiting, 9000), 'Trying again…')
})

test('every mode has an explanation', () => {
  assert.deepEqual(Object.keys(explanations).toSorted(), windowModes.map(({ name }) => name).toSorted())
})
