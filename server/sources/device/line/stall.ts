// Holds bytes back for as long as a stalled converter does, then hands them over at once.

import { nothingPlanned, type Timers } from '../../../wire/time.ts'
import { lasting, type Trouble } from '../troubles.ts'

export interface StallOpening {
  readonly timers: Timers
  readonly troubles: readonly Trouble[]
  /** From which the troubles count, ms of the timers' clock. */
  readonly startAt: number
  onBytes(bytes: Uint8Array): void
}

export interface Stall {
  take(bytes: Uint8Array): void
  stop(): void
}

export function createStall({ timers, troubles, startAt, onBytes }: StallOpening): Stall {
  let held: Uint8Array[] = []
  let cancel = nothingPlanned

  function release(): void {
    const backlog = Buffer.concat(held)
    held = []
    onBytes(backlog)
  }

  return {
    take(bytes) {
      const seconds = (timers.now() - startAt) / 1000
      const stall = lasting(troubles, 'stall', seconds)
      if (held.length === 0 && !stall) return onBytes(bytes)
      held.push(bytes)
      if (held.length > 1 || !stall) return
      cancel = timers.later(release, (stall.atSeconds + stall.forSeconds - seconds) * 1000)
    },
    stop() {
      cancel()
      held = []
    },
  }
}
