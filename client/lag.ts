// How far a window is behind its server, from the server's times in the stream.

/** Ms; less is not told from the network's and the clocks' variation. */
const stepMs = 1000

/** Most by which two computers' clocks drift apart, ms per ms. */
const drift = 1e-4

/**
 * A frame's delay is its time of receipt minus the server's time in it, less the same of the frame that came
 * quickest. That difference of the clocks is learned from welcomes and heartbeats: messages have the clocks of
 * the servers that accepted them, which must agree within a second.
 */
export class Lag {
  /** Whole seconds, ms. */
  ms = 0
  #welcomedAt = 0
  #quickest = 0
  #learnedAt = 0
  #toldAt = 0

  /** Times are ms since the epoch: `at` by the server's clock, `receivedAt` by this window's. */
  welcomed(at: number, receivedAt: number): void {
    this.ms = 0
    this.#welcomedAt = at
    this.#quickest = receivedAt - at
    this.#learnedAt = receivedAt
  }

  /** A message was received. Returns whether `ms` has changed, at most once a second. */
  message(acceptedAt: number, receivedAt: number): boolean {
    if (Math.abs(receivedAt - this.#toldAt) < stepMs) return false
    // Without what was accepted before the welcome, the window is as old as the welcome.
    return this.#tell(Math.max(acceptedAt, this.#welcomedAt), receivedAt)
  }

  /** The server wrote a heartbeat at `at`. */
  heartbeat(at: number, receivedAt: number): boolean {
    const allowance = (receivedAt - this.#learnedAt) * drift
    this.#quickest = Math.min(receivedAt - at, this.#quickest + allowance)
    this.#learnedAt = receivedAt
    return this.#tell(at, receivedAt)
  }

  #tell(at: number, receivedAt: number): boolean {
    const behindMs = receivedAt - at - this.#quickest
    const steps = Math.max(0, Math.floor(behindMs / stepMs))
    const isNews = steps * stepMs !== this.ms
    this.ms = steps * stepMs
    if (isNews) this.#toldAt = receivedAt
    return isNews
  }
}
