// The server's hour of wind: starts with what the log has, follows the log, and is sent compressed.

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { Draft } from '../protocol/messages.ts'
import type { Timers } from '../protocol/time.ts'
import { processTimers } from '../scripts/process.ts'
import type { Log, OnMessage } from '../server/log/log.ts'
import { ampleLimits, given, littleMemory, newFile } from '../server/log/log-testing.ts'
import { createMemoryLog } from '../server/log/memory-log.ts'
import { openSqliteLog } from '../server/log/sqlite-log.ts'
import { type PastWind, readSnapshot } from './shared/wind-history.ts'
import { fault, gustyWind, readingDraft, store } from './shared/wind-testing.ts'
import { readWeek } from './shared/wind-week.ts'
import { WindRecorder } from './wind-recorder.ts'

const now = 1_700_000_000_000
const limits = { ...ampleLimits, messages: 100_000, bytes: 1e9, ageMs: 1e9 }

function run(t: TestContext, log: Log, timers: Timers = { ...processTimers, now: () => now }) {
  const failures: unknown[] = []
  const recorder = new WindRecorder({ log, timers, onFailure: (error) => void failures.push(error) })
  t.after(() => recorder.stop())
  const past = async (): Promise<PastWind> => readSnapshot(JSON.parse((await recorder.history()).json))
  return { recorder, past, failures }
}

const memoryLog = () => createMemoryLog({ ...given, epoch: 'e', limits, now: () => now })
const readings = ({ entries }: PastWind) => entries.reduce((sum, { count }) => sum + count, 0)
const put = (log: Log, draft: Draft) => log.append(draft, draft.at)

test('with nothing in the log it starts empty, and follows only the wind', async (t) => {
  const log = memoryLog()
  const { past } = run(t, log)
  assert.deepEqual(await past(), { seq: 0, faultAt: null, entries: [] })
  await store(log, [now, now + 250], { edits: 3 })
  const { seq, entries } = await past()
  assert.equal(seq, 5)
  assert.equal(entries.length, 2)
})

test('after a restart it has the earlier readings and those that arrive while they are read, each once', async (t) => {
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
  assert.equal(found.entries.filter(({ startsAnew }) => startsAnew).length, 1)
})

test('a fault is reported while it is the newest, and no longer after another reading', async (t) => {
  const log = memoryLog()
  const { past } = run(t, log)
  await put(log, readingDraft(1, now))
  await put(log, { ...readingDraft(2, now + 250), body: fault })
  const { seq, faultAt } = await past()
  assert.deepEqual({ seq, faultAt }, { seq: 2, faultAt: now + 250 })
  await put(log, readingDraft(3, now + 500))
  const later = await past()
  assert.equal(later.faultAt, null)
  assert.deepEqual(
    later.entries.map(({ startsAnew }) => startsAnew),
    [true, true],
  )
})

test('concurrent requests get the same response', async (t) => {
  const log = memoryLog()
  const { recorder } = run(t, log)
  await put(log, readingDraft(1, now))
  const [one, other] = await Promise.all([recorder.history(), recorder.history()])
  assert.equal(one, other)
  assert.equal(await one.gzipped(), await other.gzipped())
  assert.equal(gunzipSync(await one.gzipped()).toString(), one.json)
  await put(log, readingDraft(2, now + 250))
  assert.notEqual((await recorder.history()).json, one.json)
})

test('if the log cannot be read it says so, and has what arrives later', async (t) => {
  const log = memoryLog()
  const broken: Log = { ...log, snapshot: () => Promise.reject(new Error('The disk is gone.')) }
  const { past, failures } = run(t, broken)
  await put(log, readingDraft(1, now))
  assert.equal(readings(await past()), 1)
  assert.match(String(failures), /disk is gone/)
})

test('after stop it neither follows nor continues to read', async (t) => {
  const log = memoryLog()
  await store(log, [now - 1000])
  const { recorder, past, failures } = run(t, log)
  recorder.stop()
  await put(log, readingDraft(9, now))
  await log.close()
  assert.equal(readings(await past()), 0)
  assert.deepEqual(failures, [])
})

test('the week before is read once it is asked for, from the oldest reading on', async (t) => {
  const log = memoryLog()
  const dayMs = 24 * 3_600_000
  const moments = [8 * dayMs, 6 * dayMs, 6 * dayMs - 250, dayMs, 1000].map((agoMs) => now - agoMs)
  await store(log, moments)
  // Waits for nothing, and each answer is asked for later than the one before is kept.
  const time = { now }
  const later: Timers['later'] = (act) => clearImmediate.bind(null, setImmediate(act))
  const { recorder, failures } = run(t, log, { now: () => time.now, later })
  async function week() {
    time.now += 5000
    return readWeek(JSON.parse((await recorder.week()).json))
  }
  const first = await week()
  assert.equal(first.isComplete, false)
  assert.equal(first.stretches.length, 1)
  let shown = await week()
  for (let turns = 0; !shown.isComplete && turns < 1000; turns += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve))
    shown = await week()
  }
  assert.ok(shown.isComplete)
  assert.deepEqual(
    shown.stretches.map(({ sums }) => sums.count),
    [2, 1, 1],
  )
  assert.deepEqual(failures, [])
})

