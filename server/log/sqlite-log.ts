// The log in an SQLite file: survives a killed process, optionally also a power cut.

import type { Cursor } from '../../protocol/messages.ts'
import type { Random } from '../../protocol/time.ts'
import { History } from './history.ts'
import { type Defer, type Log, type LogParts, logFull, lossHandlerFor, type Memory, newEpoch } from './log.ts'
import { Sequencer } from './sequencer.ts'
import { beginEpoch, checkpoint, closeEpoch, explain, type LogFile, openLogFile } from './sqlite-file.ts'
import { type Entry, isFull, Tables } from './tables.ts'

/** The failure that acknowledged messages survive: a killed process, or also a power cut. */
export type Durability = 'process' | 'machine'

interface SqliteLogParts extends LogParts {
  /** Created if missing; locked by one server. */
  readonly file: string
  readonly durability: Durability
  readonly random: Random
  /**
   * Groups drafts appended before `run` is called into one commit. By default each is a commit;
   * with `machine`, those of one turn.
   */
  readonly defer?: Defer
  /** See `memoryWithin`. */
  readonly memory?: Memory
  /** By default a timer that does not keep the process alive. */
  readonly later?: (run: () => void, delayMs: number) => void
}

const truncateAfterMs = 1000

/**
 * By default SQLite runs a checkpoint in the commit that reaches 1000 pages, which delays that
 * append by two disk flushes. 500 pages take 7 to 15 ms on a busy virtual disk, and twice as many
 * take three times as long; in a turn of their own they delay no response. If one turn writes more,
 * it waits, so that the write-ahead log stays small.
 */
const checkpointPages = { planned: 500, most: 570 }
const pageBytes = 4096
/** Pages of the table and of up to three indexes, and of those that split. */
const pagesPerCommit = 4.5

/** SQLite's page cache: the upper pages of the indexes of ten million messages, and more. */
const cacheKiB = 32_768

/** Throws a `LogFileError`: one sentence with the file and the remedy. */
export function openSqliteLog(parts: SqliteLogParts): Log {
  const file = openLogFile(parts.file)
  try {
    return createSqliteLog(file, parts)
  } catch (error) {
    file.close()
    throw explain(parts.file, error)
  }
}

/**
 * Each start begins an epoch. It continues the earlier ones as far as the file has their messages.
 */
export function createSqliteLog(file: LogFile, parts: Omit<SqliteLogParts, 'file'>): Log {
  const { limits, typeOf, roomMaking, durability, onFailure, defer } = parts
  const kept = new FileHistory(file, parts)
  return new Sequencer({
    epoch: kept.epoch,
    history: kept.history,
    typeOf,
    maxChannels: limits.maxChannels,
    roomMaking,
    onFailure,
    onLoss: lossHandlerFor(parts),
    inTurn: defer ?? setImmediate,
    continues: (cursor) => kept.continues(cursor),
    commit: (group) => kept.commit(group),
    onClosed: () => kept.close(),
    // Grouping gains nothing if a commit does not wait for the disk.
    defer: defer ?? (durability === 'machine' ? setImmediate : undefined),
  })
}

/** The history in a file, its checkpoints and epochs. */
class FileHistory {
  readonly epoch: string
  readonly history: History
  readonly #file: LogFile
  readonly #defer: Defer
  readonly #onFailure: LogParts['onFailure']
  readonly #onLoss: (sentence: string) => void
  readonly #reaches: ReadonlyMap<string, number>
  #pagesWritten = 0
  #isCheckpointPlanned = false
  #isTruncationPlanned = false
  readonly #later: NonNullable<SqliteLogParts['later']>

