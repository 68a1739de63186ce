// Contract tests for logs that several servers share on a broker.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Draft, Message } from '../../protocol/messages.ts'
import { isRefusal } from '../../protocol/refusal.ts'
import { foldAt } from './folding.ts'
import type { Log, LogLimits, LogParts, OpenedLog } from './log.ts'
import {
  ampleLimits,
  countTo,
  cursorAt,
  draft,
  fill,
  fillAtOnce,
  fillUpdates,
  idsOf,
  main,
  readAll,
  readUpdates,
  seqsOf,
  startMs,
  toyTypes,
  updateDraft,
} from './log-testing.ts'

/** Opens a server's log of a name: again, it is another server's, or the same after a restart. */
export type OpenShared = (name: string, parts: LogParts, context: TestContext) => Promise<OpenedLog>

interface Broker {
  /** Without a clean shutdown. */
  readonly kill: () => Promise<void>
  readonly restart: () => Promise<void>
}

/** A server's log, with the messages that its followers received. */
export async function openWatched(
  context: TestContext,
  open: (parts: LogParts) => Promise<OpenedLog>,
  limits: Partial<LogLimits> = {},
  onFailure: (error: unknown) => void = assert.ifError,
) {
  const losses: string[] = []
  const opened = await open({
    typeOf: toyTypes(),
    now: () => startMs,
    limits: { ...ampleLimits, ...limits },
    onLoss(sentence) {
      losses.push(sentence)
      onLost()
    },
    onFailure,
  })
  const { log } = opened
  context.after(() => log.close())
  let onLost = () => undefined as unknown
  /** Resolves to the sentence about this loss; `count` 1 is the first. */
  const lossTold = (count: number) =>
    new Promise<string>((resolve) => {
      onLost = () => losses.length >= count && resolve(losses[count - 1] ?? '')
      onLost()
    })
  const seen: Message[] = []
  const cursors: string[] = []
  log.follow((message, cursor) => {
    seen.push(message)
    cursors.push(cursor)
    onHeard()
  })
  let onHeard = () => undefined as unknown
  /** Resolves when this many messages were received. */
  const heard = (count: number) =>
    new Promise<void>((resolve) => {
      onHeard = () => seen.length >= count && resolve()
      onHeard()
    })
  return { ...opened, seen, cursors, heard, losses, lossTold }
}

export const manyMessages = { messages: 100_000, bytes: 1e9 }

