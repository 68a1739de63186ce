import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scheduler } from 'node:timers/promises'
import * as Y from 'yjs'
import { pageSchema } from '../../app/document/page-schema.ts'
import { unlimitedDocuments } from '../../app/document/page-tasks-testing.ts'
import { type Draft, isKind } from '../../protocol/messages.ts'
import { idTaken, Refusal } from '../../protocol/refusal.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { foldAt } from '../log/folding.ts'
import type { Log } from '../log/log.ts'
import { ampleLimits, countTo, settled, toyTypes } from '../log/log-testing.ts'
import { createMemoryLog } from '../log/memory-log.ts'
import { Ledger } from './ledger.ts'
import { behind, UpdateWriter } from './testing.ts'

const fail = (error: unknown) => assert.fail(String(error))

const limits = { ...ampleLimits, messages: 5000, bytes: 1e8 }

function open({ documentBytes = 1e6, change = {} as Partial<Log> } = {}) {
  const clock = { ms: 0 }
  const failures: unknown[] = []
  const onFailure = (error: unknown) => void failures.push(error)
  const now = () => clock.ms
  const ledger = new Ledger({
    schema: pageSchema,
    documents: unlimitedDocuments,
    trials: unlimitedDocuments,
    documentSeconds: 5,
    documentBytes,
    now,
    onFailure,
  })
  const stored = createMemoryLog({
    epoch: 'life1',
    limits,
    typeOf: toyTypes({ fold: ledger.fold }),
    now,
    onFailure,
  })
  const log = behind(ledger, { ...stored, ...change })
  let sent = 0

  async function send(
    update: Uint8Array,
    from = 'ann',
    channel = 'main',
    user?: string,
  ): Promise<number | string> {
    sent += 1
    return sendAs(`${from}-${sent}`, update, from, channel, user)
  }

  /** Resolves to the number or to the refusal's code. */
  async function sendAs(
    id: string,
    update: Uint8Array,
    from = 'ann',
    channel = 'main',
    user?: string,
  ): Promise<number | string> {
    const body = { update: Buffer.from(update).toString('base64'), ...(user && { user }) }
    const draft: Draft<'update'> = { id, channel, kind: 'update', from, at: 1, body }
    try {
      return await log.append(draft, 1)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      assert.match(error.message, /^[^\n]{20,400}\.$/)
      assert.equal(error.id, id)
      return `${error.status} ${error.code}`
    }
  }

  /** The messages that a new client receives. */
  async function read(channel = 'main') {
    const { messages } = await log.snapshot(new Set([channel]))
    const updates = messages.filter((message) => isKind(message, 'update'))
    const doc = new Y.Doc()
    for (const { body } of updates) Y.applyUpdate(doc, Buffer.from(body.update, 'base64'))
    return { updates, doc, text: doc.getText('text').toString() }
  }

  return { log, ledger, clock, failures, send, sendAs, read }
}

/** A window's document; `take` returns the updates since the last call, one per transaction. */
function openWindow(clientID: number) {
  const doc = new Y.Doc()
  doc.clientID = clientID
  const updates: Uint8Array[] = []
  doc.on('update', (update: Uint8Array, origin: unknown) => {
    if (origin !== 'remote') updates.push(update)
  })
  return {
    doc,
    text: doc.getText('text'),
    authors: doc.getMap('authors'),
    take: () => updates.splice(0),
    /** The same, merged into one update. */
    takeOne: () => Y.mergeUpdates(updates.splice(0)),
    hear: (update: Uint8Array) => Y.applyUpdate(doc, update, 'remote'),
  }
}

/** The update of one change in a new document. */
function updateOf(change: (doc: Y.Doc) => void, clientID = 1): Uint8Array {
  const doc = new Y.Doc()
  doc.clientID = clientID
  doc.transact(() => change(doc))
  return Y.encodeStateAsUpdate(doc)
}

