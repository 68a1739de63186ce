// The application on the server takes part: it hears messages, and knows who reads which channel.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Y from 'yjs'
import type { ClientMovement, Received } from '../../server/index.ts'
import { type Said, start, texts, untilState } from './testing.ts'

/** Resolves once `count` things were pushed. */
function collect<One>(count: number) {
  const found: One[] = []
  const { promise, resolve } = Promise.withResolvers<readonly One[]>()
  const push = (one: One) => {
    found.push(one)
    if (found.length === count) resolve(found)
  }
  return { found, push, all: promise }
}

test('the application hears each message of its channels in order, whoever sent it, and can answer', async (t) => {
  const { crosswind, open } = await start(t, {
    channels: { 'room.*': { kind: 'json' }, hall: { kind: 'json' } },
    authorize: () => ({ user: 'ada', read: ['*'], write: ['*'] }),
  })
  const { push, all, found } = collect<Received<Said>>(3)
  const off = crosswind.on<Said>('room.*', (message) => {
    push(message)
    if (message.data.text === 'ping') return crosswind.publish(message.channel, { text: 'pong' })
  })
  const room = open().channel<Said>('room.1')
  const heard = texts(room, 3)
  await crosswind.publish('hall', { text: 'elsewhere' })
  const { seq } = await room.publish({ text: 'ping' })
  await crosswind.publish('room.1', { text: 'last' })
  const [first, ...others] = await all
  assert.deepEqual(
    [first?.data, first?.user, first?.seq, first?.channel],
    [{ text: 'ping' }, 'ada', seq, 'room.1'],
  )
  const known = ['ping', ...others.map(({ data }) => data.text)]
  assert.deepEqual(await heard, known)
  assert.deepEqual(known.toSorted(), ['last', 'ping', 'pong'])
  off()
  await crosswind.publish('room.1', { text: 'after' })
  assert.equal(found.length, 3)
})

test('a listener that fails is reported, and neither the message nor other listeners are lost', async (t) => {
  const failures: unknown[] = []
  const { crosswind } = await start(t, { onFailure: (error) => failures.push(error) })
  const { push, all } = collect<string>(2)
  crosswind.on('room.1', async () => {
    throw new Error('no database')
  })
  crosswind.on<Said>('room.1', ({ data }) => push(data.text))
  for (const text of ['a', 'b']) await crosswind.publish('room.1', { text })
  assert.deepEqual(await all, ['a', 'b'])
  assert.deepEqual(failures.map(String), ['Error: no database', 'Error: no database'])
})

test('it hears the updates of documents, and nothing of the log’s own', async (t) => {
  const { crosswind, open } = await start(t, {
    channels: { 'doc.*': { kind: 'yjs' }, '*': { kind: 'json' } },
    authorize: () => ({ read: ['*'], write: ['*'] }),
  })
  const { found, push, all } = collect<unknown>(3)
  crosswind.on('*', ({ kind, data }) => push([kind, data]))
  await crosswind.publish('room.1', 1)
  await crosswind.deleteChannel('room.1')
  await crosswind.revoke('ada')
  await crosswind.publish('room.1', 2)
  const update = Buffer.from(Y.encodeStateAsUpdate(new Y.Doc())).toString('base64')
  const document = open().follow('doc.1', {
    take: () => undefined,
    newLog: () => undefined,
    end: () => undefined,
    presence: { heard: () => undefined, refused: () => undefined },
  })
  await document.publish('update', { update })
  await all
  assert.deepEqual(found, [
    ['json', 1],
    ['json', 2],
    ['update', { update }],
  ])
})

test('channels that nobody declares, or that cannot be names, are named in the error', async (t) => {
  const { crosswind } = await start(t)
  const { on, watchClients } = crosswind
  for (const [listen, name] of [
    [on, 'on'],
    [watchClients, 'watchClients'],
  ] as const) {
    assert.throws(() => listen('rom.*', () => undefined), {
      message: `${name}: no channel "rom.*" is declared; declare it, or a prefix of it and *, in channels.`,
    })
    assert.throws(() => listen('a b', () => undefined), {
      message: `${name}: "a b" is no channel's name, nor the beginning of one and *.`,
    })
    for (const pattern of ['*', 'room.*', 'room.1', 'room.1.*']) listen(pattern, () => undefined)()
  }
  await assert.rejects(crosswind.clientsOn('rom.1'), { code: 'bad-channel' })
})

for (const mode of ['sse/1.1', 'websocket/1.1', 'long-polling/1.1'])
  test(`over ${mode}, the application knows who reads a channel, and when they join and leave`, async (t) => {
    const { crosswind, open } = await start(t, {
      authorize: ({ token }) => ({ user: `${token}`, read: ['*'], write: ['*'] }),
    })
    const { push, all, found } = collect<ClientMovement>(2)
    crosswind.watchClients('room.1', push)
    await crosswind.publish('room.2', { text: 'before' })
    const [before] = await Array.fromAsync(crosswind.read('room.2'))
    const ada = open({ modes: [mode], token: () => 'ada' })
    const room = ada.channel<Said>('room.1')
    const bob = open({ token: () => 'bob' })
    bob.channel('room.2')
    await untilState(ada, ({ status }) => status === 'open')
    await untilState(bob, ({ status }) => status === 'open')
    await room.publish({ text: 'hello' })
    const [message] = await Array.fromAsync(crosswind.read('room.1'))
    const [client, ...others] = await crosswind.clientsOn('room.1')
    assert.ok(client && before && message)
    assert.deepEqual([client.id, client.user, client.mode, others], [message?.from, 'ada', mode, []])
    // All by the server's clock.
    assert.ok(before.acceptedAt <= client.since && client.since <= message.acceptedAt)
    // It tells at once who has left.
    await crosswind.close({ drainMs: 0 })
    await all
    assert.deepEqual(found, [
      { movement: 'joined', channel: 'room.1', client },
      { movement: 'left', channel: 'room.1', client },
    ])
  })
