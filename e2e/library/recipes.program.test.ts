// The modules of docs/channels.md, docs/yjs.md and docs/coming-from.md, as they are printed there.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import * as Y from 'yjs'
import type { Crosswind as Client, Room } from '../../client/connect.ts'
import type { CrosswindProvider, SaveState } from '../../client/yjs.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import type { createCrosswind, Received } from '../../server/index.ts'
import { createNodePlatform } from '../clients/client.ts'
import { connectHttp } from '../clients/http-client.ts'
import { start } from './testing.ts'
import { converged, refusal, startDocuments, synced } from './yjs-testing.ts'

type Crosswind = Awaited<ReturnType<typeof createCrosswind>>

interface Comment {
  readonly id: string
  readonly from: number
  readonly to: number
  readonly words: string
}

interface Unread {
  markRead(seq: number): void
  end(): void
}

interface Modules {
  readonly 'archive.mjs': {
    archive(crosswind: Client, channel: string, file: string): () => void
  }
  readonly 'unread.mjs': {
    countUnread(
      crosswind: Client,
      channel: string,
      reader: { user: string; last?: number },
      show: (count: number) => void,
    ): Promise<Unread>
  }
  readonly 'save-line.mjs': {
    saveLine(document: { readonly saveState: SaveState; readonly error: unknown }): string
  }
  readonly 'may-write.mjs': {
    mayWriteNow(provider: CrosswindProvider, user: string, atFirst?: boolean): boolean
  }
  readonly 'discard.mjs': {
    discard(provider: CrosswindProvider, kept: { clearData(): Promise<void> }): Promise<void>
  }
  readonly 'undo.mjs': { undoIn(text: Y.Text, ...origins: readonly unknown[]): Y.UndoManager }
  readonly 'comments.mjs': {
    addComment(text: Y.Text, from: number, to: number, words: string): string
    commentsOn(text: Y.Text): readonly Comment[]
  }
  readonly 'versions.mjs': {
    documentAt(crosswind: Crosswind, channel: string, ms: number): Promise<Y.Doc>
    versionsOf(
      crosswind: Pick<Crosswind, 'history'>,
      channel: string,
      pauseMs?: number,
    ): Promise<readonly { readonly at: number; readonly users: readonly (string | null)[] }[]>
    restore(text: Y.Text, earlier: Y.Text): void
    restoreFragment(fragment: Y.XmlFragment, earlier: Y.XmlFragment, origin?: unknown): void
  }
  readonly 'pages.mjs': {
    addPage(book: Y.Doc, title: string): string
    openPage(url: string, connection: unknown, id: string): CrosswindProvider
  }
  readonly 'users.mjs': {
    permitFor(user: string): { user: string; read: string[]; write: string[] }
    invite(crosswind: Crosswind, user: string, room: string): Promise<unknown>
    followInvitations(
      crosswind: Client,
      user: string,
      onMessage: (message: { data: unknown }) => void,
    ): () => void
  }
  readonly 'ask.mjs': {
    ask(room: Room<unknown>, question: unknown): Promise<unknown>
    answerIn(crosswind: Crosswind, channels: string, answer: (question: string) => unknown): () => void
  }
  readonly 'webhooks.mjs': {
    forward(
      crosswind: Crosswind,
      channel: string,
      last: number,
      post: (message: Received) => unknown,
    ): () => void
  }
  readonly 'absent.mjs': {
    notifyAbsent(
      crosswind: Crosswind,
      channels: string,
      membersOf: (channel: string) => Promise<readonly string[]>,
      notify: (user: string, message: Received) => unknown,
    ): () => void
  }
  readonly 'sealed.mjs': {
    seal(key: CryptoKey, data: unknown): Promise<Uint8Array>
    unseal(key: CryptoKey, bytes: Uint8Array): Promise<unknown>
  }
  readonly 'edit.mjs': {
    edit(url: string, channel: string, change: (doc: Y.Doc) => void, options?: object): Promise<void>
  }
}

