// Keeps an outbox's drafts in this browser until they end.

import type { Cancel, Timers } from '../protocol/time.ts'
import type { UnstoredDraft } from './draft-database.ts'
import type { DraftStore } from './draft-store.ts'
import {
  isInFlight,
  type Outbox,
  type OutboxKeeper,
  type PendingDraft,
  pendingDraft,
  type SharedDrafts,
} from './outbox.ts'

interface DraftKeeperParts {
  readonly window: string
  readonly store: Pick<DraftStore, 'write' | 'look' | 'close' | 'onGone'>
  readonly timers: Timers
  /** If true, saves the remaining drafts for another window when the outbox closes; otherwise writes nothing then. */
  readonly savesOnClose: boolean
  /** What it shares with the user's other windows. */
  readonly shared?: SharedDrafts
}

/** The browser's copy of a draft. */
interface Copy {
  /** `writing` until a write succeeds; `none` if all have failed. */
  state: 'writing' | 'written' | 'none'
  /** Number of its edits that are written. */
  persisted: number
  /** Null if the write failed, or the database may have lost it. */
  newestWrite: UnstoredDraft | null
}

/** Edits are usually acknowledged within a few ms; while connected only slower ones are saved. */
const saveDelayMs = 250

export class DraftKeeper implements OutboxKeeper {
  readonly shared: SharedDrafts | undefined
  readonly #outbox: Outbox
  readonly #parts: DraftKeeperParts
  /** By id, including drafts that have ended, until their copies are removed. */
  readonly #copies = new Map<string, Copy>()
  #plannedSave: Cancel | null = null
  #canPersist = true
  #isClosed = false

  /** From now on, the outbox reports changes to this keeper. */
  constructor(outbox: Outbox, parts: DraftKeeperParts) {
    this.#outbox = outbox
    this.#parts = parts
    this.shared = parts.shared
    parts.store.onGone = () => this.#saveAgain()
    outbox.keeper = this
  }

  get state() {
    const { pending } = this.#outbox.drafts
    const persisted = pending.reduce(
      (sum, { draft }) => sum + (this.#copies.get(draft.id)?.persisted ?? 0),
      0,
    )
    return { persisted, canPersist: this.#canPersist }
  }

  /**
   * Adds saved drafts of closed windows, each once, regardless of the bounds: at the end, or before this
   * window's unsent drafts. Those of other users wait for theirs.
   */
  adopt(left: readonly UnstoredDraft[], isFirst = false): void {
    const outbox = this.#outbox
    const { window } = this.#parts
    const { pending } = outbox.drafts
    const adopted = left.filter(({ draft: { id } }) => !outbox.has(id) && !this.#copies.has(id))
    for (const one of adopted)
      this.#copies.set(one.draft.id, { state: 'written', persisted: one.edits, newestWrite: one })
    const later = pending.filter((one) => isFirst && one.draft.from === window && !isInFlight(one))
    const earlier = pending.filter((one) => !later.includes(one))
    const added = adopted.map((one): PendingDraft => ({ ...pendingDraft(one.draft), ...one }))
    // The user may have become known after the store chose them.
    const own = added.filter((one) => !outbox.isOthers(one))
    outbox.others = [...outbox.others, ...added.filter((one) => outbox.isOthers(one))]
    outbox.change({
      pending: [...earlier, ...own, ...later],
      tell: (listener) => listener.onAdopted?.(own.map(({ draft }) => draft)),
    })
  }

  changed(isConnected: boolean): void {
    if (this.#outbox.drafts.pending.length === 0 || !isConnected) this.flush()
    else this.#plannedSave ??= this.#parts.timers.later(() => this.flush(), saveDelayMs)
  }

  /** Looks for drafts that closed windows left. */
  connected(): void {
    void this.#parts.store.look()
  }

  /** Saves now. */
  flush(): void {
    this.#plannedSave?.()
    this.#plannedSave = null
    if (this.#isClosed) return
    const { pending, held } = this.#outbox.drafts
    const all = [...held, ...this.#outbox.others, ...pending]
    const ids = new Set(all.map(({ draft }) => draft.id))
    const ended = [...this.#copies].filter(([id]) => !ids.has(id))
    for (const [id] of ended) this.#copies.delete(id)
    const added = all.filter((one) => !one.isOver && !this.#isCurrent(one))
    const written = added.map((one) => this.#copyOf(one))
    const records = written.map(([, , write]) => write)
    const removed = ended.map(([id]) => id)
    this.#parts.store.write(records, removed).then((isDone) => {
      for (const [id, copy, write] of written) this.#wrote(id, copy, write, isDone)
      // The next call tries again.
      if (!isDone) for (const [id, copy] of ended) if (copy.state !== 'none') this.#copies.set(id, copy)
      if (this.#isClosed || (added.length === 0 && isDone === this.#canPersist)) return
      this.#canPersist = isDone
      this.#outbox.report()
    })
  }

  close(): void {
    const { savesOnClose, store } = this.#parts
    if (savesOnClose) {
      this.flush()
      void store.close()
    }
    this.#plannedSave?.()
    this.#isClosed = true
  }

  /** Its copy has all its edits and its user, or will have them. */
  #isCurrent(one: PendingDraft): boolean {
    const newest = this.#copies.get(one.draft.id)?.newestWrite
    return newest?.edits === one.edits && newest.user === this.#userOf(one)
  }

  #userOf({ user }: PendingDraft): string | undefined {
    return user ?? this.#outbox.user ?? undefined
  }

  /** The copy that is written next. */
  #copyOf(one: PendingDraft): [id: string, copy: Copy, write: UnstoredDraft] {
    const { edits } = one
    const draft = this.#outbox.complete(one)
    const copy = this.#copies.get(draft.id) ?? { state: 'writing', persisted: 0, newestWrite: null }
    const write = { draft, edits, user: this.#userOf(one) }
    copy.newestWrite = write
    this.#copies.set(draft.id, copy)
    return [draft.id, copy, write]
  }

  #wrote(id: string, copy: Copy, write: UnstoredDraft, isDone: boolean): void {
    if (isDone) {
      copy.state = 'written'
      copy.persisted = write.edits
    } else if (copy.newestWrite === write) {
      copy.newestWrite = null
      if (copy.state === 'written') return
      copy.state = 'none'
      if (this.#copies.get(id) === copy) this.#copies.delete(id)
    }
  }

  /** Writes all drafts again, since the database may have lost them. */
  #saveAgain(): void {
    for (const copy of this.#copies.values()) {
      copy.persisted = 0
      copy.newestWrite = null
    }
    this.flush()
    this.#outbox.report()
  }
}
