// What all load processes of a turn received, together.

import type { Measured } from '../load/orders.ts'

export interface Tallied {
  readonly n: number
  readonly lost: number
  readonly duplicated: number
  readonly reordered: number
  /** In no order. */
  readonly latenciesMs: readonly Float64Array[]
  readonly failures: readonly string[]
}

/** `expected`: windows times messages. */
export function tallied(measured: readonly Measured[], expected: number): Tallied {
  const sum = (of: (one: Measured) => number) => measured.reduce((total, one) => total + of(one), 0)
  const n = sum(({ received }) => received)
  return {
    n,
    lost: expected - n,
    duplicated: sum(({ duplicated }) => duplicated),
    reordered: sum(({ reordered }) => reordered),
    latenciesMs: measured.map(({ latenciesMs }) => latenciesMs),
    failures: measured.flatMap(({ failureWords }) => failureWords),
  }
}

/** All of them in ascending order. */
export function sortedLatencies(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all.sort()
}

/** Nearest rank (the smallest value that at least that share does not exceed); NaN of nothing. `share` from 0 to 1. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}
