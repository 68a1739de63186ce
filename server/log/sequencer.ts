// What logs share: the drafts they accept, reads from the tail, and followers. And the sequencer, the
// order of one server's log: stores drafts one by one or in groups, notifies followers, then answers.

import { channel } from 'node:diagnostics_channel'
import {
  type Cursor,
  type Draft,
  formatCursor,
  isChannelName,
  type Kind,
  type Message,
} from '../wire/messages.ts'
import { trace } from '../wire/trace.ts'
import { jsonOfBody, keptAsText, messageText } from './kept-json.ts'
import {
  type Defer,
  documentDeleted,
  type Identified,
  idTaken,
  type Log,
  type LogParts,
  logClosed,
  notThere,
  type OldestContent,
  type OnFailure,
  type OnMessage,
  type Snapshot,
  tooManyChannels,
} from './log.ts'
import { keyOf, type Portion, type Tail } from './retention.ts'

/** A draft that is being stored. */
export class Entry {
  readonly draft: Draft
  readonly acceptedAt: number
  /** As JSON, and its size. */
  readonly body: string
  readonly bytes: number

  constructor(draft: Draft, acceptedAt: number) {
    this.draft = draft
    this.acceptedAt = acceptedAt
    this.body = jsonOfBody(draft.body)
    this.bytes = Buffer.byteLength(this.body)
  }
}

/** The rest of a log, beside its tail. */
export interface Archive {
  /** Finds a message that the tail no longer has. */
  readonly find?: (wanted: Identified) => Message | null
  /**
   * Whether the log has all messages up to the cursor exactly as its client has them; absent if it
   * has one epoch.
   */
  readonly continues?: (cursor: Cursor) => boolean
  /** Waits until this server has what a client with this cursor has received from another one. */
  readonly catchUp?: (cursor: Cursor) => Promise<void>
  /** `seq` is from the channels' floors to the head. Null if messages cannot be read. */
  readonly after: (seq: number, channels: ReadonlySet<string>) => Portion | Promise<Portion | null>
  readonly oldest: (channel: string, kind: Kind) => Omit<OldestContent, 'after'>
}

interface TailLogParts {
  readonly epoch: string
  /** Its owner adds each message before followers are notified. */
  readonly tail: Tail
  readonly archive: Archive
  readonly maxChannels: number
  readonly roomMaking: LogParts['roomMaking']
  readonly onFailure: OnFailure
}

interface Pending {
  readonly draft: Draft
  readonly promise: Promise<number>
}

/** Answers from the tail, and decides which drafts go into the log; subclasses store them. */
export abstract class TailLog<Waiting extends Pending> implements Log {
  // Private with protected getters: whoever wraps a log spreads it, and fields would come along.
  readonly #epoch: string
  readonly #tail: Tail
  readonly #onFailure: OnFailure
  /** Unanswered drafts, by `keyOf`. */
  readonly #pending = new Map<string, Waiting>()
  readonly #archive: Archive
  readonly #maxChannels: number
  readonly #roomMaking: LogParts['roomMaking']
  readonly #followers: Followers
  /** Channels whose erasure makes room, and is pending. */
  readonly #leaving = new Set<string>()
  #isClosed = false
  #closing: Promise<void> | null = null

  constructor({ epoch, tail, archive, maxChannels, roomMaking, onFailure }: TailLogParts) {
    this.#epoch = epoch
    this.#tail = tail
    this.#onFailure = onFailure
    this.#archive = archive
    this.#maxChannels = maxChannels
    this.#roomMaking = roomMaking
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
    // If it fails, its sender is told; ignore it here.
    await this.pending.get(keyOf(wanted))?.promise.catch(() => undefined)
    return this.tail.find(wanted) ?? this.#archive.find?.(wanted) ?? null
  }

  readonly follow: Log['follow'] = (onMessage) => this.#followers.add(onMessage)

