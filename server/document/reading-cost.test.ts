// The cost of reading a document is limited before an update is stored; honest histories stay low.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import * as Y from 'yjs'
import { documentOf } from '../../app/document/document-reader.ts'
import { pageSchema, pageTasks } from '../../app/document/page-schema.ts'
import { type AllTasks, unlimitedDocuments } from '../../app/document/page-tasks-testing.ts'
import { createDocument, documentText } from '../../app/document/rich-text.ts'
import { isKind } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { createSeededRandom, type Random } from '../../protocol/time.ts'
import { processTimers } from '../../scripts/process.ts'
import { ampleLimits, countTo, toyTypes } from '../log/log-testing.ts'
import { createMemoryLog } from '../log/memory-log.ts'
import { type Documents, DocumentWorker } from './document-worker.ts'
import { Ledger } from './ledger.ts'
import { behind, integrationBomb } from './testing.ts'
import type { UpdateTasks } from './update-tasks.ts'

const histories = Number(process.env.CROSSWIND_ROUNDS ?? 5)
const longEdits = Number(process.env.CROSSWIND_HISTORY_EDITS ?? 10_000)
const firstSeed = Number(process.env.CROSSWIND_SEED ?? 1)

function open(documentSeconds: number, documents: Documents<UpdateTasks>) {
  const now = () => 1
  const onFailure = (error: unknown) => assert.fail(String(error))
  let trials = 0
  const ledger = new Ledger({
    schema: pageSchema,
    documents,
    trials: {
      for: () => ({
        ...unlimitedDocuments,
        run(...given) {
          if (given[0] === 'costOf') trials += 1
          return documents.run(...given)
        },
      }),
    },
    documentSeconds,
    documentBytes: 1e8,
    now,
    onFailure,
  })
  const limits = { ...ampleLimits, messages: 1e6, bytes: 1e9 }
  const typeOf = toyTypes({ fold: ledger.fold })
  const log = behind(ledger, createMemoryLog({ epoch: 'life1', limits, typeOf, now, onFailure }))
  let sent = 0
  return {
    log,
    trials: () => trials,
    /** Resolves to the number, or to the refusal's code. */
    async send(update: Uint8Array, from = 'eve'): Promise<number | string> {
      sent += 1
      const body = { update: Buffer.from(update).toString('base64') }
      try {
        return await log.append(
          { id: `${from}-${sent}`, channel: 'main', kind: 'update', from, at: 1, body },
          1,
        )
      } catch (error) {
        if (error instanceof Refusal) return error.code
        throw error
      }
    },
  }
}

/** With a real thread. */
function openLimited(t: TestContext, documentSeconds: number) {
  const limits = { documentSeconds, documentMegabytes: 256 }
  const worker = new DocumentWorker<AllTasks>({
    tasks: pageTasks,
    limits,
    timers: processTimers,
    onQuarantined: () => undefined,
  })
  const opened = open(documentSeconds, worker)
  t.after(async () => {
    // Ends a fold, which would fail without the thread.
    await opened.log.close()
    await worker.close()
  })
  return { ...opened, worker }
}

/** Maximum absence in bursts; a few people are away for up to the whole history. */
const maxAway = 300

/**
 * Updates of two to ten people who type, delete, format, paste and jump; some are away for a long
 * time. Each update is what one person did between two pauses.
 */
function* honestHistory(
  random: Random,
  size: { readonly people: number; readonly bursts: number; readonly keys: number } | null = null,
): Generator<{ readonly update: Uint8Array; readonly from: string }> {
  const below = (most: number) => Math.floor(random() * most)
  const sent: Uint8Array[] = []
  const people = Array.from({ length: size?.people ?? 2 + below(9) }, (_none, index) => {
    const doc = createDocument()
    doc.clientID = 1 + below(2 ** 31)
    const made: Uint8Array[] = []
    doc.on('update', (update: Uint8Array, origin: unknown) => void (origin === 'remote' || made.push(update)))
    return { doc, made, name: `p${index}`, at: 0, heard: 0, awayUntil: 0 }
  })
  const bursts = size?.bursts ?? 50 + below(400)
  for (let burst = 0; burst < bursts; burst += 1) {
    const person = people[below(people.length)]
    if (!person) continue
    const { doc, made, name } = person
    if (random() < 0.03) person.awayUntil = burst + below(random() < 0.02 ? bursts : maxAway)
    const isAway = burst < person.awayUntil
    if (!isAway) {
      const unheard = sent.slice(person.heard)
      if (unheard.length > 0) Y.applyUpdate(doc, Y.mergeUpdates(unheard), 'remote')
      person.heard = sent.length
    }
    const text = documentText(doc)
    doc.transact(() => {
      let at = Math.min(random() < 0.6 ? person.at : below(text.length + 1), text.length)
      // A run of letters makes the same structs as its letters one by one, for one walk to its place.
      let typed = ''
      const writeTyped = () => {
        if (typed === '') return
        text.insert(at - typed.length, typed)
        typed = ''
      }
      for (let keys = 1 + below(size?.keys ?? 60); keys > 0; keys -= 1) {
        const key = random()
        if (key < 0.8) {
          typed += 'etaoin shrdlu'[below(13)] ?? ' '
          at += 1
          continue
        }
        writeTyped()
        if (key < 0.92 && at > 0) {
          at -= 1
          text.delete(at, 1)
        } else if (key < 0.94) {
          text.insert(at, '\n', { block: 'h2' })
          at += 1
        } else if (key < 0.96 && at > 9) text.format(at - 9, 8, { bold: random() < 0.5 ? true : null })
        else if (key < 0.965)
          text.applyDelta([{ retain: at }, ...countTo(20).map(() => ({ insert: 'pasted ' }))])
        else at = Math.max(0, Math.min(text.length, at + below(41) - 20))
      }
      writeTyped()
      person.at = at
    })
    if (isAway || made.length === 0) continue
    const update = Y.mergeUpdates(made.splice(0))
    sent.push(update)
    person.heard = person.heard === sent.length - 1 ? sent.length : person.heard
    yield { update, from: name }
  }
  for (const { made, name } of people)
    if (made.length > 0) yield { update: Y.mergeUpdates(made.splice(0)), from: name }
}

