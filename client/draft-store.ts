// Keeps a window's unstored drafts in this browser, and hands on those of closed windows.

import { nothingPlanned, type Timers } from '../protocol/time.ts'
import { holdForLife, type Locks } from './browser-services.ts'
import type { DraftDatabase, DraftRecord, UnstoredDraft } from './draft-database.ts'

interface DraftStoreParts {
  readonly database: DraftDatabase
  /** Without Web Locks nothing is kept, since a closed window cannot be told from an open one. */
  readonly locks: Locks | null
  readonly window: string
  /** The tab's window before this one, if there was one. */
  readonly predecessor?: string | null
  /** Channel whose drafts this window takes. Default: all channels. */
  readonly channel?: string | undefined
  /** False in a window that may not send them. */
  readonly mayTake: boolean
  /** Whether this window's user may have written it; otherwise it stays. Default: always. */
  readonly isOwn?: (one: UnstoredDraft) => boolean
  /** Tells the other windows of the database who has written, so that they wait for its end. */
  readonly news: Pick<BroadcastChannel, 'postMessage' | 'onmessage' | 'close'>
  readonly timers: Pick<Timers, 'now'>
  /** Each closed window's drafts go to one other window, in order, as if it had written them. */
  readonly onLeft: (left: readonly UnstoredDraft[]) => void
}

/** A window holds this lock for life, which tells the others that the window is open. */
const lockOf = (window: string) => `crosswind-drafts:${window}`

export class DraftStore {
  /** Called when written drafts may be gone. */
  onGone: () => void = nothingPlanned
  readonly #parts: DraftStoreParts
  readonly #held: Promise<void> | null
  #isHeld = false
  readonly #watched = new Set<string>()
  readonly #closing = new AbortController()
  /** The last change is written. */
  readonly #ending = new AbortController()
  /** The newest change. */
  #written: Promise<unknown> = Promise.resolve()
  #order = 0

  constructor(parts: DraftStoreParts) {
    const { database, locks, window, predecessor, news } = parts
    this.#parts = parts
    database.onGone = () => this.onGone()
    this.#watched.add(window)
    this.#held =
      locks &&
      holdForLife(locks, lockOf(window), this.#ending.signal).then(() => {
        this.#isHeld = true
      })
    this.#held?.catch(nothingPlanned)
    // The predecessor may write its last drafts after this window's first look.
    if (predecessor) this.#watch(predecessor)
    news.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (typeof data === 'string') this.#watch(data)
    }
  }

  /**
   * Adds or replaces drafts of this window; removes drafts of this window or of closed ones. Resolves to false, without
   * effect, if the browser cannot store them.
   */
  async write(added: readonly UnstoredDraft[], removed: readonly string[]): Promise<boolean> {
    const { database, window, news, timers } = this.#parts
    if (added.length + removed.length === 0) return true
    if (this.#held === null) return false
    if (added.length > 0) news.postMessage(window)
    const records = added.map((one) => {
      this.#order = Math.max(this.#order + 1, timers.now())
      return { ...one, channel: one.draft.channel, window, order: this.#order }
    })
    const change = () => database.change(records, removed)
    const changed = this.#isHeld ? change() : this.#held.then(change)
    const written = changed.then(
      () => true,
      () => false,
    )
    this.#written = written
    return written
  }

  /** Finds windows with drafts of this channel. Calls `onLeft` for each, once it is closed. */
  async look(): Promise<void> {
    const { database, channel } = this.#parts
    const records = await database.read(channel).catch(() => [])
    for (const { window } of records) this.#watch(window)
  }

  /** Leaves the drafts to another window. */
  async close(): Promise<void> {
    const { database, news } = this.#parts
    this.#closing.abort()
    database.onGone = nothingPlanned
    news.close()
    await this.#written
    this.#ending.abort()
    database.close()
  }

  /** When a window ends, its lock passes to another, which gets its drafts. */
  #watch(window: string): void {
    const { locks, mayTake } = this.#parts
    if (locks === null || !mayTake || this.#watched.has(window)) return
    this.#watched.add(window)
    const take = () => this.#take(window)
    locks
      .request(lockOf(window), { signal: this.#closing.signal }, take)
      .catch(nothingPlanned)
      // A window restored from the back-forward cache may write again.
      .then(() => this.#watched.delete(window))
  }

  async #take(window: string): Promise<void> {
    const { database, channel, window: own, news, onLeft, isOwn } = this.#parts
    await this.#held
    const records = (await database.read(channel)).filter(
      (record) => record.window === window && isOwn?.(record) !== false,
    )
    const newest = records.at(-1)
    if (!newest || this.#closing.signal.aborted) return
    // Later messages of this window may build on these drafts, so they stay together.
    this.#order = Math.max(this.#order, newest.order)
    const moved = database.change(
      records.map((record) => ({ ...record, window: own })),
      [],
    )
    this.#written = moved.catch(nothingPlanned)
    news.postMessage(own)
    await moved
    if (this.#closing.signal.aborted) return
    onLeft(records.map(unstored))
  }
}

const unstored = ({ channel: _, window: __, order: ___, ...one }: DraftRecord): UnstoredDraft => one
