// How long to wait before the next try: growing, and jittered so that windows do not come back as a herd.

const firstMs = 250
const longestMs = 15_000

/** `attempt` counts from 0; `random` gives 0 to 1. The pause is between half and the whole of 250 ms × 2^attempt, 15 s at most. */
export function retryDelayMs(attempt: number, random: () => number): number {
  const whole = Math.min(longestMs, firstMs * 2 ** Math.min(attempt, 16))
  return whole * (0.5 + random() / 2)
}
