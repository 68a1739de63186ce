// Documents of Yjs, of any shape, and their provider.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as Y from 'yjs'
import { stopClock } from '../../app/testing.ts'
import type { Crosswind, Keeping } from '../../client/connect.ts'
import { documentPolicy, mergingPolicy, Outbox } from '../../client/drafts.ts'
import { newKey } from '../../client/transports.ts'
import { type CrosswindProvider, type DocumentStart, mergeUpdates } from '../../client/yjs.ts'
import { modes } from '../../protocol/modes.ts'
import { createManualTime } from '../../protocol/testing.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { integrationBomb } from '../../server/document/testing.ts'
import { createNodePlatform } from '../clients/client.ts'
import { connectHttp } from '../clients/http-client.ts'
import {
  contains,
  converged,
  copyOf,
  follow,
  isEqual,
  provide,
  refusal,
  startDocuments,
  startProcess,
  synced,
} from './yjs-testing.ts'

/** Writes the content of a rich editor, a board and a form. */
function write(doc: Y.Doc, who: string): void {
  const paragraph = new Y.XmlElement('paragraph')
  paragraph.setAttribute('by', who)
  const text = new Y.XmlText(who)
  paragraph.insert(0, [text])
  doc.getXmlFragment('prosemirror').insert(0, [paragraph])
  text.insert(0, 'from ', { bold: true })
  text.insertEmbed(1, { image: 'x' })
  const card = new Y.Map<unknown>([['tags', Y.Array.from([1, null, { deep: [true] }])]])
  doc.getMap('board').set(who, card)
  card.set('bytes', new Uint8Array([1, 2]))
  card.set('text', new Y.Text('note'))
  doc.getArray('list').push([who, 2.5])
  doc.getText('title').insert(0, who)
}

for (const { name } of modes)
  test(`over ${name}, two write nested types in several roots, and both and the server have the same`, async (t) => {
    const { crosswind, provide } = await startDocuments(t, { isSecure: true })
    const ann = provide({ modes: [name] })
    const bob = provide({ modes: [name] })
    write(ann.doc, 'Ann')
    assert.ok(ann.unsaved > 0)
    await Promise.all([synced(ann), synced(bob)])
    write(bob.doc, 'Bob')
    ann.doc.getMap('board').delete('Ann')
    await Promise.all([ann.whenSaved(), bob.whenSaved(), converged(ann.doc, bob.doc)])
    await converged(ann.doc, bob.doc)
    assert.deepEqual([ann.unsaved, bob.unsaved], [0, 0])
    assert.ok(isEqual(await crosswind.document('doc.1'), ann.doc))
    const late = provide({ modes: [name] })
    await synced(late)
    assert.ok(isEqual(late.doc, ann.doc))
    assert.deepEqual(late.doc.getXmlFragment('prosemirror').length, 2)
  })

/** Checks whenever the provider says that all is saved that the log has all of its client. */
function watchSaved({
  provider,
  stored,
}: {
  provider: CrosswindProvider
  stored: (doc: Y.Doc) => Promise<boolean>
}) {
  const checks: Promise<boolean>[] = []
  provider.on('saved', (isSaved) => isSaved && checks.push(stored(copyOf(provider.doc))))
  return checks
}

for (const name of ['sse/1.1', 'websocket/1.1', 'long-polling/1.1', 'polling/1.1'])
  test(`over ${name}, cuts at random lose nothing, and nothing is called saved that is not stored`, async (t) => {
    const { crosswind, provide, cut } = await startDocuments(t)
    const random = createSeededRandom(7)
    const ann = provide({ modes: [name] })
    const bob = provide({ modes: [name] })
    const stored = async (doc: Y.Doc) => contains(await crosswind.document('doc.1'), doc)
    const checks = [ann, bob].map((provider) => watchSaved({ provider, stored }))
    for (let round = 0; round < 60; round += 1) {
      const { doc } = random() < 0.5 ? ann : bob
      const text = doc.getText('t')
      text.insert(Math.floor(random() * (text.length + 1)), 'x')
      if (random() < 0.2) cut()
      await new Promise((resolve) => setTimeout(resolve, random() * 20))
    }
    await Promise.all([ann.whenSaved(), bob.whenSaved()])
    await converged(ann.doc, bob.doc)
    assert.equal(ann.doc.getText('t').length, 60)
    assert.ok(isEqual(await crosswind.document('doc.1'), ann.doc))
    assert.deepEqual(new Set(await Promise.all(checks.flat())), new Set([true]))
  })

