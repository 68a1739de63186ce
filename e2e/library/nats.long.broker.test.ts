// Several servers of an application over NATS.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import * as Y from 'yjs'
import { startNatsServer, type TestNats } from '../../scripts/nats-server.ts'
import type { CrosswindOptions } from '../../server/index.ts'
import { newKey } from '../clients/client.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { type Said, start, texts, untilState } from './testing.ts'
import { follow } from './yjs-testing.ts'

let nats: TestNats
before(async () => {
  nats = await startNatsServer()
})
after(() => nats.stop())

const onNats = (stream: string) =>
  ({ storage: { kind: 'nats', servers: [nats.address()], stream, replicas: 1 } }) as const

test('a message that one server stores reaches the clients of another, and is stored once', async (t) => {
  const [one, other] = await Promise.all([start(t, onNats('shared')), start(t, onNats('shared'))])
  const room = other.open().channel<Said>('room.1', { from: 'start' })
  const heard = texts(room, 3)
  const { seq } = await one.open().channel<Said>('room.1').publish({ text: 'hello' })
  const first = await one.crosswind.publish('room.1', { text: 'welcome' }, { id: 'greeting', user: 'ada' })
  assert.deepEqual(
    await other.crosswind.publish('room.1', { text: 'welcome' }, { id: 'greeting', user: 'ada' }),
    first,
  )
  await room.publish({ text: 'hi' })
  assert.deepEqual(await heard, ['hello', 'welcome', 'hi'])
  const read = await Array.fromAsync(one.crosswind.read('room.1', { after: seq }))
  assert.deepEqual(
    read.map(({ user, data }) => [user, (data as Said).text]),
    [
      ['ada', 'welcome'],
      [undefined, 'hi'],
    ],
  )
})

test('every server hears each message in order, and knows the clients of all', async (t) => {
  const options = { ...onNats('heard'), heartbeatMs: 1000 }
  const [one, other] = await Promise.all([start(t, options), start(t, options)])
  const hearing = [one, other].map(({ crosswind }) => {
    const heard: string[] = []
    const { promise, resolve } = Promise.withResolvers<readonly string[]>()
    crosswind.on<Said>('room.*', ({ data }) => {
      if (heard.push(data.text) === 3) resolve(heard)
    })
    return promise
  })
  const opened = [one.open(), other.open()]
  for (const [place, connection] of opened.entries())
    await connection.channel<Said>('room.1').publish({ text: `client ${place}` })
  await one.crosswind.publish('room.1', { text: 'server' })
  for (const heard of await Promise.all(hearing)) assert.deepEqual(heard, ['client 0', 'client 1', 'server'])
  await Promise.all(opened.map((connection) => untilState(connection, ({ windows }) => windows === 2)))
  const stored = await Array.fromAsync(one.crosswind.read('room.1'))
  const senders = stored.slice(0, 2).map(({ from }) => from)
  for (const { crosswind } of [one, other]) {
    const clients = await crosswind.clientsOn('room.1')
    assert.deepEqual(clients.map(({ id }) => id).sort(), senders.toSorted())
  }
})

test('when the stream is deleted, clients are told, and the server goes on with another', async (t) => {
  const { open, crosswind } = await start(t, onNats('deleted'))
  const heard: string[] = []
  crosswind.onLog((log) => {
    heard.push('begun')
    log.follow(({ body }) => heard.push((body as { readonly data: Said }).data.text))
    return () => void heard.push('ended')
  })
  const room = open().channel<Said>('room.1', { from: 'start' })
  const before = texts(room, 1)
  await room.publish({ text: 'before' })
  assert.deepEqual(await before, ['before'])
  const gap = new Promise<void>((resolve) => void room.on('gap', resolve))
  const after = texts(room, 1)
  const admin = await nats.connect()
  await (await jetstreamManager(admin)).streams.delete('deleted')
  await admin.close()
  await gap
  await room.publish({ text: 'after' })
  assert.deepEqual(await after, ['after'])
  assert.equal((await Array.fromAsync(crosswind.read('room.1'))).length, 1)
  assert.deepEqual(heard, ['begun', 'before', 'ended', 'begun', 'after'])
})

