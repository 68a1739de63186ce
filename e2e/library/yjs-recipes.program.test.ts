// The modules of docs/yjs.md, as they are printed there.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import * as Y from 'yjs'
import type { CrosswindProvider } from '../../client/yjs.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import type { createCrosswind } from '../../server/index.ts'
import { converged, startDocuments, synced } from './yjs-testing.ts'

type Crosswind = Awaited<ReturnType<typeof createCrosswind>>

interface Comment {
  readonly id: string
  readonly from: number
  readonly to: number
  readonly words: string
}

interface Modules {
  readonly 'undo.mjs': { undoIn(text: Y.Text): Y.UndoManager }
  readonly 'comments.mjs': {
    addComment(text: Y.Text, from: number, to: number, words: string): string
    commentsOn(text: Y.Text): readonly Comment[]
  }
  readonly 'versions.mjs': {
    documentAt(crosswind: Crosswind, channel: string, ms: number): Promise<Y.Doc>
    restore(text: Y.Text, earlier: Y.Text): void
  }
  readonly 'pages.mjs': {
    addPage(book: Y.Doc, title: string): string
    openPage(url: string, connection: unknown, id: string): CrosswindProvider
  }
}

const page = readFileSync(join(import.meta.dirname, '../../docs/yjs.md'), 'utf8')
const listings = new Map(
  Array.from(page.matchAll(/```js\n\/\/ (\S+\.mjs)\n(.*?)```/gs), ([, name = '', code = '']) => [name, code]),
)

/** With the sources in place of the packages. */
async function load<Name extends keyof Modules>(t: TestContext, name: Name): Promise<Modules[Name]> {
  const file = join(temporaryFolder(t), name)
  writeFileSync(file, listings.get(name) ?? assert.fail(`docs/yjs.md has no ${name}`))
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
  const { at } = (await Array.fromAsync(crosswind.history('doc.1'))).at(-1) ?? assert.fail()
  // The next update has a later time.
  while (Date.now() <= at) await new Promise(setImmediate)
  text.insert(0, 'not the ')
  await ann.whenSaved()
  const earlier = await documentAt(crosswind, 'doc.1', at)
  assert.equal(`${earlier.getText('text')}`, 'first')
  assert.equal(`${(await documentAt(crosswind, 'doc.1', Date.now())).getText('text')}`, 'not the first')
  const window = new Y.Doc()
  Y.applyUpdate(window, Y.encodeStateAsUpdate(earlier))
  restore(text, window.getText('text'))
  await same()
  assert.deepEqual(other.toDelta(), [{ insert: 'first', attributes: { bold: true } }])
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
