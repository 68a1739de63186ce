// Lets the server know how many windows a shared stream speaks for, by their first channel.

import { type Cancel, nothingPlanned, type Timers } from '../../server/wire/time.ts'

export type Windows = Readonly<Record<string, number>>

export interface Counts {
  /** Windows came or went: it is said in a moment, once for all that come together. */
  readonly changed: () => void
  readonly sayNow: () => void
  /** What to say with the answer to a heartbeat; undefined for nothing new. */
  readonly withHeartbeat: () => Windows | undefined
  readonly stop: () => void
}

const togetherMs = 20

/** A POST may be lost, and two may overtake each other: what was said is said once more with the next heartbeat. */
export function createCounts(
  timers: Timers,
  windows: () => Windows,
  say: (windows: Windows) => void,
): Counts {
  let planned: Cancel = nothingPlanned
  let isPlanned = false
  let isSure = true

  function stop(): void {
    planned()
    isPlanned = false
  }

  function sayNow(): void {
    stop()
    isSure = false
    say(windows())
  }

  return {
    changed() {
      if (isPlanned) return
      isPlanned = true
      planned = timers.later(sayNow, togetherMs)
    },
    sayNow,
    withHeartbeat() {
      if (isSure) return undefined
      isSure = true
      return windows()
    },
    stop,
  }
}