  readonly read: Log['read'] = async (cursor, channels) => {
    this.#mustBeOpen()
    this.#eraseDue()
    if (cursor && this.#archive.catchUp) await this.#archive.catchUp(cursor)
    const { head } = this
    const isHeld = cursor !== null && this.#continues(cursor) && cursor.seq >= this.#floorOf(channels)
    const found = isHeld ? await this.#archive.after(cursor.seq, channels) : null
    if (found) {
      const reached = { epoch: this.epoch, seq: found.upTo }
      return { recovered: true, messages: found.messages, reached, head }
    }
    const whole = this.#snapshot(channels)
    return { recovered: false, ...whole, reached: whole.head }
  }

  readonly snapshot: Log['snapshot'] = async (channels) => this.#snapshot(channels)

  readonly oldest: Log['oldest'] = async (channel, kind) => {
    this.#mustBeOpen()
    const floor = this.#floorOf([channel])
    const { base, messages } = this.#archive.oldest(channel, kind)
    return { base, messages, after: { epoch: this.epoch, seq: Math.max(base?.seq ?? 0, floor) } }
  }

  readonly heads: Log['heads'] = () => this.tail.heads

  readonly close: Log['close'] = () => {
    this.#isClosed = true
    this.#closing ??= this.finish()
    return this.#closing
  }

  /**
   * Returns a number if the draft is stored within the call. Throws or rejects if it is not stored.
   */
  protected abstract enter(draft: Draft, acceptedAt: number): number | Promise<number>

  protected get epoch(): string {
    return this.#epoch
  }

  protected get tail(): Tail {
    return this.#tail
  }

  protected get onFailure(): OnFailure {
    return this.#onFailure
  }

  /** Drafts that are not answered, by `keyOf`. */
  protected get pending(): Map<string, Waiting> {
    return this.#pending
  }

  protected get isClosed(): boolean {
    return this.#isClosed
  }

  protected get head(): Cursor {
    return { epoch: this.epoch, seq: this.tail.head }
  }

  /** `text` is the message as JSON, if known. */
  protected tell(message: Message, text?: string): void {
    trace.log?.(`${message.id} stored as ${message.seq}: ${message.kind} on ${message.channel}`)
    if (message.kind === 'erasure') this.#leaving.delete(message.channel)
    this.#followers.tell(message, formatCursor({ epoch: this.epoch, seq: message.seq }), text)
  }

  /** Called once. Waits for pending drafts; there will be no more. */
  protected async finish(): Promise<void> {
    await Promise.allSettled(Array.from(this.pending.values(), ({ promise }) => promise))
  }

  /** The number after which all messages of these channels are held. */
  #floorOf(channels: Iterable<string>): number {
    return Math.max(0, ...Array.from(channels, (one) => this.tail.retention.floorOf(one)))
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw logClosed()
  }

