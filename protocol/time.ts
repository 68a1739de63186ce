// Clock, timers and randomness as arguments, so that tests control them.

/** Ms since the epoch, with fractions. */
export type Clock = () => number

/** Has no effect after the task ran. */
export type Cancel = () => void

export interface Timers {
  readonly now: Clock
  /** Runs as soon as possible if the time has passed. */
  readonly later: (run: () => void, delayMs: number) => Cancel
}

export const nothingPlanned: Cancel = () => undefined

/** Runs repeatedly, `pauseMs` after each run, until cancelled. */
export function repeat({ later }: Pick<Timers, 'later'>, run: () => void, pauseMs: number): Cancel {
  let isOver = false
  let cancel = later(runAgain, pauseMs)
  function runAgain(): void {
    run()
    if (!isOver) cancel = later(runAgain, pauseMs)
  }
  return () => {
    isOver = true
    cancel()
  }
}

/** Uniform in [0, 1). */
export type Random = () => number

/**
 * Mulberry32 (Tommy Ettinger, 2017, public domain): seed modulo 2^32, period 2^32; not for secrets.
 */
export function createSeededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * Fisher and Yates, as R. Durstenfeld, "Algorithm 235: Random permutation" (Commun. ACM 7, 1964).
 */
export function shuffled<Value>(values: readonly Value[], random: Random): Value[] {
  const drawn = [...values]
  for (let last = drawn.length - 1; last > 0; last -= 1) {
    const index = Math.floor(random() * (last + 1))
    ;[drawn[last], drawn[index]] = [drawn[index] as Value, drawn[last] as Value]
  }
  return drawn
}

/** Standard normal (Box and Muller, Ann. Math. Statist. 29, 1958; one of the pair). */
export function drawNormal(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()))
  return radius * Math.cos(2 * Math.PI * random())
}

export interface RetryPauses {
  readonly firstMs: number
  readonly longestMs: number
}

/**
 * Exponential backoff, ms: `firstMs` doubled per earlier failure, up to `longestMs`. The upper half
 * is random, so that clients that failed together do not reconnect together.
 */
export function retryPauseMs(failures: number, { firstMs, longestMs }: RetryPauses, random: Random): number {
  const wholeMs = Math.min(longestMs, firstMs * 2 ** failures)
  return wholeMs * (0.5 + random() / 2)
}
