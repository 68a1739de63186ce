// Cumulative kinds: a snapshot has a base that joins older messages, and every message after it.

import type { Kind, Message } from '../../protocol/messages.ts'
import type { Fold } from '../channels/channel-type.ts'
import type { Channel, Pile } from './channel.ts'
import type { Defer, OnFailure } from './log.ts'
import type { BaseStore } from './tables.ts'

/** Maximum number of past bases per channel and kind; each may be as large as the whole. */
const maxPast = 8

/**
 * A pile is folded when it exceeds one of these and a fraction of its base, or when all piles
 * exceed the total.
 */
export const foldAt = { messages: 500, bytes: 262_144, ofBase: 1 / 8, totalBytes: 33_554_432 }

/** Messages in no base that are kept parsed for the next snapshot, bytes as JSON. */
const maxCachedBytes = 8_388_608

interface FoldingParts {
  readonly bases: BaseStore
  /** The pile's messages after a number, in order. */
  readonly read: (pile: Pile, after: number) => Message[]
  /** Runs folds outside appends. */
  readonly defer: Defer
  readonly onFailure: OnFailure
  /** Called when a pile has another base. */
  readonly onFolded: (pile: Pile) => void
  /** Returns the number after which all messages of the channel are held. */
  readonly floor: (channel: string) => number
}

export class Folding {
  readonly #parts: FoldingParts
  /** Piles with messages in no base. */
  readonly #piles = new Set<Pile>()
  #looseBytes = 0
  /** Least recently used first. */
  readonly #cache = new Map<Pile, Message[]>()
  #cachedBytes = 0
  #isClosed = false

  constructor(parts: FoldingParts) {
    this.#parts = parts
  }

  /** Counts messages of a pile that were stored earlier. */
  load(pile: Pile): void {
    if (pile.loose === 0) return
    this.#piles.add(pile)
    this.#looseBytes += pile.looseBytes
    this.#consider(pile)
  }

  /** `bytes` is the size of the body. */
  add(pile: Pile, message: Message, bytes: number): void {
    if (message.seq <= pile.base) return
    pile.loose += 1
    pile.looseBytes += bytes
    this.#piles.add(pile)
    this.#looseBytes += bytes
    const cached = this.#cache.get(pile)
    if (cached) {
      cached.push(message)
      this.#cachedBytes += bytes
      this.#evict(pile)
    }
    this.#consider(pile)
  }

  #consider(pile: Pile): void {
    const { loose, looseBytes, baseBytes } = pile
    const isMuch = loose >= foldAt.messages || looseBytes >= foldAt.bytes
    if (isMuch && looseBytes >= baseBytes * foldAt.ofBase) this.#plan(pile)
    else if (this.#looseBytes > foldAt.totalBytes) this.#plan(this.#largest())
  }

  /**
   * Whether all of the channel's messages up to a number may be erased. Schedules a fold of those that
   * may not; if nothing can be folded any more, returns without checking.
   */
  mayErase({ piles }: Channel, upTo: number, mayFold: boolean): boolean {
    const cumulative = [...piles.values()].filter((pile) => pile.isCumulative && pile.loose > 0)
    if (!mayFold) return cumulative.length === 0
    const blocking = cumulative.filter((pile) => {
      const [first] = this.#looseOf(pile)
      return first !== undefined && first.seq <= upTo
    })
    for (const pile of blocking) this.#plan(pile)
    return blocking.length === 0
  }

  /** A pile's base, if it has one, and the messages after it. */
  contentOf(pile: Pile): Message[] {
    const base = this.#baseOf(pile)
    return base ? [base, ...this.#looseOf(pile)] : [...this.#looseOf(pile)]
  }

  #looseOf(pile: Pile): readonly Message[] {
    if (pile.loose === 0) return []
    const known = this.#cache.get(pile)
    this.#cache.delete(pile)
    const loose = known ?? this.#parts.read(pile, pile.base)
    this.#cache.set(pile, loose)
    if (!known) this.#cachedBytes += pile.looseBytes
    this.#evict(pile)
    return loose
  }

  #evict(used: Pile): void {
    for (const pile of this.#cache.keys()) {
      if (this.#cachedBytes <= maxCachedBytes) return
      if (pile !== used) this.#forget(pile)
    }
  }

  #forget(pile: Pile): void {
    if (this.#cache.delete(pile)) this.#cachedBytes -= pile.looseBytes
  }

