// Reports of changes to a document that do not arrive or are not stored.

import { type TestContext, test } from 'node:test'
import { converged } from '../yjs-testing.ts'
import { compare, proxyBefore } from './comparison.ts'
import {
  type Documents,
  edit,
  type StoredDocuments,
  startCrosswind,
  startHocuspocus,
  startStoredCrosswind,
  startYWebsocket,
  textOf,
} from './shared-documents.ts'

/** Writes twice while nothing gets through to the server, and returns what the editor said. */
async function writtenInVain(t: TestContext, documents: Documents) {
  const proxy = await proxyBefore(t, documents.port)
  const editor = edit(t, documents, proxy.port)
  const witness = edit(t, documents)
  await Promise.all([editor.isSynced(true), witness.isSynced(true)])
  const said: object[] = []
  for (const letter of ['a', 'b']) {
    proxy.hold()
    textOf(editor).insert(0, letter)
    const heldUp = editor.says()
    proxy.refuse(true)
    proxy.cut()
    await editor.isSynced(false)
    const lost = editor.says()
    proxy.release()
    proxy.refuse(false)
    await Promise.all([editor.isSynced(true), converged(editor.doc, witness.doc)])
    await editor.settled()
    said.push({ heldUp, lost, back: editor.says() })
  }
  return said
}

const heldUp = {
  heldUp: { synced: true, unsaved: 1 },
  lost: { synced: false, unsaved: 1 },
  back: { synced: true, unsaved: 0 },
}

// https://github.com/ueberdosis/hocuspocus/issues/825
test('what is written while the connection dies is stored, and unsaved until then', (t) =>
  compare(t, {
    ours: startCrosswind,
    peers: [startHocuspocus],
    steps: writtenInVain,
    wanted: [heldUp, heldUp],
  }))

/** What is left of a text that the editor called saved when the server was killed. */
async function killedOnceSaved(t: TestContext, documents: StoredDocuments) {
  const writer = edit(t, documents)
  await writer.isSynced(true)
  textOf(writer).insert(0, 'saved')
  await writer.settled()
  const again = await documents.restart()
  writer.close()
  const reader = edit(t, again)
  await reader.isSynced(true)
  return String(textOf(reader))
}

// https://github.com/ueberdosis/hocuspocus/issues/738
test('a change that an editor calls saved is there after the server was killed', (t) =>
  compare(t, {
    ours: startStoredCrosswind,
    peers: [startHocuspocus],
    steps: killedOnceSaved,
    wanted: 'saved',
  }))

/** What an editor reads that opens while the last changes of one that has left are being written. */
async function openedWhileWritten(t: TestContext, documents: StoredDocuments) {
  const { storage } = documents
  const writer = edit(t, documents)
  await writer.isSynced(true)
  storage.hold()
  textOf(writer).insert(0, 'one')
  await storage.waits()
  textOf(writer).insert(3, ' two')
  await writer.settled()
  writer.close()
  storage.pass()
  await storage.waits()
  const reader = edit(t, documents)
  await reader.isSynced(true)
  const text = String(textOf(reader))
  storage.pass()
  return text
}

const writingAtOnce = (t: TestContext) => startHocuspocus(t, { debounceMs: 1 })

// https://github.com/ueberdosis/hocuspocus/issues/995
test('an editor that opens while the last changes are being written has them', (t) =>
  compare(t, {
    ours: startStoredCrosswind,
    peers: [writingAtOnce],
    steps: openedWhileWritten,
    wanted: 'one two',
  }))

/** What the others read of a text whose editor is closed in the same turn. */
async function closedAtOnce(t: TestContext, documents: Documents) {
  const editor = edit(t, documents)
  const reader = edit(t, documents)
  await Promise.all([editor.isSynced(true), reader.isSynced(true)])
  textOf(editor).insert(0, 'typed')
  editor.close()
  return reader.reads('typed')
}

// https://github.com/outline/outline/issues/13464 (an application of Hocuspocus)
test('text typed right before an editor is closed arrives', (t) =>
  compare(t, {
    ours: startCrosswind,
    peers: [startHocuspocus, startYWebsocket],
    steps: closedAtOnce,
    wanted: 'typed',
  }))
