// Converts wind to a frame's values: rounded, in the sensor's unit, with calms and faults.

import { fromMetresPerSecond, toMetresPerSecond } from '../wind-units.ts'
import { axesOf, type FrameValues } from '../windsonic-frame.ts'
import type { Wind } from './wind-model.ts'
import type { WindSonicSettings } from './windsonic-settings.ts'

/** The highest `sss.ss` below a fault's nines. */
const highestWritten = 999.98
/** Except for the 75 model (manual 1405-PS-0019, section 5). */
const highestMetresPerSecond = 60
/** Absorbs the rounding of unit conversion at the threshold. */
const rounding = 1e-9
const bothAxesFailed = '04'

export class Measurement {
  /** Initially 0; unverified. */
  #lastDirection = 0

  /**
   * A fault (`status` other than `00`) has no values. Wind beyond the range, in ft/min beyond 999.98 (5 m/s), becomes a
   * fault; unverified.
   */
  values(wind: Wind, status: string, settings: WindSonicSettings): FrameValues {
    const { unit, node, leavesEmpty } = settings
    const exactSpeed = fromMetresPerSecond(wind.speedMetresPerSecond, unit)
    const speed = hundredths(exactSpeed)
    const isBeyond = speed > highestWritten || wind.speedMetresPerSecond > highestMetresPerSecond
    if (status !== '00' || isBeyond) {
      const nothing = leavesEmpty
        ? { directionDegrees: null, speed: null }
        : { directionDegrees: 999, speed: 999.99 }
      return { node, unit, status: status === '00' ? bothAxesFailed : status, ...nothing, axes: null }
    }
    const direction = Math.round(wind.directionDegrees) % 360
    const isCalm = toMetresPerSecond(speed, unit) < settings.calmMetresPerSecond - rounding
    if (!isCalm) this.#lastDirection = direction
    const { u, v } = axesOf(wind.directionDegrees, exactSpeed)
    return {
      node,
      unit,
      status,
      directionDegrees: isCalm && leavesEmpty ? null : this.#lastDirection,
      speed,
      axes: { u: hundredths(u), v: hundredths(v) },
    }
  }
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100
}