  #baseOf(pile: Pile): Message | undefined {
    if (pile.base === 0) return undefined
    const known = pile.baseMessage?.deref()
    if (known) return known
    const base = this.#parts.bases.read(pile.channel.name, pile.kind)
    pile.baseMessage = base ? new WeakRef(base) : null
    return base
  }

  /**
   * The oldest content of a channel and kind since which no message was erased: a base, if any messages
   * were erased, and the messages up to the floor.
   */
  oldest(channel: string, kind: Kind, pile: Pile | undefined): { base: Message | null; messages: Message[] } {
    const { bases, floor } = this.#parts
    const lowest = floor(channel)
    const past = bases.past(channel, kind).find((seq) => seq >= lowest)
    const base = past === undefined ? bases.read(channel, kind) : bases.readPast(channel, kind, past)
    const after = base?.seq ?? 0
    const loose = pile?.isCumulative ? this.#looseOf(pile) : []
    return { base: base ?? null, messages: loose.filter(({ seq }) => seq <= lowest && seq > after) }
  }

  /** Forgets an erased channel. */
  erase({ piles }: Channel): void {
    for (const pile of piles.values()) {
      this.#forget(pile)
      if (this.#piles.delete(pile)) this.#looseBytes -= pile.looseBytes
    }
    piles.clear()
  }

  close(): void {
    this.#isClosed = true
  }

  /** Whether the log was closed, or the channel erased, while the pile was being folded. */
  #isOver(pile: Pile): boolean {
    return this.#isClosed || pile.channel.piles.get(pile.kind) !== pile
  }

  #largest(): Pile | undefined {
    let largest: Pile | undefined
    for (const pile of this.#piles)
      if (!pile.isFolding && pile.looseBytes > (largest?.looseBytes ?? 0)) largest = pile
    return largest
  }

  #plan(pile: Pile | undefined): void {
    if (!pile || pile.isFolding || pile.loose < pile.retryAt) return
    pile.isFolding = true
    this.#parts.defer(() => void this.#fold(pile))
  }

  /** `folded` holds the former base, if any, and the messages that the new one joins. */
  async #keepPast(pile: Pile, fold: Fold<Kind>, folded: readonly Message[], isFirst: boolean): Promise<void> {
    const { bases, floor } = this.#parts
    const { kind } = pile
    const channel = pile.channel.name
    const [first] = folded
    if (!first) return
    // An empty base precedes the first one: the history is complete while its messages are held.
    const former = isFirst ? { ...first, seq: first.seq - 1, body: await fold([]) } : first
    if (this.#isOver(pile)) return
    bases.keepPast(former)
    // Few messages are folded when the first of them must be erased: the later half stays in the history.
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
    // Forgets every second base, so that the history is lost in larger steps.
    const kept = new Set(useful.length > maxPast ? useful.filter((_seq, index) => index % 2 === 0) : useful)
    for (const seq of past) if (!kept.has(seq)) bases.forgetPast(channel, kind, seq)
  }

  async #fold(pile: Pile): Promise<void> {
    const { bases, onFailure, onFolded } = this.#parts
    const { kind } = pile
    const channel = pile.channel.name
    try {
      if (this.#isOver(pile)) return
      // The declaration pairs each kind with messages of that kind.
      const fold = pile.channel.type.kinds[kind]?.fold as Fold<Kind> | undefined
      const { loose, looseBytes } = pile
      const joined = this.contentOf(pile)
      const newest = joined.at(-1)
      if (!newest || !fold || loose === 0) return
      const isFirst = pile.base === 0
      const body = await fold(joined)
      if (this.#isOver(pile)) return
      const baseBytes = bases.write({ ...newest, body })
      this.#replaceBase(pile, newest.seq, baseBytes, loose, looseBytes)
      onFolded(pile)
      await this.#keepPast(pile, fold, joined, isFirst)
    } catch (error) {
      pile.retryAt = pile.loose + foldAt.messages
      const sentence = `Messages of kind "${kind}" on "${channel}" could not be joined; they stay in the log until they can be.`
      if (!this.#isOver(pile)) onFailure(new Error(sentence, { cause: error }))
    } finally {
      pile.isFolding = false
    }
  }

  /** The base contains this many of the messages that were in none. */
  #replaceBase(pile: Pile, base: number, baseBytes: number, loose: number, looseBytes: number): void {
    const cached = this.#cache.get(pile)
    this.#forget(pile)
    pile.base = base
    pile.baseBytes = baseBytes
    pile.baseMessage = null
    pile.loose -= loose
    pile.looseBytes -= looseBytes
    pile.retryAt = 0
    this.#looseBytes -= looseBytes
    if (pile.loose === 0) this.#piles.delete(pile)
    else if (cached) {
      const rest = cached.filter(({ seq }) => seq > base)
      this.#cache.set(pile, rest)
      this.#cachedBytes += pile.looseBytes
    }
  }
}
