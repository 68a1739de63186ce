// Waits, when the faults are over, until every window has everything: what is missing then is lost.

import { acceptedOf } from './accounting.ts'
import type { FleetWindow } from './window.ts'

const lookMs = 100

export interface Waiting {
  readonly withinMs: number
  /** Rejects when the run is stopped. */
  readonly pause: (ms: number) => Promise<void>
}

/** Resolves to the ms that it took; null when the time was up. */
export async function settle(
  windows: readonly FleetWindow[],
  { withinMs, pause }: Waiting,
): Promise<number | null> {
  const startedAt = performance.now()
  while (!isSettled(windows)) {
    if (performance.now() - startedAt > withinMs) return null
    await pause(lookMs)
  }
  return performance.now() - startedAt
}

export async function untilAllOpen(
  windows: readonly FleetWindow[],
  { withinMs, pause }: Waiting,
): Promise<void> {
  const end = performance.now() + withinMs
  while (!windows.every((window) => window.isOpen())) {
    const missing = windows.filter((window) => !window.isOpen()).map(({ record }) => record.name)
    if (performance.now() > end) throw new Error(`Windows did not open: ${missing.join(', ')}.`)
    await pause(lookMs)
  }
}

function isSettled(windows: readonly FleetWindow[]): boolean {
  if (!windows.every((window) => window.isOpen() && window.unstored() === 0)) return false
  const byChannel = Map.groupBy(windows, ({ record }) => record.channel)
  return [...byChannel.values()].every((own) => {
    const expected = acceptedOf(own.map(({ record }) => record)).size
    return own.every(({ record }) => record.seen.length >= expected)
  })
}
