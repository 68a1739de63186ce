// Compass arithmetic: words for a direction, and the short way round.

const points = [
  'north',
  'north-north-east',
  'north-east',
  'east-north-east',
  'east',
  'east-south-east',
  'south-east',
  'south-south-east',
  'south',
  'south-south-west',
  'south-west',
  'west-south-west',
  'west',
  'west-north-west',
  'north-west',
  'north-north-west',
] as const

/** The nearest of the 16 points; each is the middle of its 22.5 degrees. */
export function compassPoint(degrees: number): string {
  return points[Math.round(modulo(degrees, 360) / 22.5) % points.length] ?? 'north'
}

/** The angle, maybe beyond 0 to 359, that shows `to` with the smallest turn from `from`: 1 after 359 is 361. */
export function shortWay(from: number, to: number): number {
  return from + modulo(to - from + 180, 360) - 180
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor
}