const pages = ['channels.md', 'yjs.md', 'coming-from.md']
  .map((name) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8'))
  .join('\n')
const listings = new Map(
  Array.from(pages.matchAll(/```js\n\/\/ (\S+\.mjs)\n(.*?)```/gs), ([, name = '', code = '']) => [
    name,
    code,
  ]),
)

/** With the sources in place of the packages. */
async function load<Name extends keyof Modules>(t: TestContext, name: Name): Promise<Modules[Name]> {
  const file = join(temporaryFolder(t), name)
  writeFileSync(file, listings.get(name) ?? assert.fail(`no page has ${name}`))
  const url = pathToFileURL(file).href
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (context.parentURL !== url) return next(specifier, context)
      const source = specifier.replace(/^@crosswind\/client\/(.*)$/, '../../client/$1.ts')
      return next(source, { ...context, parentURL: import.meta.url })
    },
  })
  try {
    return await import(url)
  } finally {
    hooks.deregister()
  }
}

/** Two providers of one document with a text. */
async function openTwo(t: TestContext, words: string) {
  const { crosswind, provide } = await startDocuments(t)
  const ann = provide()
  const bob = provide()
  await Promise.all([synced(ann), synced(bob)])
  const text = ann.doc.getText('text')
  const other = bob.doc.getText('text')
  text.insert(0, words)
  await converged(ann.doc, bob.doc)
  return { crosswind, ann, text, other, same: () => converged(ann.doc, bob.doc) }
}

test('a program that stops and goes on has each message once', async (t) => {
  const { archive } = await load(t, 'archive.mjs')
  const file = join(temporaryFolder(t), 'archive.db')
  const { crosswind, open } = await start(t, { channels: { readings: { kind: 'json' } } })
  let last = 0
  for (const count of [3, 2, 0, 4]) {
    // While the program is away.
    for (let n = 0; n < count; n += 1) await crosswind.publish('readings', ++last)
    const client = open()
    const end = archive(client, 'readings', file)
    await new Promise<void>((resolve) => {
      client.subscribe('readings', {
        from: 'start',
        onMessage: ({ data }) => data === last && resolve(),
      })
    })
    end()
    client.close()
  }
  const db = new DatabaseSync(file, { readOnly: true })
  t.after(() => db.close())
  const rows = db.prepare('SELECT data FROM messages ORDER BY rowid').all()
  assert.deepEqual(
    rows.map(({ data }) => Number(data)),
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
  )
})

test('what others wrote after the last message read is counted, also from 100 messages back', async (t) => {
  const { countUnread } = await load(t, 'unread.mjs')
  const channels = { 'room.*': { kind: 'json', changes: 'server' } } as const
  const { crosswind, open } = await start(t, { channels })
  const publish = (user: string, channel = 'room.1') => crosswind.publish(channel, 'text', { user })
  const { seq: last } = await publish('bob')
  await publish('bob', 'room.2')
  await publish('ann')
  const { seq: erased } = await publish('bob')
  await publish('bob')
  await crosswind.erase('room.1', erased)
  const counts: number[] = []
  const { promise: three, resolve } = Promise.withResolvers<void>()
  const unread = await countUnread(open(), 'room.1', { user: 'ann', last }, (count) => {
    counts.push(count)
    if (count === 3) resolve()
  })
  assert.deepEqual(counts, [1])
  await publish('bob')
  const { seq } = await publish('bob')
  await three
  await publish('ann')
  unread.markRead(seq)
  assert.equal(counts.at(-1), 0)
  unread.end()
  await Promise.all(Array.from({ length: 120 }, () => publish('bob')))
  const others = await countUnread(open(), 'room.1', { user: 'ann' }, (count) => counts.push(count))
  assert.equal(counts.at(-1), 100)
  others.end()
})

/** A user who may write until `demote`, in a browser that remembers. */
async function startWriter(t: TestContext) {
  const remembered = new Map<string, string>()
  const localStorage = {
    getItem: (key: string) => remembered.get(key) ?? null,
    setItem: (key: string, value: unknown) => remembered.set(key, String(value)),
  }
  const before = Object.getOwnPropertyDescriptor(globalThis, 'localStorage') ?? {}
  Object.defineProperty(globalThis, 'localStorage', { value: localStorage, configurable: true })
  t.after(() => Object.defineProperty(globalThis, 'localStorage', before))
  let write = ['*']
  const { crosswind, provide } = await startDocuments(t, {
    authorize: () => ({ user: 'ann', read: ['*'], write }),
  })
  const open = () => provide({ token: () => 'ann' })
  const provider = open()
  await synced(provider)
  return {
    provider,
    open,
    async demote() {
      write = []
      await crosswind.revoke('ann')
      while (provider.mayWrite !== false)
        await new Promise<void>((resolve) => provider.once('status', () => resolve()))
    },
  }
}

