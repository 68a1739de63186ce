// Timers as punctual as Node allows: its own run on whole milliseconds.

import { processTimers } from '../../server/timers.ts'
import type { Timers } from '../../server/wire/time.ts'

/** Node rounds down what it is given and wakes about this much after it. */
const usualLatenessMs = 0.2

/** From when it is due to a millisecond after it; costs nothing while it waits. */
export const wholeTimers: Timers = {
  now: processTimers.now,
  later: (run, delayMs) => processTimers.later(run, Math.max(1, Math.ceil(delayMs - usualLatenessMs))),
}

/** A wait below a millisecond keeps the event loop turning, and with it one processor. */
export const spinningTimers: Timers = {
  now: processTimers.now,
  later(run, delayMs) {
    if (delayMs >= 1) return wholeTimers.later(run, delayMs)
    const turn = setImmediate(run)
    return () => clearImmediate(turn)
  },
}
