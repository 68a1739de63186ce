// A document's provider with `keptDrafts` and a store of documents: what is typed offline outlives its window.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import * as Y from 'yjs'
import { type DraftDatabase, keptDrafts, openDraftDatabase } from '../../client/drafts.ts'
import type { CrosswindProvider, SaveState } from '../../client/yjs.ts'
import { createSeededRandom, type Random } from '../../protocol/time.ts'
import { MemoryIndexedDb } from './memory-indexeddb.ts'
import { contains, converged, copyOf, isEqual, refusal, startDocuments, synced } from './yjs-testing.ts'

/** One browser with a server that it may not reach. */
async function startBrowser(
  t: TestContext,
  database = new MemoryIndexedDb(),
  delayed?: () => Promise<void> | null,
) {
  let isCut = false
  const messages: string[] = []
  const serve = (port = 0) =>
    startDocuments(t, {
      port,
      ...(delayed && { holds: delayed }),
      cuts(url) {
        if (url.includes('/messages')) messages.push(url)
        return isCut
      },
    })
  let server = await serve()
  database.install(t)
  const document = () => server.crosswind.document('doc.1')
  return {
    messages,
    /** Resolves once this holds of the number of records. */
    kept: (store: 'drafts' | 'key', holds: (count: number) => boolean) =>
      database.until(`crosswind ${server.origin}/realtime ada`, store, holds),
    document,
    isOnline(isOnline: boolean) {
      isCut = !isOnline
      if (isCut) server.cut()
    },
    /** Another server in its place, with an empty log. Resolves to what all answers of the former have stored. */
    async loseLog() {
      const wasCut = isCut
      isCut = true
      server.cut()
      const lost = copyOf(await document())
      await server.stop()
      server = await serve(Number(new URL(server.origin).port))
      isCut = wasCut
      return lost
    },
    open: (doc = new Y.Doc(), channel = 'doc.1') =>
      server.provide({ drafts: keptDrafts({ user: 'ada' }) }, doc, channel),
    database: () => `crosswind ${server.origin}/realtime ada`,
    stored: async () => String((await document()).getText('t')),
  }
}

/** Stores a document as y-indexeddb does: each update, whoever made it, and reads them a while after it is made. */
class DocumentStore {
  readonly #updates: Uint8Array[] = []

  open(): Y.Doc {
    const doc = new Y.Doc()
    doc.on('update', (update: Uint8Array, origin: unknown) => {
      if (origin !== this) this.#updates.push(update)
    })
    const kept = [...this.#updates]
    setImmediate(() =>
      Y.transact(
        doc,
        () => {
          for (const update of kept) Y.applyUpdate(doc, update, this)
        },
        this,
        false,
      ),
    )
    return doc
  }
}

const textOf = ({ doc }: CrosswindProvider) => String(doc.getText('t'))

function shows(provider: CrosswindProvider, text: string): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (textOf(provider) !== text) return
      provider.doc.off('update', look)
      resolve()
    }
    provider.doc.on('update', look)
    look()
  })
}

function disconnected(provider: CrosswindProvider): Promise<void> {
  return new Promise((resolve) =>
    provider.on('status', ({ status }) => status === 'disconnected' && resolve()),
  )
}

function write({ doc }: CrosswindProvider, text: string): void {
  for (const letter of text) doc.getText('t').insert(doc.getText('t').length, letter)
}

test('changes typed offline are shown by the next window before they are sent, and sent by it', async (t) => {
  const browser = await startBrowser(t)
  const first = browser.open()
  write(first, 'stored')
  await first.whenSaved()
  const base = Y.encodeStateAsUpdate(first.doc)
  browser.isOnline(false)
  write(first, ', offline')
  first.destroy()
  const doc = new Y.Doc()
  Y.applyUpdate(doc, base)
  const second = browser.open(doc)
  await shows(second, 'stored, offline')
  assert.deepEqual([second.saved, second.synced, await browser.stored()], [false, false, 'stored'])
  write(second, ', too')
  browser.isOnline(true)
  await second.whenSaved()
  assert.equal(await browser.stored(), 'stored, offline, too')
  second.destroy()
  await browser.kept('drafts', (count) => count === 0)
})

test('changes typed before a window was ever online are kept for the next one', async (t) => {
  const browser = await startBrowser(t)
  browser.isOnline(false)
  const first = browser.open()
  write(first, 'never online')
  await browser.kept('drafts', (count) => count > 0)
  first.destroy()
  const second = browser.open()
  await shows(second, 'never online')
  assert.equal(second.saved, false)
  browser.isOnline(true)
  await second.whenSaved()
  assert.equal(await browser.stored(), 'never online')
})

