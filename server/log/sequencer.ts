// The order of a log: stores drafts, one or a group in a commit, notifies followers, then answers.

import { channel } from 'node:diagnostics_channel'
import { type Cursor, type Draft, formatCursor, type Kind, type Message } from '../wire/messages.ts'
import {
  type Defer,
  documentDeleted,
  type Identified,
  idTaken,
  type Log,
  logClosed,
  notThere,
  type OldestContent,
  type OnFailure,
  type OnMessage,
  type Snapshot,
  tooManyChannels,
} from './log.ts'
import { keyOf, type Portion, type Tail } from './retention.ts'

/** A draft on its way into the log. */
export class Entry {
  readonly draft: Draft
  readonly acceptedAt: number
  /** As JSON, and its size. */
  readonly body: string
  readonly bytes: number
  #seq = 0
  #text = ''

  constructor(draft: Draft, acceptedAt: number) {
    this.draft = draft
    this.acceptedAt = acceptedAt
    this.body = JSON.stringify(draft.body)
    this.bytes = Buffer.byteLength(this.body)
  }

  /** The message as JSON; made once. */
  textOf(seq: number): string {
    if (seq === this.#seq) return this.#text
    const { id, channel, kind, from, at } = this.draft
    const head = JSON.stringify({ id, channel, kind, from, at })
    this.#text = `${head.slice(0, -1)},"body":${this.body},"seq":${seq},"acceptedAt":${this.acceptedAt}}`
    this.#seq = seq
    return this.#text
  }
}

interface PendingEntry extends PromiseWithResolvers<number> {
  readonly entry: Entry
}

export interface LogStore {
  /**
   * One commit. Returns each entry's number: the next after the tail's head, or a stored repeat's; null if another
   * message has the id. Throws if nothing was stored.
   */
  readonly commit: (group: readonly Entry[]) => readonly (number | null)[]
  /** Of what the tail no longer has. */
  readonly find?: (wanted: Identified) => Message | null
  /** Drops what exceeds the bounds; all messages after the returned number are held. */
  readonly floor: () => number
  /** Whether the log has all messages up to a cursor as its client has them; absent where it has one epoch. */
  readonly continues?: (cursor: Cursor) => boolean
  /** `seq` is from `floor()` to the head. Null where messages cannot be read. */
  readonly after: (seq: number, channels: ReadonlySet<string>) => Portion | Promise<Portion | null>
  readonly oldest: (channel: string, kind: Kind) => Omit<OldestContent, 'after'>
  readonly close: () => void
}

interface SequencerParts {
  readonly epoch: string
  /** Filled by the sequencer, after each commit. */
  readonly tail: Tail
  readonly maxChannels: number
  readonly store: LogStore
  /** Drafts appended before `run` is called form one group; absent where each is a commit, within `append`. */
  readonly defer?: Defer | undefined
  readonly onFailure: OnFailure
}

/** Each with a group of entries: its commit begins; has ended; all followers were told. */
const diagnostics = {
  committing: channel('crosswind:committing'),
  stored: channel('crosswind:stored'),
  told: channel('crosswind:told'),
}

export class Sequencer implements Log {
  readonly #epoch: string
  readonly #tail: Tail
  readonly #maxChannels: number
  readonly #store: LogStore
  readonly #defer: Defer | undefined
  readonly #onFailure: OnFailure
  readonly #followers: Followers
  readonly #pending = new Map<string, PendingEntry>()
  /** Pending without a group, and the channels they add. */
  #waiting: PendingEntry[] = []
  readonly #newChannels = new Set<string>()
  /** Channels whose erasure is pending, to make room. */
  readonly #leaving = new Set<string>()
  #isPlanned = false
  #isStoring = false
  #isClosed = false
  #closing: Promise<void> | null = null

  constructor({ epoch, tail, maxChannels, store, defer, onFailure }: SequencerParts) {
    this.#epoch = epoch
    this.#tail = tail
    this.#maxChannels = maxChannels
    this.#store = store
    this.#defer = defer
    this.#onFailure = onFailure
    this.#followers = new Followers(onFailure)
  }

