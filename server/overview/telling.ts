// Decides when something that changes all the time is told: once a second at most, and only while somebody reads it.

import { longestPauseMs } from '../wire/overview.ts'
import { type Cancel, type Clock, nothingPlanned, type Timers } from '../wire/time.ts'

const shortestPauseMs = 1000

export interface TellingParts<Body> {
  readonly timers: Timers
  /** Never runs back. */
  readonly steadyNow: Clock
  readonly isRead: () => boolean
  /** What there is to tell; null for nothing. */
  readonly look: () => Promise<Body | null>
  readonly tell: (body: Body) => Promise<unknown>
  /** Nobody reads it any more. */
  readonly onUnread: () => void
  /** It could not be looked up or told, and is tried again in a second. The same failure is said once. */
  readonly onFailure: (error: unknown) => void
}

export interface Telling {
  /** Somebody who reads it has come, and knows nothing yet. */
  readonly joined: () => void
  readonly stop: () => void
}

export function createTelling<Body>(parts: TellingParts<Body>): Telling {
  const { timers, steadyNow } = parts
  let stopTimer: Cancel = nothingPlanned
  let isLooking = false
  let isStopped = false
  let hasNewcomer = false
  let toldAt = Number.NEGATIVE_INFINITY
  let told = ''
  let failure = ''

  function plan(earliestAt: number): void {
    stopTimer()
    if (!isStopped) stopTimer = timers.later(() => void turn(), Math.max(0, earliestAt - steadyNow()))
  }

  async function turn(): Promise<void> {
    if (!parts.isRead()) {
      parts.onUnread()
      return
    }
    const startedAt = steadyNow()
    isLooking = true
    await lookAndTell().catch(fail)
    isLooking = false
    plan((hasNewcomer ? toldAt : Math.max(toldAt, startedAt)) + shortestPauseMs)
  }

  async function lookAndTell(): Promise<void> {
    // Windows that share a stream come to it without the server's knowing; and a sign of life tells quiet from stuck.
    const isDue = hasNewcomer || steadyNow() - toldAt >= longestPauseMs
    hasNewcomer = false
    const body = await parts.look()
    const words = JSON.stringify(body)
    if (body === null || isStopped || (words === told && !isDue)) return
    toldAt = steadyNow()
    await parts.tell(body)
    told = words
    failure = ''
  }

  function fail(error: unknown): void {
    const isNew = String(error) !== failure
    failure = String(error)
    if (isNew && !isStopped) parts.onFailure(error)
  }

  return {
    joined() {
      hasNewcomer = true
      if (!isLooking) plan(toldAt + shortestPauseMs)
    },
    stop() {
      isStopped = true
      stopTimer()
    },
  }
}