/** A window whose content is in the log, and stored beside it. */
async function storedBeside(browser: Browser, store: DocumentStore): Promise<CrosswindProvider> {
  const first = browser.open(store.open())
  await synced(first)
  write(first, 'stored')
  await first.whenSaved()
  return first
}

test('with the content stored beside it, a document is opened offline with all that was typed, and stored once', async (t) => {
  const browser = await startBrowser(t)
  const store = new DocumentStore()
  const first = await storedBeside(browser, store)
  browser.isOnline(false)
  write(first, ', one')
  first.destroy()
  const second = browser.open(store.open())
  await shows(second, 'stored, one')
  write(second, ', two')
  second.destroy()
  const third = browser.open(store.open())
  await shows(third, 'stored, one, two')
  assert.equal(third.saved, false)
  let isSavedEarly = false
  third.on('saved', (isSaved) => {
    if (isSaved) isSavedEarly = textOf(third) !== 'stored, one, two'
  })
  browser.isOnline(true)
  await third.whenSaved()
  assert.deepEqual([await browser.stored(), isSavedEarly], ['stored, one, two', false])
  assert.ok(isEqual(await browser.document(), third.doc))
  third.destroy()
  await browser.kept('drafts', (count) => count === 0)
})

test('content that is stored beside it is not sent again', async (t) => {
  const browser = await startBrowser(t)
  const store = new DocumentStore()
  const first = await storedBeside(browser, store)
  first.destroy()
  const before = browser.messages.length
  const second = browser.open(store.open())
  await shows(second, 'stored')
  await synced(second)
  await second.whenSaved()
  assert.equal(browser.messages.length, before)
})

test('an open window shows and sends what a closed one has left', async (t) => {
  const browser = await startBrowser(t)
  const closing = browser.open()
  const staying = browser.open()
  await Promise.all([synced(closing), synced(staying)])
  browser.isOnline(false)
  write(closing, 'left')
  closing.destroy()
  await shows(staying, 'left')
  assert.equal(staying.saved, false)
  browser.isOnline(true)
  await staying.whenSaved()
  assert.equal(await browser.stored(), 'left')
})

test('refused changes, and those sent with them, outlive their window until they are undone', async (t) => {
  const browser = await startBrowser(t)
  const first = browser.open()
  await synced(first)
  const refused = refusal(first)
  first.doc.transact(() => {
    write(first, 'text')
    first.doc.getMap('files').set('file', new Y.Doc())
  })
  assert.equal(await refused, 'bad-update')
  write(first, ' and more')
  first.destroy()
  const second = browser.open()
  await shows(second, 'text and more')
  assert.equal(await refusal(second), 'bad-update')
  assert.deepEqual([second.saved, await browser.stored()], [false, ''])
  second.doc.getMap('files').delete('file')
  await new Promise<void>((resolve) => second.once('saved', () => resolve()))
  assert.deepEqual([second.refused, await browser.stored()], [null, 'text and more'])
  await browser.kept('drafts', (count) => count === 0)
})

/** Resolves once the document is in this state, to those before it. */
function untilState(provider: CrosswindProvider, state: SaveState): Promise<readonly SaveState[]> {
  const heard: SaveState[] = []
  return new Promise((resolve) => {
    const hear = (now: SaveState) => {
      if (now !== state) return void heard.push(now)
      provider.off('save-state', hear)
      resolve(heard)
    }
    provider.on('save-state', hear)
    if (provider.saveState === state) hear(state)
  })
}

test('a document says that it is being saved, saved, or offline and kept on this device', async (t) => {
  const browser = await startBrowser(t)
  const store = new DocumentStore()
  const first = browser.open(store.open())
  await synced(first)
  assert.equal(first.saveState, 'saved')
  write(first, 'o')
  assert.deepEqual([first.saveState, await untilState(first, 'saved')], ['saving', []])
  browser.isOnline(false)
  await disconnected(first)
  write(first, 'ne')
  assert.deepEqual([first.saveState, await untilState(first, 'kept')], ['saving', []])
  first.destroy()
  const second = browser.open(store.open())
  const before = untilState(second, 'kept')
  await shows(second, 'one')
  assert.ok(!(await before).includes('unsaved'))
  browser.isOnline(true)
  await untilState(second, 'saved')
  assert.equal(await browser.stored(), 'one')
})

