// The newest message of each channel and kind: the snapshot that outlives every bound.

import type { Kind, Message } from '../wire/envelope.ts'

export interface Newest {
  /** Takes a message newer than all before it; returns the one whose place it took. */
  readonly set: (message: Message) => Message | undefined
  readonly has: (seq: number) => boolean
  /** Of these channels, in order. */
  readonly of: (channels: Iterable<string>) => Message[]
  /** The newest number of each channel; live. */
  readonly heads: ReadonlyMap<string, number>
}

export function createNewest(): Newest {
  const kindsOf = new Map<string, Map<Kind, Message>>()
  const heads = new Map<string, number>()
  const seqs = new Set<number>()

  return {
    set(message) {
      const kinds = kindsOf.get(message.channel) ?? new Map<Kind, Message>()
      const former = kinds.get(message.kind)
      kinds.set(message.kind, message)
      kindsOf.set(message.channel, kinds)
      heads.set(message.channel, message.seq)
      seqs.add(message.seq)
      if (former) seqs.delete(former.seq)
      return former
    },
    has: (seq) => seqs.has(seq),
    of(channels) {
      const found = Array.from(channels, (channel) => [...(kindsOf.get(channel)?.values() ?? [])])
      return found.flat().sort((one, other) => one.seq - other.seq)
    },
    heads,
  }
}
