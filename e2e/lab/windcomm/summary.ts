// From a WindComm run to its summary: everything that its report says in figures, as summary.json holds it.

import type { Environment } from '../samples.ts'
import { rounded } from '../stats/significant.ts'
import { summarise } from '../stats/summary.ts'
import { type CellSummary, summariseCell } from './cells.ts'
import { type Check, checksOf } from './checks.ts'
import { largestErrorMs } from './clocks.ts'
import { findingOf } from './finding.ts'
import { type TestSummary, testsOf } from './hypotheses.ts'
import { type LinkUse, largestLatenessMs } from './links.ts'
import { baseline } from './methods.ts'
import { predictionsOf, type SitePrediction } from './predictions.ts'
import { remarksOf } from './remarks.ts'
import type { Pace, RunClock, Site, WindRun } from './run.ts'

/** From the frame's first byte at the host until the server had the reading, ms: not part of any latency. */
export interface SerialLine {
  readonly meanMs: number
  readonly sdMs: number
  readonly p99Ms: number
  readonly maxMs: number
}

export interface WindSummary extends Pace {
  readonly scenario: 'windcomm'
  readonly command: string
  readonly startedAt: string
  readonly finishedAt: string
  readonly environment: Environment
  readonly parameters: WindRun['parameters']
  readonly baseline: string
  readonly modes: readonly string[]
  readonly readings: number
  readonly warmUpReadings: number
  readonly finding: string
  readonly checks: readonly Check[]
  readonly cells: readonly CellSummary[]
  readonly tests: readonly TestSummary[]
  readonly predictions: readonly SitePrediction[]
  /** Where the measured and the paper part, and why. */
  readonly remarks: readonly string[]
  readonly clock: RunClock & { readonly largestErrorMs: number }
  readonly serialLine: SerialLine | null
  /** Networks as they were run, with their seeds. */
  readonly sites: readonly Site[]
  readonly links: readonly LinkUse[]
  readonly serverCpuMs: number
}

/** The same run always gives the same summary. */
export function analyse(run: WindRun): WindSummary {
  const cells = run.sites.flatMap((site) => run.modes.map((mode) => summariseCell(run, site, mode)))
  const tests = testsOf(run)
  const predictions = predictionsOf(run, cells)
  const { faster, intervalMs } = run
  const latenessMs = largestLatenessMs(run.links)
  const found = {
    cells,
    tests,
    predictions,
    faster,
    latenessMs,
    intervalMs,
    betweenReadingsMs: 1000 / run.rateHz,
  }
  return {
    scenario: 'windcomm',
    ...circumstancesOf(run),
    finding: findingOf(found),
    checks: checksOf(run, found),
    cells,
    tests,
    predictions,
    remarks: remarksOf(found),
    clock: { ...roundedClock(run.clock), largestErrorMs: rounded(largestErrorMs(run)) },
    serialLine: serialLineOf(run),
    sites: run.sites,
    links: run.links,
    serverCpuMs: rounded(run.serverCpuMs),
  }
}

/** What was lost, repeated or reordered anywhere. */
export function faultsIn({ cells }: Pick<WindSummary, 'cells'>): number {
  return cells.reduce((sum, { lost, duplicated, reordered }) => sum + lost + duplicated + reordered, 0)
}

function circumstancesOf(run: WindRun) {
  const { command, startedAt, finishedAt, environment, parameters, modes, warmUpReadings } = run
  const { rateHz, holdMs, intervalMs, faster } = run
  const pace = { rateHz, holdMs, intervalMs, faster }
  const when = { command, startedAt, finishedAt, environment, parameters }
  return { ...when, ...pace, baseline, modes, readings: run.readings.length, warmUpReadings }
}

function roundedClock({ before, after }: RunClock): RunClock {
  const round = (clocks: RunClock['before']) =>
    clocks.map(({ name, offsetMs, boundMs, errorMs }) => ({
      name,
      offsetMs: rounded(offsetMs),
      boundMs: rounded(boundMs),
      errorMs: rounded(errorMs),
    }))
  return { before: round(before), after: round(after) }
}

function serialLineOf({ readings }: WindRun): SerialLine | null {
  if (readings.length === 0) return null
  const { mean, sd, p99, max } = summarise(readings.map(({ at, acceptedAt }) => acceptedAt - at))
  const known = (value: number) => (Number.isFinite(value) ? rounded(value) : 0)
  return { meanMs: known(mean), sdMs: known(sd), p99Ms: known(p99), maxMs: known(max) }
}
