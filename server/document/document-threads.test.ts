// An application reads stored documents in parts, or is refused those that take too long.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import * as Y from 'yjs'
import { createDocument } from '../../app/document/rich-text.ts'
import { processTimers } from '../../scripts/process.ts'
import { ampleLimits, countTo, toyTypes } from '../log/log-testing.ts'
import { createMemoryLog } from '../log/memory-log.ts'
import { DocumentThreads } from './document-threads.ts'
import { behind, countItems, rivals } from './testing.ts'

function open(t: TestContext, documentSeconds: number) {
  const limits = { documentSeconds, documentMegabytes: 384, documentBytes: 1e8 }
  const documents = new DocumentThreads({ timers: processTimers, limits, hasOwners: () => false })
  const now = () => 1
  const onFailure = (error: unknown) => assert.fail(String(error))
  const stored = createMemoryLog({
    epoch: 'life1',
    limits: { ...ampleLimits, bytes: 1e9 },
    typeOf: toyTypes({ fold: documents.ledger.fold }),
    now,
    onFailure,
  })
  const checked = behind(documents.ledger, stored)
  t.after(async () => {
    await stored.close()
    await documents.close()
  })
  const draftOf = (update: Uint8Array) => {
    const body = { update: Buffer.from(update).toString('base64') }
    return { id: 'eve-1', channel: 'd', kind: 'update', from: 'eve', at: 1, body } as const
  }
  return {
    /** Checked, as a client's. */
    send: (update: Uint8Array) => checked.append(draftOf(update), 1),
    /** Unchecked, as by an older server. */
    store: (update: Uint8Array) => stored.append(draftOf(update), 1),
    read: () => documents.read(stored, 'd'),
  }
}

const bombs: readonly (readonly [name: string, update: () => Uint8Array])[] = [
  ['16,300 clients that set one key', () => rivals(16_300)],
  ['16,300 clients that set one key to a map', () => rivals(16_300, 'map')],
]

for (const [name, update] of bombs)
  test(`${name}: refused before they are stored, and to an application whose log has them`, async (t) => {
    const { send, store, read } = open(t, 1)
    const bomb = update()
    const count = countItems(t)
    await assert.rejects(async () => send(bomb), { status: 422, code: 'too-costly' })
    await store(bomb)
    await assert.rejects(read(), { status: 422, code: 'too-costly' })
    assert.equal(count.items, 0)
  })

/** Text with marks, nested types, deletions and several clients that build on each other. */
function honest(): Y.Doc {
  const docs = [createDocument(), createDocument(), createDocument()]
  for (const round of countTo(15))
    for (const [index, doc] of docs.entries()) {
      doc.transact(() => {
        const text = doc.getText('t')
        const cards = doc.getMap<Y.Map<unknown>>('cards')
        for (const n of countTo(60)) {
          text.insert((n * 7919) % (text.length + 1), 'word', n % 3 === 0 ? { bold: true } : {})
          if (n % 4 === 0) text.delete((n * 104_729) % (text.length - 2), 2)
          if (n % 10 > 0) continue
          cards.set(`${index} ${n}`, new Y.Map([['round', round]]))
          cards.get(`${(index + 1) % 3} ${n}`)?.set('by', index)
        }
      })
      for (const other of docs) Y.applyUpdate(other, Y.encodeStateAsUpdate(doc, Y.encodeStateVector(other)))
    }
  return docs[0] as Y.Doc
}

test('a document arrives whole, in turns of the event loop that each add a part of it', async (t) => {
  const { store, read } = open(t, 60)
  const written = honest()
  await store(Y.encodeStateAsUpdate(written))
  const count = countItems(t)
  let most = 0
  let isRead = false
  const counting = async () => {
    while (!isRead) {
      const before = count.items
      await nextTurn()
      most = Math.max(most, count.items - before)
    }
  }
  const counted = counting()
  const doc = await read().finally(() => {
    isRead = true
  })
  await counted
  assert.ok(count.items > 6000 && most <= 4000, `${most} of ${count.items} in one turn`)
  assert.ok(Y.equalSnapshots(Y.snapshot(doc), Y.snapshot(written)))
  assert.deepEqual(doc.getText('t').toDelta(), written.getText('t').toDelta())
  assert.deepEqual(doc.getMap('cards').toJSON(), written.getMap('cards').toJSON())
})
