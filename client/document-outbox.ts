// The outbox of a document: merges updates, drops superseded edits, and saves what is not stored.

import type { Bodies, Draft, Kind, Stored, UpdateBody } from '../server/wire/messages.ts'
import type { Cancel, Random } from '../server/wire/time.ts'
import type { UnstoredDraft } from './draft-database.ts'
import type { DraftStore } from './draft-store.ts'
import {
  bytesOf,
  Outbox,
  OutboxDraft,
  type OutboxListener,
  type OutboxOptions,
  type OutboxState,
} from './outbox.ts'
import { RefusedError } from './transports/transport.ts'

/** How updates of a document are merged. */
interface Merging {
  /** Returns one update equivalent to all of these. */
  readonly mergeUpdates: (updates: readonly UpdateBody[]) => UpdateBody
  /** Minimum interval between updates, ms. With 0, updates are merged only in a long queue. */
  readonly pauseMs: number
  /** Size limit of a message in UTF-8 bytes. */
  readonly mostBytes: number
}

export interface DocumentOutboxOptions extends OutboxOptions {
  /** If null, unsent drafts are lost with the window. */
  readonly store: Pick<DraftStore, 'write'> | null
  /** If null, every update is its own message. */
  readonly merging: Merging | null
  readonly random: Random
}

/** Edits are usually acknowledged within a few ms; while connected only slower ones are saved. */
const saveDelayMs = 250

/** Limits merging into a draft that has waited longer than the pause: each save rewrites the whole draft. */
const mostGrownBytes = 16_384

/** They say nothing of the content, which is sent again under this window's name. */
const nameRefusals: readonly string[] = ['id-taken', 'not-your-name']

/** They say nothing of the content: another user of this browser may have a session now. */
const accessRefusals: readonly string[] = ['not-invited-there', 'read-only-invitation']

/** From this queue length on, updates are merged even without a pause. */
const manyDrafts = 64

class DocumentDraft extends OutboxDraft implements UnstoredDraft {
  readonly cursor: string | null
  edits: number
  /** How many of the edits the store has. */
  kept = 0
  /** The saved copy is current, or being written. */
  isSaved = false
  /** The store may have a copy, perhaps an outdated one. */
  wasSaved = false
  /** Exceeds the bounds: kept in this window only. */
  isOver = false
  isRenamed = false
  /** The server may have stored it, so its content is final. */
  wasSent = false
  readonly #merging: Merging | null
  #joined: UpdateBody[] = []

  constructor({ draft, cursor, edits }: UnstoredDraft, merging: Merging | null) {
    super(draft)
    this.cursor = cursor
    this.edits = edits
    this.#merging = merging
  }

  override leave(): void {
    super.leave()
    this.complete()
    this.wasSent = true
  }

  join(update: UpdateBody): void {
    this.#joined.push(update)
    this.bytes += update.update.length
    this.edits += 1
    this.isSaved = false
  }

  /** Merges the updates that joined. Deferred, since a long paste consists of many. */
  complete(): void {
    if (this.#merging === null || this.#joined.length === 0) return
    const draft = this.draft as { -readonly [Field in keyof Draft<'update'>]: Draft<'update'>[Field] }
    draft.body = this.#merging.mergeUpdates([draft.body, ...this.#joined])
    this.#joined = []
    this.bytes = bytesOf(draft)
  }
}

export class DocumentOutbox extends Outbox<DocumentDraft> {
  readonly #store: DocumentOutboxOptions['store']
  readonly #merging: Merging | null
  readonly #random: Random
  /** Draft ids by channel. */
  readonly #newestEdits = new Map<string, string>()
  #superseded = 0
  #updateLeavesAt = Number.NEGATIVE_INFINITY
  #plannedSave: Cancel | null = null
  #isSaved = true

  constructor(options: DocumentOutboxOptions, listener: OutboxListener) {
    super(options, listener)
    this.#store = options.store
    this.#merging = options.merging
    this.#random = options.random
  }

  override get state(): OutboxState {
    const unstored = this.unstored()
    return {
      unstored: unstored.reduce((sum, { edits }) => sum + edits, 0),
      kept: unstored.reduce((sum, { kept }) => sum + kept, 0),
      superseded: this.#superseded,
      isFull: unstored.some(({ isOver }) => isOver),
      isSaved: this.#isSaved,
    }
  }