test('without drafts, or where nothing can be kept, what is typed offline is in this window only', async (t) => {
  let isCut = false
  const { cut, provide } = await startDocuments(t, { cuts: () => isCut })
  const provider = provide()
  await synced(provider)
  isCut = true
  cut()
  await disconnected(provider)
  assert.equal(provider.saveState, 'saved')
  write(provider, 'x')
  assert.equal(provider.saveState, 'unsaved')
  provider.disconnect()
  assert.equal(provider.saveState, 'unsaved')
  isCut = false
  provider.connect()
  await untilState(provider, 'saved')
})

/** One browser of a user who may write at first, and no longer after `demote`. */
async function startDemoted(t: TestContext, mode: string) {
  const database = new MemoryIndexedDb()
  database.install(t)
  let write = ['*']
  const { crosswind, provide, origin } = await startDocuments(t, {
    authorize: () => ({ user: 'ann', read: ['*'], write }),
  })
  const open = (doc = new Y.Doc()) =>
    provide({ token: () => 'ann', modes: [mode], drafts: keptDrafts({ user: 'ann' }) }, doc)
  return {
    open,
    async demote() {
      write = []
      await crosswind.revoke('ann')
    },
    async promote() {
      write = ['*']
      await crosswind.revoke('ann')
    },
    database: `crosswind ${origin}/realtime ann`,
    kept: (holds: (count: number) => boolean) =>
      database.until(`crosswind ${origin}/realtime ann`, 'drafts', holds),
    stored: async () => String((await crosswind.document('doc.1')).getText('t')),
  }
}

for (const mode of ['websocket/1.1', 'sse/1.1', 'polling/1.1'])
  test(`over ${mode}, what was written as the right to write was taken is kept until it is discarded`, async (t) => {
    const browser = await startDemoted(t, mode)
    const first = browser.open()
    await synced(first)
    write(first, 'stored')
    await first.whenSaved()
    const refused = refusal(first)
    await Promise.all([browser.demote(), ...Array.from('0123456789', async (letter) => write(first, letter))])
    while (first.mayWrite !== false)
      await new Promise<void>((resolve) => first.once('status', () => resolve()))
    write(first, '!')
    assert.equal(await refused, 'read-only-invitation')
    assert.equal(first.saveState, 'refused')
    first.destroy()
    const second = browser.open()
    await shows(second, 'stored0123456789!')
    assert.equal(await refusal(second), 'read-only-invitation')
    const stored = await browser.stored()
    second.discard()
    await browser.kept((count) => count === 0)
    const third = browser.open()
    await shows(third, stored)
    await synced(third)
    assert.deepEqual([third.saveState, third.refused], ['saved', null])
  })

const untilMayWrite = async (provider: CrosswindProvider, may: boolean) => {
  while (provider.mayWrite !== may)
    await new Promise<void>((resolve) => provider.once('status', () => resolve()))
}

const discarded = (provider: CrosswindProvider) =>
  new Promise<void>((resolve) => provider.on('discarded', resolve))

type DraftRecord = Parameters<DraftDatabase['change']>[0][number]

/** What a window has kept of `doc.1`. */
const keptBy = (window: string, user?: string): DraftRecord => ({
  draft: {
    id: `${window}-1`,
    channel: 'doc.1',
    kind: 'update',
    from: window,
    at: 1,
    body: { update: 'AAA=' },
  },
  edits: 1,
  user,
  channel: 'doc.1',
  window,
  order: 1,
})

test('what one window discards, the others of the user discard too, and nobody sends it later', async (t) => {
  const browser = await startDemoted(t, 'sse/1.1')
  const first = browser.open()
  await synced(first)
  write(first, 'stored')
  await first.whenSaved()
  await browser.demote()
  await untilMayWrite(first, false)
  const refused = refusal(first)
  write(first, ', refused')
  await refused
  // As y-indexeddb gives it to a second window.
  const second = browser.open(copyOf(first.doc))
  assert.equal(await refusal(second), 'read-only-invitation')
  const database = openDraftDatabase(() => indexedDB, browser.database)
  await database.change([keptBy('of another user', 'bob')], [])
  const both = Promise.all([discarded(first), discarded(second)])
  const unsaved = assert.rejects(second.whenSaved())
  first.discard()
  await both
  await unsaved
  assert.deepEqual([first.shouldConnect, second.shouldConnect], [false, false])
  await browser.kept((count) => count === 1)
  assert.equal((await database.read())[0]?.user, 'bob')
  await browser.promote()
  const third = browser.open()
  await untilMayWrite(third, true)
  await synced(third)
  write(third, '!')
  await third.whenSaved()
  assert.equal(await browser.stored(), 'stored!')
})

