// A made-up wind that looks like one: gusts, a direction that follows from them and wanders, and now and then a calm.

import { drawNormal, type Random } from '../../../wire/random.ts'
import { createLulls, type Lulls } from './lulls.ts'
import { createTurbulence } from './turbulence.ts'

export interface Wind {
  /** Not negative. */
  readonly speedMetresPerSecond: number
  /** Where it comes from, 0 to below 360, with fractions. Means nothing in a calm. */
  readonly directionDegrees: number
}

interface Strength {
  /** The mean between lulls. */
  readonly metresPerSecond: number
  readonly lulls: Lulls | null
}

/** Winds to look at: Beaufort forces 0 to 1, 3, 6 and 8. */
export const strengths = {
  calm: { metresPerSecond: 0.4, lulls: { everySeconds: 20, lastSeconds: 60 } },
  breeze: { metresPerSecond: 4.5, lulls: { everySeconds: 300, lastSeconds: 30 } },
  strong: { metresPerSecond: 12, lulls: null },
  gale: { metresPerSecond: 19, lulls: null },
} as const satisfies Record<string, Strength>

export type WindStrength = keyof typeof strengths

/** The height at which weather stations measure (WMO No. 8, chapter on surface wind). */
const heightMetres = 10
/** IEC 61400-1 edition 3: Λ1 = 0.7 z up to 60 m (section 6.3), L = 8.1 Λ1 along the wind, 2.7 Λ1 across (table B.1). */
const scaleMetres = 0.7 * heightMetres
const alongMetres = 8.1 * scaleMetres
const acrossMetres = 2.7 * scaleMetres
/** Standard deviation across the wind over that along it (table B.1). */
const acrossOverAlong = 0.8
/** Expected turbulence at 15 m/s in class B (table 1). */
const referenceIntensity = 0.14
/** Below about 3 m/s the standard's formula, made for turbines, asks for more gust than wind. */
const highestIntensity = 0.35
/** Slower air carries no eddies past: what it does, it does in its own time. */
const slowestCarrying = 1
/** How far the prevailing direction wanders in one second. Of no source: so that an hour shows a change. */
const wanderDegrees = 0.7
/** What still air does along each axis: enough to flicker below the sensor's threshold of 0.05 m/s. Of no source. */
const stillMetresPerSecond = 0.015

/**
 * Standard deviation of gusts over mean speed. The expected value that belongs to the normal turbulence model:
 * `σ = Iref (0.75 V + 3.8 m/s)` (IEC 61400-1 edition 3, section 6.3.1.3; the 90 % quantile has 5.6 in place of 3.8).
 */
export function turbulenceIntensity(metresPerSecond: number): number {
  return Math.min(highestIntensity, (referenceIntensity * (0.75 * metresPerSecond + 3.8)) / metresPerSecond)
}

/**
 * Returns the next wind, `stepSeconds` after the last one, any step. Gusts along and across the mean wind follow Kaimal's
 * spectrum (see `turbulence.ts`), and speed and direction are those of their sum, so that the direction is the more
 * restless the lighter the wind, as outdoors. The prevailing direction is a random walk on the circle.
 */
export function createWind({ random, strength }: { random: Random; strength: WindStrength }) {
  const { metresPerSecond, lulls } = strengths[strength]
  const carrying = Math.max(slowestCarrying, metresPerSecond)
  const sd = turbulenceIntensity(metresPerSecond) * metresPerSecond
  const along = createTurbulence(random, alongMetres / carrying)
  const across = createTurbulence(random, acrossMetres / carrying)
  const shareBlowing = lulls ? createLulls(random, lulls) : () => 1
  let prevailing = 360 * random()

  return (stepSeconds: number): Wind => {
    const share = shareBlowing(stepSeconds)
    prevailing += wanderDegrees * Math.sqrt(stepSeconds) * drawNormal(random)
    const ahead = share * (metresPerSecond + sd * along(stepSeconds)) + still()
    const aside = share * acrossOverAlong * sd * across(stepSeconds) + still()
    const turned = (Math.atan2(aside, ahead) * 180) / Math.PI
    return { speedMetresPerSecond: Math.hypot(ahead, aside), directionDegrees: onCircle(prevailing + turned) }
  }

  function still(): number {
    return stillMetresPerSecond * drawNormal(random)
  }
}

function onCircle(degrees: number): number {
  const rest = degrees % 360
  return rest < 0 ? (rest + 360) % 360 : rest
}
