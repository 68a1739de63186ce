// The last hour out of a log: all of it, no more, a portion at a time, whatever lies between and however far it reaches.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Log } from '../broker/log.ts'
import { ampleLimits } from '../broker/log-testing.ts'
import { openSqliteLog } from '../broker/sqlite.ts'
import { given, littleMemory, newFile } from '../broker/sqlite-testing.ts'
import type { Timers } from '../wire/time.ts'
import { lastHour } from './last-hour.ts'
import { readingDraft, store } from './testing.ts'

const now = 1_700_000_000_000
const every = (seconds: number, count: number) =>
  Array.from({ length: count }, (_nothing, n) => now - (count - n) * seconds * 1000)

function open(t: TestContext, logMessages = 100_000): Log {
  const limits = { ...ampleLimits, logMessages, logBytes: 1e9, logAgeMs: 1e9 }
  const log = openSqliteLog({ ...given, file: newFile(t), limits, now: () => now, memory: littleMemory })
  t.after(() => log.close())
  return log
}

/** Pauses are counted, and over in the next turn. */
function turns(): Timers & { readonly pauses: () => number } {
  let pauses = 0
  return {
    now: () => now,
    later(run) {
      pauses += 1
      setImmediate(run)
      return () => undefined
    },
    pauses: () => pauses,
  }
}

async function read(log: Log, timers: Timers, onPortion?: () => Promise<void>) {
  const portions: number[][] = []
  for await (const messages of lastHour({ log, timers, isOver: () => false }, 'wind')) {
    portions.push(messages.map(({ at }) => at))
    await onPortion?.()
  }
  return portions
}

test('readings of two hours among edits: those of the last hour, in order, in portions with pauses', async (t) => {
  const log = open(t)
  const moments = every(3, 2400)
  await store(log, moments, { edits: 2 })
  const timers = turns()
  const portions = await read(log, timers)
  assert.deepEqual(portions.flat(), moments.slice(1200))
  assert.ok(portions.every(({ length }) => length <= 500))
  assert.ok(timers.pauses() > portions.length)
})

test('an hour without readings before others is passed over', async (t) => {
  const log = open(t)
  await store(log, [now - 7_200_000, now - 60_000], { edits: 1500 })
  assert.deepEqual((await read(log, turns())).flat(), [now - 60_000])
})

test('a log that holds less gives what it holds', async (t) => {
  const log = open(t, 600)
  const moments = every(3, 1000)
  await store(log, moments)
  const found = (await read(log, turns())).flat()
  assert.deepEqual(found, moments.slice(-found.length))
  assert.ok(found.length >= 600, `${found.length}`)
})

test('a log that forgets while it is read still gives its newest, once and in order', async (t) => {
  const log = open(t, 1450)
  const moments = every(1, 1450)
  await store(log, moments)
  let more = 0
  const found = await read(log, turns(), async () => {
    await Promise.all(
      Array.from({ length: 600 }, () => {
        more += 1
        return log.append({ ...readingDraft(more, now), id: `more-${more}` }, now)
      }),
    )
  })
  const [first = 0] = found.flat()
  assert.ok(first > 0)
  assert.deepEqual(
    found.flat(),
    [...new Set(found.flat())].sort((one, other) => one - other),
  )
  assert.equal(found.flat().at(-1), moments.at(-1))
})

test('an empty log has nothing', async (t) => {
  assert.deepEqual((await read(open(t), turns())).flat(), [])
})
