import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draft, testLogContract } from './log-contract.ts'
import { createMemoryLog } from './memory.ts'

testLogContract('memory', () => createMemoryLog('life1', { logMessages: 100, logBytes: 100_000 }))

test('memory: the tail is bounded by count and by size, and a cursor before it gets a snapshot', async () => {
  const channels = new Set(['main'])
  const log = createMemoryLog('life1', { logMessages: 3, logBytes: 400 })
  for (let n = 1; n <= 5; n += 1) await log.append(draft(`w1-${n}`), 1)
  const reached = await log.read({ epoch: 'life1', seq: 2 }, channels)
  assert.deepEqual([reached.recovered, reached.messages.map(({ seq }) => seq)], [true, [3, 4, 5]])
  const missed = await log.read({ epoch: 'life1', seq: 1 }, channels)
  assert.deepEqual([missed.recovered, missed.messages.map(({ seq }) => seq)], [false, [5]])

  await log.append(draft('w1-6', 'x'.repeat(390)), 1)
  const large = await log.read({ epoch: 'life1', seq: 4 }, channels)
  assert.equal(large.recovered, false)
})
