// A log with a history: decides which drafts to store, answers reads, notifies followers.

import {
  type Cursor,
  type Draft,
  formatCursor,
  isChannelName,
  type Message,
} from '../../protocol/messages.ts'
import { idTaken } from '../../protocol/refusal.ts'
import { trace } from '../../protocol/trace.ts'
import type { Content, Store, TypeOf } from '../channels/channel-type.ts'
import type { History } from './history.ts'
import { keptAsText } from './kept-json.ts'
import {
  type Defer,
  isRepeat,
  keyOf,
  type Log,
  type LogParts,
  logClosed,
  type OnFailure,
  type OnMessage,
  type Snapshot,
  tooManyChannels,
} from './log.ts'
import type { Portion } from './recent-messages.ts'
import { isDamage } from './tables.ts'

export interface HistoryLogParts {
  readonly epoch: string
  readonly history: History
  readonly typeOf: TypeOf
  readonly maxChannels: number
  readonly roomMaking: LogParts['roomMaking']
  readonly onFailure: OnFailure
  /** Receives a sentence when stored messages are missing or damaged. */
  readonly onLoss: (sentence: string) => void
  /**
   * Whether the log has all messages up to the cursor exactly as its client has them; absent if it
   * has one epoch.
   */
  readonly continues?: (cursor: Cursor) => boolean
  /** Schedules reads of more than memory holds; by default they run at once. */
  readonly inTurn?: Defer | undefined
}

interface Pending {
  readonly draft: Draft
  readonly promise: Promise<number>
}

/** Answers from the history, and decides which drafts go into the log; subclasses store them. */
export abstract class HistoryLog<Waiting extends Pending> implements Log {
  readonly #parts: HistoryLogParts
  /** Drafts that are not answered, by `keyOf`. */
  protected readonly pending = new Map<string, Waiting>()
  readonly #followers: Followers
  /** Channels whose erasure is pending. */
  readonly #erasing = new Set<string>()
  #isClosed = false
  #closing: Promise<void> | null = null

  constructor(parts: HistoryLogParts) {
    this.#parts = parts
    this.#followers = new Followers(parts.onFailure)
  }

