import assert from 'node:assert/strict'
import { copyFileSync, statSync, truncateSync } from 'node:fs'
import { test } from 'node:test'
import { ampleLimits, draft, fillAtOnce, main, seqsOf } from './log-testing.ts'
import { openSqliteLog, type SqliteLogParts } from './sqlite.ts'
import { given, newFile, openByHand } from './sqlite-testing.ts'

test('the snapshot outlives the bounds after the log was opened again', async (context) => {
  const file = newFile(context)
  const limits = { ...ampleLimits, logMessages: 10 }
  for (const round of [1, 2, 3]) {
    const log = openSqliteLog({ ...given, limits, file })
    assert.equal(await log.append(draft('w0-1', 'x', 'quiet'), 1), 1)
    assert.deepEqual(seqsOf((await log.snapshot(new Set(['quiet']))).messages), [1])
    for (let part = 0; part < 5; part += 1) await fillAtOnce(log, round === 1 ? 1 : 100, `w${round}-${part}`)
    await log.close()
  }
})

test('numbers go on where all but the snapshot has grown old', async (context) => {
  const file = newFile(context)
  const limits = { ...ampleLimits, logAgeMs: 10 }
  const log = openSqliteLog({ ...given, limits, file })
  await fillAtOnce(log, 300)
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

test('a machine that went down costs the epoch, and only then', async (context) => {
  const file = newFile(context)
  const copy = `${file}.copy`
  const open = openSqliteLog({ ...given, file })
  const epochs = [(await open.snapshot(main)).head.epoch]
  await fillAtOnce(open, 5)
  // What lies on the disk while the log is open, less the last commit.
  copyFileSync(file, copy)
  copyFileSync(`${file}-wal`, `${copy}-wal`)
  truncateSync(`${copy}-wal`, statSync(`${copy}-wal`).size - 100)
  const cursor = (await open.snapshot(main)).head
  await open.close()

  const lost = openSqliteLog({ ...given, file: copy, bootId: 'boot2' })
  await fillAtOnce(lost, 6, 'w2')
  const { recovered, messages, head } = await lost.read(cursor, main)
  assert.deepEqual([recovered, seqsOf(messages)], [false, [6]])
  await lost.close()
  assert.notEqual(head.epoch, epochs[0])

  const clean = openSqliteLog({ ...given, file, bootId: 'boot2' })
  assert.equal((await clean.snapshot(main)).head.epoch, epochs[0])
  await clean.close()
})

test('waits for the disk where the machine may go down, and not otherwise', (context) => {
  const synchronous = (durability: SqliteLogParts['durability']) =>
    openByHand(context, { durability }).database.prepare('PRAGMA synchronous').get()?.synchronous
  assert.deepEqual([synchronous('process'), synchronous('machine')], [1, 2])
})
