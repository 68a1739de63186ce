// Where a client begins to read a channel, and what it is told of messages that are gone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Room, RoomMessage } from '../../client/connect.ts'
import { modes } from '../../protocol/modes.ts'
import type { createCrosswind } from '../../server/index.ts'
import { start } from './testing.ts'

type Crosswind = Awaited<ReturnType<typeof createCrosswind>>

/** Publishes the numbers from `first` to `last`. */
async function count(crosswind: Crosswind, channel: string, first: number, last: number): Promise<void> {
  for (let n = first; n <= last; n += 1) await crosswind.publish(channel, n)
}

/** Records what a room hears, including its `gap` events; `until` resolves at that number. */
function listen(room: Room<number>) {
  const heard: (number | 'gap')[] = []
  const messages: RoomMessage<number>[] = []
  const waiting = new Map<number, () => void>()
  room.on('gap', () => heard.push('gap'))
  room.on('message', (message) => {
    heard.push(message.data)
    messages.push(message)
    waiting.get(message.data)?.()
  })
  const until = (n: number) =>
    heard.includes(n) ? Promise.resolve() : new Promise<void>((resolve) => void waiting.set(n, resolve))
  return { heard, messages, until }
}

const numbers = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_nothing, place) => first + place)

const few = { 'room.*': { kind: 'json', keep: { messages: 3 } }, all: { kind: 'json' } } as const

test('a client continues after the cursor that it kept, in every mode', async (t) => {
  const { crosswind, open } = await start(t, { isSecure: true })
  await count(crosswind, 'room.1', 1, 3)
  await crosswind.publish('room.2', 0)
  const first = listen(open().channel<number>('room.1', { from: 'start' }))
  await first.until(3)
  const read = await Array.fromAsync(crosswind.read('room.1'))
  assert.deepEqual(
    read.map(({ cursor }) => cursor),
    first.messages.map(({ cursor }) => cursor),
  )
  const [, second] = first.messages
  const told = modes.map(({ name }) => {
    const opened = open({ modes: [name] })
    opened.channel('room.2')
    return listen(opened.channel<number>('room.1', { from: second?.cursor ?? '' }))
  })
  await Promise.all(told.map(({ until }) => until(3)))
  await crosswind.publish('room.1', 4)
  await Promise.all(told.map(({ until }) => until(4)))
  for (const { heard, messages } of told) {
    assert.deepEqual(heard, [3, 4])
    assert.deepEqual(messages[0], first.messages[2])
  }
})

test('a long past is read in portions while others write', async (t) => {
  const { crosswind, open } = await start(t)
  await count(crosswind, 'room.1', 1, 1200)
  const { heard, until } = listen(open().channel<number>('room.1', { from: 'start' }))
  await count(crosswind, 'room.1', 1201, 1300)
  await until(1300)
  assert.deepEqual(heard, numbers(1, 1300))
})

test('messages that a channel no longer keeps are a gap for a cursor, and nothing for `start`', async (t) => {
  const { crosswind, open } = await start(t, { channels: few })
  await crosswind.publish('room.1', 1)
  const [message] = await Array.fromAsync(crosswind.read('room.1'))
  const from = message?.cursor ?? ''
  await count(crosswind, 'room.1', 2, 4)
  const late = listen(open().channel<number>('room.1', { from }))
  await late.until(4)
  await count(crosswind, 'room.1', 5, 9)
  const rooms = [from, 'start'].map((from) => listen(open().channel<number>('room.1', { from })))
  await Promise.all(rooms.map(({ until }) => until(9)))
  const [again, whole] = rooms
  assert.deepEqual(
    [late.heard.slice(0, 3), again?.heard, whole?.heard],
    [
      [2, 3, 4],
      ['gap', 7, 8, 9],
      [7, 8, 9],
    ],
  )
  const read = await Array.fromAsync(crosswind.read('room.1'))
  assert.deepEqual(
    read.map(({ data }) => data),
    [7, 8, 9],
  )
})

test('a stream that comes back too late tells the room that missed something, and no other', async (t) => {
  let isCut = false
  const { crosswind, open, cut } = await start(t, { channels: few, cuts: () => isCut })
  const opened = open()
  const [room, all, quiet] = ['room.1', 'all', 'room.2'].map((name) => listen(opened.channel<number>(name)))
  assert.ok(room && all && quiet)
  await crosswind.publish('room.2', 0)
  await opened.channel<number>('all').publish(1)
  await crosswind.publish('room.1', 1)
  await Promise.all([all.until(1), room.until(1)])
  isCut = true
  cut()
  await count(crosswind, 'all', 2, 4)
  await count(crosswind, 'room.1', 2, 9)
  isCut = false
  await Promise.all([room.until(9), all.until(4)])
  await Promise.all(['room.1', 'all', 'room.2'].map((name) => crosswind.publish(name, 10)))
  await Promise.all([room, all, quiet].map(({ until }) => until(10)))
  assert.deepEqual(room.heard, [1, 'gap', 7, 8, 9, 10])
  assert.deepEqual(all.heard, [1, 2, 3, 4, 10])
  assert.deepEqual(quiet.heard.slice(-1), [10])
  assert.ok(!quiet.heard.includes('gap'))
})

test('a client hears what it publishes in a channel that it has just opened', async (t) => {
  let held = Promise.withResolvers<void>()
  const { crosswind, open } = await start(t, {
    channels: few,
    holds: (url) => (url.startsWith('/realtime/channels/room.') ? held.promise : null),
  })
  const opened = open()
  const all = listen(opened.channel<number>('all'))
  // One is opened with the connection, the other one later.
  for (const name of ['room.1', 'room.2']) {
    held = Promise.withResolvers()
    await crosswind.publish(name, 0)
    const room = opened.channel<number>(name)
    const { heard, until } = listen(room)
    await room.publish(1)
    await opened.channel<number>('all').publish(1)
    await all.until(1)
    held.resolve()
    await until(1)
    assert.deepEqual(heard, [1])
  }
})

test('a cursor of another log is a gap, and all that this one has follows', async (t) => {
  const before = await start(t)
  const now = await start(t)
  await count(before.crosswind, 'room.1', 1, 5)
  const [message] = await Array.fromAsync(before.crosswind.read('room.1', { after: 4 }))
  await count(now.crosswind, 'room.1', 11, 12)
  const { heard, until } = listen(now.open().channel<number>('room.1', { from: message?.cursor ?? '' }))
  await until(12)
  assert.deepEqual(heard, ['gap', 11, 12])
})

test('a malformed cursor is refused with a sentence', async (t) => {
  const { open } = await start(t)
  const message = 'from is "yesterday"; it must be a message’s cursor, "start" or "newest".'
  assert.throws(() => open().channel('room.1', { from: 'yesterday' }), { message })
})
