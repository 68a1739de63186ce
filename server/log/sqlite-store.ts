// A log's file: a database in SQLite.

import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import type { Draft, Kind, Message } from '../wire/messages.ts'
import type { StoredBase } from './folding.ts'
import type { Bounds, Extent, Identified, Portion, Stored } from './retention.ts'
import type { Entry } from './sequencer.ts'

/** File header (SQLite file format, 1.3.14 and 1.3.17): "XWND", and the schema version. */
const applicationId = 0x58574e44
const schemaVersion = 3

const columns = `
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL,
  sender TEXT NOT NULL,
  at REAL NOT NULL,
  accepted_at REAL NOT NULL,
  body TEXT NOT NULL`

const messageTable = `CREATE TABLE message (${columns}, PRIMARY KEY (seq), UNIQUE (id, sender, channel)) STRICT;`

const pastBaseTable = `CREATE TABLE IF NOT EXISTS past_base (${columns}, PRIMARY KEY (channel, kind, seq)) STRICT;`

/**
 * `message` has no gaps. `survivor` gets the newest of a channel and kind when its row in `message` is erased, so that
 * snapshots cost appends nothing; the greater number of both counts. Of a cumulative kind it has the base, and rows of
 * `message` with greater numbers follow it: version 2 would replace the base with the newest. `past_base` has
 * earlier ones. `life` has one row.
 */
const schema = `
${messageTable}
CREATE TABLE survivor (${columns}, PRIMARY KEY (channel, kind)) STRICT;
${pastBaseTable}
CREATE TABLE life (epoch TEXT NOT NULL, boot TEXT NOT NULL, durability TEXT NOT NULL, is_closed INTEGER NOT NULL) STRICT;
PRAGMA application_id = ${applicationId};
PRAGMA user_version = ${schemaVersion};
`

/** In version 1 ids were unique among all senders; SQLite drops a constraint only with its table. */
const fromVersion1 = `
ALTER TABLE message RENAME TO message_1;
${messageTable}
INSERT INTO message SELECT * FROM message_1 ORDER BY seq;
DROP TABLE message_1;
`

export class LogFileError extends Error {
  override readonly name = 'LogFileError'
}

const wayOut = `move it away, or set storage: 'memory'`

/** Exclusive; creates a missing file. Throws a `LogFileError`; another program's file stays unchanged. */
export function openLogFile(file: string): DatabaseSync {
  let database: DatabaseSync | null = null
  try {
    makeFile(file)
    database = new DatabaseSync(file)
    prepareFile(database, file)
    return database
  } catch (error) {
    database?.close()
    throw explain(file, error)
  }
}

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

function prepareFile(database: DatabaseSync, file: string): void {
  const read = (sql: string) => Object.values(database.prepare(sql).get() ?? {})[0]
  // Locks at the first read, until the process ends. Set before WAL, it avoids shared memory.
  database.exec('PRAGMA locking_mode = EXCLUSIVE')
  const isNew = read('SELECT count(*) FROM sqlite_schema') === 0 && read('PRAGMA application_id') === 0
  if (!isNew && read('PRAGMA application_id') !== applicationId) {
    throw new LogFileError(`The file ${file} is a database of something else: ${wayOut}.`)
  }
  const version = isNew ? schemaVersion : Number(read('PRAGMA user_version'))
  if (version < 1 || version > schemaVersion) {
    throw new LogFileError(
      `The log's file ${file} is of version ${version}, this Crosswind knows ${schemaVersion}: ${wayOut}.`,
    )
  }
  if (read('PRAGMA journal_mode = WAL') !== 'wal') {
    throw new LogFileError(`The log's file ${file} is where SQLite can keep no write-ahead log: ${wayOut}.`)
  }
  database.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA cell_size_check = ON')
  if (isNew) inTransaction(database, () => database.exec(schema))
  if (version === schemaVersion) return
  inTransaction(database, () => {
    if (version === 1) database.exec(fromVersion1)
    database.exec(pastBaseTable)
    database.exec(`PRAGMA user_version = ${schemaVersion}`)
  })
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
}

