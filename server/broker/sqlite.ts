// The log in a file of this machine, embedded (SQLite). Outlives the process, and the machine's power if so asked.

import type { DatabaseSync } from 'node:sqlite'
import type { Random } from '../wire/random.ts'
import type { Clock } from '../wire/time.ts'
import { readBootId } from './boot.ts'
import { type Bounds, boundsOf } from './bounds.ts'
import type { Durability } from './epoch.ts'
import type { Log, LogLimits, OnFailure } from './log.ts'
import { createRetention } from './retention.ts'
import { createSequencer, type Defer } from './sequencer.ts'
import { createCheckpoints } from './sqlite-checkpoints.ts'
import { explain, openLogFile } from './sqlite-file.ts'
import { createReader } from './sqlite-reader.ts'
import { beginLife, endLife, recoverTail } from './sqlite-recovery.ts'
import { createStore } from './sqlite-store.ts'
import { createTransaction } from './sqlite-transaction.ts'
import { createWriter } from './sqlite-writer.ts'

export interface SqliteLogParts {
  /** Made when it is missing, with its folder. One server at a time has it. */
  readonly file: string
  readonly limits: LogLimits
  readonly durability: Durability
  readonly now: Clock
  readonly random: Random
  readonly onFailure: OnFailure
  /** What is appended before `run` runs is committed at once; the end of the turn, unless a test says otherwise. */
  readonly defer?: Defer
  /** Names the machine's run. */
  readonly bootId?: string
  /** How much is held in memory too, within the limits. */
  readonly memory?: Omit<Bounds, 'ageMs'>
}

const defaultMemory: Omit<Bounds, 'ageMs'> = { messages: 4096, bytes: 8_388_608 }

/** Throws a `LogFileError`, one sentence that names the file and the way out. */
export function openSqliteLog(parts: SqliteLogParts): Log {
  const database = openLogFile(parts.file)
  try {
    return createSqliteLog(database, parts)
  } catch (error) {
    database.close()
    throw explain(parts.file, error)
  }
}

/** The log in a file that is open already. */
export function createSqliteLog(database: DatabaseSync, parts: Omit<SqliteLogParts, 'file'>): Log {
  const { limits, durability, random, now, onFailure, defer = setImmediate } = parts
  const bounds = boundsOf(limits)
  const store = createStore(database)
  const life = beginLife(database, store, { durability, random, boot: parts.bootId ?? readBootId(now) })
  const { epoch } = life
  const extent = store.extent()
  const retention = createRetention({ bounds, now, extent, oldestAfter: store.oldestAfter })
  const tail = recoverTail(store, extent.head, inMemory(bounds, parts.memory), now)
  const transaction = createTransaction(database)
  const checkpoints = createCheckpoints(database, defer, onFailure)
  const write = createWriter({ store, tail, retention, transaction, checkpoints })
  const { maxChannels } = limits
  const sequencer = createSequencer({ epoch, tail, maxChannels, store: write, defer, onFailure })
  const { mustBeOpen } = sequencer
  const reader = createReader({ epoch, store, tail, retention, mustBeOpen, defer })

  async function close(): Promise<void> {
    await sequencer.finish()
    try {
      endLife(database, store, life)
    } finally {
      database.close()
    }
  }

  let closing: Promise<void> | null = null
  return {
    append: sequencer.append,
    follow: sequencer.follow,
    read: reader.read,
    snapshot: async (channels) => reader.snapshot(channels),
    heads: () => tail.newest.heads,
    close() {
      closing ??= close()
      return closing
    },
  }
}

function inMemory({ messages, bytes, ageMs }: Bounds, most = defaultMemory): Bounds {
  return { messages: Math.min(messages, most.messages), bytes: Math.min(bytes, most.bytes), ageMs }
}
