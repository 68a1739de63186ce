// How far the stamps of a run may be wrong: nothing was added to them, so an offset counts as an error, with its doubt.

import { boundBetween, type ClockReading, paperBoundMs } from '../clock.ts'
import type { ComparedClock, Site, WindRun } from './run.ts'

/** What all windows without a browser share. */
export const clientsClock = 'clients'

/** Names a page's clock. */
export function clockName(site: string, mode: string): string {
  return `${site}, ${mode}`
}

/** A clock that was taken for right is wrong by this at most, ms. */
export function errorOf({ offsetMs, boundMs }: ClockReading): number {
  return Math.abs(offsetMs) + boundMs
}

/** Throws, naming each clock whose stamps could be wrong by more than the paper allowed. */
export function refuseWrongClocks(clocks: readonly ComparedClock[], when: 'before' | 'after'): void {
  const wrong = clocks.filter(({ errorMs }) => errorMs > paperBoundMs)
  if (wrong.length === 0) return
  const found = wrong.map(({ name, errorMs }) => `${name} may be off by ${errorMs.toFixed(2)} ms`).join('; ')
  const outcome = when === 'before' ? 'Nothing was measured' : 'Nothing was written'
  throw new Error(
    `Clocks have to agree with the server's within ${paperBoundMs} ms, as in the paper; ${when} the run ${found}. ${outcome}: run it again when the machine has less to do.`,
  )
}

/** The largest error of any clock at either check. */
export function largestErrorMs({ clock: { before, after } }: Pick<WindRun, 'clock'>): number {
  return Math.max(0, ...[...before, ...after].map(({ errorMs }) => errorMs))
}

/** Between two windows of a site: both errors may add up; clients share one clock, which is as wrong for all of them, so that it counts for nothing. */
export function clockBetweenMs({ clock: { before, after } }: Pick<WindRun, 'clock'>, { name }: Site): number {
  const own = [before, after].map((clocks) =>
    clocks
      .filter((clock) => clock.name.startsWith(`${name}, `))
      .map((clock) => ({ offsetMs: 0, boundMs: clock.errorMs })),
  )
  return Math.max(...own.map(boundBetween))
}
