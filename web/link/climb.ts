// Tries better modes beside the one in use, after a pause that grows: what works goes on until something better has opened.

import type { Mode } from '../../server/wire/modes.ts'
import { nothingPlanned, type Timers } from '../../server/wire/time.ts'
import type { Connection } from './connection.ts'
import type { Ladder } from './ladder.ts'

export interface ClimbParts {
  readonly ladder: Ladder
  readonly timers: Timers
  readonly connect: (mode: Mode) => Connection
}

export interface Climb {
  /** Plans the next try; nothing where there is nothing better. */
  readonly plan: () => void
  readonly stop: () => void
  readonly isProbe: (connection: Connection) => boolean
  /** The probe did not open: the next best is tried. */
  readonly failed: () => void
  /** Hands over the probe, when there is one: it is not the climb's any more. */
  readonly take: () => Connection | null
}

export function createClimb({ ladder, timers, connect }: ClimbParts): Climb {
  let probe: Connection | null = null
  let stopTimer = nothingPlanned

  function plan(): void {
    stop()
    const pauseMs = ladder.climbPauseMs()
    if (pauseMs !== null) stopTimer = timers.later(() => attempt(ladder.wished()), pauseMs)
  }

  function attempt(mode: Mode | null): void {
    if (mode) {
      probe = connect(mode)
      return
    }
    ladder.climbFailed()
    plan()
  }

  function take(): Connection | null {
    const taken = probe
    probe = null
    return taken
  }

  function stop(): void {
    stopTimer()
    take()?.leave()
  }

  return {
    plan,
    stop,
    isProbe: (connection) => connection === probe,
    failed: () => attempt(ladder.betterAfter(take()?.mode ?? ladder.mode())),
    take,
  }
}
