// The log in an SQLite file: outlives the process, optionally a power cut.

import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'
import type { DatabaseSync } from 'node:sqlite'
import type { Clock, Random } from '../wire/time.ts'
import { Folding } from './folding.ts'
import type { Defer, Log, LogParts } from './log.ts'
import { type Bounds, createRetention, portion, Tail } from './retention.ts'
import { createSequencer, type Entry, newEpoch } from './sequencer.ts'
import { createSqliteStore, explain, type Life, openLogFile } from './sqlite-store.ts'

/** What an acknowledged message survives: a killed process, or also a power cut. */
export type Durability = Life['durability']

interface SqliteLogParts extends LogParts {
  /** Created if missing; locked by one server. */
  readonly file: string
  readonly durability: Durability
  readonly random: Random
  /** Drafts appended before `run` is called are committed together; default: one event loop turn. */
  readonly defer?: Defer
  readonly bootId?: string
  /** Memory cache, within the limits. */
  readonly memory?: Omit<Bounds, 'ageMs'>
}

const defaultMemory = { messages: 4096, bytes: 8_388_608 }

/**
 * SQLite's default, a checkpoint within the commit that reaches 1000 pages, delays that append by two disk flushes: 6
 * to 10 ms on a virtual disk. 500 pages (4 to 5 ms) in a separate turn delay no response; 250 cost a quarter more per
 * append.
 */
const checkpointPages = 500
const pageBytes = 4096

/** Throws a `LogFileError`, one sentence with the file and the remedy. */
export function openSqliteLog(parts: SqliteLogParts): Log {
  const database = openLogFile(parts.file)
  try {
    return createSqliteLog(database, parts)
  } catch (error) {
    database.close()
    throw explain(parts.file, error)
  }
}

/** Starts a new life of an open file. */
export function createSqliteLog(database: DatabaseSync, parts: Omit<SqliteLogParts, 'file'>): Log {
  const { limits, folds = {}, durability, random, now, onFailure } = parts
  const { memory = defaultMemory, bootId = readBootId(now) } = parts
  const defer: Defer = parts.defer ?? setImmediate
  const store = createSqliteStore(database)
  const epoch = epochAfter(store.readLife(), bootId) ?? newEpoch(random)
  const life = { epoch, boot: bootId, durability, isClosed: false }
  store.writeLife(life)
  if (durability === 'process') store.stopWaitingForDisk()

  const extent = store.extent()
  const retention = createRetention({ bounds: limits, now, extent, oldestAfter: store.oldestAfter })
  const bounds = {
    messages: Math.min(memory.messages, limits.messages),
    bytes: Math.min(memory.bytes, limits.bytes),
    ageMs: limits.ageMs,
  }
  const recent = store.last(bounds)
  const floor = extent.head - recent.length
  const cumulative = Object.keys(folds)
  const folding = new Folding(
    {
      folds,
      bases: { read: store.readSurvivor, write: store.writeSurvivor, ...store.pastBases },
      defer,
      onFailure,
      onFolded: (messages) => messages.forEach((message) => void tail.superseded(message)),
      floor: () => retention.floor(),
    },
    store.survivors(cumulative),
  )
  for (const { message, bytes } of store.unfolded(cumulative, floor)) folding.add(message, bytes)
  const newest = store.newest(cumulative).filter(({ seq }) => seq <= floor)
  const tail = new Tail(bounds, now, folding, floor, newest)
  for (const { message, bytes } of recent) tail.add(message, bytes)
  let pagesWritten = 0
  let isCheckpointPlanned = false

  function commit(group: readonly Entry[]): (number | null)[] {
    retention.forget()
    const dropped = retention.erasable()
    const erasable = folding.areErasable(retention.erasedTo(), dropped) ? dropped : 0
    const seqs = store.transaction(() => {
      if (erasable > 0) store.erase(retention.erasedTo(), erasable, (seq) => tail.isNewest(seq))
      let next = tail.head + 1
      return group.map((entry) => {
        const seq = store.insert(entry, next)
        if (seq === next) next += 1
        return seq
      })
    })
    // After the commit: a rollback erases nothing.
    retention.erased(erasable)
    for (const [place, { bytes }] of group.entries()) {
      if ((seqs[place] ?? 0) > tail.head) retention.add(bytes)
      // Estimate: per message an index page and its body.
      pagesWritten += 1 + bytes / pageBytes
    }
    // And the table's last page.
    pagesWritten += 1
    if (pagesWritten >= checkpointPages) planCheckpoint()
    return seqs
  }

  function planCheckpoint(): void {
    if (isCheckpointPlanned) return
    isCheckpointPlanned = true
    defer(() => {
      isCheckpointPlanned = false
      pagesWritten = 0
      try {
        store.checkpoint()
      } catch (error) {
        // The data stays in the write-ahead log for the next checkpoint.
        onFailure(error)
      }
    })
  }

  return createSequencer({
    epoch,
    tail,
    maxChannels: limits.maxChannels,
    store: {
      commit,
      floor() {
        retention.forget()
        return retention.floor()
      },
      async after(seq, channels) {
        if (seq >= tail.floor) return tail.after(seq, channels)
        const upTo = Math.min(seq + portion.messages, tail.floor)
        const found = store.between(seq, upTo, channels, portion.bytes)
        // Yields, so that a client reading the whole log does not block others.
        await new Promise<void>(defer)
        return found
      },
      oldest: (channel, kind) => folding.oldest(channel, kind),
      close() {
        folding.close()
        try {
          store.writeLife({ ...life, isClosed: true })
        } finally {
          database.close()
        }
      },
    },
    defer,
    onFailure,
  })
}

/**
 * The epoch to continue; null for a new one. After a crash without disk syncs the last commits may be missing while
 * clients hold cursors beyond them. Their numbers are reused, so old cursors must become invalid.
 */
function epochAfter(last: Life | null, boot: string): string | null {
  if (!last) return null
  const mayLackMessages = !last.isClosed && last.durability === 'process' && last.boot !== boot
  return mayLackMessages ? null : last.epoch
}

/** Tolerance for clock changes, which shift the computed start. */
const roundingSeconds = 10

/** Linux's boot_id (random(4)), else the start time. A false difference costs clients only a snapshot. */
export function readBootId(
  now: Clock,
  uptimeSeconds = uptime,
  file = '/proc/sys/kernel/random/boot_id',
): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    const start = Math.round((now() / 1000 - uptimeSeconds()) / roundingSeconds) * roundingSeconds
    return `started ${start}`
  }
}
