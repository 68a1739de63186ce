// Stores of user interfaces over a real server: what is written as the last subscription ends, and refusals.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type * as Y from 'yjs'
import { type DocumentSnapshot, documentStore } from '../../client/document-store.ts'
import { keptDrafts } from '../../client/drafts.ts'
import { type Store, Stores } from '../../client/stores.ts'
import { nothingPlanned } from '../../protocol/time.ts'
import { until } from '../browser/browser.ts'
import { MemoryIndexedDb } from './memory-indexeddb.ts'
import { start, untilState } from './testing.ts'

const channels = { 'room.*': { kind: 'json' }, 'doc.*': { kind: 'yjs' } } as const

/** Subscribes until a snapshot is as wanted, and resolves to it and what ends the subscription. */
async function shown<Snapshot>(store: Store<Snapshot>, is: (snapshot: Snapshot) => boolean) {
  let off = nothingPlanned
  const snapshot = await new Promise<Snapshot>((resolve) => {
    off = store.subscribe((snapshot) => is(snapshot) && resolve(snapshot))
  })
  return { snapshot, off }
}

test('what is written to a document and a channel as the last subscription ends is stored', async (t) => {
  const { open, crosswind } = await start(t, { channels })
  const stores = new Stores(() => open())
  const page = await shown(documentStore(stores, 'doc.1'), ({ isSynced }) => isSynced)
  const room = stores.channel('room.1')
  page.snapshot.doc?.getText('text').insert(0, 'last words')
  const published = room.publish('last')
  page.off()
  const textOf = async () => (await crosswind.document('doc.1')).getText('text').toString()
  await until(async () => (await textOf()) === 'last words', 'the document is not stored')
  await published
  const [message] = await Array.fromAsync(crosswind.read('room.1'))
  assert.equal(message?.data, 'last')
  const again = await shown(documentStore(stores, 'doc.1'), ({ isSynced }) => isSynced)
  assert.notEqual(again.snapshot.doc, page.snapshot.doc)
  assert.equal(again.snapshot.doc?.getText('text').toString(), 'last words')
  again.off()
})

test('a message that is dropped while it waits is never sent, and its publisher is told', async (t) => {
  let isCut = false
  const { open, cut, crosswind } = await start(t, { channels, cuts: () => isCut })
  const stores = new Stores(() => open())
  const room = stores.channel<string>('room.1')
  const list = await shown(room, ({ status }) => status === 'ready')
  const online = await shown(stores.connection, ({ status }) => status === 'open')
  isCut = true
  cut()
  const offline = await shown(stores.connection, ({ status }) => status !== 'open')
  const withdrawn = room.publish('withdrawn')
  const sent = room.publish('sent')
  const { snapshot, off } = await shown(room, ({ pending }) => pending.length === 2)
  room.drop(snapshot.pending[0]?.id ?? '')
  await assert.rejects(withdrawn, { name: 'RefusedError', code: 'withdrawn' })
  assert.deepEqual(
    room.getSnapshot().pending.map(({ data }) => data),
    ['sent'],
  )
  isCut = false
  await sent
  const stored = await Array.fromAsync(crosswind.read('room.1'))
  assert.deepEqual(
    stored.map(({ data }) => data),
    ['sent'],
  )
  for (const one of [list, online, offline, { off }]) one.off()
})

test('a message that a closed window left can be withdrawn: it is kept no longer, and not reported', async (t) => {
  const database = new MemoryIndexedDb()
  database.install(t)
  let isCut = false
  const { open, cut, origin } = await start(t, { channels, cuts: () => isCut })
  const reported: unknown[] = []
  const drafts = keptDrafts({ user: 'ada', onRefused: (_message, error) => reported.push(error) })
  const kept = (holds: (count: number) => boolean) =>
    database.until(`crosswind ${origin}/realtime ada`, 'drafts', holds)
  const second = open({ drafts })
  const room = new Stores(() => second).channel('room.1')
  const list = await shown(room, ({ status }) => status === 'ready')
  const first = open({ drafts })
  const left = first.channel('room.1')
  await untilState(first, ({ status }) => status === 'open')
  isCut = true
  cut()
  for (const one of [first, second]) await untilState(one, ({ status }) => status !== 'open')
  left.publish('left').catch(nothingPlanned)
  await kept((count) => count === 1)
  first.close()
  const { snapshot, off } = await shown(room, ({ pending }) => pending.length === 1)
  room.drop(snapshot.pending[0]?.id ?? '')
  assert.deepEqual(room.getSnapshot().pending, [])
  await kept((count) => count === 0)
  assert.deepEqual(reported, [])
  list.off()
  off()
})