const providing =
  (t: TestContext, { port }: { readonly port: number }) =>
  (mode: string) =>
    provide(t, `http://localhost:${port}`, 'doc.1', new Y.Doc(), { modes: [mode] })

test('a server killed in mid-typing and started again has all that was saved, and gets the rest', async (t) => {
  const folder = temporaryFolder(t)
  let server = await startProcess(t, folder)
  const open = providing(t, server)
  const ann = open('sse/1.1')
  const bob = open('websocket/1.1')
  await Promise.all([synced(ann), synced(bob)])
  for (let round = 0; round < 3; round += 1) {
    for (const { doc } of [ann, bob]) write(doc, `round ${round}`)
    await server.kill()
    for (const { doc } of [ann, bob]) doc.getText('title').insert(0, 'offline ')
    assert.ok(ann.unsaved > 0 && bob.unsaved > 0)
    server = await startProcess(t, folder, server.port)
    await Promise.all([ann.whenSaved(), bob.whenSaved()])
  }
  await converged(ann.doc, bob.doc)
  const late = open('sse/1.1')
  await synced(late)
  assert.ok(isEqual(late.doc, ann.doc))
})

test('open windows give a server back what it lost, and send what they had not sent', async (t) => {
  const folder = temporaryFolder(t)
  const first = await startProcess(t, join(folder, 'first'))
  const open = providing(t, first)
  const ann = open('sse/1.1')
  const bob = open('websocket/1.1')
  for (const { doc } of [ann, bob]) write(doc, 'before')
  await Promise.all([ann.whenSaved(), bob.whenSaved(), synced(ann), synced(bob)])
  await converged(ann.doc, bob.doc)
  await first.kill()
  for (const { doc } of [ann, bob]) doc.getText('title').insert(0, 'offline ')
  const second = await startProcess(t, join(folder, 'second'), first.port)
  await Promise.all([ann.whenSaved(), bob.whenSaved()])
  await converged(ann.doc, bob.doc)
  const late = open('sse/1.1')
  await synced(late)
  assert.ok(isEqual(late.doc, ann.doc))
  late.destroy()
  // Nothing is written meanwhile.
  await second.kill()
  await startProcess(t, join(folder, 'third'), first.port)
  const last = open('sse/1.1')
  await converged(last.doc, ann.doc)
})

test('a server that lost its documents gets them back', async (t) => {
  const first = await startDocuments(t)
  const ann = first.provide()
  write(ann.doc, 'Ann')
  // Read in a thread.
  ann.doc.getText('long').insert(0, 'x'.repeat(200_000))
  await ann.whenSaved()
  ann.disconnect()
  assert.equal(ann.saved, true)
  const next = await startDocuments(t)
  const again = next.provide({}, ann.doc)
  assert.equal(again.saved, false)
  await again.whenSaved()
  assert.ok(isEqual(await next.crosswind.document('doc.1'), ann.doc))
})

test('a subdocument is refused by its name, and what is written after it is stored once it is gone', async (t) => {
  const { crosswind, provide } = await startDocuments(t)
  const provider = provide()
  await synced(provider)
  const map = provider.doc.getMap('files')
  const refused = refusal(provider)
  map.set('a', new Y.Doc())
  assert.equal(await refused, 'bad-update')
  assert.match(provider.refused?.message ?? '', /subdocument; give that document a channel of its own/)
  await assert.rejects(provider.whenSaved(), { code: 'bad-update' })
  assert.ok(provider.unsaved > 0)
  map.delete('a')
  map.set('b', 1)
  await new Promise((resolve) => provider.once('saved', resolve))
  assert.equal(provider.refused, null)
  assert.deepEqual((await crosswind.document('doc.1')).getMap('files').toJSON(), { b: 1 })
})

