// The life of a channel in a client: opened, paused, left, opened anew; subscriptions; too many of them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Crosswind, RoomMessage } from '../../client/connect.ts'
import { nothingPlanned } from '../../protocol/time.ts'
import { type Said, start, texts, untilState } from './testing.ts'

const modes = ['sse/1.1', 'websocket/1.1', 'long-polling/1.1']

/** Collects the texts of a channel from a place on; `until` resolves once there are so many. */
function collect(client: Crosswind, channel: string, from?: string) {
  const heard: string[] = []
  let wake = nothingPlanned
  const leave = client.subscribe<Said>(channel, {
    from,
    onMessage({ data }: RoomMessage<Said>) {
      heard.push(data.text)
      wake()
    },
  })
  const until = async (count: number) => {
    while (heard.length < count) await new Promise<void>((resolve) => (wake = resolve))
    return heard
  }
  return { heard, leave, until }
}

for (const mode of modes)
  test(`over ${mode}, a room that is left hears nothing more and shows nobody, and can be opened anew`, async (t) => {
    const { open, crosswind } = await start(t)
    const one = open({ modes: [mode] })
    const other = open({ modes: [mode] })
    const { presence } = other.channel<Said>('room.1')
    const untilShown = (count: number) =>
      new Promise<void>((resolve) => {
        const look = () => presence.states.size === count && resolve()
        presence.on('change', look)
        look()
      })
    const room = one.channel<Said>('room.1')
    const loop = Array.fromAsync(room)
    room.presence.set('here')
    const first = texts(room, 1)
    await room.publish({ text: 'one' })
    await first
    await untilShown(1)
    room.leave()
    await untilShown(0)
    assert.deepEqual(
      (await loop).map(({ data }) => data.text),
      ['one'],
    )
    await assert.rejects(room.publish({ text: 'late' }), {
      message: /^The room of channel "room\.1" was left\.$/,
    })
    await crosswind.publish('room.1', { text: 'two' })
    const again = one.channel<Said>('room.1', { from: 'start' })
    assert.notEqual(again, room)
    assert.deepEqual(await texts(again, 2), ['one', 'two'])
  })

test('subscriptions have a place each, beside the room, over one stream', async (t) => {
  const { open, crosswind } = await start(t)
  for (const text of ['one', 'two', 'three']) await crosswind.publish('room.1', { text })
  const client = open()
  const room = client.channel<Said>('room.1')
  const inRoom = texts(room, 1)
  await untilState(client, ({ status }) => status === 'open')
  const whole = collect(client, 'room.1', 'start')
  assert.deepEqual(await whole.until(3), ['one', 'two', 'three'])
  const [{ cursor = '' } = {}] = await Array.fromAsync(crosswind.read('room.1'))
  const later = collect(client, 'room.1', cursor)
  const newest = collect(client, 'room.1')
  assert.deepEqual(await later.until(2), ['two', 'three'])
  whole.leave()
  await crosswind.publish('room.1', { text: 'four' })
  assert.deepEqual(await later.until(3), ['two', 'three', 'four'])
  assert.deepEqual(await newest.until(1), ['four'])
  assert.deepEqual(await inRoom, ['four'])
  assert.deepEqual(whole.heard, ['one', 'two', 'three'])
  assert.equal(crosswind.clients().length, 1)
})

test('of a channel of which only the newest matters, a client reads that from a place on, and a program everything', async (t) => {
  const { open, crosswind } = await start(t, {
    channels: { 'room.*': { kind: 'json', latest: { by: 'sender' } } },
  })
  for (let count = 0; count < 600; count += 1)
    await crosswind.publish('room.1', { sender: count % 2, text: String(count) })
  const client = open()
  assert.deepEqual(await collect(client, 'room.1', 'start').until(2), ['598', '599'])
  const { messages } = await client.channel<Said>('room.1').readBack({ limit: 500 })
  assert.equal(messages.length, 500)
  assert.equal((await Array.fromAsync(crosswind.read('room.1'))).length, 600)
})

