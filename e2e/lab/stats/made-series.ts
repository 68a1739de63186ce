// Series with a known memory, for the tests of what is found in them.

import { drawNormal, type Random } from '../../../server/wire/random.ts'

/** Standard normal values, each keeping `kept` of the one before it (a first-order autoregressive course). */
export function autoregressive(length: number, kept: number, random: Random): number[] {
  const renewed = Math.sqrt(1 - kept ** 2)
  let value = drawNormal(random)
  return Array.from({ length }, () => {
    value = kept * value + renewed * drawNormal(random)
    return value
  })
}
