// When two clocks are compared next: often at first, then seldom, so that what is known holds until the next time.

import type { Random } from '../random.ts'

/** Eight exchanges come in the first two seconds. */
const soonestMs = 250

/** On average; spread, so that windows that opened together do not go on asking together. */
const seldomMs = 15_000

/**
 * Pause until the next exchange, ms, when the first was `sinceMs` ago. Each pause is a quarter of the time that was looked
 * at: so the drift is known well enough, by then, to say where the offset will be.
 */
export function exchangePauseMs(sinceMs: number, random: Random): number {
  const pauseMs = Math.max(soonestMs, sinceMs / 4)
  return pauseMs < seldomMs ? pauseMs : seldomMs * (2 / 3 + (2 / 3) * random())
}