test('accepts everything an editor does: typing, formatting, deleting, images, a name, undoing', async () => {
  const { send, read } = open()
  const { doc, text, authors, take } = openWindow(1)
  const undo = new Y.UndoManager(text, { captureTimeout: 0 })
  authors.set('1', { name: 'Ann' })
  text.insert(0, 'Hello 💨\n')
  text.format(0, 5, { bold: true, link: 'https://example.org/' })
  text.format(8, 1, { block: 'h1', align: 'center' })
  text.insert(3, '\u2028')
  text.insert(5, '\uFFFC', { image: { src: 'data:image/png;base64,AAAA', alt: 'a' }, script: 'sub' })
  text.insert(5, '\uFFFC', { image: { alt: 'b', src: '' } })
  text.format(0, 2, { bold: null })
  text.delete(1, 4)
  undo.undo()
  undo.undo()
  undo.redo()
  for (const update of take()) assert.equal(typeof (await send(update)), 'number')
  const { doc: copy } = await read()
  assert.deepEqual(copy.getText('text').toDelta(), text.toDelta())
  assert.deepEqual(copy.getMap('authors').toJSON(), { 1: { name: 'Ann' } })
  assert.deepEqual(Y.encodeStateVector(copy), Y.encodeStateVector(doc))
})

test('refuses what is not in the schema, and stores none of it', async () => {
  const { send, read, log } = open()
  const malformed: Readonly<Record<string, Uint8Array>> = {
    'nothing at all': new Uint8Array(),
    'no update': new Uint8Array([1, 2, 3]),
    'bytes after the end': new Uint8Array([...updateOf((doc) => doc.getText('text').insert(0, 'x')), 0]),
    'an update of version 2': Y.encodeStateAsUpdateV2(newDoc('x')),
    'another root': updateOf((doc) => doc.getText('other').insert(0, 'x')),
    'a map for a text': updateOf((doc) => doc.getMap('text').set('x', 'y')),
    'an array for the text': updateOf((doc) => doc.getArray('text').push([1])),
    'elements in the text': updateOf((doc) => doc.getXmlFragment('text').push([new Y.XmlElement('p')])),
    'an object in the text': updateOf((doc) => doc.getText('text').insertEmbed(0, { image: 'x' })),
    'a document in a document': updateOf((doc) => doc.getMap('authors').set('1', new Y.Doc())),
    'a type as an author': updateOf((doc) => doc.getMap('authors').set('1', new Y.Map())),
    'bytes as an author': updateOf((doc) => doc.getMap('authors').set('1', new Uint8Array(9))),
    'an author of another shape': updateOf((doc) => doc.getMap('authors').set('1', { name: 'x', age: 1 })),
    'an author without an object': updateOf((doc) => doc.getMap('authors').set('1', 'x')),
    'a long name': updateOf((doc) => doc.getMap('authors').set('1', { name: 'x'.repeat(41) })),
    'another client’s name': updateOf((doc) => doc.getMap('authors').set('2', { name: 'x' })),
    'text among the authors': updateOf((doc) => doc.getText('authors').insert(0, 'x')),
    'an unknown attribute': updateOf((doc) => doc.getText('text').insert(0, 'x', { onclick: true })),
    'an attribute of Object': updateOf((doc) => doc.getText('text').insert(0, 'x', { valueOf: 1 as never })),
    'a wrong value': updateOf((doc) => doc.getText('text').insert(0, 'x', { bold: 'very' })),
    'a dangerous link': updateOf((doc) => doc.getText('text').insert(0, 'x', { link: 'javascript:x' })),
    'a foreign image': updateOf((doc) =>
      doc.getText('text').insert(0, 'x', { image: { src: 'https://example.org/a.png', alt: '' } }),
    ),
    'an unknown block': updateOf((doc) => doc.getText('text').insert(0, '\n', { block: 'script' })),
    // A client's struct at clock 0: a GC whose length exceeds the limit; deleted content of length 0.
    'a huge clock': new Uint8Array([1, 1, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x7f, 0]),
    'an empty struct': new Uint8Array([1, 1, 1, 0, 1, 1, 4, 0x74, 0x65, 0x78, 0x74, 0, 0]),
    'an empty deletion': new Uint8Array([0, 1, 1, 1, 0, 0]),
    'more structs than bytes': new Uint8Array([1, 0xff, 0xff, 0xff, 0x7f, 1, 0]),
  }
  for (const [what, update] of Object.entries(malformed))
    assert.equal(await send(update), '400 bad-update', what)
  assert.deepEqual([(await read()).updates, log.heads().size], [[], 0])
})

