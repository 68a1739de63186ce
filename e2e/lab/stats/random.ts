// A small random generator with a seed, so that an interval drawn by lot comes out the same every time.

/** Evenly spread over [0, 1). `Math.random` is one too. */
export type Random = () => number

/**
 * Mulberry32 (Tommy Ettinger, 2017, public domain): 32 bits of state and a period of 2^32. Plenty for a few
 * million draws, and too weak for secrets.
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

/** One draw from the standard normal distribution (Box and Muller, Ann. Math. Statist. 29, 1958). */
export function normalDraw(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()))
  return radius * Math.cos(2 * Math.PI * random())
}
