// A channel's history as an application and its clients read it: backward, in portions, and listed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RoomMessage } from '../../client/connect.ts'
import type { Crosswind } from '../../server/index.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { start } from './testing.ts'

const channels = { 'room.*': { kind: 'json' }, 'doc.*': { kind: 'yjs' } } as const

test('a channel is read backwards by HTTP and on the server, from the newest message to the first', async (t) => {
  const { origin, crosswind } = await start(t, { channels })
  for (let n = 1; n <= 7; n += 1) {
    await crosswind.publish('room.1', n)
    await crosswind.publish('room.2', -n)
  }
  const http = connectHttp('1.1', origin, null)
  t.after(() => http.close())
  const ask = async (path: string) => {
    const { status, body } = await http.ask({ path: `/realtime/channels/${path}` })
    return { status, ...JSON.parse(await textOf(body)) }
  }
  const dataIn = (messages: { body: { data: number } }[]) => messages.map(({ body }) => body.data)
  const newest = await ask('room.1?before=newest&limit=4')
  assert.deepEqual([dataIn(newest.messages), newest.hasEarlier], [[4, 5, 6, 7], true])
  const first = await ask(`room.1?before=${newest.messages[0].seq}&limit=4`)
  assert.deepEqual([dataIn(first.messages), first.hasEarlier], [[1, 2, 3], false])
  assert.deepEqual((await ask('room.9?before=newest')).messages, [])
  for (const [query, says] of [
    ['room.1?before=late', /before is "late"; it must be a whole number of at least 0, or "newest"/],
    ['room.1?before=newest&limit=0', /limit is "0"; it must be a whole number from 1 to 500/],
    ['room.1?before=newest&limit=x', /limit is "x"; it must be a whole number from 1 to 500/],
    ['room.1?before=newest&kind=wave', /kind is "wave"; "room.1" has json, change/],
    ['doc.1?before=newest', /"doc.1" is read as a whole, as documents are/],
  ] as const) {
    const { status, code, message } = await ask(query)
    assert.deepEqual([status, code], [400, 'bad-query'])
    assert.match(message, says)
  }

  const own = await crosswind.readBack('room.1', { limit: 3 })
  assert.deepEqual([own.messages.map(({ data }) => data), own.hasEarlier], [[5, 6, 7], true])
  const before = own.messages[0]?.seq ?? 0
  const rest = await crosswind.readBack('room.1', { before, limit: 9 })
  assert.deepEqual([rest.messages.map(({ data }) => data), rest.hasEarlier], [[1, 2, 3, 4], false])
})

test('a client reads back, goes on from there, and misses nothing', async (t) => {
  const { crosswind, open } = await start(t, { channels })
  for (let data = 1; data <= 7; data += 1) await crosswind.publish('room.1', data)
  const client = open()
  const room = client.channel<number>('room.1')
  const newest = await room.readBack({ limit: 3 })
  assert.deepEqual([newest.messages.map(({ data }) => data), newest.hasEarlier], [[5, 6, 7], true])
  const first = await room.readBack({ before: newest.messages[0]?.seq, limit: 9 })
  assert.deepEqual([first.messages.map(({ data }) => data), first.hasEarlier], [[1, 2, 3, 4], false])
  assert.deepEqual(newest, await crosswind.readBack('room.1', { limit: 3 }).then(withoutKinds))
  await crosswind.publish('room.1', 8)
  const [next] = await new Promise<readonly RoomMessage<number>[]>((resolve) =>
    client.subscribe<number>('room.1', {
      from: newest.cursor,
      onMessage: (message) => resolve([message]),
    }),
  )
  assert.equal(next?.data, 8)
  await assert.rejects(room.readBack({ limit: 0 }), { code: 'bad-query', message: /limit is "0"/ })
})

const withoutKinds = ({ messages, ...page }: Awaited<ReturnType<Crosswind['readBack']>>) => ({
  ...page,
  messages: messages.map(({ kind: _, ...message }) => message),
})

test('a message says when it was published and accepted, alike to clients and to the application', async (t) => {
  const { crosswind, open } = await start(t, { channels })
  await crosswind.publish('room.1', 1)
  const [own] = (await crosswind.readBack('room.1')).messages
  for await (const { at, acceptedAt } of open().channel('room.1', { from: 'start' })) {
    assert.deepEqual([at, acceptedAt], [own?.at, own?.acceptedAt])
    assert.ok(acceptedAt > 0)
    break
  }
})

test('an invalid argument is refused with its name, its value and what it must be', async (t) => {
  const { crosswind } = await start(t, { channels })
  const any = (given: unknown) => given as never
  for (const [reading, says] of [
    [
      () => crosswind.readBack('room.1', { limit: 1.5 }),
      /^limit is 1\.5; it must be a whole number from 1 to 500/,
    ],
    [() => crosswind.readBack('room.1', { limit: -1 }), /^limit is -1/],
    [() => crosswind.readBack('room.1', any({ before: {} })), /^before is \{\}; it must be a whole number/],
    [() => crosswind.read('room.1', any({ after: 'x' })).next(), /^after is "x"/],
    [() => crosswind.read('lobby').next(), /no channel "lobby"/],
    [() => crosswind.channels({ limit: 0 }), /^limit is 0; it must be a whole number of at least 1/],
    [() => crosswind.channels(any({ prefx: 'a' })), /channels has no prefx; did you mean prefix/],
  ] as const)
    await assert.rejects(async () => reading(), { message: says })
})

test('the server lists the channels that have messages, and deletes one', async (t) => {
  const { crosswind } = await start(t, { channels })
  for (const name of ['room.a', 'room.b', 'room.c', 'room.a']) await crosswind.publish(name, name)
  const namesOf = async (which?: Parameters<typeof crosswind.channels>[0]) =>
    (await crosswind.channels(which)).map(({ name }) => name)
  assert.deepEqual(await namesOf(), ['room.a', 'room.c', 'room.b'])
  assert.deepEqual(await namesOf({ prefix: 'room.', limit: 2 }), ['room.a', 'room.c'])
  assert.deepEqual(await namesOf({ prefix: 'room.', before: 3 }), ['room.b'])
  assert.deepEqual((await crosswind.channels({ prefix: 'room.a' }))[0], {
    name: 'room.a',
    newest: 4,
    messages: 2,
    bytes: 34,
  })
  assert.equal(await crosswind.deleteChannel('room.a'), true)
  assert.deepEqual(await namesOf(), ['room.c', 'room.b'])
  assert.deepEqual((await crosswind.readBack('room.a')).messages, [])
})
