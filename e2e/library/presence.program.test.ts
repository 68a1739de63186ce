// Presence on a channel of an application, in every mode.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { Presence } from '../../client/connect.ts'
import { modes } from '../../protocol/modes.ts'
import { nameOf, newKey } from '../clients/client.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { start, uncaught } from './testing.ts'

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

for (const name of ['sse/2', 'websocket/1.1', 'streaming/2', 'long-polling/1.1', 'polling/2'])
  test(`over ${name}, nobody sees a client that follows more channels, or whose permit is renewed, and it sees nobody leave`, async (t) => {
    const asked: { renewals: number; enough?: () => void } = { renewals: 0 }
    const { open } = await start(t, {
      isSecure: true,
      heartbeatMs: 1000,
      authorize({ token }) {
        asked.renewals += token === 'ann' ? 1 : 0
        if (asked.renewals === 4) asked.enough?.()
        const soon = { expiresAt: Date.now() + 1500 }
        return { user: String(token), read: ['room.*'], write: ['room.*'], ...(token === 'ann' && soon) }
      },
    })
    const enough = new Promise<void>((resolve) => {
      asked.enough = resolve
    })
    // A held poll learns of the end of its permit when it is answered.
    const polling = { intervalMs: 200, holdMs: 500 }
    const [ann, bob] = ['ann', 'bob'].map((user) => open({ modes: [name], polling, token: () => user }))
    assert.ok(ann && bob)
    const annSees = ann.channel('room.1').presence
    const bobSees = bob.channel('room.1').presence
    annSees.set('Ann')
    bobSees.set('Bob')
    await Promise.all([
      untilShown({ presence: annSees }, ['Bob']),
      untilShown({ presence: bobSees }, ['Ann']),
    ])
    assert.deepEqual([...annSees.users.values(), ...bobSees.users.values()], ['bob', 'ann'])
    const seen: unknown[] = []
    for (const presence of [annSees, bobSees])
      presence.on('change', (states) => seen.push(...states.values(), states.size))
    for (const more of ['room.2', 'room.3']) {
      await ann.channel(more).publish('here')
      await bob.channel(more).publish('here')
    }
    await enough
    // Anything that the others see of the last renewal arrives before this.
    ann.channel('room.2').presence.set('at last')
    await untilShown(bob.channel('room.2'), ['at last'])
    assert.deepEqual(
      seen.filter((one) => one === 0),
      [],
      `${seen}`,
    )
  })

for (const mode of ['sse/1.1', 'websocket/1.1', 'polling/1.1'])
  test(`over ${mode}, a reader that floods its states keeps nobody from being shown, and its newest ones are shown in the end`, async (t) => {
    const { open } = await start(t, {
      limits: { statesPerSecond: 5, stateBytesPerSecond: 65_536 },
      authorize: ({ token }) => ({ user: `${token}`, read: ['room.*'], write: [] }),
    })
    const roomOf = (user: string, by = 'sse/1.1') =>
      open({ modes: [by], token: () => user }).channel('room.1')
    const eves = ['one', 'two', 'three'].map((name) => ({ name, room: roomOf('eve', mode) }))
    const ann = roomOf('ann')
    const reader = roomOf('ben')
    const refused: unknown[] = []
    for (const { room } of eves) {
      room.on('error', (error) => refused.push(error))
      room.presence.on('refused', (error) => refused.push(error))
    }
    const seen = new Set<unknown>()
    const untilSeen = (isEnough: () => boolean) =>
      new Promise<void>((resolve) => {
        reader.presence.on('change', (states) => {
          for (const state of states.values()) seen.add(state)
          if (isEnough()) resolve()
        })
      })
    let isFlooding = true
    t.after(() => {
      isFlooding = false
    })
    const floods = eves.map(async ({ name, room }) => {
      for (let number = 0; isFlooding; number += 1) {
        room.presence.set(`${number} ${'x'.repeat(1500)}`)
        await pause(5)
      }
      room.presence.set(name)
    })
    // More than a second's share of the channel.
    await untilSeen(() => seen.size > 5)
    ann.presence.set('here')
    await untilSeen(() => seen.has('here'))
    isFlooding = false
    await Promise.all(floods)
    await untilShown(reader, ['here', ...eves.map(({ name }) => name)])
    assert.deepEqual(refused, [])
  })

