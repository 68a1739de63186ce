// The clock and the timers that sources are handed, so that their tests need no real time.

/** Ms since the epoch, with fractions. */
export type Clock = () => number

/** A random number from 0 up to but not including 1. */
export type Random = () => number

/** Takes back what was planned; harmless when it already ran. */
export type Cancel = () => void

export interface Timers {
  /** Runs once, `delayMs` from now. */
  after(delayMs: number, run: () => void): Cancel
}

/** The timers of this process. */
export const systemTimers: Timers = {
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}

/** A planned thing of which there is none yet. */
export const nothingPlanned: Cancel = () => undefined
