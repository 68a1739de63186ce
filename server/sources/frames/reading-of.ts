// Makes the reading that an intact frame's values say: a measured wind, a calm or a fault.

import type { Axes } from '../../wire/reading.ts'
import { toMetresPerSecond } from '../../wire/wind/units.ts'
import type { FrameReading } from './windsonic-frame.ts'

/** What a frame says besides its wind. */
export type Heading = Pick<FrameReading, 'format' | 'raw' | 'node' | 'unit' | 'status'>

export interface Wind {
  /** Null where the frame left it empty. */
  readonly directionDegrees: number | null
  /** In the frame's unit. */
  readonly speed: number
  readonly axes: Axes | null
}

/** Below it the direction means nothing: command K, default K50 (manual 1405-PS-0019, issue 28, page 53). */
const calmMetresPerSecond = 0.05
/** The highest threshold that K can be set to (same page), so an empty direction above it is damage. */
const highestCalmMetresPerSecond = 5
/** The 75 model's range; others end at 60. */
const highestMetresPerSecond = 75
/** Keeps a speed that is exactly on a limit there, whatever its conversion rounds to. */
const rounding = 1e-9

const noWind = { directionDegrees: null, speed: null, axes: null } as const

/** A fault has no values, whatever stands in the frame. */
export function faultOf(heading: Heading): FrameReading {
  return reading(heading, 'fault', noWind, null)
}

/**
 * A calm below the threshold, in whatever unit, and also where the frame holds its last direction (format O2). `range`
 * when no sensor measures such a wind, or none would leave the direction of such a wind empty.
 */
export function windOf(heading: Heading, wind: Wind): FrameReading | 'range' {
  const speedMetresPerSecond = toMetresPerSecond(wind.speed, heading.unit)
  const isCalm = wind.directionDegrees === null || speedMetresPerSecond < calmMetresPerSecond - rounding
  const highest = isCalm ? highestCalmMetresPerSecond : highestMetresPerSecond
  if (speedMetresPerSecond > highest + rounding || (wind.directionDegrees ?? 0) >= 360) return 'range'
  return reading(heading, isCalm ? 'calm' : 'measured', wind, speedMetresPerSecond)
}

/** Field by field: spreading would take longer than all the rest of the parsing. */
function reading(
  { format, raw, node, unit, status }: Heading,
  state: FrameReading['state'],
  { directionDegrees, speed, axes }: Wind | typeof noWind,
  speedMetresPerSecond: number | null,
): FrameReading {
  return {
    format,
    raw,
    node,
    state,
    directionDegrees: state === 'calm' ? null : directionDegrees,
    speed,
    unit,
    speedMetresPerSecond,
    axes,
    status,
  }
}
