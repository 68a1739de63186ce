// Dropped messages that are still to be erased, in portions.

import type { Channel } from './channel.ts'

/**
 * At least `least`, so that neighbours leave a page together; at most `most`, so that no append waits
 * long.
 */
export const erasePortion = {
  least: { messages: 64, bytes: 262_144 },
  most: { messages: 256, bytes: 2_097_152 },
}

interface Dropped {
  readonly channel: Channel
  readonly seq: number
  readonly bytes: number
}

/** In the order in which they were dropped. */
export class DroppedMessages {
  readonly #all: Dropped[] = []
  #bytes = 0

  add(dropped: Dropped): void {
    this.#all.push(dropped)
    this.#bytes += dropped.bytes
  }

  /** Whether there are enough for a portion. */
  get isDue(): boolean {
    const { least } = erasePortion
    return this.#all.length >= least.messages || this.#bytes >= least.bytes
  }

  /** Each channel of the next portion and its newest number; empty if there are too few for one. */
  next(mayBeFew: boolean): { readonly upTo: ReadonlyMap<Channel, number>; readonly count: number } {
    const { most } = erasePortion
    const upTo = new Map<Channel, number>()
    let count = 0
    if (!mayBeFew && !this.isDue) return { upTo, count }
    for (let sum = 0; count < Math.min(this.#all.length, most.messages) && sum < most.bytes; count += 1) {
      const one = this.#all[count]
      if (!one) break
      sum += one.bytes
      upTo.set(one.channel, one.seq)
    }
    return { upTo, count }
  }

  /** Removes the first `count`, which were erased. Returns the size of their bodies. */
  erased(count: number): number {
    const bytes = this.#all.splice(0, count).reduce((sum, one) => sum + one.bytes, 0)
    this.#bytes -= bytes
    return bytes
  }
}