function newDoc(text: string): Y.Doc {
  const doc = new Y.Doc()
  doc.getText('text').insert(0, text)
  return doc
}

test('refuses an update that builds on missing ones until those are there', async () => {
  const { send, read } = open()
  const ann = openWindow(1)
  const bob = openWindow(2)
  ann.text.insert(0, 'a')
  ann.text.insert(1, 'b')
  ann.text.delete(0, 1)
  const [first, second, deletion] = ann.take()
  assert.ok(first && second && deletion)
  bob.hear(first)
  bob.hear(second)
  bob.text.insert(1, 'c')
  const reply = bob.takeOne()
  assert.equal(await send(second), '409 update-gap')
  assert.equal(await send(deletion), '409 update-gap')
  assert.equal(await send(reply, 'bob'), '409 update-gap')
  for (const update of [first, second, deletion]) await send(update)
  assert.equal(await send(reply, 'bob'), 4)
  assert.equal((await read()).text, 'cb')
})

test('refuses structs that wait for each other, or for themselves', async () => {
  const { send } = open()
  // Client, clock, then deleted content of length 1 to the right of client and clock.
  const struct = (client: number, left: readonly [number, number]) => [1, client, 0, 0x81, ...left, 1]
  assert.equal(await send(new Uint8Array([1, ...struct(1, [1, 0]), 0])), '409 update-gap')
  assert.equal(await send(new Uint8Array([1, ...struct(1, [1, 7]), 0])), '409 update-gap')
  const circle = [...struct(1, [2, 0]), ...struct(2, [1, 0])]
  assert.equal(await send(new Uint8Array([2, ...circle, 0])), '409 update-gap')
})

test('accepts repeats, overlaps and updates that add nothing', async () => {
  const { send, read } = open()
  const { doc, text, take } = openWindow(1)
  for (const letter of 'abc') text.insert(text.length, letter)
  const [first = new Uint8Array(), ...rest] = take()
  assert.equal(await send(first), 1)
  assert.equal(await send(first), 2)
  assert.equal(await send(Y.mergeUpdates([first, ...rest])), 3)
  assert.equal(await send(Y.encodeStateAsUpdate(doc)), 4)
  assert.equal(await send(new Uint8Array([0, 0])), 5)
  assert.equal((await read()).text, 'abc')
})

const annKey = 'A'.repeat(22)
const bobKey = 'B'.repeat(22)

test('a Yjs client belongs to the key that first wrote under it, in all windows of that key', async () => {
  const { send, read } = open()
  const { doc, text, take } = openWindow(1)
  for (const letter of 'abc') text.insert(text.length, letter)
  const [first, second, third] = take()
  assert.ok(first && second && third)
  assert.equal(await send(first, `${annKey}.w1`), 1)
  assert.equal(await send(second, `${bobKey}.w1`), '403 not-your-client')
  assert.equal(await send(second, 'bob'), '403 not-your-client')
  assert.equal(await send(second, `${annKey}.w2`), 2)
  assert.equal(await send(third, `${annKey}.w1`), 3)
  // Anyone may send content that is already stored.
  assert.equal(await send(Y.encodeStateAsUpdate(doc), 'bob'), 4)
  assert.equal((await read()).text, 'abc')
})

test('a Yjs client belongs to the user that an application names, whatever the key', async () => {
  const { send, read } = open()
  const { text, take } = openWindow(1)
  for (const letter of 'abc') text.insert(text.length, letter)
  const [first, second] = take()
  assert.ok(first && second)
  assert.equal(await send(first, `${annKey}.w1`, 'main', 'ann'), 1)
  assert.equal(await send(second, `${annKey}.w1`, 'main', 'bob'), '403 not-your-client')
  assert.equal(await send(second, `${annKey}.w1`), '403 not-your-client')
  assert.equal(await send(second, `${bobKey}.w1`, 'main', 'ann'), 2)
  assert.equal((await read()).text, 'ab')
})