test('a line says whether a document is saved, and why not', async (t) => {
  const { saveLine } = await load(t, 'save-line.mjs')
  const { provider, demote } = await startWriter(t)
  const lines: string[] = []
  const show = () => lines.push(saveLine({ saveState: provider.saveState, error: provider.refused }))
  for (const event of ['save-state', 'refused'] as const) provider.on(event, show)
  const text = provider.doc.getText('t')
  text.insert(0, 'stored')
  await provider.whenSaved()
  await demote()
  const refused = refusal(provider)
  // Larger than what a reader may send at all.
  text.insert(0, 'x'.repeat(5000))
  await refused
  text.delete(0, 5000)
  while (!provider.saved) await new Promise<void>((resolve) => provider.once('saved', () => resolve()))
  provider.disconnect()
  text.insert(0, 'y')
  const changes = lines.filter((line, place) => line !== lines[place - 1])
  assert.deepEqual(changes, [
    'Saving…',
    'Saved',
    'Saving…',
    'Not saved: This session lets you only read; ask for one that lets you write.',
    'Saved',
    'Offline, in this window only',
  ])
  assert.equal(saveLine({ saveState: 'kept', error: null }), 'Offline, kept on this device')
  assert.equal(saveLine({ saveState: 'kept', error: new Error('Sign in.') }), 'Not saved: Sign in.')
})

test('while nobody has told who may write, what was told last holds, for its user and document', async (t) => {
  const { mayWriteNow } = await load(t, 'may-write.mjs')
  const { provider, open, demote } = await startWriter(t)
  const unknown = open()
  assert.deepEqual([unknown.mayWrite, mayWriteNow(unknown, 'ann')], [null, false])
  assert.equal(mayWriteNow(unknown, 'ann', true), true)
  assert.equal(mayWriteNow(provider, 'ann'), true)
  assert.deepEqual([mayWriteNow(unknown, 'ann'), mayWriteNow(unknown, 'bob')], [true, false])
  await demote()
  assert.equal(mayWriteNow(provider, 'ann'), false)
})

test('refused changes are discarded here and in the store beside the provider', async (t) => {
  const { discard } = await load(t, 'discard.mjs')
  const { provider, open, demote } = await startWriter(t)
  await demote()
  const refused = refusal(provider)
  provider.doc.getText('t').insert(0, 'refused')
  assert.equal(await refused, 'read-only-invitation')
  const cleared = t.mock.fn(async () => assert.equal(provider.saveState, 'refused'))
  await discard(provider, { clearData: cleared })
  assert.equal(cleared.mock.callCount(), 1)
  const again = open()
  await synced(again)
  assert.deepEqual([again.saveState, String(again.doc.getText('t'))], ['saved', ''])
})

test('undo takes back what its own window wrote, and nothing that another one wrote', async (t) => {
  const { undoIn } = await load(t, 'undo.mjs')
  const { text, other, same } = await openTwo(t, '')
  const undo = undoIn(text)
  text.insert(0, 'mine')
  await same()
  other.insert(4, ' yours')
  await same()
  undo.undo()
  await same()
  assert.equal(`${other}`, ' yours')
  undo.redo()
  await same()
  assert.equal(`${other}`, 'mine yours')
  const byBinding = undoIn(text, 'binding')
  text.doc?.transact(() => text.insert(0, 'typed '), 'binding')
  byBinding.undo()
  await same()
  assert.equal(`${other}`, 'mine yours')
})

test('a comment stays at its characters in every window, and goes with them', async (t) => {
  const { addComment, commentsOn } = await load(t, 'comments.mjs')
  const { text, other, same } = await openTwo(t, 'one two three')
  const id = addComment(text, 4, 7, 'why?')
  await same()
  other.insert(0, 'zero ')
  other.insert(12, ', ')
  await same()
  for (const one of [text, other]) assert.deepEqual(commentsOn(one), [{ id, from: 9, to: 12, words: 'why?' }])
  other.delete(8, 5)
  await same()
  assert.deepEqual(commentsOn(text), [])
})

