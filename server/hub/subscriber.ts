// One open stream: a bounded queue of frames, each encoded once for all, sent at its client's pace.

import type { CatchUp } from '../log/log.ts'
import {
  type Bye,
  type ByeCode,
  type DownFrame,
  estimateLength,
  formatCursor,
  isKind,
  type Message,
  type Welcome,
} from '../wire/messages.ts'
import type { Mode } from '../wire/modes.ts'

/** `cursor` is null except for messages; `message`: one as JSON, where it is known. */
export interface Framing {
  readonly encode: (frame: DownFrame, cursor: string | null, message?: string) => Buffer
}

export class Delivery {
  readonly frame: DownFrame
  /** Null for frames outside the log, like `channel`. */
  readonly seq: number | null
  readonly channel: string | null
  /** May be dropped from a full queue: readings and overviews, never edits. */
  readonly isReplaceable: boolean
  /** Supersedes older ones of its channel: overviews. */
  readonly replacesOlder: boolean
  /** Responds to the client's own frame. */
  readonly isAnswer: boolean
  /** Of a large one. */
  holders: Set<HeldDeliveries> | null = null
  readonly #cursor: string | null
  /** Until it was encoded. */
  #text: string | undefined
  // More than one framing is rare.
  #framing: Framing | null = null
  #bytes: Buffer | null = null
  #others: Map<Framing, Buffer> | null = null

  /** `text`: of a message, as JSON. */
  constructor(frame: DownFrame, cursor: string | null = null, text?: string) {
    const message = frame.type === 'message' ? frame.message : null
    this.frame = frame
    this.seq = message?.seq ?? null
    this.channel = message?.channel ?? null
    this.replacesOlder = message?.kind === 'overview'
    this.isReplaceable = this.replacesOlder || message?.kind === 'reading'
    this.isAnswer = frame.type === 'stored' || frame.type === 'refused' || frame.type === 'clock'
    this.#cursor = cursor
    this.#text = text
  }