test('drafts are discarded in windows without their document, and where nobody hears of it: nobody sends them later', async (t) => {
  const browser = await startBrowser(t)
  const first = browser.open()
  const second = browser.open(new Y.Doc(), 'doc.2')
  await Promise.all([synced(first), synced(second)])
  browser.isOnline(false)
  await Promise.all([disconnected(first), disconnected(second)])
  write(first, 'left')
  await browser.kept('drafts', (count) => count === 1)
  first.destroy()
  // The window with the other document adopts them.
  const database = openDraftDatabase(() => indexedDB, browser.database())
  const adopter = async () => (await database.read('doc.1'))[0]?.window
  const writer = await adopter()
  while ((await adopter()) === writer) await new Promise(setImmediate)
  write(second, 'kept')
  // A frozen window holds its lock, and hears no news.
  const { promise: untilEnd, resolve: end } = Promise.withResolvers<void>()
  const frozen = navigator.locks.request('crosswind-drafts:frozen', () => untilEnd)
  await database.change([keptBy('frozen')], [])
  await browser.kept('drafts', (count) => count === 3)
  const third = browser.open(copyOf(first.doc))
  third.discard()
  await browser.kept('drafts', (count) => count === 1)
  end()
  await frozen
  browser.isOnline(true)
  await second.whenSaved()
  const again = browser.open()
  write(again, 'anew')
  await again.whenSaved()
  assert.deepEqual([await browser.stored(), textOf(second)], ['anew', 'kept'])
})

/** CROSSWIND_ROUNDS=100 lives more, the first of them from CROSSWIND_SEED. */
const lives = Number(process.env.CROSSWIND_ROUNDS ?? 6)
const firstSeed = Number(process.env.CROSSWIND_SEED ?? 1)
const stepsInLife = 60
const maxDelayMs = 40

type Browser = Awaited<ReturnType<typeof startBrowser>>

/** Two windows of one user, which are opened and closed while the server is now reached and now not. */
class Life {
  readonly #browser: Browser
  readonly #random: Random
  /** Null if nothing but drafts outlives a window: then a log that is lost takes some with it. */
  readonly #store: DocumentStore | null
  readonly #providers: CrosswindProvider[] = []
  /** Each is written once. */
  readonly #written = new Set<string>()
  #words = 0
  readonly #checks: Promise<void>[] = []
  /** Document stored in the last log that was lost; null while one is being lost. */
  #lost: Y.Doc | null = new Y.Doc()
  /** Windows that have not met the log in its place, so that they may hear answers of the former one. */
  readonly #unaware = new Set<CrosswindProvider>()
  /** Events so far, for the report of a life that fails. */
  readonly story: string[] = []

  constructor(browser: Browser, random: Random, store: DocumentStore | null) {
    this.#browser = browser
    this.#random = random
    this.#store = store
  }

  async begin(): Promise<void> {
    this.#open(0)
    // Databases in memory have no transactions: the first window makes the key.
    await this.#browser.kept('key', (count) => count > 0)
    this.#open(1)
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #open(place: number): void {
    const provider = this.#browser.open(this.#store?.open() ?? new Y.Doc())
    this.#providers[place]?.destroy()
    this.#providers[place] = provider
    provider.on('saved', (isSaved) => {
      this.story.push(`window ${place} ${isSaved ? 'is saved' : 'is not saved'}`)
      if (isSaved) this.#check(provider)
    })
    provider.on('status', ({ status }) => {
      if (status === 'connected') this.#unaware.delete(provider)
    })
    provider.on('refused', ({ code }) => this.story.push(`window ${place} is refused: ${code}`))
  }

