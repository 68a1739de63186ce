import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'

import { ampleLimits, appenderFor, draft, main, newFile, toyTypes } from './log-testing.ts'
import { startAppender } from './persistence-contract.ts'
import { LogFileError, openLogFile } from './sqlite-file.ts'
import { openSqliteLog } from './sqlite-log.ts'
import { Entry, Tables } from './tables.ts'

function open(file: string) {
  const given = {
    durability: 'process',
    typeOf: toyTypes(),
    now: () => 1,
    random: Math.random,
    onFailure: console.error,
    onLoss: () => undefined,
  } as const
  return openSqliteLog({ ...given, file, limits: ampleLimits })
}

/** Asserts that opening fails with one sentence that names the file, and matches `expected`. */
function assertRefused(file: string, expected: RegExp): void {
  assert.throws(
    () => open(file),
    (error) => {
      assert.ok(error instanceof LogFileError)
      assert.match(error.message, expected)
      assert.ok(error.message.includes(file))
      return true
    },
  )
}

function writeTo(file: string, bytes: string | Uint8Array): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, bytes)
}

async function makeLog(file: string, count = 300): Promise<void> {
  const log = open(file)
  for (let n = 1; n <= count; n += 1) await log.append(draft(`w1-${n}`, 'x'.repeat(100)), 1)
  await log.close()
}

test('only the owner may read a new file and the files beside it', async (context) => {
  const file = newFile(context)
  const log = open(file)
  await log.append(draft('w1-1'), 1)
  const modes = ['', '-wal'].map((end) => statSync(`${file}${end}`).mode & 0o777)
  assert.deepEqual(modes, Array(2).fill(process.platform === 'win32' ? 0o666 : 0o600))
  await log.close()
})

test('an empty file becomes a log', async (context) => {
  const file = newFile(context)
  writeTo(file, '')
  const log = open(file)
  assert.equal(await log.append(draft('w1-1'), 1), 1)
  await log.close()
})

test('a file that is not a database is refused and left unchanged', (context) => {
  for (const text of ['hello', 'x'.repeat(10_000)]) {
    const file = newFile(context)
    writeTo(file, text)
    assertRefused(file, /is not a log: move it away, or set storage: 'memory'\.$/)
    assert.equal(readFileSync(file, 'utf8'), text)
  }
})

