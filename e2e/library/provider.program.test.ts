// Assertions from the tests of y-websocket's and Hocuspocus' providers, applied to ours.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Y from 'yjs'
import type { CrosswindProvider, DocumentStart } from '../../client/yjs.ts'
import { modes } from '../../protocol/modes.ts'
import { uncaught } from './testing.ts'
import { converged, follow, refusal, shown, startDocuments, synced } from './yjs-testing.ts'

const next = (provider: CrosswindProvider, event: 'saved' | 'sync' | 'connection-close') =>
  new Promise<unknown>((resolve) => provider.once(event, resolve as () => void))

const connected = (provider: CrosswindProvider) =>
  new Promise<void>((resolve) => {
    provider.on('status', ({ status }) => status === 'connected' && resolve())
  })

// y-websocket: reconnecting. That pauses grow is tested in client/link-reconnect.test.ts.

test('a client that the application does not let in stops, and says why once', async (t) => {
  let asked = 0
  const { provide } = await startDocuments(t, {
    authorize: () => {
      asked += 1
      return null
    },
  })
  const provider = provide({ token: () => 'x' })
  const errors: unknown[] = []
  const closed = new Promise<void>((resolve) => {
    provider.on('connection-error', (error) => {
      errors.push((error as { readonly code?: string }).code)
      resolve()
    })
  })
  await closed
  assert.deepEqual([errors, provider.shouldConnect, asked], [['no-session'], false, 1])
})

test('why it may not open a document is reported if nobody listens', async (t) => {
  const { provide } = await startDocuments(t)
  const thrown = uncaught(t)
  const provider = provide({}, new Y.Doc(), 'undeclared')
  await next(provider, 'connection-close')
  await new Promise(setImmediate)
  assert.match(String(thrown), /has no channel "undeclared"; declare it/)
})

test('after disconnect() it stays away, with a close event of null, until connect()', async (t) => {
  const { crosswind, provide } = await startDocuments(t)
  const provider = provide()
  await synced(provider)
  const statuses: string[] = []
  provider.on('status', ({ status }) => statuses.push(status))
  const closed = next(provider, 'connection-close')
  provider.disconnect()
  assert.equal(await closed, null)
  assert.deepEqual([provider.synced, provider.shouldConnect], [false, false])
  provider.doc.getText('t').insert(0, 'offline')
  assert.equal(provider.saved, false)
  provider.connect()
  await provider.whenSaved()
  assert.equal(String((await crosswind.document('doc.1')).getText('t')), 'offline')
  assert.deepEqual(statuses, ['disconnected', 'connecting', 'connected'])
})

test('a lost connection and its return fire events in the order of y-websocket’s', async (t) => {
  const { provide, cut } = await startDocuments(t)
  const provider = provide()
  await synced(provider)
  const told: unknown[] = []
  provider.on('connection-close', () => told.push('close'))
  provider.on('status', ({ status }) => told.push(status))
  const back = new Promise<void>((resolve) => {
    provider.on('sync', (isSynced) => {
      told.push(isSynced)
      if (isSynced) resolve()
    })
  })
  cut()
  await back
  assert.deepEqual(told, ['close', false, 'disconnected', 'connecting', 'connected', true])
})

test('connect() and disconnect() may be repeated, and undo each other in one turn', async (t) => {
  const { provide } = await startDocuments(t)
  const other = provide()
  const provider = provide({ connect: false })
  const told: string[] = []
  provider.on('connection-close', () => told.push('close'))
  provider.on('status', ({ status }) => told.push(status))
  await shown(other, [{}])
  assert.deepEqual([provider.shouldConnect, provider.synced], [false, false])
  provider.connect()
  provider.connect()
  await Promise.all([synced(provider), shown(other, [{}, {}])])
  provider.disconnect()
  provider.disconnect()
  provider.connect()
  provider.disconnect()
  provider.connect()
  await Promise.all([synced(provider), shown(other, [{}, {}])])
  provider.disconnect()
  await shown(other, [{}])
  const opened = ['connecting', 'connected']
  const closed = ['close', 'disconnected']
  assert.deepEqual(told, [...opened, ...closed, 'connecting', ...closed, ...opened, ...closed])
})

