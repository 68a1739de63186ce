import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Y from 'yjs'
import type { Draft } from '../../protocol/messages.ts'
import { isRefusal, Refusal } from '../../protocol/refusal.ts'
import type { TypeOf } from '../../server/channels/channel-type.ts'
import { Ledger } from '../../server/document/ledger.ts'
import type { Log } from '../../server/log/log.ts'
import { ampleLimits } from '../../server/log/log-testing.ts'
import { createMemoryLog } from '../../server/log/memory-log.ts'
import { pageTypes } from '../page-testing.ts'
import { findDocument, linesIn } from './document-reader.ts'
import { convertEdits, writeDocument } from './document-writes.ts'
import { readHtml, writeHtml } from './html.ts'
import { pageSchema } from './page-schema.ts'
import { unlimitedDocuments } from './page-tasks-testing.ts'
import { type Line, plainFormat, textOf } from './rich-text.ts'

const fail = (error: unknown) => assert.fail(String(error))
const maxMessageBytes = 4096

const linesOf = (...texts: string[]): Line[] =>
  texts.map((text) => ({ ...plainFormat, runs: text === '' ? [] : [{ text, marks: {} }] }))

/** One log, as a server of an earlier version, which stored edits, and today's use it one after the other. */
function open() {
  const now = () => 1
  const ledger = new Ledger({
    schema: pageSchema,
    documents: unlimitedDocuments,
    trials: unlimitedDocuments,
    documentSeconds: 5,
    documentBytes: 1e6,
    now,
    onFailure: fail,
  })
  const earlierTypes = pageTypes(ledger)
  const types = pageTypes(ledger, convertEdits(unlimitedDocuments, now))
  let current = types
  const typeOf: TypeOf = (channel) => current(channel)
  const stored = createMemoryLog({ epoch: 'life1', limits: ampleLimits, typeOf, now, onFailure: fail })
  ledger.open(stored)
  /** The server that is asked is the one that runs. */
  const logWith = (own: TypeOf): Log => {
    const run = () => {
      current = own
      return stored
    }
    return {
      ...stored,
      append: (draft, acceptedAt) => run().append(draft, acceptedAt),
      read: (cursor, channels) => run().read(cursor, channels),
      snapshot: (channels) => run().snapshot(channels),
    }
  }
  return { stored, shared: logWith(types), earlier: logWith(earlierTypes) }
}

function edit(id: string, html: string, from = 'ann'): Draft<'edit'> {
  return { id, channel: 'main', kind: 'edit', from, at: 1, body: { html } }
}

function update(id: string, bytes: Uint8Array, from = 'ann'): Draft<'update'> {
  const body = { update: Buffer.from(bytes).toString('base64') }
  return { id, channel: 'main', kind: 'update', from, at: 1, body }
}

/** A window in which someone has typed. */
async function typed(log: Log, text: string, attributes = {}, id = 'ann-1'): Promise<Y.Doc> {
  const doc = new Y.Doc()
  doc.getText('text').insert(0, text, attributes)
  await log.append(update(id, Y.encodeStateAsUpdate(doc)), 1)
  return doc
}

type Write = Partial<Parameters<typeof writeDocument>[1]> & { readonly id?: string; readonly at?: number }

function write(log: Log, { id = 'bob-1', at = 1, ...writing }: Write) {
  const publish = async (draft: Draft) => {
    try {
      return { type: 'stored' as const, id: draft.id, seq: await log.append(draft, 1) }
    } catch (error) {
      throw isRefusal(error, 'id-taken') ? new Refusal('id-taken', error.message, draft.id) : error
    }
  }
  const draft = { id, channel: 'main', from: 'bob', at }
  const given = { draft, way: 'replace' as const, lines: [], isPlain: true, ifMatch: null, ...writing }
  return writeDocument({ documents: unlimitedDocuments, log, publish, maxMessageBytes }, given).then(
    ({ seq }) => seq,
    (error: Refusal) => `${error.status} ${error.code}`,
  )
}

const readLines = async (log: Log, channel: string) => linesIn((await findDocument(log, channel)).messages)
const linesOfHtml = (html: string) => readHtml(html, { isOwn: true }).lines
const shown = async (log: Log) => textOf(await readLines(log, 'main'))
const refusalOf = async (appended: number | Promise<number>) =>
  Promise.resolve(appended).then(
    (seq) => seq,
    ({ status, code, message }: Refusal) => `${status} ${code} ${/\/api\/documents\/main/.exec(message)}`,
  )

test('a shared document refuses an edit and names the alternative, even before its first update', async () => {
  const { shared } = open()
  const refused = '409 shared-document /api/documents/main'
  const first = shared.append(edit('bob-1', 'lost'), 1)
  typed(shared, 'kept\n')
  const last = shared.append(edit('bob-2', 'lost'), 1)
  assert.deepEqual([await refusalOf(first), await refusalOf(last)], [refused, refused])
  assert.equal(await refusalOf(shared.append(edit('bob-3', 'lost'), 1)), refused)
  assert.equal(await shown(shared), 'kept')
})

test('an edit that an earlier version stored is acknowledged again, not refused', async () => {
  const { earlier, shared } = open()
  const seq = await earlier.append(edit('ann-1', 'x'), 1)
  assert.equal(await shared.append(edit('ann-1', 'x'), 2), seq)
  assert.match(String(await refusalOf(shared.append(edit('ann-1', 'y'), 2))), /^409 shared-document/)
})