test('another program’s database is refused and left unchanged', (context) => {
  const file = newFile(context)
  writeTo(file, '')
  const other = new DatabaseSync(file)
  other.exec('CREATE TABLE message (text TEXT)')
  other.close()
  const before = readFileSync(file)
  assertRefused(file, /is another program's database: move it away, or set storage: 'memory'\.$/)
  assert.deepEqual(readFileSync(file), before)
})

test('a log of a newer Crosswind is refused, and the error names the copy that an older one can open', async (context) => {
  const file = newFile(context)
  await makeLog(file, 1)
  alter(file, 'PRAGMA user_version = 7')
  assertRefused(
    file,
    /is of a newer Crosswind \(.*\): start that Crosswind, or restore the copy .*log\.db\.version6\.$/,
  )
})

const oldColumns = `seq INTEGER NOT NULL, id TEXT NOT NULL, channel TEXT NOT NULL, kind TEXT NOT NULL, sender TEXT NOT NULL,
  at REAL NOT NULL, accepted_at REAL NOT NULL, body TEXT NOT NULL`

/**
 * As earlier versions created it: in version 1 an id was unique among all senders, and only version
 * 3 had past bases.
 */
const oldLog = (version: number) => `
CREATE TABLE message (${oldColumns}, PRIMARY KEY (seq), UNIQUE (${version === 1 ? 'id' : 'id, sender, channel'})) STRICT;
CREATE TABLE survivor (${oldColumns}, PRIMARY KEY (channel, kind)) STRICT;
${version === 3 ? `CREATE TABLE past_base (${oldColumns}, PRIMARY KEY (channel, kind, seq)) STRICT;` : ''}
CREATE TABLE life (epoch TEXT NOT NULL, boot TEXT NOT NULL, durability TEXT NOT NULL, is_closed INTEGER NOT NULL) STRICT;
PRAGMA application_id = ${0x58574e44};
PRAGMA user_version = ${version};
INSERT INTO survivor VALUES (3, 'w1-3', 'quiet', 'edit', 'w1', 1000.5, 1, '{"html":"w1-3"}');
INSERT INTO message VALUES (7, 'w1-7', 'main', 'edit', 'w1', 1000.5, 1.25, '{"html":"w1-7"}');
INSERT INTO message VALUES (8, 'w1-8', 'main', 'edit', 'w1', 1000.5, 1.25, '{"html":"w1-8"}');
INSERT INTO life VALUES ('oldlife1', 'boot', 'process', 1);
`

for (const version of [1, 2, 3])
  test(`a log of version ${version} is migrated with its cursors, messages, numbers and snapshot, after a copy was saved`, async (context) => {
    const file = newFile(context)
    writeTo(file, '')
    alter(file, oldLog(version))
    for (const _time of ['migrated', 'opened again']) {
      const log = open(file)
      const { recovered, messages } = await log.read({ epoch: 'oldlife1', seq: 6 }, main)
      const stored = (seq: number) => ({ ...draft(`w1-${seq}`), seq, acceptedAt: 1.25 })
      assert.deepEqual([recovered, messages.slice(0, 2)], [true, [stored(7), stored(8)]])
      assert.equal((await log.read({ epoch: 'oldlife1', seq: 9 }, main)).recovered, false)
      const quiet = await log.snapshot(new Set(['quiet']))
      assert.deepEqual(quiet.messages, [{ ...draft('w1-3', 'w1-3', 'quiet'), seq: 3, acceptedAt: 1 }])
      assert.equal(await log.append(draft('w1-7'), 9), 7)
      assert.equal(await log.append(draft('w1-7', 'x', 'notes'), 9), 9)
      assert.equal(await log.append({ ...draft('w1-7'), from: 'w2' }, 9), 10)
      await assert.rejects(async () => log.append(draft('w1-7', 'else'), 9), { code: 'id-taken' })
      await log.close()
    }
    const saved = `${file}.version${version}`
    assert.deepEqual([seqsIn(saved), statSync(saved).mode & 0o077], [[7, 8], 0])
  })

test('a log of version 4 is migrated: its erased messages are not missing, and its cursors end where they did', async (context) => {
  const file = newFile(context)
  writeTo(file, '')
  const columns = `${oldColumns}, checksum INTEGER`
  alter(
    file,
    `CREATE TABLE message (${columns}, PRIMARY KEY (seq), UNIQUE (id, sender, channel)) STRICT;
    CREATE TABLE survivor (${columns}, PRIMARY KEY (channel, kind)) STRICT;
    CREATE TABLE past_base (${columns}, PRIMARY KEY (channel, kind, seq)) STRICT;
    CREATE TABLE epoch (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, after INTEGER NOT NULL, is_closed INTEGER NOT NULL) STRICT;
    PRAGMA application_id = ${0x58574e44};
    PRAGMA user_version = 4;
    INSERT INTO message VALUES (7, 'w1-7', 'main', 'edit', 'w1', 1000.5, 1, '{"html":"w1-7"}', NULL);
    INSERT INTO message VALUES (8, '8', '', 'erasure', '', 0, 1, '{"head":0}', NULL);
    INSERT INTO message VALUES (9, 'w1-9', 'main', 'edit', 'w1', 1000.5, 1, '{"html":"w1-9"}', NULL);
    INSERT INTO epoch VALUES (1, 'oldlife1', 0, 1);`,
  )
  for (const _time of ['migrated', 'opened again']) {
    const log = open(file)
    const { recovered, messages } = await log.read({ epoch: 'oldlife1', seq: 6 }, main)
    assert.deepEqual([recovered, messages.slice(0, 2).map(({ seq }) => seq)], [true, [7, 9]])
    assert.equal((await log.read({ epoch: 'oldlife1', seq: 5 }, main)).recovered, false)
    await log.append(draft('w1-10'), 1)
    await log.close()
  }
  assert.deepEqual(seqsIn(file), [7, 9, 10])
  assert.deepEqual(seqsIn(`${file}.version4`), [7, 8, 9])
})

test('a log that cannot be migrated is left unchanged', (context) => {
  const file = newFile(context)
  writeTo(file, '')
  alter(file, `${oldLog(1)}; CREATE TABLE message_1 (seq INTEGER);`)
  assertRefused(file, /cannot be opened/)
  assert.deepEqual(seqsIn(file), [7, 8])
})

test('opens a log that an older Crosswind did not close, with its journal up to the first damaged line', (context) => {
  const line = (seq: number, epoch = 'oldlife1') => {
    const message = { ...draft(`ann-${seq}`), seq, acceptedAt: 5 }
    const text = `${epoch} ${JSON.stringify(message)}`
    return `${crc32(`00000000 ${text}\n`).toString(16).padStart(8, '0')} ${text}\n`
  }
  const journals = {
    '': [7, 8],
    [line(8) + line(9) + line(10)]: [7, 8, 9, 10],
    [line(9) + line(10).replace('ann', 'eve') + line(11)]: [7, 8, 9],
    [line(9) + line(11)]: [7, 8, 9],
    [line(3, 'life0') + line(9) + line(10).slice(0, -9)]: [7, 8, 9],
  }
  for (const [journal, expected] of Object.entries(journals)) {
    const file = newFile(context)
    writeTo(file, '')
    alter(file, oldLog(3))
    writeFileSync(`${file}-recent`, journal)
    openLogFile(file).close()
    assert.deepEqual(seqsIn(`${file}.version3`), expected)
    // With the newest of a channel whose message had been erased.
    assert.deepEqual(seqsIn(file), [3, ...expected])
    assert.ok(!existsSync(`${file}-recent`))
  }
})

function seqsIn(file: string): unknown[] {
  const database = new DatabaseSync(file, { readOnly: true })
  const rows = database.prepare('SELECT seq FROM message ORDER BY seq').all()
  database.close()
  return rows.map(({ seq }) => seq)
}

test('a damaged log is refused', async (context) => {
  const zeroed = newFile(context)
  await makeLog(zeroed)
  const bytes = readFileSync(zeroed)
  writeFileSync(zeroed, bytes.fill(0x5a, 5 * 4096, 12 * 4096))
  assertRefused(zeroed, /is damaged: restore a backup, or move the file away/)

  const holed = newFile(context)
  await makeLog(holed, 5)
  alter(holed, 'DELETE FROM message WHERE seq = 3')
  assertRefused(holed, /damaged/)

  const garbled = newFile(context)
  await makeLog(garbled, 5)
  alter(garbled, "UPDATE message SET body = '{' WHERE seq = 4")
  assertRefused(garbled, /damaged/)
})

function alter(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

test('a path where no file can be created is refused', (context) => {
  const file = newFile(context)
  mkdirSync(file, { recursive: true })
  assertRefused(file, /cannot be opened \(/)
  assertRefused(`${newFileIn(context)}/log.db`, /cannot be opened \(/)
})

/** A path below a file, as if that were a folder. */
function newFileIn(context: Parameters<typeof newFile>[0]): string {
  const file = newFile(context)
  writeTo(file, 'x')
  return file
}

test('a second log on the same file is refused until the first is closed', async (context) => {
  const file = newFile(context)
  const first = open(file)
  assertRefused(file, /Another server has the log's file .* open/)
  assert.equal(await first.append(draft('w1-1'), 1), 1)
  await first.close()
  await open(file).close()
})

test('another process is refused too, and a killed one releases the file', async (context) => {
  const file = newFile(context)
  const appender = startAppender(appenderFor(file), 1)
  for await (const _line of appender.lines) break
  assertRefused(file, /Another server/)
  appender.kill()
  await appender.ended
  const log = open(file)
  assert.ok((await log.snapshot(main)).head.seq >= 1)
  await log.close()
})

test('a transaction that throws leaves nothing behind, and the next one works', (context) => {
  const { database, close } = openLogFile(newFile(context))
  context.after(close)
  const store = new Tables(database)
  const channel = store.addChannel('main', 0)
  assert.throws(
    () =>
      store.transaction(() => {
        store.insert(1, channel, 0, new Entry(draft('w1-1'), 1))
        throw new Error('after the first')
      }),
    /after the first/,
  )
  assert.equal(database.isTransaction, false)
  store.transaction(() => store.insert(1, channel, 0, new Entry(draft('w1-2'), 1)))
  assert.equal(store.find(channel, 'main', draft('w1-1')), null)
  assert.equal(store.find(channel, 'main', draft('w1-2'))?.seq, 1)
})
