import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { test } from 'node:test'
import { fillAtOnce } from './log-testing.ts'
import { openSqliteLog } from './sqlite.ts'
import { given, newFile } from './sqlite-testing.ts'

test('the write-ahead log stays small', async (context) => {
  const file = newFile(context)
  const log = openSqliteLog({ ...given, file })
  for (let round = 0; round < 40; round += 1) await fillAtOnce(log, 100, `w${round}`, 'x'.repeat(1000))
  assert.ok(statSync(`${file}-wal`).size < 3_000_000, String(statSync(`${file}-wal`).size))
  await log.close()
})
