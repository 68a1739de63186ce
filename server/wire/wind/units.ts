// The five units a WindSonic can send, and what they are in metres per second.

/** As sent by a WindSonic: m/s, knots, mph, km/h, ft/min (manual 1405-PS-0019, command U). */
export type WindUnit = 'M' | 'N' | 'P' | 'K' | 'F'

/** m/s, knot, mph, km/h and ft/min (manual 1405-PS-0019, command U; each exact by definition). */
const metresPerSecond: Readonly<Record<WindUnit, number>> = {
  M: 1,
  N: 1852 / 3600,
  P: 0.44704,
  K: 1 / 3.6,
  F: 0.00508,
}

/** Whether a letter names a unit. */
export function isWindUnit(letter: string): letter is WindUnit {
  return Object.hasOwn(metresPerSecond, letter)
}

/** Converts a speed in `unit` to m/s. */
export function toMetresPerSecond(speed: number, unit: WindUnit): number {
  return speed * metresPerSecond[unit]
}

/** Converts a speed in m/s to `unit`. */
export function fromMetresPerSecond(speedMetresPerSecond: number, unit: WindUnit): number {
  return speedMetresPerSecond / metresPerSecond[unit]
}
