// Keeps a window's unstored drafts in this browser, and hands on those of closed windows.

import type { Timers } from '../server/wire/time.ts'
import { holdForLife, type Locks } from './browser-services.ts'
import type { DraftDatabase, DraftRecord, UnstoredDraft } from './draft-database.ts'

/** What one closed window left, in order. */
export interface LeftDrafts {
  readonly drafts: readonly UnstoredDraft[]
  /** Of this tab's window, before a reload. */
  readonly isReload: boolean
}

interface DraftStoreParts {
  readonly database: DraftDatabase
  /** Null without Web Locks: then nothing is kept, since a closed window cannot be told from an open one. */
  readonly locks: Locks | null
  readonly window: string
  /** The tab's window before this one; null in a new tab. */
  readonly predecessor: string | null
  readonly channel: string
  /** False in a window that may not send them. */
  readonly mayTake: boolean
  readonly timers: Pick<Timers, 'now'>
  /** Each closed window's drafts go to one window, until it removes them. If that one closes first, to the next. */
  readonly onLeft: (left: LeftDrafts) => void
}

/** Longer than a reload, shorter than a browser restart that restores tabs after days. */
const reloadMs = 5 * 60_000

/** A window holds a lock for life, which shows the others that its drafts are its own. */
const lockOf = (window: string) => `crosswind-drafts:${window}`

export class DraftStore {
  readonly #parts: DraftStoreParts
  readonly #held: Promise<void> | null
  #isHeld = false
  readonly #watched = new Set<string>()
  #order = 0

  constructor(parts: DraftStoreParts) {
    const { locks, window, predecessor } = parts
    this.#parts = parts
    this.#watched.add(window)
    this.#held =
      locks &&
      holdForLife(locks, lockOf(window)).then(() => {
        this.#isHeld = true
      })
    this.#held?.catch(() => undefined)
    // Its last drafts may be written after this window's first look.
    if (predecessor !== null) this.#watch(predecessor)
  }

  /**
   * Adds or replaces drafts of this window; removes drafts of this window or of closed ones. Resolves to false, without
   * effect, if the browser cannot store them.
   */
  async write(added: readonly UnstoredDraft[], removed: readonly string[]): Promise<boolean> {
    const { database, window } = this.#parts
    if (added.length === 0 && removed.length === 0) return true
    if (this.#held === null) return false
    const records = added.map((one) => ({
      ...one,
      channel: one.draft.channel,
      window,
      order: this.#nextOrder(),
    }))
    try {
      if (!this.#isHeld) await this.#held
      await database.change(records, removed)
      return true
    } catch {
      return false
    }
  }

  /** Finds windows with drafts of this channel; `onLeft` follows for those that are closed, or once they are. */
  async look(): Promise<void> {
    const { database, channel } = this.#parts
    const records = await database.read(channel).catch(() => [])
    for (const { window } of records) this.#watch(window)
  }

  #nextOrder(): number {
    this.#order = Math.max(this.#order + 1, this.#parts.timers.now())
    return this.#order
  }

  /** A lock gives the drafts of a window that ends to one other, which holds it for life. */
  #watch(window: string): void {
    const { locks, mayTake } = this.#parts
    if (locks === null || !mayTake || this.#watched.has(window)) return
    this.#watched.add(window)
    const onFree = async () => {
      const isTaken = await this.#take(window).catch(() => false)
      if (isTaken) return new Promise<never>(() => undefined)
      // A window restored from the back-forward cache may write again.
      this.#watched.delete(window)
    }
    locks.request(lockOf(window), onFree).catch(() => this.#watched.delete(window))
  }

  /** False where nothing is left: all was stored, or another window took it. */
  async #take(window: string): Promise<boolean> {
    const { database, channel, predecessor, timers, onLeft } = this.#parts
    const records = (await database.read(channel)).filter((record) => record.window === window)
    const newest = records.at(-1)
    if (newest === undefined) return false
    // What this window publishes from now on may build on them.
    this.#order = Math.max(this.#order, newest.order)
    onLeft({
      drafts: records.map(unstored),
      isReload: window === predecessor && timers.now() - newest.draft.at <= reloadMs,
    })
    return true
  }
}

const unstored = ({ draft, cursor, edits }: DraftRecord): UnstoredDraft => ({ draft, cursor, edits })
