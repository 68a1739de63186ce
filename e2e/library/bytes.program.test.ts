// Bytes, over each way that a message goes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modes } from '../../protocol/modes.ts'
import { start } from './testing.ts'

const photo = Uint8Array.from({ length: 70_000 }, (_nothing, place) => place % 256)

for (const { name } of modes)
  test(`bytes arrive as they were sent over ${name}, from a client and from the server`, async (t) => {
    const { open, crosswind } = await start(t, { isSecure: true })
    const other = open({ modes: [name] }).channel<unknown>('room.1', { from: 'start' })
    const room = open({ modes: [name] }).channel<unknown>('room.1')
    const given = photo.slice()
    const published = room.publish(given)
    given.fill(0)
    await published
    await crosswind.publish('room.1', new Uint8Array())
    const arrived: unknown[] = []
    for await (const { data } of other) if (arrived.push(data) === 2) break
    assert.deepEqual(arrived, [photo, new Uint8Array()])
    const read = await Array.fromAsync(crosswind.read('room.1'), ({ data }) => data)
    assert.deepEqual(read, arrived)
  })

test('bytes beside other data are refused, with the path and the way out', async (t) => {
  const { open, crosswind } = await start(t)
  const message = 'data.photo is a Uint8Array, which JSON does not have: publish bytes alone, or as text.'
  const data = { photo }
  await assert.rejects(open().channel<unknown>('room.1').publish(data), { code: 'bad-shape', message })
  await assert.rejects(crosswind.publish('room.1', data), { message: `publish: ${message}` })
})
