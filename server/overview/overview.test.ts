// Overviews over a real hub and log: what readers are told, what it costs nobody else, and after a restart.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Log } from '../broker/log.ts'
import { draft, fill } from '../broker/log-testing.ts'
import { type FakeConnection, framesOf, memoryLog, openHub, settled } from '../hub/testing.ts'
import { isKind, type Message } from '../wire/envelope.ts'
import type { DownFrame } from '../wire/frames.ts'
import { calm } from '../wire/wind/testing.ts'
import { type Overview, startOverview } from './overview.ts'

interface Change {
  readonly log?: Log
  readonly maxChannels?: number
}

function open({ log: given, maxChannels = 10 }: Change = {}) {
  const failures: unknown[] = []
  const world = openHub({
    ...(given && { log: given }),
    onJoined: (channels) => overview.joined(channels),
  })
  const { hub, time, log } = world
  const overview: Overview = startOverview({
    log,
    hub,
    timers: time,
    run: 'run1',
    maxChannels,
    onFailure: (error) => void failures.push(error),
  })
  let edits = 0
  return {
    ...world,
    overview,
    failures,
    async write(html: string, channel = 'main') {
      edits += 1
      await hub.publish(draft(`w9-${edits}`, html, channel))
    },
    async blow() {
      edits += 1
      const message = { id: `sensor-${edits}`, channel: 'wind', from: 'sensor', at: time.now() }
      await hub.publish({ ...message, kind: 'reading', body: calm(0.1) })
    },
    async pass(ms: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += 100) {
        time.advance(100)
        await settled()
      }
    },
  }
}

const reader = { id: 'reader', channels: ['main', 'wind', 'overview.main'] }

function overviewsIn(frames: readonly DownFrame[]): Message<'overview'>[] {
  const messages = frames.flatMap((frame) => (frame.type === 'message' ? [frame.message] : []))
  return messages.filter((message) => isKind(message, 'overview'))
}

const toldTo = ({ frames }: FakeConnection) => overviewsIn(frames)
const wordsTold = (connection: FakeConnection) => toldTo(connection).map(({ body }) => body.words)
const newestTo = (connection: FakeConnection) => toldTo(connection).at(-1)?.body

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

test('after a restart words come from the log, and edits are counted anew', async () => {
  const log = memoryLog()
  await fill(log, 3, 'w1', 'one two')
  const { enter, write, pass } = open({ log })
  const { connection } = enter(reader)
  await pass(100)
  const { words, edits, wind } = newestTo(connection) ?? {}
  assert.deepEqual([words, edits, wind], [2, 0, null])
  await write('one two three')
  await pass(1000)
  assert.deepEqual([newestTo(connection)?.words, newestTo(connection)?.edits], [3, 1])
})

test('the clock is set back: it goes on', async () => {
  const { enter, write, pass, time } = open()
  const { connection } = enter(reader)
  await write('one')
  await pass(1100)
  time.setClock(-3_600_000)
  await write('one two')
  await pass(1000)
  assert.deepEqual([newestTo(connection)?.words, newestTo(connection)?.editsLastMinute], [2, 2])
  await pass(61_000)
  assert.equal(newestTo(connection)?.editsLastMinute, 0)
})

test('a page that nobody wrote on has one too, but such pages cannot fill the log with channels', async () => {
  const { enter, write, pass, log, failures } = open({ maxChannels: 10 })
  const names = Array.from({ length: 9 }, (_nothing, place) => `overview.none${place}`)
  enter({ channels: names })
  await pass(2000)
  assert.equal(log.heads().size, 5)
  const { connection } = enter({ id: 'w2', channels: ['none8', 'overview.none8'] })
  await write('one', 'none8')
  await pass(1100)
  assert.deepEqual([newestTo(connection)?.words, failures], [1, []])
})

test('an overview that cannot be stored is said once, and harms nothing', async () => {
  const log = memoryLog(() => 0, { maxChannels: 1 })
  const { enter, write, pass, failures } = open({ log, maxChannels: 10 })
  await write('one')
  const { connection } = enter(reader)
  await pass(5000)
  assert.equal(failures.length, 1)
  assert.match(String(failures[0]), /overview\.main/)
  assert.deepEqual(toldTo(connection), [])
})

test('the wind has no overview, nor has an overview', async () => {
  const { enter, blow, pass, log } = open()
  await blow()
  enter({ channels: ['overview.wind', 'overview.overview.main'] })
  await pass(3000)
  assert.deepEqual([...log.heads().keys()], ['wind'])
})

test('after the stop nothing is told', async () => {
  const { enter, write, pass, overview } = open()
  const { connection } = enter(reader)
  await pass(100)
  overview.stop()
  await write('one')
  await pass(5000)
  assert.deepEqual(wordsTold(connection), [0])
})
