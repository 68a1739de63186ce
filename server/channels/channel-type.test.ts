import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fits } from './channel-type.ts'

test('a prefix and * names all channels that begin so; without it, one', () => {
  assert.deepEqual(
    ['room.1', 'room.', 'room', '*'].map((channel) => [fits('room.*', channel), fits('room.1', channel)]),
    [
      [true, true],
      [true, false],
      [false, false],
      [false, false],
    ],
  )
  assert.ok(fits('*', 'anything'))
})
