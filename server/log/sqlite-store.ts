// The log's SQLite database: its file, what the file has lost, and the epochs that it continues.

import { closeSync, existsSync, mkdirSync, openSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import type { Message } from '../wire/messages.ts'
import type { BaseStore, StoredBase } from './folding.ts'
import { bodyFrom, jsonOfBody, writerOf } from './kept-json.ts'
import type { Identified, Memory } from './log.ts'
import type { Held } from './retention.ts'
import type { Entry } from './sequencer.ts'

/** File header (SQLite file format, 1.3.14 and 1.3.17): "XWND", and the schema version. */
const applicationId = 0x58574e44
const schemaVersion = 5

const columns = `
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL,
  sender TEXT NOT NULL,
  at REAL NOT NULL,
  accepted_at REAL NOT NULL,
  body TEXT NOT NULL,
  checksum INTEGER,
  writer TEXT`

const messageTable = `CREATE TABLE message (${columns}, PRIMARY KEY (seq), UNIQUE (id, sender, channel)) STRICT;`
const pastBaseTable = `CREATE TABLE past_base (${columns}, PRIMARY KEY (channel, kind, seq)) STRICT;`
const gapTable =
  'CREATE TABLE gap (first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (first), UNIQUE (last)) STRICT;'
const floorTable =
  'CREATE TABLE floor (channel TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (channel)) STRICT;'
const epochTable = `CREATE TABLE epoch (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, after INTEGER NOT NULL, is_closed INTEGER NOT NULL) STRICT;`

/**
 * Each number up to the newest is in `message`, or in a range of `gap` if it was erased. `survivor`
 * gets the newest of a channel and kind when its row in `message` is erased, so that snapshots cost
 * appends nothing; of both rows, the one with the greater number is valid. For a cumulative kind
 * `survivor` has the base, followed by rows of `message` with greater numbers: version 2 would
 * replace the base with the newest. `past_base` has earlier bases. `floor` has the newest number that
 * a channel dropped; without a name it holds for all. `checksum` is null in rows of version 3,
 * `writer` in those of version 4. `epoch` has one row per start.
 */
const schema = `
${messageTable}
CREATE TABLE survivor (${columns}, PRIMARY KEY (channel, kind)) STRICT;
${pastBaseTable}
${gapTable}
${floorTable}
${epochTable}
`

/**
 * In version 1, ids were unique among all senders; SQLite can drop a constraint only with its
 * table.
 */
const fromVersion1 = `
ALTER TABLE message RENAME TO message_1;
${messageTable}
INSERT INTO message SELECT *, NULL, NULL FROM message_1 ORDER BY seq;
DROP TABLE message_1;
`

/** Up to version 4, what came before the first row was erased, and so were rows without a channel. */
const gapsFromVersion4 = `
INSERT INTO floor SELECT '', min(seq) - 1 FROM message HAVING min(seq) > 1;
INSERT INTO gap SELECT 1, min(seq) - 1 FROM message HAVING min(seq) > 1;
INSERT INTO gap SELECT seq, seq FROM message WHERE channel = '' AND seq < (SELECT max(seq) FROM message);
DELETE FROM message WHERE seq IN (SELECT first FROM gap);
`

/** Statements that migrate an earlier version to the current schema. */
function migration(version: number): string {
  const earlier = [...(version > 1 ? ['message'] : []), 'survivor', ...(version > 2 ? ['past_base'] : [])]
  const add = (column: string) => earlier.map((table) => `ALTER TABLE ${table} ADD COLUMN ${column};`)
  const steps = [
    ...(version === 1 ? [fromVersion1] : []),
    ...(version < 4 ? add('checksum INTEGER') : []),
    ...add('writer TEXT'),
    ...(version < 3 ? [pastBaseTable] : []),
    ...(version < 4
      ? [epochTable, 'INSERT INTO epoch SELECT 1, epoch, 0, is_closed FROM life;', 'DROP TABLE life;']
      : []),
    gapTable,
    floorTable,
    gapsFromVersion4,
  ]
  return steps.join('\n')
}

const schemaMark = `
PRAGMA application_id = ${applicationId};
PRAGMA user_version = ${schemaVersion};
`

export class LogFileError extends Error {
  override readonly name = 'LogFileError'
}

export interface LogFile {
  readonly database: DatabaseSync
  /** A sentence about committed messages that the file lost; null if it lost none. */
  readonly loss: string | null
  readonly close: () => void
}

const wayOut = `move it away, or set storage: 'memory'`
const wayBack = 'restore a backup (npm run restore), or move the file away to begin an empty log'

/**
 * Creates a missing file. Other servers are refused while it is open; other processes may read it.
 * Throws a `LogFileError`; another program's file is left unchanged.
 */
export const openLogFile = (file: string): LogFile => open(targetOf(file), true)

/** Throws a `LogFileError` if the file has no log that can be opened. Creates none. */
export function checkLogFile(file: string): void {
  if (!existsSync(file)) throw new LogFileError(`There is no file ${file}.`)
  open(targetOf(file), false).close()
}

/** SQLite keeps its auxiliary files beside what a link leads to, and so is the lock. */
const targetOf = (file: string) => (existsSync(file) ? realpathSync(file) : file)

function open(file: string, mayBeEmpty: boolean): LogFile {
  const opened: DatabaseSync[] = []
  const close = () => {
    for (const database of opened.splice(0).reverse()) database.close()
  }
  try {
    opened.push(lockFile(file))
    if (mayBeEmpty) makeFile(file)
    const writeAheadLog = existsSync(`${file}-wal`) ? readFileSync(`${file}-wal`) : null
    const database = new DatabaseSync(file)
    opened.push(database)
    prepareFile(database, file, mayBeEmpty)
    return { database, loss: lossIn(file, database, writeAheadLog), close }
  } catch (error) {
    close()
    throw explain(file, error)
  }
}

/** Released when the process ends. A lock on the file itself would prevent backups. */
function lockFile(file: string): DatabaseSync {
  const name = `${file}-lock`
  makeFile(name)
  const lock = new DatabaseSync(name)
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    throw error
  }
}

