// Compares this window's clock with the server's over its connection, while the window is visible.

import {
  type ClockReading,
  combine,
  createClockEstimate,
  exchangePauseMs,
} from '../protocol/clock-estimate.ts'
import type { ClockAnswer, Message } from '../protocol/messages.ts'
import { nothingPlanned, type Random, type Timers } from '../protocol/time.ts'
import type { Connection } from './connection.ts'
import { askClock } from './transports/http.ts'
import type { Platform } from './transports/transport.ts'

/** Timeout of a clock request. Only one is pending at a time, so that none pile up in a slow browser. */
const clockTimeoutMs = 20_000

/**
 * Estimates when a catch-up or embedded message would have arrived without the interruption: this window's
 * clock, ms since the epoch, at most `receivedAt`. `offsetMs` is server clock minus this window's.
 */
export function whenDue(
  { acceptedAt }: Pick<Message, 'acceptedAt'>,
  receivedAt: number,
  offsetMs = 0,
): number {
  return Math.min(receivedAt, acceptedAt - offsetMs)
}

export class LinkClock {
  readonly #estimate = createClockEstimate()
  readonly #timers: Timers
  readonly #random: Random
  readonly #onChange: () => void
  readonly #platform: Pick<Platform, 'send'> | undefined
  #ask: (() => void) | null = null
  #isResting = false
  #begunAt = 0
  #pauseMs = 0
  #askedAt: number | null = null
  #stopTimer = nothingPlanned
  #reading: ClockReading | null = null
  /** The last known offset: a new stream has no clock reading yet. */
  #offsetMs = 0

  /** `onChange` reports another reading. `platform` sends the requests; default: the browser's. */
  constructor(timers: Timers, random: Random, onChange: () => void, platform?: Pick<Platform, 'send'>) {
    this.#timers = timers
    this.#random = random
    this.#onChange = onChange
    this.#platform = platform
  }

  /** Valid until the next reading; null when the clock is unknown. */
  get reading(): ClockReading | null {
    return this.#reading
  }

  whenDue(message: Message, receivedAt: number): number {
    return whenDue(message, receivedAt, this.#offsetMs)
  }

  /**
   * Begins after a pause, so that queued messages go first; null ends it. Does not call
   * `onChange`.
   */
  askOver(connection: Pick<Connection, 'uplink' | 'opening'> | null): void {
    this.#ask =
      connection && (connection.uplink.askClock ?? (() => askClock(connection.opening, this.#platform)))
    this.#reading = null
    this.#restart()
  }

  /** Stops until `wake('visible')`. */
  rest(): void {
    this.#isResting = true
    this.#restart()
    this.#read(null)
  }

  /** Starts over: the device may have slept. */
  wake(isVisible: boolean): void {
    if (isVisible) this.#isResting = false
    this.#restart()
    this.#read(null)
  }

  take({ sent, received, at }: ClockAnswer, returnedAt: number): void {
    if (!this.#ask || this.#isResting || ![sent, received, at].every(Number.isFinite)) return
    // Ignores answers to requests from before the restart: the clock may have jumped since.
    if (sent < this.#begunAt) return
    this.#askedAt = null
    this.#estimate.take({ sentAt: sent, receivedAt: received, answeredAt: at, returnedAt })
    this.#report()
  }

  #restart(): void {
    this.#stopTimer()
    this.#estimate.forget()
    this.#askedAt = null
    if (!this.#ask || this.#isResting) return
    this.#begunAt = this.#timers.now()
    this.#plan()
  }

  #plan(): void {
    this.#pauseMs = exchangePauseMs(this.#timers.now() - this.#begunAt, this.#random)
    this.#stopTimer = this.#timers.later(() => this.#askNext(), this.#pauseMs)
  }

  #askNext(): void {
    const now = this.#timers.now()
    const isAwaiting = this.#askedAt !== null && now - this.#askedAt < clockTimeoutMs
    this.#plan()
    // Extends the last reading, since this request may get no answer.
    this.#report()
    if (isAwaiting) return
    this.#askedAt = now
    this.#ask?.()
  }

  #read(reading: ClockReading | null): void {
    if (reading === this.#reading) return
    this.#reading = reading
    this.#offsetMs = reading?.offsetMs ?? this.#offsetMs
    this.#onChange()
  }

  #report(): void {
    const now = this.#timers.now()
    const current = this.#estimate.at(now)
    const atNext = this.#estimate.at(now + this.#pauseMs)
    if (current && atNext) this.#read(combine(current, atNext))
  }
}
