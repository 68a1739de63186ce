// Starts work, a little per turn, so that a burst on one connection does not delay the others.

import { upsert } from '../../protocol/upsert.ts'

export class FairStart {
  readonly #maxInTurn: number
  readonly #later: (takeTurn: () => void) => void
  /** By connection, in serving order. */
  readonly #waiting = new Map<object, (() => void)[]>()
  #begun = 0
  #isPlanned = false

  /** `later` schedules the next turn when one begins; by default the event loop's next. */
  constructor(maxInTurn: number, later: (takeTurn: () => void) => void = setImmediate) {
    this.#maxInTurn = maxInTurn
    this.#later = later
  }

  /**
   * Starts at once unless many started in this turn; keeps the order within a connection. `begin`
   * must not throw.
   */
  run(connection: object, begin: () => void): void {
    this.#plan()
    if (this.#waiting.size > 0 || this.#begun >= this.#maxInTurn)
      upsert(this.#waiting, connection, () => []).push(begin)
    else {
      this.#begun += 1
      begin()
    }
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    this.#later(() => {
      this.#isPlanned = false
      this.#begun = 0
      this.#takeTurn()
    })
  }

  #takeTurn(): void {
    for (const [connection, [begin, ...others]] of this.#waiting) {
      this.#waiting.delete(connection)
      if (others.length > 0) this.#waiting.set(connection, others)
      this.#begun += 1
      begin?.()
      if (this.#begun >= this.#maxInTurn) break
    }
    if (this.#waiting.size > 0) this.#plan()
  }
}
