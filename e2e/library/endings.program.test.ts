// Loops, promises and providers end when a connection is closed or a channel is refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Y from 'yjs'
import { stopClock } from '../../app/testing.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { type Said, start, texts, untilState } from './testing.ts'
import { startDocuments, synced } from './yjs-testing.ts'

const closed = /^Error: The connection was closed\.$/

test('a loop over a room ends when the connection is closed, after the messages that had come', async (t) => {
  const { open } = await start(t)
  const opened = open()
  const room = opened.channel<Said>('room.1')
  const loops = [Array.fromAsync(room), Array.fromAsync(room)]
  const heard = texts(room, 2)
  for (const text of ['one', 'two']) await room.publish({ text })
  await heard
  opened.close()
  for (const loop of loops)
    assert.deepEqual(
      (await loop).map(({ data }) => data.text),
      ['one', 'two'],
    )
  assert.deepEqual(await Array.fromAsync(room), [])
})

test('a loop over a channel that may not be read throws why, whether it begins before or after', async (t) => {
  const { open } = await start(t, { authorize: () => ({ read: ['room.1'], write: [] }) })
  const room = open().channel<Said>('room.2')
  const code = 'not-invited-there'
  await assert.rejects(Array.fromAsync(room), { code })
  await assert.rejects(Array.fromAsync(room), { code })
  await assert.rejects(room.publish({ text: 'x' }), { code })
})

test('close() rejects what is not stored, and what is published after it', async (t) => {
  let isCut = false
  const { open, cut } = await start(t, { cuts: () => isCut })
  const early = open()
  const first = early.channel<Said>('room.1').publish({ text: 'in the same turn' })
  early.close()
  await assert.rejects(first, closed)
  const opened = open()
  const room = opened.channel<Said>('room.1')
  await room.publish({ text: 'stored' })
  isCut = true
  cut()
  const offline = room.publish({ text: 'offline' })
  const turn = Promise.allSettled([offline, room.publish({ text: 'in the same turn' })])
  opened.close()
  for (const { status } of await turn) assert.equal(status, 'rejected')
  await assert.rejects(room.publish({ text: 'later' }), closed)
  assert.throws(() => opened.channel('room.2'), closed)
})

test('a connection that waits for a token can be closed', async (t) => {
  const { open } = await start(t, { authorize: () => null })
  const opened = open({ token: () => new Promise(() => undefined) })
  const room = opened.channel<Said>('room.1')
  const loop = Array.fromAsync(room)
  const publishing = room.publish({ text: 'x' })
  opened.close()
  await assert.rejects(publishing, closed)
  assert.deepEqual(await loop, [])
})

test('a provider whose connection is closed by its application does not call a change saved', async (t) => {
  let isCut = false
  const { open, provide, cut } = await startDocuments(t, { cuts: () => isCut })
  const connection = open()
  const provider = provide({ connection })
  await synced(provider)
  isCut = true
  cut()
  provider.doc.getText('t').insert(0, 'offline')
  const saved = provider.whenSaved()
  connection.close()
  await assert.rejects(saved, closed)
  await assert.rejects(provider.whenSaved(), closed)
  assert.deepEqual(
    [provider.unsaved, provider.saved, provider.synced, provider.shouldConnect],
    [1, false, false, false],
  )
  assert.throws(() => provider.connect(), closed)
})

test('whenSaved() rejects if the provider is destroyed or not let in, and waits while it is disconnected', async (t) => {
  const { provide } = await startDocuments(t, {
    authorize: ({ token }) => (token === 'right' ? { read: ['doc.*'], write: ['doc.*'] } : null),
  })
  let token = 'wrong'
  const provider = provide({ token: () => token })
  provider.on('connection-error', () => undefined)
  provider.doc.getText('t').insert(0, 'x')
  await assert.rejects(provider.whenSaved(), { code: 'no-session' })
  await assert.rejects(provider.whenSaved(), { code: 'no-session' })
  token = 'right'
  provider.connect()
  const saved = provider.whenSaved()
  provider.disconnect()
  provider.connect()
  await saved
  provider.disconnect()
  provider.doc.getText('t').insert(0, 'y')
  const unsaved = provider.whenSaved()
  provider.destroy()
  const destroyed = /^Error: The provider of "doc\.1" was destroyed\.$/
  await assert.rejects(unsaved, destroyed)
  await assert.rejects(provider.whenSaved(), destroyed)
  const empty = provide({ token: () => token, connect: false }, new Y.Doc(), 'doc.2')
  empty.destroy()
  await empty.whenSaved()
})

