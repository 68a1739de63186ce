// Several servers of an application over NATS.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { startNatsServer, type TestNats } from '../../scripts/nats-server.ts'
import { newKey } from '../clients/client.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { type Said, start, texts, untilState } from './testing.ts'

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

test('when the stream is deleted, clients are told, and the server goes on with another', async (t) => {
  const { open, crosswind } = await start(t, onNats('deleted'))
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

test('a client that is disconnected at one server is asked about again at the server that it uses', async (t) => {
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
