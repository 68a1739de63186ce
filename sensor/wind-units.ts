// Wind speed units of the WindSonic, and directions as vectors.

/** m/s, knots, mph, km/h, ft/min (WindSonic manual 1405-PS-0019, command U). */
export type WindUnit = 'M' | 'N' | 'P' | 'K' | 'F'

/** Exact by definition. */
const metresPerSecond: Readonly<Record<WindUnit, number>> = {
  M: 1,
  N: 1852 / 3600,
  P: 0.44704,
  K: 1 / 3.6,
  F: 0.00508,
}

export function isWindUnit(letter: string): letter is WindUnit {
  return Object.hasOwn(metresPerSecond, letter)
}

export function toMetresPerSecond(speed: number, unit: WindUnit): number {
  return speed * metresPerSecond[unit]
}

export function fromMetresPerSecond(speedMetresPerSecond: number, unit: WindUnit): number {
  return speedMetresPerSecond / metresPerSecond[unit]
}

interface Vector {
  readonly east: number
  readonly north: number
}

/** Points to the wind's origin: degrees clockwise from north (meteorological convention). */
export function vectorOf(directionDegrees: number, length = 1): Vector {
  const radians = (directionDegrees / 180) * Math.PI
  return { east: length * Math.sin(radians), north: length * Math.cos(radians) }
}

/** 0 to below 360; undefined for a zero vector. */
export function directionOf({ east, north }: Vector): number {
  return wholeTurn((Math.atan2(east, north) / Math.PI) * 180)
}

/** Normalizes an angle to 0 to below 360. */
export function wholeTurn(degrees: number): number {
  const turned = ((degrees % 360) + 360) % 360
  // A tiny negative angle plus 360 rounds to 360.
  return turned === 360 ? 0 : turned
}
