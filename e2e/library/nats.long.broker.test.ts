// Several servers of an application over NATS.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { startNatsServer, type TestNats } from '../../scripts/nats-server.ts'
import { type Said, start, texts } from './testing.ts'

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
