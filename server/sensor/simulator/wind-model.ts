// Simulated wind: gusts about a steady mean, and a drifting direction.

import { drawNormal, type Random } from '../../wire/time.ts'
import { wholeTurn } from '../../wire/wind-units.ts'
import { createGusts, createLulls, type Lulls } from './gusts.ts'

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
/** IEC 61400-1 edition 3: Λ1 = 0.7 z up to 60 m (section 6.3), L = 8.1 Λ1 along the wind, 2.7 Λ1 across (table B.1). */
const scaleMetres = 0.7 * heightMetres
const alongMetres = 8.1 * scaleMetres
const acrossMetres = 2.7 * scaleMetres
/** Ratio of standard deviations (table B.1). */
const acrossOverAlong = 0.8
/** Expected turbulence at 15 m/s in class B (table 1). */
const referenceIntensity = 0.14
/** Below about 3 m/s the standard's formula, made for turbines, yields more gust than wind. */
const highestIntensity = 0.35
/** In slower air eddies change in their own time. */
const slowestCarrying = 1
/** Per √s. Not from a source; an hour must show a change. */
const wanderDegrees = 0.7
/** Still air along each axis, below the sensor's threshold of 0.05 m/s. Not from a source. */
const stillMetresPerSecond = 0.015

/**
 * Returns the wind `stepSeconds` later. Both components are Gaussian about a steady mean, with the standard deviations
 * and Kaimal's spectrum of IEC 61400-1 edition 3, section 6.3.1.3 and annex B. The mean is steady because wind varies
 * little between the periods of turbulence and those of weather (I. Van der Hoven, J. Meteor. 14, 1957). In a breeze the
 * standard deviation is 22 % of the mean: one reading in 5000 is below a quarter of it. The prevailing direction is a
 * random walk.
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
 * Standard deviation of gusts over mean speed, expected value: `σ = Iref (0.75 V + 3.8 m/s)` (IEC 61400-1 edition 3,
 * section 6.3.1.3; the 90 % quantile has 5.6 in place of 3.8).
 */
function turbulenceIntensity(metresPerSecond: number): number {
  return Math.min(highestIntensity, (referenceIntensity * (0.75 * metresPerSecond + 3.8)) / metresPerSecond)
}
