// Documents that programs read and write over HTTP: types, and texts that cost too much.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Router from '@koa/router'
import Koa from 'koa'
import * as Y from 'yjs'
import { isKind, parseCursor } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Timers } from '../../protocol/time.ts'
import { nothingPlanned } from '../../protocol/time.ts'
import { openPort } from '../../scripts/open-port.ts'
import { processTimers } from '../../scripts/process.ts'
import { defaultEngine } from '../../server/config/engine-settings.ts'
import { type Documents, DocumentWorker } from '../../server/document/document-worker.ts'
import { Ledger } from '../../server/document/ledger.ts'
import { behind, integrationBomb } from '../../server/document/testing.ts'
import { answerErrors } from '../../server/http/refusals.ts'
import { rateLimit } from '../../server/library/caller.ts'
import { readHistory } from '../../server/library/document-history.ts'
import { foldAt } from '../../server/log/folding.ts'
import { ampleLimits, countTo } from '../../server/log/log-testing.ts'
import { createMemoryLog } from '../../server/log/memory-log.ts'
import { openGrant } from '../../server/security/grants.ts'
import { Access } from '../access.ts'
import { key, plainRights } from '../access-testing.ts'
import { Directory } from '../document/directory.ts'
import { pageSchema, pageTasks } from '../document/page-schema.ts'
import type { AllTasks } from '../document/page-tasks-testing.ts'
import { Readings } from '../document/readings.ts'
import { wrongFiles } from '../document/wrong-files-testing.ts'
import { callersOf, pageTypes, unchecked } from '../page-testing.ts'
import type { DocumentList } from '../shared/document-api.ts'
import { mountDocuments } from './documents.ts'

/**
 * Starts the routes. `documentSeconds` applies to each thread, `documentBytes` to a full document.
 */
