// Contract tests for all logs.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Draft, isKind, type Message, parseCursor } from '../../protocol/messages.ts'
import { isRefusal } from '../../protocol/refusal.ts'
import type { Keep } from '../channels/channel-type.ts'
import { testChanges } from './change-contract.ts'
import { testDeletion, testErasure } from './deletion-contract.ts'
import { foldAt } from './folding.ts'
import { KeptJson } from './kept-json.ts'
import { type CatchUp, hourMs, type Log, type LogParts } from './log.ts'
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
  readPortions,
  readUpdates,
  seqsOf,
  settled,
  startMs,
  type TestLog,
  toyFold,
  toyTypes,
  updateDraft,
} from './log-testing.ts'
import { portion as most } from './recent-messages.ts'

/** `open` creates an empty log, which keeps JSON as bytes unless another process does. */
export function testLogContract(
  name: string,
  open: (parts: LogParts, context: TestContext) => Log | Promise<Log>,
  keepsBytes = true,
): void {
  const testLog: TestLog = (says, run, limits = {}, types = {}) => {
    test(`${name}: ${says}`, async (context) => {
      let time = startMs
      const failures: unknown[] = []
      const parts = {
        limits: { ...ampleLimits, ...limits },
        typeOf: toyTypes(types),
        now: () => time,
        print: (sentence: string) => context.diagnostic(sentence),
      }
      // Registered first, so that the log closes before `open` removes its files.
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

  const topics = [
    testOrder,
    testReading,
    testPortions,
    testBackwards,
    testFollowers,
    testLimits,
    testKeeping,
    testShares,
    testFolding,
    testFoldingAtWork,
    testDeletion,
    testErasure,
    testChanges,
    testClosing,
  ]
  for (const testTopic of topics) testTopic(testLog)
  testJson(testLog, keepsBytes)
}

function testOrder(testLog: TestLog): void {
  testLog('numbers messages in order, without a gap, and keeps them whole', async ({ log, seen }) => {
    const seqs = [await log.append(draft('w1-1'), 2000.25), await log.append(draft('w2-1'), 2001)]
    assert.deepEqual(seqs, [1, 2])
    assert.deepEqual(seen[0], { ...draft('w1-1'), seq: 1, acceptedAt: 2000.25 })
  })

  testLog('keeps the order of many concurrent appends', async ({ log, seen }) => {
    const seqs = await Promise.all(countTo(300).map((n) => log.append(draft(`w1-${n}`), startMs)))
    assert.deepEqual(seqs, countTo(300))
    assert.deepEqual(
      idsOf(seen),
      countTo(300).map((n) => `w1-${n}`),
    )
  })

  testLog('notifies followers before it acknowledges', async ({ log, seen }) => {
    const told = await Promise.all(
      countTo(20).map(async (n) => {
        const seq = await log.append(draft(`w1-${n}`), startMs)
        return seen.some((message) => message.seq === seq)
      }),
    )
    assert.ok(told.every(Boolean))
  })

  testLog('stores the same draft once and acknowledges it twice', async ({ log, seen }) => {
    await log.append(draft('w1-0'), 1)
    assert.equal(await log.append(draft('w1-1'), 1), await log.append(draft('w1-1'), 2))
    assert.equal(await log.append(draft('w1-2'), 3), 3)
    assert.deepEqual(idsOf(seen), ['w1-0', 'w1-1', 'w1-2'])
  })

  testLog('treats an id with another sender or channel as another message', async ({ log, seen }) => {
    const others = [draft('x', 'x', 'notes'), draft('x'), { ...draft('x'), from: 'w2' }]
    const fresh = draft('y', 'y', 'notes')
    for (const [index, one] of others.entries()) assert.equal(await log.append(one, 1), index + 1)
    const again = [...others, fresh, { ...fresh, channel: 'main' }].map((one) => log.append(one, 2))
    assert.deepEqual(await Promise.all(again), [1, 2, 3, 4, 5])
    assert.deepEqual(
      seen.map(({ from, channel, id }) => `${from} ${channel} ${id}`),
      ['w1 notes x', 'w1 main x', 'w2 main x', 'w1 notes y', 'w1 main y'],
    )
  })

  testLog('refuses a used id with any other content by name, and stores nothing', async ({ log, seen }) => {
    await log.append(draft('w1-1'), 1)
    const others = [
      draft('w1-1', 'else'),
      { ...draft('w1-1'), at: 1001 },
      { ...draft('w1-1'), kind: 'sensor' } as const,
    ]
    for (const other of others) {
      await assert.rejects(
        async () => log.append(other, 2),
        (error) => isRefusal(error, 'id-taken') && /"w1".*"w1-1".*"main"/.test(error.message),
      )
    }
    const atOnce = [
      log.append(draft('w1-2'), 3),
      log.append(draft('w1-2', 'else'), 3),
      log.append(draft('w1-3'), 3),
    ]
    const ends = await Promise.allSettled(atOnce)
    assert.deepEqual(
      ends.map((end) => (end.status === 'fulfilled' ? end.value : end.reason.code)),
      [2, 'id-taken', 3],
    )
    assert.deepEqual(idsOf(seen), ['w1-1', 'w1-2', 'w1-3'])
  })

  testLog('finds a message by id, sender and channel, even while it is being stored', async ({ log }) => {
    const wanted = draft('w1-1')
    assert.equal(await log.find(wanted), null)
    const stored = log.append(wanted, 1)
    const found = await log.find(wanted)
    assert.deepEqual(found, { ...wanted, seq: await stored, acceptedAt: 1 })
    for (const other of [{ id: 'w1-2' }, { from: 'w2' }, { channel: 'notes' }])
      assert.equal(await log.find({ ...wanted, ...other }), null)
  })

  testLog('stores the same draft once when both appends are in progress', async ({ log, seen }) => {
    const drafts = ['w1-1', 'w1-2', 'w1-1', 'w1-3', 'w1-2'].map((id) => log.append(draft(id), 1))
    assert.deepEqual(await Promise.all(drafts), [1, 2, 1, 3, 2])
    assert.deepEqual(seqsOf(seen), [1, 2, 3])
  })
}

function testReading(testLog: TestLog): void {
  testLog('reads exactly what follows a cursor, on the requested channels', async ({ log, cursors }) => {
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

  testLog('returns the snapshot when it cannot resume, and says so', async ({ log }) => {
    await log.append(draft('w1-1', 'old'), 1)
    await log.append(draft('w1-2', 'new'), 1)
    const beyond = await cursorAt(log, 9)
    for (const cursor of [null, { epoch: 'another', seq: 1 }, beyond]) {
      const { recovered, messages } = await log.read(cursor, main)
      assert.deepEqual([recovered, idsOf(messages)], [false, ['w1-2']])
    }
  })

  testLog('returns a snapshot of the newest of each channel and kind, in order', async ({ log }) => {
    assert.deepEqual((await log.snapshot(main)).messages, [])
    await log.append({ ...draft('w1-1', 'x', 'other'), kind: 'sensor' }, 1)
    await log.append(draft('w1-2', 'x', 'other'), 1)
    await log.append(draft('w1-3'), 1)
    await log.append(draft('w1-4', 'x', 'other'), 1)
    const both = await log.snapshot(new Set(['other', 'main', 'never']))
    assert.deepEqual([idsOf(both.messages), both.head.seq], [['w1-1', 'w1-3', 'w1-4'], 4])
    assert.deepEqual(idsOf((await log.snapshot(main)).messages), ['w1-3'])
  })

  testLog('reports the newest number of each channel', async ({ log }) => {
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

  testLog('neither misses nor repeats messages appended during a read', async ({ log, seen }) => {
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

const roomy = { messages: 10_000, bytes: 100_000_000 }
const endless = Number.MAX_SAFE_INTEGER

function testPortions(testLog: TestLog): void {
  testLog(
    'returns portions without a gap or a repeat while messages are appended',
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
    'limits a portion by bytes, or to one larger message',
    async ({ log }) => {
      // Two and three bytes per character: distinguishes bytes from characters.
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
    'returns a portion without messages for these channels, with a cursor to continue',
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
    'returns the snapshot when the next portion was forgotten between two reads',
    async ({ log }) => {
      await fillAtOnce(log, 1200)
      const { recovered, reached } = await log.read(await cursorAt(log, 0), main)
      assert.ok(recovered && reached.seq < 1200)
      await fillAtOnce(log, 1200, 'w2')
      const forgotten = await log.read(reached, main)
      assert.deepEqual([forgotten.recovered, idsOf(forgotten.messages)], [false, ['w2-1200']])
      assert.deepEqual([forgotten.reached, forgotten.head.seq], [forgotten.head, 2400])
    },
    { ...roomy, messages: 1200 },
  )

  testLog('ends both a full read and a snapshot at the head', async ({ log }) => {
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

function testBackwards(testLog: TestLog): void {
  testLog(
    'reads a channel backwards in portions, each in order, to its oldest message',
    async ({ log }) => {
      for (let n = 1; n <= 120; n += 1) {
        await log.append(draft(`w1-${n}`), 1)
        await log.append(draft(`w2-${n}`, 'x', 'other'), 1)
      }
      const ids: string[] = []
      const counts: number[] = []
      for (let before = endless, isOldest = false; !isOldest; ) {
        const found = await log.readBefore('main', before, 50)
        assert.equal(found.head.seq, 240)
        ids.unshift(...idsOf(found.messages))
        counts.push(found.messages.length)
        isOldest = found.isOldest
        before = found.messages[0]?.seq ?? 0
      }
      assert.deepEqual(counts, [50, 50, 20])
      assert.deepEqual(
        ids,
        countTo(120).map((n) => `w1-${n}`),
      )
      assert.deepEqual(seqsOf((await log.readBefore('main', 7, 2)).messages), [3, 5])
      assert.deepEqual(await log.readBefore('never', 9, 50), {
        messages: [],
        isOldest: true,
        head: await cursorAt(log, 240),
      })
    },
    roomy,
  )

  testLog(
    'limits a portion that is read backwards by bytes, or to one larger message',
    async ({ log }) => {
      await fillAtOnce(log, 3, 'w1', 'x'.repeat(400_000))
      await log.append(draft('large', 'x'.repeat(most.bytes)), 1)
      const portions: number[][] = []
      for (let before = endless, isOldest = false; !isOldest; ) {
        const found = await log.readBefore('main', before, 50)
        portions.push(seqsOf(found.messages))
        isOldest = found.isOldest
        before = found.messages[0]?.seq ?? 0
      }
      assert.deepEqual(portions, [[4], [2, 3], [1]])
    },
    roomy,
  )

  testLog(
    'reads backwards to what the channel has not dropped, and to what stays',
    async ({ log, advance }) => {
      await log.append({ ...draft('w1-0'), kind: 'sensor' }, startMs)
      await fill(log, 10)
      const { messages, isOldest } = await log.readBefore('main', endless, 50)
      assert.deepEqual([seqsOf(messages), isOldest], [[1, 9, 10, 11], true])
      advance(10_000)
      assert.deepEqual(seqsOf((await log.readBefore('main', endless, 50)).messages), [1, 11])
    },
    { messages: 3, ageMs: 1000 },
  )

  testLog('finds the place of a time on a channel', async ({ log }) => {
    for (const n of countTo(20)) {
      await log.append(draft(`w1-${n}`), startMs + 10 * n)
      await log.append(draft(`w2-${n}`, 'x', 'other'), startMs + 10 * n)
    }
    for (const [at, first] of [
      [startMs, 1],
      [startMs + 10, 1],
      [startMs + 95, 19],
      [startMs + 200, 39],
    ] as const) {
      const index = await log.numberAt('main', at)
      const { messages } = await log.read(await cursorAt(log, index), main)
      assert.equal(messages[0]?.seq, first, `at ${at}`)
    }
    for (const late of [await log.numberAt('main', startMs + 201), await log.numberAt('never', 1)])
      assert.deepEqual((await log.read(await cursorAt(log, late), main)).messages, [])
  })

  testLog('lists the channels by prefix, the newest first, in portions', async ({ log }) => {
    for (const channel of ['room.1', 'room.2', 'main', 'room.1', 'room.3'])
      await log.append(draft(`w-${channel}${(await log.channels('', endless, 9)).length}`, 'xx', channel), 1)
    const namesOf = async (...which: Parameters<Log['channels']>) =>
      (await log.channels(...which)).map(({ name }) => name)
    assert.deepEqual(await namesOf('', endless, 9), ['room.3', 'room.1', 'main', 'room.2'])
    assert.deepEqual(await namesOf('room.', endless, 2), ['room.3', 'room.1'])
    assert.deepEqual(await namesOf('room.', 4, 2), ['room.2'])
    const [first] = await log.channels('room.1', endless, 9)
    assert.deepEqual(first, { name: 'room.1', head: 4, messages: 2, bytes: 26 })
  })
}

function testFollowers(testLog: TestLog): void {
  testLog('does not notify a follower that left', async ({ log }) => {
    const heard: Message[] = []
    const leave = log.follow((message) => heard.push(message))
    await fill(log, 1)
    leave()
    await fill(log, 1, 'w2')
    assert.deepEqual(idsOf(heard), ['w1-1'])
  })

  testLog('does not notify a follower that another one removes during a notification', async ({ log }) => {
    const heard: Message[] = []
    const leaving: (() => void)[] = []
    log.follow(() => {
      for (const leave of leaving) leave()
    })
    leaving.push(log.follow((message) => heard.push(message)))
    await fill(log, 1)
    assert.deepEqual(heard, [])
  })

  testLog(
    'loses no number and skips no other follower when a follower throws',
    async ({ log, seen, failures }) => {
      const error = new Error('thrown by a follower')
      const leave = log.follow(() => {
        throw error
      })
      const heard: Message[] = []
      log.follow((message) => heard.push(message))
      assert.deepEqual(
        await Promise.all([log.append(draft('w1-1'), 1), log.append(draft('w1-2'), 1)]),
        [1, 2],
      )
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
    },
  )

  testLog('allows a follower to append, and notifies all of both messages in order', async ({ log }) => {
    const answers: (number | Promise<number>)[] = []
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

  testLog(
    'notifies a follower that is added during a notification from the next message on',
    async ({ log }) => {
      const heard: Message[] = []
      const leave = log.follow(({ seq }) => {
        leave()
        assert.equal(log.heads().get('main'), seq)
        log.follow((message) => heard.push(message))
      })
      await Promise.all(countTo(5).map((n) => log.append(draft(`w1-${n}`), 1)))
      assert.deepEqual(seqsOf(heard), [2, 3, 4, 5])
    },
  )
}

function testLimits(testLog: TestLog): void {
  testLog(
    'holds at most logMessages messages',
    async ({ log }) => {
      await fill(log, 5)
      const held = await readAll(log, await cursorAt(log, 2), main)
      assert.deepEqual([held.recovered, seqsOf(held.messages)], [true, [3, 4, 5]])
      const missed = await log.read(await cursorAt(log, 1), main)
      assert.deepEqual([missed.recovered, seqsOf(missed.messages)], [false, [5]])
    },
    { messages: 3 },
  )

  testLog(
    'holds at most logBytes bytes, and always the newest message',
    async ({ log }) => {
      // {"html":"é…"}: 11 bytes plus two per é.
      await fill(log, 5, 'w1', 'é'.repeat(45))
      assert.equal((await log.read(await cursorAt(log, 2), main)).recovered, true)
      assert.equal((await log.read(await cursorAt(log, 1), main)).recovered, false)
      await log.append(draft('w2-1', 'x'.repeat(1000)), 1)
      const last = await log.read(await cursorAt(log, 5), main)
      assert.deepEqual([last.recovered, seqsOf(last.messages)], [true, [6]])
      assert.equal((await log.read(await cursorAt(log, 4), main)).recovered, false)
    },
    { bytes: 303 },
  )

  testLog(
    'holds messages for logAgeMs, even when none arrive',
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
    { ageMs: 1000 },
  )

  testLog(
    'keeps the snapshot beyond the limits, and recognises its ids',
    async ({ log, advance }) => {
      await log.append(draft('w1-0', 'x', 'quiet'), startMs)
      await fill(log, 400)
      advance(10_000)
      await fill(log, 400, 'w2')
      assert.deepEqual(idsOf((await log.snapshot(new Set(['quiet', 'main']))).messages), ['w1-0', 'w2-400'])
      assert.equal(await log.append(draft('w1-0', 'x', 'quiet'), startMs), 1)
      await assert.rejects(async () => log.append(draft('w1-0', 'else', 'quiet'), startMs), {
        code: 'id-taken',
      })
    },
    { messages: 3, ageMs: 1000 },
  )

  testLog(
    'accepts at most maxChannels channels, and stores nothing for another',
    async ({ log, seen }) => {
      await log.append(draft('w1-1', 'x', 'a'), 1)
      const both = [log.append(draft('w1-2', 'x', 'b'), 1), log.append(draft('w1-3', 'x', 'c'), 1)]
      await assert.rejects(
        Promise.all(both),
        (error) => isRefusal(error, 'too-many-channels') && /"c"/.test(error.message),
      )
      assert.equal(await both[0], 2)
      await assert.rejects(async () => log.append(draft('w1-3', 'x', 'c'), 1), { code: 'too-many-channels' })
      assert.equal(await log.append(draft('w1-4', 'x', 'b'), 1), 3)
      assert.deepEqual(idsOf(seen), ['w1-1', 'w1-2', 'w1-4'])
      assert.deepEqual((await log.snapshot(new Set(['c']))).messages, [])
    },
    { maxChannels: 2 },
  )
}

const keepFew = (keep: Keep) => (channel: string) => (channel === 'main' ? keep : undefined)

function testKeeping(testLog: TestLog): void {
  for (const [says, bounds, isOld] of [
    ['messages', { messages: 100 }, false],
    ['bytes', { bytes: 1200 }, false],
    ['hours', { hours: 500 / hourMs }, true],
  ] as const)
    testLog(
      `a channel keeps fewer ${says} than the log; the other channels do not`,
      async ({ log, advance }) => {
        for (let n = 1; n <= 300; n += 1) {
          if (n === 201 && isOld) advance(1000)
          const at = startMs + (n > 200 && isOld ? 1000 : 0)
          await log.append(draft(`w1-${n}`, 'x'), at)
          await log.append(draft(`w2-${n}`, 'x', 'other'), at)
        }
        const { after } = await log.oldest('main', 'edit')
        const kept = await readAll(log, after, main)
        const ids = countTo(100).map((n) => `w1-${200 + n}`)
        assert.deepEqual([kept.recovered, idsOf(kept.messages)], [true, ids])
        const early = await log.read({ ...after, seq: after.seq - 1 }, main)
        assert.deepEqual([early.recovered, idsOf(early.messages)], [false, ['w1-300']])
        const other = await readAll(log, { ...after, seq: 0 }, new Set(['other']))
        assert.deepEqual([other.recovered, other.messages.length], [true, 300])
        const both = await readAll(log, after, new Set(['main', 'other']))
        assert.deepEqual([both.recovered, both.messages.length], [true, 201])
        assert.equal(await log.append(draft('w1-300', 'x'), startMs), 599, 'a repeat')
      },
      {},
      { keepOn: keepFew(bounds) },
    )

  testLog(
    'the newest message of a channel stays, however old and large',
    async ({ log, advance }) => {
      await log.append(draft('w1-1', 'x'.repeat(1000)), startMs)
      advance(1000)
      const { recovered, messages } = await readAll(log, await cursorAt(log, 0), main)
      assert.deepEqual([recovered, idsOf(messages)], [true, ['w1-1']])
      await log.append(draft('w1-2'), startMs + 1000)
      assert.equal((await log.read(await cursorAt(log, 0), main)).recovered, false)
    },
    {},
    { keepOn: keepFew({ bytes: 10, hours: 500 / hourMs }) },
  )
}

const victim = new Set(['victim'])
const room = { messages: 300, bytes: 300_000 }

function testShares(testLog: TestLog): void {
  for (const [says, count, html] of [
    ['many small messages', 1000, 'x'],
    ['large messages', 40, 'x'.repeat(30_000)],
  ] as const)
    for (const keepOn of [undefined, () => room])
      testLog(
        `a flood of ${says} shortens no other channel${keepOn ? ', with limits of its own or without' : ''}`,
        async ({ log }) => {
          const start = await cursorAt(log, 0)
          for (const n of countTo(100)) await log.append(draft(`w1-${n}`, 'x', 'victim'), startMs)
          for (let n = 0; n < count; n += 100)
            await fillAtOnce(log, Math.min(100, count - n), `e${n}`, html, 'evil')
          await settled()
          const { recovered, messages } = await readAll(log, start, victim)
          assert.deepEqual([recovered, seqsOf(messages)], [true, countTo(100)])
          assert.equal((await log.oldest('victim', 'edit')).after.seq, 0)
          assert.equal((await log.read(start, new Set(['evil']))).recovered, false)
          const { after } = await log.oldest('evil', 'edit')
          const evil = await readAll(log, after, new Set(['evil']))
          assert.ok(evil.recovered && evil.messages.length > 0 && evil.messages.length <= 200)
          assert.equal(evil.messages.at(-1)?.seq, 100 + count)
        },
        room,
        { keepOn },
      )

  testLog(
    'a user who fills many channels loses messages there first, not in a larger channel of others',
    async ({ log }) => {
      const json = (id: string, channel: string, user: string): Draft => ({
        ...draft(id, '', channel),
        kind: 'json',
        body: { data: 'x'.repeat(1000), user },
      })
      for (const n of countTo(20)) await log.append(json(`a-${n}`, 'victim', 'ann'), startMs)
      for (const n of countTo(400)) await log.append(json(`e-${n}`, `evil.${n % 40}`, 'eve'), startMs)
      const { recovered, messages } = await readAll(log, await cursorAt(log, 0), victim)
      assert.deepEqual([recovered, messages.length], [true, 20])
    },
    { messages: 300, bytes: 100_000, maxChannels: 50 },
  )
}

function testJson(testLog: TestLog, keepsBytes: boolean): void {
  testLog(
    `${keepsBytes ? 'keeps JSON as bytes, and ' : ''}delivers JSON unchanged`,
    async ({ log, seen }) => {
      const body = { data: [null, { 'é€': [{}, {}] }], user: 'ann' }
      const sent: Draft = { ...draft('w1-1'), kind: 'json', body }
      const stored = { ...sent, seq: 1, acceptedAt: startMs }
      assert.equal(await log.append(sent, startMs), 1)
      assert.equal(await log.append(sent, startMs), 1, 'a repeat')
      await assert.rejects(async () => log.append({ ...sent, body: { ...body, user: 'bob' } }, startMs), {
        code: 'id-taken',
      })
      const { messages } = await log.read(await cursorAt(log, 0), main)
      const snapshot = await log.snapshot(main)
      for (const found of [seen[0], messages[0], snapshot.messages[0], await log.find(sent)]) {
        assert.deepEqual(JSON.parse(JSON.stringify(found)), stored)
        if (!keepsBytes) continue
        assert.ok(found?.body instanceof KeptJson)
        assert.equal(found.body.writer, 'ann')
      }
    },
  )
}

function testFolding(testLog: TestLog): void {
  testLog(
    'keeps all messages of a cumulative kind in a snapshot, and the newest of others',
    async ({ log }) => {
      await log.append(updateDraft('w1-1'), 1)
      await log.append(draft('w1-2'), 1)
      await log.append(updateDraft('w1-3'), 1)
      await log.append(draft('w1-4'), 1)
      await log.append(updateDraft('w1-5', 'x', 'other'), 1)
      const { messages } = await log.snapshot(main)
      assert.deepEqual(idsOf(messages), ['w1-1', 'w1-3', 'w1-4'])
      assert.deepEqual((await log.read(null, main)).messages, messages)
      assert.deepEqual(seqsOf((await readAll(log, await cursorAt(log, 2), main)).messages), [3, 4])
    },
  )

  testLog(
    'joins many messages in a base with the envelope of its newest; later ones follow',
    async ({ log }) => {
      const first = await fillUpdates(log, foldAt.messages)
      const { updates: joined } = await readUpdates(log)
      assert.deepEqual(joined, [
        {
          ...updateDraft(`w1-${foldAt.messages}`, first),
          seq: foldAt.messages,
          acceptedAt: startMs,
        },
      ])
      const second = await fillUpdates(log, 3, 'w2')
      const { updates, text } = await readUpdates(log)
      assert.deepEqual([seqsOf(updates), text], [[500, 501, 502, 503], first + second])
      const third = await fillUpdates(log, 2 * foldAt.messages, 'w3')
      const later = await readUpdates(log)
      // A log that receives the messages one by one may fold before the last of them.
      assert.ok(later.updates.length < foldAt.messages, `${later.updates.length} are in no base`)
      assert.equal(later.text, first + second + third)
    },
    roomy,
  )

  testLog('joins large messages sooner, and folds into a large base less often', async ({ log }) => {
    const large = 'x'.repeat(foldAt.bytes)
    await log.append(updateDraft('w1-1', large), 1)
    await log.append(updateDraft('w1-2', large), 1)
    for (const _turn of [1, 2]) await settled()
    await fillUpdates(log, 2, 'w2')
    assert.deepEqual(seqsOf((await readUpdates(log)).updates), [2, 3, 4])
    await fillUpdates(log, foldAt.messages, 'w3')
    assert.equal((await readUpdates(log)).updates.length, 503)
  })

  testLog(
    'removes nothing from a snapshot, which has each message once, whatever was dropped',
    async ({ log, advance }) => {
      const texts = [await fillUpdates(log, 1, 'w0', 'quiet')]
      let written = ''
      for (const round of countTo(6)) {
        written += await fillUpdates(log, 300, `w${round}`)
        advance(10_000)
        await fillAtOnce(log, 300, `e${round}`)
        assert.equal((await readUpdates(log)).text, written)
      }
      texts.push((await readUpdates(log, 'quiet')).text)
      assert.deepEqual(texts, ['w0-1 ', 'w0-1 '])
      assert.equal((await log.read(await cursorAt(log, 1), main)).recovered, false)
    },
    { messages: 3, ageMs: 1000 },
  )

  testLog(
    'recognises the id of a message that is in no base yet, whatever was dropped',
    async ({ log, advance }) => {
      await log.append(updateDraft('w1-1'), startMs)
      await log.append(updateDraft('w1-2'), startMs)
      await fill(log, 20, 'w2')
      advance(10_000)
      await fill(log, 20, 'w3')
      assert.equal(await log.append(updateDraft('w1-1'), startMs), 1)
      await assert.rejects(async () => log.append(updateDraft('w1-2', 'else'), startMs), { code: 'id-taken' })
    },
    { messages: 3, ageMs: 1000 },
  )
}

function testFoldingAtWork(testLog: TestLog): void {
  testLog(
    'begins the history of a cumulative kind with a base that lacks no erased message',
    async ({ log }) => {
      const whole = async () => {
        const { base, messages: first, after } = await log.oldest('main', 'update')
        const { recovered, messages } = await readAll(log, after, main)
        assert.ok(recovered, 'the log does not reach back to the base')
        const [start = '', ...updates] = textsOf([base, ...first, ...messages])
        return { start, count: updates.length, text: start + updates.join('') }
      }
      let written = ''
      assert.deepEqual(await whole(), { start: '', count: 0, text: '' })
      for (let round = 1; round <= 4; round += 1) {
        written += await fillUpdates(log, foldAt.messages / 2, `w${round}`)
        const { count, text } = await whole()
        assert.equal(text, written)
        assert.ok(count >= round * 250 - 1, `${count} are there`)
      }
      // Erases the first ones.
      const limit = 2 * foldAt.messages
      for (let round = 5; round <= 16; round += 1) {
        written += await fillUpdates(log, foldAt.messages / 2, `w${round}`)
        const { start, count, text } = await whole()
        assert.equal(text, written)
        assert.ok(start !== '', 'what was erased is in no base')
        // Past bases are 500 messages apart.
        assert.ok(count >= limit - foldAt.messages && count <= limit + foldAt.messages, `${count} are there`)
      }
      assert.equal((await log.oldest('elsewhere', 'update')).base, null)
      // A few messages in a document that rests while others change.
      const few = await fillUpdates(log, 20, 'few', 'quiet')
      for (let round = 1; round <= 3; round += 1) {
        await fillAtOnce(log, 490, `e${round}`)
        for (const _turn of [1, 2, 3, 4]) await settled()
        const { base, messages: first, after } = await log.oldest('quiet', 'update')
        const { messages } = await readAll(log, after, new Set(['quiet']))
        assert.equal(textsOf([base, ...first, ...messages]).join(''), few)
      }
    },
    { messages: 2 * foldAt.messages, bytes: 100_000_000 },
  )

  testLog(
    'puts messages appended during a fold after the base',
    async ({ log }) => {
      const first = await fillUpdates(log, foldAt.messages)
      assert.equal((await readUpdates(log)).updates.length, foldAt.messages)
      const second = await fillUpdates(log, 10, 'w2')
      await settled()
      for (const release of held.splice(0)) await release()
      await settled()
      const { updates, text } = await readUpdates(log)
      assert.deepEqual([updates.length, text], [11, first + second])
    },
    roomy,
    { fold: (messages) => new Promise((resolve) => held.push(async () => resolve(await toyFold(messages)))) },
  )

  testLog(
    'reports a failed fold and loses nothing',
    async ({ log, failures }) => {
      const written = await fillUpdates(log, 600)
      await fillAtOnce(log, 600, 'w2')
      assert.equal((await readUpdates(log)).text, written)
      for (const failure of failures) {
        assert.match(String(failure), /"update" on "main" could not be joined/)
        assert.equal(failure instanceof Error && failure.cause, unfoldable)
      }
      assert.ok([1, 2].includes(failures.length), `${failures.length} attempts`)
    },
    { messages: 3 },
    {
      fold() {
        throw unfoldable
      },
    },
  )
}

const held: (() => Promise<void>)[] = []
const textsOf = (messages: readonly (Message | null)[]) =>
  messages.flatMap((message) => (message && isKind(message, 'update') ? [message.body.update] : []))

const unfoldable = new Error('thrown by a fold')

function testClosing(testLog: TestLog): void {
  testLog('stores pending drafts when closing, then refuses more', async ({ log, seen }) => {
    const appends = countTo(3).map((n) => log.append(draft(`w1-${n}`), 1))
    const closing = log.close()
    const late = assert.rejects(async () => log.append(draft('w1-4'), 1), { code: 'draining' })
    await closing
    await late
    assert.deepEqual(await Promise.all(appends), [1, 2, 3])
    assert.deepEqual(seqsOf(seen), [1, 2, 3])
    await assert.rejects(async () => log.append(draft('w1-5'), 1), { code: 'draining' })
    await assert.rejects(log.read(null, main), { code: 'draining' })
    await assert.rejects(log.snapshot(main), { code: 'draining' })
    await log.close()
  })
}