/** Collects the servers' reports; `until` waits for a number of them. */
function reports() {
  const told: string[] = []
  const waiting = new Set<() => void>()
  const onFailure = (error: unknown) => {
    told.push(error instanceof Error ? error.message : String(error))
    for (const look of waiting) look()
  }
  const until = (count: number) =>
    new Promise<readonly string[]>((resolve) => {
      const look = () => told.length >= count && resolve(told)
      waiting.add(look)
      look()
    })
  return { onFailure, until }
}

/** Publishes `1`, `2` and so on; returns the cursor of each. */
async function fill({ crosswind }: Awaited<ReturnType<typeof start>>, count: number) {
  for (let n = 1; n <= count; n += 1) await crosswind.publish('room.1', { text: `${n}` })
  const read = await Array.fromAsync(crosswind.read('room.1'))
  return read.map(({ cursor }) => cursor)
}

/** Returns what a client hears after an absence since a cursor, including `gap`, up to this text. */
function heardSince({ open }: Awaited<ReturnType<typeof start>>, from: string, last: string) {
  const heard: string[] = []
  const room = open().channel<Said>('room.1', { from })
  room.on('gap', () => heard.push('gap'))
  return new Promise<readonly string[]>((resolve) =>
    room.on('message', ({ data }) => {
      heard.push(data.text)
      if (data.text === last) resolve(heard)
    }),
  )
}

test('a purge by another program is reported to the application of every server, and is a gap for clients that were away', async (t) => {
  const told = [reports(), reports()]
  const [one, other] = await Promise.all(
    told.map(({ onFailure }) => start(t, { ...onNats('purged'), onFailure })),
  )
  assert.ok(one && other)
  const printed = new Promise<string>((resolve) => {
    t.mock.method(process.stderr, 'write', (text: string) => /Another program/.test(text) && resolve(text))
  })
  const silent = await start(t, onNats('purged'))
  const [first = '', , third = ''] = await fill(one, 5)
  for (const server of [other, silent]) await heardSince(server, 'start', '5')
  const admin = await nats.connect()
  t.after(() => admin.close())
  const { streams } = await jetstreamManager(admin)
  await streams.purge('purged', { seq: 4 })
  const sentence = (count: number) =>
    new RegExp(`^Another program erased ${count} messages of the stream purged of NATS`)
  for (const { until } of told) assert.match((await until(1))[0] ?? '', sentence(3))
  assert.match(await printed, /^Another program erased 3 messages/, 'without onFailure it is printed')
  for (const server of [one, other]) {
    assert.deepEqual(await heardSince(server, first, '5'), ['gap', '4', '5'])
    assert.deepEqual(await heardSince(server, third, '5'), ['4', '5'])
  }
  await streams.purge('purged')
  for (const { until } of told) assert.match((await until(2))[1] ?? '', sentence(2))
})

test('a purge while no server runs is a gap for clients that were away', async (t) => {
  for (const [name, kept] of [
    ['purged-partly', ['3']],
    ['purged-wholly', []],
  ] as const) {
    const before = await start(t, onNats(name))
    const [first = ''] = await fill(before, 3)
    await before.stop()
    const admin = await nats.connect()
    t.after(() => admin.close())
    const { streams } = await jetstreamManager(admin)
    await streams.purge(name, { keep: kept.length })
    const now = await start(t, onNats(name))
    const http = connectHttp('1.1', now.origin, null)
    const query = new URLSearchParams({ key: newKey(), after: first })
    const { body } = await http.ask({ path: `/realtime/channels/room.1?${query}` })
    http.close()
    assert.equal(JSON.parse(await textOf(body)).recovered, false)
    assert.equal((await now.crosswind.publish('room.1', { text: 'next' })).seq, 4)
    assert.deepEqual(await heardSince(now, first, 'next'), ['gap', ...kept, 'next'])
    const read = await Array.fromAsync(now.crosswind.read('room.1'))
    assert.deepEqual(
      read.map(({ data }) => (data as Said).text),
      [...kept, 'next'],
    )
  }
})

