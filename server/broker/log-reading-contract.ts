// How every log is read: what came after a cursor, or the snapshot.

import assert from 'node:assert/strict'
import { parseCursor } from '../wire/cursor.ts'
import { countTo, cursorAt, draft, fill, idsOf, main, readAll, seqsOf, type TestLog } from './log-testing.ts'

export function testReading(testLog: TestLog): void {
  testLog('reads exactly what came after a cursor, of the channels asked for', async ({ log, cursors }) => {
    await log.append(draft('w1-1'), 1)
    await log.append(draft('w1-2', 'x', 'other'), 1)
    await log.append(draft('w1-3'), 1)
    const missed = await log.read(parseCursor(cursors[0]), main)
    assert.deepEqual([missed.recovered, idsOf(missed.messages), missed.head.seq], [true, ['w1-3'], 3])
    const current = await log.read(parseCursor(cursors[2]), main)
    assert.deepEqual([current.recovered, current.messages], [true, []])
  })

  testLog('resumes from before the first message', async ({ log }) => {
    const { head } = await log.read(null, main)
    await log.append(draft('w1-1'), 1)
    const { recovered, messages } = await log.read(head, main)
    assert.deepEqual([recovered, messages.length], [true, 1])
  })

  testLog('gives the snapshot where it cannot resume, and says so', async ({ log }) => {
    await log.append(draft('w1-1', 'old'), 1)
    await log.append(draft('w1-2', 'new'), 1)
    const beyond = await cursorAt(log, 9)
    for (const cursor of [null, { epoch: 'another', seq: 1 }, beyond]) {
      const { recovered, messages } = await log.read(cursor, main)
      assert.deepEqual([recovered, idsOf(messages)], [false, ['w1-2']])
    }
  })

  testLog('a snapshot is the newest of each channel and kind, in order', async ({ log }) => {
    assert.deepEqual((await log.snapshot(main)).messages, [])
    await log.append({ ...draft('w1-1', 'x', 'other'), kind: 'sensor' }, 1)
    await log.append(draft('w1-2', 'x', 'other'), 1)
    await log.append(draft('w1-3'), 1)
    await log.append(draft('w1-4', 'x', 'other'), 1)
    const both = await log.snapshot(new Set(['other', 'main', 'never']))
    assert.deepEqual([idsOf(both.messages), both.head.seq], [['w1-1', 'w1-3', 'w1-4'], 4])
    assert.deepEqual(idsOf((await log.snapshot(main)).messages), ['w1-3'])
  })

  testLog('says the newest number of each channel', async ({ log }) => {
    await fill(log, 2)
    await log.append(draft('w1-3', 'x', 'other'), 1)
    assert.deepEqual(
      [...log.heads()],
      [
        ['main', 2],
        ['other', 3],
      ],
    )
  })

  testLog('what is appended during a read is neither missed nor repeated', async ({ log, seen }) => {
    await fill(log, 50)
    const start = await cursorAt(log, 10)
    const appends = countTo(20).map((n) => log.append(draft(`w2-${n}`), 1))
    const reading = readAll(log, start, main)
    appends.push(...countTo(20).map((n) => log.append(draft(`w3-${n}`), 1)))
    const { recovered, messages, head } = await reading
    await Promise.all(appends)
    const followed = seen.filter(({ seq }) => seq > head.seq)
    assert.equal(recovered, true)
    assert.deepEqual(seqsOf([...messages, ...followed]), countTo(90).slice(10))
  })
}
