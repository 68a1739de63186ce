// Waits for windows to open, for readings to come in, and for the stragglers; each wait has its end.

import type { Reading } from '../../lab/windcomm/run.ts'
import type { ListeningWindow } from './window.ts'
import type { Witness } from './witness.ts'

const lookMs = 100
const openWithinMs = 60_000
/** Without a reading for so long the sensor has stopped. */
const silentAfterMs = 20_000
/** After the last reading: the longest stall of any profile, ten times over. */
const stragglersWithinMs = 20_000

/** Resolves after so many ms; rejects when the run is stopped. */
export type Pause = (ms: number) => Promise<void>

export async function untilOpen(
  windows: readonly ListeningWindow[],
  witness: Witness,
  pause: Pause,
): Promise<void> {
  const end = performance.now() + openWithinMs
  for (;;) {
    const missing = await closedAmong(windows)
    if (missing.length === 0 && witness.isOpen()) return
    if (performance.now() > end)
      throw new Error(
        `Windows did not open within ${openWithinMs / 1000} s: ${missing.join('; ') || 'the witness'}.`,
      )
    await pause(lookMs)
  }
}

async function closedAmong(windows: readonly ListeningWindow[]): Promise<readonly string[]> {
  const missing: string[] = []
  for (const window of windows) if (!(await window.isOpen())) missing.push(`${window.mode} at ${window.site}`)
  return missing
}

/** Until the witness has so many readings in all. Rejects when none come any more. */
export async function untilReadings(witness: Witness, wanted: number, pause: Pause): Promise<void> {
  let known = -1
  let since = performance.now()
  while (witness.readings().length < wanted) {
    if (witness.readings().length !== known) since = performance.now()
    known = witness.readings().length
    if (performance.now() - since > silentAfterMs)
      throw new Error(`No reading came for ${silentAfterMs / 1000} s: the server or its sensor has stopped.`)
    await pause(lookMs)
  }
}

/** Until every window has had one of these readings or a later one, bounded: what is missing then is lost. */
export async function untilEverywhere(
  windows: readonly ListeningWindow[],
  { id }: Reading,
  pause: Pause,
  withinMs = stragglersWithinMs,
): Promise<boolean> {
  const end = performance.now() + withinMs
  for (const window of windows) {
    while (!(await window.has(id))) {
      if (performance.now() > end) return false
      await pause(lookMs)
    }
  }
  return true
}
