// The tables of a log: its messages by number and by channel, and figures of each channel.

import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import zlib from 'node:zlib'
import type { Draft, Kind, Message } from '../../protocol/messages.ts'
import { withoutContent } from './changes.ts'
import { bodyFrom, jsonOfBody, writerOf } from './kept-json.ts'

/** A draft that is being stored. */
export class Entry {
  readonly draft: Draft
  readonly acceptedAt: number
  /** As JSON, and its size. */
  readonly body: string
  readonly bytes: number

  constructor(draft: Draft, acceptedAt: number) {
    this.draft = draft
    this.acceptedAt = acceptedAt
    this.body = jsonOfBody(draft.body)
    this.bytes = Buffer.byteLength(this.body)
  }
}

/** A message without its content. */
export interface Held {
  readonly seq: number
  readonly kind: Kind
  /** Size of the body as JSON. */
  readonly bytes: number
  /** Ms since the epoch. */
  readonly acceptedAt: number
  /** Null if the sender's name is not verified. */
  readonly writer: string | null
}

/** The stored row of a channel; its erased messages do not count. */
export interface ChannelRow {
  readonly number: number
  readonly name: string
  /** See `Channel`. */
  readonly begin: number
  /** The newest number that was dropped, and the number up to which they are erased; 0 for none. */
  readonly floor: number
  readonly erasedTo: number
  readonly head: number
  readonly messages: number
  readonly bytes: number
  readonly isErased: boolean
  /** See `Expiry`. */
  readonly expiresAt: number | null
  readonly spareAt: number | null
}

export interface PileRow {
  readonly channel: number
  readonly kind: Kind
  readonly newest: number
  /** In a cumulative kind, the number of its base; below, the messages after it. */
  readonly base: number
  readonly loose: number
  readonly looseBytes: number
}

/** The place of a message among those of its channel. */
export interface Placed {
  readonly seq: number
  /** The number of the channel's message before it. */
  readonly previous: number
  /** Size of the body as JSON. */
  readonly bytes: number
}

export interface ShareRow {
  readonly channel: number
  readonly writer: string
  readonly messages: number
  readonly bytes: number
}

/**
 * Stores one base for each channel and kind, with the envelope of the newest message that it
 * contains.
 */
export interface BaseStore {
  readonly read: (channel: string, kind: Kind) => Message | undefined
  /** Durable when it returns. Returns the size of the body as JSON. */
  readonly write: (base: Message) => number
  /** The numbers of past bases, at which older content begins; ascending. */
  readonly past: (channel: string, kind: Kind) => readonly number[]
  readonly readPast: (channel: string, kind: Kind, seq: number) => Message | undefined
  readonly keepPast: (base: Message) => void
  readonly forgetPast: (channel: string, kind: Kind, seq: number) => void
}

const envelope = `
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  sender TEXT NOT NULL,
  at REAL NOT NULL,
  accepted_at REAL NOT NULL,
  body TEXT NOT NULL,
  checksum INTEGER,
  writer TEXT`

/** Kinds that nobody reads backwards: they need no entry in `message_kind`. */
export const notReadBack: readonly Kind[] = ['change', 'update']
const isReadBack = notReadBack.map((kind) => `kind <> '${kind}'`).join(' AND ')

/** Find the changes of a message, and the newest messages of a kind. Logs of earlier versions lack them. */
const laterIndexes = `
CREATE INDEX IF NOT EXISTS message_change ON message (channel, json_extract(body, '$.seq'))
  WHERE kind = 'change';
CREATE INDEX IF NOT EXISTS message_kind ON message (channel, kind) WHERE ${isReadBack};`

/**
 * `message.previous` is the number of the channel's message before this one, so that a reader notices a
 * missing one. A channel's messages up to `floor` are dropped, and erased up to `erased_to`, except the
 * newest of each kind and those of cumulative kinds that are in no base. The rows of `channel`, `pile`
 * and `share` hold up to the message `meta.mark`; later messages are read at the start. A channel
 * without a name was erased; its messages follow in portions.
 */
