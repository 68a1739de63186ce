// Sends what a window shows of itself: the newest state, at most ten times a second, again over each connection.

import type { AwarenessState } from '../server/wire/messages.ts'
import { nothingPlanned, type Timers } from '../server/wire/time.ts'

const pauseMs = 100

export class AwarenessSender {
  readonly #timers: Timers
  #newest: AwarenessState | null = null
  #sent: AwarenessState | null = null
  #send: ((state: AwarenessState | null) => void) | null = null
  #freeAt = 0
  #stopTimer = nothingPlanned

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /** Null while there is no connection. */
  sendOver(send: ((state: AwarenessState | null) => void) | null): void {
    this.#send = send
    this.repeat()
  }

  repeat(): void {
    this.#sent = null
    this.#sendSoon()
  }

  set(state: AwarenessState | null, isKnown: boolean): void {
    if (isKnown && this.#sent === this.#newest) this.#sent = state
    this.#newest = state
    this.#sendSoon()
  }

  #sendSoon(): void {
    this.#stopTimer()
    if (!this.#send || this.#newest === this.#sent) return
    const waitMs = this.#freeAt - this.#timers.now()
    if (waitMs > 0) {
      this.#stopTimer = this.#timers.later(() => this.#sendSoon(), waitMs)
      return
    }
    this.#freeAt = this.#timers.now() + pauseMs
    this.#sent = this.#newest
    this.#send(this.#newest)
  }
}
