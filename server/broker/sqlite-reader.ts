// Reads a log from a cursor on: what is recent from memory, what is older from the file, a portion in each turn.

import type { Cursor } from '../wire/cursor.ts'
import type { Message } from '../wire/envelope.ts'
import type { CatchUp, Snapshot } from './log.ts'
import type { Retention } from './retention.ts'
import type { Defer, Sequencer } from './sequencer.ts'
import type { Store } from './sqlite-store.ts'
import type { Tail } from './tail.ts'

export interface ReaderParts {
  readonly epoch: string
  readonly store: Pick<Store, 'between'>
  readonly tail: Tail
  readonly retention: Pick<Retention, 'floor' | 'forget'>
  readonly mustBeOpen: Sequencer['mustBeOpen']
  readonly defer: Defer
}

export interface Reader {
  readonly read: (cursor: Cursor | null, channels: ReadonlySet<string>) => Promise<CatchUp>
  readonly snapshot: (channels: ReadonlySet<string>) => Snapshot
}

/** A turn's worth: a few ms, so that a window that was away for long does not hold up the others. */
const portion = { messages: 500, bytes: 1_048_576 }

export function createReader({ epoch, store, tail, retention, mustBeOpen, defer }: ReaderParts): Reader {
  const head = () => ({ epoch, seq: tail.head() })

  function snapshot(channels: ReadonlySet<string>): Snapshot {
    mustBeOpen()
    return { messages: tail.newest.of(channels), head: head() }
  }

  function holdsAllAfter(seq: number): boolean {
    retention.forget()
    return seq >= retention.floor() && seq <= tail.head()
  }

  /** Null when the log forgot what was still to be read. */
  async function readAfter(seq: number, channels: ReadonlySet<string>): Promise<Message[] | null> {
    const older: Message[][] = []
    let at = seq
    while (holdsAllAfter(at)) {
      // No turn passes between this and the head that the caller takes.
      if (at >= tail.floor()) return [...older.flat(), ...tail.after(at, channels)]
      const upTo = Math.min(at + portion.messages, tail.floor())
      const read = store.between({ after: at, upTo, mostBytes: portion.bytes }, channels)
      older.push(read.messages)
      at = read.upTo
      if (at < tail.floor()) await new Promise<void>(defer)
      mustBeOpen()
    }
    return null
  }

  return {
    snapshot,
    async read(cursor, channels) {
      mustBeOpen()
      const messages = cursor?.epoch === epoch ? await readAfter(cursor.seq, channels) : null
      return messages
        ? { recovered: true, messages, head: head() }
        : { recovered: false, ...snapshot(channels) }
    },
  }
}
