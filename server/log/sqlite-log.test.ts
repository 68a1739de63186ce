import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { Fold } from '../channels/channel-type.ts'
import { deletionDraft } from './deletion-contract.ts'
import type { Log } from './log.ts'
import { testLogContract } from './log-contract.ts'
import {
  ampleLimits,
  appenderFor,
  copyLog,
  countRows,
  countTo,
  cursorAt,
  draft,
  endedForMs,
  fillAtOnce,
  given,
  idsOf,
  littleMemory,
  main,
  newFile,
  openByHand,
  readAll,
  readPortions,
  readUpdates,
  seqsOf,
  settled,
  toyFold,
  toyTypes,
  updateDraft,
} from './log-testing.ts'
import { testPersistence } from './persistence-contract.ts'
import { openSqliteLog } from './sqlite-log.ts'

testLogContract('sqlite', (parts, context) => openSqliteLog({ ...given, ...parts, file: newFile(context) }))
testLogContract('sqlite, little memory', (parts, context) =>
  openSqliteLog({ ...given, ...parts, file: newFile(context), memory: littleMemory }),
)
testLogContract('sqlite, machine', (parts, context) =>
  openSqliteLog({ ...given, ...parts, file: newFile(context), durability: 'machine' }),
)
testPersistence('sqlite', (context) => {
  const file = newFile(context)
  const limits = { ...ampleLimits, messages: 1_000_000, bytes: 1e9 }
  // It may have been killed within a commit.
  const onLoss = (sentence: string) => assert.match(sentence, /^The last commit in .* is incomplete/)
  return { open: () => openSqliteLog({ ...given, limits, file, onLoss }), appender: appenderFor(file) }
})

test('drafts of one turn are committed together at its end', async (context) => {
  const { log, database, endTurn } = openByHand(context)
  const seen: number[] = []
  log.follow(({ seq }) => seen.push(seq))
  const appends = [log.append(draft('w1-1'), 1), log.append(draft('w1-2'), 1)]
  const kept = () => countRows(database, 'message')
  assert.deepEqual([seen, kept()], [[], 0])
  endTurn()
  assert.deepEqual([seen, kept()], [[1, 2], 2])
  assert.deepEqual(await Promise.all(appends), [1, 2])
})

test('a failed commit rejects only its group, and its numbers are assigned again', async (context) => {
  const failures: unknown[] = []
  const onFailure = (error: unknown) => void failures.push(error)
  const { log, setDiskFull, endTurn } = openByHand(context, { onFailure })
  const seen: string[] = []
  log.follow(({ id }) => seen.push(id))
  const before = log.append(draft('w1-1'), 1)
  endTurn()
  setDiskFull(true)
  const group = [log.append(draft('w1-2'), 1), log.append(draft('w1-3', 'x'.repeat(50_000), 'new'), 1)]
  endTurn()
  setDiskFull(false)
  const after = log.append(draft('w1-4'), 1)
  endTurn()
  for (const one of group) await assert.rejects(async () => one, { code: 'log-full' })
  assert.deepEqual([await before, await after, seen], [1, 2, ['w1-1', 'w1-4']])
  assert.deepEqual([...log.heads().keys()], ['main'])

  const again = log.append(draft('w1-3', 'x'.repeat(50_000)), 1)
  endTurn()
  assert.equal(await again, 3)
})

test('a draft that is only in the file keeps its number, beside new ones, and its id is taken', async (context) => {
  const limits = { ...ampleLimits, messages: 12 }
  const log = openSqliteLog({ ...given, limits, file: newFile(context), memory: littleMemory })
  await fillAtOnce(log, 10)
  const drafts = [draft('w2-1'), draft('w1-3', 'x'), draft('w1-4', 'else'), draft('w2-2'), draft('w1-5', 'x')]
  const ends = await Promise.allSettled(drafts.map((one) => log.append(one, 1)))
  assert.deepEqual(
    ends.map((end) => (end.status === 'fulfilled' ? end.value : end.reason.code)),
    [11, 3, 'id-taken', 12, 5],
  )
  const { recovered, messages } = await readAll(log, await cursorAt(log, 0), main)
  assert.deepEqual([recovered, idsOf(messages).slice(9)], [true, ['w1-10', 'w2-1', 'w2-2']])
  await log.close()
})

