// What every log must do, whatever keeps it: one suite of tests for all of them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCursor } from '../wire/cursor.ts'
import type { Draft, Message } from '../wire/envelope.ts'
import type { Log } from './log.ts'

export function draft(id: string, html = id, channel = 'main'): Draft<'edit'> {
  return { id, channel, kind: 'edit', from: 'w1', at: 1000.5, body: { html } }
}

/** `open` gives a new, empty log that keeps at least 100 messages. */
export function testLogContract(name: string, open: () => Log): void {
  const channels = new Set(['main'])

  test(`${name}: numbers in order, without a gap, and tells followers before it acknowledges`, async () => {
    const log = open()
    const seen: Message[] = []
    log.follow((message) => seen.push(message))
    const seqs = await Promise.all([1, 2, 3].map((n) => log.append(draft(`w1-${n}`), 2000)))
    assert.deepEqual(seqs, [1, 2, 3])
    assert.deepEqual(seen[2], { ...draft('w1-3'), seq: 3, acceptedAt: 2000 })
  })

  test(`${name}: the same id is stored once and acknowledged twice`, async () => {
    const log = open()
    const seen: Message[] = []
    log.follow((message) => seen.push(message))
    assert.equal(await log.append(draft('w1-1'), 1), await log.append(draft('w1-1', 'again'), 2))
    assert.equal(seen.length, 1)
  })

  test(`${name}: reads exactly what came after a cursor, of the channels asked for`, async () => {
    const log = open()
    const cursors: string[] = []
    log.follow((_message, cursor) => cursors.push(cursor))
    await log.append(draft('w1-1'), 1)
    await log.append(draft('w1-2', 'x', 'other'), 1)
    await log.append(draft('w1-3'), 1)
    const { recovered, messages } = await log.read(parseCursor(cursors[0]), channels)
    assert.equal(recovered, true)
    assert.deepEqual(
      messages.map(({ id }) => id),
      ['w1-3'],
    )
    const current = await log.read(parseCursor(cursors[2]), channels)
    assert.deepEqual([current.recovered, current.messages], [true, []])
  })

  test(`${name}: resumes from before the first message`, async () => {
    const log = open()
    const { head } = await log.read(null, channels)
    await log.append(draft('w1-1'), 1)
    const { recovered, messages } = await log.read(head, channels)
    assert.deepEqual([recovered, messages.length], [true, 1])
  })

  test(`${name}: gives the newest of each kind where it cannot resume, and says so`, async () => {
    const log = open()
    await log.append(draft('w1-1', 'old'), 1)
    await log.append(draft('w1-2', 'new'), 1)
    for (const cursor of [
      null,
      { epoch: 'another', seq: 1 },
      { epoch: (await log.read(null, channels)).head.epoch, seq: 9 },
    ]) {
      const { recovered, messages } = await log.read(cursor, channels)
      assert.equal(recovered, false)
      assert.deepEqual(
        messages.map(({ id }) => id),
        ['w1-2'],
      )
    }
  })

  test(`${name}: a follower that left hears nothing`, async () => {
    const log = open()
    const seen: Message[] = []
    log.follow((message) => seen.push(message))()
    await log.append(draft('w1-1'), 1)
    assert.equal(seen.length, 0)
  })
}