test('a state that is larger than the server takes is refused by an event, and the one before stays', async (t) => {
  const { open } = await start(t, { limits: { stateBytes: 300 } })
  const thrown = uncaught(t)
  const room = open().channel('room.1')
  const reader = open().channel('room.1')
  const refused: string[] = []
  room.presence.on('refused', ({ code, message }) => refused.push(`${code}: ${message}`))
  room.presence.set('x'.repeat(298))
  await untilShown(reader, ['x'.repeat(298)])
  for (let length = 299; length < 553; length += 1) room.presence.set('x'.repeat(length))
  room.presence.set('y')
  await untilShown(reader, ['y'])
  assert.deepEqual(
    [refused, thrown],
    [['too-large: The state has 301 bytes of JSON, and this server takes 300 (limits.stateBytes).'], []],
  )
  assert.throws(() => room.presence.set(undefined), { code: 'bad-shape' })
})

test('a reader that shows itself as somebody else appears under its own user', async (t) => {
  const { open } = await start(t, {
    authorize: ({ token }) => ({
      user: `${token}`,
      read: ['room.*'],
      write: token === 'ann' ? ['room.*'] : [],
    }),
  })
  const ann = open({ token: () => 'ann' }).channel('room.1')
  const eve = open({ token: () => 'eve' }).channel('room.1')
  const reader = open({ token: () => 'ben' }).channel('room.1')
  ann.presence.set({ user: 'ann' })
  await untilShown(reader, [{ user: 'ann' }])
  eve.presence.set({ user: 'ann' })
  await untilShown(reader, [{ user: 'ann' }, { user: 'ann' }])
  assert.deepEqual([...reader.presence.users.values()].sort(), ['ann', 'eve'])
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
    'Invalid window state: state must be JSON of at most 4096 bytes (limits.stateBytes). PROTOCOL.md shows its shape.'
  for (const state of ['ø'.repeat(2048), undefined]) assert.equal(await show(state), sentence)
  assert.match(await show('x'.repeat(9000)), /at most 5120 bytes/)
})

test('a state that cannot be compared as text is shown like any other, and breaks no stream', async (t) => {
  const { open } = await start(t)
  const reader = open({ modes: ['long-polling/1.1'] })
  const shown = reader.channel('room.1').presence
  const odd = open()
  odd.channel('room.1').presence.set({ toString: 1, name: 'odd' })
  const plain = open()
  plain.channel('room.1').presence.set({ name: 'plain' })
  const late = open({ modes: ['long-polling/1.1'] })
  for (const presence of [shown, late.channel('room.1').presence])
    await new Promise<void>((resolve) => {
      const look = () => presence.states.size === 2 && resolve()
      presence.on('change', look)
      look()
    })
  assert.deepEqual([reader.state.status, late.state.status], ['open', 'open'])
})

test('a schema checks states: others see its output, and nothing of a state that does not fit', async (t) => {
  const failures: unknown[] = []
  const { open } = await start(t, {
    channels: {
      'room.*': { kind: 'json', presence: z.object({ name: z.string().trim() }) },
      slow: { kind: 'json', presence: z.string().refine(async () => true) },
    },
    onFailure: (error) => failures.push(String(error)),
  })
  for (const mode of ['sse/1.1', 'websocket/1.1']) {
    const ann = open({ modes: [mode] })
    const reader = open().channel(`room.${mode.length}`)
    const { presence } = ann.channel(`room.${mode.length}`)
    presence.set({ name: ' Ann ', isRoot: true })
    await untilShown(reader, [{ name: 'Ann' }])
    presence.set({ name: 7 })
    await untilShown(reader, [])
    presence.set({ name: 'Ann' })
    await untilShown(reader, [{ name: 'Ann' }])
  }
  const last = open()
  last.channel('slow').presence.set('now')
  last.channel('room.1').presence.set({ name: 'after' })
  await untilShown(open().channel('room.1'), [{ name: 'after' }])
  // A state is sent again with each stream.
  assert.deepEqual([...new Set(failures)], ['Error: presence: the schema is asynchronous; it must not be.'])
})