test('an observer hears each change once, though it comes back over the stream', async (t) => {
  const { provide } = await startDocuments(t)
  const provider = provide()
  const other = provide()
  const text = provider.doc.get('xml', Y.XmlText)
  const heard = { changes: 0, deep: 0 }
  text.observe(() => {
    heard.changes += 1
  })
  text.observeDeep(() => {
    heard.deep += 1
  })
  text.insert(0, 'a')
  text.insert(1, 'b')
  provider.doc.transact(() => {
    text.insert(2, 'c')
    text.insert(3, 'd')
  })
  await Promise.all([provider.whenSaved(), synced(other)])
  other.doc.getMap('later').set('all', 'came')
  await Promise.all([other.whenSaved(), converged(provider.doc, other.doc)])
  assert.deepEqual(heard, { changes: 3, deep: 3 })
})

test('it is synced when the document has what was stored', async (t) => {
  const { provide } = await startDocuments(t)
  const first = provide()
  first.doc.getArray('foo').insert(0, ['bar'])
  await first.whenSaved()
  const second = provide()
  second.on('sync', (isSynced) => isSynced && assert.equal(second.doc.getArray('foo').get(0), 'bar'))
  assert.equal(second.synced, false)
  await synced(second)
})

// Hocuspocus: unsynced changes

test('changes by an observer while the document is loaded are stored', async (t) => {
  const { crosswind, provide } = await startDocuments(t)
  const writer = provide()
  writer.doc.getText('body').insert(0, 'one  two')
  await writer.whenSaved()
  const reader = provide()
  // As an editor does that corrects what it shows.
  reader.doc.getText('body').observe(({ target }) => {
    if (String(target).includes('  ')) target.delete(4, 1)
  })
  await synced(reader)
  await reader.whenSaved()
  assert.equal(String((await crosswind.document('doc.1')).getText('body')), 'one two')
})

test('observers that throw are reported, and the provider goes on', async (t) => {
  const { provide } = await startDocuments(t)
  const writer = provide()
  const write = (text: string) => {
    writer.awareness.setLocalState({ text })
    writer.doc.getText('body').insert(0, text)
    return writer.whenSaved()
  }
  await write('a')
  const thrown = uncaught(t)
  const reader = provide({ modes: ['polling/1.1'] })
  const body = reader.doc.getText('body')
  body.observe(() => {
    throw new Error(`body ${body}`)
  })
  const seen = new Map(['a', 'b'].map((text) => [text, Promise.withResolvers<void>()]))
  reader.awareness.on('change', (_changes: unknown, origin: unknown) => {
    for (const { text } of reader.awareness.getStates().values()) seen.get(text)?.resolve()
    if (origin === reader) throw new Error('awareness')
  })
  const statuses: string[] = []
  reader.on('status', ({ status }) => {
    statuses.push(status)
    throw new Error('status')
  })
  await synced(reader)
  await seen.get('a')?.promise
  await write('b')
  await converged(writer.doc, reader.doc)
  await seen.get('b')?.promise
  reader.destroy()
  await new Promise(setImmediate)
  assert.deepEqual([...new Set(thrown)].toSorted(), [
    'Error: awareness',
    'Error: body a',
    'Error: body ba',
    'Error: status',
  ])
  assert.deepEqual(statuses, ['connected', 'disconnected'])
})

test('at first nothing is unsaved; a change is unsaved until it is stored', async (t) => {
  const { provide } = await startDocuments(t)
  const provider = provide()
  assert.equal(provider.unsaved, 0)
  await synced(provider)
  assert.equal(provider.unsaved, 0)
  provider.doc.getMap('test').set('foo', 'bar')
  assert.equal(provider.unsaved, 1)
  await next(provider, 'saved')
  assert.equal(provider.unsaved, 0)
})

