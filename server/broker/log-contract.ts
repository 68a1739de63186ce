// What every log must do, whatever keeps it: one suite of tests for all of them.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Cursor, parseCursor } from '../wire/cursor.ts'
import type { Draft, Message } from '../wire/envelope.ts'
import type { Clock } from '../wire/time.ts'
import { type Log, LogClosed, type LogLimits, type OnFailure, TooManyChannels } from './log.ts'

export function draft(id: string, html = id, channel = 'main'): Draft<'edit'> {
  return { id, channel, kind: 'edit', from: 'w1', at: 1000.5, body: { html } }
}

/** Enough for every test that is not about limits. */
export const ampleLimits: LogLimits = {
  logMessages: 1000,
  logBytes: 1_000_000,
  logAgeMs: 3_600_000,
  maxChannels: 10,
}

export interface LogParts {
  readonly limits: LogLimits
  readonly now: Clock
  readonly onFailure: OnFailure
}

/** Opens a new, empty log. */
export type OpenLog = (parts: LogParts, context: TestContext) => Log | Promise<Log>

interface Bench {
  readonly log: Log
  readonly failures: unknown[]
  /** All that followers were told. */
  readonly seen: Message[]
  readonly cursors: string[]
  /** Moves the log's clock, ms. */
  readonly advance: (byMs: number) => void
}

export const main = new Set(['main'])
export const idsOf = (messages: readonly Message[]) => messages.map(({ id }) => id)
export const seqsOf = (messages: readonly Message[]) => messages.map(({ seq }) => seq)
const startMs = 2000

export function testLogContract(name: string, open: OpenLog): void {
  function testLog(
    says: string,
    run: (bench: Bench) => Promise<void>,
    limits: Partial<LogLimits> = {},
  ): void {
    test(`${name}: ${says}`, async (context) => {
      let time = startMs
      const failures: unknown[] = []
      const parts = { limits: { ...ampleLimits, ...limits }, now: () => time }
      // First, so that it is closed before `open` clears its place away.
      context.after(() => log?.close())
      const log = await open({ ...parts, onFailure: (error) => void failures.push(error) }, context)
      const seen: Message[] = []
      const cursors: string[] = []
      const advance = (byMs: number) => {
        time += byMs
      }
      log.follow((message, cursor) => {
        seen.push(message)
        cursors.push(cursor)
      })
      await run({ log, failures, seen, cursors, advance })
    })
  }

  testOrder(testLog)
  testReading(testLog)
  testFollowers(testLog)
  testLimits(testLog)
  testClosing(testLog)
}

type TestLog = (says: string, run: (bench: Bench) => Promise<void>, limits?: Partial<LogLimits>) => void

/** Appends `PREFIX-1` to `PREFIX-COUNT`, one after the other. */
async function fill(log: Log, count: number, prefix = 'w1', html = 'x'): Promise<void> {
  for (let n = 1; n <= count; n += 1) await log.append(draft(`${prefix}-${n}`, html), startMs)
}

const countTo = (count: number) => Array.from({ length: count }, (_nothing, place) => place + 1)

/** The epoch, and the place after `seq`. */
async function cursorAt(log: Log, seq: number): Promise<Cursor> {
  const { head } = await log.snapshot(main)
  return { epoch: head.epoch, seq }
}

function testOrder(testLog: TestLog): void {
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

function testReading(testLog: TestLog): void {
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
    const reading = log.read(start, main)
    appends.push(...countTo(20).map((n) => log.append(draft(`w3-${n}`), 1)))
    const { recovered, messages, head } = await reading
    await Promise.all(appends)
    const followed = seen.filter(({ seq }) => seq > head.seq)
    assert.equal(recovered, true)
    assert.deepEqual(seqsOf([...messages, ...followed]), countTo(90).slice(10))
  })
}

function testFollowers(testLog: TestLog): void {
  testLog('a follower that left hears nothing', async ({ log }) => {
    const heard: Message[] = []
    const leave = log.follow((message) => heard.push(message))
    await fill(log, 1)
    leave()
    await fill(log, 1, 'w2')
    assert.deepEqual(idsOf(heard), ['w1-1'])
  })

  testLog('a follower that throws costs no number and nobody else', async ({ log, seen, failures }) => {
    const error = new Error('thrown by a follower')
    const leave = log.follow(() => {
      throw error
    })
    const heard: Message[] = []
    log.follow((message) => heard.push(message))
    assert.deepEqual(await Promise.all([log.append(draft('w1-1'), 1), log.append(draft('w1-2'), 1)]), [1, 2])
    leave()
    assert.equal(await log.append(draft('w1-3'), 1), 3)
    assert.deepEqual(
      [seqsOf(seen), seqsOf(heard)],
      [
        [1, 2, 3],
        [1, 2, 3],
      ],
    )
    assert.deepEqual(failures, [error, error])
  })

  testLog('a follower may append, and all hear both in order', async ({ log }) => {
    const answers: Promise<number>[] = []
    const leave = log.follow(({ seq }) => {
      leave()
      for (const _twice of [1, 2]) answers.push(log.append(draft(`answer-${seq}`), 1))
    })
    const heard: Message[] = []
    log.follow((message) => heard.push(message))
    await fill(log, 1)
    assert.deepEqual(await Promise.all(answers), [2, 2])
    assert.deepEqual(idsOf(heard), ['w1-1', 'answer-1'])
  })

  testLog('who follows while messages are told begins after the newest told', async ({ log }) => {
    const heard: Message[] = []
    const leave = log.follow(({ seq }) => {
      leave()
      assert.equal(log.heads().get('main'), seq)
      log.follow((message) => heard.push(message))
    })
    await Promise.all(countTo(5).map((n) => log.append(draft(`w1-${n}`), 1)))
    assert.deepEqual(seqsOf(heard), [2, 3, 4, 5])
  })
}

function testLimits(testLog: TestLog): void {
  testLog(
    'holds so many messages',
    async ({ log }) => {
      await fill(log, 5)
      const reached = await log.read(await cursorAt(log, 2), main)
      assert.deepEqual([reached.recovered, seqsOf(reached.messages)], [true, [3, 4, 5]])
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

function testClosing(testLog: TestLog): void {
  testLog('closing stores what is under way, then nothing is taken', async ({ log, seen }) => {
    const appends = countTo(3).map((n) => log.append(draft(`w1-${n}`), 1))
    const closing = log.close()
    const late = assert.rejects(log.append(draft('w1-4'), 1), LogClosed)
    await closing
    await late
    assert.deepEqual(await Promise.all(appends), [1, 2, 3])
    assert.deepEqual(seqsOf(seen), [1, 2, 3])
    await assert.rejects(log.append(draft('w1-5'), 1), LogClosed)
    await assert.rejects(log.read(null, main), LogClosed)
    await assert.rejects(log.snapshot(main), LogClosed)
    await log.close()
  })
}
