// Compares this window's clock with the server's, and tells how far it is behind, while it is visible.

import {
  type ClockReading,
  combine,
  createClockEstimate,
  exchangePauseMs,
} from '../protocol/clock-estimate.ts'
import type { ClockAnswer, Message } from '../protocol/messages.ts'
import { nothingPlanned, type Random, repeat, type Timers } from '../protocol/time.ts'
import { now } from './browser-services.ts'
import type { Connection } from './connection.ts'
import { Lag } from './lag.ts'
import { askClock } from './transports/http.ts'
import type { Platform } from './transports/transport.ts'

/** Timeout of a clock request. Only one is pending at a time, so that none pile up in a slow browser. */
const clockTimeoutMs = 20_000

/** Interval at which `behindMs` is computed. */
const lagMs = 1000

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

/**
 * How old something is, ms; null while the server's clock is not known to a second. `at` is its time, by the
 * server's clock or one that agrees with it, and `nowMs` this client's, ms since the epoch; the state is the connection's.
 */
export function ageOf(
  at: number,
  { clock }: { readonly clock: ClockReading | null },
  nowMs: number = now(),
): number | null {
  return clock && clock.boundMs <= 1000 ? Math.max(0, nowMs + clock.offsetMs - at) : null
}

type Asked = Pick<Connection, 'uplink' | 'opening' | 'overdueMs'>

export class LinkClock {
  readonly #estimate = createClockEstimate()
  readonly #timers: Timers
  readonly #random: Random
  readonly #onChange: () => void
  readonly #platform: Pick<Platform, 'send'> | undefined
  /** Is told of what arrives. */
  readonly lag = new Lag()
  #connection: Asked | null = null
  #isResting = false
  /** The estimate is of the connection before. */
  #isStale = false
  #begunAt = 0
  #pauseMs = 0
  #askedAt: number | null = null
  #stopTimer = nothingPlanned
  #stopLag = nothingPlanned
  #reading: ClockReading | null = null
  #behindMs: number | null = null
  /** The last known offset: a new stream has no clock reading yet. */
  #offsetMs = 0

  /** `onChange` reports another reading or `behindMs`. `platform` sends the requests; default: the browser's. */
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

  /** See `Lag#ms`; null when the clock is unknown. */
  get behindMs(): number | null {
    return this.#behindMs
  }

  whenDue(message: Message, receivedAt: number): number {
    return whenDue(message, receivedAt, this.#offsetMs)
  }

  /**
   * The connection was welcomed at `at` by the server's clock; null when it has ended. The last reading goes on,
   * with a growing bound, until the first of the next connection, which may be to another server. Asks after a
   * pause, so that queued messages go first. Does not call `onChange`.
   */
  askOver(connection: Asked | null, at = 0, receivedAt = 0): void {
    this.#connection = connection
    this.#behindMs = null
    this.#stopLag()
    if (!connection) return
    this.#isStale = true
    this.#restart()
    this.#reading = this.#estimated() ?? this.#reading
    this.lag.welcomed(at, receivedAt)
  }

  /** Stops until `wake('visible')`. */
  rest(): void {
    this.#isResting = true
    this.#startOver()
  }

  /** Starts over: the device may have slept. */
  wake(isVisible: boolean): void {
    if (isVisible) this.#isResting = false
    this.#startOver()
  }

  #startOver(): void {
    this.#estimate.forget()
    this.#restart()
    this.#read(null)
  }

  take({ sent, received, at }: ClockAnswer, returnedAt: number): void {
    if (!this.#connection || this.#isResting || ![sent, received, at].every(Number.isFinite)) return
    // Ignores answers to requests from before the restart: the clock may have jumped since.
    if (sent < this.#begunAt) return
    this.#askedAt = null
    if (this.#isStale) this.#estimate.forget()
    this.#isStale = false
    this.#estimate.take({ sentAt: sent, receivedAt: received, answeredAt: at, returnedAt })
    this.#report()
  }

  #restart(): void {
    this.#stopTimer()
    this.#stopLag()
    this.lag.forget()
    this.#askedAt = null
    if (!this.#connection || this.#isResting) return
    this.#begunAt = this.#timers.now()
    this.#plan()
    this.#stopLag = repeat(this.#timers, () => this.#tellLag(), lagMs)
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
    if (isAwaiting || !this.#connection) return
    this.#askedAt = now
    const { uplink, opening } = this.#connection
    if (uplink.askClock) uplink.askClock()
    else askClock(opening, this.#platform)
  }

  #read(reading: ClockReading | null): void {
    if (reading === this.#reading) return
    this.#reading = reading
    this.#offsetMs = reading?.offsetMs ?? this.#offsetMs
    this.#behindMs = this.#lagNow()
    this.#onChange()
  }

  #tellLag(): void {
    const behindMs = this.#lagNow()
    if (behindMs === this.#behindMs) return
    this.#behindMs = behindMs
    this.#onChange()
  }

  #lagNow(): number | null {
    if (!this.#connection || !this.#reading || this.#isStale) return null
    return this.lag.ms(this.#timers.now(), this.#reading, this.#connection.overdueMs)
  }

  #report(): void {
    const reading = this.#estimated()
    if (reading) this.#read(reading)
  }

  /** Valid until the next request. */
  #estimated(): ClockReading | null {
    const now = this.#timers.now()
    const current = this.#estimate.at(now)
    const atNext = this.#estimate.at(now + this.#pauseMs)
    return current && atNext && combine(current, atNext)
  }
}
