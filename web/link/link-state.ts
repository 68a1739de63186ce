// What a link tells of itself, and what wakes it.

import type { ClockReading } from '../../server/wire/clock/reading.ts'
import type { HttpVersion } from '../../server/wire/modes.ts'
import type { Fall } from './ladder.ts'

export interface LinkState {
  readonly state: 'opening' | 'open' | 'waiting'
  /** Name of the mode in use or being opened. */
  readonly mode: string
  /** Name of the mode that was asked for. */
  readonly wished: string
  /** Why these two differ; null while they do not. */
  readonly fall: Fall | null
  /** The HTTP version that the server saw; null until it is open. */
  readonly spokenHttp: HttpVersion | null
  readonly reason: string | null
  /** When the next try starts, ms since the epoch; null when none is planned. */
  readonly retryAt: number | null
  /** How often a loss within a stream was noticed and made good. */
  readonly repairs: number
  /** This window's clock against the server's, until the next comparison; null while it is not known. */
  readonly clock: ClockReading | null
}

/** What wakes a window. After `restored` (from the back-forward cache) no connection is alive. */
export type WakeUp = 'online' | 'visible' | 'resumed' | 'restored'