async function start(t: TestContext, documentSeconds = 60, documentBytes = 1e6) {
  const { now } = processTimers
  const onFailure = (error: unknown) => assert.fail(String(error))
  const openWorker = () =>
    new DocumentWorker<AllTasks>({
      tasks: pageTasks,
      limits: { documentSeconds, documentMegabytes: 256 },
      timers: processTimers,
      onQuarantined: (channel) => quarantined.push(channel),
    })
  const quarantined: string[] = []
  const documents = openWorker()
  const texts = openWorker()
  /** Clients whose turn each task took. */
  const clients: (readonly unknown[])[] = []
  const inTurns = (
    worker: Documents<AllTasks>,
    onTask: () => void = nothingPlanned,
  ): Documents<AllTasks> => ({
    ...worker.for('test'),
    for(...client) {
      clients.push(client)
      onTask()
      return worker.for(...client)
    },
  })
  let textCount = 0
  let isStale = false
  let onText = () => undefined as unknown
  /** Resolves once this many sent texts are being read or wait for it. */
  const queued = (count: number) =>
    new Promise<void>((resolve) => {
      onText = () => textCount >= count && resolve()
      onText()
    })
  const ledger = new Ledger({
    schema: pageSchema,
    documents,
    trials: texts,
    documentSeconds,
    documentBytes,
    now,
    onFailure,
  })
  const typeOf = pageTypes(unchecked(ledger))
  const stored = createMemoryLog({ epoch: 'life1', limits: ampleLimits, typeOf, now, onFailure })
  const log = behind(ledger, stored)
  const access = new Access({
    isOpen: true,
    key,
    rightsOf: plainRights,
    sessionMs: 1000,
    now,
    clock: now,
  })
  const router = new Router()
  const hub: Parameters<typeof callersOf>[1] = {
    waitMs: () => 0,
    publish: async (draft) => ({ type: 'stored', id: draft.id, seq: await log.append(draft, now()) }),
  }
  let isImpatient = false
  // No reading takes long, or each does.
  const timers: Timers = {
    now: () => 0,
    later(act) {
      if (isImpatient) act()
      return () => undefined
    },
  }
  const opened = { log, directory: new Directory(log), readings: new Readings(log, timers) }
  const threads = {
    stored: inTurns(documents),
    sent: inTurns(texts, () => {
      textCount += 1
      onText()
    }),
  }
  mountDocuments(router, {
    crosswind: {
      ...callersOf({ grantFor: async () => openGrant }, hub),
      clientCount: () => 0,
      documentThreads: () => threads as never,
      rateLimit: (perSecond, sentence) => rateLimit(perSecond, sentence, now),
      limits: { ...defaultEngine.limits, maxMessageBytes: 1e6 },
      mustBeCurrent() {
        if (isStale) throw new Refusal('draining', 'This server is cut off from its log.')
      },
      readHistory: (channel, { after = null } = {}) => readHistory(log, channel, parseCursor(after)),
    },
    onLog: () => opened,
    timers,
    access,
  })
  const app = new Koa().use(answerErrors()).use(router.routes())
  const server = createServer(app.callback())
  const port = await openPort(server)
  t.after(async () => {
    server.close()
    await log.close()
    await Promise.all([documents.close(), texts.close()])
  })
  let ids = 0
  const nextId = (from = 'p') => {
    ids += 1
    return `${from}-${ids}`
  }

  /** Resolves to the text, the number, or the refusal. */
  async function ask(path: string, given: RequestInit): Promise<unknown> {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, given)
    const text = await answer.text()
    if (answer.ok) return given.method ? JSON.parse(text).seq : text
    const { code, message } = JSON.parse(text)
    return `${answer.status} ${code}: ${message}`
  }

  return {
    log,
    setImpatient(isNow: boolean): void {
      isImpatient = isNow
    },
    setStale(isNow: boolean): void {
      isStale = isNow
    },
    quarantined,
    clients,
    queued,
    ask,
    read: (accept: string, channel = 'main') =>
      ask(`/api/documents/${channel}`, { headers: { accept: `${accept}, application/json;q=0.1` } }),
    write(
      method: 'PUT' | 'POST',
      type: string,
      body: string | Uint8Array<ArrayBuffer>,
      channel = 'main',
      from = 'p',
    ) {
      const headers = { 'content-type': type, accept: 'application/json' }
      return ask(`/api/documents/${channel}?id=${nextId(from)}&from=${from}`, { method, headers, body })
    },
    /** Puts texts as Markdown at once, over one connection; each resolves to its number, or the refusal. */
    putOverOne(texts: readonly string[]): readonly Promise<unknown>[] {
      const socket = connect(port)
      t.after(() => socket.destroy())
      for (const [n, text] of texts.entries()) {
        const head = [
          `PUT /api/documents/long${n}?id=${nextId(`name${n}`)}&from=name${n} HTTP/1.1`,
          'Host: localhost',
          'Content-Type: text/markdown',
          `Content-Length: ${text.length}`,
        ]
        socket.write(`${head.join('\r\n')}\r\n\r\n${text}`)
      }
      const answers = texts.map(() => Promise.withResolvers<unknown>())
      let heard = ''
      let count = 0
      socket.setEncoding('utf8').on('data', (part: string) => {
        heard += part
        for (const [body] of heard.matchAll(/\{.*?\}/g).drop(count)) {
          answers[count]?.resolve(JSON.parse(body).seq ?? body)
          count += 1
        }
      })
      return answers.map(({ promise }) => promise)
    },
    /** Unchecked, as by an older server. */
    store: (update: Uint8Array, from = 'eve') =>
      stored.append(
        {
          id: nextId(),
          channel: 'main',
          kind: 'update',
          from,
          at: 1,
          body: { update: Buffer.from(update).toString('base64') },
        },
        now(),
      ),
  }
}

test('writes and reads a page as Markdown, HTML and plain text', async (t) => {
  const { read, write } = await start(t)
  assert.equal(await write('PUT', 'text/markdown', '# Plan\n\n1. a *b*\n2. c\n'), 1)
  assert.equal(await write('POST', 'text/html; charset=utf-8', '<p><b>d</b></p>'), 2)
  assert.equal(await write('POST', 'text/plain', 'e\n'), 3)
  assert.equal(await read('text/markdown'), '# Plan\n\n1. a *b*\n2. c\n\n**d**\n\ne\n')
  assert.equal(await read('text/plain'), 'Plan\na b\nc\nd\ne\n')
  assert.match(String(await write('PUT', 'text/rtf', 'f')), /^415 wrong-type: .*text\/markdown/)
})

