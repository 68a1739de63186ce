// The log on a real PostgreSQL server, which this file starts and stops.

import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { Client } from 'pg'
import { startPostgresServer, type TestPostgres } from '../../scripts/postgres-server.ts'
import type { LogLimits, LogParts } from '../log/log.ts'
import { testLogContract } from '../log/log-contract.ts'
import { type ModelledLog, testModel } from '../log/log-model-contract.ts'
import {
  ampleLimits,
  countTo,
  cursorAt,
  draft,
  fill,
  fillUpdates,
  idsOf,
  main,
  readUpdates,
  seqsOf,
  startMs,
  toyTypes,
} from '../log/log-testing.ts'
import { testPersistence } from '../log/persistence-contract.ts'
import { openWatched, testSharedLog } from '../log/shared-log-contract.ts'
import { testStore } from '../log/store-contract.ts'
import { postgres } from './index.ts'
import { appenderFor, openPostgresLog } from './postgres-testing.ts'

let server: TestPostgres
before(async () => {
  server = await startPostgresServer()
})
after(() => server?.stop())

let schemas = 0
function newSchema(): string {
  schemas += 1
  return `log${schemas}`
}

const open = (schema: string, parts: LogParts) => openPostgresLog(server.url, schema, parts)

testStore('postgres', () => postgres({ connectionString: server.url, schema: newSchema() }))

testLogContract('postgres', async (parts) => (await open(newSchema(), parts)).log)

testModel(
  'postgres',
  (first) => {
    const schema = newSchema()
    async function openOne(parts: LogParts): Promise<ModelledLog> {
      const { log } = await open(schema, parts)
      return { log, reopen: openOne, isShared: true }
    }
    return openOne(first)
  },
  10,
)

testSharedLog('postgres', open, { kill: () => server.kill(), restart: () => server.restart() })

const ample = {
  limits: { ...ampleLimits, messages: 100_000, bytes: 1e9 },
  typeOf: toyTypes(),
  now: () => startMs,
  onFailure: assert.ifError,
}

testPersistence('postgres', () => {
  const schema = newSchema()
  return {
    open: async () => (await open(schema, ample)).log,
    appender: appenderFor(server.url, schema),
    isShared: true,
  }
})

const openLog = (context: TestContext, schema: string, limits?: Partial<LogLimits>) =>
  openWatched(context, (parts) => open(schema, parts), limits)

/** Another program that uses the database. */
async function connect(context: TestContext): Promise<Client> {
  const client = new Client({ connectionString: server.url })
  await client.connect()
  // The server may be killed first.
  client.on('error', () => undefined)
  context.after(() => client.end())
  return client
}