test('messages beyond a channel’s limit are erased from the file in portions, also after a restart', async (context) => {
  const file = newFile(context)
  const open = (messages: number) =>
    openSqliteLog({
      ...given,
      file,
      memory: littleMemory,
      typeOf: toyTypes({
        keepOn: (channel) => (channel === 'main' ? { messages } : undefined),
      }),
    })
  const rows = () => {
    const database = new DatabaseSync(file, { readOnly: true })
    try {
      const sql = "SELECT count(*) AS count FROM message JOIN channel ON number = channel WHERE name = 'main'"
      return database.prepare(sql).get()?.count
    } finally {
      database.close()
    }
  }
  const first = open(100)
  for (let n = 1; n <= 200; n += 1) {
    await first.append(draft(`w1-${n}`), 2000)
    await first.append(draft(`w2-${n}`, 'x', 'other'), 2000)
  }
  await settled()
  assert.equal(rows(), 100)
  const { after } = await first.oldest('main', 'edit')
  await first.close()
  const again = open(100)
  assert.equal((await again.oldest('main', 'edit')).after.seq, after.seq)
  assert.equal((await readAll(again, await cursorAt(again, 0), new Set(['other']))).messages.length, 200)
  await again.close()
  const less = open(10)
  assert.equal(rows(), 10)
  await less.append(draft('w1-201'), 2000)
  const { messages } = await readAll(less, (await less.oldest('main', 'edit')).after, main)
  assert.deepEqual(
    idsOf(messages),
    countTo(10).map((n) => `w1-${191 + n}`),
  )
  await less.close()
})

test('the file is pruned in portions and keeps the snapshot', async (context) => {
  const limits = { ...ampleLimits, messages: 10 }
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
  // The newest of the quiet channel is dropped, and stays.
  assert.deepEqual(rows, [745, 490, 235, 11])
  await log.close()

  const again = openSqliteLog({ ...given, limits, file })
  assert.deepEqual(idsOf((await again.snapshot(new Set(['quiet', 'main']))).messages), ['w0-1', 'w2-4'])
  assert.equal(await again.append(draft('w0-1', 'x', 'quiet'), 1), 1)
  assert.equal((await again.read(await cursorAt(again, 995), main)).recovered, true)
  assert.equal((await again.read(await cursorAt(again, 994), main)).recovered, false)
  assert.equal((await again.read(await cursorAt(again, 0), new Set(['quiet']))).recovered, true)
  await again.close()
})

test('after a restart no cursor skips what its channel has dropped, and the writers still share the room', async (context) => {
  const limits = { ...ampleLimits, messages: 300, bytes: 100_000, maxChannels: 50 }
  const file = newFile(context)
  const stored = new Map<string, number[]>()
  const append = async (log: Log, id: string, channel: string, user: string) => {
    const body = { data: 'x'.repeat(1000), user }
    const seq = await log.append({ ...draft(id, '', channel), kind: 'json', body }, 2000)
    stored.set(channel, [...(stored.get(channel) ?? []), seq])
  }
  const log = openSqliteLog({ ...given, limits, file, memory: littleMemory })
  for (const n of countTo(20)) await append(log, `a-${n}`, 'victim', 'ann')
  for (const n of countTo(300)) await append(log, `e-${n}`, `evil.${n % 40}`, 'eve')
  await settled()
  await log.close()
  const again = openSqliteLog({ ...given, limits, file, memory: littleMemory })
  for (const n of countTo(300)) await append(again, `f-${n}`, `evil.${n % 40}`, 'eve')
  await settled()
  for (const [channel, seqs] of stored) {
    const { after } = await again.oldest(channel, 'json')
    const { recovered, messages } = await readAll(again, after, new Set([channel]))
    assert.deepEqual([recovered, seqsOf(messages)], [true, seqs.filter((seq) => seq > after.seq)])
    const isWhole = channel === 'victim'
    assert.equal(after.seq === 0, isWhole)
    if (!isWhole)
      assert.equal((await again.read({ ...after, seq: after.seq - 1 }, new Set([channel]))).recovered, false)
  }
  assert.equal((await again.read(await cursorAt(again, 0), new Set(['never']))).recovered, true)
  await again.close()
})

test('messages of a cumulative kind are erased only once they are in a base', async (context) => {
  const limits = { ...ampleLimits, messages: 10 }
  const { file, log, database, endTurn } = openByHand(context, { limits })
  const append = (id: string) => {
    void log.append(updateDraft(id), 2000)
    void log.append(draft(`${id}e`, 'x'.repeat(100)), 2000)
  }
  for (const n of countTo(200)) append(`w1-${n}`)
  const rows = () => [countRows(database, 'message'), countRows(database, 'base')]
  endTurn()
  // Messages that cannot be erased schedule the fold.
  endTurn()
  assert.deepEqual(rows(), [400, 0])
  endTurn()
  await settled()
  assert.deepEqual(rows(), [400, 1])
  const { updates, text } = await readUpdates(log)
  assert.deepEqual(
    [seqsOf(updates), text],
    [
      [399],
      countTo(200)
        .map((n) => `w1-${n} `)
        .join(''),
    ],
  )
  // Both the base and the rows that it joins are in the file.
  const again = openSqliteLog({ ...given, limits, file: copyLog(file) })
  assert.deepEqual(await readUpdates(again), { updates, text })
  await again.close()
  endTurn()
  assert.deepEqual(rows(), [144, 1])
})