test('an update that is too large is refused, and joined ones are taken apart', async (t) => {
  const { crosswind, provide } = await startDocuments(t, { limits: { maxMessageBytes: 4000 } })
  const provider = provide()
  const text = provider.doc.getText('t')
  const lines = 'x'.repeat(1000)
  await synced(provider)
  for (let line = 0; line < 10; line += 1) text.insert(0, lines)
  await provider.whenSaved()
  assert.equal(String((await crosswind.document('doc.1')).getText('t')).length, 10_000)
  const refused = refusal(provider)
  text.insert(0, 'y'.repeat(5000))
  assert.equal(await refused, 'too-large')
  assert.match(provider.refused?.message ?? '', /update about 3000, .* This update has 50\d\d bytes\./)
  text.delete(0, 5000)
  await new Promise((resolve) => provider.once('saved', resolve))
  assert.equal(provider.refused, null)
  assert.equal(String((await crosswind.document('doc.1')).getText('t')).length, 10_000)
})

test('an update that is too large is undone, although an UndoManager keeps what it deletes', async (t) => {
  const { crosswind, provide } = await startDocuments(t, { limits: { maxMessageBytes: 4000 } })
  const provider = provide()
  const text = provider.doc.getText('t')
  const undo = new Y.UndoManager(text)
  await synced(provider)
  const refused = refusal(provider)
  text.insert(0, 'y'.repeat(5000))
  assert.equal(await refused, 'too-large')
  undo.undo()
  await new Promise((resolve) => provider.once('saved', resolve))
  text.insert(0, 'z')
  await new Promise((resolve) => provider.once('saved', resolve))
  assert.equal(String((await crosswind.document('doc.1')).getText('t')), 'z')
})

test('a change that is too large, and is deleted before its refusal arrives, leaves all saved', async (t) => {
  const { crosswind, provide } = await startDocuments(t, { limits: { maxMessageBytes: 4000 } })
  const provider = provide()
  const text = provider.doc.getText('t')
  await synced(provider)
  const refused = refusal(provider)
  text.insert(0, 'y'.repeat(5000))
  text.delete(0, 5000)
  assert.equal(await refused, 'too-large')
  await new Promise((resolve) => provider.once('saved', resolve))
  assert.equal(provider.refused, null)
  text.insert(0, 'z')
  await provider.whenSaved()
  assert.ok(isEqual(await crosswind.document('doc.1'), provider.doc))
})

/** A provider of one who may only read until `promote`. */
async function startReader(t: TestContext) {
  let write: readonly string[] = []
  const { crosswind, provide } = await startDocuments(t, {
    authorize: () => ({ user: 'ann', read: ['*'], write }),
  })
  const provider = provide({ token: () => 'ann' })
  await synced(provider)
  return {
    provider,
    stored: () => crosswind.document('doc.1'),
    async promote() {
      write = ['*']
      const isOpenAgain = new Promise<void>((resolve) =>
        provider.on('sync', (isSynced) => isSynced && resolve()),
      )
      await crosswind.revoke('ann')
      await isOpenAgain
    },
  }
}

for (const [how, write, undo] of [
  ['deleted', (doc) => doc.getText('t').insert(0, 'no'), (doc) => doc.getText('t').delete(0, 2)],
  [
    'deleted from a map',
    (doc) => doc.getMap('m').set('a', new Y.Text('no')),
    (doc) => doc.getMap('m').delete('a'),
  ],
  ['undone', (doc) => doc.getText('t').insert(0, 'no', { bold: true }), (_doc, history) => history.undo()],
] satisfies readonly [string, (doc: Y.Doc) => unknown, (doc: Y.Doc, history: Y.UndoManager) => unknown][])
  test(`what a reader inserts is not missing once it is ${how}, and what is written later is stored`, async (t) => {
    const { provider, stored, promote } = await startReader(t)
    const { doc } = provider
    const history = new Y.UndoManager(doc)
    const refused = refusal(provider)
    write(doc)
    assert.equal(await refused, 'read-only-invitation')
    undo(doc, history)
    await new Promise((resolve) => provider.once('saved', resolve))
    assert.deepEqual([provider.saved, provider.refused], [true, null])
    assert.equal((await stored()).store.clients.size, 0)
    await promote()
    doc.getText('t').insert(0, 'yes')
    await provider.whenSaved()
    assert.ok(isEqual(await stored(), doc))
  })

