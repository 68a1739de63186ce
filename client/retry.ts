// Decides after a failure when to try again.

import { type Random, retryPauseMs } from '../protocol/time.ts'
import type { Closing } from './transports/transport.ts'

/** Server unreachable: in the end one request per client in 2.25 s on average, the next within `longestMs`. */
const away = { firstMs: 250, longestMs: 3000 }

const busy = { firstMs: 250, longestMs: 15_000 }

/** A connection that ends sooner counts as never opened, to prevent flapping. */
const steadyMs = 5000

/** For refused, uninvited or offline clients: an early retry is useless. */
const longMs = 60_000

export class Retry {
  readonly #random: Random
  // Consecutive failures, counted per kind: an outage after a busy spell is retried soon.
  #away = 0
  #busy = 0

  constructor(random: Random) {
    this.#random = random
  }

  startOver(): void {
    this.#away = 0
    this.#busy = 0
  }

  /** A connection that was open for `livedMs` has ended. */
  lived(livedMs: number): void {
    if (livedMs >= steadyMs) this.startOver()
  }

  /** Ms. The first failure's `retryAfterMs` is used as is; later ones can only lengthen the pause. */
  pauseMs({ code, retryAfterMs }: Pick<Closing, 'code' | 'retryAfterMs'>, wasOpen = false): number {
    // The server ended an open stream and named the pause: not a failure.
    if (retryAfterMs !== null && wasOpen) return retryAfterMs
    const isBusy = retryAfterMs !== null && code !== 'draining'
    const before = isBusy ? this.#busy : this.#away
    const ownMs = retryPauseMs(before, isBusy ? busy : away, this.#random)
    if (isBusy) this.#busy += 1
    else {
      this.#away += 1
      this.#busy = 0
    }
    if (retryAfterMs === null) return ownMs
    return before === 0 ? retryAfterMs : Math.max(retryAfterMs, ownMs)
  }

  /** 30 to 60 s. */
  longPauseMs(): number {
    return longMs * (0.5 + this.#random() / 2)
  }
}
