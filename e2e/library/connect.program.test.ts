// The library's two doors, without a browser.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { stopClock } from '../../app/testing.ts'
import { LinkClock } from '../../client/clock.ts'
import { connect, connectOver, longPolling, RefusedError, type Room, sse } from '../../client/node.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { processTimers } from '../../scripts/process.ts'
import { createCrosswind } from '../../server/index.ts'
import { keptBody } from '../../server/log/kept-json.ts'
import { ampleLimits, toyTypes } from '../../server/log/log-testing.ts'
import { openSqliteLog } from '../../server/log/sqlite-log.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { accessTo, type Said, start, texts, uncaught, untilState } from './testing.ts'

/** Resolves to the first texts of a loop over a room. */
async function looped(room: Room<Said>, count: number): Promise<readonly string[]> {
  const heard: string[] = []
  for await (const { data } of room) {
    heard.push(data.text)
    if (heard.length === count) break
  }
  return heard
}

test('two clients chat; one that comes later reads from the start; the server publishes and reads', async (t) => {
  const { crosswind, open } = await start(t)
  const clients = [open(), open()]
  const [ann, bob] = clients.map((client) => client.channel<Said>('room.1')) as [Room<Said>, Room<Said>]
  const both = Promise.all([texts(ann, 3), looped(bob, 3)])
  await Promise.all(clients.map((client) => untilState(client, ({ status }) => status === 'open')))
  const first = await ann.publish({ text: 'hello' })
  await bob.publish({ text: 'hi' })
  await crosswind.publish('room.1', { text: 'welcome' }, { id: 'greeting' })
  const said = ['hello', 'hi', 'welcome']
  assert.deepEqual(await both, [said, said])
  assert.deepEqual(await texts(open().channel<Said>('room.1', { from: 'start' }), 3), said)
  const read = await Array.fromAsync(crosswind.read('room.1', { after: first.seq }))
  assert.deepEqual(
    read.map(({ data }) => data),
    [{ text: 'hi' }, { text: 'welcome' }],
  )
})

test('a long poll is held for as long as the client asks', async (t) => {
  const held = Promise.withResolvers<void>()
  const { later } = processTimers
  t.mock.method(processTimers, 'later', (run: () => void, delayMs: number) => {
    if (delayMs === 25_000) held.resolve()
    return later(run, delayMs)
  })
  const { open, crosswind } = await start(t)
  const ann = open({ modes: ['long-polling/1.1'] })
  const heard = texts(ann.channel<Said>('room.1'), 1)
  await held.promise
  await crosswind.publish('room.1', { text: 'hello' })
  assert.deepEqual(await heard, ['hello'])
})

test('a repeat under the same id is stored once; other data under that id is refused', async (t) => {
  const { crosswind } = await start(t)
  const publish = (data: unknown) => crosswind.publish('room.1', data, { id: 'order-7' })
  const first = await publish({ items: [1, 2], note: undefined })
  assert.deepEqual(await publish({ items: [1, 2] }), first)
  await assert.rejects(publish({ items: [1] }), { code: 'id-taken' })
})

