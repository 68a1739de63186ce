// The windows of a run: dealt out over the modes, some of them writing, all of them on their mode's own channel.

import type { HttpVersion, Mode } from '../../server/wire/modes.ts'
import { createSeededRandom } from '../../server/wire/random.ts'
import { type FleetWindow, openWindow } from './window.ts'

/** Of each mode's windows. */
const writersPerMode = 2

export interface FleetOpening {
  readonly modes: readonly Mode[]
  /** In all. */
  readonly windows: number
  readonly seed: number
  readonly mayFall: boolean
  readonly origin: Readonly<Record<HttpVersion, string>>
  readonly ca: string
  readonly elapsed: () => number
}

/** Each mode's own, so that what its windows are to get is what its windows wrote. */
export function channelOf(mode: string): string {
  return `resilience-${mode.replace('/', '-')}`
}

export function openFleet({ modes, windows, seed, ...opening }: FleetOpening): FleetWindow[] {
  return dealt(modes, windows).map(({ mode, place }, index) =>
    openWindow({
      ...opening,
      mode,
      name: `${mode.name.replace('/', '-')}-${place + 1}`.replaceAll('.', '_'),
      channel: channelOf(mode.name),
      isWriter: place < writersPerMode,
      random: createSeededRandom(seed + index),
    }),
  )
}

/** In turns, so that no mode has more than one window more than another. */
export function dealt(
  modes: readonly Mode[],
  windows: number,
): readonly { readonly mode: Mode; readonly place: number }[] {
  return Array.from({ length: windows }, (_, index) => index).flatMap((index) => {
    const mode = modes[index % modes.length]
    return mode ? [{ mode, place: Math.floor(index / modes.length) }] : []
  })
}

/** Has every writer publish at its pace, whether it is open or not, until it is told to stop. */
export function startWriting(windows: readonly FleetWindow[], perSecond: number): () => void {
  const writers = windows.filter(({ record }) => record.isWriter)
  const everyMs = 1000 / perSecond
  const running = new Set<NodeJS.Timeout>()
  for (const [place, window] of writers.entries()) {
    const write = () => window.publish(`<p>${window.record.name} ${window.record.published.length + 1}</p>`)
    // Not all at once: their beginnings are spread over one pace.
    const begin = () => void running.add(setInterval(write, everyMs))
    running.add(setTimeout(begin, (everyMs * place) / writers.length))
  }
  return () => {
    for (const timer of running) clearTimeout(timer)
  }
}
