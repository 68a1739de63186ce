// Parts of long tables of tests: others each day.

import type { Mode } from '../server/wire/modes.ts'

/** So many, spread over the table. */
export function partOfToday<Item>(items: readonly Item[], count: number): readonly Item[] {
  const first = Math.floor(Date.now() / 86_400_000)
  const step = Math.floor(items.length / count)
  return Array.from({ length: count }, (_, place) => items[(first + place * step) % items.length] as Item)
}

/** All with CROSSWIND_MODES=all. */
export function rotatingModes(count: number, modes: readonly Mode[]): readonly Mode[] {
  return process.env.CROSSWIND_MODES === 'all' ? modes : partOfToday(modes, count)
}