test('a Yjs client that a stranger claimed first belongs to no one else, and its own sender is refused', async () => {
  for (const isAlone of [true, false]) {
    const { send, read } = open()
    const ann = openWindow(1)
    const eve = openWindow(1)
    const mallory = openWindow(2)
    // Ann’s number is seen before she writes.
    eve.text.insert(0, 'evil')
    mallory.text.insert(0, 'm')
    const forged = eve.takeOne()
    assert.equal(await send(isAlone ? forged : Y.mergeUpdates([forged, mallory.takeOne()]), 'eve'), 1)
    ann.text.insert(0, 'ann')
    assert.equal(await send(ann.takeOne(), 'ann'), '403 not-your-client')
    assert.match((await read()).text, /evil/)
  }
})

test('anyone may delete text, but not another’s name', async () => {
  const { send, read } = open()
  const ann = openWindow(1)
  const bob = openWindow(2)
  ann.authors.set('1', { name: 'Ann' })
  ann.text.insert(0, 'abc')
  const first = ann.takeOne()
  await send(first, 'ann')
  bob.hear(first)
  bob.text.delete(0, 2)
  assert.equal(await send(bob.takeOne(), 'bob'), 2)
  bob.authors.delete('1')
  assert.equal(await send(bob.takeOne(), 'bob'), '403 not-your-client')
  bob.authors.set('1', { name: 'Eve' })
  assert.equal(await send(bob.takeOne(), 'bob'), '400 bad-update')
  ann.authors.set('1', { name: 'Anna' })
  assert.equal(await send(ann.takeOne(), 'ann'), 3)
  assert.deepEqual((await read()).doc.getMap('authors').toJSON(), { 1: { name: 'Anna' } })
})

test('a client may give itself at most a thousand names', async () => {
  const { send } = open()
  const { authors, take } = openWindow(1)
  for (const n of countTo(1001)) authors.set('1', { name: `Ann ${n}` })
  const names = take()
  const last = names.pop() ?? new Uint8Array()
  assert.equal(await send(Y.mergeUpdates(names.slice(0, 500))), 1)
  assert.equal(await send(Y.mergeUpdates(names)), 2)
  assert.equal(await send(last), '400 bad-update')
  const one = openWindow(2)
  const other = openWindow(2)
  for (const n of countTo(1001)) one.authors.set('2', { name: `Bob ${n}` })
  assert.equal(await send(one.takeOne()), '400 bad-update')
  other.authors.set('2', { name: 'Bob' })
  assert.equal(await send(other.takeOne()), 3)
})

test('lets fifty thousand clients write in a document, and those continue when it is full', async () => {
  const { send } = open({ documentBytes: 1e8 })
  const writer = new UpdateWriter()
  for (let client = 1; client <= 50_000; client += 1) writer.text(client, 0, 'x', null, null)
  assert.equal(await send(writer.end()), 1)
  const more = new UpdateWriter()
  const known = new UpdateWriter()
  more.text(50_001, 0, 'x', { client: 1, clock: 0 }, null)
  known.text(50_000, 1, 'y', { client: 50_000, clock: 0 }, null)
  assert.equal(await send(more.end()), '413 document-full')
  assert.equal(await send(known.end()), 2)
})

test('orders a large update in several turns, and again if what it depends on is gone by then', async () => {
  const memory = createMemoryLog({
    epoch: 'life1',
    limits,
    typeOf: toyTypes(),
    now: () => 0,
    onFailure: fail,
  })
  const refused = Promise.withResolvers<number>()
  const append: Log['append'] = (draft, acceptedAt) =>
    draft.id === 'ann-1' ? refused.promise : memory.append(draft, acceptedAt)
  const { sendAs } = open({ change: { ...memory, append } })
  const first = new UpdateWriter()
  const large = new UpdateWriter()
  first.text(1, 0, 'a', null, null)
  for (let clock = 0; clock < 20_000; clock += 1)
    large.text(2, clock, 'x', clock === 0 ? { client: 1, clock: 0 } : { client: 2, clock: clock - 1 }, null)
  const taken = sendAs('ann-1', first.end())
  const built = sendAs('bob-1', large.end(), 'bob')
  let turns = 0
  const ended = built.finally(() => {
    turns = Number.NaN
  })
  while (turns < 2) {
    await scheduler.yield()
    turns += 1
  }
  refused.reject(idTaken({ id: 'ann-1', from: 'ann' } as Draft))
  assert.deepEqual(await Promise.all([taken, ended]), ['409 id-taken', '409 update-gap'])
})

