// Deliveries: frames encoded once for all readers; recent ones are cached, large ones charged once.

import {
  type Cursor,
  type DownFrame,
  estimateLength,
  formatCursor,
  isKind,
  type Message,
} from '../../protocol/messages.ts'
import { type KindRules, rulesFor, type TypeOf } from '../channels/channel-type.ts'
import { jsonOfBody, KeptJson, messageText } from '../log/kept-json.ts'
import type { CatchUp, Log } from '../log/log.ts'

/** `cursor` is null except for messages; `message` is the message as JSON, if known. */
export interface Framing {
  readonly encode: (frame: DownFrame, cursor: string | null, message?: string) => Buffer
}

export class Delivery {
  readonly frame: DownFrame
  /** Null for frames outside the log, like `channel`. */
  readonly seq: number | null
  readonly channel: string | null
  /** May be dropped from a full queue. */
  readonly isReplaceable: boolean
  /** Supersedes older ones of this series; null if it supersedes none. */
  readonly series: string | null
  /** Not for a client that is behind. */
  readonly isVolatile: boolean
  /** Responds to the client's own frame. */
  readonly isAnswer: boolean
  /** The clients that hold it, if it is large. */
  holders: Set<HeldDeliveries> | null = null
  readonly #cursor: string | null
  /** Null once encoded. */
  #text: string | undefined
  // More than one framing is rare.
  #framing: Framing | null = null
  #bytes: Buffer | null = null
  #others: Map<Framing, Buffer> | null = null

  /** `text` is the message as JSON; `rules` are those of its kind. */
  constructor(frame: DownFrame, cursor: string | null = null, text?: string, rules: KindRules = {}) {
    const message = frame.type === 'message' ? frame.message : null
    this.frame = frame
    this.seq = message?.seq ?? null
    this.channel = message?.channel ?? null
    this.series = message && seriesOf(message, rules)
    this.isReplaceable = rules.drop === 'oldest'
    this.isVolatile = frame.type === 'volatile'
    this.isAnswer = frame.type === 'stored' || frame.type === 'refused' || frame.type === 'clock'
    this.#cursor = cursor
    this.#text = text
  }

  bytes(framing: Framing): Buffer {
    const known = framing === this.#framing ? this.#bytes : this.#others?.get(framing)
    if (known) return known
    const bytes = framing.encode(this.frame, this.#cursor, this.#text ?? keptText(this.frame))
    this.#text = undefined
    if (this.#framing === null) {
      this.#framing = framing
      this.#bytes = bytes
    } else {
      this.#others ??= new Map()
      this.#others.set(framing, bytes)
    }
    return bytes
  }
}

/** The series whose older messages it supersedes; null if it supersedes none. Names of channels and kinds contain no space. */
export function seriesOf({ channel, kind, body }: Message, { drop, by }: KindRules): string | null {
  if (drop !== 'superseded') return null
  if (by === undefined) return `${channel} ${kind}`
  let value: unknown = body instanceof KeptJson ? body.parse() : body
  for (const name of by.split('.')) value = Object(value)[name]
  return value === undefined ? null : `${channel} ${kind} ${JSON.stringify(value)}`
}

/** A message whose body is kept as bytes is neither parsed nor formatted again. */
function keptText(frame: DownFrame): string | undefined {
  if (frame.type !== 'message' || !(frame.message.body instanceof KeptJson)) return undefined
  return messageText(frame.message)
}

/** Approximate bytes of a message, as text and encoded. */
const lengthOf = ({ frame }: Delivery) =>
  frame.type === 'message' ? 2 * estimateLength(frame.message.body) : 0

export const bytesHeldBy = (deliveries: readonly Delivery[]) =>
  deliveries.reduce((sum, delivery) => sum + lengthOf(delivery), 0)

/** Characters; smaller deliveries are charged to each client. */
const minShared = 65_536

/**
 * Deliveries that one client has not read yet. A large one held by several clients is charged to
 * the first.
 */
export class HeldDeliveries {
  readonly #charge: (bytes: number) => void
  #held: readonly Delivery[] = []

  constructor(charge: (bytes: number) => void) {
    this.#charge = charge
  }

  set(deliveries: readonly Delivery[]): void {
    for (const { holders } of this.#held) {
      const [first] = holders ?? []
      holders?.delete(this)
      const [next] = holders ?? []
      if (first === this && next) next.#recount()
    }
    this.#held = [...deliveries]
    for (const delivery of this.#held) {
      if (lengthOf(delivery) <= minShared) continue
      delivery.holders ??= new Set()
      delivery.holders.add(this)
    }
    this.#recount()
  }

  #recount(): void {
    let bytes = 0
    for (const delivery of this.#held) {
      const [first = this] = delivery.holders ?? []
      if (first === this) bytes += lengthOf(delivery)
    }
    this.#charge(bytes)
  }
}

/** The newest of each series, and what has no series (null), in order. */
export function newestOfEach<Item>(items: readonly Item[], seriesOf: (item: Item) => string | null): Item[] {
  const named = items.map((item) => [seriesOf(item), item] as const)
  const newest = new Map(named)
  return named.flatMap(([series, item]) => (series === null || newest.get(series) === item ? [item] : []))
}

