// Servers of one log know each other's windows; any of them handles a request.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DownFrame, fingerprintLength, nameUnder } from '../../protocol/messages.ts'
import { createManualTime } from '../../protocol/testing.ts'
import type { Bus } from '../log/log.ts'
import { draft } from '../log/log-testing.ts'
import { hiddenAfterMs } from './awareness.ts'
import {
  createFakeConnection,
  type FakeConnection,
  type FakePlace,
  memoryLog,
  openHub,
  type ShownState,
  settled,
} from './hub-testing.ts'
import { answerWithinMs } from './neighbours.ts'

const heartbeatMs = 16_000

/** Opens servers with one log and one clock; notes arrive at once, as plain data. */
function openServers(count: number) {
  const time = createManualTime()
  const log = memoryLog(time.now)
  const followers = new Map<object, (note: unknown) => void>()
  const lost = new Set<object>()

  function open(index: number) {
    let onReturned: () => void = () => undefined
    const bus: Bus = {
      post(note) {
        const words = JSON.stringify(note)
        if (lost.has(bus)) return
        for (const [other, take] of followers) if (other !== bus && !lost.has(other)) take(JSON.parse(words))
      },
      follow(onNote, onBack) {
        followers.set(bus, (note) => {
          notes.push(note as (typeof notes)[number])
          onNote(note)
        })
        onReturned = onBack
      },
    }
    const moves: string[] = []
    const notes: { readonly type: string; readonly channels?: Record<string, number> }[] = []
    const opened = openHub({
      maxWindows: 10_000,
      log,
      time,
      bus,
      heartbeatMs,
      random: () => (index + 1) / 10,
      onMoved: (movement, channel, { user }) => moves.push(`${user} ${movement} ${channel}`),
    })
    return {
      ...opened,
      /** Movements of its clients that were told since the last call. */
      moved: () => moves.splice(0),
      /** Notes from the other servers. */
      notes,
      async join(place: FakePlace = {}) {
        const { connection, window } = opened.enter(place)
        await settled()
        return {
          connection,
          window,
          show: (state: ShownState | null) => opened.hub.show(window, { state }),
        }
      },
      /** Loses its notes in both directions. */
      cut: () => void lost.add(bus),
      heal() {
        lost.delete(bus)
        onReturned()
      },
    }
  }

  const servers = Array.from({ length: count }, (_, index) => open(index))
  const advance = (ms: number) => time.advance(ms)
  return { servers, time, advance, open: () => open(count) }
}

const two = () => {
  const { servers, ...rest } = openServers(2)
  const [one, other] = servers
  assert.ok(one && other)
  return { one, other, ...rest }
}

const newest = <Type extends DownFrame['type']>({ frames }: FakeConnection, type: Type) =>
  frames.findLast((frame): frame is Extract<DownFrame, { type: Type }> => frame.type === type)

const windowsSeenBy = (connection: FakeConnection) => newest(connection, 'presence')?.windows

const owned = (place: string): FakePlace => ({ id: nameUnder(fingerprint, place), owner: fingerprint })
const fingerprint = 'abcdefghij'

const at = (anchor: string): ShownState => ({ client: 7, name: 'Ada', anchor, head: anchor })

/** The windows shown on the channel, from the frames since the last full one. */
function shownTo({ frames }: FakeConnection): Record<string, string | null> {
  const shown = new Map<string, string | null>()
  for (const frame of frames) {
    if (frame.type !== 'awareness') continue
    if (frame.whole) shown.clear()
    for (const { window, state } of frame.windows)
      if (state) shown.set(window, (state as ShownState).anchor)
      else shown.delete(window)
  }
  return Object.fromEntries(shown)
}

test('a channel’s windows are counted over all servers', async () => {
  const { one, other, advance } = two()
  const first = await one.join({ id: 'a' })
  const second = await other.join({ id: 'b' })
  await other.join({ id: 'c', channels: ['notes'] })
  advance(500)
  assert.deepEqual(
    [first, second].map(({ connection }) => windowsSeenBy(connection)),
    [2, 2],
  )
  const [here] = await Promise.all(
    [one, other].map((server, n) => server.join({ id: `d${n}`, channels: ['__proto__'] })),
  )
  advance(500)
  assert.equal(here && windowsSeenBy(here.connection), 2)
  other.hub.leave(second.window)
  advance(500)
  assert.equal(windowsSeenBy(first.connection), 1)
  const quiet = first.connection.frames.length
  advance(heartbeatMs / 2)
  assert.equal(first.connection.frames.slice(quiet).filter(({ type }) => type === 'presence').length, 0)
})

