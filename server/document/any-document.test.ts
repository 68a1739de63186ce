// The ledger's promises for documents of any shape.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Y from 'yjs'
import { isKind } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import type { Log } from '../log/log.ts'
import { ampleLimits, toyTypes } from '../log/log-testing.ts'
import { createMemoryLog } from '../log/memory-log.ts'
import type { Documents } from './document-worker.ts'
import { Ledger } from './ledger.ts'
import { behind } from './testing.ts'
import { anySchema } from './update-reader.ts'
import { type UpdateTasks, updateTasks } from './update-tasks.ts'

const tasks = updateTasks(anySchema) as unknown as Readonly<Record<string, (...input: unknown[]) => never>>
/** By the names of the tasks. */
const done: string[] = []
const perform = async (name: string, ...input: unknown[]) => {
  done.push(name)
  return tasks[name]?.(...input) as never
}
const documents: Documents<UpdateTasks> = {
  run: perform,
  read: (_channel, name, ...input) => perform(name, ...input),
  mustBeReadable: () => undefined,
  isQuarantined: () => false,
  for: () => documents,
  within: () => documents,
}

function open({ change = {} as Partial<Log> } = {}) {
  const now = () => 1
  const onFailure = (error: unknown) => assert.fail(String(error))
  const create = () =>
    new Ledger({
      schema: anySchema,
      hasOwners: () => false,
      documents,
      trials: documents,
      documentSeconds: 5,
      documentBytes: 1e8,
      now,
      onFailure,
    })
  const ledger = create()
  const limits = { ...ampleLimits, messages: 1e5, bytes: 1e9 }
  const memory = createMemoryLog({
    epoch: 'life1',
    limits,
    typeOf: toyTypes({ fold: ledger.fold }),
    now,
    onFailure,
  })
  const stored = { ...memory, ...change }
  let log = behind(ledger, stored)
  let sent = 0
  return {
    /** Resolves to the refusal's sentence, or null. */
    async send(update: Uint8Array, from = 'eve', user?: string): Promise<string | null> {
      sent += 1
      const body = { update: Buffer.from(update).toString('base64'), ...(user && { user }) }
      try {
        await log.append({ id: `${from}-${sent}`, channel: 'd', kind: 'update', from, at: 1, body }, 1)
        return null
      } catch (error) {
        if (error instanceof Refusal) return `${error.code}: ${error.message}`
        throw error
      }
    },
    async read() {
      const { messages } = await log.snapshot(new Set(['d']))
      const doc = new Y.Doc()
      for (const message of messages)
        if (isKind(message, 'update')) Y.applyUpdate(doc, Buffer.from(message.body.update, 'base64'))
      return doc
    },
    /** As after a start: the state is read from the log. */
    restart() {
      log = behind(create(), stored)
    },
  }
}

/** One update for each transaction. */
function recorded(doc = new Y.Doc()) {
  const updates: Uint8Array[] = []
  doc.on(
    'update',
    (update: Uint8Array, origin: unknown) => void (origin === 'remote' || updates.push(update)),
  )
  return { doc, take: () => updates.splice(0) }
}

const rounds = Number(process.env.CROSSWIND_ROUNDS ?? 5)
const firstSeed = Number(process.env.CROSSWIND_SEED ?? 1)

const isEqual = (one: Y.Doc, other: Y.Doc) => Y.equalSnapshots(Y.snapshot(one), Y.snapshot(other))

test('two people who change nested types at random are never refused, and converge', async () => {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed += 1) {
    const random = createSeededRandom(seed)
    const below = (most: number) => Math.floor(random() * most)
    const { send, read, restart } = open()
    const people = [recorded(), recorded()]
    for (let round = 0; round < (seed === firstSeed ? 800 : 200); round += 1) {
      const [writer, reader] = below(2) === 0 ? people : people.toReversed()
      if (!writer || !reader) continue
      change(writer.doc, below)
      for (const update of writer.take()) {
        assert.equal(await send(update), null, `seed ${seed}`)
        if (below(3) > 0) Y.applyUpdate(reader.doc, update, 'remote')
      }
      if (below(50) === 0) restart()
      if (below(10) === 0) Y.applyUpdate(reader.doc, Y.encodeStateAsUpdate(writer.doc), 'remote')
    }
    const doc = await read()
    for (const person of people) {
      Y.applyUpdate(person.doc, Y.encodeStateAsUpdate(doc), 'remote')
      assert.ok(isEqual(person.doc, doc), `seed ${seed}`)
    }
  }
})