test('what a reader deletes of others is missing, with what it inserted and deleted', async (t) => {
  const { crosswind, provide } = await startDocuments(t, {
    authorize: ({ token }) => ({ read: ['*'], write: token === 'ann' ? ['*'] : [] }),
  })
  const ann = provide({ token: () => 'ann' })
  ann.doc.getText('t').insert(0, 'kept')
  await ann.whenSaved()
  const bob = provide({ token: () => 'bob' })
  await synced(bob)
  const text = bob.doc.getText('t')
  const first = refusal(bob)
  text.insert(4, 'no')
  await first
  const again = new Promise((resolve) => bob.once('refused', resolve))
  text.delete(3, 3)
  await again
  assert.equal(bob.saved, false)
  assert.equal(String((await crosswind.document('doc.1')).getText('t')), 'kept')
})

test('an update with a hole, one of another kind and one of a wrong shape are refused', async (t) => {
  const { open, crosswind } = await startDocuments(t)
  const doc = new Y.Doc()
  const updates: Uint8Array[] = []
  doc.on('update', (update: Uint8Array) => updates.push(update))
  doc.getMap('m').set('child', new Y.Map())
  ;(doc.getMap('m').get('child') as Y.Map<number>).set('x', 1)
  const { publish } = follow(open())
  const send = (update: Uint8Array = new Uint8Array()) =>
    publish('update', { update: Buffer.from(update).toString('base64') })
  await assert.rejects(send(updates[1]), { code: 'update-gap' })
  await assert.rejects(send(new Uint8Array([1, 2, 3])), { code: 'bad-update' })
  await assert.rejects(publish('json', { data: 1 }), { code: 'bad-shape' })
  await send(updates[0])
  await send(updates[1])
  assert.deepEqual((await crosswind.document('doc.1')).getMap('m').toJSON(), { child: { x: 1 } })
})

test('with owners, a peer may not bring what another wrote; by default it may', async (t) => {
  const channels = { 'doc.*': { kind: 'yjs' }, 'own.*': { kind: 'yjs', owners: true } } as const
  const { provide } = await startDocuments(t, { channels })
  for (const [name, code] of [
    ['doc.1', null],
    ['own.1', 'not-your-client'],
  ] as const) {
    const ann = provide({}, new Y.Doc(), name)
    const bob = provide({ connect: false }, new Y.Doc(), name)
    ann.doc.getText('t').insert(0, 'a')
    await ann.whenSaved()
    ann.disconnect()
    ann.doc.getText('t').insert(1, 'b')
    Y.applyUpdate(bob.doc, Y.encodeStateAsUpdate(ann.doc))
    bob.connect()
    if (code) await assert.rejects(bob.whenSaved(), { code })
    else await bob.whenSaved()
  }
})

test('a document that takes too long to read is relayed, and document() rejects', async (t) => {
  const folder = temporaryFolder(t)
  const storage = { kind: 'sqlite', folder } as const
  const patient = await startDocuments(t, { storage, limits: { documentSeconds: 600 } })
  const doc = new Y.Doc()
  const bomb = integrationBomb(6000)
  await follow(patient.open()).publish('update', { update: Buffer.from(bomb).toString('base64') })
  await patient.crosswind.close({ drainMs: 0 })
  const strict = await startDocuments(t, { storage, limits: { documentSeconds: 1 } })
  await assert.rejects(strict.crosswind.document('doc.1'), { code: 'too-costly' })
  await assert.rejects(strict.crosswind.document('doc.1'), { code: 'too-costly' })
  const small = strict.provide({}, doc, 'doc.2')
  write(doc, 'Ann')
  await small.whenSaved()
  assert.ok(isEqual(await strict.crosswind.document('doc.2'), doc))
  await assert.rejects(strict.crosswind.document('lobby'), { code: 'bad-channel' })
})

/** The whole document as a page has it that its server has sent along. */
async function startOf(connection: Crosswind): Promise<DocumentStart> {
  const following = follow(connection)
  const { messages, cursor } = await following.page('start')
  following.leave()
  return { messages, cursor }
}

/** A document to which something was added since its page was sent. */
async function writtenSince(
  provide: () => CrosswindProvider,
  open: () => Crosswind,
): Promise<{ readonly writer: CrosswindProvider; readonly start: DocumentStart }> {
  const writer = provide()
  writer.doc.getText('t').insert(0, 'stored')
  await writer.whenSaved()
  const start = await startOf(open())
  writer.doc.getText('t').insert(6, ', later')
  await writer.whenSaved()
  return { writer, start }
}

