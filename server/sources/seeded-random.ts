// Random numbers that a seed repeats, for a wind or a test that can be run again.

import type { Random } from './time.ts'

/**
 * Mulberry32 by Tommy Ettinger (public domain): 32 bits of state, period 2^32, good enough for weather and not for
 * secrets. `seed` is taken modulo 2^32.
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A draw from the standard normal distribution (Box and Muller 1958, one of the pair). */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}