test('the list names a document by its first heading until it has a title, and is searched by names and texts', async (t) => {
  const { ask, log, write, setImpatient } = await start(t)
  const list = async (search: string, unread = 0) => {
    const { documents, unsearched } = JSON.parse(
      String(await ask(`/api/documents?${new URLSearchParams({ search })}`, {})),
    ) as DocumentList
    assert.equal(unsearched, unread)
    return documents.map(({ channel, title, found }) => [channel, title, found])
  }
  await write('PUT', 'text/markdown', 'Words.\n\n## Señor Wind\n\nA gust at the harbour.\n', 'one')
  await write('PUT', 'text/markdown', '# Heading\n\nNothing of it.\n', 'two')
  const title = { kind: 'title', body: { title: 'Named' } } as const
  log.append({ id: 't-1', channel: 'two', from: 't', at: 1, ...title }, 1)
  assert.deepEqual(new Set((await list('')).map(([, title]) => title)), new Set(['', 'Señor Wind', 'Named']))
  assert.deepEqual(await list('HARBOUR senor'), [['one', 'Señor Wind', 'Señor Wind']])
  assert.deepEqual(await list('gust'), [['one', 'Señor Wind', 'A gust at the harbour.']])
  assert.deepEqual(await list('named'), [['two', 'Named', null]])
  assert.deepEqual(await list('gust named'), [])
  await write('PUT', 'text/markdown', 'A gust now.\n', 'two')
  assert.deepEqual(new Set((await list('gust')).map(([channel]) => channel)), new Set(['one', 'two']))
  await write('PUT', 'text/markdown', 'A gust at last.\n', 'one')
  setImpatient(true)
  assert.deepEqual(await list('gust', 1), [['two', 'Named', 'A gust now.']])
  assert.match(String(await ask(`/api/documents?search=${'x'.repeat(201)}`, {})), /^400 bad-shape: .*200/)
})

test('a server that is cut off from its log answers from no old one', async (t) => {
  const { ask, read, write, setStale } = await start(t)
  assert.equal(await write('PUT', 'text/plain', 'a'), 1)
  const reads = [
    () => read('text/plain'),
    () => ask('/d/main/export.html', {}),
    () => ask('/api/history?channel=main', {}),
    () => ask('/api/documents', {}),
  ]
  for (const isNow of [true, false]) {
    setStale(isNow)
    for (const one of reads) assert.equal(/^503 draining/.test(String(await one())), isNow)
  }
})

test('a file of another kind is refused under any type, says what it is, and nothing is stored', async (t) => {
  const { read, write } = await start(t)
  for (const [file, method, type] of [
    ['report.rtf', 'PUT', 'text/plain'],
    ['report.docx', 'PUT', 'text/html'],
    ['mail.eml', 'POST', 'text/markdown'],
    ['photo.png', 'POST', 'text/plain'],
    ['ascii.pdf', 'PUT', 'text/markdown'],
  ] as const) {
    const { bytes, is } = wrongFiles.find(({ name }) => name === file) ?? assert.fail(file)
    const answer = String(await write(method, type, Uint8Array.from(bytes)))
    const sentence = `415 wrong-type: The body is ${is}, although Content-Type is ${type}; convert it to `
    assert.ok(answer.startsWith(sentence), answer)
  }
  assert.match(String(await write('PUT', 'text/plain', Uint8Array.of(0x56, 0xe4))), /^400 bad-shape: .*UTF-8/)
  assert.equal(await write('PUT', 'text/plain', Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)), 1)
  assert.equal(await read('text/plain'), 'a\n')
})

test('every task takes the turn of its connection and, if it writes, of its sender', async (t) => {
  const { read, write, ask, clients } = await start(t)
  await write('PUT', 'text/plain', 'a\n')
  await write('POST', 'text/plain', 'b\n')
  await read('text/plain')
  await ask('/d/main/export.md', { headers: { accept: 'text/markdown' } })
  const isConnection = (part: unknown) => typeof part === 'object' && part !== null
  assert.deepEqual(
    clients.map((client) => client.map((part) => (isConnection(part) ? 'connection' : part))),
    // One for the text, one for the document.
    [...Array(4).fill(['connection', 'p']), ['connection'], ['connection']],
  )
})