test('an option that does not fit is named, with its value and what is allowed', async () => {
  const create = (option: object) =>
    createCrosswind({ path: '/realtime', channels: {}, authorize: 'everyone', ...option })
  for (const [option, sentence] of [
    [
      { limits: { messagesPerSecond: 0 } },
      /^limits\.messagesPerSecond is 0 \(from createCrosswind\); allowed/,
    ],
    [
      { limits: { messagePerSecond: 9 } },
      /no key limits\.messagePerSecond .* did you mean .*messagesPerSecond/,
    ],
    [{ limits: { unknown: 1 } }, /no key limits\.unknown .*; docs\/settings\.md lists them/],
    [{ limits: { logBytes: 2000 } }, /^limits\.logBytes is 2000 .* must hold a message/],
    [{ storage: { kind: 'nats', servers: [] } }, /^nats\.servers is \[\]/],
    [{ allowedOrigins: ['example'] }, /^allowedOrigins is "example"/],
    [{ path: 'realtime' }, /path is "realtime"/],
    [{ storrage: 'memory' }, /^createCrosswind has no storrage; did you mean storage\?$/],
    [{ hub: 1 }, /^createCrosswind has no hub; it has path, channels, authorize, .* and onFailure\.$/],
    [
      { storage: { kind: 'file' } },
      /storage is \{"kind":"file"\}; it must be "memory", have the kind .* or be made by a package/,
    ],
    [{ storage: { kind: 'sqlite', file: 'a' } }, /of the kind sqlite, has no file/],
    [{ storage: { kind: 'sqlite' } }, /storage\.folder is undefined; it must be a path/],
    [{ channels: { a: { kind: 'jsn' } } }, /channels\['a'\]\.kind is "jsn"; it must be "json" or "yjs"/],
    [{ channels: { a: { kind: 'yjs', keep: {} } } }, /of the kind yjs, has no keep; it has kind and owners/],
    [{ channels: { 'a b': { kind: 'json' } } }, /"a b" in channels cannot name a channel/],
    [
      { channels: { 'a.*': { kind: 'json', keep: { messages: 1.5 } } } },
      /channels\['a\.\*'\]\.keep\.messages is 1\.5; it must be a whole number above 0/,
    ],
    [
      { channels: { a: { kind: 'json', keep: { hours: 200 } } } },
      /keep\.hours is 200; .* at most that of the whole log, 168 \(limits\.logHours\)/,
    ],
    [
      { channels: { a: { kind: 'json', keep: { messages: 200_000 } } } },
      /keep\.messages is 200000; .* 100000 \(limits\.memoryMessages\)/,
    ],
    [{ channels: { a: { kind: 'json', keep: 5 } } }, /keep is 5; it must be such as \{ messages: 1000/],
    [{ channels: { a: { kind: 'json', keep: { hours: '1' } } } }, /keep\.hours is "1"; it must be a number/],
    [
      { channels: { a: { kind: 'json', latest: { of: 'id' } } } },
      /latest is {"of":"id"}; it must be true, false or such as { by/,
    ],
    [
      { channels: { a: { kind: 'json', validate: (data: unknown) => data } } },
      /channels\['a'\]\.validate is no Standard Schema/,
    ],
    [{ channels: { a: { kind: 'json', presence: {} } } }, /presence is no Standard Schema/],
    [
      { channels: { a: { kind: 'json', changes: 'clients' } } },
      /changes is "clients"; it must be true, 'server' or false/,
    ],
    [
      { channels: { a: { kind: 'json', keep: { days: 7 } } } },
      /keep has no days; it has messages, bytes and hours/,
    ],
  ] as const)
    await assert.rejects(create(option), { message: sentence })
})

test('a limit of the application is that of its clients', async (t) => {
  const { open } = await start(t, { limits: { maxMessageBytes: 2000 } })
  const room = open().channel<Said>('room.1')
  await assert.rejects(room.publish({ text: 'x'.repeat(3000) }), { code: 'too-large' })
  await room.publish({ text: 'x'.repeat(1000) })
})

test('the first mode that gets through is used, and named', async (t) => {
  const { open } = await start(t, { cuts: (url) => /\/(stream|long-poll)\?/.test(url) })
  const opened = open({ modes: ['sse/1.1', 'long-polling/1.1', 'polling/1.1'] })
  const room = opened.channel<Said>('room.1')
  await room.publish({ text: 'hello' })
  assert.equal((await untilState(opened, ({ status }) => status === 'open')).mode, 'polling/1.1')
})

test('switches to another of its modes, and loses nothing', async (t) => {
  const { open } = await start(t)
  const opened = open({ modes: ['sse/1.1', 'websocket/1.1'] })
  const room = opened.channel<Said>('room.1')
  const heard = texts(room, 2)
  await room.publish({ text: 'one' })
  opened.switch('websocket/1.1')
  await untilState(opened, ({ status, mode }) => status === 'open' && mode === 'websocket/1.1')
  await room.publish({ text: 'two' })
  assert.deepEqual(await heard, ['one', 'two'])
  assert.throws(
    () => opened.switch('sse/2'),
    /^Error: There is no mode "sse\/2"; there are sse\/1\.1, websocket\/1\.1\./,
  )
})

test('over plain http only the modes of HTTP/1.1 are used; without one it says so', async (t) => {
  const { open, origin } = await start(t)
  assert.equal(open().state.mode, 'sse/1.1')
  assert.throws(() => connect(origin, { modes: ['sse/2'] }), /^Error: Only over https: sse\/2\.$/)
  assert.throws(() => connect(origin, { modes: ['sse/4'] }), /There is no mode "sse\/4"/)
})

test('a refused message rejects with a code, and the next ones pass', async (t) => {
  const { open } = await start(t)
  const opened = open()
  const room = opened.channel<Said>('room.1')
  const other = opened.channel<Said>('lobby')
  other.on('error', () => undefined)
  await assert.rejects(other.publish({ text: 'x' }), { code: 'bad-channel' })
  assert.ok((await room.publish({ text: 'hello' })).seq > 0)
})

for (const mode of ['sse/1.1', 'websocket/1.1', 'long-polling/1.1'])
  for (const token of [() => 'ada', undefined])
    test(`over ${mode}, ${token ? 'with' : 'without'} a token, a client waits while authorize throws, and is not refused`, async (t) => {
      const failures: unknown[] = []
      let asked = 0
      const { open } = await start(t, {
        async authorize() {
          asked += 1
          if (asked < 3) throw new Error(`no database ${asked}`)
          return { read: ['room.*'], write: ['room.*'] }
        },
        onFailure: (error) => failures.push(String(error)),
      })
      const opened = open({ modes: [mode], ...(token && { token }) })
      opened.on('error', (error) => assert.fail(String(error)))
      const room = opened.channel<Said>('room.1')
      room.on('error', (error) => assert.fail(String(error)))
      assert.equal((await room.publish({ text: 'hello' })).seq, 1)
      assert.deepEqual(failures, ['Error: no database 1', 'Error: no database 2'])
    })

test('authorize decides who reads and writes what, by a token or a cookie', async (t) => {
  const asked: string[] = []
  const { open, origin } = await start(t, {
    authorize({ token, headers }) {
      asked.push(token ?? headers.cookie ?? '')
      if (token === 'ada') return { user: 'ada', read: ['room.*'], write: ['room.1'] }
      return headers.cookie === 'user=bob' ? { user: 'bob', read: ['room.1'], write: [] } : null
    },
  })
  const ada = open({ token: () => 'ada' })
  const room = ada.channel<Said>('room.1')
  const other = ada.channel<Said>('room.2')
  assert.equal((await room.publish({ text: 'hello' })).seq, 1)
  await assert.rejects(other.publish({ text: 'x' }), { code: 'read-only-invitation' })
  assert.deepEqual(asked, ['ada'])

  const bob = connectHttp('1.1', origin, null, 'user=bob')
  t.after(() => bob.close())
  const ask = async (path: string, body?: string) => {
    const { status, body: answer } = await bob.ask({ path, ...(body && { method: 'POST', body }) })
    return [status, JSON.parse(await textOf(answer))] as const
  }
  const [status, { messages }] = await ask('/realtime/channels/room.1?after=start')
  assert.deepEqual([status, messages.length], [200, 1])
  assert.equal((await ask('/realtime/channels/room.2?after=start'))[0], 403)

  const stranger = open().channel<Said>('room.1')
  await assert.rejects(new Promise((_resolve, reject) => stranger.on('error', reject)), {
    code: 'no-session',
  })
  await assert.rejects(stranger.publish({ text: 'x' }), { code: 'no-session' })
})

test('after a refusal the channel may be opened again on the same connection', async (t) => {
  const { crosswind, open } = await start(t, {
    authorize: ({ token }) => (token === 'right' ? { read: ['room.*'], write: ['room.1'] } : null),
  })
  let token = 'wrong'
  const opened = open({ token: () => token })
  const refused = opened.channel<Said>('room.1')
  await assert.rejects(new Promise((_resolve, reject) => refused.on('error', reject)), { code: 'no-session' })
  token = 'right'
  const heard = texts(opened.channel<Said>('room.1', { from: 'start' }), 1)
  await crosswind.publish('room.1', { text: 'hello' })
  assert.deepEqual(await heard, ['hello'])
})

test('a ticket that ends is replaced by another, and nothing is lost', async (t) => {
  let asked = 0
  const clock = stopClock(t)
  const minuteMs = 60_000
  const { open } = await start(t, {
    authorize({ token }) {
      asked += 1
      const expiresAt = clock.now() + minuteMs
      return token === null ? null : { read: ['room.*'], write: ['room.*'], expiresAt }
    },
  })
  const ann = open({ token: () => 'ann' })
  const bob = open({ token: () => 'bob' })
  const from = ann.channel<Said>('room.1')
  const to = bob.channel<Said>('room.1')
  const heard: string[] = []
  to.on('message', ({ data }) => heard.push(data.text))
  await untilState(bob, ({ status }) => status === 'open')
  const written: string[] = []
  while (asked < 8) {
    written.push(`message ${written.length}`)
    await from.publish({ text: written.at(-1) ?? '' })
    clock.pass(minuteMs)
  }
  const last = texts(to, 1)
  await from.publish({ text: 'last' })
  await last
  assert.deepEqual(heard, [...written, 'last'])
})

test('a server that starts again on its folder has every message, and its clients go on', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const storage = { kind: 'sqlite', folder } as const
  const first = await start(t, { storage })
  const heard = first.open().channel<Said>('room.1')
  const { seq } = await heard.publish({ text: 'before' })
  await first.crosswind.close({ drainMs: 0 })
  const next = await start(t, { storage })
  const room = next.open().channel<Said>('room.1', { from: 'start' })
  const both = texts(room, 2)
  const later = await room.publish({ text: 'after' })
  assert.deepEqual(await both, ['before', 'after'])
  assert.ok(later.seq > seq)
  assert.equal(statSync(folder).mode & 0o077, 0, 'nobody else may look into it')
})

test('only the user of the server may read stored files, and an existing folder keeps its mode', async (t) => {
  const root = temporaryFolder(t)
  const shared = join(root, 'shared')
  mkdirSync(shared)
  chmodSync(shared, 0o755)
  for (const folder of [join(root, 'new/parent/data'), shared]) {
    const { crosswind } = await start(t, { storage: { kind: 'sqlite', folder } })
    await crosswind.publish('room.1', { text: 'secret' })
    const names = ['', '-lock', '-shm', '-wal'].map((end) => `log.db${end}`)
    assert.deepEqual(accessTo(folder), { names, openToOthers: [] })
  }
  assert.equal(statSync(shared).mode & 0o777, 0o755)
  for (const made of ['new', 'new/parent', 'new/parent/data'])
    assert.equal(statSync(join(root, made)).mode & 0o077, 0, made)
})

for (const mode of ['sse/1.1', 'websocket/1.1', 'long-polling/1.1', 'polling/1.1'])
  test(`a log that has a message nested deeper than is allowed now: the server starts, and over ${mode} all of it is read`, async (t) => {
    const folder = temporaryFolder(t)
    const levels = 10_000
    const log = openSqliteLog({
      file: join(folder, 'log.db'),
      durability: 'process',
      limits: ampleLimits,
      typeOf: toyTypes(),
      now: Date.now,
      random: Math.random,
      onFailure: (error) => assert.fail(String(error)),
      onLoss: () => assert.fail(),
    })
    for (const [place, data] of ['"first"', '['.repeat(levels) + ']'.repeat(levels), '"last"'].entries()) {
      const body = keptBody(`{"data":${data}}`, { user: undefined, digest: undefined })
      await log.append(
        { id: `a-${place}`, channel: 'room.1', kind: 'json', from: 'a', at: 1, body },
        Date.now(),
      )
    }
    await log.close()
    const { crosswind, open } = await start(t, { storage: { kind: 'sqlite', folder } })
    const reader = open({ modes: [mode] })
    const room = reader.channel('room.1', { from: 'start' })
    const heard: unknown[] = []
    const all = new Promise<void>((resolve) => {
      room.on('message', ({ data }) => heard.push(Array.isArray(data) ? 'deep' : data) === 4 && resolve())
    })
    await untilState(reader, ({ status }) => status === 'open')
    await room.publish('new')
    await all
    assert.deepEqual(heard, ['first', 'deep', 'last', 'new'])
    const read = await Array.fromAsync(crosswind.read('room.1'))
    assert.deepEqual(
      read.map(({ data }) => (Array.isArray(data) ? 'deep' : data)),
      heard,
    )
  })

for (const kind of ['memory', 'sqlite'] as const)
  test(`an application deletes a channel, which makes room for another; the others keep theirs, also after a restart, in ${kind}`, async (t) => {
    const storage = kind === 'sqlite' ? ({ kind, folder: temporaryFolder(t) } as const) : kind
    const first = await start(t, { storage, limits: { maxChannels: 2 } })
    const { crosswind } = first
    const say = (channel: string, text: string) => crosswind.publish(channel, { text })
    const said = async ({ read }: typeof crosswind, channel: string) =>
      (await Array.fromAsync(read(channel))).map(({ data }) => (data as Said).text)
    await say('room.1', 'kept')
    for (const text of ['gone', 'gone too']) await say('room.2', text)
    const refusal = {
      code: 'too-many-channels',
      message:
        'The log is limited to 2 channels, so "room.3" cannot be created. Use an existing channel, erase one with crosswind.deleteChannel, or raise limits.maxChannels.',
    }
    await assert.rejects(say('room.3', 'no room'), refusal)
    await assert.rejects(first.open().channel('room.3').publish({ text: 'no room' }), refusal)
    assert.equal(await crosswind.deleteChannel('room.2'), true)
    await say('room.3', 'new')
    const rooms = ['room.1', 'room.2', 'room.3']
    const left = [['kept'], [], ['new']]
    assert.deepEqual(await Promise.all(rooms.map((room) => said(crosswind, room))), left)
    assert.equal(await crosswind.deleteChannel('room.2'), false, 'there is none any more')
    await assert.rejects(crosswind.deleteChannel('lobby'), { code: 'bad-channel' })
    await assert.rejects(say('room.2', 'no room'), { code: 'too-many-channels' })
    if (kind === 'memory') return
    await crosswind.close({ drainMs: 0 })
    const next = await start(t, { storage })
    assert.deepEqual(await Promise.all(rooms.map((room) => said(next.crosswind, room))), left)
  })

test('a client that follows a deleted channel goes on, and begins it anew', async (t) => {
  const { crosswind, open } = await start(t)
  const room = open().channel<Said>('room.1')
  const heard = texts(room, 2)
  await room.publish({ text: 'before' })
  assert.equal(await crosswind.deleteChannel('room.1'), true)
  await room.publish({ text: 'after' })
  assert.deepEqual(await heard, ['before', 'after'])
  assert.deepEqual(await texts(open().channel<Said>('room.1', { from: 'start' }), 1), ['after'])
})

test('a program in Node follows without a browser, in each mode that fetch and WebSocket carry', async (t) => {
  const { crosswind, origin } = await start(t)
  for (const mode of ['sse/1.1', 'websocket/1.1', 'long-polling/1.1', 'polling/1.1']) {
    const program = connect(`${origin}/realtime`, { modes: [mode] })
    t.after(() => program.close())
    const room = program.channel<Said>('room.1')
    await untilState(program, ({ status }) => status === 'open')
    const heard = texts(room, 2)
    await crosswind.publish('room.1', { text: 'to' })
    await room.publish({ text: 'fro' })
    assert.deepEqual([program.state.mode, await heard], [mode, ['to', 'fro']])
  }
})

test('an HTTP version may have an address of its own', async (t) => {
  const { crosswind, origin } = await start(t)
  const asked: string[] = []
  const other = createServer()
  crosswind.attach(other)
  other.prependListener('request', ({ url = '' }) => asked.push(url.replace(/\?.*/, '')))
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const address = `http://localhost:${(other.address() as AddressInfo).port}`
  const opened = connect(`${origin}/realtime`, { origins: { '1.1': address } })
  t.after(() => opened.close())
  await opened.channel<Said>('room.1').publish({ text: 'hello' })
  // The heartbeat may arrive later.
  assert.deepEqual(
    asked.filter((path) => path !== '/realtime/heartbeat'),
    ['/realtime/stream', '/realtime/messages'],
  )
})

test('offline, 2,000 messages or 4 MB wait, the state says why, and further messages are refused', async (t) => {
  let isCut = false
  const { open, cut } = await start(t, { cuts: () => isCut })
  const codeOf = (publishing: Promise<unknown>) =>
    publishing.then(
      () => 'stored',
      ({ code }) => code,
    )
  for (const [fits, text] of [
    [2000, 'x'],
    [4, 'x'.repeat(1_040_000)],
  ] as const) {
    const opened = open()
    const room = opened.channel<Said>('room.1')
    await room.publish({ text: 'online' })
    isCut = true
    cut()
    const { reason } = await untilState(opened, ({ status }) => status === 'waiting')
    assert.equal(reason, 'The connection to the server was lost.')
    for (let sent = 0; sent < fits; sent += 1) void codeOf(room.publish({ text }))
    assert.equal(await codeOf(room.publish({ text })), 'outbox-full')
    assert.equal(opened.state.pending, fits)
    isCut = false
  }
})

test('the mode may be switched before the first channel', async (t) => {
  const { open } = await start(t)
  const opened = open({ modes: ['sse/1.1', 'websocket/1.1'] })
  opened.switch('websocket/1.1')
  await opened.channel<Said>('room.1').publish({ text: 'hello' })
  assert.equal(opened.state.mode, 'websocket/1.1')
})

test('a mode falls back to the one that is named for it, not to the next', async (t) => {
  const { open } = await start(t, { cuts: (url) => url.includes('/realtime/stream') })
  const opened = open({
    modes: ['sse/1.1', 'websocket/1.1', 'long-polling/1.1'],
    fallbacks: { 'sse/1.1': 'long-polling/1.1' },
  })
  opened.channel<Said>('room.1')
  const { mode, preferred, fallbackReason } = await untilState(opened, ({ status }) => status === 'open')
  assert.deepEqual([mode, preferred, fallbackReason], ['long-polling/1.1', 'sse/1.1', 'blocked'])
})

test('a page continues after the messages that it was sent with: one stream for its channels, no earlier request', async (t) => {
  const asked: string[] = []
  const { crosswind, open } = await start(t, { elsewhere: ({ url = '' }) => void asked.push(url) })
  await crosswind.publish('room.1', { text: 'in the page' })
  const reader = open()
  const cursor = await new Promise<string>((resolve) => {
    reader.channel<Said>('room.1', { from: 'start' }).on('message', (message) => resolve(message.cursor))
  })
  reader.close()
  await crosswind.publish('room.1', { text: 'first' })
  asked.length = 0
  const opened = open({ modes: ['sse/1.1'] })
  const heard = Promise.all([
    texts(opened.channel<Said>('room.1', { from: cursor }), 1),
    texts(opened.channel<Said>('room.2', { from: cursor }), 1),
  ])
  await untilState(opened, ({ status }) => status === 'open')
  await crosswind.publish('room.2', { text: 'second' })
  assert.deepEqual(await heard, [['first'], ['second']])
  const paths = asked
    .map((url) => new URL(url, 'http://localhost'))
    .filter(({ pathname }) => !/\/(leave|heartbeat)$/.test(pathname))
  assert.deepEqual(
    paths.map(({ pathname, searchParams }) => [pathname, searchParams.get('channels')]),
    [['/realtime/stream', 'room.1,room.2']],
  )
})

test('the state says what is known of the connection: its clock, its version, its windows, its outbox', async (t) => {
  const { open } = await start(t)
  const opened = open({ clock: LinkClock, modes: ['sse/1.1'] })
  assert.deepEqual(opened.state, {
    mode: 'sse/1.1',
    status: 'opening',
    clock: null,
    behindMs: null,
    pending: 0,
    reason: null,
  })
  await opened.channel<Said>('room.1').publish({ text: 'hello' })
  const { clock, outbox, behindMs, ...state } = await untilState(
    opened,
    ({ windows, pending, clock }) => windows === 1 && pending === 0 && Boolean(clock),
  )
  assert.ok(clock && clock.boundMs > 0)
  assert.equal(outbox?.unstored, 0)
  assert.equal(typeof behindMs, 'number')
  assert.deepEqual(state, {
    mode: 'sse/1.1',
    preferred: 'sse/1.1',
    status: 'open',
    pending: 0,
    fallbackReason: null,
    spokenHttp: '1.1',
    reason: null,
    retryAt: null,
    repairs: 0,
    windows: 1,
    browserHttp1Streams: 1,
    user: null,
    readOnly: [],
  })
})

test('an application renews its own session when the server no longer knows it, or refuses', async (t) => {
  const clock = stopClock(t)
  let isSignedIn = true
  const { crosswind, open } = await start(t, {
    authorize: () => (isSignedIn ? { read: ['*'], write: ['*'], expiresAt: clock.now() + 60_000 } : null),
  })
  const renewals = [
    async () => {
      isSignedIn = true
    },
    async () => {
      throw Object.assign(new Error('Sign in again.'), { status: 401, code: 'signed-out' })
    },
  ]
  const opened = open({ renewSession: () => renewals.shift()?.() ?? Promise.resolve() })
  const heard = texts(opened.channel<Said>('room.1'), 1)
  await untilState(opened, ({ status }) => status === 'open')
  isSignedIn = false
  clock.pass(61_000)
  await untilState(opened, ({ status }) => status !== 'open')
  await untilState(opened, ({ status }) => status === 'open')
  await crosswind.publish('room.1', { text: 'hello' })
  assert.deepEqual(await heard, ['hello'])
  isSignedIn = false
  const error = new Promise((resolve) => opened.on('error', resolve))
  clock.pass(61_000)
  assert.deepEqual(await error, new RefusedError('signed-out', 'Sign in again.'))
})

const people = {
  authorize: ({ token }: { readonly token: string | null }) =>
    token === null ? null : { user: token, read: ['room.*'], write: ['room.*'] },
} as const

test('the server names the user of each message, in every way of sending, also after a restart', async (t) => {
  const folder = temporaryFolder(t)
  const storage = { kind: 'sqlite', folder } as const
  const first = await start(t, { ...people, storage, isSecure: true })
  const reader = first.open({ token: () => 'reader' }).channel<Said>('room.1', { from: 'start' })
  const heard: (string | undefined)[] = []
  const told = new Promise<void>((resolve) => {
    reader.on('message', ({ user }) => heard.push(user) === 5 && resolve())
  })
  const users = ['ada', 'bob', 'cyd']
  for (const [index, mode] of ['sse/2', 'websocket/1.1', 'streaming/2'].entries()) {
    const user = users[index] ?? ''
    await first
      .open({ modes: [mode], token: () => user })
      .channel<Said>('room.1')
      .publish({ text: mode })
  }
  await first.crosswind.publish('room.1', { text: 'welcome' })
  await first.crosswind.publish('room.1', { text: 'for her' }, { user: 'ada' })
  await told
  const named = [...users, undefined, 'ada']
  assert.deepEqual(heard, named)
  await first.crosswind.close({ drainMs: 0 })
  const { crosswind } = await start(t, { ...people, storage })
  const read = await Array.fromAsync(crosswind.read('room.1'))
  assert.deepEqual(
    read.map(({ user }) => user),
    named,
  )
})

test('a repeat is stored once, even if its user has changed', async (t) => {
  const { origin, crosswind } = await start(t, people)
  const client = connectHttp('1.1', origin, null)
  t.after(() => client.close())
  const post = async (token: string, body: object) => {
    const { body: answer } = await client.ask({
      method: 'POST',
      path: '/realtime/messages',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ id: 'c1-1', channel: 'room.1', kind: 'json', from: 'c1', at: 0, body }),
    })
    const { seq, code } = JSON.parse(await textOf(answer))
    return seq ?? code
  }
  assert.equal(await post('ada', { data: { text: 'once' } }), 1)
  assert.equal(await post('ada', { data: { text: 'once' } }), 1)
  assert.equal(await post('bob', { data: { text: 'once' } }), 1)
  assert.equal(await post('ada', { data: { text: 'other' } }), 'id-taken')
  const [message, ...others] = await Array.fromAsync(crosswind.read('room.1'))
  assert.deepEqual([message?.user, others], ['ada', []])
})