test('a reader’s changes stay unsaved, whether made before or after it connects, and when others write', async (t) => {
  const { provide } = await startDocuments(t, {
    authorize: ({ token }) => ({ read: ['doc.*'], write: token === 'full' ? ['doc.*'] : [] }),
  })
  const writer = provide({ token: () => 'full' })
  writer.doc.getMap('test').set('foo', 'bar')
  await writer.whenSaved()
  const copy = new Y.Doc()
  Y.applyUpdate(copy, Y.encodeStateAsUpdate(writer.doc))
  copy.getMap('test').delete('foo')
  const own = new Y.Doc()
  own.getMap('test').set('own', 0)
  const reading = { token: () => 'read' }
  const idle = provide(reading)
  const changing = provide(reading)
  const bringing = provide(reading, own)
  const deleting = provide(reading, copy)
  await synced(idle)
  assert.equal(idle.saved, true)
  changing.doc.getMap('test').set('own', 1)
  const refused = [changing, bringing, deleting]
  const code = 'read-only-invitation'
  assert.deepEqual(await Promise.all(refused.map(refusal)), [code, code, code])
  const heard = new Promise((resolve) => changing.doc.once('update', resolve))
  writer.doc.getMap('test2').set('foo', 'bar')
  await Promise.all([heard, writer.whenSaved()])
  for (const { saved } of refused) assert.equal(saved, false)
})

// Hocuspocus: awareness

test('only a provider’s own awareness is sent, and it is removed when the provider is destroyed', async (t) => {
  const sent: string[] = []
  const { provide } = await startDocuments(t, {
    cuts: (url) => {
      if (url.includes('/awareness')) sent.push(new URL(url, 'http://x').searchParams.get('window') ?? '')
      return false
    },
  })
  const first = provide()
  const second = provide()
  await Promise.all([shown(first, [{}, {}]), shown(second, [{}, {}])])
  const before = sent.length
  first.awareness.setLocalStateField('foo', 'bar')
  await shown(second, [{}, { foo: 'bar' }])
  assert.equal(sent.length, before + 1)
  second.awareness.setLocalStateField('foo', 'baz')
  await shown(first, [{ foo: 'bar' }, { foo: 'baz' }])
  await shown(provide(), [{ foo: 'bar' }, { foo: 'baz' }, {}])
  second.destroy()
  await shown(first, [{ foo: 'bar' }, {}])
  assert.equal(second.awareness.getStates().size, 0)
})

test('quick changes of awareness are sent as one, and no other document sees them', async (t) => {
  let sent = 0
  const { provide } = await startDocuments(t, {
    cuts: (url) => {
      if (url.includes('/awareness')) sent += 1
      return false
    },
  })
  const first = provide()
  const second = provide()
  const others = [1, 2].map(() => provide({}, new Y.Doc(), 'doc.2'))
  // Then each has sent its first one.
  await Promise.all([first, second, ...others].map((provider) => shown(provider, [{}, {}])))
  const before = sent
  for (const cursor of [1, 2, 3]) first.awareness.setLocalStateField('cursor', cursor)
  await shown(second, [{}, { cursor: 3 }])
  assert.ok(sent - before <= 2, `${sent - before}`)
  await Promise.all(others.map((other) => shown(other, [{}, {}])))
})

test('after a reconnect all changes of the document follow, and the newest awareness', async (t) => {
  let sent = 0
  const { provide, crosswind } = await startDocuments(t, {
    cuts: (url) => {
      if (url.includes('/awareness')) sent += 1
      return false
    },
  })
  const provider = provide()
  const other = provide()
  await Promise.all([shown(provider, [{}, {}]), shown(other, [{}, {}])])
  provider.disconnect()
  await shown(other, [{}])
  const before = sent
  for (const step of [1, 2, 3]) {
    provider.awareness.setLocalStateField('step', step)
    provider.doc.getArray('steps').push([step])
  }
  provider.connect()
  await Promise.all([provider.whenSaved(), shown(other, [{}, { step: 3 }])])
  assert.deepEqual((await crosswind.document('doc.1')).getArray('steps').toArray(), [1, 2, 3])
  assert.equal(sent - before, 1)
})