test('an append waits for one with a smaller number to commit, so that no reader misses that', async (context) => {
  const schema = newSchema()
  const { log, seen } = await openLog(context, schema)
  const { epoch } = await cursorAt(log, 0)
  const slow = await connect(context)
  const admin = await connect(context)
  await slow.query('BEGIN')
  const text = JSON.stringify({ ...draft('w1-1'), acceptedAt: startMs })
  const append = `SELECT ${schema}.append($1, 0, '{w1-1 w1 main}', '{main}', '{${startMs}}', $2, '{null}') AS numbers`
  const { rows } = await slow.query(append, [epoch, [text]])
  assert.deepEqual(rows[0].numbers.map(Number), [1])
  let isStored = false
  const appended = Promise.resolve(log.append({ ...draft('w2-1'), from: 'w2' }, startMs)).finally(() => {
    isStored = true
  })
  const isWaiting = async () => {
    const { rows } = await admin.query(
      `SELECT FROM pg_stat_activity WHERE application_name = 'crosswind' AND wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  }
  while (!isStored && !(await isWaiting()));
  assert.deepEqual([isStored, seen], [false, []])
  await slow.query('COMMIT')
  assert.equal(await appended, 2)
  assert.deepEqual(idsOf(seen), ['w1-1', 'w2-1'])
})

test('drafts of one turn are one transaction', async (context) => {
  const schema = newSchema()
  const { log } = await openLog(context, schema)
  await log.append(draft('w1-0'), startMs)
  await Promise.all(countTo(50).map((n) => log.append(draft(`w1-${n}`), startMs)))
  const admin = await connect(context)
  const { rows } = await admin.query(`SELECT DISTINCT xmin::text FROM ${schema}.message WHERE seq > 1`)
  assert.equal(rows.length, 1)
})

test('a server whose notifications are lost receives the messages all the same', async (context) => {
  const schema = newSchema()
  const one = await openLog(context, schema)
  const other = await openLog(context, schema)
  const admin = await connect(context)
  await admin.query(`
    CREATE FUNCTION ${schema}.pg_notify(text, text) RETURNS void LANGUAGE sql AS '';
    ALTER FUNCTION ${schema}.append SET search_path = ${schema}, pg_catalog, pg_temp`)
  await fill(one.log, 3)
  await other.heard(3)
  assert.deepEqual(idsOf(other.seen), ['w1-1', 'w1-2', 'w1-3'])
})

test('tables that were replaced begin another epoch', async (context) => {
  const schema = newSchema()
  const one = await openLog(context, schema)
  const other = await openLog(context, schema)
  await fill(one.log, 3)
  const { head } = await one.log.snapshot(main)
  const admin = await connect(context)
  await admin.query(`DROP SCHEMA ${schema} CASCADE`)
  assert.deepEqual(
    await Promise.all([one.lost, other.lost]),
    Array(2).fill('the log of PostgreSQL was deleted'),
  )
  await assert.rejects(async () => one.log.append(draft('w2-1'), startMs), { code: 'log-unavailable' })
  const next = await openLog(context, schema)
  assert.equal(await next.log.append(draft('w2-1'), startMs), 1)
  assert.equal((await next.log.read(head, main)).recovered, false)
  assert.deepEqual([one.losses, other.losses], [[], []])
})

for (const since of [0, 5])
  test(`a log that lost its newest messages begins another epoch, if it has ${since} others since`, async (context) => {
    const schema = newSchema()
    const one = await openLog(context, schema)
    const other = await openLog(context, schema)
    await fill(one.log, 5)
    await other.heard(5)
    const { head } = await one.log.snapshot(main)
    const admin = await connect(context)
    const changed = countTo(since).map(
      (n) => `INSERT INTO ${schema}.message VALUES (${n + 2}, 'x-${n} w9 main', 'main', 1,
        '{"id":"x-${n}","channel":"main","kind":"edit","from":"w9","at":1,"body":{"html":""},"acceptedAt":1}');`,
    )
    await admin.query(`
      DELETE FROM ${schema}.message WHERE seq > 2;
      UPDATE ${schema}.log SET head = ${2 + since};
      ${changed.join('')}`)
    await Promise.all([one.lost, other.lost])
    assert.match([...one.losses, ...other.losses].join(), /^The log of PostgreSQL lost its newest messages/)
    const next = await openLog(context, schema)
    const { recovered, head: now } = await next.log.read(head, main)
    assert.deepEqual([recovered, now.epoch === head.epoch, now.seq], [false, false, 2 + since])
  })

test('what another program erases before a server has it ends its log', async (context) => {
  const schema = newSchema()
  const one = await openLog(context, schema)
  await fill(one.log, 3)
  const admin = await connect(context)
  await admin.query(`UPDATE ${schema}.log SET head = 5`)
  assert.match((await one.lost) ?? '', /^the messages from 4 to 5 were erased/)
})

test('an erased log has documents and newest messages in the kept table, and nothing else', async (context) => {
  const schema = newSchema()
  const { log } = await openLog(context, schema, { messages: 100 })
  const text = await fillUpdates(log, 700)
  await fill(log, 300, 'w2')
  const later = await openLog(context, schema, { messages: 100 })
  assert.equal((await readUpdates(later.log)).text, text)
  const admin = await connect(context)
  const { rows } = await admin.query(`SELECT count(*)::int AS count FROM ${schema}.message`)
  assert.ok(rows[0].count < 400, `${rows[0].count} messages`)
})

test('a draft whose first copy the log has dropped, but the table still has, is stored again', async (context) => {
  const schema = newSchema()
  const first = await openLog(context, schema, { messages: 10 })
  await fill(first.log, 300)
  await first.log.close()
  const admin = await connect(context)
  // As if the server had been killed before it erased the row.
  await admin.query(`INSERT INTO ${schema}.message VALUES (1, 'w1-1 w1 main', 'main', ${startMs},
    '{"id":"w1-1","channel":"main","kind":"edit","from":"w1","at":1000.5,"body":{"html":"x"},"acceptedAt":${startMs}}')`)
  const { log } = await openLog(context, schema, { messages: 10 })
  assert.equal(await log.append(draft('w1-1', 'x'), startMs), 301)
})

test('tables of another version are refused, with both versions', async (context) => {
  const schema = newSchema()
  await openLog(context, schema)
  const admin = await connect(context)
  await admin.query(`UPDATE ${schema}.log SET version = 9`)
  await assert.rejects(open(schema, ample), {
    message: `The schema ${schema} of PostgreSQL at 127.0.0.1:${server.port} has version 9; this server uses version 1. Use @crosswind/postgres of the version that made it, or another schema.`,
  })
})

test('a role without the right to create tables is refused, with the remedy', async (context) => {
  const admin = await connect(context)
  await admin.query('CREATE ROLE guest LOGIN')
  await assert.rejects(openPostgresLog(server.url.replace('postgres@', 'guest@'), newSchema(), ample), {
    message: /permission denied for database postgres\. Its role needs the right CREATE/,
  })
})

test('servers that start together on an empty database open one log', async (context) => {
  const schema = newSchema()
  const servers = await Promise.all(countTo(4).map(() => openLog(context, schema)))
  const epochs = await Promise.all(servers.map(async ({ log }) => (await cursorAt(log, 0)).epoch))
  assert.equal(new Set(epochs).size, 1)
})

test('notes reach the other servers whole and in order, however long', async (context) => {
  const schema = newSchema()
  const one = await openLog(context, schema)
  const other = await openLog(context, schema)
  const notes = [{ n: 1 }, { n: 2, long: 'wïnd 🌬'.repeat(9000) }, { n: 3 }, { n: 3 }]
  const got: unknown[] = []
  const all = new Promise<void>((resolve) => {
    other.bus?.follow(
      (note) => got.push(note) === notes.length && resolve(),
      () => undefined,
    )
  })
  for (const note of notes) one.bus?.post(note)
  await all
  assert.deepEqual(got, notes)
})

test('an interrupted connection is opened again, and the servers are told that notes may be missing', async (context) => {
  const schema = newSchema()
  const { log, bus, figures, outage, seen } = await openLog(context, schema)
  await fill(log, 1)
  const returned = new Promise<void>((resolve) => bus?.follow(() => undefined, resolve))
  const admin = await connect(context)
  await admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crosswind'`,
  )
  await fill(log, 2, 'w2')
  await returned
  assert.deepEqual([seqsOf(seen), outage?.()], [[1, 2, 3], null])
  const { brokerHead, reconnects, bytes } = (await figures?.()) ?? {}
  assert.deepEqual([brokerHead, reconnects], [{ [schema]: 3 }, { postgres: 2 }])
  assert.ok((bytes?.[schema] ?? 0) > 0)
})
