// Several servers of an application over NATS.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import * as Y from 'yjs'
import { startNatsServer, type TestNats } from '../../scripts/nats-server.ts'
import type { CrosswindOptions } from '../../server/index.ts'
import { type Said, start, texts } from './testing.ts'
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

test('who is shown at one server has its user at another, and is not seen to leave when it moves there', async (t) => {
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

test('what another server has stored under a Yjs client number is not contradicted', async (t) => {
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