test('after a short cut nobody has left; in a long one nobody is there', async (t) => {
  let isCut = false
  const { provide, cut } = await startDocuments(t, { cuts: () => isCut })
  const first = provide()
  const second = provide()
  first.awareness.setLocalState({ name: 'first' })
  await shown(second, [{}, { name: 'first' }])
  let removed = 0
  for (const { awareness } of [first, second])
    awareness.on('change', (change: { readonly removed: readonly number[] }) => {
      removed += change.removed.length
    })
  const back = [first, second].map(connected)
  cut()
  await Promise.all(back)
  first.awareness.setLocalState({ name: 'first', isBack: true })
  await shown(second, [{}, { name: 'first', isBack: true }])
  assert.equal(removed, 0)
  isCut = true
  cut()
  await shown(second, [{}])
  isCut = false
  await shown(second, [{}, { name: 'first', isBack: true }])
})

test('a state of over 4 kB is refused by an event, and the others see the one before', async (t) => {
  const { provide } = await startDocuments(t)
  const thrown = uncaught(t)
  const provider = provide()
  const other = provide()
  const codes: string[] = []
  provider.on('awareness-refused', ({ code }) => codes.push(code))
  const laser = (points: number) => ({ stroke: Array.from({ length: points }, () => [1, 2]) })
  provider.awareness.setLocalState(laser(1))
  await shown(other, [{}, laser(1)])
  for (let points = 1000; points < 1254; points += 1) provider.awareness.setLocalState(laser(points))
  provider.awareness.setLocalState(laser(2))
  await shown(other, [{}, laser(2)])
  assert.deepEqual([codes, thrown], [['too-large'], []])
})

for (const { name } of modes)
  test(`over ${name}, where a server takes states of 64 kB, a reader's is shown to who is there and who comes later`, async (t) => {
    const { provide } = await startDocuments(t, {
      isSecure: true,
      limits: { stateBytes: 65_536 },
      authorize: ({ token }) => ({ read: ['doc.*'], write: token === 'writer' ? ['doc.*'] : [] }),
    })
    const modes = [name]
    const reader = provide({ modes, token: () => 'reader' })
    const writer = provide({ modes, token: () => 'writer' })
    const refused: string[] = []
    reader.on('awareness-refused', ({ message }) => refused.push(message))
    const drawing = (letter: string) => ({ drawing: letter.repeat(65_450) })
    reader.awareness.setLocalState(drawing('a'))
    await shown(writer, [{}, drawing('a')])
    reader.awareness.setLocalState(drawing('ø'))
    reader.awareness.setLocalState(drawing('b'))
    const late = provide({ modes, token: () => 'writer' })
    await Promise.all([shown(writer, [{}, {}, drawing('b')]), shown(late, [{}, {}, drawing('b')])])
    assert.equal(refused.length, 1)
    assert.match(refused[0] ?? '', /this server takes 65536 \(limits\.stateBytes\)/)
  })

const isShown = (state: unknown, { awareness }: CrosswindProvider) =>
  new Promise<void>((resolve) => {
    const look = () => {
      const texts = Array.from(awareness.getStates().values(), (one) => JSON.stringify(one))
      if (texts.includes(JSON.stringify(state))) resolve()
    }
    awareness.on('update', look)
    look()
  })