test('a room with another place or kind is not opened in silence', async (t) => {
  const { open } = await start(t)
  const client = open()
  client.channel('room.1')
  assert.equal(client.channel('room.1'), client.channel('room.1', {}))
  assert.throws(() => client.channel('room.1', { from: 'start' }), {
    message:
      'Channel "room.1" is open with another `from` than "start": leave the room before, or use `subscribe`.',
  })
})

test('what is published while a listener is replaced reaches the next one', async (t) => {
  const { open, crosswind } = await start(t)
  const room = open().channel<Said>('room.1')
  const first = new Promise<string>((resolve) => {
    const off = room.on('message', ({ data }) => {
      off()
      resolve(data.text)
    })
  })
  await crosswind.publish('room.1', { text: 'never' })
  await room.publish({ text: 'one' })
  assert.ok(await first)
  for (const text of ['two', 'three']) await crosswind.publish('room.1', { text })
  const all: string[] = []
  await new Promise<void>((resolve) => {
    room.on('message', ({ data }) => {
      all.push(data.text)
      if (data.text === 'three') resolve()
    })
  })
  assert.deepEqual(all.slice(-2), ['two', 'three'])
})

for (const mode of modes)
  test(`over ${mode}, a channel beyond the limit is refused alone, and opens once another is left`, async (t) => {
    const { open, crosswind } = await start(t, { limits: { channelsPerWindow: 3 } })
    const client = open({ modes: [mode] })
    const rooms = [1, 2, 3].map((number) => client.channel<Said>(`room.${number}`))
    await Promise.all(rooms.map((room) => room.publish({ text: 'hello' })))
    const surplus = client.channel<Said>('room.4')
    const code = 'too-many-channels'
    await assert.rejects(Array.fromAsync(surplus), { code, message: /^This connection has 3 channels/ })
    const heard = rooms.map((room) => texts(room, 1))
    for (const number of [1, 2, 3]) await crosswind.publish(`room.${number}`, { text: `to ${number}` })
    await Promise.all(heard)
    await crosswind.publish('room.4', { text: 'kept' })
    rooms[0]?.leave()
    assert.deepEqual(await texts(client.channel<Said>('room.4', { from: 'start' }), 1), ['kept'])
  })

test('channels that begin at a cursor, and are too many for the first stream, cost only the surplus', async (t) => {
  const { open, crosswind } = await start(t, { limits: { channelsPerWindow: 2 } })
  await crosswind.publish('room.1', { text: 'first' })
  const [{ cursor = '' } = {}] = await Array.fromAsync(crosswind.read('room.1'))
  const client = open()
  const rooms = [1, 2, 3].map((number) => client.channel<Said>(`room.${number}`, { from: cursor }))
  const heard = rooms.slice(0, 2).map((room) => texts(room, 1))
  await assert.rejects(Array.fromAsync(rooms[2] ?? []), { code: 'too-many-channels' })
  for (const number of [1, 2]) await crosswind.publish(`room.${number}`, { text: 'after' })
  assert.deepEqual(await Promise.all(heard), [['after'], ['after']])
})

test('data is copied when it is published, and what JSON cannot carry is refused by its path', async (t) => {
  const { open } = await start(t)
  const room = open().channel<unknown>('room.1')
  const heard = new Promise((resolve) => room.on('message', ({ data }) => resolve(data)))
  const data = { text: 'as given' }
  const published = room.publish(data)
  data.text = 'changed'
  await published
  assert.deepEqual(await heard, { text: 'as given' })
  const refused = { code: 'bad-shape', message: 'data.items.0.when is a Date, which JSON does not have.' }
  await assert.rejects(room.publish({ items: [{ when: new Date(0) }] }), refused)
  assert.throws(() => room.presence.set({ at: Number.NaN }), {
    code: 'bad-shape',
    message: 'state.at is NaN, which JSON does not have.',
  })
})
