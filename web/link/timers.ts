// The browser's clock and timers.

import type { Timers } from '../../server/wire/time.ts'

export const browserTimers: Timers = {
  now: () => performance.timeOrigin + performance.now(),
  later(run, delayMs) {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}
