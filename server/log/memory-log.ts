// A log that exists only in memory.

import type { DatabaseSync } from 'node:sqlite'
import { openDatabase } from '../runtime.ts'
import { History } from './history.ts'
import { type Log, type LogParts, lossHandlerFor } from './log.ts'
import { Sequencer } from './sequencer.ts'
import { Tables, tables } from './tables.ts'

interface MemoryLogParts extends LogParts {
  /** New for each process. */
  readonly epoch: string
}

/** A pure relay, as in the 2021 paper, with a bounded history to resume from. */
export function createMemoryLog(parts: MemoryLogParts): Log {
  const { epoch, limits, roomMaking, typeOf, onFailure } = parts
  const database = openInMemory()
  const history = new History({
    typeOf,
    limits,
    now: parts.now,
    onFailure,
    defer: setImmediate,
    tables: new Tables(database, false),
  })
  return new Sequencer({
    epoch,
    history,
    typeOf,
    maxChannels: limits.maxChannels,
    roomMaking,
    onFailure,
    onLoss: lossHandlerFor(parts),
    onClosed() {
      history.close()
      database.close()
    },
  })
}

/** Its tables exist as long as the process. */
export function openInMemory(): DatabaseSync {
  const database = openDatabase(':memory:')
  database.exec(`PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; ${tables}`)
  return database
}