export function testSharedLog(name: string, openShared: OpenShared, broker: Broker): void {
  const open = (context: TestContext, log: string, limits?: Partial<LogLimits>) =>
    openWatched(context, (parts) => openShared(log, parts, context), limits)

  test(`${name}: two servers receive all messages of both in one order, with the same cursors`, async (context) => {
    const one = await open(context, 'both')
    const other = await open(context, 'both')
    const write = (log: typeof one.log, prefix: string) =>
      Promise.all(countTo(100).map((n) => log.append({ ...draft(`${prefix}-${n}`), from: prefix }, startMs)))
    const seqs = await Promise.all([write(one.log, 'a'), write(other.log, 'b')])
    await Promise.all([one.heard(200), other.heard(200)])
    assert.deepEqual(
      seqs.flat().sort((a, b) => a - b),
      countTo(200),
    )
    assert.deepEqual(one.seen, other.seen)
    assert.deepEqual(one.cursors, other.cursors)
    for (const prefix of ['a', 'b'])
      assert.deepEqual(
        idsOf(one.seen.filter(({ from }) => from === prefix)),
        countTo(100).map((n) => `${prefix}-${n}`),
      )
    const cursor = await cursorAt(one.log, 150)
    const { recovered, messages } = await other.log.read(cursor, main)
    assert.deepEqual([recovered, seqsOf(messages)], [true, countTo(200).slice(150)])
  })

  test(`${name}: the same draft sent to both servers is stored once, and acknowledged by both`, async (context) => {
    const one = await open(context, 'repeats')
    const other = await open(context, 'repeats')
    const both = await Promise.all([one, other].map(({ log }) => log.append(draft('w1-1'), startMs)))
    assert.deepEqual(both, [1, 1])
    const taken = await Promise.allSettled([
      one.log.append(draft('w1-2'), startMs),
      other.log.append(draft('w1-2', 'else'), startMs),
    ])
    assert.deepEqual(taken.map((end) => (end.status === 'fulfilled' ? end.value : end.reason.code)).sort(), [
      2,
      'id-taken',
    ])
  })

  test(`${name}: an id that the log has erased is stored again`, async (context) => {
    const { log } = await open(context, 'forgotten', { messages: 3 })
    assert.equal(await log.append(draft('w1-1'), startMs), 1)
    await fill(log, 300, 'w2')
    assert.equal(await log.append(draft('w1-1'), startMs), 302)
  })

  test(`${name}: a server that starts later has the same state`, async (context) => {
    const limits = { messages: 300 }
    const { log } = await open(context, 'later', limits)
    await log.append(draft('w1-0', 'x', 'quiet'), startMs)
    const text = await fillUpdates(log, foldAt.messages + 10)
    await fillAtOnce(log, 400, 'w2')
    const later = await open(context, 'later', limits)
    assert.deepEqual((await readUpdates(later.log)).text, text)
    assert.deepEqual(idsOf((await later.log.snapshot(new Set(['quiet']))).messages), ['w1-0'])
    assert.deepEqual([...later.log.heads()].sort(), [...log.heads()].sort())
    assert.equal(await later.log.append(draft('w1-0', 'x', 'quiet'), startMs), 1)
    const cursor = await cursorAt(log, 800)
    assert.deepEqual(await readAll(later.log, cursor, main), await readAll(log, cursor, main))
    const lost = await later.log.read(await cursorAt(log, 300), main)
    assert.equal(lost.recovered, false)
    const quiet = await later.log.read(await cursorAt(log, 0), new Set(['quiet']))
    assert.deepEqual([quiet.recovered, idsOf(quiet.messages)], [true, ['w1-0']])
  })

  test(`${name}: a server that starts later has what a channel had dropped, though the stream begins before that`, async (context) => {
    const old = startMs - 2 * ampleLimits.ageMs
    const first = await open(context, 'dropped')
    await first.log.append(updateDraft('w1-0', 'in no base', 'first'), startMs)
    await first.log.append(draft('w1-1', 'x', 'second'), old)
    for (const n of countTo(100)) await first.log.append(draft(`w2-${n}`), old)
    await first.log.close()
    const { log, losses } = await open(context, 'dropped')
    assert.deepEqual(idsOf((await log.snapshot(new Set(['second']))).messages), ['w1-1'])
    assert.deepEqual(idsOf((await log.snapshot(main)).messages), ['w2-100'])
    assert.equal(await log.append(draft('w1-2', 'y', 'second'), startMs), 103)
    const { recovered, messages } = await readAll(log, await cursorAt(log, 102), new Set(['second']))
    assert.deepEqual([recovered, idsOf(messages), losses], [true, ['w1-2'], []])
  })

  test(`${name}: a client resumes at a server that started later, from before a base`, async (context) => {
    const { log } = await open(context, 'based', manyMessages)
    await fillUpdates(log, foldAt.messages + 10)
    // So that the updates are no longer in memory.
    await fillAtOnce(log, 4200, 'w2', 'x', 'other')
    const later = await open(context, 'based', manyMessages)
    const { recovered, messages } = await readAll(later.log, await cursorAt(log, 0), main)
    assert.deepEqual([recovered, messages.length, later.losses], [true, foldAt.messages + 10, []])
  })

  test(`${name}: the broker is killed and restarted: acknowledged messages are there, and the log continues in order`, async (context) => {
    const { log, seen, heard } = await open(context, 'killed')
    await fill(log, 20)
    await broker.kill()
    const appends = ['w2-1', 'w2-2'].map((id) => appendUntilStored(log, draft(id)))
    await broker.restart()
    assert.deepEqual(await Promise.all(appends), [21, 22])
    await heard(22)
    assert.deepEqual(idsOf(seen.slice(20)), ['w2-1', 'w2-2'])
    const other = await open(context, 'killed')
    const { messages } = await readAll(other.log, await cursorAt(log, 0), main)
    assert.deepEqual(seqsOf(messages), countTo(22))
  })

  test(`${name}: while the broker is away an append is refused after a delay, and stored when it is repeated`, async (context) => {
    const { log } = await open(context, 'away')
    await fill(log, 3)
    await broker.kill()
    const appends = ['w2-1', 'w2-2'].map((id) => log.append(draft(id), startMs))
    await Promise.all(
      appends.map((append) => assert.rejects(async () => append, { code: 'log-unavailable' })),
    )
    await broker.restart()
    const again = ['w2-1', 'w2-2'].map((id) => appendUntilStored(log, draft(id)))
    assert.deepEqual(await Promise.all(again), [4, 5])
  })
}

/** As windows do. */
export async function appendUntilStored(log: Log, one: Draft): Promise<number> {
  for (;;) {
    try {
      return await log.append(one, startMs)
    } catch (error) {
      if (!isRefusal(error, 'log-unavailable')) throw error
    }
  }
}
