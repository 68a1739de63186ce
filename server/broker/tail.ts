// The log's bounded tail in memory: recent messages without a gap, their ids, and the newest of each channel and kind.

import type { Message } from '../wire/envelope.ts'
import type { Clock } from '../wire/time.ts'
import { type Bounds, exceeds } from './bounds.ts'
import { createNewest, type Newest } from './newest.ts'

export interface Portion {
  readonly messages: Message[]
  /** Every message up to this number has been looked at. */
  readonly upTo: number
}

/**
 * The most that is handed out at a time: a few ms of work, and little in memory for a window that was away for long. A
 * message whose body is larger goes alone.
 */
export const portion = { messages: 500, bytes: 1_048_576 }

export interface Tail {
  /** The number of the newest message, 0 for none. */
  readonly head: () => number
  /** Every message after this number is here. */
  readonly floor: () => number
  /** Takes the next message, `head() + 1`; `bytes` is its body's size. Forgets what is too much. */
  readonly add: (message: Message, bytes: number) => void
  /** Forgets what has grown too old. */
  readonly forget: () => void
  /** The number of a message that is here or the newest of its kind. */
  readonly seqOf: (id: string) => number | undefined
  /** A portion of what came after `seq`, which is not below the floor, on these channels. */
  readonly after: (seq: number, channels: ReadonlySet<string>) => Portion
  readonly newest: Newest
}

export interface TailStart {
  /** The tail begins after this number. */
  readonly floor: number
  /** The newest of each channel and kind up to there, in order. */
  readonly newest: readonly Message[]
}

/** Forgotten places are cut off when they are at least so many and half of the array: a shift for each would cost O(n). */
const leastCut = 512

export function createTail(bounds: Bounds, now: Clock, start: TailStart = { floor: 0, newest: [] }): Tail {
  const newest = createNewest()
  const seqs = new Map<string, number>()
  // The oldest stands at `first`; before it are places already forgotten.
  const messages: (Message | undefined)[] = []
  const sizes: number[] = []
  let first = 0
  let bytes = 0
  let head = start.floor
  for (const message of start.newest) {
    newest.set(message)
    seqs.set(message.id, message.seq)
  }

  const floor = () => head - (messages.length - first)

  function forget(): void {
    const time = now()
    for (let oldest = messages[first]; oldest; oldest = messages[first]) {
      const kept = { messages: messages.length - first, bytes, oldestAt: oldest.acceptedAt }
      if (!exceeds(bounds, kept, time)) return
      drop(oldest)
    }
  }

  function drop(oldest: Message): void {
    bytes -= sizes[first] ?? 0
    messages[first] = undefined
    first += 1
    if (!newest.has(oldest.seq)) seqs.delete(oldest.id)
    if (first < leastCut || first * 2 < messages.length) return
    messages.splice(0, first)
    sizes.splice(0, first)
    first = 0
  }

  return {
    head: () => head,
    floor,
    add(message, size) {
      head = message.seq
      messages.push(message)
      sizes.push(size)
      bytes += size
      seqs.set(message.id, message.seq)
      const former = newest.set(message)
      if (former && former.seq <= floor()) seqs.delete(former.id)
      forget()
    },
    forget,
    seqOf: (id) => seqs.get(id),
    after(seq, channels) {
      const found: Message[] = []
      let size = 0
      let upTo = seq
      for (let place = first + seq - floor(); place < messages.length; place += 1) {
        const message = messages[place]
        if (message && channels.has(message.channel)) {
          size += sizes[place] ?? 0
          if (found.length > 0 && (found.length >= portion.messages || size > portion.bytes)) break
          found.push(message)
        }
        upTo += 1
      }
      return { messages: found, upTo }
    },
    newest,
  }
}
