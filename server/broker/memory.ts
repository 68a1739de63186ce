// The log in this process's memory: a pure relay, as in the 2021 paper, with a bounded tail to resume from.

import type { Clock } from '../wire/time.ts'
import { boundsOf } from './bounds.ts'
import type { Log, LogLimits, OnFailure } from './log.ts'
import { createSequencer } from './sequencer.ts'
import { createTail } from './tail.ts'

export interface MemoryLogParts {
  /** Names this life of the log: its contents end with the process. */
  readonly epoch: string
  readonly limits: LogLimits
  readonly now: Clock
  readonly onFailure: OnFailure
}

export function createMemoryLog({ epoch, limits, now, onFailure }: MemoryLogParts): Log {
  const tail = createTail(boundsOf(limits), now)
  const sequencer = createSequencer({
    epoch,
    tail,
    maxChannels: limits.maxChannels,
    store: (group) => group.map((_entry, place) => tail.head() + 1 + place),
    // Nothing is gained by waiting: followers are told within `append`.
    defer: (run) => run(),
    onFailure,
  })
  const head = () => ({ epoch, seq: tail.head() })

  return {
    append: sequencer.append,
    follow: sequencer.follow,
    heads: () => tail.newest.heads,
    async snapshot(channels) {
      sequencer.mustBeOpen()
      return { messages: tail.newest.of(channels), head: head() }
    },
    async read(cursor, channels) {
      sequencer.mustBeOpen()
      tail.forget()
      const recovered = cursor?.epoch === epoch && cursor.seq >= tail.floor() && cursor.seq <= tail.head()
      if (!recovered) return { recovered, messages: tail.newest.of(channels), reached: head(), head: head() }
      const { messages, upTo } = tail.after(cursor.seq, channels)
      return { recovered, messages, reached: { epoch, seq: upTo }, head: head() }
    },
    close: sequencer.finish,
  }
}