test('refuses text beside an author’s name, and a name in the text', async () => {
  const { send } = open()
  const { authors, takeOne } = openWindow(1)
  authors.set('1', { name: 'Ann' })
  await send(takeOne())
  // The string "x" at clock 1, to the right of clock 0, which is the name.
  assert.equal(await send(new Uint8Array([1, 1, 1, 1, 0x84, 1, 0, 1, 0x78, 0])), '400 bad-update')
  const inText = updateOf((doc) => doc.getArray('text').push([{ name: 'Ann' }]), 3)
  assert.equal(await send(inText), '400 bad-update')
})

test('a window may restore the whole document into an empty log, but not write under another’s clients', async () => {
  const { send, read } = open()
  const ann = openWindow(1)
  const bob = openWindow(2)
  ann.text.insert(0, 'ann')
  bob.hear(ann.takeOne())
  bob.text.insert(3, ' and bob')
  const whole = Y.encodeStateAsUpdate(bob.doc)
  ann.hear(whole)
  ann.text.insert(0, '! ')
  assert.equal(await send(whole, 'bob'), 1)
  // Client 1 has no owner yet.
  assert.equal(await send(ann.takeOne(), 'ann'), 2)
  const more = openWindow(3)
  more.hear(Y.encodeStateAsUpdate(ann.doc))
  more.text.insert(0, 'x')
  ann.text.insert(0, 'y')
  more.hear(ann.takeOne())
  assert.equal(await send(Y.encodeStateAsUpdate(more.doc), 'eve'), '403 not-your-client')
  assert.equal((await read()).text, '! ann and bob')
})

test('owners are known after the updates were folded and the server has forgotten them', async () => {
  const { ledger, log, send, read } = open()
  const { text, take } = openWindow(1)
  for (const n of countTo(foldAt.messages + 1)) text.insert(0, String(n % 10))
  const updates = take()
  const last = updates.pop() ?? new Uint8Array()
  for (const update of updates) await send(update, `${annKey}.w1`)
  for (const _turn of [1, 2, 3]) await settled()
  const { updates: joined } = await read()
  assert.deepEqual(
    joined.map(({ seq, body }) => [seq, body.owners]),
    [[foldAt.messages, { [annKey]: [1] }]],
  )
  const next = new Ledger({
    schema: pageSchema,
    documents: unlimitedDocuments,
    trials: unlimitedDocuments,
    documentSeconds: 5,
    documentBytes: 1e6,
    now: () => 0,
    onFailure: fail,
  })
  const fresh = behind(next, log)
  const draftFrom = (from: string): Draft<'update'> => {
    const body = { update: Buffer.from(last).toString('base64') }
    return { id: `${from}-last`, channel: 'main', kind: 'update', from, at: 1, body }
  }
  await assert.rejects(async () => fresh.append(draftFrom('eve'), 1), /Client 1 belongs to another sender/)
  assert.equal(await fresh.append(draftFrom(`${annKey}.w1`), 1), foldAt.messages + 1)
  const { owners } = await ledger.fold((await read()).updates)
  assert.deepEqual(owners, { [annKey]: [1] })
})

test('folds updates from a sender with the name of an object’s member', async () => {
  for (const from of ['constructor', '__proto__', 'toString']) {
    const { send, read, failures } = open()
    const { text, take } = openWindow(1)
    for (const n of countTo(foldAt.messages)) text.insert(0, String(n % 10))
    for (const update of take()) await send(update, from)
    for (const _turn of [1, 2, 3]) await settled()
    const { updates } = await read()
    assert.deepEqual(failures, [])
    assert.deepEqual(
      updates.map(({ body }) => Object.entries(body.owners ?? {})),
      [[[from, [1]]]],
    )
  }
})