test('nobody replaces another in awareness: a reader that shows the same number is shown beside the other, with its own user', async (t) => {
  const { open, provide } = await startDocuments(t, {
    authorize: ({ token }) => ({
      user: `${token}`,
      read: ['doc.*'],
      write: token === 'eve' ? [] : ['doc.*'],
    }),
  })
  const ann = provide({ token: () => 'ann' })
  const reader = provide({ token: () => 'ben' })
  ann.awareness.setLocalState({ name: 'Ann' })
  await shown(reader, [{}, { name: 'Ann' }])
  const { clientID } = ann.doc
  const eve = follow(open({ token: () => 'eve' }))
  for (const clock of [1, Number.MAX_SAFE_INTEGER]) {
    eve.show({ client: clientID, clock, state: { name: 'Ann, really', clock } })
    await Promise.all([ann, reader].map((provider) => isShown({ name: 'Ann, really', clock }, provider)))
  }
  assert.deepEqual(reader.awareness.getStates().get(clientID), { name: 'Ann' })
  assert.deepEqual(ann.awareness.getStates().get(clientID), { name: 'Ann' })
  ann.awareness.setLocalState({ name: 'Ann', moved: true })
  await isShown({ name: 'Ann', moved: true }, reader)
  assert.deepEqual(reader.awareness.getStates().get(clientID), { name: 'Ann', moved: true })
  assert.equal(reader.users.get(clientID), 'ann')
  assert.deepEqual([...reader.users.values()].sort(), ['ann', 'eve'])
  eve.leave()
  await shown(reader, [{}, { name: 'Ann', moved: true }])
})

test('a client whose next clocks another one has taken gets a refusal, and is not saved; with `owners`, nobody can take them', async (t) => {
  for (const owners of [false, true]) {
    const { open, provide, crosswind } = await startDocuments(t, {
      channels: { 'doc.*': { kind: 'yjs', owners } },
      authorize: ({ token }) => ({ user: `${token}`, ...writers }),
    })
    const ann = provide({ token: () => 'ann' })
    ann.doc.getText('t').insert(0, 'stored')
    await ann.whenSaved()
    const copy = new Y.Doc()
    Y.applyUpdate(copy, Y.encodeStateAsUpdate(ann.doc))
    copy.clientID = ann.doc.clientID
    ann.disconnect()
    ann.doc.getText('t').insert(6, ' and more')
    const before = Y.encodeStateVector(copy)
    copy.getText('t').insert(0, 'forged ')
    const update = Buffer.from(Y.encodeStateAsUpdate(copy, before)).toString('base64')
    const forging = follow(open({ token: () => 'eve' })).publish('update', { update })
    if (owners) await assert.rejects(forging, { code: 'not-your-client' })
    else await forging
    ann.connect()
    if (owners) await ann.whenSaved()
    else await assert.rejects(ann.whenSaved(), { code: 'not-your-client' })
    assert.equal(ann.saved, owners)
    const text = String((await crosswind.document('doc.1')).getText('t'))
    assert.equal(text, owners ? 'stored and more' : 'forged stored')
  }
})

// Hocuspocus: batches, authentication, destroying

const writers = { read: ['doc.*'], write: ['doc.*'] }

test('updates that wait for an answer are joined, and arrive whole', async (t) => {
  const { open, provide } = await startDocuments(t)
  const provider = provide()
  const reader = provide()
  let messages = 0
  follow(open(), () => {
    messages += 1
  })
  await Promise.all([synced(provider), synced(reader), connected(provider)])
  for (let value = 0; value < 50; value += 1) provider.doc.getMap('test').set('a', value)
  await provider.whenSaved()
  await converged(reader.doc, provider.doc)
  assert.ok(messages <= 3, `${messages}`)
})

test('after a refused token, connect() asks for another', async (t) => {
  const { provide } = await startDocuments(t, {
    authorize: async ({ token }) => (token === 'right' ? writers : null),
  })
  let asked = 0
  const provider = provide({
    token: async () => {
      asked += 1
      return asked === 1 ? 'wrong' : 'right'
    },
  })
  provider.doc.getMap('m').set('a', 1)
  provider.once('connection-error', () => provider.connect())
  await provider.whenSaved()
  assert.equal(asked, 2)
})