test('messages that another program deletes from the middle are reported once, and clients still receive the others', async (t) => {
  const { onFailure, until } = reports()
  const before = await start(t, { ...onNats('holes'), onFailure })
  const [first = ''] = await fill(before, 5)
  await before.crosswind.publish('room.2', { text: 'elsewhere' })
  const admin = await nats.connect()
  t.after(() => admin.close())
  const { streams } = await jetstreamManager(admin)
  await streams.deleteMessage('holes', 3)
  assert.match((await until(1))[0] ?? '', /^Another program erased 1 message of the stream holes of NATS/)
  await streams.deleteMessage('holes', 2)
  await streams.deleteMessage('holes', 4)
  assert.match((await until(2))[1] ?? '', /^Another program erased 2 messages/)
  assert.deepEqual(
    await heardSince(before, first, '5'),
    ['2', '3', '4', '5'],
    'this server has them in memory',
  )
  await before.stop()
  const now = await start(t, onNats('holes'))
  assert.deepEqual(await heardSince(now, 'start', '5'), ['1', '5'])
  assert.equal((await now.crosswind.publish('room.1', { text: 'next' })).seq, 7)
})

test('a user who is revoked at one server has ended at all of them, also at one that starts later', async (t) => {
  const banned = new Set<string>()
  const options = {
    ...onNats('revoked'),
    secret: 's'.repeat(32),
    authorize: ({ token }: { readonly token: string | null }) =>
      token === null || banned.has(token) ? null : { user: token, read: ['room.*'], write: ['room.*'] },
  }
  const servers = await Promise.all([start(t, options), start(t, options)])
  const [one, other] = servers
  const key = newKey()
  const tickets: string[] = []
  const codeAt = async ({ origin }: { readonly origin: string }, ticket: string) => {
    const http = connectHttp('1.1', origin, null)
    const query = new URLSearchParams({ key, ticket })
    const { status, body } = await http.ask({ path: `/realtime/channels/room.1?${query}` })
    const { code = 'ok' } = JSON.parse(await textOf(body))
    http.close()
    return `${status} ${code}`
  }
  const ask = async ({ origin }: { readonly origin: string }, token: string) => {
    const http = connectHttp('1.1', origin, null)
    const request = { method: 'POST', path: `/realtime/session?key=${key}`, body: JSON.stringify({ token }) }
    const { body } = await http.ask(request)
    tickets.push(JSON.parse(await textOf(body)).ticket)
    http.close()
  }
  for (const server of servers) for (const token of ['ada', 'bob']) await ask(server, token)
  const clients = servers.flatMap(({ open }) =>
    ['sse/1.1', 'long-polling/1.1'].map((mode) => open({ modes: [mode], token: () => 'ada' })),
  )
  const rooms = clients.map((client) => client.channel<Said>('room.1'))
  await Promise.all(rooms.map((room) => room.publish({ text: 'hello' })))
  const witness = other.open({ token: () => 'bob' }).channel<Said>('room.1')
  for (const room of rooms) room.presence.set('here')
  const shown = (count: number) =>
    new Promise<void>((resolve) => {
      const look = () => witness.presence.states.size === count && resolve()
      witness.presence.on('change', look)
      look()
    })
  await shown(4)
  const heard: string[] = []
  for (const room of rooms) room.on('message', ({ data }) => heard.push(data.text))
  banned.add('ada')
  const denied = Promise.all(
    clients.map((client) => new Promise((resolve) => void client.on('error', resolve))),
  )
  await one.crosswind.revoke('ada')
  const codes = (await denied).map((error) => (error as { readonly code: string }).code)
  assert.deepEqual(codes, Array(4).fill('no-session'))
  await shown(0)
  await witness.publish({ text: 'secret' })
  const later = await start(t, options)
  for (const server of [...servers, later])
    assert.deepEqual(await Promise.all(tickets.map((ticket) => codeAt(server, ticket))), [
      '401 session-expired',
      '200 ok',
      '401 session-expired',
      '200 ok',
    ])
  banned.clear()
  await ask(later, 'ada')
  for (const server of [...servers, later]) assert.equal(await codeAt(server, tickets.at(-1) ?? ''), '200 ok')
  assert.ok(!heard.includes('secret'))
})

