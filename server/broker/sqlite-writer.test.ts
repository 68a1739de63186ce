import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ampleLimits, cursorAt, draft, fillAtOnce, idsOf, main, readAll } from './log-testing.ts'
import { openSqliteLog } from './sqlite.ts'
import { countRows, given, littleMemory, newFile, openByHand } from './sqlite-testing.ts'

test('what comes in one turn is committed at its end', async (context) => {
  const { log, database, endTurn } = openByHand(context)
  const seen: number[] = []
  log.follow(({ seq }) => seen.push(seq))
  const appends = [log.append(draft('w1-1'), 1), log.append(draft('w1-2'), 1)]
  assert.deepEqual([seen, countRows(database, 'message')], [[], 0])
  endTurn()
  assert.deepEqual([seen, countRows(database, 'message')], [[1, 2], 2])
  assert.deepEqual(await Promise.all(appends), [1, 2])
})

test('a commit that fails rejects its group alone, and its numbers are given again', async (context) => {
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

test('an id that only the file knows keeps its number, beside new ones', async (context) => {
  const limits = { ...ampleLimits, logMessages: 12 }
  const log = openSqliteLog({ ...given, limits, file: newFile(context), memory: littleMemory })
  await fillAtOnce(log, 10)
  const seqs = ['w2-1', 'w1-3', 'w2-2', 'w1-5'].map((id) => log.append(draft(id), 1))
  assert.deepEqual(await Promise.all(seqs), [11, 3, 12, 5])
  const { recovered, messages } = await readAll(log, await cursorAt(log, 0), main)
  assert.deepEqual([recovered, idsOf(messages).slice(9)], [true, ['w1-10', 'w2-1', 'w2-2']])
  await log.close()
})

test('the file is pruned a portion at a time and keeps the snapshot', async (context) => {
  const limits = { ...ampleLimits, logMessages: 10 }
  const { file, log, database, endTurn } = openByHand(context, { limits })
  void log.append(draft('w0-1', 'x', 'quiet'), 2000)
  void fillAtOnce(log, 999)
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
  assert.equal((await again.read(await cursorAt(again, 994), main)).recovered, true)
  assert.equal((await again.read(await cursorAt(again, 993), main)).recovered, false)
  await again.close()
})
