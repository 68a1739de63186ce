// The store of a log in PostgreSQL: its tables, over two connections.

import { Client, type ClientConfig, DatabaseError } from 'pg'
import {
  type KeptText,
  type LogStore,
  newEpoch,
  StorageUnfit,
  StoreConnection,
  type StoreDraft,
  type StoreEvents,
  type StorePage,
  type StoreState,
} from '../storage.ts'
import { partsOf, readParts } from './notes.ts'
import { keepSql, readSql, schemaSql, version } from './schema.ts'

interface PostgresStoreParts extends StoreEvents {
  readonly addresses: readonly string[]
  readonly schema: string
  readonly place: string
}

const timeouts = {
  connectionTimeoutMillis: 2000,
  query_timeout: 5000,
  keepAlive: true,
} satisfies ClientConfig

/** Codes of errors (PostgreSQL's documentation, appendix A). */
const codes = {
  /** No such schema, table, function. */
  missing: ['3F000', '42P01', '42883'],
  /** No such role or password; no such database; no right. */
  denied: ['28000', '28P01', '3D000', '42501'],
  /** This server has become a standby. */
  readOnly: '25006',
}

const codeOf = (error: unknown) => (error instanceof DatabaseError ? (error.code ?? '') : '')

type Row = Readonly<Record<string, unknown>>

export class PostgresStore implements LogStore {
  readonly #parts: PostgresStoreParts
  /** Writes, each of which waits for the disk. */
  readonly #writing: StoreConnection<Client>
  /** Reads and listens meanwhile, and sends notes, whose commits need not wait for the disk. */
  readonly #listening: StoreConnection<Client>
  #notes: string[] = []

