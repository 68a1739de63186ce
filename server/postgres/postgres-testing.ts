// A program that appends to a log in PostgreSQL until it is killed.

import type { LogParts, OpenedLog } from '../log/log.ts'
import { ampleLimits, appendForever, toyTypes } from '../log/log-testing.ts'
import { openStoreLog } from '../log/store-log.ts'
import { postgres } from './index.ts'

export const openPostgresLog = (
  url: string | readonly string[],
  schema: string,
  parts: LogParts,
): Promise<OpenedLog> =>
  openStoreLog(postgres({ connectionString: url, schema }), { random: Math.random, ...parts })

/** Node arguments; the first number is added. */
export const appenderFor = (url: string, schema: string) => [import.meta.filename, url, schema]

if (import.meta.main) {
  const [url = '', schema = '', first = '1'] = process.argv.slice(2)
  const limits = { ...ampleLimits, messages: 1_000_000, bytes: 1e9 }
  const parts = { limits, typeOf: toyTypes(), now: Date.now, onFailure: console.error }
  const { log } = await openPostgresLog(url, schema, parts)
  await appendForever(log, Number(first))
}
