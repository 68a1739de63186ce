// The speed axis: from 0 to a round number that holds all there is, in few steps.

import { fromMetresPerSecond, type WindUnit } from '../../../server/wire/wind/units.ts'

export interface SpeedScale {
  readonly top: number
  readonly ticks: readonly number[]
}

/** In light air the scale does not grow beyond this, or noise would look like wind. */
const leastTopMetresPerSecond = 2

/** `highest` in the unit of the axis. */
export function speedScale(highest: number, unit: WindUnit): SpeedScale {
  const least = fromMetresPerSecond(leastTopMetresPerSecond, unit)
  const needed = Math.max(highest * 1.05, least)
  const step = roundUp(needed / 4)
  const count = Math.ceil(needed / step - 1e-9)
  return { top: count * step, ticks: Array.from({ length: count + 1 }, (_, index) => index * step) }
}

/** To 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const factor = [1, 2, 5, 10].find((one) => one * power >= value * (1 - 1e-9)) ?? 10
  return factor * power
}
