// A steady beat that never drifts.

import { nothingPlanned, type Timers } from '../../wire/time.ts'

export interface TicksOpening {
  readonly timers: Timers
  readonly rateHz: number
  /** Ms of the timers' clock; tick n is due at `startAt + n / rateHz`, the first being 1. */
  readonly startAt: number
  /** How long before it is due a tick is told. */
  readonly aheadMs: number
  /** `dueAt`: ms of the timers' clock, as planned, whatever the timers did; where it begins anew, as soon as can be. */
  onTick(dueAt: number): void
}

/** A stall up to this long is caught up with, as a serial converter delivers its backlog; after a longer one, anew. */
const longestBacklogMs = 10_000

/** Returns what stops it. A clock that is set to another time begins anew as well. */
export function startTicks({ timers, rateHz, startAt, aheadMs, onTick }: TicksOpening): () => void {
  let origin = startAt
  let told = 0
  let cancel = nothingPlanned

  function dueAt(tick: number): number {
    return origin + (tick * 1000) / rateHz
  }

  function plan(): void {
    const waitMs = dueAt(told + 1) - aheadMs - timers.now()
    const longestWaitMs = longestBacklogMs + 1000 / rateHz
    if (waitMs < -longestBacklogMs || waitMs > longestWaitMs) {
      origin = timers.now()
      told = 0
    }
    cancel = timers.later(tick, Math.max(0, dueAt(told + 1) - aheadMs - timers.now()))
  }

  function tick(): void {
    told += 1
    const due = dueAt(told)
    plan()
    const isAnew = told === 0
    onTick(isAnew ? timers.now() + aheadMs : due)
  }

  plan()
  return () => cancel()
}