/** Whether a server has the log's file open. */
export function isLocked(given: string): boolean {
  const file = targetOf(given)
  try {
    lockFile(file).close()
    return false
  } catch (error) {
    if (codeOf(error) === codes.busy) return true
    throw explain(file, error)
  }
}

/**
 * Makes a complete copy, even while a server writes to the file. Returns the number of its newest
 * message. Throws a `LogFileError`.
 */
export function copyLogFile(file: string, copy: string): number {
  try {
    makeFile(copy)
    const database = new DatabaseSync(file, { readOnly: true, timeout: busyMs })
    try {
      if (database.prepare('PRAGMA application_id').get()?.application_id !== applicationId)
        throw new LogFileError(`The file ${file} has no log.`)
      database.prepare('VACUUM INTO ?').run(copy)
    } finally {
      database.close()
    }
    const copied = new DatabaseSync(copy)
    try {
      // The copy needs no write-ahead log.
      if (copied.prepare('PRAGMA user_version').get()?.user_version === schemaVersion)
        copied.exec('UPDATE epoch SET is_closed = 1')
      return Number(copied.prepare('SELECT max(seq) AS head FROM message').get()?.head ?? 0)
    } finally {
      copied.close()
    }
  } catch (error) {
    throw explain(file, error)
  }
}

/** How long to wait while a server opens or closes the file. */
const busyMs = 5000

/** SQLite gives its auxiliary files the file's mode. */
function makeFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    // Never open an existing file: closing it would drop this process's locks on it (fcntl(2)).
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

