// The ends of items with nothing inserted behind them: inserting there needs no search.

import type { ID } from 'yjs'
import { upsert } from '../../protocol/upsert.ts'

type Position = Pick<ID, 'client' | 'clock'>

/** Maximum number of ends known per client, the newest. Forgetting one overestimates a cost. */
const maxPerClient = 5000

/** By client, clocks: the oldest first. */
export type FreeEnds = Map<number, Set<number>>

export const isFree = (ends: FreeEnds, { client, clock }: Position) => ends.get(client)?.has(clock) ?? false

export function free(ends: FreeEnds, { client, clock }: Position): void {
  const clocks = upsert(ends, client, () => new Set<number>())
  clocks.add(clock)
  if (clocks.size <= maxPerClient) return
  for (const oldest of clocks) {
    clocks.delete(oldest)
    return
  }
}

export function use(ends: FreeEnds, { client, clock }: Position): void {
  ends.get(client)?.delete(clock)
}
