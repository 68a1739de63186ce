// Detects a machine that stood still in the middle of a measurement, such as a laptop that slept.

/** The session is measured again. */
export class Standstill extends Error {
  override readonly name = 'Standstill'

  constructor(ms: number) {
    super(`The machine stood still for ${(ms / 1000).toFixed(1)} s.`)
  }
}

/** Longer than a step takes on a busy machine. */
const maxMs = 3000

const clocks = {
  /** On some systems, stands still during sleep. */
  monotonic: () => performance.now(),
  wall: () => Date.now(),
}

/**
 * The returned function is called after each step; it throws `Standstill` if the step took too long by
 * either clock. Everything due meanwhile would then happen at once.
 */
export function watchForStandstill({ monotonic, wall } = clocks): () => void {
  let last = [monotonic(), wall()] as const
  return () => {
    const now = [monotonic(), wall()] as const
    const ms = Math.max(now[0] - last[0], now[1] - last[1])
    last = now
    if (ms > maxMs) throw new Standstill(ms)
  }
}