for (const mode of ['sse/2', 'websocket/1.1', 'long-polling/1.1'])
  test(`over ${mode}, a channel that the next permit lacks is refused with its code, and the others go on`, async (t) => {
    let asked = 0
    const clock = stopClock(t)
    const minuteMs = 60_000
    const { open, crosswind } = await start(t, {
      isSecure: true,
      authorize() {
        asked += 1
        if (asked > 1) return { read: ['room.1'], write: ['room.1'] }
        return { read: ['room.*'], write: ['room.*'], expiresAt: clock.now() + minuteMs }
      },
    })
    const opened = open({ modes: [mode], token: () => 'ada' })
    const kept = opened.channel<Said>('room.1')
    const lost = opened.channel<Said>('room.2')
    lost.presence.set('here')
    const heard: string[] = []
    kept.on('message', ({ data }) => heard.push(data.text))
    const loop = Array.fromAsync(lost)
    const code = 'not-invited-there'
    const refused = new Promise<unknown>((resolve) => lost.on('error', resolve))
    const publishing = async () => {
      for (;;) await lost.publish({ text: 'mine' })
    }
    await kept.publish({ text: 'before' })
    clock.pass(minuteMs)
    await Promise.all([assert.rejects(publishing(), { code }), assert.rejects(loop, { code })])
    assert.equal(((await refused) as { readonly code: string }).code, code)
    await crosswind.publish('room.2', { text: 'not for her' })
    await kept.publish({ text: 'after' })
    await untilState(opened, ({ status }) => status === 'open')
    const last = texts(kept, 1)
    await crosswind.publish('room.1', { text: 'last' })
    await last
    assert.deepEqual(heard, ['before', 'after', 'last'])
    assert.ok(asked <= 3, `${asked}`)
    await assert.rejects(Array.fromAsync(opened.channel('room.2')), { code })
  })

for (const mode of ['sse/1.1', 'websocket/1.1', 'long-polling/1.1', 'polling/1.1'])
  test(`over ${mode}, a client whose permit runs out and is not renewed hears why, and may ask again`, async (t) => {
    const clock = stopClock(t)
    // Less than a silence.
    const lifeMs = 2000
    let isAllowed = true
    const { crosswind, open } = await start(t, {
      heartbeatMs: 1000,
      authorize: () => isAllowed && { read: ['room.*'], write: ['room.*'], expiresAt: clock.now() + lifeMs },
    })
    const opened = open({ modes: [mode], token: () => 'ada' })
    const room = opened.channel<Said>('room.1')
    await untilState(opened, ({ status }) => status === 'open')
    const heard = texts(room, 3)
    await room.publish({ text: 'before' })
    const code = 'no-session'
    const denied = new Promise<unknown>((resolve) => void opened.on('error', resolve))
    isAllowed = false
    clock.pass(lifeMs)
    // Ends a poll that is held.
    await crosswind.publish('room.1', { text: 'meanwhile' })
    assert.equal(((await denied) as { readonly code: string }).code, code)
    await assert.rejects(room.publish({ text: 'late' }), { code })
    await assert.rejects(opened.retry(), { code })
    assert.deepEqual([opened.state.status, opened.state.pending], ['waiting', 0])
    isAllowed = true
    await opened.retry()
    await room.publish({ text: 'back' })
    assert.deepEqual(await heard, ['before', 'meanwhile', 'back'])
  })

for (const mode of ['sse/1.1', 'websocket/1.1', 'long-polling/1.1'])
  test(`over ${mode}, a server that starts again with another secret is asked for another ticket at once`, async (t) => {
    const setting = {
      storage: { kind: 'sqlite', folder: temporaryFolder(t) },
      authorize: () => ({ read: ['room.*'], write: ['room.*'] }),
    } as const
    const first = await start(t, setting)
    const room = first.open({ modes: [mode], token: () => 'ada' }).channel<Said>('room.1')
    const both = texts(room, 2)
    await room.publish({ text: 'before' })
    await first.stop()
    const { port } = new URL(first.origin)
    await start(t, { ...setting, port: Number(port) })
    await room.publish({ text: 'after' })
    assert.deepEqual(await both, ['before', 'after'])
  })

test('a refused state of presence does not keep a lost connection from coming back at once', async (t) => {
  const { open, cut } = await start(t, { authorize: () => ({ read: ['room.1'], write: ['room.1'] }) })
  const opened = open({ modes: ['websocket/1.1'] })
  const room = opened.channel<Said>('room.1')
  const refused = opened.channel<Said>('room.2')
  refused.on('error', () => undefined)
  refused.presence.set('here')
  await room.publish({ text: 'before' })
  refused.presence.set('still here')
  await room.publish({ text: 'more' })
  const lost = untilState(opened, ({ status }) => status === 'waiting')
  cut()
  await lost
  await room.publish({ text: 'after' })
})