/** Somewhere in the document, at most some levels deep. */
function change(doc: Y.Doc, below: (most: number) => number): void {
  const made = () =>
    [new Y.Map(), new Y.Array(), new Y.Text('x'), new Y.XmlElement('p'), 1, 'text', null][below(7)]
  let type: unknown = below(2) === 0 ? doc.getMap('map') : doc.getXmlFragment('xml')
  for (let level = 0; level < 6; level += 1) {
    const inner = (
      type instanceof Y.Map ? [...type.values()] : type instanceof Y.Text ? [] : childrenOf(type)
    ).filter((child) => child instanceof Y.AbstractType)
    if (inner.length === 0 || below(3) === 0) break
    type = inner[below(inner.length)]
  }
  if (type instanceof Y.Map) {
    if (below(4) === 0) type.delete(`k${below(5)}`)
    else type.set(`k${below(5)}`, made())
  } else if (type instanceof Y.Text) {
    if (below(3) === 0 && type.length > 2) type.format(0, 2, { bold: true })
    else type.insert(below(type.length + 1), 'abc')
  } else if (type instanceof Y.XmlFragment) {
    if (below(4) === 0 && type.length > 0) type.delete(below(type.length), 1)
    else
      type.insert(below(type.length + 1), [below(2) === 0 ? new Y.XmlElement('p') : new Y.XmlText('words')])
  } else if (type instanceof Y.Array) {
    if (below(4) === 0 && type.length > 0) type.delete(below(type.length), 1)
    else type.insert(below(type.length + 1), [made()])
  }
}

function childrenOf(type: unknown): unknown[] {
  return type instanceof Y.Array || type instanceof Y.XmlFragment ? type.toArray() : []
}

test('a board whose cards two people drag is rarely read to measure its cost', async () => {
  const { send } = open()
  const people = [recorded(), recorded()]
  const [first] = people
  const cards = first?.doc.getMap<Y.Map<number>>('cards')
  for (let card = 0; card < 300; card += 1)
    cards?.set(`${card}`, new Y.Map<number>(Array.from({ length: 10 }, (_none, key) => [`${key}`, 0])))
  const reads = done.filter((name) => name === 'costOf').length
  for (let move = 0; move < 3000; move += 1) {
    const [writer, reader] = move % 100 < 50 ? people : people.toReversed()
    const { doc, take } = writer as ReturnType<typeof recorded>
    doc
      .getMap<Y.Map<number>>('cards')
      .get(`${move % 7}`)
      ?.set(`${move % 2}`, move)
    for (const update of take()) {
      assert.equal(await send(update), null)
      Y.applyUpdate((reader as ReturnType<typeof recorded>).doc, update, 'remote')
    }
  }
  const { length } = done.filter((name) => name === 'costOf')
  assert.ok(length - reads <= 1, `${length - reads}`)
})

test('a type must be stored before its content', async () => {
  const { send } = open()
  const { doc, take } = recorded()
  const child = new Y.Map<number>()
  doc.getMap('m').set('child', child)
  child.set('x', 1)
  const [first, second] = take() as [Uint8Array, Uint8Array]
  // From another client, which has no earlier clocks of its own.
  const other = recorded()
  Y.applyUpdate(other.doc, first, 'remote')
  ;(other.doc.getMap('m').get('child') as Y.Map<number>).set('y', 2)
  const [third] = other.take() as [Uint8Array]
  assert.match(String(await send(third)), /^update-gap/)
  assert.match(String(await send(second)), /^update-gap/)
  for (const update of [first, second, third]) assert.equal(await send(update), null)
})

test('types are nested a hundred levels deep at most, in whatever order they arrive', async () => {
  const { send, restart, read } = open()
  const { doc, take } = recorded()
  let type = doc.getArray<unknown>('a')
  const deepen = (kind: 'first' | 'later') => {
    const inner = new Y.Array<unknown>()
    // The inner one has no parent in the update, only a neighbour.
    if (kind === 'later') type.push([1])
    type.push([inner])
    type = inner
  }
  for (let level = 0; level < 60; level += 1) deepen('later')
  assert.equal(await send(Y.mergeUpdates(take())), null)
  restart()
  for (let level = 60; level < 100; level += 1) deepen(level % 2 === 0 ? 'first' : 'later')
  for (const update of take()) assert.equal(await send(update), null)
  deepen('first')
  deepen('first')
  const [last, beyond] = take() as [Uint8Array, Uint8Array]
  assert.equal(await send(last), null)
  assert.match(String(await send(beyond)), /^bad-update: .* nested deeper than 100 levels/)
  assert.ok((await read()).getArray('a').length > 0)
})