test('a document is shown as it was at a time, and its earlier text restored in every window', async (t) => {
  const { documentAt, restore } = await load(t, 'versions.mjs')
  const { crosswind, ann, text, other, same } = await openTwo(t, 'first')
  text.format(0, 5, { bold: true })
  await ann.whenSaved()
  const newestAt = async () =>
    (await Array.fromAsync(crosswind.history('doc.1'))).at(-1)?.at ?? assert.fail('no update')
  const at = await newestAt()
  text.insert(0, 'not the ')
  await ann.whenSaved()
  const earlier = await documentAt(crosswind, 'doc.1', at)
  assert.equal(`${earlier.getText('text')}`, 'first')
  assert.equal(`${(await documentAt(crosswind, 'doc.1', await newestAt())).getText('text')}`, 'not the first')
  const window = new Y.Doc()
  Y.applyUpdate(window, Y.encodeStateAsUpdate(earlier))
  restore(text, window.getText('text'))
  await same()
  assert.deepEqual(other.toDelta(), [{ insert: 'first', attributes: { bold: true } }])
})

test('versions end before a pause, and name who wrote in them, once', async (t) => {
  const { versionsOf } = await load(t, 'versions.mjs')
  const update = (at: number, user?: string) => ({ seq: at, from: 'w', user, at, update: new Uint8Array() })
  const updates = [update(0, 'ann'), update(5, 'bob'), update(9, 'ann'), update(19.5), update(29)]
  const crosswind = {
    async *history() {
      yield* updates
    },
  }
  assert.deepEqual(await versionsOf(crosswind, 'doc.1', 10), [
    { at: 9, users: ['ann', 'bob'] },
    { at: 29, users: [null] },
  ])
})

test('an earlier fragment is restored with its elements, attributes and marks, and that is undone', async (t) => {
  const { restoreFragment } = await load(t, 'versions.mjs')
  const { ann, same } = await openTwo(t, '')
  const fragment = ann.doc.getXmlFragment('prosemirror')
  const heading = new Y.XmlElement('heading')
  // A number, as ProseMirror writes it; the types know texts alone.
  heading.setAttribute('level', 2 as unknown as string)
  heading.insert(0, [new Y.XmlText('Title')])
  fragment.insert(0, [heading])
  const { firstChild } = heading
  assert.ok(firstChild instanceof Y.XmlText)
  firstChild.format(0, 5, { strong: {} })
  const old = new Y.Doc()
  Y.applyUpdate(old, Y.encodeStateAsUpdate(ann.doc))
  const earlier = `${fragment}`
  firstChild.insert(0, 'No ')
  const replaced = `${fragment}`
  const undo = new Y.UndoManager(fragment, { trackedOrigins: new Set(['restore']) })
  restoreFragment(fragment, old.getXmlFragment('prosemirror'), 'restore')
  await same()
  assert.equal(`${fragment}`, earlier)
  assert.equal((fragment.get(0) as Y.XmlElement).getAttribute('level'), 2)
  undo.undo()
  assert.equal(`${fragment}`, replaced)
  await same()
})

test('pages with a channel each are listed by a document and written over its connection', async (t) => {
  const { addPage, openPage } = await load(t, 'pages.mjs')
  const { origin, open, provide } = await startDocuments(t, {
    channels: { 'book.*': { kind: 'yjs' }, 'page.*': { kind: 'yjs' } },
  })
  const url = `${origin}/realtime`
  const anns = open()
  const bobs = open()
  const book = provide({ connection: anns }, new Y.Doc(), 'book.1')
  const shelf = provide({ connection: bobs }, new Y.Doc(), 'book.1')
  const id = addPage(book.doc, 'First')
  const page = openPage(url, anns, id)
  page.doc.getText('text').insert(0, 'Once')
  await Promise.all([book.whenSaved(), page.whenSaved(), synced(shelf)])
  await converged(book.doc, shelf.doc)
  assert.deepEqual(shelf.doc.getMap('pages').toJSON(), { [id]: 'First' })
  const other = openPage(url, bobs, id)
  await synced(other)
  assert.equal(`${other.doc.getText('text')}`, 'Once')
  for (const opened of [page, other]) opened.destroy()
  assert.deepEqual([anns.state.status, bobs.state.status], ['open', 'open'])
})