export const tables = `
CREATE TABLE message (
  seq INTEGER NOT NULL, channel INTEGER NOT NULL, previous INTEGER NOT NULL, ${envelope},
  PRIMARY KEY (seq), UNIQUE (channel, id, sender)) STRICT;
CREATE INDEX message_channel ON message (channel, seq);
${laterIndexes}
CREATE TABLE base (
  channel INTEGER NOT NULL, seq INTEGER NOT NULL, is_past INTEGER NOT NULL, ${envelope},
  PRIMARY KEY (channel, kind, seq)) STRICT;
CREATE TABLE channel (
  number INTEGER NOT NULL, name TEXT UNIQUE, begin INTEGER NOT NULL, floor INTEGER NOT NULL,
  erased_to INTEGER NOT NULL, head INTEGER NOT NULL, messages INTEGER NOT NULL, bytes INTEGER NOT NULL, is_erased INTEGER NOT NULL,
  expires_at REAL, spare_at REAL, checksum INTEGER NOT NULL, PRIMARY KEY (number)) STRICT;
CREATE TABLE pile (
  channel INTEGER NOT NULL, kind TEXT NOT NULL, newest INTEGER NOT NULL, base INTEGER NOT NULL,
  loose INTEGER NOT NULL, loose_bytes INTEGER NOT NULL, checksum INTEGER NOT NULL,
  PRIMARY KEY (channel, kind)) STRICT, WITHOUT ROWID;
CREATE TABLE share (
  channel INTEGER NOT NULL, writer TEXT NOT NULL, messages INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (channel, writer)) STRICT, WITHOUT ROWID;
CREATE TABLE meta (name TEXT NOT NULL, value INTEGER NOT NULL, PRIMARY KEY (name)) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('mark', 0), ('missing', 0), ('channels', 0);
`

/** Throws SQLite's error for damaged tables, and a `SyntaxError` for damaged rows. */
export class Tables {
  readonly #database: DatabaseSync
  readonly #isChecked: boolean
  readonly #sql: ReturnType<typeof prepareStatements>

  /** `isChecked`: messages get checksums, which memory does not need. */
  constructor(database: DatabaseSync, isChecked = true) {
    this.#database = database
    this.#isChecked = isChecked
    database.exec(laterIndexes)
    this.#sql = prepareStatements(database)
  }

  get isOpen(): boolean {
    return this.#database.isOpen
  }

