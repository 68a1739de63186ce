// Tools for tests of a log: a model that keeps every message in an array, and random operations.

import { type Bodies, type Draft, isKind, type Kind, type Message } from '../../protocol/messages.ts'
import { createSeededRandom, type Random } from '../../protocol/time.ts'
import type { Keep } from '../channels/channel-type.ts'
import { boundsFrom, hourMs, type Identified, type LogLimits } from './log.ts'
import { emptyForMs, endedForMs, isContent } from './log-testing.ts'

export interface ModelLimits {
  readonly limits: LogLimits
  /** The limit of the channels in `keptChannels`; null for none. */
  readonly keep: Keep | null
  readonly keptChannels: readonly string[]
}

/** The one kind that is cumulative here; see `toyFold`. */
export const cumulative = 'update'

/** The fields that identify a repeat. */
export const contentOf = ({ id, channel, kind, from, at, body }: Draft) =>
  JSON.stringify([id, channel, kind, from, at, body])

export const wholeOf = (message: Message) => `${message.seq} ${message.acceptedAt} ${contentOf(message)}`

/** The text that the fold joins. */
export const updateOf = (message: Message) => (isKind(message, cumulative) ? message.body.update : '')

const isSame = (one: Identified, other: Identified) =>
  one.id === other.id && one.from === other.from && one.channel === other.channel

interface Stored {
  readonly message: Message
  /** Size of the body as JSON. */
  readonly bytes: number
  readonly whole: string
  readonly content: string
  /** The number of the erasure that erased it. */
  erasedBy: number
  /** By the log's clock, ms. */
  erasedAt: number
}

const never = Number.POSITIVE_INFINITY

/**
 * Every message that the log has stored. Knows which the log must still have, and not when it drops the
 * rest. `at` is the number up to which a question is asked: the newest by default.
 */
export class LogModel {
  readonly #stored: Stored[] = []
  readonly #given: ModelLimits

  constructor(given: ModelLimits) {
    this.#given = given
  }

  get head(): number {
    return this.#stored.length
  }

