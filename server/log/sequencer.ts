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

interface LogStore {
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

export function createSequencer({ epoch, tail, maxChannels, store, defer, onFailure }: SequencerParts): Log {
  const followers = new Followers(onFailure)
  const pending = new Map<string, PendingEntry>()
  /** Pending without a group, and the channels they add. */
  let waiting: PendingEntry[] = []
  const newChannels = new Set<string>()
  /** Channels whose erasure is pending, to make room. */
  const leaving = new Set<string>()
  let isPlanned = false
  let isStoring = false
  let isClosed = false
  let closing: Promise<void> | null = null

  const continues = store.continues ?? ((cursor: Cursor) => cursor.epoch === epoch && cursor.seq <= tail.head)

  function mustBeOpen(): void {
    if (isClosed) throw logClosed()
  }

  function mustHaveRoom(channel: string): void {
    if (newChannels.has(channel) || (tail.heads.has(channel) && !leaving.has(channel))) return
    if (tail.heads.size - leaving.size + newChannels.size >= maxChannels && !makeRoom())
      throw tooManyChannels(channel, maxChannels)
    newChannels.add(channel)
  }

  /** An empty document goes before the new one comes. */
  function makeRoom(): boolean {
    const isInUse = (channel: string) => pending.values().some(({ entry }) => entry.draft.channel === channel)
    const erasure = tail.emptyErasure(isInUse)
    if (!erasure) return false
    if (defer || isStoring) leaving.add(erasure.channel)
    erase(erasure)
    return true
  }

  /** What is due is erased before the next message or snapshot. */
  function eraseDue(): void {
    const due = tail.dueErasure()
    if (due && !pending.has(keyOf(due))) erase(due)
  }

  function erase(erasure: Draft<'erasure'>): void {
    try {
      const stored = enter(erasure, erasure.at)
      if (typeof stored !== 'number') stored.catch(onFailure)
    } catch (error) {
      // It is tried again with the next message.
      onFailure(error)
    }
  }

  /** A number where the draft is stored within the call. Throws what `append` rejects with. */
  function take(draft: Draft, acceptedAt: number): number | Promise<number> {
    mustBeOpen()
    eraseDue()
    const stored = tail.find(draft)
    const unanswered = pending.size === 0 ? undefined : pending.get(keyOf(draft))
    const known = stored ?? unanswered?.entry.draft
    if (known && !isRepeat(draft, known)) throw idTaken(draft)
    if (stored) return stored.seq
    if (unanswered) return unanswered.promise
    mustBeThere(draft, tail)
    mustHaveRoom(draft.channel)
    return enter(draft, acceptedAt)
  }

  function enter(draft: Draft, acceptedAt: number): number | Promise<number> {
    const entry = new Entry(draft, acceptedAt)
    // A follower that appends waits for its turn.
    if (!defer && !isStoring) return storeOne(entry)
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const pendingEntry = { entry, promise, resolve, reject }
    waiting.push(pendingEntry)
    pending.set(keyOf(draft), pendingEntry)
    plan()
    return promise
  }

  function plan(): void {
    if (isPlanned) return
    isPlanned = true
    const later = defer ?? queueMicrotask
    later(() => {
      isPlanned = false
      storeGroup()
    })
  }

  function storeOne(entry: Entry): number {
    const [seq = null] = storeAndTell([entry])
    if (seq === null) throw idTaken(entry.draft)
    return seq
  }

  function storeGroup(): void {
    if (waiting.length === 0 || isStoring) return
    const group = waiting
    waiting = []
    let seqs: readonly (number | null)[] = []
    try {
      seqs = storeAndTell(group.map(({ entry }) => entry))
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
    for (const [place, { entry, resolve, reject }] of group.entries()) {
      const seq = seqs[place]
      if (seq === null) reject(idTaken(entry.draft))
      else if (seq !== undefined) resolve(seq)
      pending.delete(keyOf(entry.draft))
    }
  }

  /** Throws if nothing was stored. */
  function storeAndTell(group: readonly Entry[]): readonly (number | null)[] {
    isStoring = true
    try {
      diagnostics.committing.publish(group)
      const seqs = store.commit(group)
      diagnostics.stored.publish(group)
      for (const [place, entry] of group.entries()) {
        const seq = seqs[place] ?? 0
        // Repeats were told before.
        if (seq > tail.head) tell(entry, seq)
      }
      diagnostics.told.publish(group)
      return seqs
    } finally {
      isStoring = false
      newChannels.clear()
      leaving.clear()
      if (waiting.length > 0) {
        for (const { entry } of waiting) {
          const { channel, kind } = entry.draft
          if (kind === 'erasure') leaving.add(channel)
          else if (!tail.heads.has(channel) || leaving.has(channel)) newChannels.add(channel)
        }
        plan()
      }
    }
  }

  function tell(entry: Entry, seq: number): void {
    const { draft, acceptedAt, bytes } = entry
    const { id, channel, kind, from, at, body } = draft
    const message = { id, channel, kind, from, at, body, seq, acceptedAt } as Message
    tail.add(message, bytes)
    followers.tell(message, formatCursor({ epoch, seq }), entry.textOf(seq))
  }

  function snapshot(channels: ReadonlySet<string>): Snapshot {
    mustBeOpen()
    eraseDue()
    return { messages: tail.newestOn(channels), head: { epoch, seq: tail.head } }
  }

  async function finish(): Promise<void> {
    isClosed = true
    const promises = Array.from(pending.values(), ({ promise }) => promise)
    storeGroup()
    await Promise.allSettled(promises)
    store.close()
  }

  return {
    append(draft, acceptedAt) {
      try {
        return take(draft, acceptedAt)
      } catch (error) {
        return Promise.reject(error)
      }
    },
    async find(wanted) {
      mustBeOpen()
      // Of one that is not stored its sender is told.
      await pending.get(keyOf(wanted))?.promise.catch(() => undefined)
      return tail.find(wanted) ?? store.find?.(wanted) ?? null
    },
    follow: followers.add,
    async read(cursor, channels) {
      mustBeOpen()
      eraseDue()
      const head = { epoch, seq: tail.head }
      const isHeld = cursor !== null && continues(cursor) && cursor.seq >= store.floor()
      const found = isHeld ? await store.after(cursor.seq, channels) : null
      if (found) {
        return { recovered: true, messages: found.messages, reached: { epoch, seq: found.upTo }, head }
      }
      const whole = snapshot(channels)
      return { recovered: false, ...whole, reached: whole.head }
    },
    snapshot: async (channels) => snapshot(channels),
    async oldest(channel, kind) {
      mustBeOpen()
      const floor = store.floor()
      const { base, messages } = store.oldest(channel, kind)
      return { base, messages, after: { epoch, seq: Math.max(base?.seq ?? 0, floor) } }
    },
    heads: () => tail.heads,
    close() {
      closing ??= finish()
      return closing
    },
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