describe('what it reads of the log', () => {
  function open(t: TestContext, messages = 100_000): Log {
    const log = openSqliteLog({
      ...given,
      file: newFile(t),
      limits: { ...limits, messages },
      now: () => now,
      memory: littleMemory,
    })
    t.after(() => log.close())
    return log
  }

  const every = (seconds: number, count: number) =>
    Array.from({ length: count }, (_nothing, n) => now - (count - n) * seconds * 1000)

  /**
   * Stores a reading for each moment of acceptance, with timestamps a second apart, all within the
   * hour before `now`.
   */
  async function storeAccepted(log: Log, moments: readonly number[], edits = 0): Promise<readonly number[]> {
    const stamps = every(1, moments.length)
    const body = { html: '' }
    await Promise.all(
      moments.flatMap((acceptedAt, n) => [
        log.append(readingDraft(n, stamps[n] ?? 0), acceptedAt),
        ...Array.from({ length: edits }, (_nothing, place) =>
          log.append(
            { id: `w-${n}-${place}`, channel: 'main', kind: 'edit', from: 'w', at: acceptedAt, body },
            acceptedAt,
          ),
        ),
      ]),
    )
    return stamps
  }

  /** Pauses are counted, and end in the next turn. */
  function turns(): Timers & { readonly pauses: () => number } {
    let pauses = 0
    return {
      now: () => now,
      later(callback) {
        pauses += 1
        setImmediate(callback)
        return () => undefined
      },
      pauses: () => pauses,
    }
  }

  /** Records how many messages each portion has. */
  function watched(log: Log) {
    const portions: number[] = []
    const read: Log['read'] = async (...asked) => {
      const portion = await log.read(...asked)
      portions.push(portion.messages.length)
      return portion
    }
    return { log: { ...log, read }, portions }
  }

  async function found(t: TestContext, log: Log, timers: Timers = turns()): Promise<readonly number[]> {
    const { past, failures } = run(t, log, timers)
    const { entries } = await past()
    assert.deepEqual(failures, [])
    assert.ok(entries.every(({ count }) => count === 1))
    return entries.map(({ fromAt }) => fromAt)
  }

  test('the last hour of two hours among edits, in order, in portions with pauses', async (t) => {
    const { log, portions } = watched(open(t))
    const stamps = await storeAccepted(log, every(3, 2400), 2)
    const timers = turns()
    assert.deepEqual(await found(t, log, timers), stamps.slice(1200))
    assert.ok(portions.every((length) => length <= 500))
    assert.equal(timers.pauses(), portions.length)
  })

  test('skips an hour without readings before others', async (t) => {
    const log = open(t)
    const [, last] = await storeAccepted(log, [now - 7_200_000, now - 60_000], 1500)
    assert.deepEqual(await found(t, log), [last])
  })

  test('all that is there, if the log has less', async (t) => {
    const log = open(t, 600)
    const stamps = await storeAccepted(log, every(3, 1000))
    const stampsFound = await found(t, log)
    assert.deepEqual(stampsFound, stamps.slice(-stampsFound.length))
    assert.ok(stampsFound.length >= 600, `${stampsFound.length}`)
  })

  test('the newest, once and in order, if the log forgets messages while it is read', async (t) => {
    const log = open(t, 1450)
    const stamps = await storeAccepted(log, every(1, 1450))
    let more = 0
    const forgetting: Log = {
      ...log,
      async read(cursor, channels) {
        const portion = await log.read(cursor, channels)
        const added = Array.from({ length: portion.recovered ? 600 : 0 }, () => {
          more += 1
          return log.append({ ...readingDraft(more, now), id: `more-${more}` }, now)
        })
        await Promise.all(added)
        return portion
      },
    }
    const { past } = run(t, forgetting, turns())
    const { entries } = await past()
    const newest = entries.filter(({ fromAt }) => fromAt < now)
    const stampsFound = newest.map(({ fromAt }) => fromAt)
    assert.ok(newest.every(({ count }) => count === 1))
    assert.deepEqual(
      stampsFound,
      stamps.filter((at) => stampsFound.includes(at)),
    )
    assert.equal(stampsFound.at(-1), stamps.at(-1))
    assert.ok(more > 0 && entries.at(-1)?.count === more, `${entries.at(-1)?.count} of ${more}`)
  })
})

describe('its size', () => {
  for (const [rateHz, maxBytes] of [
    [4, 26_000],
    [20, 30_000],
    [0.25, 4000],
  ] as const)
    test(`a full hour at ${rateHz} Hz takes less than ${maxBytes} bytes on the wire`, async (t) => {
      let tell: OnMessage = () => undefined
      const log: Log = {
        ...memoryLog(),
        follow(onMessage) {
          tell = onMessage
          return () => undefined
        },
      }
      const { recorder } = run(t, log)
      await recorder.history()
      let seq = 0
      for (const { reading, at } of gustyWind(3700, rateHz)) {
        seq += 1
        tell({ ...readingDraft(seq, at), acceptedAt: at, seq, body: reading }, '')
      }
      const answer = await recorder.history()
      const { json } = answer
      const gzipped = await answer.gzipped()
      t.diagnostic(`${json.length} bytes of JSON, ${gzipped.length} compressed`)
      assert.ok(gzipped.length < maxBytes && gzipped.length > maxBytes / 10, `${gzipped.length} bytes`)
    })
})
