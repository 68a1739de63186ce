// Tools for tests of a log: drafts, limits, readers, files, and a process that appends until killed.

import { once } from 'node:events'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { type Cursor, type Draft, isKind, type Kind, type Message } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { upsert } from '../../protocol/upsert.ts'
import type { ChannelType, Fold, Keep, TypeOf } from '../channels/channel-type.ts'
import type { CatchUp, Log, LogLimits } from './log.ts'
import { openLogFile } from './sqlite-file.ts'
import { createSqliteLog, openSqliteLog } from './sqlite-log.ts'

/** The tools of a contract test. */
interface Bench {
  readonly log: Log
  readonly failures: unknown[]
  /** Messages seen by a follower. */
  readonly seen: Message[]
  readonly cursors: string[]
  /** Advances the log's clock, ms. */
  readonly advance: (byMs: number) => void
}

/** `limits` override the ample ones. */
export type TestLog = (
  says: string,
  run: (bench: Bench) => Promise<void>,
  limits?: Partial<LogLimits>,
  types?: ToyTypes,
) => void

/** Properties of all channels of a test, and the limits of some. */
export interface ToyTypes {
  readonly fold?: Fold<'update'> | undefined
  readonly keepOn?: ((channel: string) => Keep | undefined) | undefined
}

export function draft(id: string, html = id, channel = 'main'): Draft<'edit'> {
  return { id, channel, kind: 'edit', from: 'w1', at: 1000.5, body: { html } }
}

/** A message of a cumulative kind. */
export function updateDraft(id: string, update = `${id} `, channel = 'main'): Draft<'update'> {
  return { id, channel, kind: 'update', from: 'w1', at: 1000.5, body: { update } }
}

/** A fold that joins texts. */
export const toyFold: Fold<'update'> = (messages) => ({
  update: messages.map(({ body }) => body.update).join(''),
})

/** How long after its end a toy channel is erased, ms, and an empty one may be. */
export const endedForMs = 86_400_000
export const emptyForMs = 3_600_000

/** The refusal of a channel that has ended. */
export const ended = (channel: string) => new Refusal('document-deleted', `"${channel}" has ended.`)

/** Whether the newest message of a kind is content of a toy channel. */
export const isContent = (message: Message) =>
  isKind(message, 'edit') ? message.body.html !== '' : !['title', 'deletion'].includes(message.kind)

/**
 * Channels whose updates are joined; a message of the kind "deletion" ends one. A title is no content.
 */
export function toyTypes({ fold = toyFold, keepOn }: ToyTypes = {}): TypeOf {
  const kinds = { update: { fold } }
  const known = new Map<Keep | undefined, ChannelType>()
  return (channel) =>
    upsert(known, keepOn?.(channel), () => ({
      name: 'toy',
      kinds,
      keep: keepOn?.(channel),
      refuse({ kind, channel }, { kinds, newest }) {
        if (kind !== 'deletion') return newest('deletion')?.body.deleted ? ended(channel) : null
        return kinds.length > 0 ? null : new Refusal('not-found', `There is no "${channel}".`)
      },
      expiry({ kinds, newest }) {
        const end = newest('deletion')
        const isFull = (kind: Kind) => {
          const message = newest(kind)
          return kind === 'update' || (message !== undefined && isContent(message))
        }
        const changedAt = Math.max(...kinds.map((kind) => newest(kind)?.acceptedAt ?? 0))
        return {
          at: end?.body.deleted ? end.acceptedAt + endedForMs : null,
          spareAt: kinds.some(isFull) ? null : changedAt + emptyForMs,
        }
      },
    }))
}

/**
 * Appends `PREFIX-1` to `PREFIX-COUNT` at once and allows them to be folded. Returns the joined
 * text.
 */
export async function fillUpdates(log: Log, count: number, prefix = 'w1', channel = 'main'): Promise<string> {
  const drafts = countTo(count).map((n) => updateDraft(`${prefix}-${n}`, `${prefix}-${n} `, channel))
  await Promise.all(drafts.map((one) => log.append(one, startMs)))
  for (const _turn of [1, 2, 3]) await settled()
  return drafts.map(({ body }) => body.update).join('')
}

/** The updates on a channel that a new client receives. */
export async function readUpdates(log: Log, channel = 'main') {
  const { messages } = await log.snapshot(new Set([channel]))
  const updates = messages.filter((message) => isKind(message, 'update'))
  return { updates, text: updates.map(({ body }) => body.update).join('') }
}

/** For tests that are not about limits. */
export const ampleLimits: LogLimits = {
  messages: 1000,
  bytes: 1_000_000,
  ageMs: 3_600_000,
  maxChannels: 10,
}

/** Initial clock, ms. */
export const startMs = 2000

export const main = new Set(['main'])
export const idsOf = (messages: readonly Message[]) => messages.map(({ id }) => id)
export const seqsOf = (messages: readonly Message[]) => messages.map(({ seq }) => seq)
export const countTo = (count: number) => Array.from({ length: count }, (_nothing, index) => index + 1)

/** Lets settled promises continue. */
export const settled = () => new Promise((resolve) => setImmediate(resolve))