  constructor(file: LogFile, parts: Omit<SqliteLogParts, 'file'>) {
    const { limits, typeOf, durability, random, now, onFailure, memory, defer = setImmediate } = parts
    const { database, isSmall, loss } = file
    this.#file = file
    this.#defer = defer
    this.#later = parts.later ?? ((run, delayMs) => void setTimeout(run, delayMs).unref())
    this.#onFailure = onFailure
    this.#onLoss = lossHandlerFor(parts)
    database.exec(`PRAGMA cache_size = -${cacheKiB}; PRAGMA secure_delete = ON`)
    const tables = new Tables(database)
    const head = tables.head()
    this.epoch = newEpoch(random)
    this.#reaches = beginEpoch(database, this.epoch, head)
    this.history = new History({
      tables,
      typeOf,
      limits,
      memory,
      now,
      onFailure,
      defer,
      isLasting: true,
      isChecked: isSmall,
      onErased: (bytes) => this.#written(pagesPerCommit, bytes),
      // The write-ahead log still has messages that were erased from the file.
      onNothingLeft: () => this.#planTruncation(),
    })
    if (durability === 'process') database.exec('PRAGMA synchronous = NORMAL')
    if (loss) this.#onLoss(`${loss} The log continues after message ${head}.`)
    this.#attempt(() => {
      this.history.eraser.erase('any')
      this.#flush()
    })
  }

  /** Uses one transaction; a single insert is one by itself. */
  commit(group: readonly Entry[]): (number | null)[] {
    // Not after the commit: the history has not counted the inserted messages yet.
    if (this.#pagesWritten >= checkpointPages.most) this.#checkpoint()
    const seqs = this.#hasRoom(() => this.history.insert(group))
    // Pages of the table and of the indexes, shared by the messages of a transaction.
    for (const { bytes } of group) this.#written(pagesPerCommit / group.length, bytes)
    return seqs
  }

  #written(pages: number, bytes: number): void {
    this.#pagesWritten += pages + bytes / pageBytes
    if (this.#pagesWritten >= checkpointPages.planned) this.#planCheckpoint()
  }

  /** Throws a `Refusal` (503 `log-full`) if there is no room. */
  #hasRoom<Result>(write: () => Result): Result {
    try {
      return write()
    } catch (error) {
      if (!isFull(error)) throw error
      const full = logFull(error)
      this.#onFailure(full)
      throw full
    }
  }

  /** If there is no room, the next start reads more messages. */
  #flush(): void {
    try {
      this.history.flush()
    } catch (error) {
      if (!isFull(error)) throw error
    }
  }

  /** Runs in a later turn. If it fails, the next one does its work. */
  #planCheckpoint(): void {
    if (this.#isCheckpointPlanned) return
    this.#isCheckpointPlanned = true
    this.#defer(() => {
      this.#isCheckpointPlanned = false
      if (this.#pagesWritten >= checkpointPages.planned) this.#checkpoint()
    })
  }

  #checkpoint(mode: 'PASSIVE' | 'TRUNCATE' = 'PASSIVE'): boolean {
    if (!this.#file.database.isOpen) return false
    this.#pagesWritten = 0
    let isDone = false
    this.#attempt(() => {
      this.#flush()
      isDone = checkpoint(this.#file.database, mode)
    })
    return isDone
  }

  /** Flushes the disk twice for everything that is erased within a second. */
  #planTruncation(): void {
    if (this.#isTruncationPlanned) return
    this.#isTruncationPlanned = true
    this.#later(() => {
      this.#isTruncationPlanned = false
      const isDone = this.#checkpoint('TRUNCATE')
      // A backup is reading it.
      if (!isDone && this.#file.database.isOpen) this.#planTruncation()
    }, truncateAfterMs)
  }

  /** Work that fails here is repeated by the next run. */
  #attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#onFailure(error)
    }
  }

  /** Whether the log has everything that a client with this cursor has. */
  continues({ epoch: name, seq }: Cursor): boolean {
    const reach = name === this.epoch ? this.history.head : this.#reaches.get(name)
    if (reach !== undefined && seq <= reach) return true
    this.#onLoss(
      reach === undefined
        ? 'A client has messages of an epoch that the log does not continue: its file was replaced, or restored from an older copy. Such clients get a snapshot.'
        : `A client has messages of epoch ${name} after number ${reach}, but the log has others or none: its file was restored from an older copy, or lost its end in a power cut. Such clients get a snapshot.`,
    )
    return false
  }

  close(): void {
    this.history.close()
    const { database, close } = this.#file
    try {
      this.#attempt(() => this.history.eraser.erase('last'))
      this.#hasRoom(() => {
        // On a full disk this frees the room that the next step needs.
        checkpoint(database, 'TRUNCATE')
        closeEpoch(database)
      })
      this.#flush()
    } finally {
      close()
    }
  }
}