test('a revoked user reads nothing that is stored afterwards, at another server either', async (t) => {
  const allowed = new Set(['ada', 'bob'])
  const options = {
    ...onNats('at-once'),
    authorize: ({ token }: { readonly token: string | null }) =>
      token !== null && allowed.has(token) && { user: token, read: ['room.*'], write: ['room.*'] },
  }
  const [one, other] = await Promise.all([start(t, options), start(t, options)])
  const clients = ['sse/1.1', 'websocket/1.1', 'long-polling/1.1'].map((mode) =>
    other.open({ modes: [mode], token: () => 'ada' }),
  )
  const witness = other.open({ token: () => 'bob' })
  const rooms = clients.map((client) => client.channel<Said>('room.1'))
  const seen = texts(witness.channel<Said>('room.1'), 2)
  await Promise.all(
    [...clients, witness].map((client) => untilState(client, ({ status }) => status === 'open')),
  )
  const heard: string[] = []
  for (const room of rooms) room.on('message', ({ data }) => heard.push(data.text))
  const greeted = Promise.all(rooms.map((room) => texts(room, 1)))
  await one.crosswind.publish('room.1', { text: 'before' })
  await greeted
  allowed.delete('ada')
  const denied = clients.map((client) => new Promise((resolve) => void client.on('error', resolve)))
  await one.crosswind.revoke('ada')
  await one.crosswind.publish('room.1', { text: 'secret' })
  assert.deepEqual(await seen, ['before', 'secret'])
  await Promise.all(denied)
  assert.deepEqual(heard, Array(3).fill('before'))
})

test('after `disconnect` at one server, the server that the client uses asks `authorize` again', async (t) => {
  const asked: (string | null)[] = []
  const options = {
    ...onNats('disconnected'),
    authorize({ token }: { readonly token: string | null }) {
      asked.push(token)
      return { user: token ?? '', read: ['room.*'], write: ['room.*'] }
    },
  }
  const [one, other] = await Promise.all([start(t, options), start(t, options)])
  const client = other.open({ token: () => 'ada' })
  const room = client.channel<Said>('room.1')
  const name = new Promise<string>((resolve) => room.on('message', ({ from }) => resolve(from)))
  await room.publish({ text: 'hello' })
  const who = { client: await name }
  const closed = untilState(client, ({ status }) => status !== 'open')
  one.crosswind.disconnect(who)
  await closed
  await untilState(client, ({ status }) => status === 'open')
  assert.deepEqual(asked, ['ada', 'ada'])
})

test('a client shown at one server has its user at another, and does not seem to leave when it moves there', async (t) => {
  const authorize: CrosswindOptions['authorize'] = ({ token }) => ({
    user: `${token}`,
    read: ['room.*'],
    write: ['room.*'],
  })
  const secret = 's'.repeat(32)
  const options = { ...onNats('presence'), authorize, secret, heartbeatMs: 1000 }
  const [one, other] = await Promise.all([start(t, options), start(t, options)])
  const { presence } = other.open({ token: () => 'ben' }).channel('room.1')
  const shown = (state: unknown) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (![...presence.states.values()].includes(state)) return
        off()
        resolve()
      }
      const off = presence.on('change', look)
    })
  const seen: unknown[] = []
  const ann = one.open({ token: () => 'ann' })
  const here = shown('here')
  ann.channel('room.1').presence.set('here')
  await here
  presence.on('change', (states) => void seen.push(...states.values(), states.size))
  assert.deepEqual([...presence.users.values()], ['ann'])
  await ann.channel('room.2').publish('reopens the stream')
  const moved = shown('moved')
  ann.channel('room.1').presence.set('moved')
  await moved
  assert.ok(!seen.includes(0), `${seen}`)
  const gone = new Promise<void>(
    (resolve) => void presence.on('change', ({ size }) => size === 0 && resolve()),
  )
  ann.close()
  await gone
})

test('an update cannot contradict what another server has stored under a Yjs client number', async (t) => {
  const options = { ...onNats('numbers'), channels: { 'doc.*': { kind: 'yjs' } } } as const
  const [one, other] = await Promise.all([start(t, options), start(t, options)])
  const updateOf = (text: string) => {
    const doc = new Y.Doc()
    doc.clientID = 7
    doc.getText('t').insert(0, text)
    return { update: Buffer.from(Y.encodeStateAsUpdate(doc)).toString('base64') }
  }
  const send = ({ open }: typeof one, text: string) => follow(open()).publish('update', updateOf(text))
  await send(one, 'first')
  await assert.rejects(send(other, 'other'), { code: 'not-your-client' })
  await send(other, 'first')
  // At the same time: one of them is told.
  const both = await Promise.allSettled([send(one, 'first, and'), send(other, 'first or ')])
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
})
