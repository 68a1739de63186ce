// Gathers drafts into groups, has each group stored in one piece, tells followers in order, then answers.

import { formatCursor } from '../wire/cursor.ts'
import type { Draft } from '../wire/envelope.ts'
import { createFollowers } from './followers.ts'
import { type Log, LogClosed, type OnFailure, TooManyChannels } from './log.ts'
import type { Tail } from './tail.ts'

/** Runs it once, later in its own turn or at once. */
export type Defer = (run: () => void) => void

/** A draft on its way into the store. */
export interface Entry {
  readonly draft: Draft
  readonly acceptedAt: number
  /** The draft's body as JSON, and its size in bytes. */
  readonly body: string
  readonly bytes: number
}

interface Waiting extends Entry, PromiseWithResolvers<number> {}

export interface SequencerParts {
  readonly epoch: string
  readonly tail: Tail
  readonly maxChannels: number
  /**
   * Stores a group in one piece and gives each entry's number: the next after the tail's head, or an old one for an id
   * that the store knows. Throws when it stored nothing.
   */
  readonly store: (group: readonly Entry[]) => readonly number[]
  /** What is appended before `run` runs is one group. */
  readonly defer: Defer
  readonly onFailure: OnFailure
}

export interface Sequencer extends Pick<Log, 'append' | 'follow'> {
  /** Throws `LogClosed` after `finish`. */
  readonly mustBeOpen: () => void
  /** Takes no more; resolves once all that is under way is answered. */
  readonly finish: () => Promise<void>
}

export function createSequencer(parts: SequencerParts): Sequencer {
  const { epoch, tail, maxChannels, store, defer, onFailure } = parts
  const followers = createFollowers(onFailure)
  const underWay = new Map<string, Waiting>()
  let waiting: Waiting[] = []
  let newChannels = new Set<string>()
  let isPlanned = false
  let isStoring = false
  let isClosed = false

  function mustBeOpen(): void {
    if (isClosed) throw new LogClosed()
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
    answer(group)
    isStoring = false
    newChannels = new Set(waiting.map(({ draft }) => draft.channel).filter(isNew))
    // A follower may have appended.
    if (waiting.length > 0) plan()
  }

  function answer(group: readonly Waiting[]): void {
    const seqs = storeOrReject(group)
    for (const [place, seq] of seqs.entries()) tell(group[place], seq)
    for (const [place, seq] of seqs.entries()) group[place]?.resolve(seq)
    for (const { draft } of group) underWay.delete(draft.id)
  }

  /** No numbers when the store failed. */
  function storeOrReject(group: readonly Waiting[]): readonly number[] {
    try {
      return store(group)
    } catch (error) {
      for (const { reject } of group) reject(error)
      return []
    }
  }

  function tell(entry: Entry | undefined, seq: number): void {
    if (!entry || seq <= tail.head()) return
    const message = { ...entry.draft, seq, acceptedAt: entry.acceptedAt }
    tail.add(message, entry.bytes)
    followers.tell(message, formatCursor({ epoch, seq }))
  }

  const isNew = (channel: string) => !tail.newest.heads.has(channel)

  function makeRoomFor(channel: string): void {
    if (!isNew(channel) || newChannels.has(channel)) return
    if (tail.newest.heads.size + newChannels.size >= maxChannels)
      throw new TooManyChannels(channel, maxChannels)
    newChannels.add(channel)
  }

  function enter(draft: Draft, acceptedAt: number): Promise<number> {
    const body = JSON.stringify(draft.body)
    makeRoomFor(draft.channel)
    const entry = {
      draft,
      acceptedAt,
      body,
      bytes: Buffer.byteLength(body),
      ...Promise.withResolvers<number>(),
    }
    waiting.push(entry)
    underWay.set(draft.id, entry)
    plan()
    return entry.promise
  }

  return {
    async append(draft, acceptedAt) {
      mustBeOpen()
      return tail.seqOf(draft.id) ?? underWay.get(draft.id)?.promise ?? enter(draft, acceptedAt)
    },
    follow: followers.add,
    mustBeOpen,
    async finish() {
      isClosed = true
      const promises = Array.from(underWay.values(), ({ promise }) => promise)
      storeGroup()
      await Promise.allSettled(promises)
    },
  }
}
