// The newest messages of a shared stream, and from which sequence number each channel is complete.

import {
  type Cursor,
  estimateLength,
  formatCursor,
  type Message,
  parseCursor,
  type Welcome,
} from '../../server/wire/messages.ts'

/** Members further behind catch up from the server. `length`: of the contents, in UTF-16 units. */
const usualBounds = { messages: 1000, length: 4_000_000 }

export type Tail = ReturnType<typeof createTail>

/** `start` is the stream's first cursor; the tail holds no earlier messages. */
export function createTail(start: Cursor, channels: ReadonlySet<string>, bounds = usualBounds) {
  const messages: Message[] = []
  let completeAfter = new Map<string, number>()
  let newest = new Map<string, number>()
  let { seq } = start
  let forgottenTo = 0
  let length = 0

  /** Replaces the channels; a new one is complete only from here on. */
  function carry(next: ReadonlySet<string>): void {
    completeAfter = new Map(Array.from(next, (channel) => [channel, completeAfter.get(channel) ?? seq]))
    newest = new Map([...newest].filter(([channel]) => next.has(channel)))
  }

  function forgetOldest(): void {
    const oldest = messages.shift()
    if (!oldest) return
    forgottenTo = oldest.seq
    length -= estimateLength(oldest.body)
  }

  const isComplete = (channel: string, after: number) =>
    (completeAfter.get(channel) ?? Number.POSITIVE_INFINITY) <= after

  const cursor = () => ({ epoch: start.epoch, seq })

  carry(channels)
  return {
    epoch: start.epoch,
    cursor,
    carry,
    /** False for repeats. */
    add(message: Message): boolean {
      if (message.seq <= seq) return false
      seq = message.seq
      newest.set(message.channel, seq)
      messages.push(message)
      length += estimateLength(message.body)
      while (messages.length > bounds.messages || length > bounds.length) forgetOldest()
      return true
    },
    /** Whether no message after the cursor is missing. */
    covers: (cursor: Cursor | null, asked: ReadonlySet<string>) =>
      cursor !== null &&
      cursor.epoch === start.epoch &&
      cursor.seq >= forgottenTo &&
      Array.from(asked).every((channel) => isComplete(channel, cursor.seq)),
    after: (from: number) => messages.filter((message) => message.seq > from),
    /** 0 for none. */
    newestOn: (asked: ReadonlySet<string>) =>
      Math.max(0, ...Array.from(asked, (channel) => newest.get(channel) ?? 0)),
    isBefore: (other: number) => seq < other,
    /** The later of the welcome's cursor and the stream's. */
    logEnd(welcome: Welcome): string {
      const head = parseCursor(welcome.cursor)
      return head?.epoch === start.epoch && seq < head.seq ? welcome.cursor : formatCursor(cursor())
    },
  }
}
