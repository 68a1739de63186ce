// Says what a resilience run is at: a line that moves on a terminal, one every few seconds elsewhere.

import type { FaultRecord } from './record.ts'
import { countFaults } from './summary.ts'
import type { FleetWindow } from './window.ts'

interface Output {
  readonly isTTY?: boolean
  readonly write: (text: string) => unknown
}

export interface ResilienceProgress {
  readonly say: (sentence: string) => void
  readonly fault: (fault: FaultRecord) => void
  /** Tells of these windows from now on, until the returned function is called. */
  readonly follow: (windows: readonly FleetWindow[], elapsed: () => number, seconds: number) => () => void
}

const clearLine = '\r\x1b[2K'
const terminalEveryMs = 250
const elsewhereEveryMs = 5000

export function createResilienceProgress(output: Output): ResilienceProgress {
  const faults: FaultRecord[] = []

  function say(sentence: string): void {
    if (output.isTTY) output.write(clearLine)
    output.write(`  ${sentence}\n`)
  }

  return {
    say,
    fault(fault) {
      faults.push(fault)
      const { kind, atMs, lastedMs, outcome } = fault
      if (kind !== 'restart' && kind !== 'kill') return
      const what = kind === 'kill' ? 'kill -9' : 'restart'
      say(`${seconds(atMs).padStart(7)}  ${what.padEnd(8)} up again after ${seconds(lastedMs)}, ${outcome}`)
    },
    follow(windows, elapsed, wholeSeconds) {
      const tell = () => {
        const line = lineFor(windows, faults, elapsed(), wholeSeconds)
        output.write(output.isTTY ? `${clearLine}  ${line}` : `  ${line}\n`)
      }
      const timer = setInterval(tell, output.isTTY ? terminalEveryMs : elsewhereEveryMs)
      return () => clearInterval(timer)
    },
  }
}

function lineFor(
  windows: readonly FleetWindow[],
  faults: readonly FaultRecord[],
  elapsedMs: number,
  wholeSeconds: number,
): string {
  const open = windows.filter((window) => window.isOpen()).length
  const { cuts, restarts, kills, stalls, floods, brokenInputs } = countFaults(
    faults,
    windows.map(({ record }) => record),
  )
  const accepted = windows.reduce((sum, { record }) => sum + record.accepted.size, 0)
  const time = `${seconds(elapsedMs).padStart(7)} of ${wholeSeconds} s`
  const brought = `${cuts} cuts, ${restarts} restarts, ${kills} kills, ${stalls} stalls, ${floods} floods, ${brokenInputs} broken inputs`
  return `${time}  ${open}/${windows.length} open  ${accepted} accepted  ${brought}`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