  transaction<Result>(work: () => Result): Result {
    return inTransaction(this.#database, work)
  }

  /**
   * Returns the channel's number. `floor` is the number up to which an erased channel of this name had
   * dropped its messages.
   */
  addChannel(name: string, begin: number, floor = 0): number {
    const row = {
      name,
      begin,
      floor,
      erasedTo: floor,
      head: 0,
      messages: 0,
      bytes: 0,
      isErased: false,
      expiresAt: null,
      spareAt: null,
    }
    const number = Number(this.#sql.addChannel.run(...channelValues(row)).lastInsertRowid)
    this.#sql.countChannels.run(1)
    return number
  }

  /**
   * Returns the message's number, or a repeat's stored number; null if another message has the id.
   */
  insert(seq: number, channel: number, previous: number, { draft, acceptedAt, body }: Entry): number | null {
    const { id, kind, from, at } = draft
    const checksum = this.#isChecked ? checksumOf(seq, draft, acceptedAt, body) : null
    const writer = writerOf(draft)
    const { insert } = this.#sql
    const stored = insert.run(seq, channel, previous, id, kind, from, at, acceptedAt, body, checksum, writer)
    if (Number(stored.changes) > 0) return seq
    const known = this.#sql.findRepeat.get(kind, at, body, channel, id, from)
    return known?.is_repeat === 1 ? Number(known.seq) : null
  }

  find(channel: number, name: string, { id, from }: Pick<Draft, 'id' | 'from'>): Message | null {
    const row = this.#sql.find.get(channel, id, from)
    return row ? messageIn(row, name) : null
  }

  /** Throws a `SyntaxError` if it is missing. */
  message(seq: number, channel: number, name: string): Message {
    const message = this.findNumber(seq, channel, name)
    if (!message) throw missing()
    return message
  }

  findNumber(seq: number, channel: number, name: string): Message | undefined {
    const row = this.#sql.message.get(seq, channel)
    return row && messageIn(row, name)
  }

  /** The newest change of each of these messages that has one, by the message's number. */
  changes(channel: number, name: string, seqs: readonly number[]): Map<number, Message<'change'>> {
    const rows = this.#sql.changes.all(JSON.stringify(seqs), channel)
    const messages = rows.map((row) => messageIn(row, name) as Message<'change'>)
    return new Map(messages.map((change) => [change.body.seq, change]))
  }

  /** Leaves a message and its changes before a number without content. */
  eraseContent(channel: number, name: string, target: number, before: number): void {
    for (const row of this.#sql.contents.all(channel, target, channel, target, before)) {
      const { seq, acceptedAt, body, ...draft } = messageIn(row, name)
      const text = withoutContent(jsonOfBody(body))
      const checksum = this.#isChecked ? checksumOf(seq, draft, acceptedAt, text) : null
      this.#sql.setBody.run(text, checksum, seq)
    }
  }

  /** The oldest messages of one channel after a number and up to another one, in order. */
  after(channel: number, seq: number, upTo: number, count: number): Placed[] {
    return this.#sql.after.all(channel, seq, upTo, count).map(placedIn)
  }

  /**
   * The newest messages of one kind on a channel before a number and after another one, the newest first, unless
   * the kind is in `notReadBack`. Throws a `SyntaxError` if the channel's message before one of them is missing.
   */
  before(channel: number, kind: Kind, seq: number, after: number, count: number): Placed[] {
    return this.#sql.before.all(channel, kind, seq, after, count).map((row) => {
      if (row.is_cut === 1) throw missing()
      return placedIn(row)
    })
  }

  /** The messages with these numbers, in order. Throws a `SyntaxError` if one is missing or damaged. */
  messages(seqs: readonly number[], nameOf: (channel: number) => string): Message[] {
    const rows = this.#sql.messages.all(JSON.stringify(seqs))
    if (rows.length < seqs.length) throw missing()
    return rows.map((row) => messageIn(row, nameOf(Number(row.channel))))
  }

  /** The oldest message of a channel after a number. */
  held(channel: number, after: number, count: number): Held[] {
    return this.#sql.held.all(channel, after, count).map(heldIn)
  }

  /** Messages of one kind on a channel, in order. */
  ofKind(channel: number, name: string, kind: Kind, after: number, upTo: number): Message[] {
    return Array.from(this.#sql.ofKind.iterate(channel, after, upTo, kind), (row) => messageIn(row, name))
  }

  /** Number and size of a channel's messages of one kind after a number. */
  countOfKind(channel: number, kind: Kind, after: number): { loose: number; looseBytes: number } {
    const row = this.#sql.countOfKind.get(channel, after, kind) ?? {}
    return { loose: Number(row.count), looseBytes: Number(row.bytes) }
  }

  /** All messages after a number, in order. */
  *all(after: number): Generator<Held & { readonly channel: number; readonly previous: number }> {
    for (const row of this.#sql.all.iterate(after))
      yield { ...heldIn(row), channel: Number(row.channel), previous: Number(row.previous) }
  }

  /** Reads all messages and bases. Throws a `SyntaxError` if one is missing or damaged. */
  check(): void {
    const channels = new Map(this.channels().map((row) => [row.number, { ...row, last: 0 }]))
    for (const row of this.#database.prepare('SELECT * FROM base').iterate()) {
      const channel = channels.get(Number(row.channel))
      if (channel) messageIn(row, channel.name)
    }
    for (const row of this.#database.prepare('SELECT * FROM message ORDER BY seq').iterate()) {
      const channel = channels.get(Number(row.channel))
      // It is being erased.
      if (!channel) continue
      const { seq } = messageIn(row, channel.name)
      const previous = Number(row.previous)
      const { last, floor } = channel
      const isFirst = previous <= floor && last <= floor
      if (seq > floor && previous !== last && !isFirst) throw missing()
      channel.last = seq
    }
    for (const { last, head, floor } of channels.values()) if (last < head && head > floor) throw missing()
  }

  /** Number of a channel's messages between two numbers. */
  countBetween(channel: number, after: number, before: number): number {
    return Number(this.#sql.countBetween.get(channel, after, before)?.count)
  }

  /** The age of some messages after a number, in order. */
  ages(after: number, count: number) {
    return this.#sql.ages.all(after, count).map(({ seq, channel, accepted_at }) => ({
      seq: Number(seq),
      channel: Number(channel),
      acceptedAt: Number(accepted_at),
    }))
  }

