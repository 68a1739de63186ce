// What is known of one clock against another, as data.

export interface ClockReading {
  /** Add it to the one clock's stamps to have the other clock's time, ms. */
  readonly offsetMs: number
  /** The true offset is no further off than this, ms. */
  readonly boundMs: number
}

/** One reading that is true at both moments and between them, of a clock that drifts evenly: their mean. */
export function combine(before: ClockReading, after: ClockReading): ClockReading {
  const drift = Math.abs(after.offsetMs - before.offsetMs)
  return {
    offsetMs: (before.offsetMs + after.offsetMs) / 2,
    boundMs: Math.max(before.boundMs, after.boundMs) + drift / 2,
  }
}