  readonly append: Log['append'] = (draft, acceptedAt) => {
    try {
      return this.#take(draft, acceptedAt)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  readonly find: Log['find'] = async (wanted) => {
    this.#mustBeOpen()
    // Of one that is not stored its sender is told.
    await this.#pending.get(keyOf(wanted))?.promise.catch(() => undefined)
    return this.#tail.find(wanted) ?? this.#store.find?.(wanted) ?? null
  }

  readonly follow: Log['follow'] = (onMessage) => this.#followers.add(onMessage)

  readonly read: Log['read'] = async (cursor, channels) => {
    this.#mustBeOpen()
    this.#eraseDue()
    const head = { epoch: this.#epoch, seq: this.#tail.head }
    const isHeld = cursor !== null && this.#continues(cursor) && cursor.seq >= this.#store.floor()
    const found = isHeld ? await this.#store.after(cursor.seq, channels) : null
    if (found) {
      return {
        recovered: true,
        messages: found.messages,
        reached: { epoch: this.#epoch, seq: found.upTo },
        head,
      }
    }
    const whole = this.#snapshot(channels)
    return { recovered: false, ...whole, reached: whole.head }
  }

  readonly snapshot: Log['snapshot'] = async (channels) => this.#snapshot(channels)

  readonly oldest: Log['oldest'] = async (channel, kind) => {
    this.#mustBeOpen()
    const floor = this.#store.floor()
    const { base, messages } = this.#store.oldest(channel, kind)
    return { base, messages, after: { epoch: this.#epoch, seq: Math.max(base?.seq ?? 0, floor) } }
  }

  readonly heads: Log['heads'] = () => this.#tail.heads

  readonly close: Log['close'] = () => {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw logClosed()
  }

  #mustHaveRoom(channel: string): void {
    if (this.#newChannels.has(channel) || (this.#tail.heads.has(channel) && !this.#leaving.has(channel)))
      return
    if (
      this.#tail.heads.size - this.#leaving.size + this.#newChannels.size >= this.#maxChannels &&
      !this.#makeRoom()
    )
      throw tooManyChannels(channel, this.#maxChannels)
    this.#newChannels.add(channel)
  }

  /** An empty document goes before the new one comes. */
  #makeRoom(): boolean {
    const isInUse = (channel: string) =>
      this.#pending.values().some(({ entry }) => entry.draft.channel === channel)
    const erasure = this.#tail.emptyErasure(isInUse)
    if (!erasure) return false
    if (this.#defer || this.#isStoring) this.#leaving.add(erasure.channel)
    this.#erase(erasure)
    return true
  }

  /** What is due is erased before the next message or snapshot. */
  #eraseDue(): void {
    const due = this.#tail.dueErasure()
    if (due && !this.#pending.has(keyOf(due))) this.#erase(due)
  }

  #erase(erasure: Draft<'erasure'>): void {
    try {
      const stored = this.#enter(erasure, erasure.at)
      if (typeof stored !== 'number') stored.catch(this.#onFailure)
    } catch (error) {
      // It is tried again with the next message.
      this.#onFailure(error)
    }
  }

  /** A number where the draft is stored within the call. Throws what `append` rejects with. */
  #take(draft: Draft, acceptedAt: number): number | Promise<number> {
    this.#mustBeOpen()
    this.#eraseDue()
    const stored = this.#tail.find(draft)
    const unanswered = this.#pending.size === 0 ? undefined : this.#pending.get(keyOf(draft))
    const known = stored ?? unanswered?.entry.draft
    if (known && !isRepeat(draft, known)) throw idTaken(draft)
    if (stored) return stored.seq
    if (unanswered) return unanswered.promise
    mustBeThere(draft, this.#tail)
    this.#mustHaveRoom(draft.channel)
    return this.#enter(draft, acceptedAt)
  }

  #enter(draft: Draft, acceptedAt: number): number | Promise<number> {
    const entry = new Entry(draft, acceptedAt)
    // A follower that appends waits for its turn.
    if (!this.#defer && !this.#isStoring) return this.#storeOne(entry)
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const pendingEntry = { entry, promise, resolve, reject }
    this.#waiting.push(pendingEntry)
    this.#pending.set(keyOf(draft), pendingEntry)
    this.#plan()
    return promise
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
    for (const [place, { entry, resolve, reject }] of group.entries()) {
      const seq = seqs[place]
      if (seq === null) reject(idTaken(entry.draft))
      else if (seq !== undefined) resolve(seq)
      this.#pending.delete(keyOf(entry.draft))
    }
  }

  /** Throws if nothing was stored. */
  #storeAndTell(group: readonly Entry[]): readonly (number | null)[] {
    this.#isStoring = true
    try {
      diagnostics.committing.publish(group)
      const seqs = this.#store.commit(group)
      diagnostics.stored.publish(group)
      for (const [place, entry] of group.entries()) {
        const seq = seqs[place] ?? 0
        // Repeats were told before.
        if (seq > this.#tail.head) this.#tell(entry, seq)
      }
      diagnostics.told.publish(group)
      return seqs
    } finally {
      this.#isStoring = false
      this.#newChannels.clear()
      this.#leaving.clear()
      if (this.#waiting.length > 0) {
        for (const { entry } of this.#waiting) {
          const { channel, kind } = entry.draft
          if (kind === 'erasure') this.#leaving.add(channel)
          else if (!this.#tail.heads.has(channel) || this.#leaving.has(channel))
            this.#newChannels.add(channel)
        }
        this.#plan()
      }
    }
  }

  #tell(entry: Entry, seq: number): void {
    const { draft, acceptedAt, bytes } = entry
    const { id, channel, kind, from, at, body } = draft
    const message = { id, channel, kind, from, at, body, seq, acceptedAt } as Message
    this.#tail.add(message, bytes)
    this.#followers.tell(message, formatCursor({ epoch: this.#epoch, seq }), entry.textOf(seq))
  }

  #snapshot(channels: ReadonlySet<string>): Snapshot {
    this.#mustBeOpen()
    this.#eraseDue()
    return { messages: this.#tail.newestOn(channels), head: { epoch: this.#epoch, seq: this.#tail.head } }
  }

  async #finish(): Promise<void> {
    this.#isClosed = true
    const promises = Array.from(this.#pending.values(), ({ promise }) => promise)
    this.#storeGroup()
    await Promise.allSettled(promises)
    this.#store.close()
  }

  #continues(cursor: Cursor): boolean {
    return this.#store.continues?.(cursor) ?? (cursor.epoch === this.#epoch && cursor.seq <= this.#tail.head)
  }
}

/** Told one after the other; one that throws costs the others nothing. */
export class Followers {
  /** Replaced when it changes, never altered. */
  #all: readonly OnMessage[] = []
  readonly #onFailure: OnFailure

  constructor(onFailure: OnFailure) {
    this.#onFailure = onFailure
  }

  /** Returns the unsubscribe function. */
  readonly add = (onMessage: OnMessage): (() => void) => {
    if (!this.#all.includes(onMessage)) this.#all = [...this.#all, onMessage]
    return () => {
      this.#all = this.#all.filter((one) => one !== onMessage)
    }
  }

  /** `text`: the message as JSON, where it is known. */
  tell(message: Message, cursor: string, text?: string): void {
    const all = this.#all
    for (const onMessage of all) {
      // One that is added now begins with the next message; one that was removed is told no more.
      if (this.#all !== all && !this.#all.includes(onMessage)) continue
      try {
        onMessage(message, cursor, text)
      } catch (error) {
        this.#onFailure(error)
      }
    }
  }
}

/** A repeat has the sender's timestamp too. */
export function isRepeat(draft: Draft, known: Draft): boolean {
  const { kind, at, body } = known
  return draft.kind === kind && draft.at === at && JSON.stringify(draft.body) === JSON.stringify(body)
}

/** A deleted document takes nothing until it is brought back; one that is not there cannot be deleted. */
export function mustBeThere({ channel, kind }: Draft, tail: Pick<Tail, 'deletionOf' | 'heads'>): void {
  if (kind === 'deletion') {
    if (!tail.heads.has(channel)) throw notThere(channel)
  } else if (tail.deletionOf(channel)) throw documentDeleted(channel)
}
