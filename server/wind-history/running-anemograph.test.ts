// The server's anemograph: follows the log, begins with what the log has, and says what is in its answer.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Log } from '../broker/log.ts'
import { ampleLimits } from '../broker/log-testing.ts'
import { createMemoryLog } from '../broker/memory.ts'
import { openSqliteLog } from '../broker/sqlite.ts'
import { given, littleMemory, newFile } from '../broker/sqlite-testing.ts'
import { processTimers } from '../timers.ts'
import type { Draft } from '../wire/envelope.ts'
import { type PastWind, readAnemogram } from '../wire/wind/anemogram.ts'
import { fault } from '../wire/wind/testing.ts'
import { startAnemograph } from './running-anemograph.ts'
import { readingDraft, store } from './testing.ts'

const now = 1_700_000_000_000
const limits = { ...ampleLimits, logMessages: 100_000, logBytes: 1e9, logAgeMs: 1e9 }

function run(t: TestContext, log: Log) {
  const failures: unknown[] = []
  const onFailure = (error: unknown) => void failures.push(error)
  const anemograph = startAnemograph({ log, timers: { ...processTimers, now: () => now }, onFailure })
  t.after(anemograph.stop)
  const past = async (): Promise<PastWind> => readAnemogram(JSON.parse(await anemograph.anemogram()))
  return { ...anemograph, past, failures }
}

const memoryLog = () => createMemoryLog({ ...given, epoch: 'e', limits, now: () => now })
const readings = ({ trace }: PastWind) => trace.reduce((sum, { count }) => sum + count, 0)
const put = (log: Log, draft: Draft) => log.append(draft, draft.at)

test('with nothing in the log it begins empty, and follows the wind alone', async (t) => {
  const log = memoryLog()
  const { past } = run(t, log)
  assert.deepEqual(await past(), { seq: 0, faultAt: null, trace: [] })
  await store(log, [now, now + 250], { edits: 3 })
  const { seq, trace } = await past()
  assert.equal(seq, 5)
  assert.equal(trace.length, 2)
})

test('after a restart it has the readings of before, and those that come while they are read, each once', async (t) => {
  const file = newFile(t)
  const open = () => openSqliteLog({ ...given, file, limits, now: () => now, memory: littleMemory })
  const before = open()
  const moments = Array.from({ length: 2000 }, (_nothing, n) => now - (2000 - n) * 250)
  await store(before, moments, { edits: 1 })
  await before.close()

  const log = open()
  t.after(() => log.close())
  const { past } = run(t, log)
  for (let n = 0; n < 5; n += 1) await put(log, { ...readingDraft(n, now + n * 250), id: `late-${n}` })
  const found = await past()
  assert.equal(readings(found), 2005)
  assert.equal(found.seq, 4005)
  assert.equal(found.trace.filter(({ startsAnew }) => startsAnew).length, 1)
})

test('a fault is in it as the newest, and no longer once another reading has come', async (t) => {
  const log = memoryLog()
  const { past } = run(t, log)
  await put(log, readingDraft(1, now))
  await put(log, { ...readingDraft(2, now + 250), body: fault })
  assert.deepEqual((({ seq, faultAt }) => ({ seq, faultAt }))(await past()), { seq: 2, faultAt: now + 250 })
  await put(log, readingDraft(3, now + 500))
  const { faultAt, trace } = await past()
  assert.equal(faultAt, null)
  assert.deepEqual(
    trace.map(({ startsAnew }) => startsAnew),
    [true, true],
  )
})

test('those who ask together get the same text', async (t) => {
  const log = memoryLog()
  const { anemogram } = run(t, log)
  await put(log, readingDraft(1, now))
  const [one, other] = await Promise.all([anemogram(), anemogram()])
  assert.equal(one, other)
  await put(log, readingDraft(2, now + 250))
  assert.notEqual(await anemogram(), one)
})

test('where the log cannot be read it says so, and has what comes', async (t) => {
  const log = memoryLog()
  const broken: Log = { ...log, snapshot: () => Promise.reject(new Error('The disk is gone.')) }
  const { past, failures } = run(t, broken)
  await put(log, readingDraft(1, now))
  assert.equal(readings(await past()), 1)
  assert.match(String(failures), /disk is gone/)
})

test('once stopped it neither follows nor reads on', async (t) => {
  const log = memoryLog()
  await store(log, [now - 1000])
  const { stop, past, failures } = run(t, log)
  stop()
  await put(log, readingDraft(9, now))
  await log.close()
  assert.equal(readings(await past()), 0)
  assert.deepEqual(failures, [])
})