test('an edit becomes the start of the shared document once, whoever opens it first', async () => {
  for (const first of ['reader', 'update', 'program', 'stream'] as const) {
    const { earlier, shared, stored } = open()
    await earlier.append(edit('ann-1', '<h2>Plan</h2><p>a <b>b</b></p>'), 1)
    const ways = {
      reader: () => Promise.all([shared.snapshot(new Set(['main'])), shared.snapshot(new Set(['main']))]),
      update: () => typed(shared, '', {}, 'bob-1'),
      program: () => write(shared, { way: 'append', lines: linesOf('c') }),
      stream: () => shared.read(null, new Set(['main'])),
    }
    await ways[first]()
    const more = first === 'program' ? '\n<p>c</p>' : ''
    assert.equal(writeHtml(await readLines(shared, 'main')), `<h2>Plan</h2>\n<p>a <b>b</b></p>${more}`, first)
    const { messages } = await stored.read({ epoch: 'life1', seq: 0 }, new Set(['main']))
    assert.deepEqual(
      messages.filter(({ id }) => id.startsWith('ann-update')).map(({ from, seq }) => [from, seq]),
      [['ann', 2]],
      first,
    )
  }
})

test('an edit that is newer than updates changes the document to its content', async () => {
  const { earlier, shared } = open()
  await typed(shared, 'typed\n')
  await earlier.append(edit('bob-1', '<p>typed</p><p>whole</p>', 'bob'), 1)
  assert.equal(await shown(shared), 'typed\nwhole')
  const { messages } = await shared.snapshot(new Set(['main']))
  assert.equal(messages.at(-1)?.kind, 'update')
})

test('a replaced text keeps what others type meanwhile, and the formatting of retained text', async () => {
  const { shared } = open()
  const window = await typed(shared, 'one two\n', { bold: true })
  const there = await shared.snapshot(new Set(['main']))
  window.getText('text').insert(7, ' typed')
  await shared.append(update('ann-2', Y.encodeStateAsUpdate(window)), 1)
  const late = { ...shared, snapshot: async () => there }
  assert.equal(await write(late, { lines: linesOf('one and two') }), 3)
  assert.equal(writeHtml(await readLines(shared, 'main')), '<p><b>one </b>and <b>two typed</b></p>')
  assert.equal(await write(shared, { id: 'bob-2', lines: linesOfHtml('<p>two</p>'), isPlain: false }), 4)
  assert.equal(writeHtml(await readLines(shared, 'main')), '<p>two</p>')
})

test('appended text starts a new line at the end', async () => {
  const { shared } = open()
  assert.equal(await write(shared, { way: 'append', lines: linesOf('a') }), 1)
  await write(shared, { id: 'bob-2', way: 'append', lines: linesOfHtml('<h2>b</h2>') })
  await write(shared, { id: 'bob-3', way: 'append', lines: linesOf('', 'c') })
  assert.equal(writeHtml(await readLines(shared, 'main')), '<p>a</p>\n<h2>b</h2>\n<p><br></p>\n<p>c</p>')
  const { shared: unended } = open()
  await typed(unended, 'no end', { bold: true })
  await write(unended, { way: 'append', lines: linesOf('a') })
  assert.equal(writeHtml(await readLines(unended, 'main')), '<p><b>no end</b></p>\n<p>a</p>')
})

test('a repeat gets its first number, even if the document has changed since or the first is in progress; another text does not', async () => {
  const { shared } = open()
  const line = { way: 'append' as const, lines: linesOf('a') }
  const both = await Promise.all([write(shared, line), write(shared, line)])
  assert.deepEqual(both, [1, 1])
  await write(shared, { id: 'bob-2', lines: linesOf('other') })
  assert.equal(await write(shared, { ...line, ifMatch: '"life1:0"' }), 1)
  for (const other of [{ ...line, lines: linesOf('b') }, { ...line, at: 2 }, { lines: line.lines }])
    assert.equal(await write(shared, other), '409 id-taken')
  assert.equal(await shown(shared), 'other')
})

test('a write that changes nothing stores nothing, and returns the newest change’s number', async () => {
  const { shared } = open()
  assert.equal(await write(shared, { way: 'append' }), 0)
  assert.equal(await write(shared, { lines: linesOf('a') }), 1)
  assert.equal(await write(shared, { id: 'bob-2', lines: linesOf('a') }), 1)
  assert.equal(await write(shared, { id: 'bob-3', way: 'append' }), 1)
  assert.equal((await shared.snapshot(new Set())).head.seq, 1)
  // Its id is free.
  assert.equal(await write(shared, { id: 'bob-3', lines: linesOf('b') }), 2)
})

test('If-Match writes only if the document is still the version that was read', async () => {
  const { shared } = open()
  assert.equal(await write(shared, { lines: linesOf('a'), ifMatch: '*' }), '412 document-changed')
  assert.equal(await write(shared, { lines: linesOf('a'), ifMatch: '"life1:0"' }), 1)
  const late = { id: 'bob-2', lines: linesOf('b') }
  assert.equal(await write(shared, { ...late, ifMatch: '"life1:0"' }), '412 document-changed')
  assert.equal(await write(shared, { ...late, ifMatch: '"life1:7", "life1:1"' }), 2)
})

test('a text too large for one message is refused, and none of it is stored', async () => {
  const { shared } = open()
  assert.equal(await write(shared, { lines: linesOf('x'.repeat(maxMessageBytes)) }), '413 too-large')
  assert.equal(await shown(shared), '')
})