  constructor(parts: PostgresStoreParts) {
    this.#parts = parts
    const { addresses, onAppended, onReturned } = parts
    const end = (client: Client) => client.end().catch(() => undefined)
    this.#writing = new StoreConnection({
      addresses,
      end,
      open: (address, onBroken) => connect(address, onBroken, durable),
    })
    this.#listening = new StoreConnection({
      addresses,
      end,
      open: (address, onBroken) => this.#listen(address, onBroken),
      onReopened() {
        onReturned()
        onAppended()
      },
    })
  }

  async open(): Promise<void> {
    const { place, schema } = this.#parts
    try {
      await this.#create()
      await this.#listening.use(async () => undefined)
    } catch (error) {
      if (!codes.denied.includes(codeOf(error))) throw error
      throw new StorageUnfit(
        `Crosswind cannot use ${place}: ${(error as Error).message}. Its role needs the right CREATE on the database, or the schema ${schema} as its own.`,
        { cause: error },
      )
    }
  }

  /** Creates the tables unless they exist; of servers that start together, one does. */
  async #create(): Promise<void> {
    const { schema, place } = this.#parts
    const found = await this.#version()
    if (found === null)
      await this.#write(`
        SELECT pg_advisory_xact_lock(hashtext('crosswind ${schema}'));
        DO $do$ BEGIN
          IF to_regnamespace('"${schema}"') IS NULL THEN
            CREATE SCHEMA "${schema}";
          END IF;
          IF to_regclass('"${schema}".log') IS NULL THEN
            ${schemaSql(schema)}
            INSERT INTO "${schema}".log (version, epoch, head) VALUES (${version}, '${newEpoch(Math.random)}', 0);
          END IF;
        END $do$`)
    const current = found ?? (await this.#version())
    if (current !== version)
      throw new StorageUnfit(
        `The schema ${schema} of ${place} has version ${current}; this server uses version ${version}. Use @crosswind/postgres of the version that made it, or another schema.`,
      )
  }

  async #version(): Promise<number | null> {
    const { schema } = this.#parts
    const [{ exists } = {}] = await this.#write(`SELECT to_regclass('"${schema}".log') IS NOT NULL AS exists`)
    if (!exists) return null
    const [row] = await this.#write(`SELECT version FROM "${schema}".log`)
    return row ? Number(row.version) : null
  }

  async read(after: number): Promise<StorePage | null> {
    const rows = await query(this.#listening, readSql(this.#parts.schema), [after]).catch(nullIfMissing)
    const [first] = rows ?? []
    if (!rows || !first) return null
    return {
      epoch: String(first.epoch),
      head: Number(first.head),
      last: first.key === null ? null : { key: String(first.key), acceptedAt: Number(first.accepted_at) },
      messages: rows
        .filter(({ seq }) => seq !== null)
        .map(({ seq, text }) => ({ seq: Number(seq), text: String(text) })),
    }
  }

  async append(
    drafts: readonly StoreDraft[],
    { epoch, head }: StoreState,
  ): Promise<readonly number[] | null> {
    const rows = await this.#write(
      `SELECT "${this.#parts.schema}".append($1, $2, $3, $4, $5, $6, $7)::float8[] AS numbers`,
      [
        epoch,
        head,
        drafts.map(({ key }) => key),
        drafts.map(({ channel }) => channel),
        drafts.map(({ acceptedAt }) => acceptedAt),
        drafts.map(({ text }) => text),
        drafts.map(({ erased }) => erased),
      ],
    ).catch(nullIfMissing)
    return (rows?.[0]?.numbers as readonly number[] | null | undefined) ?? null
  }

  async endEpoch(epoch: string, next: string): Promise<void> {
    await this.#write(`UPDATE "${this.#parts.schema}".log SET epoch = $2 WHERE epoch = $1`, [epoch, next])
  }

  readonly purge = async (channel: string, before: number): Promise<void> => {
    await this.#write(`DELETE FROM "${this.#parts.schema}".message WHERE channel = $1 AND seq < $2`, [
      channel,
      before,
    ])
  }

  async kept(): Promise<readonly KeptText[]> {
    const rows = await this.#write(`SELECT name, text FROM "${this.#parts.schema}".kept`)
    return rows.map(({ name, text }) => ({ name: String(name), text: String(text) }))
  }

  async keep({ name, seq, text }: KeptText & { readonly seq: number }): Promise<void> {
    await this.#write(keepSql(this.#parts.schema), [name, seq, text])
  }

  readonly forget = async (name: string): Promise<void> => {
    await this.#write(`DELETE FROM "${this.#parts.schema}".kept WHERE name = $1`, [name])
  }

  post(note: string): void {
    this.#notes.push(note)
    if (this.#notes.length === 1) queueMicrotask(() => void this.#postAll())
  }

  /** Sends the notes of one turn together. */
  async #postAll(): Promise<void> {
    const parts = partsOf(this.#notes.splice(0))
    const sql =
      'SELECT pg_notify($1, part) FROM unnest($2::text[]) WITH ORDINALITY AS all_parts (part, n) ORDER BY n'
    // Lost if it fails: the connection breaks, and the servers tell each other everything again.
    await query(this.#listening, sql, [notesChannel(this.#parts.schema), parts]).catch(() => undefined)
  }

  async figures() {
    const { schema } = this.#parts
    const [row] = await query(
      this.#listening,
      `SELECT head::float8 AS head, pg_total_relation_size('"${schema}".message')::float8 AS bytes FROM "${schema}".log`,
    )
    return {
      bytes: { [schema]: Number(row?.bytes) },
      brokerHead: { [schema]: Number(row?.head) },
      reconnects: { postgres: this.#listening.reconnects + this.#writing.reconnects },
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#writing.close(), this.#listening.close()])
  }

  #write(sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return query(this.#writing, sql, values)
  }

  async #listen(address: string, onBroken: () => void): Promise<Client> {
    const { schema, onAppended, onNote } = this.#parts
    const reader = readParts(onNote)
    const client = await connect(address, onBroken, 'SET synchronous_commit TO off')
    client.on('notification', ({ channel, processId, payload = '' }) => {
      if (channel === schema) onAppended()
      else reader(processId, payload)
    })
    try {
      await client.query(`LISTEN "${schema}"; LISTEN "${notesChannel(schema)}"`)
    } catch (error) {
      await client.end()
      throw error
    }
    return client
  }
}

const notesChannel = (schema: string) => `${schema}_notes`

/** A committed message is on the disk, and on the standbys of `synchronous_standby_names`. */
const durable =
  "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') <> 'remote_apply'"

/** Rejects if the server is a standby. */
async function connect(address: string, onBroken: () => void, setting: string): Promise<Client> {
  const client = new Client({ connectionString: address, application_name: 'crosswind', ...timeouts })
  // Its queries reject, too.
  client.on('error', () => undefined)
  client.on('end', onBroken)
  try {
    await client.connect()
    const { rows } = await client.query('SELECT pg_is_in_recovery() AS is_standby')
    if (rows[0]?.is_standby) throw new Error(`${new URL(address).host} is a standby, which accepts no writes`)
    await client.query(setting)
    return client
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
}

/** An error that is not the server's answer ends the connection: the answer may still come. */
function query(
  connection: StoreConnection<Client>,
  sql: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  return connection.use(async (client) => {
    try {
      const { rows } = await client.query(sql, [...values])
      return rows
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code === codes.readOnly) await connection.drop(client)
      const isLate = error instanceof Error && error.message === 'Query read timeout'
      throw isLate ? new Error('it does not answer, or waits for a standby') : error
    }
  })
}

/** For the answer "there is no log". */
function nullIfMissing(error: unknown): null {
  if (codes.missing.includes(codeOf(error))) return null
  throw error
}