function prepareFile(database: DatabaseSync, file: string, mayBeEmpty: boolean): void {
  const read = (sql: string) => Object.values(database.prepare(sql).get() ?? {})[0]
  const isNew = read('SELECT count(*) FROM sqlite_schema') === 0 && read('PRAGMA application_id') === 0
  if (!isNew && read('PRAGMA application_id') !== applicationId) {
    throw new LogFileError(`The file ${file} is another program's database: ${wayOut}.`)
  }
  if (isNew && !mayBeEmpty) throw new LogFileError(`The file ${file} has no log.`)
  const version = isNew ? schemaVersion : Number(read('PRAGMA user_version'))
  if (version > schemaVersion) {
    throw new LogFileError(
      `The log's file ${file} is of a newer Crosswind (schema version ${version}; this one knows ${schemaVersion}): start that Crosswind, or restore the copy that it saved before it changed the file, ${savedName(file, schemaVersion)}.`,
    )
  }
  if (read('PRAGMA journal_mode = WAL') !== 'wal') {
    throw new LogFileError(
      `The log's file ${file} is in a place where SQLite cannot keep a write-ahead log: ${wayOut}.`,
    )
  }
  database.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL')
  if (isNew) inTransaction(database, () => database.exec(schema + schemaMark))
  else if (version < schemaVersion) migrate(database, file, version)
  if (read('PRAGMA integrity_check(1)') !== 'ok') throw new SyntaxError('The integrity check failed.')
}

const savedName = (file: string, version: number) => `${file}.version${version}`

/** First saves a copy, which an older Crosswind can open. */
function migrate(database: DatabaseSync, file: string, version: number): void {
  takeInJournal(database, `${file}-recent`)
  const saved = savedName(file, version)
  rmSync(saved, { force: true })
  makeFile(saved)
  database.prepare('VACUUM INTO ?').run(saved)
  inTransaction(database, () => database.exec(migration(version) + schemaMark))
}

/**
 * Up to version 3, a server that was killed left its newest messages in a file with a line for each:
 * checksum, epoch, and the message as JSON.
 */
function takeInJournal(database: DatabaseSync, journal: string): void {
  if (!existsSync(journal)) return
  const epoch = database.prepare('SELECT epoch FROM life').get()?.epoch
  let head = Number(database.prepare('SELECT max(seq) AS head FROM message').get()?.head ?? 0)
  const insert = database.prepare('INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  inTransaction(database, () => {
    for (const line of readFileSync(journal, 'utf8').split('\n')) {
      const [, checksum = '', text = '', name, json = ''] = /^([0-9a-f]{8}) ((\S+) (.*))$/.exec(line) ?? []
      // A power cut may have left half a line, or lost earlier ones.
      if (crc32(`00000000 ${text}\n`) !== Number.parseInt(checksum, 16)) break
      const { seq, id, channel, kind, from, at, acceptedAt, body }: Message = JSON.parse(json)
      if (name !== epoch || seq <= head) continue
      if (seq !== head + 1) break
      insert.run(seq, id, channel, kind, from, at, acceptedAt, JSON.stringify(body))
      head = seq
    }
  })
  rmSync(journal)
}

/** `writeAheadLog` holds its bytes before the database was opened; null if there was none. */
function lossIn(file: string, database: DatabaseSync, writeAheadLog: Buffer | null): string | null {
  const newest = database.prepare('SELECT is_closed FROM epoch ORDER BY number DESC LIMIT 1').get()
  const wasOpen = newest?.is_closed === 0
  const { log: frames = 0 } = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() ?? {}
  if (writeAheadLog === null) {
    return wasOpen ? `The file ${file}-wal is missing; it had the newest messages of the log.` : null
  }
  const lost = commitsAfter(writeAheadLog, Number(frames))
  if (lost === 0) return null
  return `The file ${file}-wal is damaged: ${lost === null ? 'nothing' : `all but the last ${lost} commits`} could be read, and the other newest messages of the log are missing.`
}

/**
 * The number of commits in a write-ahead log after a number of frames; null if its header is
 * damaged, so that nothing can be counted (sqlite.org/fileformat2.html, 4.1 and 4.2).
 */