test('values are nested a hundred levels deep at most', async () => {
  const { send } = open()
  const nested = (levels: number) => {
    let value: unknown = 1
    for (let level = 0; level < levels; level += 1) value = [value]
    return value
  }
  for (const [levels, isTaken] of [
    [99, true],
    [200, false],
  ] as const) {
    const { doc, take } = recorded()
    doc.getMap('m').set('any', nested(levels))
    doc.getText('t').insertEmbed(0, { nested: nested(levels - 1) })
    doc.getText('t').insert(0, 'x', { mark: nested(levels) as object })
    for (const update of take()) assert.equal((await send(update)) === null, isTaken)
  }
})

test('a subdocument is refused by its name', async () => {
  const { send } = open()
  const { doc, take } = recorded()
  doc.getMap('m').set('d', new Y.Doc())
  assert.match(String(await send(take()[0] ?? new Uint8Array())), /subdocument; give that document a channel/)
})

type Recorded = ReturnType<typeof recorded>

/** A document in which somebody continues as the client of another one. */
function forged(victim: Recorded): Recorded {
  const { doc, take } = recorded()
  Y.applyUpdate(doc, Y.encodeStateAsUpdate(victim.doc), 'remote')
  // Yjs would take another number at once.
  doc.clientID = victim.doc.clientID
  return { doc, take }
}

const changes: Readonly<Record<string, (doc: Y.Doc, who: string) => void>> = {
  'other text': (doc, who) => doc.getText('t').insert(0, `by ${who}`),
  'the same text in another place': (doc, who) => doc.getText('t').insert(who === 'ann' ? 0 : 6, 'same'),
  'another type': (doc, who) => doc.getArray('a').push([who === 'ann' ? new Y.Map() : new Y.Array()]),
  'another name of an element': (doc, who) => doc.getXmlFragment('x').insert(0, [new Y.XmlElement(who)]),
  'another key': (doc, who) => doc.getMap('m').set(who, 1),
  'another value': (doc, who) => doc.getMap('m').set('k', { who: [who] }),
  'another root': (doc, who) => doc.getText(who).insert(0, 'same'),
  'other bytes': (doc, who) => doc.getMap('m').set('k', new Uint8Array([who.length])),
  'another format': (doc, who) => doc.getText('t').format(0, 2, { bold: who === 'ann' }),
  'another embed': (doc, who) => doc.getText('t').insertEmbed(1, { who }),
  'less than she wrote': (doc, who) => doc.getText('t').insert(0, who === 'ann' ? 'twelve words' : 'two'),
  'a long text': (doc, who) => doc.getText('t').insert(0, who.repeat(100_000)),
}

for (const [what, change] of Object.entries(changes))
  test(`a writer whose next clocks another has used, for ${what}, is refused, and loses nothing that was stored`, async () => {
    const { send, read, restart } = open()
    const ann = recorded()
    ann.doc.getText('t').insert(0, 'stored')
    for (const update of ann.take()) assert.equal(await send(update, 'ann'), null)
    const eve = forged(ann)
    change(eve.doc, 'eve2')
    for (const update of eve.take()) assert.equal(await send(update, 'eve'), null)
    change(ann.doc, 'ann')
    const [lost = new Uint8Array()] = ann.take()
    for (const again of [false, true]) {
      if (again) restart()
      assert.match(String(await send(lost, 'ann')), /^not-your-client: Another sender has already written/)
      assert.match(String(await send(Y.encodeStateAsUpdate(ann.doc), 'bob')), /^not-your-client/)
    }
    assert.match(String((await read()).getText('t')), /stored/)
  })

test('stored content stays: an update that contradicts it under the same clocks is refused', async () => {
  const { send, read } = open()
  const ann = recorded()
  ann.doc.getText('t').insert(0, 'a')
  const [first = new Uint8Array()] = ann.take()
  const eve = forged(ann)
  ann.doc.getText('t').insert(1, 'b')
  eve.doc.getText('t').insert(1, 'evil')
  const [second = new Uint8Array()] = ann.take()
  for (const update of [first, second]) assert.equal(await send(update, 'ann'), null)
  const forgery = eve.take()
  for (const update of [...forgery, Y.mergeUpdates([first, ...forgery])])
    assert.match(String(await send(update, 'eve')), /^not-your-client/)
  assert.equal(String((await read()).getText('t')), 'ab')
})