test('a channel, a presence and a document that may not be read say so, and the others go on', async (t) => {
  const { open } = await start(t, {
    channels,
    authorize: () => ({ user: 'ann', read: ['room.1'], write: ['room.1'] }),
  })
  const stores = new Stores(() => open({ token: () => 'ann' }))
  const list = await shown(stores.channel('room.1'), ({ status }) => status === 'ready')
  assert.equal(list.snapshot.error, null)
  for (const store of [stores.channel('room.2'), stores.presence('room.2'), documentStore(stores, 'doc.1')]) {
    const { snapshot, off } = await shown<{ readonly error: unknown }>(store, ({ error }) => error !== null)
    assert.equal((snapshot.error as { readonly code?: string }).code, 'not-invited-there')
    off()
  }
  const presence = stores.presence('room.2')
  const { off } = await shown(presence, ({ error }) => error !== null)
  presence.set({ name: 'Ann' })
  assert.notEqual(presence.getSnapshot().error, null)
  off()
  await assert.rejects(stores.channel('room.2').publish('x'), { code: 'not-invited-there' })
  await stores.channel('room.1').publish('x')
})

test('a lost connection is no error of a document, which is synced again once it is back', async (t) => {
  let isCut = false
  const { open, cut } = await start(t, { channels, cuts: () => isCut })
  const store = documentStore(new Stores(() => open()), 'doc.1')
  const { snapshot, off } = await shown(store, ({ isSynced }) => isSynced)
  const errors = new Set<unknown>()
  const offErrors = store.subscribe(({ error }) => errors.add(error))
  const lost = new Promise((resolve) => snapshot.provider?.once('connection-error', resolve))
  isCut = true
  cut()
  await lost
  assert.equal(store.getSnapshot().isSynced, false)
  isCut = false
  const again = await shown(store, ({ isSynced }) => isSynced)
  for (const end of [off, offErrors, again.off]) end()
  assert.deepEqual(errors, new Set([null]))
})

test('a refusal by the application is an error of a document until it lets the client in again', async (t) => {
  let isLetIn = true
  const { open, crosswind } = await start(t, {
    channels,
    authorize: () => (isLetIn ? { user: 'ann', read: ['*'], write: ['*'] } : null),
  })
  const stores = new Stores(() => open({ token: () => 'ann' }))
  const store = documentStore(stores, 'doc.1')
  const { off } = await shown(store, ({ isSynced }) => isSynced)
  isLetIn = false
  const denied = shown(store, ({ error }) => error !== null)
  await crosswind.revoke('ann')
  const { snapshot, off: offDenied } = await denied
  assert.equal((snapshot.error as { readonly code?: string }).code, 'no-session')
  isLetIn = true
  await stores.connection.retry()
  const again = await shown(store, ({ isSynced, error }) => isSynced && error === null)
  for (const end of [off, offDenied, again.off]) end()
})

test('a document whose refused changes are discarded begins anew, with what the server has', async (t) => {
  let write = ['*']
  const { open, crosswind } = await start(t, {
    channels,
    authorize: () => ({ user: 'ann', read: ['*'], write }),
  })
  const store = documentStore(new Stores(() => open({ token: () => 'ann' })), 'doc.1')
  const offs: (() => void)[] = []
  const untilIs = async (is: (snapshot: DocumentSnapshot) => boolean) => {
    const { snapshot, off } = await shown(store, is)
    offs.push(off)
    return snapshot
  }
  const textOf = (doc: Y.Doc | null) => String(doc?.getText('text'))
  const { doc, provider } = await untilIs(({ isSynced }) => isSynced)
  doc?.getText('text').insert(0, 'stored')
  await untilIs(({ saveState }) => saveState === 'saved')
  write = []
  await crosswind.revoke('ann')
  await untilIs(({ mayWrite }) => mayWrite === false)
  doc?.getText('text').insert(6, ', refused')
  const refused = await untilIs(({ saveState }) => saveState === 'refused')
  assert.equal((refused.error as { readonly code?: string }).code, 'read-only-invitation')
  provider?.discard()
  const after = await untilIs(({ isSynced }) => isSynced)
  assert.notEqual(after.doc, doc)
  assert.deepEqual(
    [textOf(after.doc), after.saveState, after.error, after.mayWrite],
    ['stored', 'saved', null, false],
  )
  for (const off of offs) off()
})

test('a document says whether its client may write to it, also once its rights have changed', async (t) => {
  let write = ['doc.1']
  const { open, crosswind } = await start(t, {
    channels,
    authorize: () => ({ user: 'ann', read: ['*'], write }),
  })
  const stores = new Stores(() => open({ token: () => 'ann' }))
  const first = documentStore(stores, 'doc.1')
  const second = documentStore(stores, 'doc.2')
  const heard: (boolean | null)[] = []
  const writer = await shown(first, ({ mayWrite }) => mayWrite === true)
  // Joins the open stream, which tells nothing of it.
  const reader = await shown(second, ({ mayWrite }) => {
    heard.push(mayWrite)
    return mayWrite !== null
  })
  assert.equal(reader.snapshot.mayWrite, false)
  write = ['doc.2']
  await crosswind.revoke('ann')
  const changed = [
    await shown(first, ({ mayWrite }) => mayWrite === false),
    await shown(second, ({ mayWrite }) => mayWrite === true),
  ]
  assert.deepEqual([...new Set(heard)], [null, false, true])
  for (const { off } of [writer, reader, ...changed]) off()
})
