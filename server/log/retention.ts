// The log's bounds: which messages to drop, and in which portions to erase them.

import type { Clock } from '../wire/time.ts'

export interface Bounds {
  /** Kept for clients that resume. */
  readonly messages: number
  /** Bodies as JSON; the newest message is always kept. */
  readonly bytes: number
  /** After `acceptedAt`. */
  readonly ageMs: number
}

/** Whether the oldest must go, which was accepted at `oldestAt` (ms since the epoch). */
export function exceeds(
  bounds: Bounds,
  held: Omit<Bounds, 'ageMs'> & { readonly oldestAt: number },
  now: number,
): boolean {
  if (held.oldestAt + bounds.ageMs < now) return true
  return held.messages > bounds.messages || (held.bytes > bounds.bytes && held.messages > 1)
}

export interface Stored {
  readonly bytes: number
  readonly acceptedAt: number
}

/** Numbers from `floor`, exclusive, to `head`. */
export interface Extent {
  readonly floor: number
  readonly head: number
  readonly bytes: number
}

interface RetentionParts {
  readonly bounds: Bounds
  readonly now: Clock
  readonly extent: Extent
  /** Some of the oldest after `seq`, in order without a gap. */
  readonly oldestAfter: (seq: number) => readonly Stored[]
}

/** Erases from `least` on, so that neighbours leave a page together; at most `most`, so that no append waits long. */
const erasePortion = {
  least: { messages: 64, bytes: 262_144 },
  most: { messages: 256, bytes: 2_097_152 },
}

/** Dropped messages count as gone at once and are erased later. */
export function createRetention({ bounds, now, extent, oldestAfter }: RetentionParts) {
  let { floor, head, bytes: heldBytes } = extent
  /** Read-ahead after the floor, and the index of the oldest. */
  let upcoming: readonly Stored[] = []
  let place = 0
  /** Sizes of those dropped but not erased, oldest first. */
  const gone: number[] = []
  let goneBytes = 0

  function findOldest(): Stored | undefined {
    if (place >= upcoming.length) {
      upcoming = floor < head ? oldestAfter(floor) : []
      place = 0
    }
    return upcoming[place]
  }

  return {
    /** Messages after it are held; earlier ones may not be erased yet. */
    floor: () => floor,
    /** Messages after it are still stored. */
    erasedTo: () => floor - gone.length,
    add(bytes: number): void {
      head += 1
      heldBytes += bytes
    },
    forget(): void {
      const time = now()
      for (let oldest = findOldest(); oldest; oldest = findOldest()) {
        const { bytes, acceptedAt } = oldest
        const held = { messages: head - floor, bytes: heldBytes, oldestAt: acceptedAt }
        if (!exceeds(bounds, held, time)) return
        floor += 1
        place += 1
        heldBytes -= bytes
        gone.push(bytes)
        goneBytes += bytes
      }
    },
    /** The number of messages in the next portion; 0 for none. */
    erasable(): number {
      const { least, most } = erasePortion
      if (gone.length < least.messages && goneBytes < least.bytes) return 0
      let count = 0
      for (let sum = 0; count < Math.min(gone.length, most.messages) && sum < most.bytes; count += 1) {
        sum += gone[count] ?? 0
      }
      return count
    },
    erased(count: number): void {
      for (const size of gone.splice(0, count)) goneBytes -= size
    },
  }
}
