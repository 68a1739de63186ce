// How far a window is behind its server, from the server's times in the stream.

import type { ClockReading } from '../protocol/clock-estimate.ts'

/** Most by which two clocks drift apart, ms per ms: what NTP corrects (RFC 5905, appendix A: MAXFREQ). */
const drift = 5e-4

const stepMs = 1000

/** Times are ms since the epoch: `at` and `acceptedAt` by a server's clock, `receivedAt` and `now` by this window's. */
export class Lag {
  /** Least that the server's clock is ahead of this window's, ms: no frame arrives before it was sent. */
  #leastMs = Number.NEGATIVE_INFINITY
  #learnedAt = 0
  #welcomedAt = 0
  /** `receivedAt` minus the server's time, ms, of the last frame and of the last message. */
  #lateMs = 0
  #messageLateMs = 0
  #messageAt = 0

  welcomed(at: number, receivedAt: number): void {
    this.#welcomedAt = at
    this.#messageAt = 0
    this.heartbeat(at, receivedAt)
  }

  heartbeat(at: number, receivedAt: number): void {
    const driftMs = Math.abs(receivedAt - this.#learnedAt) * drift
    this.#leastMs = Math.max(this.#leastMs - driftMs, at - receivedAt)
    this.#learnedAt = receivedAt
    this.#lateMs = receivedAt - at
  }

  /** Bounds no clock: the server that accepted it may be another, whose clock may differ by a second. */
  message(acceptedAt: number, receivedAt: number): void {
    // Without what was accepted before the welcome, the window is as old as the welcome.
    this.#lateMs = receivedAt - Math.max(acceptedAt, this.#welcomedAt)
    this.#messageLateMs = this.#lateMs
    this.#messageAt = receivedAt
  }

  /** After a sleep: one of the clocks may have stood still. */
  forget(): void {
    this.#leastMs = Number.NEGATIVE_INFINITY
  }

  /**
   * How old the newest message or heartbeat was when it arrived, and for how long the next is overdue; whole
   * seconds, ms. The truth is at most half a second less, and at most the larger of 1.5 s more and a second
   * more than twice as much; null while the clocks are not known so well. Tested on random links in `lag.test.ts`.
   */
  ms(now: number, { offsetMs, boundMs }: ClockReading, overdueMs: number): number | null {
    const mostMs = offsetMs + boundMs
    // The clock was set.
    if (this.#leastMs > mostMs) this.forget()
    const leastMs = Math.max(this.#leastMs, offsetMs - boundMs)
    // A heartbeat may overtake messages that wait at the server.
    const isRecent = now - this.#messageAt < stepMs
    const lateMs = isRecent ? Math.max(this.#lateMs, this.#messageLateMs) : this.#lateMs
    const behindMs = Math.max(0, lateMs + leastMs) + overdueMs
    if (mostMs - leastMs > Math.max(stepMs, behindMs)) return null
    return Math.round(behindMs / stepMs) * stepMs
  }
}
