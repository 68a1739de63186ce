// Bounds the processor time to read a document by what its newest updates cost at worst, without reading it.

/**
 * Yjs looks for an item's place at one item after the other: nanoseconds for each of them in a large document
 * (docs/decisions/015-the-shared-document.md).
 */
const stepNs = 400

/** What a reading covers that begins now. */
export interface Mark {
  readonly steps: number
  readonly added: number
}

/** Of one document. */
export class ReadingCost {
  /** At worst, of all updates; of those that a reading has covered. */
  #steps = 0
  #stepsRead = 0
  /** Steps of updates that are not stored yet, by id. */
  readonly #underWay = new Map<string, number>()
  /** Counted by the last reading, and added in all and up to then. */
  #counted = 0
  #added = 0
  #addedRead = 0
  isBeingRead = false
  /** It took too long; time of the next try. */
  nextReadingAt = Number.NEGATIVE_INFINITY

  /** At most. Each update may cut two items of those that are there. */
  get items(): number {
    return this.#counted + this.#added - this.#addedRead
  }

  /** Of what no reading has covered. */
  get unreadSteps(): number {
    return this.#steps - this.#stepsRead
  }

  add(id: string | null, steps: number, items: number): void {
    this.#steps += steps
    this.#added += items
    if (id !== null) this.#underWay.set(id, steps)
  }

  /** It is in the log, or will never be. */
  settle(id: string): void {
    this.#underWay.delete(id)
  }

  mark(): Mark {
    const underWay = this.#underWay.values().reduce((sum, steps) => sum + steps, 0)
    return { steps: this.#steps - underWay, added: this.#added }
  }

  /** A reading of everything up to the mark ended in time, and counted these items. */
  wasRead({ steps, added }: Mark, items: number): void {
    this.#stepsRead = Math.max(this.#stepsRead, steps)
    this.#counted = items
    this.#addedRead = added
  }
}

/** Of processor time, at worst. */
export const msOf = (steps: number) => (steps * stepNs) / 1e6
