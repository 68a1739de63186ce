// Directions as vectors: the only way to average them right across north.

const radiansPerDegree = Math.PI / 180

/** A length to the east and to the north, in whatever unit the length had. */
export interface Vector {
  readonly east: number
  readonly north: number
}

/** Points to where the wind comes from, as directions do in meteorology: clockwise from north. */
export function vectorOf(directionDegrees: number, length = 1): Vector {
  const radians = directionDegrees * radiansPerDegree
  return { east: length * Math.sin(radians), north: length * Math.cos(radians) }
}

/** From 0 to below 360; of no use for a vector without length. */
export function directionOf({ east, north }: Vector): number {
  return wholeTurn(Math.atan2(east, north) / radiansPerDegree)
}

export function lengthOf({ east, north }: Vector): number {
  return Math.hypot(east, north)
}

/** Any angle as one from 0 to below 360. */
export function wholeTurn(degrees: number): number {
  const turned = ((degrees % 360) + 360) % 360
  // A tiny negative angle plus 360 rounds to 360.
  return turned === 360 ? 0 : turned
}

/** Radians as degrees. */
export function inDegrees(radians: number): number {
  return radians / radiansPerDegree
}