test('a full document accepts only deletions, until they have made room', async () => {
  const { send, clock } = open({ documentBytes: 5000 })
  const { text, take, takeOne } = openWindow(1)
  for (const _n of countTo(foldAt.messages)) text.insert(0, 'x'.repeat(20))
  for (const update of take()) assert.equal(typeof (await send(update)), 'number')
  for (const _turn of [1, 2, 3]) await settled()
  text.insert(0, 'y')
  const insertion = takeOne()
  clock.ms = 10_000
  assert.equal(await send(insertion), '413 document-full')
  await settled()
  assert.equal(await send(insertion), '413 document-full')
  text.delete(1, text.length - 1)
  const deletion = takeOne()
  assert.equal(typeof (await send(deletion)), 'number')
  clock.ms = 20_000
  assert.equal(await send(insertion), '413 document-full')
  await settled()
  assert.equal(typeof (await send(insertion)), 'number')
})

test('an update that could not be stored is not built upon', async () => {
  let fails = true
  const stored: { append?: Log['append'] } = {}
  const memory = createMemoryLog({
    epoch: 'life1',
    limits,
    typeOf: toyTypes(),
    now: () => 0,
    onFailure: fail,
  })
  stored.append = (draft, acceptedAt) =>
    fails ? Promise.reject(idTaken(draft)) : memory.append(draft, acceptedAt)
  const { sendAs } = open({ change: { ...memory, ...stored } })
  const { text, take } = openWindow(1)
  text.insert(0, 'a')
  text.insert(1, 'b')
  const [first, second] = take()
  assert.ok(first && second)
  assert.equal(await sendAs('ann-1', first), '409 id-taken')
  fails = false
  assert.equal(await sendAs('ann-2', second), '409 update-gap')
  assert.equal(await sendAs('ann-1', first), 1)
  assert.equal(await sendAs('ann-2', second), 2)
})

test('a taken id costs no read of the document, alone or several at once, and nothing builds on its update', async () => {
  let readings = 0
  const memory = createMemoryLog({
    epoch: 'life1',
    limits,
    now: () => 1,
    onFailure: fail,
    typeOf: toyTypes({ fold: () => assert.fail() }),
  })
  const snapshot: Log['snapshot'] = (channels) => {
    readings += 1
    return memory.snapshot(channels)
  }
  const { sendAs, send, read } = open({ change: { ...memory, snapshot } })
  const ann = openWindow(1)
  const bob = openWindow(2)
  ann.text.insert(0, 'a')
  const [first = new Uint8Array()] = ann.take()
  await sendAs('ann-1', first)
  bob.hear(first)
  ann.authors.set('1', { name: 'Ann' })
  const name = ann.takeOne()
  for (const client of countTo(50)) {
    const eve = openWindow(1000 + client)
    eve.text.insert(0, 'x')
    eve.authors.set(String(eve.doc.clientID), { name: 'Eve' })
    const text = eve.takeOne()
    eve.text.insert(1, 'y')
    const more = eve.takeOne()
    const taken = [sendAs('ann-1', text), sendAs('ann-1', more)]
    assert.deepEqual(await Promise.all(taken), ['409 id-taken', '409 id-taken'])
    assert.equal(await send(more, 'eve'), '409 update-gap')
  }
  assert.equal(readings, 1)
  assert.equal(typeof (await send(name)), 'number')
  bob.text.insert(1, 'b')
  assert.equal(typeof (await send(bob.takeOne(), 'bob')), 'number')
  assert.equal((await read()).text, 'ab')
})

test('updates sent at once while the document is read are admitted in order', async () => {
  const { send } = open()
  const { text, take } = openWindow(1)
  for (const letter of 'abcdef') text.insert(text.length, letter)
  assert.deepEqual(await Promise.all(take().map((update) => send(update))), [1, 2, 3, 4, 5, 6])
})

