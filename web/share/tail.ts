// The newest messages of a shared stream, and from where on nothing is missing among them.

import { type Cursor, formatCursor, parseCursor } from '../../server/wire/cursor.ts'
import type { Message } from '../../server/wire/envelope.ts'
import type { Welcome } from '../../server/wire/frames.ts'

export interface TailBounds {
  readonly messages: number
  /** Of the contents, in UTF-16 units. */
  readonly length: number
}

export interface Tail {
  readonly epoch: string
  /** Where the stream stands. */
  readonly cursor: () => string
  /** The stream carries these channels from here on; whole for one that is new from here only. */
  readonly carry: (channels: ReadonlySet<string>) => void
  /** False for what the stream brought before. */
  readonly add: (message: Message) => boolean
  /** Whether all that these channels had after the cursor is here. */
  readonly covers: (cursor: Cursor | null, channels: ReadonlySet<string>) => boolean
  readonly after: (seq: number) => Iterable<Message>
  /** Number of the newest message that came on these channels; 0 for none. */
  readonly newestOn: (channels: ReadonlySet<string>) => number
  readonly isBefore: (seq: number) => boolean
}

/** `start` is where the stream begins: what came before on these channels is not here. */
export function createTail(start: Cursor, channels: ReadonlySet<string>, bounds: TailBounds): Tail {
  const messages: Message[] = []
  let wholeAfter = new Map<string, number>()
  let newest = new Map<string, number>()
  let { seq } = start
  let forgottenTo = 0
  let length = 0

  function carry(next: ReadonlySet<string>): void {
    wholeAfter = new Map(Array.from(next, (channel) => [channel, wholeAfter.get(channel) ?? seq]))
    newest = new Map([...newest].filter(([channel]) => next.has(channel)))
  }

  function forgetOldest(): void {
    const oldest = messages.shift()
    if (!oldest) return
    forgottenTo = oldest.seq
    length -= lengthOf(oldest)
  }

  const isWhole = (channel: string, after: number) =>
    (wholeAfter.get(channel) ?? Number.POSITIVE_INFINITY) <= after

  carry(channels)
  return {
    epoch: start.epoch,
    cursor: () => formatCursor({ epoch: start.epoch, seq }),
    carry,
    add(message) {
      if (message.seq <= seq) return false
      seq = message.seq
      newest.set(message.channel, seq)
      messages.push(message)
      length += lengthOf(message)
      while (messages.length > bounds.messages || length > bounds.length) forgetOldest()
      return true
    },
    covers: (cursor, asked) =>
      cursor !== null &&
      cursor.epoch === start.epoch &&
      cursor.seq >= forgottenTo &&
      Array.from(asked).every((channel) => isWhole(channel, cursor.seq)),
    after: (from) => messages.filter((message) => message.seq > from),
    newestOn: (asked) => Math.max(0, ...Array.from(asked, (channel) => newest.get(channel) ?? 0)),
    isBefore: (other) => seq < other,
  }
}

/** The log's end as far as it is known here: from the stream's welcome, or from what has come since. */
export function endOf(
  tail: Pick<Tail, 'cursor' | 'epoch' | 'isBefore'>,
  { cursor }: Pick<Welcome, 'cursor'>,
): string {
  const head = parseCursor(cursor)
  return head?.epoch === tail.epoch && tail.isBefore(head.seq) ? cursor : tail.cursor()
}

/** Close enough for a bound: what is not a text is small. */
function lengthOf({ body }: Message): number {
  return 'html' in body ? body.html.length : 300
}