test('a user reads a channel that others may not, and follows the rooms named there, also later', async (t) => {
  const { permitFor, invite, followInvitations } = await load(t, 'users.mjs')
  const { crosswind, open } = await start(t, {
    channels: { 'room.*': { kind: 'json' }, 'user.*': { kind: 'json' } },
    authorize: ({ token }) => (token === null ? null : permitFor(token)),
  })
  const as = (user: string) => open({ token: () => user })
  await invite(crosswind, 'ann', 'room.7')
  const joined = Promise.withResolvers<unknown>()
  crosswind.watchClients('room.7', joined.resolve)
  const heard = Promise.withResolvers<unknown>()
  followInvitations(as('ann'), 'ann', ({ data }) => heard.resolve(data))
  await joined.promise
  await crosswind.publish('room.7', 'hello')
  assert.equal(await heard.promise, 'hello')
  const refused = Promise.withResolvers<unknown>()
  as('bob').channel('user.ann').on('error', refused.resolve)
  assert.equal(((await refused.promise) as { code: string }).code, 'not-invited-there')
})

test('a question in a room is answered', async (t) => {
  const { ask, answerIn } = await load(t, 'ask.mjs')
  const { crosswind, open } = await start(t)
  const room = open().channel('room.1')
  answerIn(crosswind, 'room.*', (question) => question.toUpperCase())
  assert.deepEqual(await Promise.all([ask(room, 'why'), ask(room, 'when')]), ['WHY', 'WHEN'])
})

test('a webhook gets each message once and in order: those before its start, and one that failed', async (t) => {
  const { forward } = await load(t, 'webhooks.mjs')
  const errors: string[] = []
  const { crosswind } = await start(t, { onFailure: (error) => errors.push(`${error}`) })
  t.mock.method(console, 'error', (error: unknown) => errors.push(`${error}`))
  const publish = (text: string) => crosswind.publish('room.1', text)
  const { seq } = await publish('known')
  await publish('missed')
  const posted: unknown[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  let isDown = false
  const off = forward(crosswind, 'room.1', seq, ({ data }) => {
    if (data === 'down' && !isDown) {
      isDown = true
      throw new Error('no answer')
    }
    posted.push(data)
    if (data === 'last') resolve()
  })
  for (const text of ['down', 'next', 'last']) await publish(text)
  await promise
  assert.deepEqual(posted, ['missed', 'down', 'next', 'last'])
  assert.deepEqual(errors, ['Error: no answer'])
  off()
})

test('members who do not read a channel are notified', async (t) => {
  const { notifyAbsent } = await load(t, 'absent.mjs')
  const { crosswind, open } = await start(t, {
    authorize: ({ token }) => ({ user: token ?? '', read: ['*'], write: ['*'] }),
  })
  const notified = Promise.withResolvers<readonly unknown[]>()
  notifyAbsent(
    crosswind,
    'room.*',
    async () => ['ann', 'bob'],
    (user, { data }) => notified.resolve([user, data]),
  )
  await open({ token: () => 'ann' })
    .channel('room.1')
    .publish('hello')
  assert.deepEqual(await notified.promise, ['bob', 'hello'])
})

test('what is sealed passes as bytes, and only its key opens it', async (t) => {
  const { seal, unseal } = await load(t, 'sealed.mjs')
  const newKey = () =>
    crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])
  const [key, other] = await Promise.all([newKey(), newKey()])
  const { crosswind, open } = await start(t)
  await open()
    .channel<Uint8Array>('room.1')
    .publish(await seal(key, { text: 'secret' }))
  const [message] = (await crosswind.readBack('room.1')).messages
  const bytes = message?.data as Uint8Array
  assert.equal(Buffer.from(bytes).includes('secret'), false)
  assert.deepEqual(await unseal(key, bytes), { text: 'secret' })
  await assert.rejects(unseal(other, bytes))
})

test('a program changes a document beside what windows wrote, also one that had to wait for the server', async (t) => {
  const { edit } = await load(t, 'edit.mjs')
  const { crosswind, origin, provide } = await startDocuments(t)
  const ann = provide()
  ann.doc.getText('text').insert(0, 'Ann')
  await ann.whenSaved()
  // That of the package for Node.
  const platform = createNodePlatform(connectHttp('1.1', origin, null))
  t.after(() => platform.close())
  const change = (doc: Y.Doc) => doc.getText('text').insert(3, ' and a program')
  let asked = 0
  const losing = {
    ...platform,
    send(...request: Parameters<typeof platform.send>) {
      asked += 1
      return asked > 2 ? platform.send(...request) : Promise.reject(new Error('The server is away.'))
    },
  }
  await edit(`${origin}/realtime`, 'doc.1', change, { platform: losing })
  assert.equal(`${(await crosswind.document('doc.1')).getText('text')}`, 'Ann and a program')
})
