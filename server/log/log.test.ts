import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryLog, newEpoch } from './log.ts'
import { testLogContract } from './log-contract.ts'
import { ampleLimits, draft } from './log-testing.ts'

testLogContract('memory', (parts) => createMemoryLog({ epoch: 'life1', ...parts }))

function openMemoryLog(limits = ampleLimits) {
  return createMemoryLog({ epoch: 'life1', limits, now: () => 0, onFailure: () => assert.fail() })
}

test('memory: followers are told before append returns', () => {
  const log = openMemoryLog()
  const cursors: string[] = []
  log.follow((_message, cursor) => cursors.push(cursor))
  void log.append(draft('w1-1'), 1)
  assert.deepEqual(cursors, ['life1:1'])
})

test('memory: nothing is kept of a draft that the log has forgotten', async () => {
  const log = openMemoryLog({ ...ampleLimits, messages: 2 })
  for (const id of ['w1-1', 'w1-2', 'w1-3']) await log.append(draft(id), 1)
  assert.equal(await log.append(draft('w1-1'), 1), 4)
})

test('an epoch fits into a cursor', () => {
  for (const draw of [0, 0.5, 1 - Number.EPSILON])
    assert.match(
      newEpoch(() => draw),
      /^[a-z0-9]{8}$/,
    )
})
