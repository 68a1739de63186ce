import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { ampleLimits, draft, main } from './log-testing.ts'
import { startAppender } from './persistence-contract.ts'
import { openSqliteLog } from './sqlite.ts'
import { LogFileError } from './sqlite-file.ts'
import { appenderFor, newFile } from './sqlite-testing.ts'

function open(file: string) {
  const given = { durability: 'process', now: () => 1, random: () => 0.5, onFailure: console.error } as const
  return openSqliteLog({ ...given, file, limits: ampleLimits })
}

/** Opening must fail with one sentence that names the file and says `expected` and the way out. */
function assertRefused(file: string, expected: RegExp): void {
  assert.throws(
    () => open(file),
    (error) => {
      assert.ok(error instanceof LogFileError)
      assert.match(error.message, expected)
      assert.ok(error.message.includes(file))
      assert.match(error.message, /storage: 'memory'\.$/)
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

test('a new file is for its owner alone, and so is what lies beside it', async (context) => {
  const file = newFile(context)
  const log = open(file)
  await log.append(draft('w1-1'), 1)
  const modes = [file, `${file}-wal`].map((path) => statSync(path).mode & 0o777)
  assert.deepEqual(modes, process.platform === 'win32' ? [0o666, 0o666] : [0o600, 0o600])
  await log.close()
})

test('an empty file becomes a log', async (context) => {
  const file = newFile(context)
  writeTo(file, '')
  const log = open(file)
  assert.equal(await log.append(draft('w1-1'), 1), 1)
  await log.close()
})

test('what is no database is refused and left as it is', (context) => {
  for (const text of ['hello', 'x'.repeat(10_000)]) {
    const file = newFile(context)
    writeTo(file, text)
    assertRefused(file, /damaged or something else/)
    assert.equal(readFileSync(file, 'utf8'), text)
  }
})

test('a database of something else is refused and left as it is', (context) => {
  const file = newFile(context)
  writeTo(file, '')
  const other = new DatabaseSync(file)
  other.exec('CREATE TABLE message (text TEXT)')
  other.close()
  const before = readFileSync(file)
  assertRefused(file, /a database of something else/)
  assert.deepEqual(readFileSync(file), before)
})

test('a newer version is refused', async (context) => {
  const file = newFile(context)
  await makeLog(file, 1)
  alter(file, 'PRAGMA user_version = 2')
  assertRefused(file, /is of version 2, this Crosswind knows 1/)
})

test('a damaged log is refused', async (context) => {
  const zeroed = newFile(context)
  await makeLog(zeroed)
  const bytes = readFileSync(zeroed)
  writeFileSync(zeroed, bytes.fill(0x5a, 5 * 4096, 12 * 4096))
  assertRefused(zeroed, /damaged/)

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

test('where no file can be made is said', (context) => {
  const file = newFile(context)
  mkdirSync(file, { recursive: true })
  assertRefused(file, /cannot be opened \(/)
  assertRefused(`${newFileIn(context)}/log.db`, /cannot be opened \(/)
})

/** A file, as if it were a folder. */
function newFileIn(context: Parameters<typeof newFile>[0]): string {
  const file = newFile(context)
  writeTo(file, 'x')
  return file
}

test('a second log on the same file is refused, until the first is closed', async (context) => {
  const file = newFile(context)
  const first = open(file)
  assertRefused(file, /Another server has the log's file .* open/)
  assert.equal(await first.append(draft('w1-1'), 1), 1)
  await first.close()
  await open(file).close()
})

test('another process is refused too, and a killed one has let go', async (context) => {
  const file = newFile(context)
  const appender = startAppender({ appender: appenderFor(file) }, 1)
  for await (const _line of appender.lines) break
  assertRefused(file, /Another server/)
  appender.kill()
  await appender.ended
  const log = open(file)
  assert.ok((await log.snapshot(main)).head.seq >= 1)
  await log.close()
})