  /**
   * An update may be merged into the newest draft, which is then returned. At the bounds, drops the
   * channel's oldest unsent edits: an edit carries the whole content. Content that still exceeds the
   * bounds is kept in this window only; anything else is rejected (null).
   */
  override publish<K extends Kind>(
    channel: string,
    kind: K,
    body: Bodies[K],
    cursor: string | null,
  ): Draft<K> | null {
    const joined = kind === 'update' ? this.#draftToJoin(channel, body as UpdateBody) : null
    if (!joined) return super.publish(channel, kind, body, cursor)
    joined.join(body as UpdateBody)
    this.queue.sendMore()
    this.changed()
    return joined.draft as Draft<K>
  }

  /** Whether a draft with this id is neither stored nor refused. */
  has(id: string): boolean {
    return this.queue.drafts.get(id)?.isFinal === false
  }

  /** Adds saved drafts of closed windows, regardless of the bounds. */
  adopt(left: readonly UnstoredDraft[]): void {
    for (const one of left) {
      if (this.queue.drafts.has(one.draft.id)) continue
      const queued = this.#unsent(one)
      queued.kept = one.edits
      queued.isSaved = true
      queued.wasSaved = true
      this.append(queued)
    }
    this.queue.sendMore()
    this.changed()
  }

  /** Of what it had saved, nothing may be left. */
  saveAgain(): void {
    for (const queued of this.unstored()) {
      queued.kept = 0
      queued.isSaved = false
    }
    this.#save()
    super.changed()
  }

  override disconnect(): void {
    super.disconnect()
    if (!this.isClosed && this.unstored().length > 0) this.#save()
  }

  /** Also saves. */
  override flush(): void {
    for (const queued of this.queue.drafts.values()) queued.leavesAt = 0
    super.flush()
    this.#save()
  }

  override close(): void {
    super.close()
    this.#plannedSave?.()
  }

  protected override queued(draft: Draft, cursor: string | null): DocumentDraft {
    return this.#unsent({ draft, cursor, edits: 1 })
  }

  #unsent(one: UnstoredDraft): DocumentDraft {
    return new DocumentDraft(one, this.#merging)
  }

  /** The newest draft, if it is an unsent update of this window with room for another. */
  #draftToJoin(channel: string, { update }: UpdateBody): DocumentDraft | null {
    const { window, timers } = this.options
    const merging = this.#merging
    const unstored = this.unstored()
    const newest = unstored.at(-1)
    if (!merging || !newest || newest.wasSent || unstored.length < (merging.pauseMs > 0 ? 1 : manyDrafts))
      return null
    const { draft, bytes, leavesAt } = newest
    if (draft.kind !== 'update' || draft.channel !== channel || draft.from !== window) return null
    const mostBytes = timers.now() < leavesAt ? merging.mostBytes : mostGrownBytes
    return bytes + update.length <= mostBytes ? newest : null
  }

  /** False if it exceeds the bounds and is not content. */
  protected override add(added: DocumentDraft): boolean {
    const { draft } = added
    const { outdated, isEnough } = this.#outdatedBy(added)
    added.isOver = !isEnough
    if (added.isOver && draft.kind !== 'update' && draft.kind !== 'edit') return false
    if (draft.kind === 'update' && this.queue.isConnected) {
      // The first update after a pause leaves at once.
      added.leavesAt = Math.max(
        this.options.timers.now(),
        this.#updateLeavesAt + (this.#merging?.pauseMs ?? 0),
      )
      this.#updateLeavesAt = added.leavesAt
    }
    this.append(added)
    for (const old of outdated) {
      old.state = 'superseded'
      this.remove(old)
      this.#supersede(old.draft)
    }
    return true
  }

  protected override unstored(): DocumentDraft[] {
    return super.unstored().filter(({ isFinal }) => !isFinal)
  }

  protected override append(queued: DocumentDraft): void {
    super.append(queued)
    const { id, kind, channel } = queued.draft
    if (kind === 'edit') this.#newestEdits.set(channel, id)
  }

