// Reads logs of released versions with today's server, and records what it answers and keeps.

import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import { startTestServer, testConfig } from '../../app/testing.ts'
import type { Message } from '../../protocol/messages.ts'
import { connectHttp, type HttpClient, textOf } from '../clients/http-client.ts'
import { startApplication } from '../conformance/application.ts'
import { frozen, type Golden } from './golden.ts'

/** Folders in frozen/logs, which make-log.ts made. */
const ofPages = ['0.1', '0.1-later-killed', '0.2', '0.2-killed', '0.2-mirror', '0.2-overviews', 'today']

export async function logGoldens(): Promise<readonly Golden[]> {
  const goldens: Golden[] = []
  for (const log of ofPages) goldens.push(await golden(log, readPage))
  goldens.push(await golden('today-application', readApplication))
  return goldens
}

/** For a log that does not open, records the server's sentence. */
async function golden(log: string, read: (folder: string) => Promise<readonly string[]>): Promise<Golden> {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-golden-'))
  const data = join(folder, 'data')
  try {
    unpackLog(log, data)
    const lines = await read(data).catch((error) => [`FAILED: ${error.message.replaceAll(folder, '')}`])
    const text = [...lines, '', '== the files that are left', ...filesIn(data)].join('\n')
    return { path: `logs/${log}.txt`, content: `${text.trim()}\n` }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Into a folder that does not exist. */
export function unpackLog(log: string, folder: string): void {
  mkdirSync(folder)
  for (const file of readdirSync(join(frozen, 'logs', log)))
    writeFileSync(
      join(folder, file.replace(/\.gz$/, '')),
      gunzipSync(readFileSync(join(frozen, 'logs', log, file))),
    )
}

async function readPage(folder: string): Promise<readonly string[]> {
  const { epoch, head, latest } = readNewest(folder)
  // Limits within which nothing in the log is too old or too much.
  const limits = { ...testConfig.limits, logMessages: 100_000 }
  const server = await startTestServer({ storage: 'sqlite', dataFolder: folder, limits, drainMs: 0 })
  const http = connectHttp('2', server.origin['2'], server.ca)
  try {
    // The list waits a limited time for the thread that reads headings: it has started by then.
    await get(http, '/api/documents/main', { accept: 'text/plain' })
    const { documents } = JSON.parse(await get(http, '/api/documents'))
    const channels: readonly string[] = documents
      .map(({ channel }: { channel: string }) => channel)
      .toSorted()
    const newest = documents.map((one: object) => JSON.stringify(one))
    const lines = ['== the documents, as first listed', ...newest, '', '== what a window gets that joins']
    for (const channel of channels) lines.push(...(await snapshotOf(http, channel)))
    for (const channel of channels)
      for (const accept of ['text/markdown', 'text/html'])
        lines.push('', `== ${channel} as ${accept}`, await get(http, `/api/documents/${channel}`, { accept }))
    for (const channel of channels) lines.push(...(await historyOf(http, channel)))
    lines.push(
      '',
      '== a window that comes back after message 1 of the epoch before, and after the last but one',
    )
    for (const back of [1, head - 1]) lines.push(await resumed(http, channels, `${epoch}:${back}`))
    lines.push('', '== sent again, and sent anew', ...(await write(http, latest)))
    return lines
  } finally {
    http.close()
    await server.close()
  }
}

async function readApplication(folder: string): Promise<readonly string[]> {
  const server = await startApplication({
    storage: { kind: 'sqlite', folder },
    channels: { 'doc.*': { kind: 'yjs' }, '*': { kind: 'json' } },
  })
  const http = connectHttp('2', server.origin['2'], server.ca)
  try {
    const lines: string[] = []
    for (const channel of ['chat', 'doc.1']) {
      const { messages, recovered } = JSON.parse(await get(http, `/api/channels/${channel}?after=start`))
      lines.push(`== ${channel} from the start, recovered: ${recovered}`, ...messages.map(lineOf), '')
    }
    return lines
  } finally {
    http.close()
    await server.close()
  }
}

async function get(http: HttpClient, path: string, headers = {}): Promise<string> {
  const { status, body } = await http.ask({ path, headers })
  const text = await textOf(body)
  return status === 200 ? text.trimEnd() : `${status} ${text}`
}

/**
 * Long bodies are shown by their hash. A message that the server adds itself, when it converts a page,
 * has today's time: TIME.
 */
function lineOf({ body, acceptedAt, ...envelope }: Message): string {
  const isOfLog = acceptedAt >= Date.UTC(2100)
  const text = JSON.stringify(body)
  const shown = text.length <= 300 ? text : `${text.length} characters, SHA-256 ${hashOf(text)}`
  return `${JSON.stringify(envelope)} ${isOfLog ? acceptedAt : 'TIME'} ${shown}`
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)

async function snapshotOf(http: HttpClient, channel: string): Promise<string[]> {
  const answer = await get(http, `/api/poll?window=reader&channels=${channel}&first`)
  const { frames } = JSON.parse(answer)
  return frames.flatMap((frame: { type: string; message: Message; recovered: boolean }) => {
    if (frame.type === 'welcome') return [`${channel}, recovered: ${frame.recovered}`]
    return frame.type === 'message' ? [lineOf(frame.message)] : []
  })
}

async function historyOf(http: HttpClient, channel: string): Promise<string[]> {
  const { base, updates, next } = JSON.parse(await get(http, `/api/history?channel=${channel}`))
  const ofBase = base ? `${base.seq} by ${base.from}, SHA-256 ${hashOf(base.update)}` : 'none'
  const byAuthor = Map.groupBy<string, { from: string; seq: number }>(updates, ({ from }) => from)
  const counts = [...byAuthor].map(
    ([from, of]) => `${of.length} by ${from}, from ${of[0]?.seq} to ${of.at(-1)?.seq}`,
  )
  return [
    '',
    `== the history of ${channel}`,
    `base: ${ofBase}`,
    `updates: ${counts.join('; ')}`,
    `next: ${next}`,
  ]
}

async function resumed(http: HttpClient, channels: readonly string[], cursor: string): Promise<string> {
  const query = `window=reader&channels=${channels.slice(0, 8).join()}&cursor=${cursor}&first`
  const { frames } = JSON.parse(await get(http, `/api/poll?${query}`))
  const [{ recovered }] = frames
  const seqs = frames.flatMap(({ message }: { message?: Message }) => message?.seq ?? [])
  return `${cursor}: recovered: ${recovered}, ${seqs.length} messages, from ${seqs[0]} to ${seqs.at(-1)}`
}

/**
 * Reads the newest number and the newest whole content, from a copy: SQLite would merge the write-ahead
 * log.
 */
function readNewest(data: string) {
  const copy = mkdtempSync(join(tmpdir(), 'crosswind-golden-'))
  try {
    cpSync(data, copy, { recursive: true })
    const database = new DatabaseSync(join(copy, 'log.db'))
    const one = (sql: string) => database.prepare(sql).get() ?? {}
    const isOld = one("SELECT count(*) AS count FROM sqlite_schema WHERE name = 'life'").count === 1
    const { epoch } = one(isOld ? 'SELECT epoch FROM life' : 'SELECT name AS epoch FROM epoch')
    const { head } = one('SELECT max(seq) AS head FROM message')
    const whole = "SELECT * FROM message WHERE kind IN ('title', 'edit') ORDER BY seq DESC LIMIT 1"
    const { id, channel, kind, sender: from, at, body = 'null' } = one(whole)
    const latest = { id, channel, kind, from, at, body: JSON.parse(String(body)) }
    database.close()
    return { epoch: String(epoch), head: Number(head), latest: id === undefined ? null : latest }
  } finally {
    rmSync(copy, { recursive: true })
  }
}

async function write(http: HttpClient, latest: object | null): Promise<string[]> {
  const body = { title: 'By Carol' }
  const next = { id: 'carol-1', channel: 'main', kind: 'title', from: 'carol', at: 1, body }
  const lines: string[] = []
  for (const draft of latest ? [latest, next] : [next]) {
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', path: '/api/messages', headers, body: JSON.stringify(draft) }
    lines.push(await textOf((await http.ask(request)).body))
  }
  return lines
}

const tables = ['message', 'base', 'channel', 'survivor', 'past_base', 'epoch', 'life']

function filesIn(data: string): string[] {
  const names = readdirSync(data).filter((name) => !/-lock$|access/.test(name))
  return names.toSorted().map((name) => {
    if (!/^log\.db(\.version\d+)?$/.test(name)) return name
    const database = new DatabaseSync(join(data, name), { readOnly: true })
    const { user_version: version } = database.prepare('PRAGMA user_version').get() ?? {}
    const has = database.prepare('SELECT count(*) AS count FROM sqlite_schema WHERE name = ?')
    const counts = tables
      .filter((table) => has.get(table)?.count === 1)
      .map(
        (table) => `${database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.count} of ${table}`,
      )
    database.close()
    return `${name}: schema ${version}; rows: ${counts.join(', ')}`
  })
}