function commitsAfter(writeAheadLog: Buffer, frames: number): number | null {
  if (writeAheadLog.length < walHeaderBytes) return 0
  if (!isWhole(writeAheadLog)) return null
  const frameBytes = frameHeaderBytes + writeAheadLog.readUInt32BE(8)
  const salts = writeAheadLog.subarray(16, 24)
  let commits = 0
  for (
    let at = walHeaderBytes + frames * frameBytes;
    at + frameBytes <= writeAheadLog.length;
    at += frameBytes
  ) {
    // Frames of earlier rounds have other salts; only the last frame of a transaction has the size
    // of the database.
    const isOfThisRound = salts.equals(writeAheadLog.subarray(at + 8, at + 16))
    if (isOfThisRound && writeAheadLog.readUInt32BE(at + 4) > 0) commits += 1
  }
  return commits
}

const walHeaderBytes = 32
const frameHeaderBytes = 24

/** Whether the header matches its checksum. */
function isWhole(writeAheadLog: Buffer): boolean {
  const magic = writeAheadLog.readUInt32BE(0)
  const word = (at: number) => (magic & 1 ? writeAheadLog.readUInt32BE(at) : writeAheadLog.readUInt32LE(at))
  let first = 0
  let second = 0
  for (let at = 0; at < 24; at += 8) {
    first = (first + word(at) + second) >>> 0
    second = (second + word(at + 4) + first) >>> 0
  }
  return writeAheadLog.readUInt32BE(24) === first && writeAheadLog.readUInt32BE(28) === second
}

function inTransaction<Result>(database: DatabaseSync, work: () => Result): Result {
  // Left open by a failed rollback.
  rollBack(database)
  database.exec('BEGIN')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    rollBack(database)
    throw error
  }
}

function rollBack(database: DatabaseSync): void {
  // SQLite rolls back some failures itself.
  if (database.isTransaction) database.exec('ROLLBACK')
}

/** Result codes (sqlite.org/rescode.html). */
const codes = { busy: 5, corrupt: 11, full: 13, notADatabase: 26 }
/** The shared memory of the write-ahead log cannot grow. */
const fullForSharedMemory = 4874

/** The primary code, which is the low byte; null for an error of something else. */
function codeOf(error: unknown): number | null {
  if (!(error instanceof Error && 'errcode' in error)) return null
  return error.errcode === fullForSharedMemory ? codes.full : Number(error.errcode) & 0xff
}

/** Whether the disk has no room. */
export function isFull(error: unknown): boolean {
  return (
    codeOf(error) === codes.full || (error instanceof Error && 'code' in error && error.code === 'ENOSPC')
  )
}

/** Whether something was read that differs from what was written. */
export function isDamage(error: unknown): boolean {
  return error instanceof SyntaxError || codeOf(error) === codes.corrupt
}

export function explain(file: string, error: unknown): LogFileError {
  if (error instanceof LogFileError) return error
  const refusal = (sentence: string) => new LogFileError(sentence, { cause: error })
  if (codeOf(error) === codes.busy) {
    return refusal(
      `Another server has the log's file ${file} open: stop it, name another file, or set storage: 'memory'.`,
    )
  }
  if (isFull(error)) {
    return refusal(
      `There is no room on the disk for the log's file ${file}: make some, or name another dataFolder.`,
    )
  }
  if (isDamage(error)) return refusal(`The log's file ${file} is damaged: ${wayBack}.`)
  if (codeOf(error) === codes.notADatabase) return refusal(`The file ${file} is not a log: ${wayOut}.`)
  const reason = error instanceof Error ? error.message : String(error)
  return refusal(
    `The log's file ${file} cannot be opened (${reason}): let this user write there, name another dataFolder, or set storage: 'memory'.`,
  )
}

/** Maximum number of epochs whose cursors are accepted. */
const mostEpochs = 1000

/** Throws SQLite's error for damaged tables; see `explain`. */
export class SqliteStore {
  readonly #database: DatabaseSync
  readonly #sql: ReturnType<typeof prepareStatements>

  /** Each write is a commit. */
  readonly bases: Omit<BaseStore, 'erase'>

