// Time as an argument: the browser's, or a test's.

export interface Timers {
  /** Ms since the epoch. */
  readonly now: () => number
  /** Runs something later; returns the way to call it off. */
  readonly later: (run: () => void, delayMs: number) => () => void
}

export const browserTimers: Timers = {
  now: () => performance.timeOrigin + performance.now(),
  later(run, delayMs) {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}
