// Opens a log's file for this process alone, makes it when it is missing, and says in one sentence why it cannot.

import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { applicationId, schema, schemaVersion } from './sqlite-schema.ts'
import { createTransaction } from './sqlite-transaction.ts'

/** A log's file cannot be opened, or is none; its message names the file and the way out. */
export class LogFileError extends Error {
  override readonly name = 'LogFileError'
}

const wayOut = `move it away, or set storage: 'memory'`

/** Throws a `LogFileError`; then a file of somebody else is as it was. */
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

/** SQLite gives what it makes beside the file the file's own mode. */
function makeFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    // Never open one that exists: closing it would drop the locks that this process holds on it (fcntl(2)).
    if (!isCode(error, 'EEXIST')) throw error
  }
}

function prepareFile(database: DatabaseSync, file: string): void {
  // The lock is taken with the first read and goes with the process. Set before WAL begins, it also needs no shared memory.
  database.exec('PRAGMA locking_mode = EXCLUSIVE')
  const isNew = isEmpty(database)
  if (!isNew) mustBeLog(database, file)
  if (read(database, 'PRAGMA journal_mode = WAL') !== 'wal') throw new LogFileError(noWal(file))
  database.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA cell_size_check = ON')
  if (isNew) createTransaction(database)(() => database.exec(schema))
}

/** True for a file in which nothing was ever made, by whomever. */
function isEmpty(database: DatabaseSync): boolean {
  const tables = read(database, 'SELECT count(*) FROM sqlite_schema')
  return tables === 0 && read(database, 'PRAGMA application_id') === 0
}

function mustBeLog(database: DatabaseSync, file: string): void {
  if (read(database, 'PRAGMA application_id') !== applicationId) {
    throw new LogFileError(`The file ${file} is a database of something else: ${wayOut}.`)
  }
  const version = read(database, 'PRAGMA user_version')
  if (version === schemaVersion) return
  throw new LogFileError(
    `The log's file ${file} is of version ${version}, this Crosswind knows ${schemaVersion}: ${wayOut}.`,
  )
}

function read(database: DatabaseSync, sql: string): unknown {
  return Object.values(database.prepare(sql).get() ?? {})[0]
}

const noWal = (file: string) =>
  `The log's file ${file} is where SQLite can keep no write-ahead log: ${wayOut}.`

/** SQLite's primary result codes (sqlite.org/rescode.html). */
const busy = 5
const corrupt = 11
const notADatabase = 26

/** What is thrown for whatever went wrong with a file while it was opened. */
export function explain(file: string, error: unknown): LogFileError {
  if (error instanceof LogFileError) return error
  return new LogFileError(sentence(file, error), { cause: error })
}

function sentence(file: string, error: unknown): string {
  const code = resultCode(error)
  if (code === busy) {
    return `Another server has the log's file ${file} open: stop it, name another file, or set storage: 'memory'.`
  }
  if (code === corrupt || code === notADatabase || error instanceof SyntaxError) {
    return `The log's file ${file} is damaged or something else: ${wayOut}.`
  }
  const reason = error instanceof Error ? error.message : String(error)
  return `The log's file ${file} cannot be opened (${reason}): ${wayOut}.`
}

function resultCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  // The upper bytes say more than is needed here.
  return Number(error.errcode) & 0xff
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
