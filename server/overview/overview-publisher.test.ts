// Overviews over a real hub and log: what readers receive and when, and a restart.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Y from 'yjs'
import type { Documents } from '../document/document-worker.ts'
import { unlimitedDocuments } from '../document/testing.ts'
import { type FakeConnection, framesOf, memoryLog, openHub, settled } from '../hub/hub-testing.ts'
import type { Log } from '../log/log.ts'
import { ampleLimits, draft, fill, toyTypes } from '../log/log-testing.ts'
import { createMemoryLog } from '../log/memory-log.ts'
import { calm } from '../page/wind-testing.ts'
import { pageTypeOf } from '../page-channels.ts'
import { type DownFrame, isKind, type Message } from '../wire/messages.ts'
import { startOverview } from './overview-publisher.ts'

type Parts = Parameters<typeof startOverview>[0]

interface Change extends Partial<Pick<Parts, 'documents' | 'hub' | 'maxChannels'>> {
  readonly log?: Log
  /** Replaces the log's own. */
  readonly snapshot?: Log['snapshot']
}

/** An overview over a hub with readers. */
function open({ log: given, maxChannels = 10, ...change }: Change = {}) {
  const failures: unknown[] = []
  const world = openHub({
    typeOf: pageTypeOf,
    ...(given && { log: given }),
    onJoined: (channels) => overview.joined(channels),
  })
  const { hub, time, log } = world
  const overview: ReturnType<typeof startOverview> = startOverview({
    documents: change.documents ?? unlimitedDocuments,
    log: { ...log, ...(change.snapshot && { snapshot: change.snapshot }) },
    hub: change.hub ?? hub,
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
    async pass(ms: number, stepMs = 100): Promise<void> {
      for (let passed = 0; passed < ms; passed += stepMs) {
        time.advance(stepMs)
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

test('publishes words, characters, edits and wind on the overview’s channel', async () => {
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

test('publishes changes at most once a second, and drops edits older than a minute', async () => {
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

test('without readers nothing is published or scheduled, but edits are counted', async () => {
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

test('stops with the last reader, and publishes to the next one at once', async () => {
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

test('a polling client counts as a reader and is woken', async () => {
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

test('a shared document is counted like a page, each update is an edit, and the newest kind decides', async () => {
  const limits = { ...ampleLimits, maxChannels: 10 }
  const log = createMemoryLog({
    epoch: 'e',
    limits,
    typeOf: toyTypes(),
    now: () => 0,
    onFailure: () => assert.fail(),
  })
  const { enter, write, hub, pass } = open({ log })
  const doc = new Y.Doc()
  const updates: Uint8Array[] = []
  doc.on('update', (update: Uint8Array) => updates.push(update))
  const text = doc.getText('text')
  let sent = 0

  async function type(insert: string, attributes = {}): Promise<void> {
    text.insert(text.length, insert, attributes)
    for (const update of updates.splice(0)) {
      sent += 1
      const body = { update: Buffer.from(update).toString('base64') }
      await hub.publish({ ...draft(`w8-${sent}`), from: 'w8', kind: 'update', body })
    }
  }

  await write('<p>of the mirror editor</p>')
  await type('Hello, ')
  await type('wor', { bold: true })
  await type('ld\u2028again\n', { block: 'h1' })
  const { connection, window } = enter(reader)
  await pass(100)
  const told = () => [
    newestTo(connection)?.words,
    newestTo(connection)?.characters,
    newestTo(connection)?.edits,
  ]
  assert.deepEqual(told(), [3, 17, 4])
  await type('once more')
  await type('\uFFFC', { image: { src: '', alt: 'x' } })
  await pass(1000)
  assert.deepEqual(told(), [5, 26, 6])
  await write('<p>one</p>')
  await pass(1000)
  assert.deepEqual(told(), [1, 3, 7])
  hub.leave(window)
  await type(' and on')
  await pass(2000)
  const { connection: next } = enter({ ...reader, id: 'next' })
  await pass(1000)
  assert.deepEqual([newestTo(next)?.words, newestTo(next)?.characters], [7, 33])
})

test('each page has an overview of its own', async () => {
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

test('after a restart words come from the log, and edits are counted from zero', async () => {
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

test('a page that nobody has written has an overview too, but such pages cannot fill the log with channels', async () => {
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

/** When each overview arrived, ms after the first. */
function timesOf(connection: FakeConnection): number[] {
  const times = toldTo(connection).map(({ at }) => at)
  return times.map((at) => at - (times[0] ?? 0))
}

test('the first reader gets the overview at once, then the newest change, at most once a second', async () => {
  const { enter, write, pass } = open()
  const { connection } = enter(reader)
  for (let words = 1; words <= 40; words += 1) {
    await pass(50, 50)
    await write('word '.repeat(words))
  }
  await pass(1000, 50)
  assert.deepEqual(timesOf(connection).slice(0, 3), [0, 1000, 2000])
  assert.deepEqual(wordsTold(connection).slice(0, 3), [0, 20, 40])
})

test('a slow count delays the next one: a second if it waited for others, longer if it is slow itself', async () => {
  const waiting: (() => void)[] = []
  let cpuMs = 2
  const documents: Documents = {
    ...unlimitedDocuments,
    async read(channel, name, ...input) {
      await new Promise<void>((resolve) => void waiting.push(resolve))
      const counts = await unlimitedDocuments.read(channel, name, ...input)
      return { ...(counts as object), cpuMs } as typeof counts
    },
  }
  const { enter, write, pass } = open({ documents })
  await write('one')
  const { connection } = enter(reader)
  await pass(3000)
  waiting.shift()?.()
  await settled()
  await write('one two')
  await pass(1000)
  assert.equal(waiting.length, 1)
  cpuMs = 100
  waiting.shift()?.()
  await settled()
  await write('one two three')
  await pass(1900)
  assert.equal(waiting.length, 0)
  await pass(200)
  waiting.shift()?.()
  await pass(100)
  assert.deepEqual(wordsTold(connection), [1, 2, 3])
})

test('an unchanged overview is published every five seconds', async () => {
  const { enter, pass } = open()
  const { connection } = enter(reader)
  await pass(11_000)
  assert.deepEqual(timesOf(connection), [0, 5000, 10_000])
})

test('a new reader gets an unchanged overview at once, or a second after the last one', async () => {
  const { enter, pass } = open()
  const { connection } = enter(reader)
  await pass(300)
  enter({ ...reader, id: 'second' })
  await pass(2200)
  enter({ ...reader, id: 'third' })
  await pass(100)
  assert.deepEqual(timesOf(connection), [0, 1000, 2500])
})

test('a reader that joins during a computation gets its result, once', async () => {
  const waiting: (() => void)[] = []
  const log = memoryLog()
  const { enter, pass } = open({
    log,
    snapshot: (channels) =>
      new Promise((resolve) => void waiting.push(() => resolve(log.snapshot(channels)))),
  })
  const { connection } = enter(reader)
  await pass(3000)
  const late = enter({ ...reader, id: 'late' }).connection
  assert.equal(waiting.length, 1)
  waiting.shift()?.()
  await pass(3000)
  assert.deepEqual(timesOf(connection), [0, 1000])
  assert.deepEqual(timesOf(late), [0, 1000])
})

test('edits are counted by the second for a minute, and move back one place a second', async () => {
  const { enter, write, pass, time } = open()
  const { connection } = enter(reader)
  const second = (at: number) => Math.floor(at / 1000)
  const editedIn = second(time.now())
  for (let n = 0; n < 4; n += 1) {
    await write(`${'a '.repeat(n)}`)
    await pass(200)
  }
  await pass(58_000)
  const whole = toldTo(connection).filter(({ at }) => second(at) > editedIn)
  assert.ok(whole.length > 50)
  for (const { at, body } of whole) {
    assert.equal(body.editsEachSecond.length, 60)
    assert.deepEqual([body.editsEachSecond[59 - (second(at) - editedIn)], body.editsLastMinute], [4, 4])
  }
  await pass(3_600_000, 60_000)
  await write('again')
  await pass(2000)
  assert.equal(newestTo(connection)?.editsLastMinute, 1)
})

test('each second of a busy minute has its edits', async () => {
  const { enter, write, pass } = open()
  const { connection } = enter(reader)
  for (let n = 0; n < 4 * 65; n += 1) {
    await pass(250, 250)
    await write(`${n}`)
  }
  await pass(1000)
  assert.deepEqual(newestTo(connection)?.editsEachSecond.slice(0, 58), new Array(58).fill(4))
})

test('a repeated failure is reported once, and publishing continues', async () => {
  let tries = 0
  const { enter, pass, failures, hub } = open({
    hub: {
      isRead: (channel) => hub.isRead(channel),
      leads: () => true,
      publish(draft) {
        tries += 1
        return tries < 4 ? Promise.reject(new Error('no disk')) : hub.publish(draft)
      },
    },
  })
  const { connection } = enter(reader)
  await pass(4000)
  assert.deepEqual(failures.map(String), ['Error: no disk'])
  assert.deepEqual(wordsTold(connection), [0])
})

test('an overview that cannot be stored is reported once', async () => {
  const log = memoryLog(() => 0, { maxChannels: 1 })
  const { enter, write, pass, failures } = open({ log, maxChannels: 10 })
  await write('one')
  const { connection } = enter(reader)
  await pass(5000)
  assert.equal(failures.length, 1)
  assert.match(String(failures[0]), /overview\.main/)
  assert.deepEqual(toldTo(connection), [])
})

test('neither the wind nor an overview has an overview', async () => {
  const { enter, blow, pass, log } = open()
  await blow()
  enter({ channels: ['overview.wind', 'overview.overview.main'] })
  await pass(3000)
  assert.deepEqual([...log.heads().keys()], ['wind'])
})

test('publishes nothing after stop', async () => {
  const { enter, write, pass, overview } = open()
  const { connection } = enter(reader)
  await pass(100)
  overview.stop()
  await write('one')
  await pass(5000)
  assert.deepEqual(wordsTold(connection), [0])
})
