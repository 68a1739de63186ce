// Makes the logs in frozen/logs: what released versions left. Run once for each, by hand:
//   git worktree add /tmp/old COMMIT && ln -s $PWD/node_modules /tmp/old/node_modules
//   node_modules/.bin/node e2e/goldens/make-log.ts /tmp/old NAME

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import * as Y from 'yjs'
import { connectHttp, type HttpClient, textOf } from '../clients/http-client.ts'
import { startServerProcess } from '../lab/server-process.ts'
import { clockFrom, frozen } from './golden.ts'

const at = 1_763_715_600_123.5

type Publish = (channel: string, kind: string, body: object, from?: string) => Promise<void>

interface Form {
  readonly commit: string
  readonly flags: string
  readonly isKilled?: boolean
  readonly write: (publish: Publish, http: HttpClient) => Promise<void>
}

/** By folder in frozen/logs. */
const forms: Readonly<Record<string, Form>> = {
  '0.1': { commit: '4bbdeb4', flags: '', write: writePages },
  '0.1-later-killed': {
    commit: 'cf1dc93',
    flags: '--limits-log-messages 40',
    isKilled: true,
    write: writeTitled,
  },
  '0.2': { commit: 'e7124f2', flags: '--limits-log-messages 40', write: writeAll },
  '0.2-killed': { commit: 'e7124f2', flags: '--limits-log-messages 40', isKilled: true, write: writeAll },
  '0.2-mirror': { commit: 'e7124f2', flags: '--editor mirror', write: writePages },
  '0.2-overviews': { commit: 'e7124f2', flags: '--editor mirror', write: writeOverviews },
  today: { commit: 'c7d8ace', flags: '--limits-log-messages 40', write: writeAll },
}

/** The whole content of two documents, as the mirror sends it. */
async function writePages(publish: Publish): Promise<void> {
  const html = '<h1>Minutes</h1><p>Ŝtormo <b>bold</b> 💨</p><ul><li>one</li><li>two</li></ul>'
  await publish('main', 'edit', { html: '<p>Minu</p>' })
  await publish('main', 'edit', { html })
  await publish('notes', 'edit', { html: '<p>By Ben</p>' }, 'ben')
  await publish('empty', 'edit', { html: '' })
}

/** The same, with overviews of two of them, which the server publishes to their readers. */
async function writeOverviews(publish: Publish, http: HttpClient): Promise<void> {
  await writePages(publish)
  for (const channel of ['overview.main', 'overview.notes']) {
    for (let text = ''; !text.includes('"kind":"overview"'); ) {
      const { body } = await http.ask({ path: `/api/poll?window=reader&channels=${channel}&first` })
      text = await textOf(body)
    }
  }
}

/** Two authors in one document, more updates than the log keeps, and titles. */
async function writeTitled(publish: Publish): Promise<void> {
  const doc = new Y.Doc()
  for (const [index, from] of ['ada', 'ben'].entries()) {
    const own = new Y.Doc()
    own.clientID = 4711 + index
    Y.applyUpdate(own, Y.encodeStateAsUpdate(doc))
    own.on('update', (update: Uint8Array) => Y.applyUpdate(doc, update))
    const text = own.getText('text')
    const edits = [
      () => own.getMap('authors').set(String(own.clientID), { name: from }),
      () => text.insert(text.length, 'Title', {}),
      () => text.insert(text.length, '\n', { block: 'h2' }),
      ...Array.from('written by ', (letter) => () => text.insert(text.length, letter)),
      () => text.insert(text.length, from, { bold: true }),
      () => text.insert(text.length, ' 💨', { bold: null }),
      ...Array.from({ length: 300 }, () => () => text.insert(text.length, '.')),
      () => text.delete(text.length - 295, 295),
      () => text.insert(text.length, '\n', {}),
    ]
    for (const edit of edits) {
      const before = Y.encodeStateVector(own)
      edit()
      const update = Buffer.from(Y.encodeStateAsUpdate(own, before)).toString('base64')
      await publish('main', 'update', { update }, from)
    }
  }
  await publish('main', 'title', { title: 'Minuets' })
  await publish('main', 'title', { title: 'Minutes' })
  await publish('titled', 'title', { title: 'Only a title' }, 'ben')
}

