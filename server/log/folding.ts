// Cumulative kinds: a snapshot has a base that joins older messages, and every message after it.

import type { Kind, Message } from '../wire/messages.ts'
import { upsert } from '../wire/upsert.ts'
import type { Defer, Fold, Folds, OnFailure } from './log.ts'

/**
 * Stores one base for each channel and kind, with the envelope of the newest message that it
 * contains.
 */
export interface BaseStore {
  readonly read: (channel: string, kind: Kind) => Message | undefined
  /** Durable when it returns. Returns the size of the body as JSON. */
  readonly write: (base: Message) => number
  /** The numbers of past bases, from which a document's history is read; ascending. */
  readonly past: (channel: string, kind: Kind) => readonly number[]
  readonly readPast: (channel: string, kind: Kind, seq: number) => Message | undefined
  readonly keepPast: (base: Message) => void
  readonly forgetPast: (channel: string, kind: Kind, seq: number) => void
  /**
   * Erases the channel's bases and past bases of all kinds before that number, and everything else
   * stored before it.
   */
  readonly erase: (channel: string, before: number) => void
}

/** Maximum number of past bases per channel and kind; each may be as large as the document. */
const mostPast = 8

export interface StoredBase {
  readonly channel: string
  readonly kind: Kind
  readonly seq: number
  /** Size of the body as JSON. */
  readonly bytes: number
}

/** A message that is not in a base yet. */
interface Loose {
  readonly message: Message
  readonly bytes: number
}

/** One channel's messages of one kind. */
interface Pile {
  readonly channel: string
  readonly kind: Kind
  baseSeq: number
  baseBytes: number
  /**
   * The base as last read, which may be as large as a document; concurrent readers share one copy.
   */
  base: WeakRef<Message> | null
  loose: Loose[]
  looseBytes: number
  isFolding: boolean
  /** After a failure, not retried below this many loose messages. */
  retryAt: number
}

/**
 * A pile is folded when it exceeds one of these and a fraction of its base, or when all piles
 * exceed the total.
 */
export const foldAt = { messages: 500, bytes: 262_144, ofBase: 1 / 8, totalBytes: 33_554_432 }

interface FoldingParts {
  readonly folds: Folds
  readonly bases: BaseStore
  /** Runs folds outside appends. */
  readonly defer: Defer
  readonly onFailure: OnFailure
  /** Called when these messages are in a base. */
  readonly onFolded: (messages: readonly Message[]) => void
  /** Returns the number after which all messages of the channel are held. */
  readonly floor: (channel: string) => number
}

export class Folding {
  readonly #parts: FoldingParts
  readonly #piles = new Map<string, Map<Kind, Pile>>()
  readonly #bySeq = new Map<number, Pile>()
  #looseBytes = 0
  #isClosed = false

  /** `bases` are the stored ones. The messages after them are added next, in order. */
  constructor(parts: FoldingParts, bases: readonly StoredBase[] = []) {
    this.#parts = parts
    for (const { channel, kind, seq, bytes } of bases) {
      const pile = this.#pileOf(channel, kind)
      pile.baseSeq = seq
      pile.baseBytes = bytes
    }
  }

  has(channel: string): boolean {
    return this.#piles.has(channel)
  }

  isCumulative(kind: Kind): boolean {
    return this.#parts.folds[kind] !== undefined
  }

  /** `bytes` is the size of the body. */
  add(message: Message, bytes: number): void {
    const pile = this.#pileOf(message.channel, message.kind)
    if (message.seq <= pile.baseSeq) return
    pile.loose.push({ message, bytes })
    pile.looseBytes += bytes
    this.#looseBytes += bytes
    this.#bySeq.set(message.seq, pile)
    const { loose, looseBytes, baseBytes } = pile
    const isMuch = loose.length >= foldAt.messages || looseBytes >= foldAt.bytes
    if (isMuch && looseBytes >= baseBytes * foldAt.ofBase) this.#plan(pile)
    else if (this.#looseBytes > foldAt.totalBytes) this.#plan(this.#largest())
  }

  /** Whether this message's content is in no base. */
  isLoose(seq: number): boolean {
    return this.#bySeq.has(seq)
  }

  /**
   * Whether all messages with these numbers may be erased. Schedules a fold of those that may not.
   */
  areErasable(messages: readonly { readonly seq: number }[]): boolean {
    const piles = new Set<Pile>()
    for (const { seq } of messages) {
      const pile = this.#bySeq.get(seq)
      if (pile) piles.add(pile)
    }
    for (const pile of piles) this.#plan(pile)
    return piles.size === 0
  }

  /** Bases, each with the messages after it. */
  on(channel: string): Message[] {
    const piles = this.#piles.get(channel)?.values() ?? []
    return Array.from(piles, (pile) => {
      const base = this.#baseOf(pile)
      return [...(base ? [base] : []), ...pile.loose.map(({ message }) => message)]
    }).flat()
  }

  #baseOf(pile: Pile): Message | undefined {
    if (pile.baseSeq === 0) return undefined
    const known = pile.base?.deref()
    if (known) return known
    const base = this.#parts.bases.read(pile.channel, pile.kind)
    pile.base = base ? new WeakRef(base) : null
    return base
  }