/** Appends `PREFIX-1` to `PREFIX-COUNT` in sequence. */
export async function fill(log: Log, count: number, prefix = 'w1', html = 'x'): Promise<void> {
  for (let n = 1; n <= count; n += 1) await log.append(draft(`${prefix}-${n}`, html), startMs)
}

/** Appends `PREFIX-1` to `PREFIX-COUNT` at once; returns their numbers. */
export function fillAtOnce(
  log: Log,
  count: number,
  prefix = 'w1',
  html = 'x',
  channel = 'main',
): Promise<number[]> {
  return Promise.all(countTo(count).map((n) => log.append(draft(`${prefix}-${n}`, html, channel), startMs)))
}

export async function cursorAt(log: Log, seq: number): Promise<Cursor> {
  const { head } = await log.snapshot(main)
  return { epoch: head.epoch, seq }
}

/** Reads until the end or the first snapshot. */
export async function readPortions(
  log: Log,
  cursor: Cursor | null,
  channels: ReadonlySet<string>,
  onPortion: (portion: CatchUp) => void | Promise<void>,
): Promise<void> {
  let from = cursor
  for (;;) {
    const portion = await log.read(from, channels)
    await onPortion(portion)
    const { recovered, reached, head } = portion
    if (!recovered || reached.seq === head.seq) return
    if (from && reached.seq <= from.seq) throw new Error(`Reading from ${from.seq} led to ${reached.seq}.`)
    from = reached
  }
}

/** Returns all portions joined, or only the snapshot if the log has forgotten the next message. */
export async function readAll(
  log: Log,
  cursor: Cursor | null,
  channels: ReadonlySet<string>,
): Promise<CatchUp> {
  const portions: CatchUp[] = []
  await readPortions(log, cursor, channels, (portion) => void portions.push(portion))
  const last = portions.at(-1)
  if (!last) throw new Error('No portion was read.')
  return last.recovered ? { ...last, messages: portions.flatMap(({ messages }) => messages) } : last
}

interface Context {
  readonly after: (run: () => void | Promise<void>) => void
}

/** A missing file in a missing folder. */
export function newFile(context: Context): string {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-log-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'kept', 'log.db')
}

type SqliteLogParts = Parameters<typeof openSqliteLog>[0]

/** Default parts; `onFailure` fails the test. */
export const given = {
  limits: ampleLimits,
  typeOf: toyTypes(),
  durability: 'process',
  now: () => 2000,
  random: createSeededRandom(5),
  onFailure: (error) => {
    throw error
  },
} satisfies Omit<SqliteLogParts, 'file'>

/** Forces most reads to the file. */
export const littleMemory = { messages: 2, bytes: 100 }

/** Fixes the file's size, or allows it to grow again. */
export function setDiskFull(database: DatabaseSync, isFull: boolean): void {
  const pages = database.prepare('PRAGMA page_count').get()?.page_count
  database.exec(`PRAGMA max_page_count = ${isFull ? pages : 1_000_000}`)
}

/** A log whose turns end, and whose disk fills up, on command. */
export function openByHand(context: Context, change: Partial<SqliteLogParts> = {}) {
  const file = newFile(context)
  const planned: (() => void)[] = []
  const opened = openLogFile(file)
  const { database } = opened
  const defer = (run: () => void) => void planned.push(run)
  const log = createSqliteLog(opened, { ...given, ...change, defer, later: defer })
  const endTurn = () => {
    for (const run of planned.splice(0)) run()
  }
  context.after(() => log.close())
  return { file, database, log, endTurn, setDiskFull: (isFull: boolean) => setDiskFull(database, isFull) }
}

/** Copies a log's files, as if its process were killed here. Returns the copy's name. */
export function copyLog(file: string): string {
  const copy = `${file}.copy`
  for (const end of ['', '-wal'])
    if (existsSync(`${file}${end}`)) copyFileSync(`${file}${end}`, `${copy}${end}`)
  return copy
}

export const countRows = (database: DatabaseSync, table: string) =>
  database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.count

/** Node arguments; the first number is added. */
export const appenderFor = (file: string) => [import.meta.filename, file]

/** Concurrent appends, so that groups form. */
const lanes = 8

/** Appends `a-FIRST` and so on; prints each number after its acknowledgement. */
export async function appendForever(log: Log, first: number): Promise<void> {
  let next = first

  async function run(): Promise<void> {
    for (;;) {
      const id = `a-${next}`
      next += 1
      const body = { html: 'x'.repeat(300) }
      const seq = await log.append({ id, channel: 'main', kind: 'edit', from: 'a', at: 1, body }, Date.now())
      // Appends may complete within one turn of the event loop, but a full pipe drains only in the
      // next.
      if (!process.stdout.write(`${seq}\n`)) await once(process.stdout, 'drain')
    }
  }

  await Promise.all(Array.from({ length: lanes }, run))
}

if (import.meta.main) {
  const [file = '', first = '1'] = process.argv.slice(2)
  const limits = { ...ampleLimits, messages: 1_000_000, bytes: 1e9 }
  const machine = { now: Date.now, random: Math.random, onFailure: console.error }
  await appendForever(
    openSqliteLog({ file, limits, typeOf: toyTypes(), durability: 'process', ...machine }),
    Number(first),
  )
}
