// Compass arithmetic: words and letters for a direction, and the short way round.

import { wholeTurn } from '../../../server/wire/wind/vector.ts'

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
  return points[Math.round(wholeTurn(degrees) / 22.5) % points.length] ?? 'north'
}

/** The same as letters, `SSW`. */
export function compassLetters(degrees: number): string {
  return compassPoint(degrees)
    .split('-')
    .map(([letter = '']) => letter.toUpperCase())
    .join('')
}

/** From 0 to 359: what a sensor would say of it. */
export function wholeDegrees(degrees: number): number {
  return Math.round(degrees) % 360
}

/** The angle, maybe beyond 0 to 359, that shows `to` with the smallest turn from `from`: 1 after 359 is 361. */
export function shortWay(from: number, to: number): number {
  return from + wholeTurn(to - from + 180) - 180
}