function inTransaction<Result>(database: DatabaseSync, work: () => Result): Result {
  // Left by a failed rollback.
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

/** Primary result codes (sqlite.org/rescode.html). */
const busy = 5
const corrupt = 11
const notADatabase = 26

export function explain(file: string, error: unknown): LogFileError {
  if (error instanceof LogFileError) return error
  const refusal = (sentence: string) => new LogFileError(sentence, { cause: error })
  // The low byte is the primary code.
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : null
  if (code === busy) {
    return refusal(
      `Another server has the log's file ${file} open: stop it, name another file, or set storage: 'memory'.`,
    )
  }
  if (code === corrupt || code === notADatabase || error instanceof SyntaxError) {
    return refusal(`The log's file ${file} is damaged or something else: ${wayOut}.`)
  }
  const reason = error instanceof Error ? error.message : String(error)
  return refusal(`The log's file ${file} cannot be opened (${reason}): ${wayOut}.`)
}

/** State that a server leaves in the file for the next one. */
export interface Life {
  readonly epoch: string
  /** Identifies the machine's boot. */
  readonly boot: string
  readonly durability: 'process' | 'machine'
  readonly isClosed: boolean
}

export interface Numbered {
  readonly seq: number
  readonly entry: Entry
}

/** Ids looked at for the greatest counter, in some ms. */
const mostCounted = 10_000

/** Sizes read ahead for retention. */
const readAhead = 256

/** Throws SQLite's error for damaged tables; see `explain`. */
export function createSqliteStore(database: DatabaseSync) {
  const insert = database.prepare('INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  const find = database.prepare('SELECT * FROM message WHERE id = ? AND sender = ? AND channel = ?')
  const findRepeat = database.prepare(
    `SELECT seq, kind = ? AND at = ? AND body = ? AS is_repeat FROM message
     WHERE id = ? AND sender = ? AND channel = ?`,
  )
  // As REAL: a counter may have more digits than an integer.
  const highest = database.prepare(
    `SELECT max(counter) AS highest, count(*) AS count FROM (
       SELECT CAST(substr(id, length(sender) + 2) AS REAL) AS counter FROM message
       WHERE id > ? || '-' AND id < ? || '.' AND sender = ? AND channel = ? LIMIT ${mostCounted})`,
  )
  const moveOut = database.prepare('INSERT OR REPLACE INTO survivor SELECT * FROM message WHERE seq = ?')
  const erase = database.prepare('DELETE FROM message WHERE seq <= ?')
  const between = database.prepare(
    `SELECT *, octet_length(body) AS bytes FROM message WHERE seq > ? AND seq <= ?
     AND channel IN (SELECT value FROM json_each(?)) ORDER BY seq`,
  )
  const oldest = database.prepare(
    `SELECT octet_length(body) AS bytes, accepted_at AS acceptedAt FROM message WHERE seq > ?
     ORDER BY seq LIMIT ${readAhead}`,
  )
  const readSurvivor = database.prepare('SELECT * FROM survivor WHERE channel = ? AND kind = ?')
  const writeSurvivor = database.prepare('INSERT OR REPLACE INTO survivor VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  const past = database.prepare('SELECT seq FROM past_base WHERE channel = ? AND kind = ? ORDER BY seq')
  const readPast = database.prepare('SELECT * FROM past_base WHERE channel = ? AND kind = ? AND seq = ?')
  const keepPast = database.prepare('INSERT OR REPLACE INTO past_base VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  const forgetPast = database.prepare('DELETE FROM past_base WHERE channel = ? AND kind = ? AND seq = ?')
  const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')

  function insertNumbered({ seq, entry: { draft, acceptedAt, body } }: Numbered): void {
    const { id, channel, kind, from, at } = draft
    insert.run(seq, id, channel, kind, from, at, acceptedAt, body)
  }

  return {
    transaction: <Result>(work: () => Result) => inTransaction(database, work),
    insert: insertNumbered,
    /** Of the stored message with the draft's id: null if it is another one, 0 if there is none. `body` is as JSON. */
    numberOf({ id, channel, kind, from, at }: Draft, body: string): number | null {
      const known = findRepeat.get(kind, at, body, id, from, channel)
      if (!known) return 0
      return known.is_repeat === 1 ? Number(known.seq) : null
    },
    find({ id, from, channel }: Identified): Message | null {
      const row = find.get(id, from, channel)
      return row ? messageOf(row) : null
    },
    /** The greatest counter in the ids of a sender on a channel, or more; 0 for none. Infinite where there are many. */
    highestCounter(sender: string, channel: string): number {
      const { highest: found = null, count = 0 } = highest.get(sender, sender, sender, channel) ?? {}
      return Number(count) === mostCounted ? Number.POSITIVE_INFINITY : Number(found ?? 0)
    },
    erase(after: number, count: number, survives: (seq: number) => boolean): void {
      for (let seq = after + 1; seq <= after + count; seq += 1) if (survives(seq)) moveOut.run(seq)
      erase.run(after + count)
    },
    /** At most `mostBytes`, but at least one message. */
    between(after: number, upTo: number, channels: ReadonlySet<string>, mostBytes: number): Portion {
      const messages: Message[] = []
      let left = mostBytes
      for (const row of between.iterate(after, upTo, JSON.stringify([...channels]))) {
        left -= Number(row.bytes)
        if (left < 0 && messages.length > 0) return { messages, upTo: Number(row.seq) - 1 }
        messages.push(messageOf(row))
      }
      return { messages, upTo }
    },
    oldestAfter: (seq: number) => oldest.all(seq) as unknown as Stored[],
    /** In order; `bytes` is the body's size. */
    last({ messages: mostMessages, bytes: mostBytes }: Bounds) {
      const rows = database.prepare(
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
    },
    /** The newest of each channel and kind, but of none of these kinds, in order. */
    newest(without: readonly string[] = []): Message[] {
      // SQLite returns the row that has the `max` (lang_select.html, 2.5).
      const rows = database.prepare(
        `SELECT *, max(seq) FROM (SELECT * FROM survivor UNION ALL SELECT * FROM message WHERE seq IN
           (SELECT max(seq) FROM message GROUP BY channel, kind))
         WHERE kind NOT IN (SELECT value FROM json_each(?)) GROUP BY channel, kind ORDER BY seq`,
      )
      return rows.all(JSON.stringify(without)).map(messageOf)
    },
    survivors(kinds: readonly string[]): StoredBase[] {
      const rows = database.prepare(
        `SELECT channel, kind, seq, octet_length(body) AS bytes FROM survivor
         WHERE kind IN (SELECT value FROM json_each(?))`,
      )
      return rows.all(JSON.stringify(kinds)) as unknown as StoredBase[]
    },
    readSurvivor(channel: string, kind: Kind): Message | undefined {
      const row = readSurvivor.get(channel, kind)
      return row && messageOf(row)
    },
    /** Commits. Returns the body's size. */
    writeSurvivor({ id, channel, kind, from, at, seq, acceptedAt, body: given }: Message): number {
      const body = JSON.stringify(given)
      writeSurvivor.run(seq, id, channel, kind, from, at, acceptedAt, body)
      return Buffer.byteLength(body)
    },
    pastBases: {
      past: (channel: string, kind: Kind) => past.all(channel, kind).map(({ seq }) => Number(seq)),
      readPast(channel: string, kind: Kind, seq: number): Message | undefined {
        const row = readPast.get(channel, kind, seq)
        return row && messageOf(row)
      },
      keepPast({ id, channel, kind, from, at, seq, acceptedAt, body }: Message): void {
        keepPast.run(seq, id, channel, kind, from, at, acceptedAt, JSON.stringify(body))
      },
      forgetPast: (channel: string, kind: Kind, seq: number) => void forgetPast.run(channel, kind, seq),
    },
    /** Messages of these kinds after their survivors, up to a number; in order. Scans the log. */
    *unfolded(kinds: readonly string[], upTo: number): Generator<{ message: Message; bytes: number }> {
      const rows = database.prepare(
        `SELECT *, octet_length(body) AS bytes FROM message WHERE seq <= ?
           AND kind IN (SELECT value FROM json_each(?))
           AND seq > coalesce((SELECT survivor.seq FROM survivor
             WHERE survivor.channel = message.channel AND survivor.kind = message.kind), 0)
         ORDER BY seq`,
      )
      for (const row of rows.iterate(upTo, JSON.stringify(kinds))) {
        yield { message: messageOf(row), bytes: Number(row.bytes) }
      }
    },
    /** Scans the log. Throws a `SyntaxError` if a message is missing. */
    extent(): Extent {
      const totals = database.prepare(
        `SELECT min(seq) AS first, max(seq) AS last, count(*) AS count, total(octet_length(body)) AS bytes FROM message`,
      )
      const row: Row = totals.get() ?? {}
      const count = Number(row.count)
      // The newest message is erased only after a newer one is stored.
      const head = Number(row.last ?? 0)
      if (count > 0 && count !== head - Number(row.first) + 1) throw new SyntaxError('Messages are missing.')
      return { floor: head - count, head, bytes: Number(row.bytes) }
    },
    readLife(): Life | null {
      const row = database.prepare('SELECT epoch, boot, durability, is_closed AS isClosed FROM life').get()
      return row ? ({ ...row, isClosed: row.isClosed === 1 } as Life) : null
    },
    /**
     * Synced to disk, like later commits until `stopWaitingForDisk`. If a power cut lost the start of a life with its
     * messages, the file would look cleanly closed.
     */
    writeLife({ epoch, boot, durability, isClosed }: Life): void {
      database.exec('PRAGMA synchronous = FULL')
      inTransaction(database, () => {
        database.exec('DELETE FROM life')
        const insertLife = database.prepare('INSERT INTO life VALUES (?, ?, ?, ?)')
        insertLife.run(epoch, boot, durability, Number(isClosed))
      })
    },
    /** From now on commits survive the process, not the machine. */
    stopWaitingForDisk: () => database.exec('PRAGMA synchronous = NORMAL'),
    checkpoint(): void {
      if (database.isOpen) checkpoint.get()
    },
  }
}

type Row = Record<string, SQLOutputValue>

type MessageRow = Pick<Message, 'seq' | 'id' | 'channel' | 'kind' | 'at'> & {
  readonly sender: string
  readonly accepted_at: number
  readonly body: string
}

/** Throws a `SyntaxError` for an invalid body. */
function messageOf(row: Row): Message {
  // STRICT tables, written only by `insert`.
  const { seq, id, channel, kind, sender, at, accepted_at, body } = row as unknown as MessageRow
  return { id, channel, kind, from: sender, at, body: JSON.parse(body), seq, acceptedAt: accepted_at }
}
