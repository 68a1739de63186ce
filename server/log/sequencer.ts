// The order of a log: stores a group of drafts in one commit, notifies followers, then resolves.

import { channel } from 'node:diagnostics_channel'
import { type Draft, formatCursor, type Kind, type Message } from '../wire/messages.ts'
import type { Random } from '../wire/time.ts'
import type { Defer, Log, OldestContent, OnFailure, OnMessage, Snapshot } from './log.ts'
import { keyOf, type Portion, type Tail } from './retention.ts'

export interface Entry {
  readonly draft: Draft
  readonly acceptedAt: number
  /** As JSON, and its size. */
  readonly body: string
  readonly bytes: number
}

interface PendingEntry extends Entry, PromiseWithResolvers<number> {
  readonly key: string
}

interface LogStore {
  /**
   * One commit. Returns each entry's number: the next after the tail's head, or a stored repeat's; null if another
   * message has the id. Throws if nothing was stored.
   */
  readonly commit: (group: readonly Entry[]) => readonly (number | null)[]
  /** Drops what exceeds the bounds; all messages after the returned number are held. */
  readonly floor: () => number
  /** `seq` is from `floor()` to the head. */
  readonly after: (seq: number, channels: ReadonlySet<string>) => Portion | Promise<Portion>
  readonly oldest: (channel: string, kind: Kind) => Omit<OldestContent, 'after'>
  readonly close: () => void
}

interface SequencerParts {
  readonly epoch: string
  /** Filled by the sequencer, after each commit. */
  readonly tail: Tail
  readonly maxChannels: number
  readonly store: LogStore
  /** Drafts appended before `run` is called form one group. */
  readonly defer: Defer
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
  let newChannels = new Set<string>()
  let isPlanned = false
  let isStoring = false
  let isClosed = false
  let closing: Promise<void> | null = null

  function mustBeOpen(): void {
    if (isClosed) throw new LogClosed()
  }

  function enter(draft: Draft, acceptedAt: number, key: string): Promise<number> {
    const body = JSON.stringify(draft.body)
    const { channel } = draft
    if (!tail.heads.has(channel) && !newChannels.has(channel)) {
      if (tail.heads.size + newChannels.size >= maxChannels) throw new TooManyChannels(channel, maxChannels)
      newChannels.add(channel)
    }
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const entry = { draft, acceptedAt, body, bytes: Buffer.byteLength(body), key, promise, resolve, reject }
    waiting.push(entry)
    pending.set(key, entry)
    plan()
    return promise
  }

  function plan(): void {
    if (isPlanned) return
    isPlanned = true
    defer(() => {
      isPlanned = false
      storeGroup()
    })
  }

  function storeGroup(): void {
    if (waiting.length === 0 || isStoring) return
    const group = waiting
    waiting = []
    isStoring = true
    storeAndAnswer(group)
    isStoring = false
    const channels = waiting.map(({ draft }) => draft.channel)
    newChannels = new Set(channels.filter((channel) => !tail.heads.has(channel)))
    // Followers may have appended.
    if (waiting.length > 0) plan()
  }

  function storeAndAnswer(group: readonly PendingEntry[]): void {
    let seqs: readonly (number | null)[] = []
    diagnostics.committing.publish(group)
    try {
      seqs = store.commit(group)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
    diagnostics.stored.publish(group)
    for (const [place, entry] of group.entries()) {
      const seq = seqs[place] ?? 0
      // Repeats were told before.
      if (seq > tail.head) tell(entry, seq)
    }
    diagnostics.told.publish(group)
    for (const [place, { draft, key, resolve, reject }] of group.entries()) {
      const seq = seqs[place]
      if (seq === null) reject(new IdTaken(draft))
      else if (seq !== undefined) resolve(seq)
      pending.delete(key)
    }
  }

  function tell({ draft, acceptedAt, bytes }: Entry, seq: number): void {
    const message = { ...draft, seq, acceptedAt }
    tail.add(message, bytes)
    followers.tell(message, formatCursor({ epoch, seq }))
  }

  function snapshot(channels: ReadonlySet<string>): Snapshot {
    mustBeOpen()
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
    async append(draft, acceptedAt) {
      mustBeOpen()
      const key = keyOf(draft)
      const stored = tail.find(key)
      const unanswered = pending.get(key)
      const known = stored ?? unanswered?.draft
      if (known && !isRepeat(draft, known)) throw new IdTaken(draft)
      return stored?.seq ?? unanswered?.promise ?? enter(draft, acceptedAt, key)
    },
    follow: followers.add,
    async read(cursor, channels) {
      mustBeOpen()
      const head = { epoch, seq: tail.head }
      if (cursor?.epoch !== epoch || cursor.seq > head.seq || cursor.seq < store.floor()) {
        return { recovered: false, ...snapshot(channels), reached: head }
      }
      const { messages, upTo } = await store.after(cursor.seq, channels)
      return { recovered: true, messages, reached: { epoch, seq: upTo }, head }
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
  readonly #all = new Set<OnMessage>()
  readonly #onFailure: OnFailure

  constructor(onFailure: OnFailure) {
    this.#onFailure = onFailure
  }

  /** Returns the unsubscribe function. */
  readonly add = (onMessage: OnMessage): (() => void) => {
    this.#all.add(onMessage)
    return () => void this.#all.delete(onMessage)
  }

  tell(message: Message, cursor: string): void {
    // A copy: a follower added now begins with the next message.
    for (const onMessage of [...this.#all]) {
      if (!this.#all.has(onMessage)) continue
      try {
        onMessage(message, cursor)
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

/** Eight letters and digits. */
export function newEpoch(random: Random): string {
  return Math.floor(random() * 36 ** 8)
    .toString(36)
    .padStart(8, '0')
}

export class TooManyChannels extends Error {
  override readonly name = 'TooManyChannels'

  constructor(channel: string, maxChannels: number) {
    super(`Channel "${channel}" would be one more than the ${maxChannels} that the log takes.`)
  }
}

/** The id belongs to another message of the same sender and channel. */
export class IdTaken extends Error {
  override readonly name = 'IdTaken'

  constructor({ id, from, channel }: Draft) {
    super(`The log has another message "${id}" of "${from}" on channel "${channel}".`)
  }
}

export class LogClosed extends Error {
  override readonly name = 'LogClosed'

  constructor() {
    super('The log is closed.')
  }
}

/** A broker did not answer; the message may be stored, and is not stored twice when it is sent again. */
export class LogUnavailable extends Error {
  override readonly name = 'LogUnavailable'

  constructor(cause: unknown) {
    super('The log does not answer.', { cause })
  }
}
