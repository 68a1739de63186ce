// A made-up wind that looks like one: gusts, a wandering direction and now and then a calm.

import { drawNormal, type Random } from '../../wire/random.ts'

export interface Wind {
  /** Not negative. */
  readonly speedMetresPerSecond: number
  /** Where it comes from, whole degrees, 0 to 359. Means nothing in a calm. */
  readonly directionDegrees: number
}

const breezeMetresPerSecond = 4.5
/** Standard deviation of gusts over mean speed: open country at ten metres. */
const turbulenceIntensity = 0.25
const gustSeconds = 4
const lullGustSeconds = 2
/** How long a breeze and a lull last on average. */
const breezeSeconds = 150
const lullSeconds = 25
/** How far the prevailing direction wanders in one second, and how far single gusts stray from it. */
const wanderDegrees = 1.5
const strayDegrees = 9

/**
 * Returns the next wind, `stepSeconds` after the last one. The speed is an Ornstein-Uhlenbeck process in its exact
 * discrete form (an AR(1) process, Gillespie 1996) about a mean that switches, as a two-state Markov chain, between a
 * breeze and a lull of zero; it is cut off at zero, which is the calm. The direction is a random walk on the circle plus
 * a second such process.
 */
export function createWind({ random, stepSeconds }: { random: Random; stepSeconds: number }): () => Wind {
  let isLull = false
  let speed = breezeMetresPerSecond
  let prevailing = 360 * random()
  let stray = 0
  return () => {
    if (random() < 1 - Math.exp(-stepSeconds / (isLull ? lullSeconds : breezeSeconds))) isLull = !isLull
    const mean = isLull ? 0 : breezeMetresPerSecond
    const sd = turbulenceIntensity * mean
    speed = revert(speed, {
      mean,
      sd,
      timeConstant: isLull ? lullGustSeconds : gustSeconds,
      stepSeconds,
      random,
    })
    speed = Math.max(0, speed)
    prevailing += wanderDegrees * Math.sqrt(stepSeconds) * drawNormal(random)
    stray = revert(stray, { mean: 0, sd: strayDegrees, timeConstant: gustSeconds, stepSeconds, random })
    return { speedMetresPerSecond: speed, directionDegrees: wholeDegrees(prevailing + stray) }
  }
}

interface Reversion {
  readonly mean: number
  readonly sd: number
  readonly timeConstant: number
  readonly stepSeconds: number
  readonly random: Random
}

function revert(value: number, { mean, sd, timeConstant, stepSeconds, random }: Reversion): number {
  const kept = Math.exp(-stepSeconds / timeConstant)
  return mean + (value - mean) * kept + sd * Math.sqrt(1 - kept * kept) * drawNormal(random)
}

function wholeDegrees(degrees: number): number {
  return ((Math.round(degrees) % 360) + 360) % 360
}