test('no update of an honest history is refused, and few wait for a read of the document', async () => {
  let updates = 0
  let waited = 0
  for (let seed = firstSeed; seed < firstSeed + histories; seed += 1) {
    const { send, trials, log } = open(5, unlimitedDocuments)
    for (const { update, from } of honestHistory(createSeededRandom(seed))) {
      assert.equal(typeof (await send(update, from)), 'number', `seed ${seed}`)
      updates += 1
    }
    waited += trials()
    await log.close()
  }
  assert.ok(waited <= updates / 100, `${waited} of ${updates}`)
})

test(`a history of ${longEdits} edits by ten people is accepted, and read within its limits`, async (t) => {
  const { send, trials, log, worker } = openLimited(t, 5)
  const written = createDocument()
  let updates = 0
  for (const { update, from } of honestHistory(createSeededRandom(firstSeed), {
    people: 10,
    bursts: longEdits / 300,
    keys: 600,
  })) {
    updates += 1
    assert.equal(typeof (await send(update, from)), 'number', `update ${updates}`)
    Y.applyUpdate(written, update)
  }
  const { messages } = await log.snapshot(new Set(['main']))
  const text = String(documentText(documentOf(messages)))
  assert.ok(text === String(documentText(written)))
  const kept = messages.filter((message) => isKind(message, 'update'))
  const { cpuMs } = await worker.run(
    'costOf',
    kept.map(({ body }) => body.update),
  )
  t.diagnostic(
    `${updates} updates, ${trials()} waited for a read of the document; ${text.length} characters, read in ${cpuMs.toFixed(0)} ms`,
  )
  await log.close()
})

test('an update of quadratic cost is refused before it is stored, and the sender’s next one is accepted', async (t) => {
  const { send, trials, log } = openLimited(t, 0.3)
  assert.equal(await send(integrationBomb(15_000)), 'too-costly')
  assert.equal(trials(), 1)
  const { messages } = await log.snapshot(new Set(['main']))
  assert.deepEqual(messages, [])
  const doc = new Y.Doc()
  doc.getText('text').insert(0, 'honest')
  assert.equal(await send(Y.encodeStateAsUpdate(doc)), 1)
})

const times: readonly (readonly [items: number, cpuMs: number, isTaken: boolean])[] = [
  // A key that 20,000 clients set, and text of that size.
  [20_000, 1600, false],
  [20_000, 400, true],
  [200_000, 1600, true],
  // More than a third of the limit.
  [1_000_000, 1700, false],
  [100, 300, false],
  // A thread that has just started.
  [100, 200, true],
]

for (const [items, cpuMs, isTaken] of times)
  test(`a document of ${items} items that takes ${cpuMs} ms to read ${isTaken ? 'takes an update' : 'takes no more'}`, async (t) => {
    const documents: Documents<AllTasks> = {
      ...unlimitedDocuments,
      run: async (name, ...input) =>
        name === 'costOf' ? ({ items, cpuMs } as never) : unlimitedDocuments.run(name, ...input),
    }
    const { send, trials, log } = open(5, documents)
    t.after(() => log.close())
    assert.equal(await send(integrationBomb(5000)), isTaken ? 1 : 'too-costly')
    assert.equal(trials(), 1)
  })

test('the same cost letter by letter is refused in the end', async (t) => {
  const { send } = openLimited(t, 0.2)
  const length = 3000
  const codes: (number | string)[] = []
  for (let letter = 0; letter < length && codes.at(-1) !== 'too-costly'; letter += 1)
    codes.push(await send(integrationBomb(length, letter, letter + 1)))
  assert.equal(codes.at(-1), 'too-costly')
  assert.ok(codes.length > 10, `${codes.length}`)
})