  /**
   * Edits that this one replaces: enough to stay within the bounds, else only those already beyond
   * them.
   */
  #outdatedBy({ draft, bytes }: DocumentDraft): {
    readonly outdated: readonly DocumentDraft[]
    readonly isEnough: boolean
  } {
    const { bounds } = this.options
    const unstored = this.unstored()
    let messagesOver = unstored.length + 1 - bounds.messages
    let bytesOver = unstored.reduce((sum, one) => sum + one.bytes, bytes) - bounds.bytes
    const outdated: DocumentDraft[] = []
    for (const old of unstored) {
      if (messagesOver <= 0 && bytesOver <= 0) break
      const { kind, channel } = old.draft
      const isContained = draft.kind === 'edit' && kind === 'edit' && channel === draft.channel
      if (!isContained || old.state === 'under way') continue
      outdated.push(old)
      messagesOver -= 1
      bytesOver -= old.bytes
    }
    const isEnough = messagesOver <= 0 && bytesOver <= 0
    return { outdated: isEnough ? outdated : outdated.filter(({ isOver }) => isOver), isEnough }
  }

  /** Accepts drafts that exceeded the bounds, in order, as room becomes available. */
  #takeWithinBounds(): void {
    const { bounds } = this.options
    let messages = 0
    let bytes = 0
    for (const queued of this.unstored()) {
      messages += 1
      bytes += queued.bytes
      if (queued.isOver && (messages > bounds.messages || bytes > bounds.bytes)) return
      queued.isOver = false
    }
  }

  #supersede(draft: Draft): void {
    this.#superseded += 1
    this.listener.onSuperseded?.(draft)
  }

  protected override answered(queued: DocumentDraft, answer: Stored | RefusedError): void {
    const { draft, isRenamed } = queued
    const isOfName = answer instanceof RefusedError && nameRefusals.includes(answer.code)
    // A message of an application has an answer under its id.
    if (isOfName && !isRenamed && draft.kind !== 'json') {
      this.remove(queued)
      const isNewest = draft.kind !== 'edit' || this.#newestEdits.get(draft.channel) === draft.id
      if (isNewest) this.#rename(queued)
      // Resending would put it after newer messages, which contain it.
      else this.#supersede(draft)
    } else {
      super.answered(queued, answer)
      // What is saved stays, for a window that may send it.
      if (answer instanceof RefusedError && accessRefusals.includes(answer.code) && draft.kind !== 'json')
        this.queue.drafts.delete(draft.id)
    }
    this.#takeWithinBounds()
    if (this.unstored().length === 0) this.#superseded = 0
  }

  /** Resends under a random id of this window; a second refusal is final. */
  #rename({ draft, cursor, edits }: DocumentDraft): void {
    const { window } = this.options
    const id = `${this.nextId()}r${Math.floor(this.#random() * 36 ** 8).toString(36)}`
    const renamed = this.#unsent({ draft: { ...draft, id, from: window }, cursor, edits })
    renamed.isRenamed = true
    this.append(renamed)
    this.listener.onRenamed?.(draft.id, renamed.draft)
  }

  /** Removes it immediately, or together with its saved copy. */
  protected override remove(queued: DocumentDraft): void {
    if (!queued.wasSaved) super.remove(queued)
  }

  protected override changed(): void {
    if (this.unstored().length === 0 || !this.queue.isConnected) this.#save()
    else this.#plannedSave ??= this.options.timers.later(() => this.#save(), saveDelayMs)
    super.changed()
  }

  #save(): void {
    this.#plannedSave?.()
    this.#plannedSave = null
    const store = this.#store
    if (!store || this.isClosed) return
    const added: DocumentDraft[] = []
    const removed: DocumentDraft[] = []
    for (const queued of this.queue.drafts.values()) {
      if (queued.isFinal) removed.push(queued)
      else if (!queued.isSaved && !queued.isOver) added.push(queued)
    }
    const firsts = added.filter(({ wasSaved }) => !wasSaved)
    for (const queued of added) {
      queued.complete()
      queued.isSaved = true
      queued.wasSaved = true
    }
    for (const { draft } of removed) this.queue.drafts.delete(draft.id)
    // Edits may join while it is written.
    const written = added.map((queued) => [queued, queued.edits] as const)
    const records = added.map(({ draft, cursor, edits }) => ({ draft, cursor, edits }))
    const ids = removed.map(({ draft }) => draft.id)
    store.write(records, ids).then((isDone) => {
      if (isDone) for (const [queued, edits] of written) queued.kept = edits
      else {
        for (const queued of added) queued.isSaved = false
        for (const queued of firsts) queued.wasSaved = false
        // The next call tries again.
        for (const queued of removed) if (queued.wasSaved) this.queue.drafts.set(queued.draft.id, queued)
        for (const queued of firsts) if (queued.isFinal) this.remove(queued)
      }
      if (this.isClosed || (added.length === 0 && isDone === this.#isSaved)) return
      this.#isSaved = isDone
      this.listener.onOutbox(this.state)
    })
  }
}
