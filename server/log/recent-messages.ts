// The newest messages, in memory and parsed, for clients that resume after a short while.

import type { Message } from '../../protocol/messages.ts'
import { changed, erases } from './changes.ts'
import type { Bounds, Memory } from './log.ts'

/** Takes a few ms. A larger message is a portion of its own. */
export const portion = { messages: 500, bytes: 1_048_576 }

export interface Portion {
  readonly messages: Message[]
  /** Last number examined. */
  readonly upTo: number
}

const usualMemory: Memory = { messages: 4096, bytes: 8_388_608 }

/** Limits of the messages in memory. */
const memoryWithin = (limits: Bounds, { messages, bytes } = usualMemory): Memory => ({
  messages: Math.min(messages, limits.messages),
  bytes: Math.min(bytes, limits.bytes),
})

export class RecentMessages {
  readonly #memory: Memory
  readonly #messages = new Map<number, { readonly message: Message; readonly bytes: number }>()
  #bytes = 0
  /** All messages after this number are here. */
  #floor = Number.POSITIVE_INFINITY

  /** `memory` is at most `limits`; 4096 messages and 8 MiB by default. */
  constructor(limits: Bounds, memory: Memory | undefined) {
    this.#memory = memoryWithin(limits, memory)
  }

  add(message: Message, bytes: number): void {
    this.#floor = Math.min(this.#floor, message.seq - 1)
    this.#messages.set(message.seq, { message, bytes })
    this.#bytes += bytes
    while (this.#isFull) {
      this.#floor += 1
      const oldest = this.#messages.get(this.#floor)
      this.#messages.delete(this.#floor)
      // Its channel may have been erased.
      this.#bytes -= oldest?.bytes ?? 0
    }
  }

  get #isFull(): boolean {
    const { size } = this.#messages
    return size > 1 && (size > this.#memory.messages || this.#bytes > this.#memory.bytes)
  }

  get(seq: number): Message | undefined {
    return this.#messages.get(seq)?.message
  }

  /** Applies a change to the messages that are here. */
  change(change: Message<'change'>): void {
    const seqs = erases(change) ? this.#messages.keys() : [change.body.seq]
    for (const seq of seqs) {
      const found = this.#messages.get(seq)
      if (found) this.#messages.set(seq, { ...found, message: changed(found.message, change) })
    }
  }

  /** Forgets a channel's messages before its erasure. */
  forget(channel: string, before: number): void {
    for (const [seq, { message, bytes }] of this.#messages) {
      if (message.channel !== channel || seq >= before) continue
      this.#messages.delete(seq)
      this.#bytes -= bytes
    }
  }

  /** A portion, or null if some messages after the number are not here. */
  after(seq: number, channels: ReadonlySet<string>, head: number): Portion | null {
    if (seq < this.#floor) return null
    const messages: Message[] = []
    let size = 0
    for (let next = seq + 1; next <= head; next += 1) {
      const found = this.#messages.get(next)
      if (!found || !channels.has(found.message.channel)) continue
      size += found.bytes
      const isFull = messages.length === portion.messages || size > portion.bytes
      if (messages.length > 0 && isFull) return { messages, upTo: next - 1 }
      messages.push(found.message)
    }
    return { messages, upTo: head }
  }
}
