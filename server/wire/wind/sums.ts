// What has to be added up over samples, so that means and spreads follow from it.

import type { Sample } from './sampling.ts'
import { vectorOf } from './vector.ts'

export interface WindSums {
  readonly count: number
  /** Of speeds, calms included, m/s. */
  readonly speed: number
  /** Of directions as vectors as long as the speed, m/s. */
  readonly east: number
  readonly north: number
  /** How many had a direction. */
  readonly directed: number
  /** Of directions as vectors of length 1. */
  readonly sine: number
  readonly cosine: number
  /** The time that the samples stand for. */
  readonly coversMs: number
}

export function sumsOf({ speedMetresPerSecond: speed, directionDegrees, coversMs }: Sample): WindSums {
  if (directionDegrees === null)
    return { count: 1, speed, east: 0, north: 0, directed: 0, sine: 0, cosine: 0, coversMs }
  const { east: sine, north: cosine } = vectorOf(directionDegrees)
  return { count: 1, speed, east: speed * sine, north: speed * cosine, directed: 1, sine, cosine, coversMs }
}

export function addSums(one: WindSums, other: WindSums): WindSums {
  return {
    count: one.count + other.count,
    speed: one.speed + other.speed,
    east: one.east + other.east,
    north: one.north + other.north,
    directed: one.directed + other.directed,
    sine: one.sine + other.sine,
    cosine: one.cosine + other.cosine,
    coversMs: one.coversMs + other.coversMs,
  }
}
