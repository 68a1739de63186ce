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
  /** Rejects when the run is stopped. */
  readonly pause: (ms: number) => Promise<void>
}

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
  async cut(fault, { windows, pause }) {
    const isAuthor = fault.how === 'right after sending'
    const window = drawn(fault, windows, (one) => one.isOpen() && (!isAuthor || one.record.isWriter))
    if (!window) return null
    if (isAuthor) {
      window.publish('<p>sent just before the cut</p>')
      // Up to a few ms: between leaving and being answered, or in the very turn in which it is sent.
      if (fault.lastsMs > 1) await pause(fault.lastsMs)
    }
    const isCut =
      fault.how === 'while it resumes'
        ? window.cutInResume((fault.draw * 1000) % 2 < 1 ? 'asked' : 'welcomed')
        : window.cut()
    return isCut ? { target: window.record.name, outcome: 'cut' } : null
  },

  async stall(fault, { windows, pause }) {
    const isOverflow = fault.how === 'until its queue overflows'
    const isFit = (one: FleetWindow) =>
      one.isOpen() && !one.isStalled() && (!isOverflow || (one.mode.isPush && !one.record.isWriter))
    const window = drawn(fault, windows, isFit)
    if (!window) return null
    window.stall()
    if (isOverflow)
      burst(windows.find(({ record }) => record.isWriter && record.channel === window.record.channel))
    await pause(fault.lastsMs).finally(window.readOn)
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

  async flood({ how, lastsMs, draw }, { flooder, target }) {
    const window = `flood-${Math.floor(draw * 1e9).toString(36)}`
    const outcome = await flooder.flood({ ...target, mode: how, lastsMs, window })
    return { target: how, outcome }
  },

  async 'broken input'({ how }, { target }) {
    const { got, wanted } = await sendBroken(how, target)
    const isReached = !got.startsWith('unreachable')
    const outcome = got === wanted || !isReached ? got : `${got}, wanted ${wanted}`
    return isReached ? { target: how, outcome } : null
  },
}

/** Those whom it can meet at that moment, in the order of the windows: the draw takes one of them. */
function drawn(
  { draw }: PlannedFault,
  windows: readonly FleetWindow[],
  isFit: (window: FleetWindow) => boolean,
): FleetWindow | undefined {
  const fit = windows.filter(isFit)
  return fit[Math.floor(draw * fit.length)]
}

/** More than the queue and all buffers on the way hold together. */
const burstOf = { messages: 32, characters: 250_000 }

function burst(author: FleetWindow | undefined): void {
  const html = 'x'.repeat(burstOf.characters)
  for (let count = 0; count < burstOf.messages; count += 1) author?.publish(html)
}

export const brokenKinds = Object.keys(brokenInputs)