test('the windows of a server disappear when it stops or crashes', async () => {
  const { servers, advance } = openServers(3)
  const [one, stopping, vanishing] = servers
  assert.ok(one && stopping && vanishing)
  const { connection } = await one.join({ id: 'a' })
  for (const server of [stopping, vanishing]) (await server.join()).show(at('x'))
  advance(500)
  assert.equal(windowsSeenBy(connection), 3)
  const drained = stopping.hub.drain(0)
  advance(500)
  await drained
  advance(500)
  assert.equal(windowsSeenBy(connection), 2)
  vanishing.cut()
  advance(heartbeatMs)
  assert.equal(windowsSeenBy(connection), 2)
  advance(heartbeatMs)
  assert.equal(windowsSeenBy(connection), 1)
  assert.deepEqual(shownTo(connection), {})
})

test('a window is shown on all servers, including later ones, until it leaves', async () => {
  const { one, other, advance, open } = two()
  const author = await one.join({ id: 'a' })
  const reader = await other.join({ id: 'b' })
  author.show(at('x'))
  advance(200)
  author.show(at('y'))
  advance(200)
  assert.deepEqual(shownTo(reader.connection), { a: 'y' })
  const newcomer = await open().join({ id: 'c' })
  advance(200)
  assert.deepEqual(shownTo(newcomer.connection), { a: 'y' })
  one.hub.leave(author.window)
  advance(200)
  assert.deepEqual(shownTo(reader.connection), { a: 'y' })
  advance(hiddenAfterMs + 1000)
  for (const { connection } of [reader, newcomer]) assert.deepEqual(shownTo(connection), {})
})

test('after a broken connection the servers exchange their full state', async () => {
  const { one, other, advance } = two()
  const reader = await other.join({ id: 'b' })
  one.cut()
  const author = await one.join({ id: 'a' })
  author.show(at('x'))
  advance(500)
  assert.deepEqual([windowsSeenBy(reader.connection), shownTo(reader.connection)], [1, {}])
  one.heal()
  advance(500)
  assert.deepEqual([windowsSeenBy(reader.connection), shownTo(reader.connection)], [2, { a: 'x' }])
  assert.equal(windowsSeenBy(author.connection), 2)
})

test('a volatile message reaches the clients of every server once, and is stored by none', async () => {
  const { one, other } = two()
  const sender = await one.join({ id: 'a' })
  const readers = [await one.join({ id: 'b' }), await other.join({ id: 'c' })]
  const elsewhere = await other.join({ id: 'd', channels: ['elsewhere'] })
  const message = { ...draft('a-v1'), from: 'a' }
  assert.deepEqual(one.hub.take({ ...message, volatile: true }, undefined), {
    type: 'stored',
    id: 'a-v1',
    seq: 0,
  })
  for (const { connection } of readers)
    assert.deepEqual(newest(connection, 'volatile'), { type: 'volatile', message })
  for (const { connection } of [sender, elsewhere]) assert.equal(newest(connection, 'volatile'), undefined)
  assert.equal(one.log.heads().size, 0)
})

test('a heartbeat and a caret may reach another server than the one with the stream', async () => {
  const { one, other, advance } = two()
  const place = owned('w1')
  const { connection } = await one.join(place)
  const reader = await one.join({ id: 'b' })
  const name = String(place.id)
  one.hub.heard(name)
  for (let beat = 0; beat < 6; beat += 1) {
    advance(heartbeatMs)
    other.hub.heard(name)
  }
  assert.deepEqual(connection.byes, [])
  other.hub.show(name, { state: at('x') })
  advance(200)
  assert.deepEqual(shownTo(reader.connection), { [name]: 'x' })
  advance(heartbeatMs * 3)
  assert.deepEqual(
    connection.byes.map(({ code }) => code),
    ['silent'],
  )
})