test('clients that read a base at the same time share one copy, and get the next base once it exists', async (context) => {
  const { log, endTurn } = openByHand(context)
  const baseOf = async () => (await readUpdates(log)).updates[0]
  for (const round of [1, 2]) {
    for (const n of countTo(600)) void log.append(updateDraft(`w${round}-${n}`), 2000)
    endTurn()
    endTurn()
    await settled()
    const bases = await Promise.all([baseOf(), baseOf()])
    assert.equal(bases[0], bases[1])
    assert.equal(bases[0]?.seq, round * 600)
  }
})

test('a base that was never written loses nothing: the file still has all of its messages', async (context) => {
  const { file, log, endTurn } = openByHand(context)
  for (const n of countTo(600)) void log.append(updateDraft(`w1-${n}`), 2000)
  endTurn()
  const copy = copyLog(file)
  const { text } = await readUpdates(log)
  endTurn()
  const again = openSqliteLog({ ...given, file: copy, memory: littleMemory })
  assert.equal((await readUpdates(again)).updates.length, 600)
  await settled()
  const { updates, text: joined } = await readUpdates(again)
  assert.deepEqual([updates.length, joined], [1, text])
  await again.close()
})

const limits = { ...ampleLimits, messages: 3000 }

test('each portion of the file takes a turn, so that others get theirs', async (context) => {
  const { log, endTurn } = openByHand(context, { limits, memory: littleMemory })
  void fillAtOnce(log, 1750)
  endTurn()
  for (const [channel, portions] of [
    ['main', [500, 500, 500, 250]],
    ['quiet', [0]],
  ] as const) {
    const counts: number[] = []
    const start = await cursorAt(log, 0)
    const reading = readPortions(log, start, new Set([channel]), ({ messages }) => {
      counts.push(messages.length)
    })
    for (let turns = 0; channel === 'main' && turns < portions.length; turns += 1) {
      await settled()
      assert.equal(counts.length, turns)
      endTurn()
    }
    await reading
    assert.deepEqual(counts, portions)
  }
})

test('recent messages are returned at once', async (context) => {
  const { log, endTurn } = openByHand(context, { limits })
  void fillAtOnce(log, 10)
  endTurn()
  assert.deepEqual(seqsOf((await log.read(await cursorAt(log, 8), main)).messages), [9, 10])
})

test('a portion that is being read is returned unchanged, whatever happens meanwhile', async (context) => {
  const { log, endTurn } = openByHand(context, { limits, memory: littleMemory })
  void fillAtOnce(log, 3000)
  endTurn()
  const reading = log.read(await cursorAt(log, 0), main)
  void fillAtOnce(log, 3000, 'w2')
  await log.close()
  endTurn()
  const { recovered, messages, reached, head } = await reading
  assert.deepEqual([recovered, messages.length, reached.seq, head.seq], [true, 500, 500, 3000])
  await assert.rejects(log.read(reached, main), { code: 'draining' })
})

test('the snapshot outlives the limits after the log is reopened', async (context) => {
  const file = newFile(context)
  const limits = { ...ampleLimits, messages: 10 }
  for (const round of [1, 2, 3]) {
    const log = openSqliteLog({ ...given, limits, file })
    assert.equal(await log.append(draft('w0-1', 'x', 'quiet'), 1), 1)
    assert.deepEqual(seqsOf((await log.snapshot(new Set(['quiet']))).messages), [1])
    for (let part = 0; part < 5; part += 1) await fillAtOnce(log, round === 1 ? 1 : 100, `w${round}-${part}`)
    await log.close()
  }
})

