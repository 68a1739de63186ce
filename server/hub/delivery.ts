// A frame for many subscribers, encoded once per framing; recent ones are cached.

import type { CatchUp } from '../log/log.ts'
import { type DownFrame, estimateLength, formatCursor, isKind, type Message } from '../wire/messages.ts'

/** `cursor` is null except for messages. */
export interface Framing {
  readonly encode: (frame: DownFrame, cursor: string | null) => Buffer
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
  readonly #cursor: string | null
  // More than one framing is rare.
  #framing: Framing | null = null
  #bytes: Buffer | null = null
  #others: Map<Framing, Buffer> | null = null

  constructor(frame: DownFrame, cursor: string | null = null) {
    const message = frame.type === 'message' ? frame.message : null
    this.frame = frame
    this.seq = message?.seq ?? null
    this.channel = message?.channel ?? null
    this.replacesOlder = message?.kind === 'overview'
    this.isReplaceable = this.replacesOlder || message?.kind === 'reading'
    this.isAnswer = frame.type === 'stored' || frame.type === 'refused' || frame.type === 'clock'
    this.#cursor = cursor
  }

  bytes(framing: Framing): Buffer {
    const known = framing === this.#framing ? this.#bytes : this.#others?.get(framing)
    if (known) return known
    const bytes = framing.encode(this.frame, this.#cursor)
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

const mostKept = 500
const mostCharacters = 4_000_000

/** Cache for clients that resume or poll. */
export class RecentDeliveries {
  readonly #kept = new Map<number, { delivery: Delivery; message: Message; characters: number }>()
  #characters = 0

  add(message: Message, cursor: string): Delivery {
    const delivery = new Delivery({ type: 'message', message }, cursor)
    const characters = estimateLength(message.body)
    this.#characters += characters - (this.#kept.get(message.seq)?.characters ?? 0)
    this.#kept.set(message.seq, { delivery, message, characters })
    for (const [seq, oldest] of this.#kept) {
      if (this.#kept.size <= mostKept && this.#characters <= mostCharacters) break
      this.#kept.delete(seq)
      this.#characters -= oldest.characters
    }
    return delivery
  }

  deliveriesOf({ messages, head: { epoch } }: Pick<CatchUp, 'messages' | 'head'>): Delivery[] {
    return messages.map((message) => {
      const known = this.#kept.get(message.seq)
      if (known && isSame(known.message, message)) return known.delivery
      return this.add(message, formatCursor({ epoch, seq: message.seq }))
    })
  }
}

/** A number and an id may belong to a message and to a base that joins it with older ones. */
function isSame(known: Message, message: Message): boolean {
  if (known.id !== message.id) return false
  if (known.body === message.body || !isKind(known, 'update') || !isKind(message, 'update')) return true
  return known.body.update === message.body.update
}
