// Where an offset must lie, by what it was at most and at least at other moments, for clocks of bounded drift.

import type { Mark } from './exchange.ts'

/** Each of them true, however long the ways there and back were. */
export interface Marks {
  readonly ceilings: readonly Mark[]
  readonly floors: readonly Mark[]
}

export interface Range {
  readonly least: number
  readonly most: number
}

/** All in ms of offset for each ms of time. */
export interface Drift {
  /** It is never more, on or back. */
  readonly most: number
  /** How far the drift may be, at any moment, from one that is the same all the time. */
  readonly wander: number
}

/** The drifts that lead from under no ceiling to over no floor; null when there is none: then a clock has jumped. */
export function driftBetween({ ceilings, floors }: Marks, drift: Drift): Range | null {
  let least = -drift.most
  let { most } = drift
  for (const ceiling of ceilings) {
    for (const floor of floors) {
      const spanMs = ceiling.at - floor.at
      const roomMs = ceiling.offsetMs - floor.offsetMs + drift.wander * Math.abs(spanMs)
      if (spanMs > 0) most = Math.min(most, roomMs / spanMs)
      else if (spanMs < 0) least = Math.max(least, roomMs / spanMs)
      else if (roomMs < 0) return null
    }
  }
  return least <= most ? { least, most } : null
}

/** Where the offset lies at that moment, be it before, between or after the marks. `drift` is what `driftBetween` found. */
export function offsetAt({ ceilings, floors }: Marks, drift: Range, wander: number, at: number): Range {
  const most = ({ at: then, offsetMs }: Mark) => {
    const spanMs = at - then
    return offsetMs + Math.max(drift.least * spanMs, drift.most * spanMs) + wander * Math.abs(spanMs)
  }
  const least = ({ at: then, offsetMs }: Mark) => {
    const spanMs = at - then
    return offsetMs + Math.min(drift.least * spanMs, drift.most * spanMs) - wander * Math.abs(spanMs)
  }
  return { least: Math.max(...floors.map(least)), most: Math.min(...ceilings.map(most)) }
}
