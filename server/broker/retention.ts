// Keeps count of what a stored log holds, says what it no longer does, and in which portions that may be erased.

import type { Clock } from '../wire/time.ts'
import { type Bounds, exceeds } from './bounds.ts'

/** A stored message, as far as it matters here. */
export interface Stored {
  readonly bytes: number
  readonly acceptedAt: number
}

/** What the store holds to begin with: all from `floor`, exclusive, to `head`. */
export interface Extent {
  readonly floor: number
  readonly head: number
  readonly bytes: number
}

export interface RetentionParts {
  readonly bounds: Bounds
  readonly now: Clock
  readonly extent: Extent
  /** The oldest after a number, some of them, in order and without a gap. */
  readonly oldestAfter: (seq: number) => readonly Stored[]
}

export interface Retention {
  /** Every message after this number is held; those up to it count as gone, erased or not. */
  readonly floor: () => number
  /** Counts new messages, by their sizes. */
  readonly add: (sizes: readonly number[]) => void
  /** Lets the oldest go while the bounds are exceeded. Erases nothing. */
  readonly forget: () => void
  /** Every message after this number is in the store still. */
  readonly erasedTo: () => number
  /** All up to this number may be erased now: one portion more than is erased, or nothing more. */
  readonly erasable: () => number
  readonly erased: (upTo: number) => void
}

/**
 * Erasing waits until there is a portion's worth, so that neighbours go from one page at once, and takes one portion at
 * a time, so that no append waits for a long one.
 */
const portion = {
  least: { messages: 64, bytes: 262_144 },
  most: { messages: 256, bytes: 2_097_152 },
}

export function createRetention({ bounds, now, extent, oldestAfter }: RetentionParts): Retention {
  let { floor, head, bytes } = extent
  let upcoming: readonly Stored[] = []
  let place = 0
  // The sizes of what is gone and not erased, the oldest first.
  const gone: number[] = []
  let goneBytes = 0

  const erasedTo = () => floor - gone.length

  function oldest(): Stored | undefined {
    if (place >= upcoming.length) {
      upcoming = floor < head ? oldestAfter(floor) : []
      place = 0
    }
    return upcoming[place]
  }

  function letGo({ bytes: size }: Stored): void {
    floor += 1
    place += 1
    bytes -= size
    gone.push(size)
    goneBytes += size
  }

  return {
    floor: () => floor,
    add(sizes) {
      head += sizes.length
      for (const size of sizes) bytes += size
    },
    forget() {
      const time = now()
      for (let next = oldest(); next; next = oldest()) {
        const kept = { messages: head - floor, bytes, oldestAt: next.acceptedAt }
        if (!exceeds(bounds, kept, time)) return
        letGo(next)
      }
    },
    erasedTo,
    erasable() {
      if (gone.length < portion.least.messages && goneBytes < portion.least.bytes) return erasedTo()
      let count = 0
      for (let sum = 0; count < portion.most.messages && sum < portion.most.bytes; count += 1) {
        const size = gone[count]
        if (size === undefined) break
        sum += size
      }
      return erasedTo() + count
    },
    erased(upTo) {
      for (const size of gone.splice(0, upTo - erasedTo())) goneBytes -= size
    },
  }
}