const newestDeliveries = (deliveries: readonly Delivery[]) => newestOfEach(deliveries, ({ series }) => series)

export interface CaughtUp extends Omit<CatchUp, 'messages'> {
  readonly deliveries: readonly Delivery[]
}

/** Of messages that supersede others, in one read; each takes a few ms, and a turn of its own. */
export const maxPortions = 100

/** Characters of what is left of them; beyond it, the reader reads on. */
export const maxLeft = 1_000_000

/** Lets others have their turn of the event loop. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

const maxKept = 500
const maxCharacters = 4_000_000
const maxShared = 100

/** Cache for clients that resume or poll. */
export class RecentDeliveries {
  readonly #typeOf: TypeOf
  readonly #kept = new Map<number, { delivery: Delivery; characters: number }>()
  /**
   * Large deliveries evicted from the cache but still held by a client; later clients share them.
   */
  readonly #shared = new Map<number, WeakRef<Delivery>>()
  #characters = 0

  constructor(typeOf: TypeOf) {
    this.#typeOf = typeOf
  }

  /** `text` is the message as JSON. */
  add(message: Message, cursor: string, text?: string): Delivery {
    if (isKind(message, 'change')) this.#forgetChanged(message.body.seq)
    const rules = rulesFor(this.#typeOf, message.channel, message.kind)
    const delivery = new Delivery({ type: 'message', message }, cursor, text, rules)
    const characters = text?.length ?? estimateLength(message.body)
    if (characters > maxCharacters) {
      this.#share(delivery, message.seq)
      return delivery
    }
    this.#characters += characters - (this.#kept.get(message.seq)?.characters ?? 0)
    this.#kept.set(message.seq, { delivery, characters })
    if (this.#kept.size <= maxKept && this.#characters <= maxCharacters) return delivery
    for (const [seq, oldest] of this.#kept) {
      if (this.#kept.size <= maxKept && this.#characters <= maxCharacters) break
      this.#kept.delete(seq)
      this.#characters -= oldest.characters
      if (oldest.characters > minShared) this.#share(oldest.delivery, seq)
    }
    return delivery
  }

  /** A message has other content now, and perhaps its earlier changes. */
  #forgetChanged(target: number): void {
    this.#shared.delete(target)
    for (const [seq, { delivery, characters }] of this.#kept) {
      const { frame } = delivery
      const isOfTarget =
        frame.type === 'message' && isKind(frame.message, 'change') && frame.message.body.seq === target
      if (seq !== target && !isOfTarget) continue
      this.#characters -= characters
      this.#kept.delete(seq)
    }
  }

  #share(delivery: Delivery, seq: number): void {
    this.#shared.delete(seq)
    this.#shared.set(seq, new WeakRef(delivery))
    const [oldest = seq] = this.#shared.keys()
    if (this.#shared.size > maxShared) this.#shared.delete(oldest)
  }

  /**
   * Reads what follows a cursor, or a snapshot: a portion of the log, and further ones while later messages
   * supersede earlier ones. `deliveries` are without these.
   */
  async read(
    log: Pick<Log, 'read'>,
    cursor: Cursor | null,
    channels: ReadonlySet<string>,
  ): Promise<CaughtUp> {
    let found = await log.read(cursor, channels)
    let deliveries = this.deliveriesOf(found)
    for (
      let portions = 1;
      portions < maxPortions &&
      found.recovered &&
      found.reached.seq < found.head.seq &&
      deliveries.some(({ series }) => series !== null) &&
      bytesHeldBy(deliveries) < 2 * maxLeft;
      portions += 1
    ) {
      await turn()
      found = await log.read(found.reached, channels)
      const more = this.deliveriesOf(found)
      deliveries = found.recovered ? newestDeliveries([...deliveries, ...more]) : more
    }
    return { ...found, deliveries }
  }

  /** Leaves out what a later one supersedes. */
  deliveriesOf({ messages, head: { epoch } }: Pick<CatchUp, 'messages' | 'head'>): Delivery[] {
    const deliveries = messages.map((message) => {
      const known = this.#kept.get(message.seq)?.delivery ?? this.#shared.get(message.seq)?.deref()
      if (known?.frame.type === 'message' && this.#isSame(known.frame.message, message)) return known
      return this.add(message, formatCursor({ epoch, seq: message.seq }))
    })
    return newestDeliveries(deliveries)
  }

  /**
   * Number and id alone do not identify a message: a base shares those of its newest message, and
   * another log's message may repeat them.
   */
  #isSame(known: Message, message: Message): boolean {
    if (known.id !== message.id || known.channel !== message.channel) return false
    if (known.body === message.body) return true
    if (isKind(known, 'update') && isKind(message, 'update')) return known.body.update === message.body.update
    const { fold } = rulesFor(this.#typeOf, message.channel, message.kind)
    return !fold || jsonOfBody(known.body) === jsonOfBody(message.body)
  }
}
