// Sends the bytes that a WindSonic would send, at the rate it would send them.

import type { Random } from '../../wire/random.ts'
import { nothingPlanned, type Timers } from '../../wire/time.ts'
import type { ByteSource, Listening } from '../byte-source.ts'
import { formatFrame } from '../frames/windsonic-frame.ts'
import { createWind, type Wind } from './wind-model.ts'

export interface SimulatorOpening extends Listening {
  /** Frames a second; the sensor knows 1, 2, 4 (P3, the default), 0.5 and 0.25. */
  readonly rateHz?: number
  readonly timers: Timers
  readonly random: Random
}

/** A stall up to this long is caught up with, as a serial converter delivers its backlog; after a longer one, anew. */
const longestBacklogMs = 10_000

/**
 * Frame n is due at start + n / rate whatever the timers did before, so the rate never drifts. Each carries the clock's
 * stamp of when it was really handed over. Never closes by itself. Throws a RangeError on a rate that is not positive.
 */
export function openSimulator({ rateHz = 4, timers, random, onOpen, onBytes }: SimulatorOpening): ByteSource {
  if (!(rateHz > 0 && Number.isFinite(rateHz)))
    throw new RangeError(`The rate must be positive, in Hz: ${rateHz}`)
  const nextWind = createWind({ random, stepSeconds: 1 / rateHz })
  let startAt = timers.now()
  let sent = 0
  let cancel = timers.later(() => {
    plan()
    onOpen()
  }, 0)

  function dueAt(frame: number): number {
    return startAt + (frame * 1000) / rateHz
  }

  function plan(): void {
    const waitMs = dueAt(sent + 1) - timers.now()
    const isBeyondReason = waitMs < -longestBacklogMs || waitMs > longestBacklogMs + 1000 / rateHz
    if (isBeyondReason) {
      startAt = timers.now()
      sent = 0
    }
    cancel = timers.later(tick, Math.max(0, dueAt(sent + 1) - timers.now()))
  }

  function tick(): void {
    sent += 1
    plan()
    onBytes(simulatedFrame(nextWind()), timers.now())
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
