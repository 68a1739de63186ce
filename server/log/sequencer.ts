// Orders one server's log: stores drafts singly or in groups, notifies followers, then answers.

import { channel } from 'node:diagnostics_channel'
import type { Draft, Message } from '../../protocol/messages.ts'
import { idTaken } from '../../protocol/refusal.ts'
import { trace } from '../../protocol/trace.ts'
import { HistoryLog, type HistoryLogParts } from './history-log.ts'
import { messageText, writerOf } from './kept-json.ts'
import { type Defer, keyOf } from './log.ts'
import { Entry } from './tables.ts'

interface SequencerParts extends HistoryLogParts {
  /** Commits once, by default as `History#insert` does. Throws if nothing was stored. */
  readonly commit?: (group: readonly Entry[]) => readonly (number | null)[]
  readonly onClosed: () => void
  /**
   * Groups drafts appended before `run` is called; absent if each is a commit of its own, within
   * `append`.
   */
  readonly defer?: Defer | undefined
}

interface PendingEntry extends PromiseWithResolvers<number> {
  readonly draft: Draft
  readonly entry: Entry
}

/**
 * Published with a group of entries: when its commit begins, when it has ended, when all followers
 * were notified.
 */
const diagnostics = {
  committing: channel('crosswind:committing'),
  stored: channel('crosswind:stored'),
  told: channel('crosswind:told'),
}

/** The log of one server: numbers drafts in call order. */
export class Sequencer extends HistoryLog<PendingEntry> {
  readonly #commit: (group: readonly Entry[]) => readonly (number | null)[]
  readonly #onClosed: () => void
  readonly #defer: Defer | undefined
  /** Pending drafts without a group. */
  #waiting: PendingEntry[] = []
  #isPlanned = false
  #isStoring = false

  constructor({ commit, defer, onClosed, ...parts }: SequencerParts) {
    super(parts)
    this.#commit = commit ?? ((group) => this.history.insert(group))
    this.#onClosed = onClosed
    this.#defer = defer
  }

  protected override enter(draft: Draft, acceptedAt: number): number | Promise<number> {
    const entry = new Entry(draft, acceptedAt)
    // A follower that appends waits for its turn.
    if (!this.#defer && !this.#isStoring) return this.#storeOne(entry)
    const pendingEntry = { ...Promise.withResolvers<number>(), entry, draft }
    this.#waiting.push(pendingEntry)
    this.pending.set(keyOf(draft), pendingEntry)
    this.#plan()
    return pendingEntry.promise
  }

  protected override async finish(): Promise<void> {
    const settled = super.finish()
    this.#storeGroup()
    await settled
    this.#onClosed()
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    const later = this.#defer ?? queueMicrotask
    later(() => {
      this.#isPlanned = false
      this.#storeGroup()
    })
  }

  #storeOne(entry: Entry): number {
    const [seq = null] = this.#storeAndTell([entry])
    if (seq === null) throw idTaken(entry.draft)
    return seq
  }

  #storeGroup(): void {
    if (this.#waiting.length === 0 || this.#isStoring) return
    const group = this.#waiting
    this.#waiting = []
    let seqs: readonly (number | null)[] = []
    try {
      seqs = this.#storeAndTell(group.map(({ entry }) => entry))
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
    for (const [index, { draft, resolve, reject }] of group.entries()) {
      const seq = seqs[index]
      if (seq === null) reject(idTaken(draft))
      else if (seq !== undefined) resolve(seq)
      this.pending.delete(keyOf(draft))
    }
  }

  /** Throws if nothing was stored. */
  #storeAndTell(group: readonly Entry[]): readonly (number | null)[] {
    this.#isStoring = true
    try {
      diagnostics.committing.publish(group)
      const seqs = this.#commit(group)
      diagnostics.stored.publish(group)
      for (const [index, entry] of group.entries()) {
        const seq = seqs[index] ?? 0
        if (seq > this.history.head) this.#tell(entry, seq)
        // Followers already know it.
        else if (seq > 0) trace.log?.(`${entry.draft.id} is a repeat of ${seq}`)
      }
      diagnostics.told.publish(group)
      return seqs
    } finally {
      this.#isStoring = false
      if (this.#waiting.length > 0) this.#plan()
    }
  }

  #tell(entry: Entry, seq: number): void {
    const { draft, acceptedAt, bytes } = entry
    const { id, channel, kind, from, at, body } = draft
    const message = { id, channel, kind, from, at, body, seq, acceptedAt } as Message
    this.history.add(message, bytes, writerOf(message))
    this.tell(message, messageText(message, entry.body))
  }
}