  add(message: Message, now: number): void {
    const { channel, seq } = message
    if (isKind(message, 'erasure') && (this.heads().get(channel) ?? 0) <= message.body.head) {
      for (const one of this.#stored)
        if (one.erasedBy === never && one.message.channel === channel) {
          one.erasedBy = seq
          one.erasedAt = now
        }
    }
    const bytes = Buffer.byteLength(JSON.stringify(message.body))
    const whole = wholeOf(message)
    this.#stored.push({
      message,
      bytes,
      whole,
      content: contentOf(message),
      erasedBy: never,
      erasedAt: never,
    })
  }

  /** Forgets messages stored after that number. */
  truncate(head: number): void {
    this.#stored.splice(head)
    for (const one of this.#stored) {
      if (one.erasedBy <= head) continue
      one.erasedBy = never
      one.erasedAt = never
    }
  }

  contentAt(seq: number): string | undefined {
    return this.#stored[seq - 1]?.content
  }

  erasuresAfter(seq: number): number[] {
    return this.#stored
      .slice(seq)
      .filter(isErasure)
      .map(({ message }) => message.seq)
  }

  erasedBy(seq: number): number {
    return this.#stored[seq - 1]?.erasedBy ?? never
  }

  /** The newest number of each channel. */
  heads(at = this.head): Map<string, number> {
    const heads = new Map<string, number>()
    for (const { message } of this.#present(at))
      if (message.kind !== 'erasure') heads.set(message.channel, message.seq)
    return heads
  }

  /** The newest message with that id that was not erased. */
  find(wanted: Identified, at = this.head): Message | undefined {
    return this.#present(at).findLast(({ message }) => isSame(message, wanted))?.message
  }

  /** As `wholeOf`: the messages after a number on these channels, up to `upTo`. */
  after(seq: number, upTo: number, channels: ReadonlySet<string>, at: number): string[] {
    return this.#present(at)
      .filter(({ message }) => message.seq > seq && message.seq <= upTo && channels.has(message.channel))
      .map(({ whole }) => whole)
  }

  /** The messages of the cumulative kind since the channel's erasure. */
  updates(channel: string, at = this.head): Message[] {
    return this.#present(at)
      .map(({ message }) => message)
      .filter((message) => message.channel === channel && message.kind === cumulative)
  }

  /** The newest of each channel and kind, without the cumulative one; by number. */
  newest(channels: ReadonlySet<string>, at = this.head): Map<number, string> {
    const newest = new Map<string, Stored>()
    for (const one of this.#present(at)) {
      const { channel, kind } = one.message
      if (channels.has(channel) && kind !== cumulative && kind !== 'erasure')
        newest.set(`${channel} ${kind}`, one)
    }
    return new Map(Array.from(newest.values(), ({ message, whole }) => [message.seq, whole]))
  }

  /** The newest deletion of a deleted channel. */
  deletionOf(channel: string, at = this.head): Message<'deletion'> | null {
    const newest = this.#present(at).findLast(
      ({ message }) => message.channel === channel && message.kind === 'deletion',
    )?.message
    return newest && isKind(newest, 'deletion') && newest.body.deleted ? newest : null
  }

  /** The channels whose deletion is a day ago, and when the day ended. */
  due(now: number, at = this.head): Map<string, number> {
    const due = new Map<string, number>()
    for (const channel of this.heads(at).keys()) {
      const dueAt = (this.deletionOf(channel, at)?.acceptedAt ?? never) + endedForMs
      if (dueAt <= now) due.set(channel, dueAt)
    }
    return due
  }

  /** The channels without content whose last message is an hour old, and when the hour ended. */
  emptyFor(now: number, at = this.head): Map<string, number> {
    const empty = new Map<string, number>()
    for (const [channel, seq] of this.heads(at)) {
      const only = new Set([channel])
      const isFull = [...this.newest(only, at).keys()].some((one) => this.#hasContent(one))
      const emptyAt = (this.#stored[seq - 1]?.message.acceptedAt ?? 0) + emptyForMs
      if (!isFull && this.updates(channel, at).length === 0 && emptyAt <= now) empty.set(channel, emptyAt)
    }
    return empty
  }

  /** Whether the log must know this message's id: it is within the limits, or in snapshots. */
  mustKnow({ seq, channel }: Message, now: number): boolean {
    if (this.erasedBy(seq) !== never) return false
    return this.newest(new Set([channel])).has(seq) || this.mustHold(seq, now)
  }

  /** Whether the log must read on from that number on these channels. */
  mustReach(seq: number, channels: ReadonlySet<string>, now: number): boolean {
    const forgotten = this.#forgottenUpTo(now)
    return [...channels].every((channel) => {
      const own = this.#stored.filter(({ message }) => message.channel === channel)
      // Includes erased ones: messages dropped before the erasure are missed all the same.
      if (own.some(({ message }) => message.seq > seq && !this.mustHold(message.seq, now))) return false
      // Else the log must know the channel since before the cursor.
      const wasErased = own.some((one) => isErasure(one) || one.erasedBy !== never)
      return seq >= forgotten || (!wasErased && (own[0]?.message.seq ?? never) <= seq + 1)
    })
  }

  /**
   * Whether the message was within all limits ever since, or its channel takes less than half of an
   * equal part; until it was erased, if it was.
   */
  mustHold(seq: number, now: number): boolean {
    const { limits, keep, keptChannels } = this.#given
    const stored = this.#stored[seq - 1]
    if (!stored) return false
    const { channel, acceptedAt } = stored.message
    const at = Math.min(stored.erasedBy, this.head)
    const time = Math.min(stored.erasedAt, now)
    if (acceptedAt + limits.ageMs < time) return false
    const own = this.#stored.slice(seq - 1, at).filter(({ message }) => message.channel === channel)
    const { count, bytes } = sizeOf(own)
    if (keep && keptChannels.includes(channel) && count > 1) {
      const most = boundsFrom(keep)
      if (count > most.messages || bytes > most.bytes || acceptedAt + most.ageMs < time) return false
    }
    return this.#isSmall(own) || this.#hasAlwaysFit(seq, channel, at)
  }

  /** Whether the channel is small and has no verified writer: a writer's other channels would count, too. */
  #isSmall(own: readonly Stored[]): boolean {
    const { limits } = this.#given
    const parts = new Set(this.#stored.map(({ message }) => message.channel)).size
    const { count, bytes } = sizeOf(own)
    const hasWriter = own.some(({ message }) => isKind(message, 'json') && message.body.user !== undefined)
    return !hasWriter && count / limits.messages + bytes / limits.bytes < 1 / (2 * parts)
  }

  /** Whether everything held with it was within the limits, before each erasure and now. */
  #hasAlwaysFit(seq: number, channel: string, until: number): boolean {
    const { limits } = this.#given
    const erasures = this.#stored.slice(seq, until).filter(isErasure)
    return [...erasures.map(({ message }) => message.seq), until].every((at) => {
      const { count, bytes } = sizeOf(
        this.#stored.filter(
          ({ message, erasedBy }) =>
            message.seq <= at && erasedBy >= at && (message.seq >= seq || message.channel !== channel),
        ),
      )
      return count <= limits.messages && bytes <= limits.bytes
    })
  }

  /**
   * The log may have forgotten the name of a channel that was erased up to this number: then it
   * cannot tell it from a name that was never used.
   */
  #forgottenUpTo(now: number): number {
    const erasures = this.#stored.filter((stored) => {
      if (!isErasure(stored)) return false
      const { seq, channel } = stored.message
      const hasOthers = this.#stored.some((one) => one.erasedBy === seq && one.message.channel !== channel)
      return hasOthers || !this.mustHold(seq, now)
    })
    return erasures.at(-1)?.message.seq ?? 0
  }

  #hasContent(seq: number): boolean {
    const { message } = this.#stored[seq - 1] ?? {}
    return message !== undefined && isContent(message)
  }

  #present(at = this.head): readonly Stored[] {
    return this.#stored.filter(({ message, erasedBy }) => message.seq <= at && erasedBy > at)
  }
}

