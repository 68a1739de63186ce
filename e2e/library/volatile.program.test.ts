// Volatile messages between the clients of an application, and from its server.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Room, VolatileMessage } from '../../client/connect.ts'
import { start, untilState } from './testing.ts'

interface Place {
  readonly x: number
}

/** Resolves to the volatile messages of a room, up to one with this place. */
function until(room: Room<Place>, x: number): Promise<readonly VolatileMessage<Place>[]> {
  const heard: VolatileMessage<Place>[] = []
  return new Promise((resolve) => {
    const off = room.on('volatile', (message) => {
      heard.push(message)
      if (message.data.x !== x) return
      off()
      resolve(heard)
    })
  })
}

for (const mode of ['sse/1.1', 'websocket/1.1', 'long-polling/1.1', 'polling/1.1'])
  test(`over ${mode}, others get a volatile message, also from the server; its sender and the log do not`, async (t) => {
    const { open, crosswind } = await start(t, {
      authorize: ({ token }) => ({ user: `${token}`, read: ['room.*'], write: ['room.*'] }),
    })
    const [ann, ben] = ['ann', 'ben'].map((user) => {
      const client = open({ modes: [mode], polling: { intervalMs: 20, holdMs: 300 }, token: () => user })
      return { client, room: client.channel<Place>('room.1') }
    })
    assert.ok(ann && ben)
    await Promise.all([ann, ben].map(({ client }) => untilState(client, ({ status }) => status === 'open')))
    const stored: unknown[] = []
    ben.room.on('message', ({ data }) => stored.push(data))
    const toAnn = until(ann.room, 9)
    const toBen = until(ben.room, 9)
    const subscribed = new Promise((resolve) =>
      ben.client.subscribe<Place>('room.1', {
        onMessage: () => undefined,
        onVolatile: ({ data }) => resolve(data),
      }),
    )
    await Promise.all([1, 2, 3].map((x) => ann.room.sendVolatile({ x })))
    await crosswind.sendVolatile('room.1', { x: 9 }, { user: 'boss' })
    const seen = (await toBen).map(({ data: { x }, user }) => [x, user])
    assert.deepEqual(seen, [
      [1, 'ann'],
      [2, 'ann'],
      [3, 'ann'],
      [9, 'boss'],
    ])
    assert.deepEqual(
      (await toAnn).map(({ data }) => data),
      [{ x: 9 }],
    )
    assert.deepEqual([await subscribed, stored], [{ x: 1 }, []])
    assert.deepEqual(await Array.fromAsync(crosswind.read('room.1')), [])
  })

test('a volatile message that is refused rejects; while the connection is not open it is dropped', async (t) => {
  let isCut = false
  const channels = { 'room.*': { kind: 'json' }, 'doc.*': { kind: 'yjs' } } as const
  const { open, cut, crosswind } = await start(t, {
    channels,
    cuts: () => isCut,
    authorize: () => ({ user: 'ann', read: ['*'], write: ['room.2'] }),
  })
  const client = open()
  const room = client.channel<unknown>('room.1')
  await untilState(client, ({ status }) => status === 'open')
  await assert.rejects(room.sendVolatile({ x: 1 }), { code: 'read-only-invitation' })
  await assert.rejects(room.sendVolatile(Number.NaN), { code: 'bad-shape', message: /^data is NaN/ })
  await assert.rejects(
    crosswind.sendVolatile('room.1', undefined),
    /^TypeError: sendVolatile: data is undefined/,
  )
  isCut = true
  cut()
  await untilState(client, ({ status }) => status === 'waiting')
  await room.sendVolatile({ x: 2 })
  room.leave()
  await assert.rejects(room.sendVolatile({ x: 3 }), /was left/)
})
