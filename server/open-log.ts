// The log that the configuration names.

import { join } from 'node:path'
import { newEpoch } from './broker/epoch.ts'
import type { Log } from './broker/log.ts'
import { createMemoryLog } from './broker/memory.ts'
import { openSqliteLog } from './broker/sqlite.ts'
import type { Config } from './config/config.ts'
import type { Random } from './wire/random.ts'
import type { Clock } from './wire/time.ts'

const hourMs = 3_600_000

export interface LogParts {
  /** An absolute path. */
  readonly dataFolder: string
  readonly now: Clock
  readonly random: Random
}

/** Throws one sentence, naming the file, when the log cannot be opened. */
export function openLog(config: Config, { dataFolder, now, random }: LogParts): Log {
  const { logMessages, logBytes, logHours, maxChannels } = config.limits
  const limits = { logMessages, logBytes, logAgeMs: logHours * hourMs, maxChannels }
  const onFailure = (error: unknown) => console.error('A follower of the log failed:', error)
  if (config.storage === 'memory') return createMemoryLog({ epoch: newEpoch(random), limits, now, onFailure })
  return openSqliteLog({
    file: join(dataFolder, 'log.db'),
    limits,
    durability: config.durability,
    now,
    random,
    onFailure,
  })
}