const isErasure = ({ message }: Stored) => message.kind === 'erasure'

function sizeOf(stored: readonly Stored[]): { readonly count: number; readonly bytes: number } {
  return { count: stored.length, bytes: stored.reduce((sum, { bytes }) => sum + bytes, 0) }
}

// Histories

/** A draft in short: its body is made from its id, version and size. */
export interface Sketch {
  readonly id: string
  readonly channel: string
  readonly kind: Kind
  /** Length of the text, in characters; in a deletion, 0 restores. */
  readonly size: number
  /** Another version is another body under the same id. */
  readonly version: number
}

/** Plain data, so that a step can be left out of a history and the others stay as they are. */
export type Step =
  | { readonly do: 'append'; readonly drafts: readonly Sketch[]; readonly isAtOnce: boolean }
  | { readonly do: 'advance'; readonly byMs: number }
  | {
      readonly do: 'read'
      /** How many numbers before the newest of the cursor's epoch; negative: beyond it. */
      readonly back: number
      /** How many epochs ago the cursor was issued; negative: in none that the log knows. */
      readonly epochsBack: number
      readonly channels: readonly string[]
      /** Appended while it reads. */
      readonly meanwhile: readonly Sketch[]
    }
  | {
      readonly do: 'snapshot'
      readonly channels: readonly string[]
      /** The position, as a fraction, of the update that is sent again. */
      readonly again: number
    }
  | { readonly do: 'find'; readonly draft: Sketch }
  | { readonly do: 'oldest'; readonly channel: string; readonly kind: Kind }
  | { readonly do: 'end turns'; readonly count: number }
  | { readonly do: 'reopen' }
  /** After that many calls of the clock, the fold or a follower. */
  | { readonly do: 'kill'; readonly afterCalls: number }
  | { readonly do: 'fill disk'; readonly isFull: boolean }

export interface History {
  readonly given: ModelLimits
  readonly steps: readonly Step[]
}

export function draftOf({ id, channel, kind, size, version }: Sketch): Draft {
  const from = id.slice(0, id.indexOf('-'))
  const text = size === 0 ? '' : `${id}.${version} `.padEnd(size, 'x')
  return { id, channel, kind, from, at: 1000.5, body: bodyOf(kind, text, from) }
}

function bodyOf(kind: Kind, text: string, from: string): Bodies[Kind] {
  if (kind === 'update') return { update: text }
  if (kind === 'title') return { title: text.slice(0, 20) }
  if (kind === 'deletion') return { deleted: text !== '' }
  if (kind === 'json') return { data: [text], user: from }
  return { html: text }
}

export const modelChannels = ['main', 'notes', 'minutes', 'wind', 'other'] as const
const senders = ['w1', 'w2', 'w3']
const endless = Number.POSITIVE_INFINITY

/** The same for the same seed. */
export function drawHistory(seed: number): History {
  return new Drawing(createSeededRandom(seed)).history()
}

class Drawing {
  readonly #random: Random
  readonly #drawn: Sketch[] = []
  readonly #channels: readonly string[]
  #count = 0

  constructor(random: Random) {
    this.#random = random
    this.#channels = modelChannels.slice(0, 1 + this.#below(modelChannels.length))
  }

