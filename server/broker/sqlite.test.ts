import assert from 'node:assert/strict'
import { copyFileSync, statSync, truncateSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { createSeededRandom } from '../wire/random.ts'
import { readBootId } from './boot.ts'
import { type Log, LogClosed } from './log.ts'
import { ampleLimits, draft, idsOf, main, seqsOf, testLogContract } from './log-contract.ts'
import { testPersistence } from './persistence-contract.ts'
import { createSqliteLog, openSqliteLog, type SqliteLogParts } from './sqlite.ts'
import { openLogFile } from './sqlite-file.ts'
import { appenderFor, newFile } from './sqlite-testing.ts'

const given = {
  limits: ampleLimits,
  durability: 'process',
  now: () => 2000,
  random: createSeededRandom(5),
  onFailure: (error) => assert.fail(String(error)),
  bootId: 'boot1',
} satisfies Omit<SqliteLogParts, 'file'>

/** A few messages in memory, so that nearly everything is read from the file. */
const littleMemory = { messages: 2, bytes: 100 }

testLogContract('sqlite', (parts, context) => openSqliteLog({ ...given, ...parts, file: newFile(context) }))
testLogContract('sqlite, little memory', (parts, context) =>
  openSqliteLog({ ...given, ...parts, file: newFile(context), memory: littleMemory }),
)
testLogContract('sqlite, machine', (parts, context) =>
  openSqliteLog({ ...given, ...parts, file: newFile(context), durability: 'machine' }),
)
testPersistence('sqlite', (context) => {
  const file = newFile(context)
  const limits = { ...ampleLimits, logMessages: 1_000_000, logBytes: 1e9 }
  // The appending process has the machine's own.
  const bootId = readBootId(Date.now)
  return { open: () => openSqliteLog({ ...given, limits, file, bootId }), appender: appenderFor(file) }
})

/** A log whose turns end when the test says so. */
function openByHand(context: TestContext, change: Partial<SqliteLogParts> = {}) {
  const file = newFile(context)
  const planned: (() => void)[] = []
  const database = openLogFile(file)
  const log = createSqliteLog(database, { ...given, ...change, defer: (run) => void planned.push(run) })
  const endTurn = () => {
    for (const run of planned.splice(0)) run()
  }
  context.after(() => log.close())
  return { file, database, log, endTurn }
}

/** Lets promises that are already settled go on. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

async function fill(log: Log, count: number, prefix = 'w1', html = 'x'): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_nothing, n) => log.append(draft(`${prefix}-${n + 1}`, html), 2000)),
  )
}

const countRows = (database: DatabaseSync, table: string) =>
  database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.count

test('sqlite: what comes in one turn is committed at its end', async (context) => {
  const { log, database, endTurn } = openByHand(context)
  const seen: number[] = []
  log.follow(({ seq }) => seen.push(seq))
  const appends = [log.append(draft('w1-1'), 1), log.append(draft('w1-2'), 1)]
  assert.deepEqual([seen, countRows(database, 'message')], [[], 0])
  endTurn()
  assert.deepEqual([seen, countRows(database, 'message')], [[1, 2], 2])
  assert.deepEqual(await Promise.all(appends), [1, 2])
})

test('sqlite: a commit that fails rejects its group alone, and its numbers are given again', async (context) => {
  const { log, database, endTurn } = openByHand(context)
  const seen: string[] = []
  log.follow(({ id }) => seen.push(id))
  const before = log.append(draft('w1-1'), 1)
  endTurn()
  const pages = Object.values(database.prepare('PRAGMA page_count').get() ?? {})[0]
  database.exec(`PRAGMA max_page_count = ${pages}`)
  const group = [log.append(draft('w1-2'), 1), log.append(draft('w1-3', 'x'.repeat(50_000), 'new'), 1)]
  endTurn()
  assert.equal(database.isTransaction, false)
  const after = log.append(draft('w1-4'), 1)
  endTurn()
  const failed = await Promise.allSettled(group)
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.deepEqual([await before, await after, seen], [1, 2, ['w1-1', 'w1-4']])
  assert.deepEqual([...log.heads().keys()], ['main'])

  database.exec('PRAGMA max_page_count = 100000')
  const again = log.append(draft('w1-3', 'x'.repeat(50_000)), 1)
  endTurn()
  assert.equal(await again, 3)
})

test('sqlite: an id that only the file knows keeps its number, beside new ones', async (context) => {
  const limits = { ...ampleLimits, logMessages: 12 }
  const log = openSqliteLog({ ...given, limits, file: newFile(context), memory: littleMemory })
  await fill(log, 10)
  const seqs = ['w2-1', 'w1-3', 'w2-2', 'w1-5'].map((id) => log.append(draft(id), 1))
  assert.deepEqual(await Promise.all(seqs), [11, 3, 12, 5])
  const { recovered, messages } = await log.read({ ...(await log.snapshot(main)).head, seq: 0 }, main)
  assert.deepEqual([recovered, idsOf(messages).slice(9)], [true, ['w1-10', 'w2-1', 'w2-2']])
  await log.close()
})

test('sqlite: large messages are read a few a turn, all of them', async (context) => {
  const limits = { ...ampleLimits, logBytes: 100_000_000 }
  const log = openSqliteLog({ ...given, limits, file: newFile(context), memory: littleMemory })
  await fill(log, 7, 'w1', 'x'.repeat(400_000))
  const { messages } = await log.read({ ...(await log.snapshot(main)).head, seq: 0 }, main)
  assert.deepEqual(seqsOf(messages), [1, 2, 3, 4, 5, 6, 7])
  await log.close()
})

test('sqlite: the snapshot outlives the bounds after the log was opened again', async (context) => {
  const file = newFile(context)
  const limits = { ...ampleLimits, logMessages: 10 }
  for (const round of [1, 2, 3]) {
    const log = openSqliteLog({ ...given, limits, file })
    assert.equal(await log.append(draft('w0-1', 'x', 'quiet'), 1), 1)
    assert.deepEqual(seqsOf((await log.snapshot(new Set(['quiet']))).messages), [1])
    for (let part = 0; part < 5; part += 1) await fill(log, round === 1 ? 1 : 100, `w${round}-${part}`)
    await log.close()
  }
})

test('sqlite: the file is pruned a portion at a time and keeps the snapshot', async (context) => {
  const limits = { ...ampleLimits, logMessages: 10 }
  const { file, log, database, endTurn } = openByHand(context, { limits })
  void log.append(draft('w0-1', 'x', 'quiet'), 2000)
  void fill(log, 999)
  endTurn()
  assert.equal(countRows(database, 'message'), 1000)
  const rows = [1, 2, 3, 4].map((n) => {
    void log.append(draft(`w2-${n}`), 2000)
    endTurn()
    return countRows(database, 'message')
  })
  assert.deepEqual(rows, [745, 490, 235, 11])
  assert.equal(countRows(database, 'survivor'), 1)
  await log.close()

  const again = openSqliteLog({ ...given, limits, file })
  assert.deepEqual(idsOf((await again.snapshot(new Set(['quiet', 'main']))).messages), ['w0-1', 'w2-4'])
  assert.equal(await again.append(draft('w0-1', 'x', 'quiet'), 1), 1)
  assert.equal((await again.read({ ...(await again.snapshot(main)).head, seq: 994 }, main)).recovered, true)
  assert.equal((await again.read({ ...(await again.snapshot(main)).head, seq: 993 }, main)).recovered, false)
  await again.close()
})

test('sqlite: numbers go on where all but the snapshot has grown old', async (context) => {
  const file = newFile(context)
  const limits = { ...ampleLimits, logAgeMs: 10 }
  const log = openSqliteLog({ ...given, limits, file })
  await fill(log, 300)
  await log.close()
  for (const n of [1, 2, 3]) {
    const later = openSqliteLog({ ...given, limits, file, now: () => 1_000_000 })
    const { messages, head } = await later.snapshot(main)
    assert.deepEqual([messages.length, head.seq], [1, 299 + n])
    assert.equal((await later.read({ ...head, seq: head.seq - 1 }, main)).recovered, false)
    assert.equal(await later.append(draft(`w2-${n}`), 2000), 300 + n)
    await later.close()
  }
})

/** What it resolves to while turns end, few of them: one that never does is red, and does not hang. */
async function answerOf<Result>(asked: Promise<Result>, endTurn: () => void): Promise<Result> {
  let isAnswered = false
  const done = asked.finally(() => {
    isAnswered = true
  })
  for (let turn = 0; turn < 50 && !isAnswered; turn += 1) {
    endTurn()
    await settled()
  }
  return isAnswered ? done : assert.fail('no answer in 50 turns')
}

test('sqlite: what is old is read a portion a turn, and not once it is forgotten', async (context) => {
  const limits = { ...ampleLimits, logMessages: 3000 }
  const { log, endTurn } = openByHand(context, { limits, memory: littleMemory })
  void fill(log, 3000)
  endTurn()
  const start = { ...(await log.snapshot(main)).head, seq: 0 }
  const read = await answerOf(log.read(start, main), endTurn)
  assert.deepEqual([read.recovered, read.messages.length], [true, 3000])

  const tooLate = log.read(start, main)
  void fill(log, 2000, 'w2')
  const { recovered, messages } = await answerOf(tooLate, endTurn)
  assert.deepEqual([recovered, seqsOf(messages)], [false, [5000]])
})

test('sqlite: a read that is under way ends when the log is closed', async (context) => {
  const { log, endTurn } = openByHand(context, { memory: littleMemory })
  void fill(log, 1000)
  endTurn()
  const read = log.read({ ...(await log.snapshot(main)).head, seq: 0 }, main)
  const refused = assert.rejects(read, LogClosed)
  await log.close()
  await answerOf(refused, endTurn)
})

test('sqlite: a machine that went down costs the epoch, and only then', async (context) => {
  const file = newFile(context)
  const copy = `${file}.copy`
  const open = openSqliteLog({ ...given, file })
  const epochs = [(await open.snapshot(main)).head.epoch]
  await fill(open, 5)
  // What lies on the disk while the log is open, less the last commit.
  copyFileSync(file, copy)
  copyFileSync(`${file}-wal`, `${copy}-wal`)
  truncateSync(`${copy}-wal`, statSync(`${copy}-wal`).size - 100)
  const cursor = (await open.snapshot(main)).head
  await open.close()

  const lost = openSqliteLog({ ...given, file: copy, bootId: 'boot2' })
  await fill(lost, 6, 'w2')
  const { recovered, messages, head } = await lost.read(cursor, main)
  assert.deepEqual([recovered, seqsOf(messages)], [false, [6]])
  await lost.close()
  assert.notEqual(head.epoch, epochs[0])

  const clean = openSqliteLog({ ...given, file, bootId: 'boot2' })
  assert.equal((await clean.snapshot(main)).head.epoch, epochs[0])
  await clean.close()
})

test('sqlite: waits for the disk where the machine may go down, and not otherwise', (context) => {
  const synchronous = (durability: SqliteLogParts['durability']) =>
    openByHand(context, { durability }).database.prepare('PRAGMA synchronous').get()?.synchronous
  assert.deepEqual([synchronous('process'), synchronous('machine')], [1, 2])
})

test('sqlite: the write-ahead log stays small', async (context) => {
  const file = newFile(context)
  const log = openSqliteLog({ ...given, file })
  for (let round = 0; round < 40; round += 1) await fill(log, 100, `w${round}`, 'x'.repeat(1000))
  assert.ok(statSync(`${file}-wal`).size < 3_000_000, String(statSync(`${file}-wal`).size))
  await log.close()
})
