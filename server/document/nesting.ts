// Depths of a document's items nested in each other.

import type { ID } from 'yjs'
import { upsert } from '../../protocol/upsert.ts'

/**
 * By client: the clocks at which items of another depth begin, ascending, and their depth. Text in one
 * place is one entry; a client whose items are all in roots has none.
 */
export type Depths = Map<number, { readonly clocks: number[]; readonly depths: number[] }>

/** Zero in a root; null if the depth is unknown. */
export function depthOf(known: Depths, { client, clock }: Pick<ID, 'client' | 'clock'>): number | null {
  const { clocks = [], depths = [] } = known.get(client) ?? {}
  let from = 0
  let to = clocks.length
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((clocks[middle] ?? 0) <= clock) from = middle + 1
    else to = middle
  }
  return depths[from - 1] ?? null
}

/** Records the depth of a client's items from this clock on, replacing earlier entries. */
export function setDepth(known: Depths, client: number, clock: number, depth: number): void {
  const { clocks, depths } = upsert(known, client, () => ({ clocks: [], depths: [] }))
  while ((clocks.at(-1) ?? -1) >= clock) {
    clocks.pop()
    depths.pop()
  }
  if (depths.at(-1) === depth) return
  clocks.push(clock)
  depths.push(depth)
}