  #continues(cursor: Cursor): boolean {
    return this.#archive.continues?.(cursor) ?? (cursor.epoch === this.epoch && cursor.seq <= this.tail.head)
  }

  #take(given: Draft, acceptedAt: number): number | Promise<number> {
    this.#mustBeOpen()
    this.#eraseDue()
    const draft = keptAsText(given)
    const stored = this.tail.find(draft)
    const unanswered = this.pending.size === 0 ? undefined : this.pending.get(keyOf(draft))
    const known = stored ?? unanswered?.draft
    if (known && !isRepeat(draft, known)) throw idTaken(draft)
    if (stored) {
      trace.log?.(`${draft.id} is a repeat of ${stored.seq}`)
      return stored.seq
    }
    if (unanswered) return unanswered.promise
    mustBeThere(draft, this.tail)
    this.#mustHaveRoom(draft.channel)
    return this.enter(draft, acceptedAt)
  }

  #mustHaveRoom(channel: string): void {
    // A server's own, which no client can name.
    if (!isChannelName(channel)) return
    const { heads } = this.tail
    const isHeld = (one: string) => heads.has(one) && !this.#leaving.has(one)
    // Most logs are far from full, and any name may be new.
    if (isHeld(channel) || heads.size + this.pending.size < this.#maxChannels) return
    const added = new Set<string>()
    for (const { draft } of this.pending.values())
      if (draft.kind !== 'erasure' && !isHeld(draft.channel)) added.add(draft.channel)
    const staying = heads.size - this.#leaving.intersection(heads).size
    if (added.has(channel) || staying + added.size < this.#maxChannels || this.#makeRoom()) return
    throw tooManyChannels(channel, this.#maxChannels, this.#roomMaking)
  }

  /** Erases an empty document before the new one is stored. */
  #makeRoom(): boolean {
    const isInUse = (channel: string) => this.pending.values().some(({ draft }) => draft.channel === channel)
    const erasure = this.tail.emptyErasure(isInUse)
    if (!erasure) return false
    this.#leaving.add(erasure.channel)
    this.#erase(erasure)
    return true
  }

  /** Erases what is due before the next message or snapshot. */
  #eraseDue(): void {
    const due = this.tail.dueErasure()
    if (due && !this.pending.has(keyOf(due))) this.#erase(due)
  }

  /** A failed erasure is retried with the next message. */
  #erase(erasure: Draft<'erasure'>): void {
    const isOver = () => this.#leaving.delete(erasure.channel)
    try {
      const stored = this.enter(erasure, erasure.at)
      if (typeof stored !== 'number') stored.catch(this.#onFailure).finally(isOver)
    } catch (error) {
      isOver()
      this.#onFailure(error)
    }
  }

  #snapshot(channels: ReadonlySet<string>): Snapshot {
    this.#mustBeOpen()
    this.#eraseDue()
    return { messages: this.tail.newestOn(channels), head: this.head }
  }
}

/** Where a sequencer stores its messages. */
export interface LogStore extends Archive {
  /**
   * Commits once. Returns each entry's number: the next after the tail's head, or a stored
   * repeat's; null if another message has the id. Throws if nothing was stored.
   */
  readonly commit: (group: readonly Entry[]) => readonly (number | null)[]
  readonly close: () => void
}

interface SequencerParts extends Omit<TailLogParts, 'archive'> {
  readonly store: LogStore
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
export class Sequencer extends TailLog<PendingEntry> {
  readonly #store: LogStore
  readonly #defer: Defer | undefined
  /** Pending drafts without a group. */
  #waiting: PendingEntry[] = []
  #isPlanned = false
  #isStoring = false

  constructor({ store, defer, ...parts }: SequencerParts) {
    super({ ...parts, archive: store })
    this.#store = store
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
    this.#store.close()
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
    for (const [place, { draft, resolve, reject }] of group.entries()) {
      const seq = seqs[place]
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
      const seqs = this.#store.commit(group)
      diagnostics.stored.publish(group)
      for (const [place, entry] of group.entries()) {
        const seq = seqs[place] ?? 0
        // Followers already know repeats.
        if (seq > this.tail.head) this.#tell(entry, seq)
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
    this.tail.add(message, bytes)
    this.tell(message, messageText(message, entry.body))
  }
}

/** Notifies followers one after the other; one that throws does not affect the others. */
export class Followers {
  /** Replaced on every change, never modified. */
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

  /** `text` is the message as JSON, if known. */
  tell(message: Message, cursor: string, text?: string): void {
    const all = this.#all
    for (const onMessage of all) {
      // New followers start at the next message; removed ones get no more.
      if (this.#all !== all && !this.#all.includes(onMessage)) continue
      try {
        onMessage(message, cursor, text)
      } catch (error) {
        this.#onFailure(error)
      }
    }
  }
}

/** A repeat also has the sender's timestamp. */
export function isRepeat(draft: Draft, known: Draft): boolean {
  const { kind, at, body } = known
  return draft.kind === kind && draft.at === at && jsonOfBody(draft.body) === jsonOfBody(body)
}

/** A deleted document accepts nothing until it is restored; a missing one cannot be deleted. */
function mustBeThere({ channel, kind }: Draft, tail: Pick<Tail, 'deletionOf' | 'heads'>): void {
  if (kind === 'deletion') {
    if (!tail.heads.has(channel)) throw notThere(channel)
  } else if (tail.deletionOf(channel)) throw documentDeleted(channel)
}