/** Each takes the server about half a second to read. */
const longTexts = Array<string>(4).fill('>'.repeat(100_000))

for (const how of ['under one name', 'under many names over one connection'])
  test(`four long texts at once ${how} do not hold up the small one of another client until they are done`, async (t) => {
    const { write, putOverOne, queued } = await start(t)
    const answers: unknown[] = []
    const sent =
      how === 'under one name'
        ? longTexts.map((text, n) => write('PUT', 'text/markdown', text, `long${n}`, 'eve'))
        : putOverOne(longTexts)
    const all = Promise.all(sent.map(async (one) => answers.push(typeof (await one))))
    await Promise.race([all, queued(longTexts.length)])
    await write('PUT', 'text/markdown', '*small*', 'small', 'ann')
    answers.push('small')
    await all
    assert.deepEqual(answers.toSorted(), [...Array(4).fill('number'), 'small'])
    assert.notEqual(answers.at(-1), 'small')
  })

test('texts that cost much are refused after the time that their length may take, and others wait for one of them', async (t) => {
  const { read, write, queued } = await start(t, 5)
  const answers: string[] = []
  const costly = '*_'.repeat(25_000)
  const all = Promise.all(
    [1, 2].map(async (n) =>
      answers.push(String(await write('PUT', 'text/markdown', costly, `long${n}`, 'eve'))),
    ),
  )
  await Promise.race([all, queued(2)])
  await write('PUT', 'text/markdown', '*small*', 'small', 'ann')
  answers.push(String(await read('text/plain', 'small')))
  await all
  assert.notEqual(answers.at(-1), 'small\n')
  const refused =
    /^422 too-costly: Reading the text takes more than 0\.8 s of processor time, as much as a text of its length may take/
  assert.equal(answers.filter((answer) => refused.test(answer)).length, 2, `${answers}`)
})

test('Markdown that takes too long to read is refused, none of it is stored, and the next text is accepted', async (t) => {
  const { read, write } = await start(t, 0.3)
  assert.match(
    String(await write('PUT', 'text/markdown', '*_'.repeat(50_000))),
    /^422 too-costly: Reading the text takes more than 0\.3 s of processor time \(limits\.documentSeconds\): send it in parts/,
  )
  assert.equal(await write('PUT', 'text/markdown', '*next*'), 1)
  assert.equal(await read('text/plain'), 'next\n')
})

test('a document that takes too long to read is quarantined: others are served, and its updates are stored and merged', async (t) => {
  const { log, read, write, ask, store, quarantined } = await start(t, 0.3)
  await write('PUT', 'text/plain', 'other\n', 'notes')
  await store(integrationBomb(15_000))
  let turns = 0
  const turning = setInterval(() => (turns += 1), 10)
  const refused = /^422 too-costly: Reading the document "main" takes more than 0\.3 s of processor time/
  const [first, other] = await Promise.all([read('text/plain'), read('text/plain', 'notes')])
  clearInterval(turning)
  assert.match(String(first), refused)
  assert.equal(other, 'other\n')
  assert.ok(turns > 1)
  assert.deepEqual(quarantined, ['main'])
  assert.match(String(await write('POST', 'text/plain', 'more')), refused)
  assert.match(String(await ask('/d/main/export.md', { headers: { accept: 'text/markdown' } })), refused)
  const window = new Y.Doc()
  window.clientID = 7
  const updates: Uint8Array[] = []
  window.on('update', (update: Uint8Array) => updates.push(update))
  for (const n of countTo(foldAt.messages)) window.getText('text').insert(0, String(n % 10))
  for (const update of updates) await store(update, 'ann')
  const joined = async () => (await log.snapshot(new Set(['main']))).messages.length
  while ((await joined()) > 2) await nextTurn()
  const { messages } = await log.snapshot(new Set(['main']))
  const [base] = messages
  assert.ok(base && isKind(base, 'update'))
  const structs = Y.decodeUpdate(Buffer.from(base.body.update, 'base64')).structs.length
  assert.ok(structs > 15_000)
})