test('while the document is read, no message overtakes another of its sender, whatever its kind', async () => {
  const { log } = open()
  const { text, take } = openWindow(1)
  const sent = (['update', 'title', 'update', 'update', 'title'] as const).map((kind, place) => {
    if (kind === 'update') text.insert(0, 'a')
    const update = Buffer.concat(take()).toString('base64')
    const body = kind === 'update' ? { update } : { title: String(place) }
    const from = 'ann'
    return log.append({ id: `ann-${place}`, channel: 'main', kind, from, at: 1, body } as Draft, 1)
  })
  assert.deepEqual(
    await Promise.allSettled(sent),
    [1, 2, 3, 4, 5].map((value) => ({ status: 'fulfilled', value })),
  )
})

test('invalid updates in the log are left out of a fold and reported', async () => {
  const { ledger, failures } = open()
  const message = (seq: number, update: Uint8Array) => {
    const body = { update: Buffer.from(update).toString('base64') }
    const from = 'ann'
    const id = `${from}-${seq}`
    return { id, seq, from, channel: 'main', kind: 'update', at: 1, acceptedAt: 1, body } as const
  }
  const good = updateOf((doc) => doc.getText('text').insert(0, 'x'))
  const { update } = await ledger.fold([message(1, new Uint8Array([9, 9])), message(2, good)])
  const doc = new Y.Doc()
  Y.applyUpdate(doc, Buffer.from(update, 'base64'))
  assert.equal(doc.getText('text').toString(), 'x')
  assert.equal(failures.length, 1)
})

/** Checks an admitted document: no client has pending structs, and none throws. */
function assertWhole(doc: Y.Doc): void {
  const { pendingStructs, pendingDs } = doc.store
  assert.deepEqual([pendingStructs, pendingDs], [null, null])
}

test('four thousand mutated updates neither crash the server nor change another’s text', async () => {
  const { send, read } = open()
  const random = createSeededRandom(11)
  const below = (most: number) => Math.floor(random() * most)
  const ann = openWindow(1)
  ann.authors.set('1', { name: 'Ann' })
  const written = 'What Ann wrote stays hers.'
  ann.text.insert(0, written)
  const anns = ann.takeOne()
  await send(anns, 'ann')
  const codes = new Map<string, number>()
  let honest: Uint8Array[] = []
  for (let round = 0; round < 4000; round += 1) {
    if (honest.length === 0 || round % 250 === 0) {
      const whole = Y.encodeStateAsUpdate((await read()).doc)
      // A new client of hers, and Ann's.
      honest = [100 + round, 1].flatMap((client) => {
        const window = openWindow(client)
        window.doc.clientID = 0
        window.hear(whole)
        window.doc.clientID = client
        window.authors.set(String(client), { name: 'Eve' })
        window.text.insert(below(window.text.length + 1), 'eve ', { bold: true })
        window.text.insert(window.text.length, 'x\n')
        return window.take()
      })
    }
    const bytes = [...(honest[below(honest.length)] ?? [])]
    for (let times = below(3); times > 0; times -= 1) {
      const index = below(bytes.length)
      const way = below(4)
      if (way === 0) bytes[index] = below(256)
      else if (way === 1) bytes.splice(index, 1 + below(3))
      else if (way === 2) bytes.splice(index, 0, below(256))
      else bytes[index] = ((bytes[index] ?? 0) ^ (1 << below(8))) & 255
    }
    const end = await send(new Uint8Array(bytes), 'eve')
    const code = typeof end === 'number' ? 'stored' : end
    codes.set(code, (codes.get(code) ?? 0) + 1)
  }
  const { doc } = await read()
  assertWhole(doc)
  // Anyone may delete: the rest of Ann's text is as she wrote it.
  const [name, ...letters] = (doc.store.clients.get(1) ?? []) as Y.Item[]
  assert.deepEqual(name?.content.getContent(), [{ name: 'Ann' }])
  for (const { content, id } of letters) {
    if (content instanceof Y.ContentString)
      assert.equal(content.str, written.slice(id.clock - 1, id.clock - 1 + content.str.length))
  }
  for (const code of ['stored', '400 bad-update', '409 update-gap', '403 not-your-client'])
    assert.ok((codes.get(code) ?? 0) > 0, `${code}: ${JSON.stringify([...codes])}`)
})