  bytes(framing: Framing): Buffer {
    const known = framing === this.#framing ? this.#bytes : this.#others?.get(framing)
    if (known) return known
    const bytes = framing.encode(this.frame, this.#cursor, this.#text)
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

/** About: of messages, as text and as bytes. */
const lengthOf = ({ frame }: Delivery) =>
  frame.type === 'message' ? 2 * estimateLength(frame.message.body) : 0

export const bytesHeldBy = (deliveries: readonly Delivery[]) =>
  deliveries.reduce((sum, delivery) => sum + lengthOf(delivery), 0)

/** Characters; smaller ones are charged to each. */
const leastShared = 65_536

/** Deliveries that one client has not read yet. Of clients that hold the same large one the first is charged for it. */
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
      if (lengthOf(delivery) <= leastShared) continue
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

const mostKept = 500
const mostCharacters = 4_000_000
const mostShared = 100

/** Cache for clients that resume or poll. */
export class RecentDeliveries {
  readonly #kept = new Map<number, { delivery: Delivery; characters: number }>()
  /** Large and no longer kept: clients that come while another still has one get the same. */
  readonly #shared = new Map<number, WeakRef<Delivery>>()
  #characters = 0

  /** `text`: the message as JSON. */
  add(message: Message, cursor: string, text?: string): Delivery {
    const delivery = new Delivery({ type: 'message', message }, cursor, text)
    const characters = text?.length ?? estimateLength(message.body)
    if (characters > mostCharacters) {
      this.#share(delivery, message.seq)
      return delivery
    }
    this.#characters += characters - (this.#kept.get(message.seq)?.characters ?? 0)
    this.#kept.set(message.seq, { delivery, characters })
    if (this.#kept.size <= mostKept && this.#characters <= mostCharacters) return delivery
    for (const [seq, oldest] of this.#kept) {
      if (this.#kept.size <= mostKept && this.#characters <= mostCharacters) break
      this.#kept.delete(seq)
      this.#characters -= oldest.characters
      if (oldest.characters > leastShared) this.#share(oldest.delivery, seq)
    }
    return delivery
  }

  #share(delivery: Delivery, seq: number): void {
    this.#shared.delete(seq)
    this.#shared.set(seq, new WeakRef(delivery))
    const [oldest = seq] = this.#shared.keys()
    if (this.#shared.size > mostShared) this.#shared.delete(oldest)
  }

  deliveriesOf({ messages, head: { epoch } }: Pick<CatchUp, 'messages' | 'head'>): Delivery[] {
    return messages.map((message) => {
      const known = this.#kept.get(message.seq)?.delivery ?? this.#shared.get(message.seq)?.deref()
      if (known?.frame.type === 'message' && isSame(known.frame.message, message)) return known
      return this.add(message, formatCursor({ epoch, seq: message.seq }))
    })
  }
}

/** A number and an id may belong to a message and to a base that joins it with older ones, or to a probe. */
function isSame(known: Message, message: Message): boolean {
  if (known.id !== message.id || known.channel !== message.channel) return false
  if (known.body === message.body || !isKind(known, 'update') || !isKind(message, 'update')) return true
  return known.body.update === message.body.update
}

/** For whom quotas count. */
export interface Holder {
  /** The HTTP/2 session or the socket. */
  readonly connection: object
  /** The same for all who came by one link; null without. */
  readonly invitation: string | null
}

export interface ClientIdentity {
  readonly id: string
  /** Fingerprint of the proven name's key, shared by a browser's clients; null for a free name. */
  readonly owner: string | null
  readonly channels: ReadonlySet<string>
  readonly mode: Mode
  /** Increases per opening: a stream replaces older ones of its client, never newer ones. */
  readonly opening: number
  /** Absent where nothing is counted. */
  readonly holder?: Holder
}

/** Where a stream's bytes go. */
export interface Sink {
  /** Backpressure: after false no more until `drained()`. */
  readonly write: (bytes: Buffer) => boolean
}

export interface Joining extends ClientIdentity {
  /** End of the session, ms since the epoch; null for never. */
  readonly expiresAt: number | null
  readonly framing: Framing
  readonly sink: Sink
  /** Told how many bytes of missed messages wait to be read; false where that is too much, and the stream is cut. */
  readonly holds?: (deliveries: readonly Delivery[]) => boolean
  /** Called at most once, after the bytes written. */
  readonly end: (bye: Bye) => void
}

interface SubscriberEvents {
  /** Left out of a full queue. */
  readonly onOmitted: () => void
  readonly onOverflow: (subscriber: Subscriber) => void
  readonly onFailure: (subscriber: Subscriber, error: unknown) => void
}

/** Some hundred acknowledgements, besides the connection's buffer. */
const mostAnswerBytes = 16_384

export class Subscriber {
  // What each delivery needs is here, side by side: of thousands of windows none is in a cache.
  #isClosed = false
  #hasBegun = false
  #isFull = false
  readonly #framing: Framing
  readonly #sink: Sink
  readonly identity: Joining
  readonly #queue: SendQueue
  readonly #on: SubscriberEvents
  #missed: (Delivery | undefined)[] = []
  #replayedCount = 0
  #onReplayed: (() => void) | null = null
  #omittedReported = 0

  /** The queue holds `queueBytes`, plus one portion of missed messages. */
  constructor(joining: Joining, queueBytes: number, on: SubscriberEvents) {
    this.#framing = joining.framing
    this.#sink = joining.sink
    this.identity = joining
    this.#queue = new SendQueue(joining.framing, queueBytes, on.onOmitted)
    this.#on = on
  }

  send(delivery: Delivery): void {
    if (this.#isClosed) return
    if (this.#isFlowing()) this.#write(delivery)
    else if (!this.#queue.push(delivery)) this.#on.onOverflow(this)
  }

  /** False while other bytes wait: for what is out of date once they have gone. */
  offer(delivery: Delivery): boolean {
    if (!this.#isFlowing()) return false
    this.#write(delivery)
    return true
  }

  drained(): void {
    this.#isFull = false
    this.#flush()
  }

  /** Resolves when the connection has taken them, or on close. */
  replay(deliveries: readonly Delivery[]): Promise<void> {
    if (this.identity.holds?.(deliveries) === false) {
      this.gone()
      return Promise.resolve()
    }
    this.#missed = [...deliveries]
    this.#replayedCount = 0
    return new Promise((resolve) => {
      this.#onReplayed = resolve
      this.#replayOn()
    })
  }

  /** Starts live delivery with queued messages newer than `head`. */
  begin(head: number): void {
    // The catch-up contains messages that arrived during the read.
    this.#queue.dropUntil(head)
    this.#hasBegun = true
    this.#flush()
  }

  close(code: ByeCode, message: string, retryAfterMs: number): void {
    if (this.#isClosed) return
    this.gone()
    try {
      this.identity.end({ type: 'bye', code, message, retryAfterMs })
    } catch (error) {
      this.#on.onFailure(this, error)
    }
  }

  /** The connection ended: no `bye` is possible. */
  gone(): void {
    this.#isClosed = true
    this.#endReplay()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Unread responses: read no more from the client. */
  get isBehind(): boolean {
    return !this.#isFlowing() && this.#queue.answerBytes > mostAnswerBytes
  }

  get backlogBytes(): number {
    return this.#queue.bytes
  }

  get dropped(): number {
    return this.#queue.omitted
  }

  #isFlowing(): boolean {
    return this.#hasBegun && !this.#isFull && !this.#isClosed
  }

  #write(delivery: Delivery): void {
    try {
      this.#isFull = !this.#sink.write(delivery.bytes(this.#framing))
    } catch (error) {
      this.#on.onFailure(this, error)
    }
  }

  #flush(): void {
    if (this.#onReplayed) this.#replayOn()
    while (this.#isFlowing()) {
      const delivery = this.#queue.shift()
      if (!delivery) return
      // The dropped deliveries were older than the next.
      const count = this.#queue.omitted - this.#omittedReported
      this.#omittedReported += count
      if (count > 0) this.#write(new Delivery({ type: 'omitted', count }))
      this.#write(delivery)
    }
  }

  #replayOn(): void {
    const missed = this.#missed
    for (
      ;
      this.#replayedCount < missed.length && !this.#isFull && !this.#isClosed;
      this.#replayedCount += 1
    ) {
      const delivery = missed[this.#replayedCount]
      // Written frames belong to the connection: release them here.
      missed[this.#replayedCount] = undefined
      if (delivery) this.#write(delivery)
    }
    if (this.#isClosed || (this.#replayedCount === missed.length && !this.#isFull)) this.#endReplay()
  }

  #endReplay(): void {
    this.#missed = []
    this.identity.holds?.([])
    const onReplayed = this.#onReplayed
    this.#onReplayed = null
    onReplayed?.()
  }
}

/** At most `maxBytes` of encoded frames, or one larger. When full, drops readings and overviews, never edits. */
class SendQueue {
  readonly #framing: Framing
  readonly #maxBytes: number
  readonly #onOmitted: () => void
  #waiting: Delivery[] = []
  #replaceable = 0
  bytes = 0
  answerBytes = 0
  omitted = 0

  constructor(framing: Framing, maxBytes: number, onOmitted: () => void) {
    this.#framing = framing
    this.#maxBytes = maxBytes
    this.#onOmitted = onOmitted
  }

  /** False if it does not fit: the subscriber must close and resume. */
  push(delivery: Delivery): boolean {
    const { channel } = delivery
    if (delivery.replacesOlder) {
      this.#takeOut(this.#waiting.findIndex((old) => old.replacesOlder && old.channel === channel))
    }
    const size = delivery.bytes(this.#framing).length
    while (this.#waiting.length > 0 && this.bytes + size > this.#maxBytes) {
      const oldest = this.#replaceable === 0 ? -1 : this.#waiting.findIndex((old) => old.isReplaceable)
      if (oldest < 0) return false
      this.#takeOut(oldest)
      this.omitted += 1
      this.#onOmitted()
    }
    this.#waiting.push(delivery)
    this.#count(delivery, 1)
    return true
  }

  shift(): Delivery | undefined {
    const delivery = this.#waiting.shift()
    if (delivery) this.#count(delivery, -1)
    return delivery
  }

  dropUntil(head: number): void {
    this.#waiting = this.#waiting.filter((delivery) => {
      const isOld = delivery.seq !== null && delivery.seq <= head
      if (isOld) this.#count(delivery, -1)
      return !isOld
    })
  }

  #takeOut(index: number): void {
    const [old] = index < 0 ? [] : this.#waiting.splice(index, 1)
    if (old) this.#count(old, -1)
  }

  #count(delivery: Delivery, sign: 1 | -1): void {
    const size = delivery.bytes(this.#framing).length * sign
    this.bytes += size
    if (delivery.isAnswer) this.answerBytes += size
    if (delivery.isReplaceable) this.#replaceable += sign
  }
}

export function welcomeTo(
  { id, mode }: ClientIdentity,
  { head, recovered }: CatchUp,
  heartbeatMs: number,
): Welcome {
  const cursor = formatCursor(head)
  return { type: 'welcome', window: id, cursor, recovered, http: mode.http, heartbeatMs }
}
