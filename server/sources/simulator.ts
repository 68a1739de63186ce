// Sends the bytes that a WindSonic would send, at the rate it would send them.

import type { ByteSource, Listening } from './byte-source.ts'
import { type Clock, nothingPlanned, type Random, type Timers } from './time.ts'
import { createWind, type Wind } from './wind-model.ts'
import { formatFrame } from './windsonic-frame.ts'

export interface SimulatorOpening extends Listening {
  /** Frames a second; the sensor knows 1, 2, 4 (P3, the default), 0.5 and 0.25. */
  readonly rateHz?: number
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
}

/** A stall up to this long is caught up with, as a serial converter delivers its backlog; after a longer one, anew. */
const longestBacklogMs = 10_000

/**
 * Frame n is due at start + n / rate whatever the timers did before, so the rate never drifts. Each carries the clock's
 * stamp of when it was really handed over. Never closes by itself. Throws a RangeError on a rate that is not positive.
 */
export function openSimulator({
  rateHz = 4,
  clock,
  timers,
  random,
  onOpen,
  onBytes,
}: SimulatorOpening): ByteSource {
  if (!(rateHz > 0 && Number.isFinite(rateHz)))
    throw new RangeError(`The rate must be positive, in Hz: ${rateHz}`)
  const nextWind = createWind({ random, stepSeconds: 1 / rateHz })
  let startAt = clock()
  let sent = 0
  let cancel = timers.after(0, () => {
    plan()
    onOpen()
  })

  function dueAt(frame: number): number {
    return startAt + (frame * 1000) / rateHz
  }

  function plan(): void {
    const waitMs = dueAt(sent + 1) - clock()
    const isBeyondReason = waitMs < -longestBacklogMs || waitMs > longestBacklogMs + 1000 / rateHz
    if (isBeyondReason) {
      startAt = clock()
      sent = 0
    }
    cancel = timers.after(Math.max(0, dueAt(sent + 1) - clock()), tick)
  }

  function tick(): void {
    sent += 1
    plan()
    onBytes(simulatedFrame(nextWind()), clock())
  }

  return {
    async stop() {
      cancel()
      cancel = nothingPlanned
    },
  }
}

function simulatedFrame({ speedMetresPerSecond, directionDegrees }: Wind): Uint8Array {
  const speed = Math.round(speedMetresPerSecond * 100) / 100
  const isCalm = speed < 0.05
  return formatFrame({
    node: 'Q',
    directionDegrees: isCalm ? null : directionDegrees,
    speed,
    unit: 'M',
    status: '00',
  })
}