  /**
   * The oldest content of a channel and kind since which no message was erased: a base, if any
   * messages were erased, and messages up to the floor.
   */
  oldest(channel: string, kind: Kind): { base: Message | null; messages: Message[] } {
    const { bases, floor } = this.#parts
    const lowest = floor(channel)
    const past = bases.past(channel, kind).find((seq) => seq >= lowest)
    const base = past === undefined ? bases.read(channel, kind) : bases.readPast(channel, kind, past)
    const loose = this.#piles.get(channel)?.get(kind)?.loose ?? []
    const messages = loose.map(({ message }) => message).filter(({ seq }) => seq <= lowest)
    return { base: base ?? null, messages: messages.filter(({ seq }) => seq > (base?.seq ?? 0)) }
  }

  /** The newest number of each channel. */
  heads(): ReadonlyMap<string, number> {
    const newest = ({ baseSeq, loose }: Pile) => loose.at(-1)?.message.seq ?? baseSeq
    const heads = this.#piles
      .entries()
      .map(([channel, piles]) => [channel, Math.max(...piles.values().map(newest))] as const)
    return new Map(heads)
  }

  /** Returns the erased messages that were in no base. */
  erase(channel: string, before: number): readonly Message[] {
    const erased: Message[] = []
    for (const { loose, looseBytes } of this.#piles.get(channel)?.values() ?? []) {
      for (const { message } of loose) {
        erased.push(message)
        this.#bySeq.delete(message.seq)
      }
      this.#looseBytes -= looseBytes
    }
    this.#piles.delete(channel)
    const { bases, onFailure } = this.#parts
    try {
      bases.erase(channel, before)
    } catch (error) {
      // It is repeated at the next start.
      onFailure(error)
    }
    return erased
  }

  close(): void {
    this.#isClosed = true
  }

  /** Whether the log was closed, or the channel erased, while the pile was being folded. */
  #isOver(pile: Pile): boolean {
    return this.#isClosed || this.#piles.get(pile.channel)?.get(pile.kind) !== pile
  }

  #pileOf(channel: string, kind: Kind): Pile {
    const piles = upsert(this.#piles, channel, () => new Map<Kind, Pile>())
    return upsert(piles, kind, () => {
      const empty = { baseSeq: 0, baseBytes: 0, base: null, loose: [], looseBytes: 0 }
      return { channel, kind, ...empty, isFolding: false, retryAt: 0 }
    })
  }

  #largest(): Pile | undefined {
    let largest: Pile | undefined
    for (const piles of this.#piles.values())
      for (const pile of piles.values())
        if (!pile.isFolding && pile.looseBytes > (largest?.looseBytes ?? 0)) largest = pile
    return largest
  }

  #plan(pile: Pile | undefined): void {
    if (!pile || pile.isFolding || pile.loose.length < pile.retryAt) return
    pile.isFolding = true
    this.#parts.defer(() => void this.#fold(pile))
  }

  /** `folded` holds the former base, if any, and the messages that the new one joins. */
  async #keepPast(pile: Pile, folded: readonly Message[], isFirst: boolean): Promise<void> {
    const { folds, bases, floor } = this.#parts
    const { channel, kind } = pile
    const fold = folds[kind] as Fold<Kind>
    const [first] = folded
    if (!first) return
    // An empty base precedes the first one: the history is complete while its messages are held.
    const former = isFirst ? { ...first, seq: first.seq - 1, body: await fold([]) } : first
    if (this.#isOver(pile)) return
    bases.keepPast(former)
    // Few messages are folded when the first of them must be erased: the later half stays in the
    // history.
    const half = folded.slice(0, Math.ceil(folded.length / 2))
    const middle = half.at(-1)
    if (middle && half.length > 1 && folded.length < foldAt.messages) {
      const body = await fold(half)
      if (this.#isOver(pile)) return
      bases.keepPast({ ...middle, body })
    }
    const past = bases.past(channel, kind)
    const lowest = floor(channel)
    const useful = past.filter((seq) => seq >= lowest)
    // Forgets every second one, so that the history is lost in larger steps.
    const kept = new Set(useful.length > mostPast ? useful.filter((_seq, place) => place % 2 === 0) : useful)
    for (const seq of past) if (!kept.has(seq)) bases.forgetPast(channel, kind, seq)
  }

  async #fold(pile: Pile): Promise<void> {
    const { folds, bases, onFailure, onFolded } = this.#parts
    const { channel, kind, loose } = pile
    const count = loose.length
    try {
      const newest = loose[count - 1]?.message
      // `Folds` pairs each kind with messages of that kind.
      const fold = folds[kind] as Fold<Kind> | undefined
      if (!newest || !fold || this.#isOver(pile)) return
      const isFirst = pile.baseSeq === 0
      const joined = this.on(channel).filter((message) => message.kind === kind)
      const base = await fold(joined)
      if (this.#isOver(pile)) return
      pile.baseBytes = bases.write({ ...newest, body: base })
      pile.baseSeq = newest.seq
      pile.base = null
      const folded = loose.splice(0, count)
      for (const { message, bytes } of folded) {
        this.#bySeq.delete(message.seq)
        pile.looseBytes -= bytes
        this.#looseBytes -= bytes
      }
      pile.retryAt = 0
      onFolded(folded.map(({ message }) => message))
      await this.#keepPast(pile, joined, isFirst)
    } catch (error) {
      pile.retryAt = loose.length + foldAt.messages
      const sentence = `Messages of kind "${kind}" on "${channel}" could not be joined; they stay in the log until they can be.`
      if (!this.#isOver(pile)) onFailure(new Error(sentence, { cause: error }))
    } finally {
      pile.isFolding = false
    }
  }
}
