// The tables of a log's file, and how a message lies in them.

import type { SQLOutputValue } from 'node:sqlite'
import type { Draft, Message } from '../wire/envelope.ts'
import type { Entry } from './sequencer.ts'

/** In the file's header (SQLite file format, 1.3.14 and 1.3.17): "XWND", and the version of the tables below. */
export const applicationId = 0x58574e44
export const schemaVersion = 1

const columns = `
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL,
  sender TEXT NOT NULL,
  at REAL NOT NULL,
  accepted_at REAL NOT NULL,
  body TEXT NOT NULL`

/**
 * `message` has no gap between its first and last row. `survivor` takes the newest of a channel and kind when its row in
 * `message` is erased, and only then: the snapshot costs an append nothing. A survivor stays when a newer one lies in
 * `message`; the greater number counts. `life` has one row.
 */
export const schema = `
CREATE TABLE message (${columns}, PRIMARY KEY (seq), UNIQUE (id)) STRICT;
CREATE TABLE survivor (${columns}, PRIMARY KEY (channel, kind)) STRICT;
CREATE TABLE life (epoch TEXT NOT NULL, boot TEXT NOT NULL, durability TEXT NOT NULL, is_closed INTEGER NOT NULL) STRICT;
PRAGMA application_id = ${applicationId};
PRAGMA user_version = ${schemaVersion};
`

export type Row = Record<string, SQLOutputValue>

interface MessageRow {
  seq: number
  id: string
  channel: string
  kind: Draft['kind']
  sender: string
  at: number
  accepted_at: number
  body: string
}

/** Throws a `SyntaxError` when the body is no JSON. */
export function messageOf(row: Row): Message {
  // STRICT tables hold what was put in, and only `valuesOf` puts in.
  const { seq, id, channel, kind, sender, at, accepted_at, body } = row as unknown as MessageRow
  return { id, channel, kind, from: sender, at, body: JSON.parse(body), seq, acceptedAt: accepted_at }
}

/** In the order of the columns. */
export function valuesOf({ draft, acceptedAt, body }: Entry, seq: number): (string | number)[] {
  const { id, channel, kind, from, at } = draft
  return [seq, id, channel, kind, from, at, acceptedAt, body]
}
