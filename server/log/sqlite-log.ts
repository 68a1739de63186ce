// The log in an SQLite file: survives a killed process, optionally also a power cut.

import type { Cursor, Kind, Message } from '../wire/messages.ts'
import type { Random } from '../wire/time.ts'
import { Folding } from './folding.ts'
import {
  type Defer,
  type Identified,
  type Log,
  type LogParts,
  logFull,
  lossTakerOf,
  type Memory,
  newEpoch,
} from './log.ts'
import { type Held, memoryWithin, type Portion, Tail } from './retention.ts'
import { type Entry, type LogStore, Sequencer } from './sequencer.ts'
import { explain, isDamage, isFull, type LogFile, openLogFile, SqliteStore } from './sqlite-store.ts'

/** What an acknowledged message survives: a killed process, or also a power cut. */
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
}

/**
 * By default SQLite runs a checkpoint in the commit that reaches 1000 pages, which delays that
 * append by two disk flushes. 500 pages, about 170 messages, take 7 to 15 ms on a busy virtual
 * disk, and twice as many take three times as long; in a turn of their own they delay no response.
 */
const checkpointPages = 500
const pageBytes = 4096

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
  const { limits, roomMaking, durability, onFailure } = parts
  const store = new SqliteLogStore(file, parts)
  return new Sequencer({
    epoch: store.epoch,
    tail: store.tail,
    store,
    maxChannels: limits.maxChannels,
    roomMaking,
    onFailure,
    // Grouping gains nothing if a commit does not wait for the disk.
    defer: parts.defer ?? (durability === 'machine' ? setImmediate : undefined),
  })
}

class SqliteLogStore implements LogStore {
  readonly epoch: string
  readonly tail: Tail
  readonly #database: LogFile['database']
  readonly #closeFile: () => void
  readonly #defer: Defer
  readonly #onFailure: LogParts['onFailure']
  readonly #onLoss: (sentence: string) => void
  readonly #store: SqliteStore
  readonly #reaches: ReturnType<SqliteStore['beginEpoch']>
  readonly #folding: Folding
  #pagesWritten = 0
  readonly #planned = new Set<() => void>()

  constructor({ database, loss, close }: LogFile, parts: Omit<SqliteLogParts, 'file'>) {
    const { limits, folds = {}, keepOn, durability, random, now, onFailure } = parts
    const defer: Defer = parts.defer ?? setImmediate
    const store = new SqliteStore(database)
    const head = store.head()
    this.epoch = newEpoch(random)
    this.#database = database
    this.#closeFile = close
    this.#defer = defer
    this.#onFailure = onFailure
    this.#onLoss = lossTakerOf(parts)
    this.#store = store
    this.#reaches = store.beginEpoch(this.epoch, head)
    if (durability === 'process') store.stopWaitingForDisk()
    if (loss) this.#onLoss(`${loss} The log continues after message ${head}.`)
    const memory = memoryWithin(limits, parts.memory)
    const recent = store.last(memory)
    const floor = (recent[0]?.message.seq ?? head + 1) - 1
    const cumulative = Object.keys(folds)
    this.#folding = new Folding(
      {
        folds,
        bases: {
          ...store.bases,
          erase: (channel, before) => store.transaction(() => store.eraseChannel(channel, before)),
        },
        defer,
        onFailure,
        onFolded: (messages) => messages.forEach((message) => void this.tail.superseded(message)),
        floor: (channel) => this.tail.retention.floorOf(channel),
      },
      store.survivors(cumulative),
    )
    for (const { message, bytes } of store.unfolded(cumulative, floor)) this.#folding.add(message, bytes)
    const newest = store.newest(cumulative).filter(({ seq }) => seq <= floor)
    this.tail = new Tail({ limits, memory, keepOn, now, folding: this.#folding, floor, newest })
    for (const [channel, seq] of store.floors()) this.tail.retention.missed(seq, channel)
    for (const held of store.upTo(floor)) this.tail.retention.add(held)
    for (const { message, bytes } of recent) this.tail.add(message, bytes)
    this.#attempt(this.#prune)
  }

  /** Uses one transaction; a single insert is one by itself. */
  commit(group: readonly Entry[]): (number | null)[] {
    const added: Entry[] = []
    const storeOne = (entry: Entry) => {
      const seq = this.tail.head + 1 + added.length
      const stored = this.#store.insert(seq, entry)
      if (stored === seq) added.push(entry)
      return stored
    }
    const seqs = this.#hasRoom(() =>
      group.length === 1 ? group.map(storeOne) : this.#store.transaction(() => group.map(storeOne)),
    )
    // Pages of the table and of the index, shared by the messages of a transaction.
    for (const { bytes } of added) this.#pagesWritten += 3 / group.length + bytes / pageBytes
    if (this.#pagesWritten >= checkpointPages) this.#plan(this.#checkpoint)
    if (this.tail.retention.erasable().length > 0) this.#plan(this.#prune)
    return seqs
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

  /** Runs `work` in a later turn. If it fails, the next run does its work. */
  #plan(work: () => void): void {
    if (this.#planned.has(work)) return
    this.#planned.add(work)
    this.#defer(() => {
      this.#planned.delete(work)
      this.#attempt(work)
    })
  }

