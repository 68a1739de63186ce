// Overviews over a real hub and log: what readers are told, what it costs nobody else, and after a restart.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { framesOf } from '../hub/testing.ts'
import { newestTo, open, overviewsIn, reader, toldTo, wordsTold } from './overview-testing.ts'

test('a reader is told words, characters, edits and wind, on the overview’s channel', async () => {
  const { enter, write, blow, pass, time } = open()
  const countedSince = time.now()
  await write('<p>Hello, <b>wor</b>ld</p><p>again</p>')
  await blow()
  const { connection } = enter(reader)
  await pass(100)
  const [message] = toldTo(connection)
  assert.deepEqual(
    [message?.channel, message?.from, message?.id],
    ['overview.main', 'overview', 'overview-run1-1'],
  )
  assert.deepEqual(message?.body, {
    words: 3,
    characters: 17,
    editsLastMinute: 1,
    editsEachSecond: [...new Array(59).fill(0), 1],
    edits: 1,
    countedSince,
    wind: {
      source: 'serial',
      state: 'calm',
      status: '00',
      readingAt: countedSince,
      trouble: null,
      meanMetresPerSecond: 0.1,
      meanDirectionDegrees: null,
      meanCoversSeconds: 0,
      gustMetresPerSecond: null,
      gustCoversSeconds: 0,
    },
  })
})

test('it follows what is typed, once a second at most, and the last minute leaves', async () => {
  const { enter, write, pass } = open()
  const { connection } = enter(reader)
  await pass(100)
  for (let words = 1; words <= 40; words += 1) {
    await write('word '.repeat(words))
    await pass(100)
  }
  const told = toldTo(connection)
  assert.ok(told.length <= 6, `${told.length}`)
  const pauses = told.slice(1).map(({ at }, place) => at - (told[place]?.at ?? 0))
  assert.ok(
    pauses.every((pause) => pause >= 1000),
    `${pauses}`,
  )
  await pass(1000)
  assert.deepEqual([newestTo(connection)?.words, newestTo(connection)?.editsLastMinute], [40, 40])
  await pass(62_000)
  assert.deepEqual([newestTo(connection)?.editsLastMinute, newestTo(connection)?.edits], [0, 40])
})

test('while nobody reads it nothing is published, nothing is planned, and edits are counted all the same', async () => {
  const { enter, write, blow, pass, time, log } = open()
  const { connection } = enter({ channels: ['main', 'wind'] })
  await pass(200)
  const before = time.pending()
  for (let n = 1; n <= 20; n += 1) {
    await write(`${'a '.repeat(n)}`)
    await blow()
    await pass(500)
  }
  assert.deepEqual([toldTo(connection), log.heads().has('overview.main')], [[], false])
  assert.equal(time.pending(), before)
  const late = enter(reader).connection
  await pass(100)
  assert.deepEqual([newestTo(late)?.words, newestTo(late)?.editsLastMinute], [20, 20])
})

test('it ends when the last reader goes, and the next one is told at once', async () => {
  const { hub, enter, write, pass, log } = open()
  await write('one')
  const { window } = enter(reader)
  await pass(1000)
  hub.leave(window)
  await pass(2000)
  const last = log.heads().get('overview.main')
  await write('one two')
  await pass(20_000)
  assert.equal(log.heads().get('overview.main'), last)
  const { connection } = enter({ ...reader, id: 'next' }, `life1:${last}`)
  await pass(100)
  assert.deepEqual(wordsTold(connection), [2])
})

test('a window that polls is a reader like any other, and is woken', async () => {
  const { ask, write, pass, time } = open()
  await write('one two three')
  const first = await ask({ ...reader, mode: 'polling/2' }, { isFirst: true })
  await pass(100)
  const second = await ask({ ...reader, mode: 'polling/2' }, { cursor: first.cursor })
  assert.deepEqual(
    overviewsIn(framesOf(second)).map(({ body }) => body.words),
    [3],
  )
  const held = ask({ ...reader, mode: 'long-polling/2' }, { cursor: second.cursor, holdMs: 20_000 })
  await write('one')
  const third = await held
  const fourth = ask({ ...reader, mode: 'long-polling/2' }, { cursor: third.cursor, holdMs: 20_000 })
  const askedAt = time.now()
  await pass(1000)
  assert.deepEqual(
    overviewsIn(framesOf(await fourth)).map(({ body }) => body.words),
    [1],
  )
  assert.ok(time.now() - askedAt < 20_000)
})

test('each page has its own', async () => {
  const { enter, write, pass } = open()
  await write('one two')
  await write('one', 'notes')
  const shared = enter({ channels: ['main', 'notes', 'overview.main', 'overview.notes'] }).connection
  const other = enter({ ...reader, id: 'other' }).connection
  await pass(100)
  const told = new Map(toldTo(shared).map(({ channel, body }) => [channel, body.words]))
  assert.deepEqual(Object.fromEntries(told), { 'overview.main': 2, 'overview.notes': 1 })
  assert.deepEqual(wordsTold(other), [2])
})
