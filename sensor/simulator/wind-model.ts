// Simulated wind: realistic gusts about a steady mean, lulls, and a drifting direction.

import { drawNormal, type Random } from '../../protocol/time.ts'
import { wholeTurn } from '../wind-units.ts'

export interface Wind {
  /** Not negative. */
  readonly speedMetresPerSecond: number
  /** Where the wind comes from, 0 to below 360. Meaningless in a calm. */
  readonly directionDegrees: number
}

/** Mean speeds of Beaufort forces 0 to 1, 3, 6 and 8, m/s. */
const strengths = { calm: 0.4, breeze: 4.5, strong: 12, gale: 19 }

export type WindStrength = keyof typeof strengths

/** Only a calm stops between its light airs. */
const calmLulls: Lulls = { everySeconds: 20, lastSeconds: 60 }

/** Standard measuring height (WMO No. 8, chapter on surface wind). */
const heightMetres = 10
/**
 * IEC 61400-1 edition 3: Λ1 = 0.7 z up to 60 m (section 6.3), L = 8.1 Λ1 along the wind, 2.7 Λ1
 * across (table B.1).
 */
const scaleMetres = 0.7 * heightMetres
const alongMetres = 8.1 * scaleMetres
const acrossMetres = 2.7 * scaleMetres
/** Ratio of standard deviations (table B.1). */
const acrossOverAlong = 0.8
/** Expected turbulence at 15 m/s in class B (table 1). */
const referenceIntensity = 0.14
/** Below about 3 m/s the standard's formula, made for turbines, yields more gust than wind. */
const highestIntensity = 0.35
/** In slower air, eddies change by themselves. */
const slowestCarrying = 1
/** Per √s. Chosen so that an hour shows a change; not from a source. */
const wanderDegrees = 0.7
/** Still air along each axis, below the sensor's threshold of 0.05 m/s. Not from a source. */
const stillMetresPerSecond = 0.015

/**
 * Returns the wind `stepSeconds` later. Both components are Gaussian about a steady mean, with the
 * standard deviations and Kaimal's spectrum of IEC 61400-1 edition 3, section 6.3.1.3 and annex B.
 * The mean is steady because wind varies little between the periods of turbulence and those of
 * weather (I. Van der Hoven, J. Meteor. 14, 1957). In a breeze the standard deviation is 22 % of
 * the mean: one reading in 5000 is below a quarter of it. The prevailing direction is a random
 * walk.
 */
export function createWind({ random, strength }: { random: Random; strength: WindStrength }) {
  const metresPerSecond = strengths[strength]
  const carrying = Math.max(slowestCarrying, metresPerSecond)
  const sd = turbulenceIntensity(metresPerSecond) * metresPerSecond
  const along = createGusts(random, alongMetres / carrying)
  const across = createGusts(random, acrossMetres / carrying)
  const shareBlowing = strength === 'calm' ? createLulls(random, calmLulls) : () => 1
  let prevailing = 360 * random()

  return (stepSeconds: number): Wind => {
    const share = shareBlowing(stepSeconds)
    prevailing += wanderDegrees * Math.sqrt(stepSeconds) * drawNormal(random)
    const ahead = share * (metresPerSecond + sd * along(stepSeconds)) + still()
    const aside = share * acrossOverAlong * sd * across(stepSeconds) + still()
    const turned = (Math.atan2(aside, ahead) * 180) / Math.PI
    return {
      speedMetresPerSecond: Math.hypot(ahead, aside),
      directionDegrees: wholeTurn(prevailing + turned),
    }
  }

  function still(): number {
    return stillMetresPerSecond * drawNormal(random)
  }
}

/**
 * Standard deviation of gusts over mean speed, expected value: `σ = Iref (0.75 V + 3.8 m/s)` (IEC
 * 61400-1 edition 3, section 6.3.1.3; the 90 % quantile has 5.6 in place of 3.8).
 */
function turbulenceIntensity(metresPerSecond: number): number {
  return Math.min(highestIntensity, (referenceIntensity * (0.75 * metresPerSecond + 3.8)) / metresPerSecond)
}

/**
 * Kaimal's spectrum (Kaimal et al., Q. J. R. Meteorol. Soc. 98, 1972; IEC 61400-1 edition 3, annex
 * B), `S(f) = σ² (4 L / V) (1 + y)^(-5/3)` with `y = 6 f L / V`, as a sum of Ornstein-Uhlenbeck
 * processes of every corner frequency y with variances `2/3 σ² (1 + y²)^(-5/6) sin(5/3 atan y) dy`
 * ((1 + √s)^(-5/3) as a Stieltjes function). Six parts, divided at y = 1/4, 1, 4, 16 and 64, each
 * at its logarithmic mean, follow it within 8 % from y = 1/16 to 128. `corner` is y; the variances
 * sum to 1.
 */
export const kaimalParts: ReadonlyArray<{ readonly corner: number; readonly variance: number }> = [
  { corner: 0.1498, variance: 0.0331 },
  { corner: 0.6018, variance: 0.2796 },
  { corner: 1.867, variance: 0.4407 },
  { corner: 6.986, variance: 0.1624 },
  { corner: 28.43, variance: 0.0524 },
  { corner: 282.3, variance: 0.0318 },
]

/**
 * Returns the gust along one axis `stepSeconds` later, in standard deviations. `scaleSeconds` is L
 * / V, eddy length over wind speed. Exact discrete steps (D. T. Gillespie, Phys. Rev. E 54, 1996)
 * make the statistics independent of the step.
 */
export function createGusts(random: Random, scaleSeconds: number): (stepSeconds: number) => number {
  const parts = kaimalParts.map(({ corner, variance }) => ({
    perSecond: (2 * Math.PI * corner) / (6 * scaleSeconds),
    sd: Math.sqrt(variance),
    value: Math.sqrt(variance) * drawNormal(random),
  }))
  return (stepSeconds) => {
    let sum = 0
    for (const part of parts) {
      const kept = Math.exp(-stepSeconds * part.perSecond)
      part.value = part.value * kept + part.sd * Math.sqrt(1 - kept * kept) * drawNormal(random)
      sum += part.value
    }
    return sum
  }
}

interface Lulls {
  /** Mean time between lulls. */
  readonly everySeconds: number
  /** Mean duration. */
  readonly lastSeconds: number
}

const rampSeconds = 5

/**
 * Returns the share of the wind, 0 to 1, `stepSeconds` later: a two-state Markov chain. Not from a
 * source.
 */
export function createLulls(
  random: Random,
  { everySeconds, lastSeconds }: Lulls,
): (stepSeconds: number) => number {
  let isLull = false
  let share = 1
  return (stepSeconds) => {
    if (random() < 1 - Math.exp(-stepSeconds / (isLull ? lastSeconds : everySeconds))) isLull = !isLull
    const change = stepSeconds / rampSeconds
    share = isLull ? Math.max(0, share - change) : Math.min(1, share + change)
    return share
  }
}
