// How every log is read a portion at a time.

import assert from 'node:assert/strict'
import type { CatchUp } from './log.ts'
import {
  countTo,
  cursorAt,
  draft,
  fillAtOnce,
  idsOf,
  main,
  readAll,
  readPortions,
  seqsOf,
  type TestLog,
} from './log-testing.ts'
import { portion as most } from './tail.ts'

const roomy = { logMessages: 10_000, logBytes: 100_000_000 }

export function testPortions(testLog: TestLog): void {
  testLog(
    'portions follow each other without a gap or a repeat while messages are appended',
    async ({ log }) => {
      await fillAtOnce(log, 1200)
      const portions: CatchUp[] = []
      await readPortions(log, await cursorAt(log, 0), main, async (portion) => {
        portions.push(portion)
        if (portions.length <= 2) await fillAtOnce(log, 100, `late${portions.length}`)
      })
      assert.ok(portions.length > 2)
      assert.ok(portions.every(({ recovered, messages }) => recovered && messages.length <= most.messages))
      assert.deepEqual(seqsOf(portions.flatMap(({ messages }) => messages)), countTo(1400))
    },
    roomy,
  )

  testLog(
    'a portion is of so many bytes, or one message that is larger',
    async ({ log }) => {
      // Two bytes and three each, so that counting characters is seen.
      await fillAtOnce(log, 7, 'w1', 'é'.repeat(200_000))
      await log.append(draft('large', '€'.repeat(500_000)), 1)
      await fillAtOnce(log, 5, 'w2', '€'.repeat(130_000))
      const portions: CatchUp[] = []
      await readPortions(log, await cursorAt(log, 0), main, (portion) => void portions.push(portion))
      for (const { messages } of portions) {
        const sizes = messages.map(({ body }) => Buffer.byteLength(JSON.stringify(body)))
        const bytes = sizes.reduce((sum, size) => sum + size, 0)
        assert.ok(
          bytes <= most.bytes || messages.length === 1,
          `${bytes} bytes in ${messages.length} messages`,
        )
      }
      assert.deepEqual(seqsOf(portions.flatMap(({ messages }) => messages)), countTo(13))
    },
    roomy,
  )

  testLog(
    'a portion with nothing for these channels leads on',
    async ({ log }) => {
      await fillAtOnce(log, 1200, 'w1', 'x', 'other')
      await log.append(draft('w2-1'), 1)
      await fillAtOnce(log, 1200, 'w3', 'x', 'other')
      const start = await cursorAt(log, 0)
      const found = await readAll(log, start, main)
      assert.deepEqual([found.recovered, idsOf(found.messages), found.reached], [true, ['w2-1'], found.head])
      const nothing = await readAll(log, start, new Set(['never']))
      assert.deepEqual([nothing.recovered, nothing.messages, nothing.reached.seq], [true, [], 2401])
    },
    roomy,
  )

  testLog(
    'what comes next may be forgotten between two portions: then there is the snapshot',
    async ({ log }) => {
      await fillAtOnce(log, 1200)
      const { recovered, reached } = await log.read(await cursorAt(log, 0), main)
      assert.ok(recovered && reached.seq < 1200)
      await fillAtOnce(log, 1200, 'w2')
      const forgotten = await log.read(reached, main)
      assert.deepEqual([forgotten.recovered, idsOf(forgotten.messages)], [false, ['w2-1200']])
      assert.deepEqual([forgotten.reached, forgotten.head.seq], [forgotten.head, 2400])
    },
    { ...roomy, logMessages: 1200 },
  )

  testLog('what was read to its end, and a snapshot, lead to the head', async ({ log }) => {
    await fillAtOnce(log, 3)
    await log.append(draft('w2-1', 'x', 'other'), 1)
    const { head } = await log.snapshot(main)
    assert.equal(head.seq, 4)
    for (const seq of [0, 3, 4]) {
      const { recovered, reached } = await readAll(log, { ...head, seq }, main)
      assert.deepEqual([recovered, reached], [true, head])
    }
    for (const cursor of [null, { epoch: 'another', seq: 1 }, { ...head, seq: 9 }]) {
      const { recovered, reached } = await log.read(cursor, main)
      assert.deepEqual([recovered, reached], [false, head])
    }
  })
}
