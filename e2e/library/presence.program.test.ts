// Who is on a channel of an application, in every mode.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Presence } from '../../client/connect.ts'
import { modes } from '../../server/wire/modes.ts'
import { nameOf, newKey } from '../clients/client.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { start } from './testing.ts'

/** Resolves to the states once they are as wanted, in any order of the clients. */
function untilShown({ presence }: { readonly presence: Presence }, wanted: readonly unknown[]) {
  const { promise, resolve } = Promise.withResolvers<readonly string[]>()
  const look = (states: Presence['states']) => {
    const texts = Array.from(states.values(), (state) => JSON.stringify(state)).sort()
    if (
      texts.join() ===
      wanted
        .map((state) => JSON.stringify(state))
        .sort()
        .join()
    )
      resolve([...states.keys()])
  }
  const off = presence.on('change', look)
  look(presence.states)
  return promise.finally(off)
}

for (const { name } of modes)
  describe(`presence over ${name}`, () => {
    test('each client sees what the others show, on each channel, until they close', async (t) => {
      const { open } = await start(t, { isSecure: true, heartbeatMs: 1000 })
      const modes = [name]
      const ann = open({ modes })
      const bob = open({ modes })
      const room = ann.channel('room.1')
      const other = ann.channel('room.2')
      const annAtBob = bob.channel('room.1')
      const otherAtBob = bob.channel('room.2')
      room.presence.set({ name: 'Ann' })
      other.presence.set('typing')
      annAtBob.presence.set({ name: 'Bob', at: [1, null] })
      await Promise.all([
        untilShown(annAtBob, [{ name: 'Ann' }]),
        untilShown(otherAtBob, ['typing']),
        untilShown(room, [{ name: 'Bob', at: [1, null] }]),
      ])
      const late = open({ modes }).channel<string>('room.1')
      await untilShown(late, [{ name: 'Ann' }, { name: 'Bob', at: [1, null] }])
      room.presence.set({ name: 'Ann', isAway: true })
      const [named] = await untilShown(annAtBob, [{ name: 'Ann', isAway: true }])
      const said = new Promise((resolve) => late.on('message', ({ from }) => resolve(from)))
      await room.publish('hello')
      assert.equal(await said, named)
      other.presence.set(null)
      await untilShown(otherAtBob, [])
      ann.close()
      await untilShown(annAtBob, [])
    })
  })

test('while the connection is lost nobody is shown; then all are again', async (t) => {
  let isCut = false
  const { open, cut } = await start(t, { cuts: () => isCut })
  const room = open().channel('room.1')
  const reader = open().channel('room.1')
  room.presence.set({ name: 'Ann' })
  await untilShown(reader, [{ name: 'Ann' }])
  isCut = true
  cut()
  await untilShown(reader, [])
  isCut = false
  await untilShown(reader, [{ name: 'Ann' }])
})

test('a state that is not JSON, or has more than 4096 bytes, is refused', async (t) => {
  const { open } = await start(t)
  const { presence } = open().channel('room.1')
  presence.set('x'.repeat(4094))
  for (const state of ['x'.repeat(4095), undefined])
    assert.throws(() => presence.set(state), {
      code: 'bad-shape',
      message: /^A state has at most 4096 bytes of JSON, not (4097|0)\.$/,
    })
})

test('the server refuses a larger state, too', async (t) => {
  const { origin } = await start(t)
  const client = connectHttp('1.1', origin, null)
  t.after(() => client.close())
  const key = newKey()
  const show = async (state: unknown) => {
    const { status, body } = await client.ask({
      method: 'POST',
      path: `/realtime/awareness?window=${nameOf(key, 'w1')}&key=${key}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ state, channel: 'room.1' }),
    })
    const text = await textOf(body)
    return text === '' ? status : JSON.parse(text).message
  }
  assert.equal(await show({ any: ['JSON', null] }), 204)
  const sentence =
    'Invalid window state: state must be JSON of at most 4096 bytes. PROTOCOL.md shows its shape.'
  for (const state of ['ø'.repeat(2048), undefined]) assert.equal(await show(state), sentence)
  assert.match(await show('x'.repeat(9000)), /at most 5120 bytes/)
})
