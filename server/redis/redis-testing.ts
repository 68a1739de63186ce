// A program that appends to a log in Redis until it is killed.

import type { LogParts, OpenedLog } from '../log/log.ts'
import { ampleLimits, appendForever, toyTypes } from '../log/log-testing.ts'
import { openStoreLog } from '../log/store-log.ts'
import { redis } from './index.ts'

export const openRedisLog = (
  url: string | readonly string[],
  prefix: string,
  parts: LogParts,
): Promise<OpenedLog> => openStoreLog(redis({ url, prefix }), { random: Math.random, ...parts })

/** Node arguments; the first number is added. */
export const appenderFor = (url: string, prefix: string) => [import.meta.filename, url, prefix]

if (import.meta.main) {
  const [url = '', prefix = '', first = '1'] = process.argv.slice(2)
  const limits = { ...ampleLimits, messages: 1_000_000, bytes: 1e9 }
  const parts = { limits, typeOf: toyTypes(), now: Date.now, onFailure: console.error }
  const { log } = await openRedisLog(url, prefix, parts)
  await appendForever(log, Number(first))
}
