// What refused requests cost their connection, to protect others: its next ones wait.

import { bytesPerToken } from '../hub/admission.ts'
import type { Clock } from '../wire/time.ts'

/** So much is forgiven, ms. */
const burstMs = 1000

/** Generic cell rate algorithm (ITU-T I.371). Connections are HTTP/2 sessions or sockets. */
export class Penalties {
  readonly #msPerToken: number
  readonly #now: Clock
  readonly #until = new WeakMap<object, number>()

  constructor(messagesPerSecond: number, now: Clock) {
    this.#msPerToken = 1000 / messagesPerSecond
    this.#now = now
  }

  /** Of a request with so many bytes. */
  charge(connection: object, bytes: number): void {
    const until = Math.max(this.#now(), this.#until.get(connection) ?? 0)
    this.#until.set(connection, until + (1 + bytes / bytesPerToken) * this.#msPerToken)
  }

  /** Until the connection's next request, ms. */
  waitMs(connection: object): number {
    return Math.max(0, (this.#until.get(connection) ?? 0) - burstMs - this.#now())
  }
}