  constructor(database: DatabaseSync) {
    this.#database = database
    const sql = prepareStatements(database)
    this.#sql = sql
    const readOne = (row: Row | undefined) => row && messageOf(row)
    this.bases = {
      read: (channel, kind) => readOne(sql.readSurvivor.get(channel, kind)),
      write: (base) => writeTo(sql.writeSurvivor, base),
      past: (channel, kind) => sql.past.all(channel, kind).map(({ seq }) => Number(seq)),
      readPast: (channel, kind, seq) => readOne(sql.readPast.get(channel, kind, seq)),
      keepPast: (base) => void writeTo(sql.keepPast, base),
      forgetPast: (channel, kind, seq) => void sql.forgetPast.run(channel, kind, seq),
    }
  }

  transaction<Result>(work: () => Result): Result {
    return inTransaction(this.#database, work)
  }

  /**
   * Returns the message's number, or a repeat's stored number; null if another message has the id.
   */
  insert(seq: number, { draft, acceptedAt, body }: Entry): number | null {
    const { id, channel, kind, from, at } = draft
    const fields = [seq, id, channel, kind, from, at, acceptedAt, body] as const
    const { changes } = this.#sql.insert.run(...fields, checksumOf(fields), writerOf(draft))
    if (Number(changes) > 0) return seq
    const known = this.#sql.findRepeat.get(kind, at, body, id, from, channel)
    return known?.is_repeat === 1 ? Number(known.seq) : null
  }

  find({ id, from, channel }: Identified): Message | null {
    const row = this.#sql.find.get(id, from, channel)
    return row ? messageOf(row) : null
  }

  /** Erases messages that were dropped. */
  erase(held: readonly Held[], survives: (seq: number) => boolean): void {
    for (const { seq, channel } of held) {
      if (survives(seq)) this.#sql.moveOut.run(seq)
      this.#eraseOne(seq)
      this.#sql.raiseFloor.run(channel, seq)
    }
  }

  #eraseOne(seq: number): void {
    if (Number(this.#sql.erase.run(seq).changes) > 0) this.#widenGap(seq)
  }

  /** Joins the gaps before and after the number, if any. */
  #widenGap(seq: number): void {
    const { closeGapBefore, closeGapAfter, openGap } = this.#sql
    const first = closeGapBefore.get(seq - 1)?.first ?? seq
    const last = closeGapAfter.get(seq + 1)?.last ?? seq
    openGap.run(first, last)
  }

  /** Erases a channel before that number. */
  eraseChannel(channel: string, before: number): void {
    const found = this.#database.prepare('SELECT seq FROM message WHERE channel = ? AND seq < ?')
    for (const { seq } of found.all(channel, before)) this.#eraseOne(Number(seq))
    this.#database.prepare('DELETE FROM floor WHERE channel = ?').run(channel)
    for (const table of ['survivor', 'past_base'])
      this.#database.prepare(`DELETE FROM ${table} WHERE channel = ? AND seq < ?`).run(channel, before)
  }

  /** In the order of their numbers. Throws a `SyntaxError` if one is missing or damaged. */
  messages(seqs: readonly number[]): Message[] {
    const messages = Array.from(this.#sql.messages.iterate(JSON.stringify(seqs)), messageOf)
    if (messages.length < seqs.length) throw missing()
    return messages
  }

  /** What the file has up to a number, in order. Scans the log. */
  upTo(seq: number): IterableIterator<Held> {
    const rows = this.#database.prepare(
      `SELECT seq, channel, octet_length(body) AS bytes, accepted_at AS acceptedAt, writer FROM message
       WHERE seq <= ? ORDER BY seq`,
    )
    return rows.iterate(seq) as ReturnType<SqliteStore['upTo']>
  }

  /** In order; `bytes` is the body's size. */
  last({ messages: mostMessages, bytes: mostBytes }: Memory) {
    const rows = this.#database.prepare(
      'SELECT *, octet_length(body) AS bytes FROM message ORDER BY seq DESC LIMIT ?',
    )
    const found: { message: Message; bytes: number }[] = []
    let left = mostBytes
    for (const row of rows.iterate(mostMessages)) {
      const bytes = Number(row.bytes)
      left -= bytes
      if (left < 0) break
      found.push({ message: messageOf(row), bytes })
    }
    return found.reverse()
  }

