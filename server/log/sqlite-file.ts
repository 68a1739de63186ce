// The log's SQLite file: opening, migrating, detecting losses, and the epochs that it continues.

import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import zlib from 'node:zlib'
import type { Message } from '../../protocol/messages.ts'
import { openDatabase } from '../runtime.ts'
import { codeOf, codes, inTransaction, isDamage, isFull, missing, Tables, tables } from './tables.ts'

/** File header (SQLite file format, 1.3.14 and 1.3.17): "XWND", and the schema version. */
const applicationId = 0x58574e44
const schemaVersion = 6

const epochTable = `CREATE TABLE epoch (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, after INTEGER NOT NULL, is_closed INTEGER NOT NULL) STRICT;`

/** `epoch` has one row per start. */
const schema = `
${tables}
${epochTable}
`

// Up to version 5: a message with its channel's name; in `survivor` the newest of a channel and kind
// whose row was erased, or the base of a cumulative kind; erased numbers in `gap`.

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

/** Up to version 4, messages before the first row were erased, and so were rows without a channel. */
const gapsFromVersion4 = `
INSERT INTO floor SELECT '', min(seq) - 1 FROM message HAVING min(seq) > 1;
INSERT INTO gap SELECT 1, min(seq) - 1 FROM message HAVING min(seq) > 1;
INSERT INTO gap SELECT seq, seq FROM message WHERE channel = '' AND seq < (SELECT max(seq) FROM message);
DELETE FROM message WHERE seq IN (SELECT first FROM gap);
`

/** Statements that migrate an earlier version to version 5. */
function toVersion5(version: number): string {
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

/** Kinds that had bases in `survivor` and `past_base`. */
const basedKinds = "'update', 'versions', 'revocation'"

/** Rows of a table of version 5; `between` is SQL for the first columns, before `id`. */
const rowsOf = (table: string, between: string) =>
  `SELECT ${between}, id, kind, sender, at, accepted_at, body, ${table}.checksum, writer
  FROM ${table} JOIN channel ON name = ${table}.channel`

const channelsOfVersion5 = `
SELECT name, coalesce(floor.seq, 0) AS floor,
  coalesce(held.begin, (SELECT max(seq) FROM message_5), 0) AS begin FROM (
  SELECT channel AS name FROM message_5 UNION SELECT channel FROM survivor UNION SELECT channel FROM past_base
  UNION SELECT channel FROM floor WHERE channel != '')
LEFT JOIN floor ON floor.channel = name
LEFT JOIN (SELECT channel, min(seq) - 1 AS begin FROM message_5 GROUP BY channel) AS held ON held.channel = name
ORDER BY name`

/**
 * Checksums stay: they are computed with the channel's name. The start reads all messages once, and
 * counts each channel's.
 */
const fromVersion5 = `
INSERT INTO base ${rowsOf('survivor', 'number, seq, 0')} WHERE kind IN (${basedKinds});
INSERT INTO base ${rowsOf('past_base', 'number, seq, 1')};
INSERT INTO message ${rowsOf('message_5', 'seq, number, 0')} ORDER BY seq;
INSERT OR IGNORE INTO message ${rowsOf('survivor', 'seq, number, 0')}
  WHERE kind NOT IN (${basedKinds}) AND seq > coalesce((SELECT max(seq) FROM message
    WHERE message.channel = number AND message.kind = survivor.kind), 0);
UPDATE message SET previous = coalesce((SELECT max(seq) FROM message AS earlier
  WHERE earlier.channel = message.channel AND earlier.seq < message.seq), 0);
UPDATE meta SET value = coalesce((SELECT seq FROM floor WHERE channel = ''), 0) WHERE name = 'missing';
DROP TABLE message_5;
DROP TABLE survivor;
DROP TABLE past_base;
DROP TABLE gap;
DROP TABLE floor;
`

const schemaMark = `
PRAGMA application_id = ${applicationId};
PRAGMA user_version = ${schemaVersion};
`

export class LogFileError extends Error {
  override readonly name = 'LogFileError'
}

export interface LogFile {
  readonly database: DatabaseSync
  /** Whether the file is small enough to be read completely at the start. */
  readonly isSmall: boolean
  /** A sentence about committed messages that the file lost; null if it lost none. */
  readonly loss: string | null
  readonly close: () => void
}

const wayOut = `move it away, or set storage: 'memory'`
const wayBack = 'restore a backup, or move the file away to begin an empty log'

/**
 * Creates a missing file. Other servers are refused while it is open; other processes may read it.
 * Throws a `LogFileError`; another program's file is left unchanged.
 */
export const openLogFile = (file: string): LogFile => open(targetOf(file), true)

/** Reads all messages. Throws a `LogFileError` if the file has no log that can be opened, or is damaged. */
export function checkLogFile(given: string): void {
  if (!existsSync(given)) throw new LogFileError(`There is no file ${given}.`)
  const file = targetOf(given)
  const { database, close } = open(file, false)
  try {
    new Tables(database).check()
  } catch (error) {
    throw explain(file, error)
  } finally {
    close()
  }
}

/** SQLite keeps its auxiliary files beside a link's target, so the lock is there, too. */
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
    const database = openDatabase(file)
    opened.push(database)
    prepareFile(database, file, mayBeEmpty)
    const isSmall = isCheckedWhole(file)
    return { database, isSmall, loss: lossIn(file, database, writeAheadLog), close }
  } catch (error) {
    close()
    throw explain(file, error)
  }
}

