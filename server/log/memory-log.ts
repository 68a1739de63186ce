// A log that exists only in memory.

import type { Kind, Message } from '../wire/messages.ts'
import { upsert } from '../wire/upsert.ts'
import { type BaseStore, Folding } from './folding.ts'
import type { Defer, Log, LogParts } from './log.ts'
import { Tail } from './retention.ts'
import { Sequencer } from './sequencer.ts'

/**
 * A pure relay, as in the 2021 paper, with a bounded tail to resume from. `epoch` is new for each
 * process.
 */
export function createMemoryLog(parts: MemoryLogParts): Log {
  const { epoch, limits, roomMaking, folds = {}, keepOn, now, onFailure } = parts
  const onFolded = (messages: readonly Message[]) =>
    messages.forEach((message) => void tail.superseded(message))
  const defer: Defer = setImmediate
  const floor = (channel: string) => tail.retention.floorOf(channel)
  const folding = new Folding({ folds, bases: createBases(), defer, onFailure, onFolded, floor })
  const tail = new Tail({ limits, keepOn, now, folding })
  return new Sequencer({
    epoch,
    tail,
    maxChannels: limits.maxChannels,
    roomMaking,
    store: {
      commit(group) {
        const { retention } = tail
        retention.erased(retention.erasable().length)
        return group.map((_entry, place) => tail.head + 1 + place)
      },
      after(seq, channels) {
        const { held, upTo } = tail.retention.after(seq, channels)
        return { messages: tail.inMemory(held) ?? [], upTo }
      },
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
  /** Keyed by channel and kind, which contain no space. */
  const all = new Map<string, { newest?: Message; readonly past: Map<number, Message> }>()
  const find = (channel: string, kind: Kind) => all.get(`${channel} ${kind}`)
  const make = ({ channel, kind }: Message) => upsert(all, `${channel} ${kind}`, () => ({ past: new Map() }))
  return {
    read: (channel, kind) => find(channel, kind)?.newest,
    write(base) {
      make(base).newest = base
      return JSON.stringify(base.body).length
    },
    past: (channel, kind) => [...(find(channel, kind)?.past.keys() ?? [])].sort((one, other) => one - other),
    readPast: (channel, kind, seq) => find(channel, kind)?.past.get(seq),
    keepPast: (base) => void make(base).past.set(base.seq, base),
    forgetPast: (channel, kind, seq) => void find(channel, kind)?.past.delete(seq),
    erase(channel) {
      for (const key of all.keys()) if (key.startsWith(`${channel} `)) all.delete(key)
    },
  }
}