test('polls that reach different servers are one window, which is shown while it polls and leaves once', async () => {
  const { one, other, advance } = two()
  const reader = await one.join({ id: 'b' })
  const place = { ...owned('w1'), mode: 'long-polling/2' }
  const name = String(place.id)
  for (let round = 0; round < 30; round += 1) {
    const server = round % 2 === 0 ? one : other
    await server.ask(place, { isFirst: round === 0 })
    if (round === 0) one.hub.show(name, { state: at('x') })
    advance(1000)
  }
  assert.deepEqual([windowsSeenBy(reader.connection), shownTo(reader.connection)], [2, { [name]: 'x' }])
  // From now on it polls only the other server: it is still one window, and shown.
  for (let round = 0; round < 50; round += 1) {
    await other.ask(place)
    advance(1000)
  }
  assert.deepEqual([windowsSeenBy(reader.connection), shownTo(reader.connection)], [2, { [name]: 'x' }])
  other.hub.left(name, 0, true)
  advance(500)
  assert.deepEqual([windowsSeenBy(reader.connection), shownTo(reader.connection)], [1, {}])
})

test('a window that comes back at another server, or whose server returns, is not seen to leave', async () => {
  const { one, other, advance } = two()
  const readers = [await one.join({ id: 'b' }), await other.join({ id: 'c' })]
  const place = { id: 'a', owner: 'a' }
  const first = await one.join({ ...place, opening: 1 })
  first.show(at('x'))
  advance(200)
  for (const { connection } of readers) connection.frames.length = 0
  one.hub.leave(first.window)
  advance(1000)
  const second = await other.join({ ...place, opening: 2 })
  second.show(at('x'))
  advance(200)
  other.cut()
  advance(heartbeatMs * 1.2)
  other.heal()
  advance(2 * hiddenAfterMs)
  for (const { connection } of readers)
    assert.deepEqual(
      connection.frames.flatMap((frame) => (frame.type === 'awareness' ? frame.windows : [])),
      [],
    )
  other.hub.left('a', 2, true)
  advance(500)
  for (const { connection } of readers)
    assert.deepEqual(newest(connection, 'awareness')?.windows, [{ window: 'a', state: null }])
})

test('the states of many windows reach another server in notes of limited size, with their users', async () => {
  const { one, other, advance } = two()
  const reader = await other.join({ id: 'r' })
  for (let n = 0; n < 100; n += 1) {
    const window = await one.join({ id: `w${n}`, owner: `o${n}`, user: `user${n}` })
    window.show(at('x'.repeat(4000)))
  }
  advance(20_000)
  const shown = other.notes.filter(({ type }) => type === 'shown')
  assert.ok(shown.every((note) => JSON.stringify(note).length < 250_000) && shown.length > 1)
  const late = await other.join({ id: 'late' })
  const windows = newest(late.connection, 'awareness')?.windows ?? []
  assert.equal(windows.length, 100)
  assert.ok(windows.every(({ window, user }) => window.slice(1) === user?.slice(4)))
  assert.ok(reader.connection.frames.length > 0)
})

/** A client polls both servers, and reports position x to the first, then y to the other. */
async function pollAtBoth({ one, other, advance }: ReturnType<typeof two>) {
  const place = { ...owned('w1'), mode: 'polling/1.1' }
  const name = String(place.id)
  for (const server of [one, other]) await server.ask(place)
  one.hub.show(name, { state: at('x') })
  advance(200)
  other.hub.show(name, { state: at('y') })
  return { place, name }
}

test('a polling window can remove itself from view at any server, wherever it reported its position', async () => {
  const servers = two()
  const { one, other, advance } = servers
  const readers = [await one.join({ id: 'b' }), await other.join({ id: 'c' })]
  const shownNow = () => readers.map(({ connection }) => shownTo(connection))
  const { name } = await pollAtBoth(servers)
  advance(200)
  assert.deepEqual(shownNow(), [{ [name]: 'y' }, { [name]: 'y' }])
  one.hub.show(name, { state: null })
  advance(200)
  assert.deepEqual(shownNow(), [{}, {}])
})

test('a silent window does not reappear at its old position after it moved at another server', async () => {
  const servers = two()
  const { one, advance } = servers
  const reader = await one.join({ id: 'b' })
  const { place, name } = await pollAtBoth(servers)
  for (let passed = 0; passed < heartbeatMs && shownTo(reader.connection)[name]; passed += 500) advance(500)
  await one.ask(place)
  advance(200)
  assert.deepEqual(shownTo(reader.connection), {})
})

