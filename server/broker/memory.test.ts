import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testLogContract } from './log-contract.ts'
import { ampleLimits, draft } from './log-testing.ts'
import { createMemoryLog } from './memory.ts'

testLogContract('memory', (parts) => createMemoryLog({ epoch: 'life1', ...parts }))

test('memory: followers are told before append returns', () => {
  const log = createMemoryLog({
    epoch: 'life1',
    limits: ampleLimits,
    now: () => 0,
    onFailure: () => assert.fail(),
  })
  const cursors: string[] = []
  log.follow((_message, cursor) => cursors.push(cursor))
  void log.append(draft('w1-1'), 1)
  assert.deepEqual(cursors, ['life1:1'])
})
