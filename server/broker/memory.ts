// The log in this process's memory: a pure relay, as in the 2021 paper, with a bounded tail to resume from.

import { formatCursor } from '../wire/cursor.ts'
import type { Draft, Message } from '../wire/envelope.ts'
import type { CatchUp, Log } from './log.ts'

export interface MemoryLimits {
  /** Messages kept for resuming. */
  readonly logMessages: number
  /** Their size, in characters of their bodies as JSON, at most. */
  readonly logBytes: number
}

/** `epoch` names this life of the log: its contents end with the process. */
export function createMemoryLog(epoch: string, limits: MemoryLimits): Log {
  const tail: { message: Message; bytes: number }[] = []
  const seqs = new Map<string, number>()
  const newest = new Map<string, Message>()
  const followers = new Set<(message: Message, cursor: string) => void>()
  let seq = 0
  let bytes = 0

  function keep(message: Message): void {
    const size = JSON.stringify(message.body).length
    tail.push({ message, bytes: size })
    bytes += size
    seqs.set(message.id, message.seq)
    newest.set(`${message.channel} ${message.kind}`, message)
    while (tail.length > limits.logMessages || (bytes > limits.logBytes && tail.length > 1)) forgetOldest()
  }

  function forgetOldest(): void {
    const oldest = tail.shift()
    if (!oldest) return
    bytes -= oldest.bytes
    seqs.delete(oldest.message.id)
  }

  return {
    async append(draft: Draft, acceptedAt: number) {
      const known = seqs.get(draft.id)
      if (known !== undefined) return known
      seq += 1
      const message: Message = { ...draft, seq, acceptedAt }
      const cursor = formatCursor({ epoch, seq })
      // Windows first, bookkeeping after: nothing can come between the two.
      for (const follower of followers) follower(message, cursor)
      keep(message)
      return message.seq
    },

    async read(cursor, channels): Promise<CatchUp> {
      const head = { epoch, seq }
      const oldestKept = tail[0]?.message.seq ?? seq + 1
      const reaches = cursor?.epoch === epoch && cursor.seq >= oldestKept - 1 && cursor.seq <= seq
      const messages = reaches
        ? tail.slice(cursor.seq - oldestKept + 1).map((entry) => entry.message)
        : [...newest.values()].sort((one, other) => one.seq - other.seq)
      return { recovered: reaches, messages: messages.filter(({ channel }) => channels.has(channel)), head }
    },

    follow(onMessage) {
      followers.add(onMessage)
      return () => followers.delete(onMessage)
    },
  }
}
