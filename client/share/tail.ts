// The newest messages of a shared stream, and from which sequence number each channel is complete.

import {
  type Cursor,
  estimateLength,
  formatCursor,
  type Message,
  parseCursor,
  type Welcome,
} from '../../protocol/messages.ts'

/** Members further behind catch up from the server. `length` is the content's, in UTF-16 units. */
const usualBounds = { messages: 1000, length: 4_000_000 }

export class Tail {
  readonly epoch: string
  readonly #bounds: typeof usualBounds
  readonly #messages: Message[] = []
  /** By channel: complete after this sequence number. */
  #completeAfter = new Map<string, number>()
  #newest = new Map<string, number>()
  #seq: number
  #forgottenTo = 0
  #length = 0

  /** `start` is the stream's first cursor; the tail holds no earlier messages. */
  constructor(start: Cursor, channels: ReadonlySet<string>, bounds = usualBounds) {
    this.epoch = start.epoch
    this.#seq = start.seq
    this.#bounds = bounds
    this.carry(channels)
  }

  get cursor(): Cursor {
    return { epoch: this.epoch, seq: this.#seq }
  }

  /** Replaces the channels; a new one is complete only from here on. */
  carry(channels: ReadonlySet<string>): void {
    const completeAfter = (channel: string) => this.#completeAfter.get(channel) ?? this.#seq
    this.#completeAfter = new Map(Array.from(channels, (channel) => [channel, completeAfter(channel)]))
    this.#newest = new Map([...this.#newest].filter(([channel]) => channels.has(channel)))
  }

  /** False for repeats. */
  add(message: Message): boolean {
    if (message.seq <= this.#seq) return false
    this.#seq = message.seq
    this.#newest.set(message.channel, message.seq)
    this.#messages.push(message)
    this.#length += estimateLength(message.body)
    while (this.#messages.length > this.#bounds.messages || this.#length > this.#bounds.length)
      this.#forgetOldest()
    return true
  }

  /** Whether no message after the cursor is missing. */
  covers(cursor: Cursor | null, channels: ReadonlySet<string>): boolean {
    if (cursor === null || cursor.epoch !== this.epoch || cursor.seq < this.#forgottenTo) return false
    const completeAfter = (channel: string) => this.#completeAfter.get(channel) ?? Infinity
    return [...channels].every((channel) => completeAfter(channel) <= cursor.seq)
  }

  after(from: number): readonly Message[] {
    return this.#messages.filter((message) => message.seq > from)
  }

  /** 0 for none. */
  newestOn(channels: ReadonlySet<string>): number {
    return Math.max(0, ...Array.from(channels, (channel) => this.#newest.get(channel) ?? 0))
  }

  isBefore(other: number): boolean {
    return this.#seq < other
  }

  /** The later of the welcome's cursor and the stream's. */
  logEnd(welcome: Welcome): string {
    const head = parseCursor(welcome.cursor)
    const isAhead = head?.epoch === this.epoch && this.#seq < head.seq
    return isAhead ? welcome.cursor : formatCursor(this.cursor)
  }

  #forgetOldest(): void {
    const oldest = this.#messages.shift()
    if (!oldest) return
    this.#forgottenTo = oldest.seq
    this.#length -= estimateLength(oldest.body)
  }
}