test('connectOver uses only the transports that it names, in all their modes', async (t) => {
  const { origin } = await start(t, { cuts: (url) => url.startsWith('/realtime/stream?') })
  const opened = connectOver(`${origin}/realtime`, { transports: [sse, longPolling] })
  t.after(() => opened.close())
  const room = opened.channel<Said>('room.1')
  await room.publish({ text: 'hello' })
  assert.equal((await untilState(opened, ({ status }) => status === 'open')).mode, 'long-polling/1.1')
  assert.throws(
    () => connectOver(origin, { transports: [sse], modes: ['websocket/1.1'] }),
    /There is no mode "websocket\/1\.1"; there are sse\/3, sse\/2, sse\/1\.1\./,
  )
})

test('while another program answers at the address, the state names that as the reason', async (t) => {
  let isThere = false
  const { open } = await start(t, {
    elsewhere: (_request, response) => !isThere && response.end('<!doctype html>'),
  })
  const opened = open()
  const room = opened.channel<Said>('room.1')
  const heard = texts(room, 1)
  const { reason } = await untilState(opened, ({ status }) => status === 'waiting')
  assert.equal(reason, 'Another program answered, with status 200.')
  isThere = true
  await room.publish({ text: 'hello' })
  assert.deepEqual(await heard, ['hello'])
})

