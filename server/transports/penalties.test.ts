import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../wire/testing.ts'
import { Penalties } from './penalties.ts'

test('a connection waits once its refusals cost more than a second, and others do not', () => {
  const time = createManualTime()
  const penalties = new Penalties(100, time.now)
  const [connection, another] = [{}, {}]
  for (let count = 0; count < 100; count += 1) penalties.charge(connection, 0)
  assert.equal(penalties.waitMs(connection), 0)
  // A token more for each 16 KiB.
  penalties.charge(connection, 16_384 * 4)
  assert.deepEqual([penalties.waitMs(connection), penalties.waitMs(another)], [50, 0])
  time.advance(50)
  assert.equal(penalties.waitMs(connection), 0)
})
