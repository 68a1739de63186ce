// A log in memory alone.

import type { Kind, Message } from '../wire/messages.ts'
import { type BaseStore, Folding } from './folding.ts'
import type { Defer, Log, LogParts } from './log.ts'
import { Tail } from './retention.ts'
import { Sequencer } from './sequencer.ts'

/** A pure relay, as in the 2021 paper, with a bounded tail to resume from. `epoch` is new for each process. */
export function createMemoryLog({ epoch, limits, folds = {}, now, onFailure }: MemoryLogParts): Log {
  const onFolded = (messages: readonly Message[]) =>
    messages.forEach((message) => void tail.superseded(message))
  const defer: Defer = setImmediate
  const floor = () => tail.floor
  const folding = new Folding({ folds, bases: createBases(), defer, onFailure, onFolded, floor })
  const tail = new Tail(limits, now, folding)
  return new Sequencer({
    epoch,
    tail,
    maxChannels: limits.maxChannels,
    store: {
      commit: (group) => group.map((_entry, place) => tail.head + 1 + place),
      floor() {
        tail.forget()
        return tail.floor
      },
      after: (seq, channels) => tail.after(seq, channels),
      oldest: (channel, kind) => folding.oldest(channel, kind),
      close: () => folding.close(),
    },
    onFailure,
  })
}

interface MemoryLogParts extends LogParts {
  readonly epoch: string
}

function createBases(): BaseStore {
  const bases = new Map<string, Message>()
  // Neither has a space.
  const keyOf = (channel: string, kind: Kind) => `${channel} ${kind}`
  const past = new Map<string, Map<number, Message>>()
  const pastOf = (channel: string, kind: Kind) =>
    past.getOrInsertComputed(keyOf(channel, kind), () => new Map<number, Message>())
  return {
    read: (channel, kind) => bases.get(keyOf(channel, kind)),
    write(base) {
      bases.set(keyOf(base.channel, base.kind), base)
      return JSON.stringify(base.body).length
    },
    past: (channel, kind) =>
      pastOf(channel, kind)
        .keys()
        .toArray()
        .sort((one, other) => one - other),
    readPast: (channel, kind, seq) => pastOf(channel, kind).get(seq),
    keepPast: (base) => void pastOf(base.channel, base.kind).set(base.seq, base),
    forgetPast: (channel, kind, seq) => void pastOf(channel, kind).delete(seq),
    erase(channel) {
      for (const all of [bases, past])
        for (const key of all.keys()) if (key.startsWith(`${channel} `)) all.delete(key)
    },
  }
}
