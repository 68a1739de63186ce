// What a log asks of its file: prepared statements behind plain verbs.

import type { DatabaseSync } from 'node:sqlite'
import type { Message } from '../wire/envelope.ts'
import type { Life } from './epoch.ts'
import type { Extent, Stored } from './retention.ts'
import type { Entry } from './sequencer.ts'
import { messageOf, type Row, valuesOf } from './sqlite-schema.ts'
import type { Portion } from './tail.ts'

/** A message with the size of its body, bytes. */
export interface Sized {
  readonly message: Message
  readonly bytes: number
}

export interface Store {
  /** Gives the entry this number, or returns the one that its id has. */
  readonly insert: (entry: Entry, seq: number) => number
  /** Erases messages after one number up to another; moves those that survive out of the way first. */
  readonly erase: (after: number, upTo: number, survives: (seq: number) => boolean) => void
  /** Messages after one number up to another on these channels, while they are at most `mostBytes`, but one at least. */
  readonly between: (range: Range, channels: ReadonlySet<string>) => Portion
  readonly oldestAfter: (seq: number) => Stored[]
  /** The last ones in order, at most as many and as large. */
  readonly last: (messages: number, bytes: number) => Sized[]
  /** The newest of each channel and kind, in order. */
  readonly newest: () => Message[]
  /** Reads through the whole log. Throws a `SyntaxError` when a message is missing. */
  readonly extent: () => Extent
  readonly readLife: () => Life | null
  readonly writeLife: (life: Life) => void
}

export interface Range {
  readonly after: number
  readonly upTo: number
  /** Of bodies as JSON. */
  readonly mostBytes: number
}

/** How many sizes are read ahead for the messages that have to go next. */
const readAhead = 256

export function createStore(database: DatabaseSync): Store {
  const insert = database.prepare(
    'INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
  )
  const seqOfId = database.prepare('SELECT seq FROM message WHERE id = ?')
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

  return {
    insert(entry, seq) {
      if (insert.run(...valuesOf(entry, seq)).changes === 1) return seq
      return Number(seqOfId.get(entry.draft.id)?.seq)
    },
    erase(after, upTo, survives) {
      for (let seq = after + 1; seq <= upTo; seq += 1) if (survives(seq)) moveOut.run(seq)
      erase.run(upTo)
    },
    between({ after, upTo, mostBytes }, channels) {
      const messages: Message[] = []
      let left = mostBytes
      for (const row of between.iterate(after, upTo, JSON.stringify([...channels]))) {
        left -= Number(row.bytes)
        if (left < 0 && messages.length > 0) return { messages, upTo: Number(row.seq) - 1 }
        messages.push(messageOf(row))
      }
      return { messages, upTo }
    },
    oldestAfter: (seq) => oldest.all(seq).map((row) => row as unknown as Stored),
    last: (messages, bytes) => readLast(database, messages, bytes),
    newest: () => readNewest(database),
    extent: () => readExtent(database),
    readLife: () => readLife(database),
    writeLife: (life) => writeLife(database, life),
  }
}

function readLast(database: DatabaseSync, most: number, mostBytes: number): Sized[] {
  const rows = database.prepare(
    'SELECT *, octet_length(body) AS bytes FROM message ORDER BY seq DESC LIMIT ?',
  )
  const found: Sized[] = []
  let left = mostBytes
  for (const row of rows.iterate(most)) {
    const bytes = Number(row.bytes)
    left -= bytes
    if (left < 0) break
    found.push({ message: messageOf(row), bytes })
  }
  return found.reverse()
}

/** Of equal channel and kind SQLite takes the row that has the `max` (lang_select.html, 2.5). */
function readNewest(database: DatabaseSync): Message[] {
  const rows = database.prepare(
    `SELECT *, max(seq) FROM (SELECT * FROM survivor UNION ALL SELECT * FROM message WHERE seq IN
       (SELECT max(seq) FROM message GROUP BY channel, kind))
     GROUP BY channel, kind ORDER BY seq`,
  )
  return rows.all().map(messageOf)
}

/** The newest message is never erased before a newer one is in, so that the table tells the head. */
function readExtent(database: DatabaseSync): Extent {
  const row: Row =
    database
      .prepare(
        `SELECT min(seq) AS first, max(seq) AS last, count(*) AS count, total(octet_length(body)) AS bytes FROM message`,
      )
      .get() ?? {}
  const count = Number(row.count)
  const head = Number(row.last ?? 0)
  if (count > 0 && count !== head - Number(row.first) + 1) throw new SyntaxError('Messages are missing.')
  return { floor: head - count, head, bytes: Number(row.bytes) }
}

function readLife(database: DatabaseSync): Life | null {
  const row = database.prepare('SELECT * FROM life').get()
  if (!row) return null
  const durability = row.durability === 'machine' ? 'machine' : 'process'
  return {
    epoch: String(row.epoch),
    boot: String(row.boot),
    durability,
    isClosed: row.is_closed === 1,
  }
}

function writeLife(database: DatabaseSync, { epoch, boot, durability, isClosed }: Life): void {
  database.exec('DELETE FROM life')
  database.prepare('INSERT INTO life VALUES (?, ?, ?, ?)').run(epoch, boot, durability, Number(isClosed))
}
