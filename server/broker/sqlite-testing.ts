// What a test of a log in a file needs: a place that goes when the test ends, and a log whose turns end on demand.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { createSeededRandom } from '../wire/random.ts'
import { ampleLimits } from './log-testing.ts'
import { createSqliteLog, type SqliteLogParts } from './sqlite.ts'
import { openLogFile } from './sqlite-file.ts'

/** Plans what is done at the test's end. */
interface Context {
  readonly after: (run: () => void | Promise<void>) => void
}

/** A file that does not exist, in a folder that does not exist. */
export function newFile(context: Context): string {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-log-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'kept', 'log.db')
}

/** What Node runs to append to the log in this file. */
export const appenderFor = (file: string) => [join(import.meta.dirname, 'sqlite-appender-testing.ts'), file]

/** For every test that is not about these; what should not happen fails it. */
export const given = {
  limits: ampleLimits,
  durability: 'process',
  now: () => 2000,
  random: createSeededRandom(5),
  onFailure: (error) => {
    throw error
  },
  bootId: 'boot1',
} satisfies Omit<SqliteLogParts, 'file'>

/** A few messages in memory, so that nearly everything is read from the file. */
export const littleMemory = { messages: 2, bytes: 100 }

/** A log whose turns end when the test says so. */
export function openByHand(context: Context, change: Partial<SqliteLogParts> = {}) {
  const file = newFile(context)
  const planned: (() => void)[] = []
  const database = openLogFile(file)
  const log = createSqliteLog(database, { ...given, ...change, defer: (run) => void planned.push(run) })
  const endTurn = () => {
    for (const run of planned.splice(0)) run()
  }
  context.after(() => log.close())
  return { file, database, log, endTurn }
}

/** Lets promises that are already settled go on. */
export const settled = () => new Promise((resolve) => setImmediate(resolve))

export const countRows = (database: DatabaseSync, table: string) =>
  database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.count