  readonly append: Log['append'] = (draft, acceptedAt) => {
    const { gate } = this.#parts.typeOf(draft.channel)
    // Only the server erases.
    return gate && draft.kind !== 'erasure'
      ? gate.pass(draft, acceptedAt, this.#store)
      : this.#store(draft, acceptedAt)
  }

  readonly #store: Store = (draft, acceptedAt) => {
    try {
      return this.#decide(draft, acceptedAt)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  readonly find: Log['find'] = async (wanted) => {
    this.#mustBeOpen()
    // A failure is reported to its sender, not here.
    await this.pending.get(keyOf(wanted))?.promise.catch(() => undefined)
    return this.history.find(wanted)
  }

  readonly follow: Log['follow'] = (onMessage) => this.#followers.add(onMessage)

  readonly read: Log['read'] = async (cursor, channels) => {
    this.#mustBeOpen()
    this.#eraseDue()
    if (cursor && this.catchUp) await this.catchUp(cursor)
    const { head } = this
    const isHeld = cursor !== null && this.#continues(cursor) && cursor.seq >= this.#floorOf(channels)
    const found = isHeld ? await this.#after(cursor.seq, channels) : null
    if (found) {
      const reached = { epoch: this.epoch, seq: found.upTo }
      return { recovered: true, messages: found.messages, reached, head }
    }
    const snapshot = await this.#preparedSnapshot(channels)
    return { recovered: false, ...snapshot, reached: snapshot.head }
  }

  readonly readBefore: Log['readBefore'] = async (channel, before, limit, kind) => {
    this.#mustBeOpen()
    this.#eraseDue()
    const { head } = this
    const { messages, isOldest } = this.history.before(channel, before, limit, kind)
    const { inTurn } = this.#parts
    if (inTurn) await new Promise<void>(inTurn)
    return { messages, isOldest, head }
  }

  readonly numberAt: Log['numberAt'] = async (channel, at) => {
    this.#mustBeOpen()
    return this.history.numberAt(channel, at)
  }

  readonly channels: Log['channels'] = async (prefix, before, limit) => {
    this.#mustBeOpen()
    this.#eraseDue()
    return this.history.list(prefix, before, limit)
  }

  readonly snapshot: Log['snapshot'] = async (channels) => this.#preparedSnapshot(channels)

  readonly oldest: Log['oldest'] = async (channel, kind) => {
    this.#mustBeOpen()
    const floor = this.#floorOf([channel])
    const { base, messages } = this.history.oldest(channel, kind)
    return { base, messages, after: { epoch: this.epoch, seq: Math.max(base?.seq ?? 0, floor) } }
  }

  readonly heads: Log['heads'] = () => this.history.heads

  readonly close: Log['close'] = () => {
    this.#isClosed = true
    this.#closing ??= this.finish()
    return this.#closing
  }

  /**
   * Returns a number if the draft is stored within the call. Throws or rejects if it is not stored.
   */
  protected abstract enter(draft: Draft, acceptedAt: number): number | Promise<number>

  /**
   * Waits until this server has all messages that a client with this cursor has received from another
   * one.
   */
  protected catchUp?(cursor: Cursor): Promise<void>

  protected get epoch(): string {
    return this.#parts.epoch
  }

  protected get history(): History {
    return this.#parts.history
  }

  protected get onFailure(): OnFailure {
    return this.#parts.onFailure
  }

  protected get isClosed(): boolean {
    return this.#isClosed
  }

  protected get head(): Cursor {
    return { epoch: this.epoch, seq: this.history.head }
  }

  /** `text` is the message as JSON, if known. */
  protected tell(message: Message, text?: string): void {
    trace.log?.(`${message.id} stored as ${message.seq}: ${message.kind} on ${message.channel}`)
    if (message.kind === 'erasure') this.#erasing.delete(message.channel)
    this.#followers.tell(message, formatCursor({ epoch: this.epoch, seq: message.seq }), text)
  }

  /** Called once. Waits for pending drafts; there will be no more. */
  protected async finish(): Promise<void> {
    await Promise.allSettled(Array.from(this.pending.values(), ({ promise }) => promise))
  }

  /** The number after which all messages of these channels are held. */
  #floorOf(channels: Iterable<string>): number {
    return Math.max(0, ...Array.from(channels, (one) => this.history.floorOf(one)))
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw logClosed()
  }