test('with what the page already has, the document is there at once and its past is not asked for; what follows comes', async (t) => {
  const asked: string[] = []
  const { open, provide, crosswind } = await startDocuments(t, {
    cuts(url) {
      if (url.includes('/channels/')) asked.push(url)
      return false
    },
  })
  const { writer, start } = await writtenSince(provide, open)
  asked.length = 0
  const provider = provide({ start })
  assert.equal(String(provider.doc.getText('t')), 'stored')
  provider.doc.getText('t').insert(0, 'I: ')
  await Promise.all([synced(provider), provider.whenSaved(), converged(provider.doc, writer.doc)])
  assert.equal(String((await crosswind.document('doc.1')).getText('t')), 'I: stored, later')
  assert.deepEqual(asked, [])
})

test('with what the page already has, over a connection that is open, only what follows is asked for', async (t) => {
  const asked: (string | null)[] = []
  const { open, provide } = await startDocuments(t, {
    cuts(url) {
      if (url.includes('/channels/doc.1')) asked.push(new URL(url, 'http://x').searchParams.get('after'))
      return false
    },
  })
  const { start } = await writtenSince(provide, open)
  const connection = open()
  const other = provide({ connection }, new Y.Doc(), 'doc.2')
  await synced(other)
  other.doc.getMap('m').set('a', 1)
  await other.whenSaved()
  asked.length = 0
  const provider = provide({ connection, start })
  await synced(provider)
  assert.equal(String(provider.doc.getText('t')), 'stored, later')
  assert.deepEqual(asked, [start.cursor])
})

test('a page that has what another log had gets the document, and gives it what it lacks', async (t) => {
  const before = await startDocuments(t)
  const lost = before.provide()
  lost.doc.getText('t').insert(0, 'lost')
  await lost.whenSaved()
  const start = await startOf(before.open())
  const { crosswind, provide } = await startDocuments(t)
  const provider = provide({ start })
  const other = provide()
  other.doc.getMap('m').set('a', 1)
  await Promise.all([other.whenSaved(), converged(provider.doc, other.doc)])
  await provider.whenSaved()
  const { doc } = other
  assert.deepEqual([String(doc.getText('t')), doc.getMap('m').get('a')], ['lost', 1])
  assert.ok(isEqual(await crosswind.document('doc.1'), provider.doc))
  assert.throws(() => provide({ start: { messages: [], cursor: 'start' } }), /start\.cursor is "start"/)
})

test('a page that has what another log had gives it what it lacks, over a connection that is open, too', async (t) => {
  const before = await startDocuments(t)
  const lost = before.provide()
  lost.doc.getText('t').insert(0, 'lost')
  await lost.whenSaved()
  const start = await startOf(before.open())
  const { crosswind, open, provide } = await startDocuments(t)
  const connection = open()
  await synced(provide({ connection }, new Y.Doc(), 'doc.2'))
  const provider = provide({ connection, start })
  await synced(provider)
  await provider.whenSaved()
  assert.equal(String((await crosswind.document('doc.1')).getText('t')), 'lost')
})

test('an answer from a replaced log, even if it comes later, does not count for the new one', async (t) => {
  const first = await startDocuments(t)
  const writer = first.provide()
  writer.doc.getText('t').insert(0, 'stored')
  await writer.whenSaved()
  const doc = copyOf(writer.doc)
  writer.destroy()
  const platform = createNodePlatform(connectHttp('1.1', first.origin, null))
  t.after(() => platform.close())
  const answer = Promise.withResolvers<void>()
  const late = Promise.withResolvers<void>()
  const send: typeof platform.send = async (method, url, ...rest) => {
    const response = await platform.send(method, url, ...rest)
    if (url.includes('after=start')) {
      answer.resolve()
      await late.promise
    }
    return response
  }
  const provider = first.provide({ platform: { ...platform, send } }, doc)
  const isOpen = () =>
    new Promise<void>((resolve) => {
      provider.on('status', ({ status }) => status === 'connected' && resolve())
    })
  await Promise.all([isOpen(), answer.promise])
  await first.stop()
  const second = await startDocuments(t, { port: Number(new URL(first.origin).port) })
  await isOpen()
  late.resolve()
  await provider.whenSaved()
  assert.equal(String((await second.crosswind.document('doc.1')).getText('t')), 'stored')
})

