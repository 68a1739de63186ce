// Bounds the time to read a document by its updates' worst-case cost, without reading it.

/**
 * Yjs searches for an item's place by scanning other items: nanoseconds for each in a large
 * document (docs/decisions/015-the-shared-document.md).
 */
const stepNs = 400

/** The extent of a read that starts now. */
export interface Mark {
  readonly steps: number
  readonly added: number
}

/** The cost of one document. */
export class ReadingCost {
  /** Worst-case steps of all updates, and of those already read. */
  #steps = 0
  #stepsRead = 0
  /** Steps of updates that are not stored yet, by id. */
  readonly #pending = new Map<string, number>()
  /** Items: counted by the last read; added in total; added before that read. */
  #counted = 0
  #added = 0
  #addedRead = 0
  #isBeingRead = false
  /** Time of the next read, after one that took too long. */
  #nextReadingAt = Number.NEGATIVE_INFINITY

  /** Upper bound. Each update may split two existing items. */
  get items(): number {
    return this.#counted + this.#added - this.#addedRead
  }

  /** Steps of updates that no read has covered. */
  get unreadSteps(): number {
    return this.#steps - this.#stepsRead
  }

  add(id: string | null, steps: number, items: number): void {
    this.#steps += steps
    this.#added += items
    if (id !== null) this.#pending.set(id, steps)
  }

  /** The update was stored, or will never be. */
  settle(id: string): void {
    this.#pending.delete(id)
  }

  /** Whether a read took too long, so that the next must wait. */
  isBarred(now: number): boolean {
    return now < this.#nextReadingAt
  }

  /** Times are in ms. */
  bar(until: number): void {
    this.#nextReadingAt = until
  }

  /** Returns false if a read has begun and not ended. */
  beginReading(): boolean {
    if (this.#isBeingRead) return false
    this.#isBeingRead = true
    return true
  }

  endReading(): void {
    this.#isBeingRead = false
  }

  mark(): Mark {
    const pending = this.#pending.values().reduce((sum, steps) => sum + steps, 0)
    return { steps: this.#steps - pending, added: this.#added }
  }

  /** A read of everything up to the mark finished in time, and counted this many items. */
  wasRead({ steps, added }: Mark, items: number): void {
    this.#stepsRead = Math.max(this.#stepsRead, steps)
    this.#counted = items
    this.#addedRead = added
  }
}

/**
 * Whether windows and applications, which read without limits of their own, may read a document of this
 * cost: a twentieth of the server's limit plus 10 µs for each item, ten times the usual; at most a
 * third, since exports take longer and the machine may be busy.
 */
export function isQuick({ items, cpuMs }: ReadingTime, documentSeconds: number): boolean {
  return cpuMs <= Math.min((documentSeconds * 1000) / 3, documentSeconds * 50 + items / 100)
}

/** As measured. */
export interface ReadingTime {
  readonly items: number
  readonly cpuMs: number
}

/** Worst-case processor time. */
export const msOf = (steps: number) => (steps * stepNs) / 1e6
