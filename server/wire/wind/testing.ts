// Readings and samples for tests.

import type { ReadingBody } from '../reading.ts'
import type { Sample } from './sampling.ts'

/** A round stamp, so that whole seconds are whole. */
export const startAt = 1_700_000_000_000

export function measured(speedMetresPerSecond: number, directionDegrees: number): ReadingBody {
  return {
    source: 'serial',
    format: 'polar',
    raw: 'Q,229,002.74,M,00,',
    node: 'Q',
    state: 'measured',
    directionDegrees,
    speed: speedMetresPerSecond,
    unit: 'M',
    speedMetresPerSecond,
    axes: null,
    status: '00',
  }
}

export function calm(speedMetresPerSecond: number): ReadingBody {
  return { ...measured(speedMetresPerSecond, 0), state: 'calm', directionDegrees: null }
}

/** As a blocked axis is sent. */
export const fault: ReadingBody = {
  ...measured(0, 0),
  state: 'fault',
  directionDegrees: null,
  speed: null,
  speedMetresPerSecond: null,
  status: '01',
}

export function sampleOf(speed: number, directionDegrees: number | null, rest: Partial<Sample> = {}): Sample {
  return {
    at: startAt,
    speedMetresPerSecond: speed,
    directionDegrees,
    coversMs: 250,
    startsAnew: false,
    ...rest,
  }
}

/** Fails with both numbers unless they agree within `tolerance`. */
export function assertNear(actual: number | null | undefined, expected: number, tolerance = 1e-9): void {
  if (typeof actual === 'number' && Math.abs(actual - expected) <= tolerance) return
  throw new Error(`${actual} is not within ${tolerance} of ${expected}.`)
}