/** Released when the process ends. A lock on the file itself would prevent backups. */
function lockFile(file: string): DatabaseSync {
  const name = `${file}-lock`
  makeFile(name)
  const lock = openDatabase(name)
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
 * Makes a complete copy, even while a server writes to the file, and reads all its messages. Returns
 * the number of the newest one. Throws a `LogFileError`, if the file is damaged, too.
 */
export function copyLogFile(file: string, copy: string): number {
  try {
    makeFile(copy)
    const database = openDatabase(file, { readOnly: true, timeout: busyMs })
    try {
      if (database.prepare('PRAGMA application_id').get()?.application_id !== applicationId)
        throw new LogFileError(`The file ${file} has no log.`)
      database.prepare('VACUUM INTO ?').run(copy)
    } finally {
      database.close()
    }
    const copied = openDatabase(copy)
    try {
      if (copied.prepare('PRAGMA user_version').get()?.user_version === schemaVersion) {
        // The copy needs no write-ahead log.
        copied.exec('UPDATE epoch SET is_closed = 1')
        new Tables(copied).check()
      }
      return Number(copied.prepare('SELECT max(seq) AS head FROM message').get()?.head ?? 0)
    } finally {
      copied.close()
    }
  } catch (error) {
    throw explain(file, error)
  }
}

/** Time to wait while a server opens or closes the file. */
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
  if (!isCheckedWhole(file)) return
  if (read('PRAGMA integrity_check(1)') !== 'ok') throw new SyntaxError('The integrity check failed.')
}

/**
 * Reading a larger file would take more than half a second: its messages have checksums, and each names
 * the one before it, so that readers notice a missing one.
 */
const maxCheckedBytes = 67_108_864

const isCheckedWhole = (file: string) => statSync(file).size <= maxCheckedBytes

const savedName = (file: string, version: number) => `${file}.version${version}`

/** First saves a copy, which an older Crosswind can open. */
function migrate(database: DatabaseSync, file: string, version: number): void {
  takeInJournal(database, `${file}-recent`)
  const saved = savedName(file, version)
  rmSync(saved, { force: true })
  makeFile(saved)
  database.prepare('VACUUM INTO ?').run(saved)
  inTransaction(database, () => {
    if (version < 5) database.exec(toVersion5(version))
    mustBeWhole(database)
    database.exec(`ALTER TABLE message RENAME TO message_5; ${tables}`)
    const log = new Tables(database)
    for (const { name, begin, floor } of database.prepare(channelsOfVersion5).all())
      log.addChannel(String(name), Number(begin), Number(floor))
    database.exec(fromVersion5 + schemaMark)
  })
}

/** In version 5 each number was in `message` or in `gap`. Throws a `SyntaxError`. */
function mustBeWhole(database: DatabaseSync): void {
  const held = database.prepare('SELECT max(seq) AS head, count(*) AS count FROM message').get() ?? {}
  const gaps = database.prepare('SELECT total(last - first + 1) AS count FROM gap').get() ?? {}
  if (Number(held.count) + Number(gaps.count) !== Number(held.head ?? 0)) throw missing()
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
      if (zlib.crc32(`00000000 ${text}\n`) !== Number.parseInt(checksum, 16)) break
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
  // SQLite writes a frame's header, and then its page.
  if (lost === 1)
    return `The last commit in ${file}-wal is incomplete. If the server was killed while it wrote it, nobody was told that it was stored; otherwise the file is damaged, and the newest message of the log is missing.`
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

export function explain(file: string, error: unknown): LogFileError {
  if (error instanceof LogFileError) return error
  const refusal = (sentence: string) => new LogFileError(sentence, { cause: error })
  if (codeOf(error) === codes.busy) {
    return refusal(
      `Another server has the log's file ${file} open: stop it, name another folder, or set storage: 'memory'.`,
    )
  }
  if (isFull(error)) {
    return refusal(
      `There is no room on the disk for the log's file ${file}: make some, or name another folder.`,
    )
  }
  if (isDamage(error)) return refusal(`The log's file ${file} is damaged: ${wayBack}.`)
  if (codeOf(error) === codes.notADatabase) return refusal(`The file ${file} is not a log: ${wayOut}.`)
  const reason = error instanceof Error ? error.message : String(error)
  return refusal(
    `The log's file ${file} cannot be opened (${reason}): let this user write there, name another folder, or set storage: 'memory'.`,
  )
}

/** Maximum number of epochs whose cursors are accepted. */
const maxEpochs = 1000

/**
 * Begins an epoch that continues the log after `head`, durably. Returns, by name, the number up to
 * which the log has each earlier epoch's messages.
 */
export function beginEpoch(database: DatabaseSync, name: string, head: number): ReadonlyMap<string, number> {
  inTransaction(database, () => {
    database.prepare('INSERT INTO epoch (name, after, is_closed) VALUES (?, ?, 0)').run(name, head)
    const oldest = 'SELECT number FROM epoch ORDER BY number DESC LIMIT 1 OFFSET ?'
    database.prepare(`DELETE FROM epoch WHERE number <= (${oldest})`).run(maxEpochs)
  })
  // From now on a missing write-ahead log is noticed.
  checkpoint(database, 'TRUNCATE')
  const reaches = new Map<string, number>()
  let reach = head
  for (const row of database.prepare('SELECT name, after FROM epoch ORDER BY number DESC').iterate()) {
    reaches.set(String(row.name), reach)
    reach = Math.min(reach, Number(row.after))
  }
  return reaches
}

export function closeEpoch(database: DatabaseSync): void {
  database.exec('UPDATE epoch SET is_closed = 1')
}

/** Returns whether the checkpoint was complete: another process may be reading the write-ahead log. */
export function checkpoint(database: DatabaseSync, mode: 'PASSIVE' | 'TRUNCATE'): boolean {
  return database.isOpen && database.prepare(`PRAGMA wal_checkpoint(${mode})`).get()?.busy === 0
}
