// The clock and the timers of this process.

import type { Timers } from './wire/time.ts'

/** The clock is steady while the process lives: setting the machine's moves no stamp. */
export const processTimers: Timers = {
  now: () => performance.timeOrigin + performance.now(),
  later(run, delayMs) {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}
