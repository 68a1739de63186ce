// Contract tests for all logs: channels end, begin again, and are erased after a while.

import assert from 'node:assert/strict'
import { type Draft, isKind } from '../../protocol/messages.ts'
import { isRefusal } from '../../protocol/refusal.ts'
import { foldAt } from './folding.ts'
import type { Log } from './log.ts'
import {
  cursorAt,
  draft,
  emptyForMs,
  endedForMs,
  fillUpdates,
  idsOf,
  main,
  readAll,
  readUpdates,
  startMs,
  type TestLog,
  updateDraft,
} from './log-testing.ts'

export function deletionDraft(id: string, deleted: boolean, channel = 'gone'): Draft<'deletion'> {
  return { id, channel, kind: 'deletion', from: 'w1', at: 1000.5, body: { deleted } }
}

const gone = new Set(['gone'])

/** Reads the log, which erases expired channels, and waits until that is done. */
export async function readGone(log: Log) {
  const erased = Promise.withResolvers<void>()
  const leave = log.follow((message) => isKind(message, 'erasure') && erased.resolve())
  await log.snapshot(gone)
  await erased.promise
  leave()
  return log.snapshot(gone)
}

const roomy = { messages: 10_000, bytes: 100_000_000, ageMs: 10 * endedForMs }

export function testDeletion(testLog: TestLog): void {
  testLog('a deleted document accepts nothing until it is restored', async ({ log }) => {
    await log.append(updateDraft('w1-1', 'x', 'gone'), startMs)
    await log.append(deletionDraft('w1-2', true), startMs)
    for (const other of [
      updateDraft('w1-3', 'y', 'gone'),
      draft('w1-3', 'y', 'gone'),
      { ...draft('w1-3', 'y', 'gone'), kind: 'title', body: { title: 'y' } } as const,
    ])
      await assert.rejects(
        async () => log.append(other, startMs),
        (error) => isRefusal(error, 'document-deleted') && /"gone"/.test(error.message),
      )
    assert.equal(await log.append(updateDraft('w1-1', 'x', 'gone'), startMs), 1, 'a repeat is answered')
    assert.equal(await log.append(draft('w1-3'), startMs), 3, 'another document accepts it')
    await log.append(deletionDraft('w1-4', false), startMs)
    assert.equal(await log.append(updateDraft('w1-3', 'y', 'gone'), startMs), 5)
    assert.equal((await readUpdates(log, 'gone')).text, 'xy')
  })

  testLog('a missing document can be neither deleted nor restored', async ({ log, seen }) => {
    for (const deleted of [true, false])
      await assert.rejects(
        async () => log.append(deletionDraft('w1-1', deleted), startMs),
        (error) => isRefusal(error, 'not-found') && /"gone"/.test(error.message),
      )
    assert.deepEqual(seen, [])
  })
}

