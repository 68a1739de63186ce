// Turns wind into what a WindSonic says of it: rounded, in its unit, with calm and fault as its settings have them.

import { fromMetresPerSecond, toMetresPerSecond } from '../../wire/wind/units.ts'
import { axesOf } from '../frames/axes.ts'
import type { FrameValues } from '../frames/write-frame.ts'
import { calmMetresPerSecondOf, unitOf } from './meaning.ts'
import type { Settings } from './settings.ts'
import type { Wind } from './wind/wind-model.ts'

/** `status` other than `00` is a fault: no value is measured. */
export type Measure = (wind: Wind, status: string, settings: Settings) => FrameValues

/** The most that `sss.ss` can say but for the nines of a fault. */
const highestWritten = 999.98
/** The range of the sensor, but for the 75 model (manual 1405-PS-0019, section 5). */
const highestMetresPerSecond = 60
/** Keeps a speed that is exactly on the threshold there, whatever its conversion rounds to. */
const rounding = 1e-9
const bothAxesFailed = '04'

/**
 * Remembers the last direction, which format O2 repeats below the threshold (command K); 0 before there was one, which is
 * unverified. Wind beyond the sensor's range, and in ft/min beyond 999.98, which is 5 m/s already, is shown as a fault, so
 * that no number is sent that was not measured: what a real one does then is unverified.
 */
export function createMeasure(): Measure {
  let held = 0
  return (wind, status, settings) => {
    const unit = unitOf(settings)
    const common = { node: settings.N, unit }
    const speed = hundredths(fromMetresPerSecond(wind.speedMetresPerSecond, unit))
    const isBeyond = speed > highestWritten || wind.speedMetresPerSecond > highestMetresPerSecond
    if (status !== '00') return { ...common, status, ...noValues(settings) }
    if (isBeyond) return { ...common, status: bothAxesFailed, ...noValues(settings) }
    const direction = Math.round(wind.directionDegrees) % 360
    const isCalm = toMetresPerSecond(speed, unit) < calmMetresPerSecondOf(settings) - rounding
    if (!isCalm) held = direction
    const calmDirection = settings.O === '1' ? null : held
    const { u, v } = axesOf(wind.directionDegrees, fromMetresPerSecond(wind.speedMetresPerSecond, unit))
    return {
      ...common,
      status,
      directionDegrees: isCalm ? calmDirection : direction,
      speed,
      axes: { u: hundredths(u), v: hundredths(v) },
    }
  }
}

/** Empty with O1, nines with O2. */
function noValues({ O }: Settings) {
  const nines = { directionDegrees: 999, speed: 999.99, axes: null }
  return O === '1' ? { directionDegrees: null, speed: null, axes: null } : nines
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100
}
