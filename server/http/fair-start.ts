// Starts requests, a few per turn, so that a burst on one connection does not delay the others.

import { upsert } from '../wire/upsert.ts'

/** Pages, the most expensive requests, take about 0.5 ms each. */
const mostInTurn = 10

export class FairStart {
  /** By connection, in the order in which they are served next. */
  readonly #waiting = new Map<object, (() => void)[]>()
  #begun = 0
  #isPlanned = false

  /**
   * Starts at once unless many started in this turn; keeps the order within a connection. `begin`
   * must not throw.
   */
  run(connection: object, begin: () => void): void {
    this.#plan()
    if (this.#waiting.size > 0 || this.#begun >= mostInTurn)
      upsert(this.#waiting, connection, () => []).push(begin)
    else {
      this.#begun += 1
      begin()
    }
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => {
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
      if (this.#begun >= mostInTurn) break
    }
    if (this.#waiting.size > 0) this.#plan()
  }
}