  /** The newest of each channel and kind, except erasures and the kinds in `without`, in order. */
  newest(without: readonly string[] = []): Message[] {
    // SQLite returns the row that has the `max` (lang_select.html, 2.5).
    const rows = this.#database.prepare(
      `SELECT *, max(seq) FROM (SELECT * FROM survivor UNION ALL SELECT * FROM message WHERE seq IN
         (SELECT max(seq) FROM message GROUP BY channel, kind))
       WHERE kind NOT IN (SELECT value FROM json_each(?)) GROUP BY channel, kind ORDER BY seq`,
    )
    return rows.all(JSON.stringify([...without, 'erasure'])).map(messageOf)
  }

  /** Throws a `SyntaxError` if one is damaged: its document would be incomplete. */
  survivors(kinds: readonly string[]): StoredBase[] {
    const rows = this.#database.prepare(
      `SELECT *, octet_length(body) AS bytes FROM survivor
       WHERE kind IN (SELECT value FROM json_each(?))`,
    )
    return Array.from(rows.iterate(JSON.stringify(kinds)), (row) => {
      const { channel, kind, seq } = messageOf(row)
      return { channel, kind, seq, bytes: Number(row.bytes) }
    })
  }

  /** Messages of these kinds after their survivors, up to a number; in order. Scans the log. */
  *unfolded(kinds: readonly string[], upTo: number): Generator<{ message: Message; bytes: number }> {
    const rows = this.#database.prepare(
      `SELECT *, octet_length(body) AS bytes FROM message WHERE seq <= ?
         AND kind IN (SELECT value FROM json_each(?))
         AND seq > coalesce((SELECT survivor.seq FROM survivor
           WHERE survivor.channel = message.channel AND survivor.kind = message.kind), 0)
       ORDER BY seq`,
    )
    for (const row of rows.iterate(upTo, JSON.stringify(kinds))) {
      yield { message: messageOf(row), bytes: Number(row.bytes) }
    }
  }

  /** The newest number. Scans the log. Throws a `SyntaxError` if a message is missing. */
  head(): number {
    const held = this.#database.prepare('SELECT max(seq) AS head, count(*) AS count FROM message').get() ?? {}
    const gaps = this.#database.prepare('SELECT total(last - first + 1) AS count FROM gap').get() ?? {}
    // The newest message is erased only after a newer one is stored.
    const head = Number(held.head ?? 0)
    if (Number(held.count) + Number(gaps.count) !== head) throw missing()
    return head
  }

  /** The newest number that each channel dropped; without a name it holds for all. */
  floors(): readonly (readonly [channel: string, seq: number])[] {
    const rows = this.#database.prepare('SELECT channel, seq FROM floor').all()
    return rows.map(({ channel, seq }) => [String(channel), Number(seq)] as const)
  }

  /**
   * Begins an epoch that continues the log after `head`, durably. Returns, by name, up to which
   * number the log has each earlier epoch's messages.
   */
  beginEpoch(name: string, head: number): ReadonlyMap<string, number> {
    inTransaction(this.#database, () => {
      this.#database.prepare('INSERT INTO epoch (name, after, is_closed) VALUES (?, ?, 0)').run(name, head)
      const oldest = 'SELECT number FROM epoch ORDER BY number DESC LIMIT 1 OFFSET ?'
      this.#database.prepare(`DELETE FROM epoch WHERE number <= (${oldest})`).run(mostEpochs)
    })
    // From now on a missing write-ahead log is noticed.
    this.checkpoint('TRUNCATE')
    const reaches = new Map<string, number>()
    let reach = head
    for (const row of this.#database
      .prepare('SELECT name, after FROM epoch ORDER BY number DESC')
      .iterate()) {
      reaches.set(String(row.name), reach)
      reach = Math.min(reach, Number(row.after))
    }
    return reaches
  }

  closeEpoch(): void {
    this.#database.exec('UPDATE epoch SET is_closed = 1')
  }

  /** From now on commits survive a killed process, but not a power cut. */
  stopWaitingForDisk(): void {
    this.#database.exec('PRAGMA synchronous = NORMAL')
  }

  checkpoint(mode: 'PASSIVE' | 'TRUNCATE'): void {
    if (this.#database.isOpen) this.#database.prepare(`PRAGMA wal_checkpoint(${mode})`).get()
  }
}