test('numbers continue when all but the snapshot has expired', async (context) => {
  const file = newFile(context)
  const limits = { ...ampleLimits, ageMs: 10 }
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

test('commits wait for the disk only with durability "machine"', (context) => {
  const synchronous = (durability: 'process' | 'machine') =>
    openByHand(context, { durability }).database.prepare('PRAGMA synchronous').get()?.synchronous
  assert.deepEqual([synchronous('process'), synchronous('machine')], [1, 2])
})

test('a channel that is erased beside megabytes of other messages stays erased, also if the process is killed', async (context) => {
  let time = 2000
  const limits = { ...ampleLimits, bytes: 100_000_000 }
  const { file, log, endTurn } = openByHand(context, { limits, now: () => time })
  void log.append(draft('w1-1', 'x', 'gone'), time)
  endTurn()
  void log.append(deletionDraft('w1-2', true), time)
  endTurn()
  time += endedForMs
  for (const n of countTo(40)) void log.append(draft(`w1-a${n}`, 'x'.repeat(100_000)), time)
  endTurn()
  const again = openSqliteLog({ ...given, limits, file: copyLog(file), now: () => time })
  assert.deepEqual([...again.heads().keys()], ['main'])
  assert.deepEqual((await again.snapshot(new Set(['gone']))).messages, [])
  assert.equal(await again.append(draft('w1-1', 'x', 'gone'), time), 44)
  await again.close()
  await openSqliteLog({ ...given, limits, file: `${file}.copy`, now: () => time }).close()
})

test('the write-ahead log stays small', async (context) => {
  const file = newFile(context)
  const log = openSqliteLog({ ...given, file })
  for (let round = 0; round < 40; round += 1) {
    await fillAtOnce(log, 100, `w${round}`, 'x'.repeat(1000))
    await settled()
  }
  assert.ok(statSync(`${file}-wal`).size < 3_000_000, String(statSync(`${file}-wal`).size))
  await log.close()
})

test('a repeat that is only in the file is recognised, whatever its id looks like', async (context) => {
  const memory = { messages: 1, bytes: 1 }
  const limits = { ...ampleLimits, messages: 1e6, bytes: 1e9, maxChannels: 10 }
  const log = openSqliteLog({ ...given, limits, file: newFile(context), memory })
  const ids = ['w1-1', 'w1-9', 'w1-007', 'w1-x', 'w1-99999999999999999999']
  for (const [index, id] of ids.entries()) assert.equal(await log.append(draft(id), 1), index + 1)
  await log.append({ ...draft('w2-1'), from: 'w2' }, 1)
  for (const [index, id] of ids.entries()) assert.equal(await log.append(draft(id), 1), index + 1)
  assert.equal(await log.append(draft('w1-8'), 1), ids.length + 2)
  await log.close()
})

test('an erased channel whose last message was dropped before a restart leaves the file', async (context) => {
  const file = newFile(context)
  const open = () => openSqliteLog({ ...given, file, limits: { ...ampleLimits, messages: 2 } })
  const names = () => {
    const database = new DatabaseSync(file)
    const rows = database.prepare('SELECT name FROM channel WHERE name IS NOT NULL ORDER BY name').all()
    database.close()
    return rows.map(({ name }) => name)
  }
  const log = await open()
  await log.append(draft('w1-1', 'x', 'gone'), 1)
  await log.append({ ...draft('log-1', '', 'gone'), kind: 'erasure', body: { head: 1 } }, 2)
  await log.append(draft('w1-2', 'x', 'first'), 3)
  await log.append(draft('w1-3', 'x', 'second'), 3)
  await log.close()
  assert.deepEqual(names(), ['first', 'gone', 'second'])
  const reopened = await open()
  await reopened.append(draft('w1-4', 'x', 'second'), 4)
  await reopened.close()
  assert.deepEqual(names(), ['first', 'second'])
})

test('an erased message is in no file any more, once its portion is erased or the log is closed', async (context) => {
  const { file, log, endTurn } = openByHand(context)
  const isIn = (text: string) =>
    [file, `${file}-wal`].some((name) => existsSync(name) && readFileSync(name).includes(text))
  void log.append(draft('w1-1', 'a secret of the first', 'gone'), 1)
  endTurn()
  void log.append(draft('w1-2', 'x', 'main'), 1)
  void log.append({ ...draft('log-1', '', 'gone'), kind: 'erasure', body: { head: 1 } }, 2)
  endTurn()
  assert.ok(isIn('a secret of the first'))
  for (const _turn of [1, 2, 3]) endTurn()
  assert.ok(!isIn('a secret of the first'))
  await log.close()
})

test('a kind that becomes cumulative has everything that was stored before', async (context) => {
  const file = newFile(context)
  const open = (fold?: Fold<'update'>) =>
    openSqliteLog({
      ...given,
      file,
      typeOf: () => ({ name: 'toy', kinds: { update: fold ? { fold } : {} } }),
    })
  const log = open()
  for (const n of countTo(3)) await log.append(updateDraft(`w1-${n}`, `${n} `), 1)
  await log.close()
  const again = open(toyFold)
  assert.equal((await readUpdates(again)).text, '1 2 3 ')
  await again.close()
})

test('the few messages that a channel drops are erased when the log is closed', async (context) => {
  const file = newFile(context)
  const typeOf = toyTypes({ keepOn: () => ({ messages: 1 }) })
  const log = openSqliteLog({ ...given, file, typeOf })
  await log.append(draft('w1-1', 'a secret of the second'), 1)
  await log.append(draft('w1-2', 'x'), 1)
  await settled()
  await log.close()
  assert.ok(!readFileSync(file).includes('a secret of the second'))
})
