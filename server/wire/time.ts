// Time as an argument: whatever waits or stamps is handed these, so that its tests need no real time.

/** Ms since the epoch, with fractions. */
export type Clock = () => number

/** Takes back what was planned; harmless when it already ran. */
export type Cancel = () => void

export interface Timers {
  readonly now: Clock
  /** Runs once, `delayMs` from now. */
  readonly later: (run: () => void, delayMs: number) => Cancel
}

/** A planned thing of which there is none yet. */
export const nothingPlanned: Cancel = () => undefined