test('a reopened window does not appear at its old position, even if its first poll reached another server', async () => {
  const { one, other, advance } = two()
  const reader = await one.join({ id: 'b' })
  const place = { ...owned('w1'), mode: 'long-polling/2' }
  const name = String(place.id)
  await one.ask({ ...place, opening: 1 }, { isFirst: true })
  one.hub.show(name, { state: at('x') }, 1)
  advance(200)
  assert.deepEqual(shownTo(reader.connection), { [name]: 'x' })
  // Long enough to count as silent, but not as gone.
  for (let passed = 0; passed < heartbeatMs && shownTo(reader.connection)[name]; passed += 500) advance(500)
  assert.deepEqual(shownTo(reader.connection), {})
  const told = reader.connection.frames.length
  await other.ask({ ...place, opening: 2 }, { isFirst: true })
  await one.ask({ ...place, opening: 2 })
  advance(200)
  assert.deepEqual(
    reader.connection.frames.slice(told).filter(({ type }) => type === 'awareness'),
    [],
  )
  other.hub.show(name, { state: at('y') }, 2)
  advance(200)
  assert.deepEqual(shownTo(reader.connection), { [name]: 'y' })
})

test('a newer stream of a window at another server replaces the older one, and a late older one does not', async () => {
  const { one, other } = two()
  const older = await one.join({ ...owned('w1'), opening: 1 })
  const newer = await other.join({ ...owned('w1'), opening: 2 })
  assert.deepEqual(
    older.connection.byes.map(({ code }) => code),
    ['replaced'],
  )
  const late = await one.join({ ...owned('w1'), opening: 1 })
  assert.deepEqual(
    late.connection.byes.map(({ code }) => code),
    ['replaced'],
  )
  assert.deepEqual(newer.connection.byes, [])
})

test('counts are sent as changes in notes of limited size, and in full to a server that missed the first', async () => {
  const { one, other, advance } = two()
  const pages = Array.from({ length: 4500 }, (_, n) => `page-${n}`)
  for (const page of pages) await other.join({ id: page, channels: [page] })
  advance(10_000)
  const reader = await one.join({ id: 'reader', channels: ['page-4499'] })
  advance(500)
  assert.equal(windowsSeenBy(reader.connection), 2)
  const counts = () => one.notes.filter(({ type }) => type === 'counts')
  const sizes = counts().map(({ channels = {} }) => Object.keys(channels).length)
  assert.ok(Math.max(...sizes) <= 2000, String(sizes))
  one.notes.length = 0
  await other.join({ id: 'another', channels: ['page-4499'] })
  advance(10_000)
  assert.equal(windowsSeenBy(reader.connection), 3)
  const changes = counts()
    .map(({ channels = {} }) => channels)
    .filter((changed) => Object.keys(changed).length > 0)
  assert.deepEqual(changes, [{ 'page-4499': 2 }])
  // Silent for so long that it counts as gone.
  other.cut()
  advance(heartbeatMs * 2)
  assert.equal(windowsSeenBy(reader.connection), 1)
  other.heal()
  advance(10_000)
  assert.equal(windowsSeenBy(reader.connection), 3)
})

test('a user’s sessions are ended at every server, polls too, and the others see the user leave', async () => {
  const { one, other, advance } = two()
  const ada = { user: 'ada', holder: { connection: {}, account: 'ada' } }
  const streams = await Promise.all([
    one.join({ ...owned('a'), ...ada }),
    other.join({ ...owned('b'), ...ada }),
  ])
  const witness = await one.join({ id: 'w' })
  for (const [index, { show }] of streams.entries()) show(at(`${index}`))
  // News of presence would end a hold on the same channel.
  const polling = { ...owned('p'), ...ada, channels: ['notes'] }
  const polls = [one, other].map((server) => server.ask(polling, { cursor: 'life1:0', holdMs: 20_000 }))
  await settled()
  advance(2000)
  assert.equal(Object.keys(shownTo(witness.connection)).length, 2)
  one.hub.end({ user: 'ada' }, true)
  for (const { connection } of streams) assert.deepEqual(connection.byes.at(-1)?.code, 'expired')
  assert.deepEqual(
    (await Promise.allSettled(polls)).map((poll) => poll.status === 'rejected' && poll.reason.code),
    ['session-expired', 'session-expired'],
  )
  for (const server of [one, other])
    await assert.rejects(async () => server.ask(polling), { code: 'session-expired' })
  advance(2000)
  assert.deepEqual([shownTo(witness.connection), windowsSeenBy(witness.connection)], [{}, 1])
  assert.equal(witness.connection.byes.length, 0)
})