test('a connection’s own pause and merging hold for its documents', async (t) => {
  const { open, provide } = await startDocuments(t)
  const timers = createManualTime()
  const bounds = { messages: 100, bytes: 100_000 }
  const random = createSeededRandom(1)
  const drafts: Keeping = {
    over: () => ({
      key: Promise.resolve(newKey()),
      outbox({ window }, listener) {
        const policy = documentPolicy({ window, bounds, random })
        return new Outbox(
          { window, timers },
          mergingPolicy(policy, { mergeUpdates, pauseMs: 1000 }),
          listener,
        )
      },
    }),
  }
  let messages = 0
  follow(open(), () => {
    messages += 1
  })
  const provider = provide({ drafts })
  const reader = provide()
  await Promise.all([synced(provider), synced(reader)])
  const text = provider.doc.getText('t')
  text.insert(0, 'a')
  await provider.whenSaved()
  for (const letter of 'bcd') text.insert(0, letter)
  assert.equal(provider.unsaved, 1)
  timers.advance(999)
  assert.deepEqual([provider.saved, messages], [false, 1])
  timers.advance(1)
  await Promise.all([provider.whenSaved(), converged(reader.doc, provider.doc)])
  assert.equal(messages, 2)
})

test('a recorder learns the draft of each change, and each message before it is applied', async (t) => {
  const { provide } = await startDocuments(t)
  const writer = provide()
  const reader = provide()
  const drafts: string[] = []
  writer.on('draft', ({ id }) => drafts.push(id))
  const heard: unknown[] = []
  reader.on('message', ({ id, from, at, seq }) => {
    heard.push([id, from, typeof at, seq, String(reader.doc.getText('t'))])
  })
  await Promise.all([synced(writer), synced(reader)])
  for (const letter of 'ab') {
    writer.doc.getText('t').insert(0, letter)
    await Promise.all([writer.whenSaved(), converged(writer.doc, reader.doc)])
  }
  const [first = '', second] = drafts
  const from = first.slice(0, first.lastIndexOf('-'))
  assert.deepEqual(heard, [
    [first, from, 'number', 1, ''],
    [second, from, 'number', 2, 'a'],
  ])
})

test('a page whose document it may not read any more waits until it may, and keeps what is typed', async (t) => {
  const clock = stopClock(t)
  let read = ['*']
  const { open, provide, crosswind } = await startDocuments(t, {
    channels: { 'doc.*': { kind: 'yjs' }, 'room.*': { kind: 'json' } },
    authorize: () => ({ read, write: read, expiresAt: clock.now() + 60_000 }),
  })
  const connection = open()
  const denied = new Promise((resolve) => connection.on('error', resolve))
  const required = provide({ connection, isRequired: true })
  required.on('connection-error', () => undefined)
  connection.channel('room.1')
  await synced(required)
  read = ['room.*']
  clock.pass(61_000)
  await denied
  assert.equal(connection.state.status, 'waiting')
  required.doc.getText('t').insert(0, 'typed')
  assert.deepEqual([required.saved, required.shouldConnect], [false, true])
  read = ['*']
  await connection.retry()
  await required.whenSaved()
  assert.equal(String((await crosswind.document('doc.1')).getText('t')), 'typed')
})

test('a document that a server behind the stream answers with is asked for again', async (t) => {
  let older: string | null = null
  const { provide, origin } = await startDocuments(t, {
    elsewhere({ url = '' }, response) {
      if (older === null || !url.includes('/channels/doc.1?after=start')) return false
      response.setHeader('content-type', 'application/json').end(older)
      older = null
      return true
    },
  })
  const writer = provide()
  writer.doc.getText('t').insert(0, 'one ')
  await writer.whenSaved()
  const before = await (await fetch(`${origin}/realtime/channels/doc.1?after=start`)).text()
  writer.doc.getText('t').insert(4, 'two')
  await writer.whenSaved()
  older = before
  const late = provide()
  await synced(late)
  assert.equal(String(late.doc.getText('t')), 'one two')
})
