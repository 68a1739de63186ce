// This window's clock against the server's: compared over the connection in use, now and then while somebody looks.

import { createClockEstimate } from '../../server/wire/clock/estimate.ts'
import { type ClockReading, combine } from '../../server/wire/clock/reading.ts'
import { exchangePauseMs } from '../../server/wire/clock/schedule.ts'
import type { ClockAnswer } from '../../server/wire/frames.ts'
import type { Random } from '../../server/wire/random.ts'
import { nothingPlanned, type Timers } from '../../server/wire/time.ts'
import type { OpenTransport } from '../transports/transport.ts'

/** A question is given up after this long; until then no other is asked, so that none pile up in a slow browser. */
const patienceMs = 20_000

export interface LinkClockParts {
  readonly timers: Timers
  readonly random: Random
  /** Holds until the next one is told; null when nothing is known any more. */
  readonly onReading: (reading: ClockReading | null) => void
}

export interface LinkClock {
  /** A connection is open: all begins anew over it, a moment later, when what waited for it has gone. */
  readonly begin: (ask: OpenTransport['askClock']) => void
  /** There is none any more. Told to nobody. */
  readonly end: () => void
  /** Nobody looks at this window. */
  readonly rest: () => void
  /** Somebody does again. */
  readonly goOn: () => void
  /** It may have slept, and its clock with it. */
  readonly startOver: () => void
  /** `returnedAt` is when the answer was here. */
  readonly take: (answer: ClockAnswer, returnedAt: number) => void
}

export function createLinkClock({ timers, random, onReading }: LinkClockParts): LinkClock {
  const estimate = createClockEstimate()
  let ask: OpenTransport['askClock']
  let isResting = false
  let begunAt = 0
  let pauseMs = 0
  let askedAt: number | null = null
  let stopTimer = nothingPlanned

  function startOver(): void {
    stop()
    if (!ask || isResting) return
    begunAt = timers.now()
    plan()
  }

  function stop(): void {
    stopTimer()
    estimate.forget()
    askedAt = null
  }

  function plan(): void {
    pauseMs = exchangePauseMs(timers.now() - begunAt, random)
    stopTimer = timers.later(askNext, pauseMs)
  }

  function askNext(): void {
    const now = timers.now()
    const isAwaiting = askedAt !== null && now - askedAt < patienceMs
    plan()
    // What was told last holds no longer than until now, and what is asked now may find no answer.
    tell()
    if (isAwaiting) return
    askedAt = now
    ask?.()
  }

  function tell(): void {
    const now = timers.now()
    const [here, then] = [estimate.at(now), estimate.at(now + pauseMs)]
    if (here && then) onReading(combine(here, then))
  }

  return {
    begin(over) {
      ask = over
      startOver()
    },
    end() {
      ask = undefined
      stop()
    },
    rest() {
      isResting = true
      stop()
      onReading(null)
    },
    goOn() {
      isResting = false
      startOver()
      onReading(null)
    },
    startOver() {
      startOver()
      onReading(null)
    },
    take({ sent, received, at }, returnedAt) {
      if (!ask || isResting || ![sent, received, at].every(Number.isFinite)) return
      // From a question of before there is nothing to learn: a clock may have jumped since.
      if (sent < begunAt) return
      askedAt = null
      estimate.take({ sentAt: sent, receivedAt: received, answeredAt: at, returnedAt })
      tell()
    },
  }
}
