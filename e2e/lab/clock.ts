// Sets the windows' clocks against one common clock, before and after a block, and bounds what is left of doubt.

export interface ClockReading {
  /** Add it to a window's stamps to have the common clock's time, ms. */
  readonly offsetMs: number
  /** The true offset is no further off than this, ms. */
  readonly boundMs: number
}

export interface WindowClock {
  /** Mean of both readings: what to add to the window's stamps. */
  readonly offsetMs: number
  /** Doubt of either reading and half of the drift between them. */
  readonly boundMs: number
}

export function combine(before: ClockReading, after: ClockReading): WindowClock {
  const drift = Math.abs(after.offsetMs - before.offsetMs)
  return {
    offsetMs: (before.offsetMs + after.offsetMs) / 2,
    boundMs: Math.max(before.boundMs, after.boundMs) + drift / 2,
  }
}

/** Between two windows both doubts may add up: the sum of the two largest. */
export function boundBetween(clocks: readonly WindowClock[]): number {
  const [largest = 0, second = 0] = clocks.map(({ boundMs }) => boundMs).sort((one, other) => other - one)
  return largest + second
}