/** Also names of versions, texts by a program, and a deleted document. */
async function writeAll(publish: Publish, http: HttpClient): Promise<void> {
  await writeTitled(publish)
  const versions = [{ at: 4_102_444_800_000, name: 'First draft' }]
  await publish('main', 'versions', { versions })
  let texts = 0
  for (const channel of ['text', 'deleted', 'restored']) {
    texts += 1
    const headers = { 'content-type': 'text/markdown' }
    const path = `/api/documents/${channel}?id=program-${texts}&from=program&at=${at}`
    const body = `# By a program\n\n1. *${channel}*\n2. \`code\`\n`
    await expectStored(http, { method: 'PUT', path, headers, body })
  }
  await publish('deleted', 'title', { title: 'Deleted' })
  for (const channel of ['deleted', 'restored']) await publish(channel, 'deletion', { deleted: true })
  await publish('restored', 'deletion', { deleted: false })
}

async function expectStored(http: HttpClient, request: Parameters<HttpClient['ask']>[0]): Promise<void> {
  const { status, body } = await http.ask(request)
  const text = await textOf(body)
  if (status !== 200) throw new Error(`${request.path} was answered with ${status} ${text}`)
}

/** Retention and erasure must not depend on the day on which a log is read. */
const startsAt = Date.UTC(2100)

/** On an application's server, of the code beside this file. */
async function makeApplication(folder: string): Promise<void> {
  Object.defineProperty(performance, 'timeOrigin', { value: startsAt })
  const { startApplication } = await import('../conformance/application.ts')
  const application = await startApplication({
    storage: { kind: 'sqlite', folder },
    channels: { 'doc.*': { kind: 'yjs' }, '*': { kind: 'json' } },
  })
  const http = connectHttp('2', application.origin['2'], application.ca)
  const publish = publishing(http)
  for (const data of ['one', 2, { three: [null, true, 'Ŝ💨'] }]) await publish('chat', 'json', { data })
  const doc = new Y.Doc()
  doc.clientID = 4711
  doc.getMap('any').set('list', new Y.Array())
  doc.getXmlFragment('xml').insert(0, [new Y.XmlElement('p')])
  await publish('doc.1', 'update', { update: Buffer.from(Y.encodeStateAsUpdate(doc)).toString('base64') })
  await application.close()
  http.close()
}

function publishing(http: HttpClient): Publish {
  const counts = new Map<string, number>()
  return async (channel, kind, body, from = 'ada') => {
    const count = (counts.get(from) ?? 0) + 1
    counts.set(from, count)
    const draft = { id: `${from}-${count}`, channel, kind, from, at, body }
    const headers = { 'content-type': 'application/json' }
    await expectStored(http, { method: 'POST', path: '/api/messages', headers, body: JSON.stringify(draft) })
  }
}

async function makePage(clone: string, folder: string, { flags, write, isKilled }: Form): Promise<void> {
  mkdirSync(join(clone, 'web/dist'), { recursive: true })
  const page = join(clone, 'web/dist/index.html')
  const html = '<!doctype html><script type="application/json" id="settings">null</script>'
  if (!existsSync(page)) writeFileSync(page, html)
  const given = `--port 0 --http1-port 0 --sensor-source none --limits-messages-per-second 100000 ${flags}`
  const args = [...given.trim().split(' '), '--data-folder', folder]
  const imports = [clockFrom(startsAt)]
  const server = await startServerProcess(join(resolve(clone), 'app/main.ts'), args, { imports })
  const http = connectHttp('2', server.origin['2'], null)
  try {
    await write(publishing(http), http)
  } finally {
    await (isKilled ? server.kill() : server.close())
    http.close()
  }
}

const [clone = '', name = ''] = process.argv.slice(2)
const form = forms[name]
const data = mkdtempSync(join(tmpdir(), 'crosswind-log-'))
if (name === 'today-application') await makeApplication(data)
else if (form) await makePage(clone, data, form)
else
  throw new Error(`There is no log ${name}; there are ${Object.keys(forms).join(', ')}, today-application.`)
const target = join(frozen, 'logs', name)
rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })
for (const file of readdirSync(data).filter((one) => /^log\.db(?!-(lock|shm))/.test(one)))
  writeFileSync(join(target, `${file}.gz`), gzipSync(readFileSync(join(data, file)), { level: 9 }))
rmSync(data, { recursive: true })
