import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newEpoch } from './log.ts'
import { testLogContract } from './log-contract.ts'
import { ampleLimits, draft, toyTypes } from './log-testing.ts'
import { createMemoryLog } from './memory-log.ts'

testLogContract('memory', (parts) => createMemoryLog({ epoch: 'life1', ...parts }))

function openMemoryLog(limits = ampleLimits) {
  return createMemoryLog({
    epoch: 'life1',
    limits,
    typeOf: toyTypes(),
    now: () => 0,
    onFailure: () => assert.fail(),
  })
}

test('memory: followers are notified before append returns', () => {
  const log = openMemoryLog()
  const cursors: string[] = []
  log.follow((_message, cursor) => cursors.push(cursor))
  void log.append(draft('w1-1'), 1)
  assert.deepEqual(cursors, ['life1:1'])
})

test('an epoch is valid in a cursor', () => {
  for (const draw of [0, 0.5, 1 - Number.EPSILON])
    assert.match(
      newEpoch(() => draw),
      /^[a-z0-9]{8}$/,
    )
})
