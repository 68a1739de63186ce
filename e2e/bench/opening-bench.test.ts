// A generated history: its size, deletions and sessions, and its document; and the goals.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Y from 'yjs'
import { createDocument, documentText } from '../../app/document/rich-text.ts'
import { createSeededRandom } from '../../client/wire.ts'
import { analyseStudy } from '../lab/study.ts'
import { createHistory, openingDesign } from './opening-bench.ts'

const plan = { edits: 4000, editsPerSession: 1000 }
const historyOf = (seed: number) => createHistory({ ...plan, random: createSeededRandom(seed) })

test('the updates together make the text, and about a quarter are deletions', () => {
  const history = historyOf(1)
  const doc = createDocument()
  let count = 0
  for (const { update } of history.updates()) {
    Y.applyUpdate(doc, update)
    count += 1
  }
  const { characters, lines } = history.result()
  const text = documentText(doc).toString()
  assert.deepEqual([count, text.length, text.split('\n').length], [plan.edits, characters, lines])
  const deleted = (plan.edits - characters) / 2 / plan.edits
  assert.ok(deleted > 0.2 && deleted < 0.3, String(deleted))
})

test('each session writes as its own client', () => {
  const clients = new Map<number, Set<number>>()
  for (const { update, session } of historyOf(1).updates()) {
    const { structs } = Y.decodeUpdate(update)
    for (const { id } of structs) clients.getOrInsertComputed(session, () => new Set()).add(id.client)
  }
  assert.equal(clients.size, 4)
  assert.ok([...clients.values()].every(({ size }) => size === 1))
  assert.equal(new Set([...clients.values()].flatMap((each) => [...each])).size, 4)
})

test('the same seed repeats the history', () => {
  const sizes = (seed: number) => Array.from(historyOf(seed).updates(), ({ update }) => update.join())
  assert.deepEqual(sizes(3), sizes(3))
  assert.notDeepEqual(sizes(3), sizes(4))
})

test('goals are of the long document, and of the memory that it adds to an empty one', () => {
  const samples = [1, 2, 3].flatMap((session) => [
    { document: 'empty', session, expected: 0, openMs: null, heapMegabytes: 3, processMegabytes: 30 },
    { document: 'long', session, expected: 1, openMs: 600, heapMegabytes: 120, processMegabytes: 129 },
  ])
  const levels = { document: ['empty', 'long'] }
  const found = analyseStudy(openingDesign, { levels, baseline: 'empty', samples })
  assert.deepEqual(openingDesign.remarks?.(found), [
    'Met: opens in 600 ms, goal under 2000 ms.',
    'Missed: JavaScript’s heap 120 MB, goal under 100 MB.',
    'Met: what the document adds to the process 99.0 MB, goal under 100 MB.',
  ])
})
