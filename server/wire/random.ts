// Random numbers that can be had again: for tests, the simulator and resampling.

/** Evenly spread from 0 up to but not 1. */
export type Random = () => number

/**
 * The same seed, taken modulo 2^32, gives the same numbers. Mulberry32 (Tommy Ettinger, 2017, public domain): 32 bits of
 * state and a period of 2^32, plenty for a few million draws and too weak for secrets.
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

/** One draw from the standard normal distribution (Box and Muller, Ann. Math. Statist. 29, 1958; one of the pair). */
export function drawNormal(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()))
  return radius * Math.cos(2 * Math.PI * random())
}