test('every server knows the clients of a channel, at all of them: each by its name, user and mode', async () => {
  const { one, other, advance, time } = two()
  const start = time.now()
  await one.join({ id: 'a', owner: null, user: 'ada' })
  advance(500)
  await other.join({ ...owned('b'), mode: 'websocket/1.1' })
  await other.join({ id: 'c', channels: ['notes'] })
  const expected = [
    { id: 'a', user: 'ada', mode: 'sse/2', since: start },
    { id: nameUnder(fingerprint, 'b'), user: null, mode: 'websocket/1.1', since: start + 500 },
  ]
  for (const { hub } of [one, other]) {
    const found = await hub.clientsOn('main')
    assert.deepEqual(
      found.toSorted((a, b) => a.since - b.since),
      expected,
    )
  }
  assert.deepEqual(await one.hub.clientsOn('nowhere'), [])
})

test('a client that polls at two servers is one', async () => {
  const { one, other, advance, time } = two()
  const start = time.now()
  const owner = 'f'.repeat(fingerprintLength)
  const place = { id: nameUnder(owner, 'a'), owner }
  void one.ask(place)
  advance(500)
  void other.ask(place)
  const [client, ...others] = await other.hub.clientsOn('main')
  assert.deepEqual([client?.since, others], [start, []])
})

test('more clients than fit in a note are all known', async () => {
  const { one, other } = two()
  const user = 'x'.repeat(200)
  for (let n = 0; n < 1500; n += 1)
    one.hub.join(createFakeConnection({ id: `w${n}`, owner: null, user }).joining, null)
  assert.equal((await other.hub.clientsOn('main')).length, 1500)
  assert.ok(other.notes.filter(({ type }) => type === 'clients').length > 2)
})

test('a server that does not answer is left out after a second, and at once if it is known to be gone', async () => {
  const { one, other, advance, time } = two()
  await one.join({ id: 'a', owner: null })
  await other.join({ id: 'b', owner: null })
  other.cut()
  const asked = one.hub.clientsOn('main')
  advance(answerWithinMs)
  assert.deepEqual(
    (await asked).map(({ id }) => id),
    ['a'],
  )
  advance(2 * heartbeatMs)
  const pending = time.pending()
  assert.equal((await one.hub.clientsOn('main')).length, 1)
  assert.equal(time.pending(), pending)
})

const person = (user: string, change: FakePlace = {}): FakePlace => ({ ...owned(user), user, ...change })

test('a client that comes back within four seconds has not left; one that does not has', async () => {
  const { one, advance } = two()
  const { window } = await one.join(person('ada', { channels: ['main', 'notes'] }))
  assert.deepEqual(one.moved(), ['ada joined main', 'ada joined notes'])
  one.hub.leave(window)
  advance(hiddenAfterMs - 1)
  const back = await one.join(person('ada', { opening: 1 }))
  assert.deepEqual(one.moved(), [])
  advance(1)
  assert.deepEqual(one.moved(), ['ada left notes'])
  one.hub.leave(back.window)
  advance(hiddenAfterMs)
  assert.deepEqual(one.moved(), ['ada left main'])
})

test('a client with a free name leaves at once, and another user of the same browser is another client', async () => {
  const { one } = two()
  const free = await one.join({ id: 'a', owner: null, user: 'eve' })
  one.hub.leave(free.window)
  assert.deepEqual(one.moved(), ['eve joined main', 'eve left main'])
  const ada = await one.join(person('ada'))
  one.hub.leave(ada.window)
  await one.join({ ...person('ada', { opening: 1 }), user: 'ben' })
  assert.deepEqual(one.moved(), ['ada joined main', 'ada left main', 'ben joined main'])
})

for (const isOpen of [true, false])
  test(`a client whose stream ${isOpen ? 'is open' : 'has ended'} joins at the next server, and leaves only what it no longer reads`, async () => {
    const { one, other, advance } = two()
    const { window } = await one.join(person('ada', { channels: ['main', 'notes'] }))
    if (!isOpen) one.hub.leave(window)
    await other.join(person('ada', { opening: 1 }))
    advance(hiddenAfterMs)
    assert.deepEqual(one.moved(), ['ada joined main', 'ada joined notes', 'ada left notes'])
    assert.deepEqual(other.moved(), ['ada joined main'])
  })

test('a server that closes tells at once who has left', async () => {
  const { one, time } = two()
  const { window } = await one.join(person('ada'))
  await one.join(person('ben'))
  one.hub.leave(window)
  one.moved()
  const drained = one.hub.drain(0)
  time.advance(0)
  await drained
  assert.deepEqual(one.moved(), ['ada left main', 'ben left main'])
})