/** Statements used for every message or fold. */
function prepareStatements(database: DatabaseSync) {
  const into = (table: string) =>
    database.prepare(`INSERT OR REPLACE INTO ${table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)`)
  const pastOf = (what: string, of = '') =>
    database.prepare(`${what} FROM past_base WHERE channel = ? AND kind = ? ${of}`)
  return {
    insert: database.prepare(
      'INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id, sender, channel) DO NOTHING',
    ),
    find: database.prepare('SELECT * FROM message WHERE id = ? AND sender = ? AND channel = ?'),
    findRepeat: database.prepare(
      `SELECT seq, kind = ? AND at = ? AND body = ? AS is_repeat FROM message
       WHERE id = ? AND sender = ? AND channel = ?`,
    ),
    moveOut: database.prepare('INSERT OR REPLACE INTO survivor SELECT * FROM message WHERE seq = ?'),
    erase: database.prepare('DELETE FROM message WHERE seq = ?'),
    closeGapBefore: database.prepare('DELETE FROM gap WHERE last = ? RETURNING first'),
    closeGapAfter: database.prepare('DELETE FROM gap WHERE first = ? RETURNING last'),
    openGap: database.prepare('INSERT INTO gap VALUES (?, ?)'),
    raiseFloor: database.prepare(
      'INSERT INTO floor VALUES (?, ?) ON CONFLICT (channel) DO UPDATE SET seq = max(seq, excluded.seq)',
    ),
    messages: database.prepare(
      'SELECT * FROM message WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq',
    ),
    readSurvivor: database.prepare('SELECT * FROM survivor WHERE channel = ? AND kind = ?'),
    writeSurvivor: into('survivor'),
    past: pastOf('SELECT seq', 'ORDER BY seq'),
    readPast: pastOf('SELECT *', 'AND seq = ?'),
    keepPast: into('past_base'),
    forgetPast: pastOf('DELETE', 'AND seq = ?'),
  }
}

/** Returns the body's size. */
function writeTo(into: StatementSync, message: Message): number {
  const { id, channel, kind, from, at, seq, acceptedAt } = message
  const body = jsonOfBody(message.body)
  const fields = [seq, id, channel, kind, from, at, acceptedAt, body] as const
  into.run(...fields, checksumOf(fields))
  return Buffer.byteLength(body)
}

type Row = Record<string, SQLOutputValue>

type MessageRow = Pick<Message, 'seq' | 'id' | 'channel' | 'kind' | 'at'> & {
  readonly sender: string
  readonly accepted_at: number
  readonly body: string
  readonly checksum: number | null
  readonly writer: string | null
}

const missing = () => new SyntaxError('Messages are missing.')

/** Throws a `SyntaxError` if it differs from what was stored. */
function messageOf(row: Row): Message {
  // The tables are STRICT, and only `insert` writes to them.
  const { seq, id, channel, kind, sender, at, accepted_at, checksum, writer, ...rest } =
    row as unknown as MessageRow
  if (
    checksum !== null &&
    checksum !== checksumOf([seq, id, channel, kind, sender, at, accepted_at, rest.body])
  )
    throw new SyntaxError(`Message ${seq} does not match its checksum.`)
  const body = bodyFrom(kind, rest.body, writer)
  return { id, channel, kind, from: sender, at, body, seq, acceptedAt: accepted_at }
}

const checksumOf = (fields: readonly (string | number)[]) => crc32(fields.join(' '))