  /** The newest number; its message may have been erased. */
  head(): number {
    return Math.max(Number(this.#sql.head.get()?.head ?? 0), this.meta('mark'))
  }

  /** Erases a channel's messages up to a number, except some. */
  erase(channel: number, upTo: number, survivors: readonly number[]): void {
    this.#sql.erase.run(channel, upTo, JSON.stringify(survivors))
  }

  /** From now on the channel is a different one, without a name. */
  eraseChannel(channel: number): void {
    this.#sql.unname.run(channel)
    for (const statement of [this.#sql.erasePiles, this.#sql.eraseShares, this.#sql.eraseBases])
      statement.run(channel)
  }

  /**
   * Erases a portion of a channel without a name: one message, or as many as are within `most`. Returns
   * whether that was all.
   */
  erasePortion(channel: number, most: { readonly messages: number; readonly bytes: number }): boolean {
    const first = this.held(channel, 0, most.messages)
    let bytes = 0
    const end = first.findIndex((held, index) => {
      bytes += held.bytes
      return index > 0 && bytes > most.bytes
    })
    const last = first.at(end < 0 ? -1 : end - 1)
    if (last) this.erase(channel, last.seq, [])
    if (end >= 0 || first.length === most.messages) return false
    this.#sql.eraseChannel.run(channel)
    this.#sql.countChannels.run(-1)
    return true
  }

  /** The channels without a name that may still have messages. */
  erased(): number[] {
    return this.#sql.erased.all().map(({ number }) => Number(number))
  }

  /** Throws a `SyntaxError` if one is missing or damaged. */
  channels(): ChannelRow[] {
    const rows = this.#database.prepare('SELECT * FROM channel').all()
    if (rows.length !== this.meta('channels')) throw missing()
    return rows
      .filter(({ name }) => name !== null)
      .map((row) => {
        const found = channelIn(row)
        if (channelValues(found).at(-1) !== row.checksum)
          throw new SyntaxError(`Channel ${found.number} does not match its checksum.`)
        return found
      })
  }

  writeChannel(row: ChannelRow): void {
    this.#sql.writeChannel.run(row.number, ...channelValues(row))
  }

  *piles(): Generator<PileRow> {
    for (const row of this.#database.prepare('SELECT * FROM pile').iterate()) {
      const found = pileIn(row)
      if (checksumOfAll(pileFields(found)) !== row.checksum)
        throw new SyntaxError(`Pile "${found.kind}" of channel ${found.channel} does not match its checksum.`)
      yield found
    }
  }

  writePile(row: PileRow): void {
    const fields = pileFields(row)
    this.#sql.writePile.run(...fields, checksumOfAll(fields))
  }

  *shares(): Generator<ShareRow> {
    for (const row of this.#database.prepare('SELECT * FROM share').iterate())
      yield {
        channel: Number(row.channel),
        writer: String(row.writer),
        messages: Number(row.messages),
        bytes: Number(row.bytes),
      }
  }

  /** Removes the row if nothing is left. */
  writeShare({ channel, writer, messages, bytes }: ShareRow): void {
    if (messages > 0) this.#sql.writeShare.run(channel, writer, messages, bytes)
    else this.#sql.eraseShare.run(channel, writer)
  }

  /** Number and size of the current base of each channel and cumulative kind. */
  bases(): readonly {
    readonly channel: number
    readonly kind: Kind
    readonly seq: number
    readonly bytes: number
  }[] {
    return this.#database
      .prepare('SELECT channel, kind, seq, octet_length(body) AS bytes FROM base WHERE is_past = 0')
      .all()
      .map((row) => ({
        channel: Number(row.channel),
        kind: row.kind as Kind,
        seq: Number(row.seq),
        bytes: Number(row.bytes),
      }))
  }

  /** Each write is a commit. `numberOf` finds an existing channel. */
  baseStore(numberOf: (channel: string) => number | undefined): BaseStore {
    const sql = this.#sql
    const read = (statement: StatementSync, channel: string, kind: Kind, ...more: number[]) => {
      const number = numberOf(channel)
      const row = number === undefined ? undefined : statement.get(number, kind, ...more)
      return row && messageIn(row, channel)
    }
    const write = (base: Message, isPast: boolean): number => {
      const number = numberOf(base.channel)
      if (number === undefined) return 0
      const { id, kind, from, at, seq, acceptedAt } = base
      const body = jsonOfBody(base.body)
      const checksum = checksumOf(seq, base, acceptedAt, body)
      if (!isPast) sql.retireBase.run(number, kind)
      sql.writeBase.run(number, seq, isPast ? 1 : 0, id, kind, from, at, acceptedAt, body, checksum)
      return Buffer.byteLength(body)
    }
    return {
      read: (channel, kind) => read(sql.readBase, channel, kind),
      write: (base) => this.transaction(() => write(base, false)),
      past: (channel, kind) => sql.past.all(numberOf(channel) ?? 0, kind).map(({ seq }) => Number(seq)),
      readPast: (channel, kind, seq) => read(sql.readPast, channel, kind, seq),
      keepPast: (base) => void write(base, true),
      forgetPast: (channel, kind, seq) => void sql.forgetPast.run(numberOf(channel) ?? 0, kind, seq),
    }
  }

  meta(name: 'mark' | 'missing' | 'channels'): number {
    return Number(this.#sql.meta.get(name)?.value ?? 0)
  }

  setMeta(name: 'mark' | 'missing', value: number): void {
    this.#sql.setMeta.run(value, name)
  }
}

export function inTransaction<Result>(database: DatabaseSync, work: () => Result): Result {
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
export const codes = { busy: 5, corrupt: 11, full: 13, notADatabase: 26 }
/** The shared memory of the write-ahead log cannot grow. */
const fullForSharedMemory = 4874

/** The primary code, which is the low byte; null for errors of other origin. */
export function codeOf(error: unknown): number | null {
  if (!(error instanceof Error && 'errcode' in error)) return null
  return error.errcode === fullForSharedMemory ? codes.full : Number(error.errcode) & 0xff
}

/** Whether the disk has no room. */
export function isFull(error: unknown): boolean {
  return (
    codeOf(error) === codes.full || (error instanceof Error && 'code' in error && error.code === 'ENOSPC')
  )
}

/** Whether data was read that differs from what was written. */
export function isDamage(error: unknown): boolean {
  return error instanceof SyntaxError || codeOf(error) === codes.corrupt
}

/** Statements used for every message, fold or read. */
function prepareStatements(database: DatabaseSync) {
  const sql = (text: string) => database.prepare(text)
  const light = 'seq, kind, octet_length(body) AS bytes, accepted_at, writer'
  const channel =
    'channel (name, begin, floor, erased_to, head, messages, bytes, is_erased, expires_at, spare_at, checksum)'
  return {
    addChannel: sql(`INSERT INTO ${channel} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    writeChannel: sql('INSERT OR REPLACE INTO channel VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    countChannels: sql("UPDATE meta SET value = value + ? WHERE name = 'channels'"),
    insert: sql(
      'INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (channel, id, sender) DO NOTHING',
    ),
    findRepeat: sql(
      `SELECT seq, kind = ? AND at = ? AND body = ? AS is_repeat FROM message
       WHERE channel = ? AND id = ? AND sender = ?`,
    ),
    find: sql('SELECT * FROM message WHERE channel = ? AND id = ? AND sender = ?'),
    message: sql('SELECT * FROM message WHERE seq = ? AND channel = ?'),
    after: sql(
      `SELECT seq, previous, octet_length(body) AS bytes FROM message
       WHERE channel = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
    ),
    // SQLite would otherwise read all kinds, or all of the channel.
    before: sql(
      `SELECT seq, previous, octet_length(body) AS bytes,
         previous > ?4 AND NOT EXISTS (SELECT 1 FROM message AS one WHERE one.seq = message.previous) AS is_cut
       FROM message INDEXED BY message_kind
       WHERE ${isReadBack} AND channel = ?1 AND kind = ?2 AND seq < ?3 AND seq > ?4
       ORDER BY seq DESC LIMIT ?5`,
    ),
    changes: sql(
      `SELECT * FROM message WHERE seq IN (
         SELECT (SELECT max(seq) FROM message INDEXED BY message_change
           WHERE kind = 'change' AND channel = ?2 AND json_extract(body, '$.seq') = wanted.value)
         FROM json_each(?1) AS wanted)`,
    ),
    contents: sql(
      `SELECT * FROM message WHERE channel = ? AND seq = ? AND kind = 'json'
       UNION ALL SELECT * FROM message WHERE kind = 'change' AND channel = ?
       AND json_extract(body, '$.seq') = ? AND seq < ?`,
    ),
    setBody: sql('UPDATE message SET body = ?, checksum = ? WHERE seq = ?'),
    messages: sql('SELECT * FROM message WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq'),
    held: sql(`SELECT ${light} FROM message WHERE channel = ? AND seq > ? ORDER BY seq LIMIT ?`),
    ofKind: sql('SELECT * FROM message WHERE channel = ? AND seq > ? AND seq <= ? AND kind = ? ORDER BY seq'),
    countOfKind: sql(
      `SELECT count(*) AS count, total(octet_length(body)) AS bytes FROM message
       WHERE channel = ? AND seq > ? AND kind = ?`,
    ),
    countBetween: sql('SELECT count(*) AS count FROM message WHERE channel = ? AND seq > ? AND seq < ?'),
    ages: sql('SELECT seq, channel, accepted_at FROM message WHERE seq > ? ORDER BY seq LIMIT ?'),
    all: sql(`SELECT ${light}, channel, previous FROM message WHERE seq > ? ORDER BY seq`),
    head: sql('SELECT max(seq) AS head FROM message'),
    erase: sql(
      `DELETE FROM message WHERE channel = ? AND seq <= ?
       AND seq NOT IN (SELECT value FROM json_each(?))`,
    ),
    unname: sql('UPDATE channel SET name = NULL WHERE number = ?'),
    erased: sql('SELECT number FROM channel WHERE name IS NULL'),
    eraseChannel: sql('DELETE FROM channel WHERE number = ?'),
    erasePiles: sql('DELETE FROM pile WHERE channel = ?'),
    eraseShares: sql('DELETE FROM share WHERE channel = ?'),
    eraseBases: sql('DELETE FROM base WHERE channel = ?'),
    writePile: sql('INSERT OR REPLACE INTO pile VALUES (?, ?, ?, ?, ?, ?, ?)'),
    writeShare: sql('INSERT OR REPLACE INTO share VALUES (?, ?, ?, ?)'),
    eraseShare: sql('DELETE FROM share WHERE channel = ? AND writer = ?'),
    readBase: sql('SELECT * FROM base WHERE channel = ? AND kind = ? AND is_past = 0'),
    retireBase: sql('DELETE FROM base WHERE channel = ? AND kind = ? AND is_past = 0'),
    writeBase: sql('INSERT OR REPLACE INTO base VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)'),
    past: sql('SELECT seq FROM base WHERE channel = ? AND kind = ? AND is_past = 1 ORDER BY seq'),
    readPast: sql('SELECT * FROM base WHERE channel = ? AND kind = ? AND seq = ? AND is_past = 1'),
    forgetPast: sql('DELETE FROM base WHERE channel = ? AND kind = ? AND seq = ? AND is_past = 1'),
    meta: sql('SELECT value FROM meta WHERE name = ?'),
    setMeta: sql('UPDATE meta SET value = ? WHERE name = ?'),
  }
}

type Row = Record<string, SQLOutputValue>

export const missing = () => new SyntaxError('Messages are missing.')

/** Throws a `SyntaxError` if it differs from what was stored. */
function messageIn(row: Row, channel: string): Message {
  // The tables are STRICT, and only this module writes to them.
  const { seq, id, kind, sender, at, accepted_at, checksum, writer, body } = row as unknown as MessageRow
  const draft = { id, channel, kind, from: sender, at }
  if (checksum !== null && checksum !== checksumOf(seq, draft, accepted_at, body))
    throw new SyntaxError(`Message ${seq} does not match its checksum.`)
  return { ...draft, body: bodyFrom(kind, body, writer), seq, acceptedAt: accepted_at }
}

type MessageRow = Pick<Message, 'seq' | 'id' | 'kind' | 'at'> & {
  readonly sender: string
  readonly accepted_at: number
  readonly body: string
  readonly checksum: number | null
  readonly writer: string | null
}

const placedIn = ({ seq, previous, bytes }: Row): Placed => ({
  seq: Number(seq),
  previous: Number(previous),
  bytes: Number(bytes),
})

function heldIn({ seq, kind, bytes, accepted_at, writer }: Row): Held {
  return {
    seq: Number(seq),
    kind: kind as Kind,
    bytes: Number(bytes),
    acceptedAt: Number(accepted_at),
    writer: writer === null ? null : String(writer),
  }
}

function channelIn(row: Row): ChannelRow {
  const { number, name, begin, floor, erased_to, head, messages, bytes } = row
  const { is_erased, expires_at, spare_at } = row
  return {
    number: Number(number),
    name: String(name),
    begin: Number(begin),
    floor: Number(floor),
    erasedTo: Number(erased_to),
    head: Number(head),
    messages: Number(messages),
    bytes: Number(bytes),
    isErased: is_erased === 1,
    expiresAt: expires_at === null ? null : Number(expires_at),
    spareAt: spare_at === null ? null : Number(spare_at),
  }
}

/** In the order of the table, with the checksum. */
function channelValues(row: Omit<ChannelRow, 'number'>) {
  const { name, begin, floor, erasedTo, head, messages, bytes, isErased, expiresAt, spareAt } = row
  const fields = [
    name,
    begin,
    floor,
    erasedTo,
    head,
    messages,
    bytes,
    isErased ? 1 : 0,
    expiresAt,
    spareAt,
  ] as const
  return [...fields, checksumOfAll(fields)] as const
}

function pileIn({ channel, kind, newest, base, loose, loose_bytes }: Row): PileRow {
  return {
    channel: Number(channel),
    kind: kind as Kind,
    newest: Number(newest),
    base: Number(base),
    loose: Number(loose),
    looseBytes: Number(loose_bytes),
  }
}

const pileFields = ({ channel, kind, newest, base, loose, looseBytes }: PileRow) =>
  [channel, kind, newest, base, loose, looseBytes] as const

/** Computed with the name of the channel, not its number in the table. */
const checksumOf = (
  seq: number,
  { id, channel, kind, from, at }: Omit<Draft, 'body'>,
  acceptedAt: number,
  body: string,
) => checksumOfAll([seq, id, channel, kind, from, at, acceptedAt, body])

const checksumOfAll = (fields: readonly (string | number | null)[]) => zlib.crc32(fields.join(' '))
