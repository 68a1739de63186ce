// Reads a log from a cursor on, a portion at a time: what is recent from memory, what is older from the file.

import type { Cursor } from '../wire/cursor.ts'
import type { CatchUp, Snapshot } from './log.ts'
import type { Retention } from './retention.ts'
import type { Defer, Sequencer } from './sequencer.ts'
import type { Store } from './sqlite-store.ts'
import { type Portion, portion, type Tail } from './tail.ts'

export interface ReaderParts {
  readonly epoch: string
  readonly store: Pick<Store, 'between'>
  readonly tail: Tail
  readonly retention: Pick<Retention, 'floor' | 'forget'>
  readonly mustBeOpen: Sequencer['mustBeOpen']
  /** What is read from the file is answered a turn later. */
  readonly defer: Defer
}

export interface Reader {
  readonly read: (cursor: Cursor | null, channels: ReadonlySet<string>) => Promise<CatchUp>
  readonly snapshot: (channels: ReadonlySet<string>) => Snapshot
}

export function createReader(parts: ReaderParts): Reader {
  const { epoch, store, tail, retention, mustBeOpen, defer } = parts
  const head = () => ({ epoch, seq: tail.head() })

  function snapshot(channels: ReadonlySet<string>): Snapshot {
    mustBeOpen()
    return { messages: tail.newest.of(channels), head: head() }
  }

  function holdsAllAfter(seq: number): boolean {
    retention.forget()
    return seq >= retention.floor() && seq <= tail.head()
  }

  function portionOfFile(seq: number, channels: ReadonlySet<string>): Portion {
    const upTo = Math.min(seq + portion.messages, tail.floor())
    return store.between({ after: seq, upTo, mostBytes: portion.bytes }, channels)
  }

  return {
    snapshot,
    async read(cursor, channels) {
      mustBeOpen()
      if (cursor?.epoch !== epoch || !holdsAllAfter(cursor.seq)) {
        return { recovered: false, ...snapshot(channels), reached: head() }
      }
      const { seq } = cursor
      const isRecent = seq >= tail.floor()
      const { messages, upTo } = isRecent ? tail.after(seq, channels) : portionOfFile(seq, channels)
      const answer = { recovered: true, messages, reached: { epoch, seq: upTo }, head: head() }
      // Who reads on at once, portion after portion, would keep everyone else waiting until the end of the log.
      if (!isRecent) await new Promise<void>(defer)
      return answer
    },
  }
}