  /** The log has all that a window calls saved. */
  #check(provider: CrosswindProvider): void {
    if (this.#lost === null || (this.#unaware.has(provider) && contains(this.#lost, provider.doc))) return
    const saved = copyOf(provider.doc)
    const checking = this.#browser.document().then((stored) => {
      assert.ok(contains(stored, saved), 'something is called saved, and is not stored')
    })
    // Reported with the story.
    checking.catch(() => undefined)
    this.#checks.push(checking)
  }

  async step(): Promise<void> {
    const place = this.#below(2)
    const provider = this.#providers[place] ?? assert.fail('there is no window')
    const { doc } = provider
    const list = doc.getArray<string>('list')
    const files = doc.getMap('files')
    const kind = this.#random()
    if (kind < 0.45) {
      this.#words += 1
      const word = `word ${this.#words}`
      this.#written.add(word)
      list.insert(this.#below(list.length + 1), [word])
      this.story.push(`window ${place} writes ${word}`)
    } else if (kind < 0.55 && list.length > 0) {
      const index = this.#below(list.length)
      this.story.push(`window ${place} deletes ${list.get(index)}`)
      this.#written.delete(list.get(index))
      list.delete(index)
    } else if (kind < 0.65) {
      this.#browser.isOnline(false)
      this.story.push('the server is not reached')
    } else if (kind < 0.77) {
      this.#browser.isOnline(true)
      this.story.push('the server is reached')
    } else if (kind < 0.81) {
      // Refused, with what is merged with it.
      files.set('file', new Y.Doc())
      this.story.push(`window ${place} makes a subdocument`)
    } else if (kind < 0.87) this.#deleteFiles(place)
    else if (kind < 0.95) {
      this.story.push(`window ${place} is closed, and opened again`)
      this.#open(place)
    } else if (kind > 0.98 && this.#store) {
      this.#lost = null
      await this.#settle()
      this.story.push('the log is lost')
      this.#lost = await this.#browser.loseLog()
      for (const one of this.#providers) this.#unaware.add(one)
    }
    await new Promise((resolve) => setTimeout(resolve, this.#random() * 20))
  }

  #deleteFiles(place: number): void {
    this.#providers[place]?.doc.getMap('files').delete('file')
    this.story.push(`window ${place} deletes its subdocument`)
  }

  async #settle(): Promise<void> {
    await Promise.all(this.#checks.splice(0))
  }

  /** Everything is undone that the server refuses: then all is stored, once, and a last window leaves nothing kept. */
  async end(): Promise<void> {
    this.#browser.isOnline(true)
    this.story.push('the end begins')
    for (const place of [0, 1]) await this.#save(place)
    this.#open(0)
    this.#providers[1]?.destroy()
    // Drafts that the earlier windows left may be refused.
    this.#providers[0]?.on('refused', () => setImmediate(() => this.#undo(0)))
    await this.#browser.kept('drafts', (count) => count === 0)
    await this.#save(0)
    await this.#settle()
    const stored = await this.#browser.document()
    assert.deepEqual(stored.getArray<string>('list').toArray().toSorted(), [...this.#written].toSorted())
    const [last] = this.#providers as [CrosswindProvider]
    await converged(last.doc, stored)
    last.destroy()
  }

  /** False if nothing is refused. */
  #undo(place: number): boolean {
    const provider = this.#providers[place] ?? assert.fail('there is no window')
    if (provider.doc.getMap('files').size > 0) this.#deleteFiles(place)
    else if (provider.refused) provider.doc.getMap('ends').set(`${place}`, 'sends it again')
    else return false
    return true
  }

  async #save(place: number): Promise<void> {
    const provider = this.#providers[place] ?? assert.fail('there is no window')
    for (;;) {
      if (!this.#undo(place) && provider.saved) return
      await new Promise<void>((resolve) => {
        provider.doc.once('update', () => resolve())
        provider.once('saved', () => resolve())
        provider.once('refused', () => resolve())
      })
    }
  }
}

/** Half of the requests wait, so that answers meet what happened meanwhile. */
const delaysOf = (random: Random) => () =>
  random() < 0.5 ? null : new Promise<void>((resolve) => setTimeout(resolve, random() * maxDelayMs))

for (const isStored of [false, true])
  test(`random lives of two windows${isStored ? ', with their content stored beside them' : ''}: nothing is lost, doubled or called saved too early`, async (t) => {
    const database = new MemoryIndexedDb()
    await Promise.all(
      Array.from({ length: lives }, async (_, index) => {
        const random = createSeededRandom(firstSeed + index)
        const browser = await startBrowser(t, database, delaysOf(createSeededRandom(firstSeed + index)))
        const life = new Life(browser, random, isStored ? new DocumentStore() : null)
        try {
          await life.begin()
          for (let steps = 0; steps < stepsInLife; steps += 1) await life.step()
          await life.end()
        } catch (error) {
          throw new Error(`Seed ${firstSeed + index}: ${life.story.join('; ')}.`, { cause: error })
        }
      }),
    )
  })