test('a channel that may not be read leaves the others of its connection alone', async (t) => {
  const { open } = await start(t, { authorize: () => ({ read: ['room.1'], write: ['room.*'] }) })
  for (const names of [
    ['room.2', 'room.1'],
    ['room.1', 'room.2'],
  ]) {
    const opened = open()
    const rooms = new Map(names.map((name) => [name, opened.channel<Said>(name)]))
    const allowed = rooms.get('room.1') as Room<Said>
    const refused = rooms.get('room.2') as Room<Said>
    const heard = texts(allowed, 1)
    await assert.rejects(new Promise((_resolve, reject) => refused.on('error', reject)), {
      code: 'not-invited-there',
    })
    await allowed.publish({ text: 'hello' })
    assert.deepEqual(await heard, ['hello'])
  }
})

for (const mode of ['sse/1.1', 'websocket/1.1', 'long-polling/1.1', 'polling/1.1', 'streaming/2'])
  test(`a listener that throws over ${mode} is reported, and the other listeners are still called`, async (t) => {
    const { open, crosswind } = await start(t, { isSecure: mode === 'streaming/2' })
    const thrown = uncaught(t)
    await crosswind.publish('room.1', { text: '1' })
    const states: string[] = []
    const reader = open({ modes: [mode] })
    reader.on('state', () => {
      throw new Error('state')
    })
    reader.on('state', ({ status }) => states.at(-1) === status || states.push(status))
    const room = reader.channel<Said>('room.1', { from: 'start' })
    room.on('message', ({ data }) => {
      throw new Error(data.text)
    })
    const heard = texts(room, 5)
    await crosswind.publish('room.1', { text: '2' })
    await untilState(reader, ({ status }) => status === 'open')
    for (const text of ['3', '4']) await crosswind.publish('room.1', { text })
    await room.publish({ text: '5' })
    assert.deepEqual(await heard, ['1', '2', '3', '4', '5'])
    assert.deepEqual(
      thrown.filter((text) => text !== 'Error: state'),
      ['1', '2', '3', '4', '5'].map((text) => `Error: ${text}`),
    )
    assert.deepEqual(states, ['opening', 'open'])
  })
