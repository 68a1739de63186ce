// Wind variation: gusts with a realistic spectrum, and lulls.

import { drawNormal, type Random } from '../../wire/time.ts'

/**
 * Kaimal's spectrum (Kaimal et al., Q. J. R. Meteorol. Soc. 98, 1972; IEC 61400-1 edition 3, annex B), `S(f) = σ² (4 L
 * / V) (1 + y)^(-5/3)` with `y = 6 f L / V`, as a sum of Ornstein-Uhlenbeck processes of every corner frequency y with
 * variances `2/3 σ² (1 + y²)^(-5/6) sin(5/3 atan y) dy` ((1 + √s)^(-5/3) as a Stieltjes function). Six parts, divided
 * at y = 1/4, 1, 4, 16 and 64, each at its logarithmic mean, follow it within 8 % from y = 1/16 to 128. `corner` is y;
 * the variances sum to 1.
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
 * Returns the gust along one axis `stepSeconds` later, in standard deviations. `scaleSeconds` is L / V, eddy length
 * over wind speed. Exact discrete steps (D. T. Gillespie, Phys. Rev. E 54, 1996) make the statistics independent of the
 * step.
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

export interface Lulls {
  /** Mean time between lulls. */
  readonly everySeconds: number
  /** Mean duration. */
  readonly lastSeconds: number
}

const rampSeconds = 5

/**
 * Returns the share of the wind, 0 to 1, `stepSeconds` later. Wind and lull alternate as a two-state Markov chain
 * (exponential stays). Not from a source.
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