  #attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#onFailure(error)
    }
  }

  /** Erases what the log has dropped. */
  readonly #prune = () => {
    if (!this.#database.isOpen) return
    const { retention, head } = this.tail
    const gone = retention.erasable()
    if (gone.length === 0 || !this.#folding.areErasable(gone)) return
    // The newest stays: the file's numbering continues from it.
    const older = gone.filter(({ seq }) => seq !== head)
    this.#store.transaction(() => this.#store.erase(older, (seq) => this.tail.isNewest(seq)))
    // After the commit: a rollback erases nothing.
    retention.erased(gone.length)
    this.#pagesWritten += 4
  }

  readonly #checkpoint = () => {
    this.#pagesWritten = 0
    this.#store.checkpoint('PASSIVE')
  }

  /** Null if some of these messages are damaged. */
  #readHeld(held: readonly Held[]): Message[] | null {
    try {
      return this.#store.messages(held.map(({ seq }) => seq))
    } catch (error) {
      if (!isDamage(error)) throw error
      this.#onLoss(
        `The log's file is damaged between the messages ${held[0]?.seq} and ${held.at(-1)?.seq}. Clients that read them get a snapshot.`,
      )
      return null
    }
  }

  /** Whether the log has everything that a client with this cursor has. */
  continues({ epoch: name, seq }: Cursor): boolean {
    const reach = name === this.epoch ? this.tail.head : this.#reaches.get(name)
    if (reach !== undefined && seq <= reach) return true
    this.#onLoss(
      reach === undefined
        ? 'A client has messages of an epoch that the log does not continue: its file was replaced, or restored from an older copy. Such clients get a snapshot.'
        : `A client has messages of epoch ${name} after number ${reach}, but the log has others or none: its file was restored from an older copy, or lost its end in a power cut. Such clients get a snapshot.`,
    )
    return false
  }

  find(wanted: Identified): Message | null {
    return this.#store.find(wanted)
  }

  async after(seq: number, channels: ReadonlySet<string>): Promise<Portion | null> {
    const { held, upTo } = this.tail.retention.after(seq, channels)
    const recent = this.tail.inMemory(held)
    if (recent) return { messages: recent, upTo }
    const messages = this.#readHeld(held)
    // Yields, so that a client reading the whole log does not block others.
    await new Promise<void>(this.#defer)
    return messages && { messages, upTo }
  }

  oldest(channel: string, kind: Kind) {
    return this.#folding.oldest(channel, kind)
  }

  close(): void {
    this.#folding.close()
    try {
      this.#prune()
      this.#hasRoom(() => {
        // On a full disk this frees the room that the next step needs.
        this.#store.checkpoint('TRUNCATE')
        this.#store.closeEpoch()
      })
    } finally {
      this.#closeFile()
    }
  }
}
