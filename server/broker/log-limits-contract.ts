// How much every log holds, and what outlives that.

import assert from 'node:assert/strict'
import { TooManyChannels } from './log.ts'
import { cursorAt, draft, fill, idsOf, main, readAll, seqsOf, startMs, type TestLog } from './log-testing.ts'

export function testLimits(testLog: TestLog): void {
  testLog(
    'holds so many messages',
    async ({ log }) => {
      await fill(log, 5)
      const held = await readAll(log, await cursorAt(log, 2), main)
      assert.deepEqual([held.recovered, seqsOf(held.messages)], [true, [3, 4, 5]])
      const missed = await log.read(await cursorAt(log, 1), main)
      assert.deepEqual([missed.recovered, seqsOf(missed.messages)], [false, [5]])
    },
    { logMessages: 3 },
  )

  testLog(
    'holds so many bytes, and always the newest',
    async ({ log }) => {
      // {"html":"é…"}: 11 bytes and two for each é.
      await fill(log, 5, 'w1', 'é'.repeat(45))
      assert.equal((await log.read(await cursorAt(log, 2), main)).recovered, true)
      assert.equal((await log.read(await cursorAt(log, 1), main)).recovered, false)
      await log.append(draft('w2-1', 'x'.repeat(1000)), 1)
      const last = await log.read(await cursorAt(log, 5), main)
      assert.deepEqual([last.recovered, seqsOf(last.messages)], [true, [6]])
      assert.equal((await log.read(await cursorAt(log, 4), main)).recovered, false)
    },
    { logBytes: 303 },
  )

  testLog(
    'holds so long, also while nothing comes',
    async ({ log, advance }) => {
      await fill(log, 1)
      await log.append(draft('w1-2'), startMs + 600)
      advance(1000)
      assert.equal((await log.read(await cursorAt(log, 0), main)).recovered, true)
      advance(1)
      assert.equal((await log.read(await cursorAt(log, 0), main)).recovered, false)
      assert.deepEqual(seqsOf((await log.read(await cursorAt(log, 1), main)).messages), [2])
      advance(5000)
      assert.equal((await log.read(await cursorAt(log, 1), main)).recovered, false)
      assert.equal((await log.read(await cursorAt(log, 2), main)).recovered, true)
      assert.equal(await log.append(draft('w1-3'), startMs + 6000), 3)
    },
    { logAgeMs: 1000 },
  )

  testLog(
    'the snapshot outlives the bounds, and its ids are known',
    async ({ log, advance }) => {
      await log.append(draft('w1-0', 'x', 'quiet'), startMs)
      await fill(log, 400)
      advance(10_000)
      await fill(log, 400, 'w2')
      assert.deepEqual(idsOf((await log.snapshot(new Set(['quiet', 'main']))).messages), ['w1-0', 'w2-400'])
      assert.equal(await log.append(draft('w1-0', 'x', 'quiet'), startMs), 1)
    },
    { logMessages: 3, logAgeMs: 1000 },
  )

  testLog(
    'takes so many channels, and stores nothing for one more',
    async ({ log, seen }) => {
      await log.append(draft('w1-1', 'x', 'a'), 1)
      const both = [log.append(draft('w1-2', 'x', 'b'), 1), log.append(draft('w1-3', 'x', 'c'), 1)]
      await assert.rejects(
        Promise.all(both),
        (error) => error instanceof TooManyChannels && /"c"/.test(error.message),
      )
      assert.equal(await both[0], 2)
      await assert.rejects(log.append(draft('w1-3', 'x', 'c'), 1), TooManyChannels)
      assert.equal(await log.append(draft('w1-4', 'x', 'b'), 1), 3)
      assert.deepEqual(idsOf(seen), ['w1-1', 'w1-2', 'w1-4'])
      assert.deepEqual((await log.snapshot(new Set(['c']))).messages, [])
    },
    { maxChannels: 2 },
  )
}
