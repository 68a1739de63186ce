// The windows of a resilience run: so many for each mode, of which some write.

import { createSeededRandom, type Mode } from '../../client/wire.ts'
import { requireModes } from '../lab/mode-names.ts'
import { CuttableWindow, type WindowOpening } from '../load/cuttable-window.ts'

const writersPerMode = 2

type FleetOpening = Pick<WindowOpening, 'mayFall' | 'origin' | 'ca' | 'elapsed'>

/** Each window must receive exactly what its mode's windows wrote. */
export function channelOf(mode: string): string {
  return `resilience-${mode.replace('/', '-')}`
}

export function requireWindowForEach({
  modes,
  windows,
}: {
  readonly modes: readonly string[]
  readonly windows: number
}): void {
  requireModes(modes)
  if (windows < modes.length)
    throw new Error(`--windows is ${windows}: ${modes.length} modes need at least one each.`)
}

/** Opens this many windows, distributed over the modes in rotation. */
export function openFleet(modes: readonly Mode[], windows: number, seed: number, opening: FleetOpening) {
  const fleet: CuttableWindow[] = []
  for (let place = 0; fleet.length < windows; place += 1)
    for (const mode of modes.slice(0, windows - fleet.length))
      fleet.push(
        new CuttableWindow({
          ...opening,
          name: `${mode.name.replace('/', '-')}-${place + 1}`.replaceAll('.', '_'),
          mode,
          channel: channelOf(mode.name),
          isWriter: place < writersPerMode,
          random: createSeededRandom(seed + fleet.length),
        }),
      )
  return fleet
}

/** Writers publish whether open or not, until the returned function is called. */
export function startWriting(windows: readonly CuttableWindow[], perSecond: number): () => void {
  const writers = windows.filter(({ record }) => record.isWriter)
  const everyMs = 1000 / perSecond
  const running = new Set<NodeJS.Timeout>()
  for (const [place, window] of writers.entries()) {
    const write = () => window.publish(`${window.record.name} ${window.record.published.length + 1}`)
    // Staggers the writers over one interval.
    const begin = () => void running.add(setInterval(write, everyMs))
    running.add(setTimeout(begin, (everyMs * place) / writers.length))
  }
  return () => {
    for (const timer of running) clearTimeout(timer)
  }
}

type Pause = (ms: number) => Promise<void>

const lookMs = 100
const openWithinMs = 60_000

/** Resolves to the ms it took, or to null on a timeout. */
export async function timeUntil(holds: () => boolean, withinMs: number, pause: Pause) {
  const startedAt = performance.now()
  while (!holds()) {
    if (performance.now() - startedAt > withinMs) return null
    await pause(lookMs)
  }
  return performance.now() - startedAt
}

/** Rejects with their names if some do not open. */
export async function untilOpen(windows: readonly CuttableWindow[], pause: Pause): Promise<void> {
  const closed = () => windows.filter(({ isOpen }) => !isOpen).map(({ record }) => record.name)
  if ((await timeUntil(() => closed().length === 0, openWithinMs, pause)) === null)
    throw new Error(`Windows did not open: ${closed().join(', ')}.`)
}

/**
 * Nothing waits to be sent, and each window has the newest message of every writer in its mode, or
 * a snapshot after it.
 */
export function isSettled(windows: readonly CuttableWindow[]): boolean {
  if (!windows.every(({ isOpen, unstored }) => isOpen && unstored === 0)) return false
  const byMode = Map.groupBy(windows, ({ mode }) => mode)
  return byMode.values().every((own) => {
    const newest = own.flatMap(({ record }) => [...record.accepted].slice(-1))
    return own.every(({ record: { seen, snapshots } }) =>
      newest.every(
        ([wanted, seq]) => seen.findLast(({ id }) => id === wanted) || (snapshots.at(-1)?.head ?? 0) >= seq,
      ),
    )
  })
}
