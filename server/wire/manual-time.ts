// A clock and timers that stand still until a test turns them on.

import type { Timers } from './time.ts'

interface Planned {
  readonly dueAt: number
  readonly run: () => void
}

export interface ManualTime extends Timers {
  /** Lets `byMs` pass: what falls due runs in order, each with the clock at its due time. */
  advance(byMs: number): void
  /** Lets `byMs` pass while nothing can run, as a busy process does; what fell due runs at the next `advance`. */
  stall(byMs: number): void
  /** Sets the clock on or back; timers keep their own time. */
  setClock(byMs: number): void
  /** How many timers wait. */
  pending(): number
}

/** Starts at `startMs`, ms since the epoch. */
export function createManualTime(startMs = 1_700_000_000_000): ManualTime {
  let now = 0
  let offset = startMs
  const planned = new Set<Planned>()

  function nextBefore(endMs: number): Planned | undefined {
    let next: Planned | undefined
    for (const one of planned) if (one.dueAt <= endMs && (!next || one.dueAt < next.dueAt)) next = one
    return next
  }

  return {
    now: () => offset + now,
    later(run, delayMs) {
      const one = { dueAt: now + Math.max(0, delayMs), run }
      planned.add(one)
      return () => void planned.delete(one)
    },
    advance(byMs) {
      const endMs = now + byMs
      for (let next = nextBefore(endMs); next; next = nextBefore(endMs)) {
        planned.delete(next)
        now = Math.max(now, next.dueAt)
        next.run()
      }
      now = endMs
    },
    stall(byMs) {
      now += byMs
    },
    setClock(byMs) {
      offset += byMs
    },
    pending: () => planned.size,
  }
}
