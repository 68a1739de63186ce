// Carries out a planned fault: one short function for each kind.

import { brokenInputs, sendBroken, type Target } from './broken-input.ts'
import type { Flooder } from './flood.ts'
import type { PlannedFault } from './plan.ts'
import type { FaultKind, FaultRecord } from './record.ts'
import type { RestartingServer } from './restarting-server.ts'
import type { FleetWindow } from './window.ts'

export interface FaultParts {
  readonly windows: readonly FleetWindow[]
  readonly server: RestartingServer
  readonly flooder: Flooder
  readonly target: Target
  readonly elapsed: () => number
  /** Faults that have met nobody until then never will, ms since the run began. */
  readonly endsAtMs: number
  /** Who has come back is let be for so long: else the faults that waited for somebody would keep all away. */
  readonly spareMs: number
  /** Rejects when the run is stopped. */
  readonly pause: (ms: number) => Promise<void>
}

/** Between two looks for somebody to meet: while the server is down nobody is there. Those who waited do not strike at once. */
const lookMs = { least: 200, spread: 2000 }

/** What it met and what came of it; null when there was nothing to meet. */
type Outcome = Pick<FaultRecord, 'target' | 'outcome'> | null

type CarryOut = (fault: PlannedFault, parts: FaultParts) => Promise<Outcome>

export async function carryOut(fault: PlannedFault, parts: FaultParts): Promise<FaultRecord> {
  const { kind, how } = fault
  const atMs = parts.elapsed()
  const met = await byKind[kind](fault, parts)
  const known = { kind, how, atMs, lastedMs: parts.elapsed() - atMs, isDone: met !== null }
  return { ...known, ...(met ?? { target: '', outcome: 'there was nothing to meet' }) }
}

const byKind: Readonly<Record<FaultKind, CarryOut>> = {
  async cut(fault, parts) {
    const isAuthor = fault.how === 'right after sending'
    const window = await drawn(fault, parts, (one) => !isAuthor || one.record.isWriter)
    if (!window) return null
    if (isAuthor) {
      window.publish('<p>sent just before the cut</p>')
      // Up to a few ms: between leaving and being answered, or in the very turn in which it is sent.
      if (fault.lastsMs > 1) await parts.pause(fault.lastsMs)
    }
    const isCut =
      fault.how === 'while it resumes'
        ? window.cutInResume((fault.draw * 1000) % 2 < 1 ? 'asked' : 'welcomed')
        : window.cut()
    return isCut ? { target: window.record.name, outcome: 'cut' } : null
  },

  async stall(fault, parts) {
    const isOverflow = fault.how === 'until its queue overflows'
    const isFit = (one: FleetWindow) =>
      !one.isStalled() && (!isOverflow || (one.mode.isPush && !one.record.isWriter))
    const window = await drawn(fault, parts, isFit)
    if (!window) return null
    window.stall()
    const over = isOverflow
      ? burst(authorFor(window, parts.windows), fault.lastsMs, parts.pause)
      : parts.pause(fault.lastsMs)
    await over.finally(window.readOn)
    return { target: window.record.name, outcome: 'read on' }
  },

  async restart(_fault, { server }) {
    await server.restart()
    return { target: 'server', outcome: `life ${server.life()}` }
  },

  async kill(_fault, { server }) {
    await server.kill()
    return { target: 'server', outcome: `life ${server.life()}` }
  },

  async flood({ how, lastsMs, draw }, parts) {
    if (!(await serverIsUp(parts))) return null
    const window = `flood-${Math.floor(draw * 1e9).toString(36)}`
    const outcome = await parts.flooder.flood({ ...parts.target, mode: how, lastsMs, window })
    return { target: how, outcome }
  },

  async 'broken input'({ how }, parts) {
    if (!(await serverIsUp(parts))) return null
    const { got, wanted } = await sendBroken(how, parts.target)
    if (got.startsWith('unreachable')) return null
    return { target: how, outcome: got === wanted ? got : `${got}, wanted ${wanted}` }
  },
}

/** The draw takes one of those whom it can meet at that moment; waits while there is none. */
async function drawn(
  { draw }: PlannedFault,
  { windows, elapsed, endsAtMs, spareMs, pause }: FaultParts,
  isFit: (window: FleetWindow) => boolean,
): Promise<FleetWindow | undefined> {
  while (elapsed() < endsAtMs) {
    const fit = windows.filter((window) => window.openForMs() > spareMs && isFit(window))
    // Of those who have been open for long: the fault meets all of them in turns, and nobody again and again.
    const older = fit
      .toSorted((one, other) => other.openForMs() - one.openForMs())
      .slice(0, Math.ceil(fit.length / 2))
    if (older.length > 0) return older[Math.floor(draw * older.length)]
    await pause(lookMs.least + draw * lookMs.spread)
  }
  return undefined
}

async function serverIsUp({ server, elapsed, endsAtMs, pause }: FaultParts): Promise<boolean> {
  while (!server.isUp() && elapsed() < endsAtMs) await pause(lookMs.least)
  return server.isUp()
}

function authorFor(reader: FleetWindow, windows: readonly FleetWindow[]): FleetWindow | undefined {
  return windows.find(({ record }) => record.isWriter && record.channel === reader.record.channel)
}

/** More than the queue and all buffers on the way hold together, at a pace that whoever reads can keep up with. */
const burstOf = { messages: 340, characters: 24_000 }

/** Publishes for as long as the stall lasts. */
async function burst(
  author: FleetWindow | undefined,
  lastsMs: number,
  pause: FaultParts['pause'],
): Promise<void> {
  const html = 'x'.repeat(burstOf.characters)
  for (let count = 0; count < burstOf.messages; count += 1) {
    author?.publish(html)
    await pause(lastsMs / burstOf.messages)
  }
}

export const brokenKinds = Object.keys(brokenInputs)