export function testErasure(testLog: TestLog): void {
  testLog(
    'a day after its deletion a document is erased, which makes room',
    async ({ log, advance, seen }) => {
      const text = await fillUpdates(log, foldAt.messages, 'w1', 'gone')
      await log.append({ ...draft('w2-1', 'x', 'gone'), kind: 'sensor' }, startMs)
      await log.append(draft('w2-2'), startMs)
      const before = await cursorAt(log, 0)
      await log.append(deletionDraft('w2-3', true), startMs)
      advance(endedForMs - 1)
      assert.equal((await readUpdates(log, 'gone')).text, text)
      await assert.rejects(async () => log.append(draft('w2-4', 'x', 'new'), startMs), {
        code: 'too-many-channels',
      })
      advance(1)
      assert.deepEqual((await readGone(log)).messages, [])
      assert.deepEqual([...log.heads().keys()], ['main'])
      assert.deepEqual((await log.oldest('gone', 'update')).messages, [])
      assert.equal((await log.oldest('gone', 'update')).base, null)
      assert.equal(await log.find(updateDraft('w1-1', 'x', 'gone')), null)
      const { kind, channel, acceptedAt } = seen.at(-1) ?? assert.fail('followers were told nothing')
      assert.deepEqual([kind, channel, acceptedAt], ['erasure', 'gone', startMs + endedForMs])
      // As read by a client that was away the whole time.
      const all = await readAll(log, before, new Set([...gone, 'main']))
      assert.deepEqual([all.recovered, idsOf(all.messages)], [true, ['w2-2', seen.at(-1)?.id]])
      assert.deepEqual(idsOf((await readAll(log, before, main)).messages), ['w2-2'])
      await log.append(updateDraft('w1-1', 'anew', 'gone'), startMs)
      assert.equal((await readUpdates(log, 'gone')).text, 'anew')
      const { after } = await log.oldest('gone', 'update')
      const history = (await readAll(log, after, gone)).messages.filter((one) => isKind(one, 'update'))
      assert.deepEqual(
        history.map(({ body }) => body.update),
        ['anew'],
      )
    },
    { ...roomy, maxChannels: 2 },
  )

  testLog(
    'an empty document makes room for a new one, an hour after its last message',
    async ({ log, advance, seen }) => {
      const titled = (id: string, channel: string): Draft =>
        ({ ...draft(id, '', channel), kind: 'title', body: { title: channel } }) as const
      await log.append(titled('w1-1', 'first'), startMs)
      await log.append(titled('w1-2', 'written'), startMs)
      await log.append(updateDraft('w1-3', 'x', 'written'), startMs)
      await log.append(titled('w1-4', 'written'), startMs)
      await log.append(draft('w1-5', 'x', 'cleared'), startMs)
      await log.append(draft('w1-6', '', 'cleared'), startMs)
      await log.append(titled('w1-7', 'first'), startMs + 1)
      advance(emptyForMs - 1)
      await assert.rejects(async () => log.append(draft('w1-8', 'x', 'new'), startMs), {
        code: 'too-many-channels',
      })
      advance(1)
      const arrivals = ['new', 'newer', 'newest'].map(async (channel, index) =>
        log.append(titled(`w2-${index}`, channel), startMs + emptyForMs),
      )
      const results = await Promise.allSettled(arrivals)
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'rejected'],
      )
      assert.deepEqual([...log.heads().keys()].toSorted(), ['first', 'new', 'written'])
      advance(1)
      await log.append(titled('w2-3', 'newer'), startMs + emptyForMs + 1)
      assert.deepEqual([...log.heads().keys()].toSorted(), ['new', 'newer', 'written'])
      assert.equal((await readUpdates(log, 'written')).text, 'x')
      const erased = seen.filter((message) => isKind(message, 'erasure'))
      assert.deepEqual(
        erased.map(({ channel, body }) => [channel, body.head]),
        [
          ['cleared', 6],
          ['first', 7],
        ],
      )
    },
    { ...roomy, maxChannels: 3 },
  )

  testLog(
    'a restored document stays, and deleting it again starts a new day',
    async ({ log, advance }) => {
      await log.append(updateDraft('w1-1', 'x', 'gone'), startMs)
      await log.append(deletionDraft('w1-2', true), startMs)
      await log.append(deletionDraft('w1-3', false), startMs)
      advance(2 * endedForMs)
      await log.append(draft('w1-4'), startMs)
      assert.equal((await readUpdates(log, 'gone')).text, 'x')
      await log.append(deletionDraft('w1-5', true), startMs + 2 * endedForMs)
      await log.append(deletionDraft('w1-6', true), startMs + 2 * endedForMs + 500)
      advance(endedForMs + 499)
      await log.append(draft('w1-7'), startMs)
      assert.equal((await readUpdates(log, 'gone')).text, 'x')
      advance(1)
      assert.deepEqual((await readGone(log)).messages, [])
    },
    roomy,
  )

  testLog(
    'an erased document no longer counts: the others keep their messages',
    async ({ log, advance }) => {
      await log.append(draft('w1-1', 'x'.repeat(900), 'gone'), startMs)
      await log.append(deletionDraft('w1-2', true), startMs)
      advance(endedForMs)
      await readGone(log)
      const start = await cursorAt(log, 3)
      for (const n of [3, 4, 5]) await log.append(draft(`w1-${n}`, 'x'.repeat(250)), startMs + endedForMs)
      const { recovered, messages } = await readAll(log, start, main)
      assert.deepEqual([recovered, idsOf(messages)], [true, ['w1-3', 'w1-4', 'w1-5']])
    },
    { ...roomy, bytes: 1000 },
  )
}
