// Run by the tests: `node sqlite-appender-testing.ts FILE FIRST` appends to the log in FILE until it is killed.

import { appendForever } from './append-forever-testing.ts'
import { openSqliteLog } from './sqlite.ts'

const [file = '', first = '1'] = process.argv.slice(2)
const limits = { logMessages: 1_000_000, logBytes: 1e9, logAgeMs: 3_600_000, maxChannels: 10 }
const log = openSqliteLog({
  file,
  limits,
  durability: 'process',
  now: Date.now,
  random: Math.random,
  onFailure: console.error,
})
await appendForever(log, Number(first))