test('on a connection whose token was refused, a later provider gets in with another', async (t) => {
  const { open, provide } = await startDocuments(t, {
    authorize: ({ token }) => (token === 'right' ? writers : null),
  })
  let token = 'wrong'
  const connection = open({ token: () => token })
  const refused = provide({ connection })
  await new Promise<void>((resolve) => refused.once('connection-error', () => resolve()))
  token = 'right'
  const provider = provide({ connection })
  provider.doc.getMap('m').set('a', 1)
  await provider.whenSaved()
  assert.deepEqual([refused.shouldConnect, refused.synced, provider.synced], [false, false, true])
})

test('a destroyed provider neither sends nor hears, and the document lives on', async (t) => {
  const { crosswind, provide } = await startDocuments(t)
  const provider = provide()
  await synced(provider)
  provider.destroy()
  provider.doc.getText('t').insert(0, 'later')
  assert.equal(String((await crosswind.document('doc.1')).getText('t')), '')
  assert.throws(() => provider.connect(), /the provider of "doc\.1" was destroyed/)
  const doc = new Y.Doc()
  const other = provide({}, doc)
  await synced(other)
  doc.destroy()
  assert.equal(other.shouldConnect, false)
})

test('several providers share a connection, which stays open', async (t) => {
  const { open, provide, crosswind } = await startDocuments(t, {
    channels: { 'doc.*': { kind: 'yjs' }, 'room.*': { kind: 'json' } },
  })
  const connection = open()
  const room = connection.channel('room.1')
  const one = provide({ connection })
  const two = provide({ connection }, new Y.Doc(), 'doc.2')
  assert.throws(() => provide({ connection }), /"doc\.1" is in use/)
  one.doc.getText('t').insert(0, 'one')
  two.doc.getText('t').insert(0, 'two')
  await Promise.all([one.whenSaved(), two.whenSaved()])
  one.destroy()
  two.doc.getText('t').insert(3, '!')
  await Promise.all([two.whenSaved(), room.publish({ text: 'hi' })])
  assert.equal(String((await crosswind.document('doc.2')).getText('t')), 'two!')
  const again = provide({ connection })
  await synced(again)
  assert.equal(String(again.doc.getText('t')), 'one')
})

test('a document with two providers brings what one server has to the other', async (t) => {
  const from = await startDocuments(t)
  const to = await startDocuments(t)
  const writer = from.provide()
  const reader = to.provide()
  const doc = new Y.Doc()
  await Promise.all([synced(from.provide({}, doc)), synced(to.provide({}, doc))])
  writer.doc.getText('t').insert(0, 'moved')
  await Promise.all([converged(writer.doc, reader.doc), writer.whenSaved()])
  assert.equal(String(reader.doc.getText('t')), 'moved')
})

test('a listener that disconnects when the log lacks what the page was sent with leaves it unsaved', async (t) => {
  const { open, provide } = await startDocuments(t)
  const connection = open()
  await synced(provide({ connection }, new Y.Doc(), 'doc.2'))
  const thrown = uncaught(t)
  const sent = new Y.Doc()
  sent.getText('t').insert(0, 'of a log that is gone')
  const update = Buffer.from(Y.encodeStateAsUpdate(sent)).toString('base64')
  const message = { id: 'w1-1', channel: 'doc.1', kind: 'update', from: 'w1', at: 0, acceptedAt: 0, seq: 1 }
  const messages = [{ ...message, body: { update } }] as DocumentStart['messages']
  const provider = provide({ connect: false, connection, start: { messages, cursor: 'gone:1' } })
  const disconnected = new Promise<void>((resolve) => {
    provider.on('saved', (isSaved) => {
      if (isSaved) return
      provider.disconnect()
      resolve()
    })
  })
  provider.connect()
  await disconnected
  await new Promise(setImmediate)
  assert.deepEqual([thrown, provider.saved, provider.unsaved], [[], false, 1])
})
