// Matches the readings that count with what a window received, by id.

import { overtaken } from '../overtaken.ts'
import type { Reading, WindSample } from './run.ts'

/** A reading as it came to a window. */
export interface Receipt {
  readonly id: string
  readonly receivedAt: number
}

export interface Received {
  readonly site: string
  readonly mode: string
  /** In the order in which they came. */
  readonly receipts: readonly Receipt[]
}

/** One sample for each reading, those that never came included; what came besides, before and after, is left out. */
export function matchReadings(
  readings: readonly Reading[],
  { site, mode, receipts }: Received,
): readonly WindSample[] {
  const places = new Map(readings.map(({ id }, place) => [id, place]))
  const arrivals = Map.groupBy(
    receipts.filter(({ id }) => places.has(id)),
    ({ id }) => id,
  )
  const late = overtaken(arrivals.keys(), places)
  return readings.map(({ id, seq, acceptedAt }, place) => {
    const copies = arrivals.get(id) ?? []
    return {
      site,
      mode,
      place: place + 1,
      id,
      seq,
      acceptedAt,
      receivedAt: copies[0]?.receivedAt ?? null,
      copies: copies.length,
      reordered: late.has(id),
    }
  })
}