  history(): History {
    const messages = this.#oneOf([4, 12, 40, 100, 1000])
    const bytes = messages * this.#oneOf([20, 100, 1000, 10_000])
    const ageMs = this.#oneOf([1000, emptyForMs, 10 * endedForMs])
    const keep = this.#oneOf([
      null,
      null,
      { messages: this.#oneOf([1, 3, 10]) },
      { bytes: this.#oneOf([20, 500]) },
      { hours: 500 / hourMs },
    ])
    return {
      given: {
        limits: { messages, bytes, ageMs, maxChannels: this.#oneOf([2, 10]) },
        keep,
        keptChannels: this.#someChannels(),
      },
      steps: Array.from({ length: this.#oneOf([5, 10, 15, 20, 25, 50]) }, () =>
        this.#below(40) === 0 ? this.#life() : [this.#step()],
      ).flat(),
    }
  }

  /** A document is written, joined in a base, deleted and erased. */
  #life(): Step[] {
    const channel = this.#channel()
    const draw = (kind: Kind, size: number) => this.#sketch({ channel, kind, size })
    const append = (drafts: readonly Sketch[]): Step => ({ do: 'append', drafts, isAtOnce: true })
    return [
      append([draw('update', 10), draw('update', 263_000), draw('title', 10)]),
      { do: 'end turns', count: 3 },
      append([draw('deletion', 1)]),
      { do: 'advance', byMs: endedForMs },
      ...(this.#below(2) === 0 ? [] : [{ do: 'oldest', channel, kind: 'update' } as const]),
      ...(this.#below(2) === 0 ? [] : [{ do: 'reopen' } as const]),
    ]
  }

  #step(): Step {
    const draw = this.#below(100)
    if (draw < 26) return this.#append(1 + this.#below(4))
    if (draw < 36) return this.#burst(20 + this.#below(60))
    if (draw < 38) return this.#burst(1 + this.#below(3), 100_000 + this.#below(200_000))
    if (draw < 48) return { do: 'advance', byMs: this.#time() }
    if (draw < 64) return this.#read()
    if (draw < 70) return { do: 'snapshot', channels: this.#someChannels(), again: this.#random() }
    if (draw < 75) return { do: 'find', draft: this.#earlier() }
    if (draw < 82)
      return { do: 'oldest', channel: this.#channel(), kind: this.#oneOf(['update', 'update', 'edit']) }
    if (draw < 89) return { do: 'end turns', count: 1 + this.#below(4) }
    if (draw < 93) return { do: 'reopen' }
    if (draw < 97) return { do: 'kill', afterCalls: this.#oneOf([0, this.#below(10), this.#below(100)]) }
    return { do: 'fill disk', isFull: this.#random() < 0.5 }
  }

  #append(count: number): Step {
    const drafts = Array.from({ length: count }, () => {
      const draw = this.#random()
      if (draw < 0.1) return this.#earlier()
      if (draw < 0.15) return { ...this.#earlier(), version: 2 }
      return this.#sketch()
    })
    return { do: 'append', drafts, isAtOnce: this.#random() < 0.5 }
  }

  /** Many messages of one kind, or large ones. */
  #burst(count: number, size?: number): Step {
    const channel = this.#channel()
    const kind = this.#oneOf(['edit', 'update', 'update', 'json'] as const)
    const drafts = Array.from({ length: count }, () => this.#sketch({ channel, kind, ...(size && { size }) }))
    return { do: 'append', drafts, isAtOnce: this.#random() < 0.7 }
  }

  #read(): Step {
    const draw = this.#below(10)
    const epochsBack = draw < 6 ? 0 : draw - 7
    const back = this.#oneOf([0, 1, this.#below(10), this.#below(100), endless, -1])
    const isBusy = this.#random() < 0.2
    const meanwhile = isBusy ? Array.from({ length: 1 + this.#below(4) }, () => this.#sketch()) : []
    return { do: 'read', back, epochsBack, channels: this.#someChannels(), meanwhile }
  }

  #sketch(change: Partial<Sketch> = {}): Sketch {
    this.#count += 1
    const draw = this.#random()
    const kind =
      draw < 0.3 ? 'edit' : draw < 0.65 ? 'update' : draw < 0.75 ? 'title' : draw < 0.9 ? 'json' : 'deletion'
    const size = this.#oneOf([0, 10, 10, 30, this.#below(300)])
    const sketch = {
      id: `${this.#oneOf(senders)}-${this.#count}`,
      channel: this.#channel(),
      kind,
      size: kind === 'deletion' ? this.#below(3) : size,
      version: 1,
      ...change,
    } as const
    this.#drawn.push(sketch)
    return sketch
  }

  /** Often one of the newest. */
  #earlier(): Sketch {
    const back = this.#oneOf([1 + this.#below(5), 1 + this.#below(100)])
    return this.#drawn.at(-back) ?? this.#drawn.at(-1) ?? this.#sketch()
  }

  #time(): number {
    return this.#oneOf([1, 400, 1000, 1001, emptyForMs, endedForMs - 1, endedForMs, endedForMs])
  }

  #channel(): string {
    return this.#oneOf(this.#channels)
  }

  #someChannels(): string[] {
    const some = this.#channels.filter(() => this.#random() < 0.6)
    return some.length > 0 ? some : [this.#channel()]
  }

  #oneOf<Value>(values: readonly Value[]): Value {
    return values[this.#below(values.length)] as Value
  }

  #below(most: number): number {
    return Math.floor(this.#random() * most)
  }
}