  #continues(cursor: Cursor): boolean {
    const { continues } = this.#parts
    return continues?.(cursor) ?? (cursor.epoch === this.epoch && cursor.seq <= this.history.head)
  }

  /** Null if some of it is missing or damaged. */
  async #after(seq: number, channels: ReadonlySet<string>): Promise<Portion | null> {
    const recent = this.history.recent(seq, channels)
    if (recent) return recent
    const { onLoss, inTurn } = this.#parts
    let found: Portion | null = null
    try {
      found = this.history.after(seq, channels)
    } catch (error) {
      if (!isDamage(error)) throw error
      onLoss(
        `The log is damaged after message ${seq} of ${[...channels].join(', ')}. Clients that read it get a snapshot.`,
      )
    }
    // Yields, so that a client reading the whole log does not block others.
    if (inTurn) await new Promise<void>(inTurn)
    return found
  }

  /** Returns a repeat's number, throws a `Refusal`, or enters the draft. */
  #decide(given: Draft, acceptedAt: number): number | Promise<number> {
    this.#mustBeOpen()
    this.#eraseDue()
    const draft = keptAsText(given)
    const unanswered = this.pending.size === 0 ? undefined : this.pending.get(keyOf(draft))
    if (unanswered && isRepeat(draft, unanswered.draft)) return unanswered.promise
    if (unanswered) {
      // The pending draft may be refused because this one is stored already.
      const stored = this.repeatOf(draft)
      if (stored === null) throw idTaken(draft)
      return stored
    }
    const { channel } = draft
    const { refuse, kinds } = this.#parts.typeOf(channel)
    const refuseKind = kinds[draft.kind]?.refuse
    const content = () => (this.#erasing.has(channel) ? nothingOn(channel) : this.history.contentOf(channel))
    const refusal =
      draft.kind === 'erasure' ? null : (refuse?.(draft, content()) ?? refuseKind?.(draft, content()))
    if (refusal) {
      const known = this.history.find(draft)
      if (known && isRepeat(draft, known)) return known.seq
      throw refusal
    }
    this.#mustHaveRoom(channel)
    return this.enter(draft, acceptedAt)
  }

  /**
   * The number of the message that the draft repeats; null if it repeats none. Throws a `Refusal`
   * (`id-taken`) if another message has its id.
   */
  protected repeatOf(draft: Draft): number | null {
    const known = this.history.find(draft)
    if (!known) return null
    if (!isRepeat(draft, known)) throw idTaken(draft)
    trace.log?.(`${draft.id} is a repeat of ${known.seq}`)
    return known.seq
  }

  #mustHaveRoom(channel: string): void {
    // A channel of the server's own, which no client can name.
    if (!isChannelName(channel)) return
    const { heads } = this.history
    const { maxChannels, roomMaking } = this.#parts
    const isHeld = (one: string) => heads.has(one) && !this.#erasing.has(one)
    // Most logs are far from full, and any name may be new.
    if (isHeld(channel) || heads.size + this.pending.size < maxChannels) return
    const added = new Set<string>()
    for (const { draft } of this.pending.values())
      if (draft.kind !== 'erasure' && !isHeld(draft.channel)) added.add(draft.channel)
    const staying = heads.size - this.#erasing.intersection(heads).size
    if (added.has(channel) || staying + added.size < maxChannels || this.#makeRoom()) return
    throw tooManyChannels(channel, maxChannels, roomMaking)
  }

  /** Erases a channel that can be spared before the new one is stored. */
  #makeRoom(): boolean {
    const isInUse = (channel: string) => this.pending.values().some(({ draft }) => draft.channel === channel)
    const erasure = this.history.expiries.spare(isInUse)
    if (!erasure) return false
    this.#erase(erasure)
    return true
  }

  /** Erases expired channels before the next message or snapshot. */
  #eraseDue(): void {
    const due = this.history.expiries.due()
    if (!due || this.pending.has(keyOf(due))) return
    this.#erase(due)
  }

  /** A failed erasure is retried with the next message. */
  #erase(erasure: Draft<'erasure'>): void {
    const { channel } = erasure
    this.#erasing.add(channel)
    const isOver = () => this.#erasing.delete(channel)
    try {
      const stored = this.enter(erasure, erasure.at)
      if (typeof stored !== 'number') stored.catch(this.onFailure).finally(isOver)
    } catch (error) {
      isOver()
      this.onFailure(error)
    }
  }

  #preparedSnapshot(channels: ReadonlySet<string>): Snapshot | Promise<Snapshot> {
    this.#mustBeOpen()
    const preparing = this.#prepare(channels)
    return preparing.length === 0
      ? this.#snapshot(channels)
      : Promise.all(preparing).then(() => this.#snapshot(channels))
  }

  /** See `ChannelType`; past the gate, which may be reading the log. */
  #prepare(channels: ReadonlySet<string>): readonly Promise<void>[] {
    return Array.from(channels).flatMap((name) => {
      const messages = () => this.history.newestOn(new Set([name]))
      const { prepare } = this.#parts.typeOf(name)
      return prepare?.(this.history.contentOf(name), messages, this.#store) ?? []
    })
  }

  #snapshot(channels: ReadonlySet<string>): Snapshot {
    this.#mustBeOpen()
    this.#eraseDue()
    return { messages: this.history.newestOn(channels), head: this.head }
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

const nothingOn = (channel: string): Content => ({
  channel,
  kinds: [],
  newest: () => undefined,
  message: () => undefined,
})
