// Times when the wind drops.

import type { Random } from '../../../wire/random.ts'

export interface Lulls {
  /** How long it blows on average. */
  readonly everySeconds: number
  /** How long a lull lasts on average. */
  readonly lastSeconds: number
}

/** How long the wind takes to drop and to rise again. */
const rampSeconds = 5

/**
 * Returns which share of the wind blows, 0 to 1, `stepSeconds` after the last answer. Blowing and lull take turns as a
 * two-state Markov chain (no memory, exponential stays); it begins blowing. Of no source: real calms follow the weather.
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
