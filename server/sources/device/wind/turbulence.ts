// Gusts along one axis of the wind, with the spectrum that gusts have.

import { drawNormal, type Random } from '../../../wire/random.ts'

/**
 * One share of the gusts: `corner` is the frequency up to which it is flat, times `6 L / V`; the shares of `variance`
 * make 1.
 */
export interface Eddies {
  readonly corner: number
  readonly variance: number
}

/**
 * Kaimal's spectrum (Kaimal et al., Q. J. R. Meteorol. Soc. 98, 1972; IEC 61400-1 edition 3, annex B),
 * `S(f) = σ² (4 L / V) (1 + y)^(-5/3)` with `y = 6 f L / V`, is a sum of Ornstein-Uhlenbeck processes, of every corner
 * frequency y, whose variances are `2/3 σ² (1 + y²)^(-5/6) sin(5/3 atan y) dy`: the representation of (1 + √s)^(-5/3) as
 * a Stieltjes function. Here that integral is taken in six parts, parted at y = 1/4, 1, 4, 16 and 64, each put at its mean
 * on a logarithmic scale. The sum follows Kaimal's within 8 % from y = 1/16 to 128, and has all of its variance.
 */
export const kaimalEddies: readonly Eddies[] = [
  { corner: 0.1498, variance: 0.0331 },
  { corner: 0.6018, variance: 0.2796 },
  { corner: 1.867, variance: 0.4407 },
  { corner: 6.986, variance: 0.1624 },
  { corner: 28.43, variance: 0.0524 },
  { corner: 282.3, variance: 0.0318 },
]

/**
 * Returns the next gust, `stepSeconds` after the last one, in standard deviations. `scaleSeconds` is L / V, the length of
 * the eddies over the wind that carries them past. Each part takes its exact discrete step (D. T. Gillespie, Phys. Rev. E
 * 54, 1996), so gusts are alike whatever the steps.
 */
export function createTurbulence(random: Random, scaleSeconds: number): (stepSeconds: number) => number {
  const parts = kaimalEddies.map(({ corner, variance }) => ({
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
