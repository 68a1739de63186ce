// How every log numbers: in order, without a gap, each message once.

import assert from 'node:assert/strict'
import { countTo, draft, idsOf, seqsOf, startMs, type TestLog } from './log-testing.ts'

export function testOrder(testLog: TestLog): void {
  testLog('numbers in order, without a gap, whole messages', async ({ log, seen }) => {
    const seqs = [await log.append(draft('w1-1'), 2000.25), await log.append(draft('w2-1'), 2001)]
    assert.deepEqual(seqs, [1, 2])
    assert.deepEqual(seen[0], { ...draft('w1-1'), seq: 1, acceptedAt: 2000.25 })
  })

  testLog('many appends at once keep the order of the calls', async ({ log, seen }) => {
    const seqs = await Promise.all(countTo(300).map((n) => log.append(draft(`w1-${n}`), startMs)))
    assert.deepEqual(seqs, countTo(300))
    assert.deepEqual(
      idsOf(seen),
      countTo(300).map((n) => `w1-${n}`),
    )
  })

  testLog('tells followers before it acknowledges', async ({ log, seen }) => {
    const told = await Promise.all(
      countTo(20).map(async (n) => {
        const seq = await log.append(draft(`w1-${n}`), startMs)
        return seen.some((message) => message.seq === seq)
      }),
    )
    assert.ok(told.every(Boolean))
  })

  testLog('the same id is stored once and acknowledged twice', async ({ log, seen }) => {
    await log.append(draft('w1-0'), 1)
    assert.equal(await log.append(draft('w1-1'), 1), await log.append(draft('w1-1', 'again'), 2))
    assert.equal(await log.append(draft('w1-2'), 3), 3)
    assert.deepEqual(idsOf(seen), ['w1-0', 'w1-1', 'w1-2'])
  })

  testLog('the same id is stored once when both are under way', async ({ log, seen }) => {
    const drafts = ['w1-1', 'w1-2', 'w1-1', 'w1-3', 'w1-2'].map((id) => log.append(draft(id), 1))
    assert.deepEqual(await Promise.all(drafts), [1, 2, 1, 3, 2])
    assert.deepEqual(seqsOf(seen), [1, 2, 3])
  })
}