test('peers may send another’s updates: before it does, after it, joined, split, deleted since', async () => {
  const { send, read, restart } = open()
  const ann = recorded()
  const text = ann.doc.getText('t')
  write(ann.doc)
  for (const letter of 'hello world') text.insert(text.length, letter)
  text.format(0, 4, { bold: true })
  const updates = ann.take()
  // In step with its own windows or not.
  for (const update of updates.slice(0, 5)) assert.equal(await send(update, 'ann'), null)
  for (const update of updates.slice(0, 9)) assert.equal(await send(update, 'bob'), null)
  assert.equal(await send(Y.mergeUpdates(updates), 'carol'), null)
  for (const update of updates) assert.equal(await send(update, 'ann'), null)
  const old = Y.encodeStateAsUpdate(ann.doc)
  text.delete(2, 5)
  for (const update of ann.take()) assert.equal(await send(update, 'ann'), null)
  restart()
  for (const update of [old, Y.encodeStateAsUpdate(ann.doc), Y.encodeStateAsUpdate(await read())])
    for (const from of ['ann', 'bob']) assert.equal(await send(update, from), null)
  assert.ok(isEqual(await read(), ann.doc))
})

function write(doc: Y.Doc): void {
  const paragraph = new Y.XmlElement('p')
  paragraph.setAttribute('by', 'ann')
  doc.getXmlFragment('x').insert(0, [paragraph, new Y.XmlText('words')])
  doc.getMap('m').set('card', new Y.Map<unknown>([['tags', Y.Array.from([1, null, { deep: [true] }])]]))
  doc.getMap('m').set('bytes', new Uint8Array([1, 2]))
  doc.getText('t').insertEmbed(0, { image: 'x' })
}

test('if two contradict each other at the same time, one is refused', async () => {
  const { send, read } = open()
  const ann = recorded()
  ann.doc.getText('t').insert(0, 'a')
  for (const update of ann.take()) assert.equal(await send(update, 'ann'), null)
  const told = await Promise.all(
    ['bob', 'eve'].map((who) => {
      const { doc } = forged(ann)
      doc.getText('t').insert(1, who)
      return send(Y.encodeStateAsUpdate(doc), who)
    }),
  )
  assert.deepEqual([told[0], String(told[1]).split(':')[0]], [null, 'not-your-client'])
  assert.equal(String((await read()).getText('t')), 'abob')
})

/** It keeps every update as it is. */
const wholeLog = () =>
  createMemoryLog({
    epoch: 'life1',
    limits: { ...ampleLimits, messages: 1e5 },
    typeOf: toyTypes({ fold: () => assert.fail('nothing is to be folded') }),
    now: () => 1,
    onFailure: (error) => assert.fail(String(error)),
  })

test('an update that is not stored yet counts, too', async () => {
  const memory = wholeLog()
  const { promise, resolve } = Promise.withResolvers<void>()
  const append: Log['append'] = (draft, acceptedAt) =>
    draft.from === 'eve'
      ? promise.then(() => memory.append(draft, acceptedAt))
      : memory.append(draft, acceptedAt)
  const { send } = open({ change: { ...memory, append } })
  const ann = recorded()
  ann.doc.getText('t').insert(0, 'a')
  for (const update of ann.take()) assert.equal(await send(update, 'ann'), null)
  const eve = forged(ann)
  eve.doc.getText('t').insert(0, 'evil')
  const forging = send(eve.take()[0] ?? new Uint8Array(), 'eve')
  ann.doc.getText('t').insert(0, 'words')
  const told = send(ann.take()[0] ?? new Uint8Array(), 'ann')
  resolve()
  assert.deepEqual([await forging, String(await told).split(':')[0]], [null, 'not-your-client'])
})

test('a writer that another server of the log has forestalled is refused, although the update is stored', async () => {
  const memory = wholeLog()
  let reached = Promise.resolve()
  const append: Log['append'] = (draft, acceptedAt) => reached.then(() => memory.append(draft, acceptedAt))
  const { send } = open({ change: { ...memory, append } })
  const ann = recorded()
  const bob = recorded()
  ann.doc.getText('t').insert(0, 'a')
  for (const update of ann.take()) assert.equal(await send(update, 'ann'), null)
  const eve = forged(ann)
  eve.doc.getText('t').insert(0, 'evil')
  ann.doc.getText('t').insert(0, 'words')
  bob.doc.getText('t').insert(0, 'bob')
  const { promise, resolve } = Promise.withResolvers<void>()
  reached = promise
  const sent = [
    send(ann.take()[0] ?? new Uint8Array(), 'ann'),
    send(bob.take()[0] ?? new Uint8Array(), 'bob'),
  ]
  const body = { update: Buffer.from(eve.take()[0] ?? new Uint8Array()).toString('base64') }
  memory.append({ id: 'eve-1', channel: 'd', kind: 'update', from: 'eve', at: 1, body }, 1)
  resolve()
  const [told, stored] = await Promise.all(sent)
  assert.deepEqual([String(told).split(':')[0], stored], ['not-your-client', null])
})
