// Moves windows off one after another, in an order left to chance, so that where they go to is not met by all at once.

import type { Random } from '../wire/random.ts'
import type { Timers } from '../wire/time.ts'
import type { Crowd } from './crowd.ts'
import type { Window } from './window.ts'

/** A few windows go at once; a crowd takes this much time for each, as far as there is time. */
const msPerWindow = 2
const turnMs = 20

/** Resolves when every window with a stream has been sent away; takes at most `withinMs`. */
export function drainInTurns(
  crowd: Crowd,
  timers: Timers,
  random: Random,
  withinMs: number,
  sendAway: (window: Window) => void,
): Promise<void> {
  const leaving = shuffled(
    Array.from(crowd.all(), ({ window }) => window).filter((window) => window !== null),
    random,
  )
  const turns = Math.max(1, Math.floor(Math.min(withinMs, leaving.length * msPerWindow) / turnMs))
  const perTurn = Math.ceil(leaving.length / turns)
  return new Promise((resolve) => {
    function turn(): void {
      for (const window of leaving.splice(0, perTurn)) sendAway(window)
      if (leaving.length === 0) resolve()
      else timers.later(turn, turnMs)
    }
    turn()
  })
}

/** Fisher and Yates, as in Knuth, The Art of Computer Programming, vol. 2, 3.4.2. */
function shuffled<Item>(items: Item[], random: Random): Item[] {
  for (let last = items.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1))
    const [one, two] = [items[last], items[other]]
    if (one !== undefined && two !== undefined) [items[last], items[other]] = [two, one]
  }
  return items
}
