// One mode in figures: how many samples arrived, how long they took, what went wrong, what the server spent.

import type { Run, Sample } from '../samples.ts'
import { hasArrived, transmissionMs } from './messages.ts'
import { rounded, significant } from './significant.ts'
import { type Stages, stagesOf } from './stages.ts'
import { type Figures, summarise } from './summary.ts'

/** Times in ms over all samples, (message, receiving window); null where nothing arrived to take it from. */
export interface ModeSummary extends Stages {
  readonly mode: string
  /** Samples received. */
  readonly n: number
  /** Samples that should have been: messages times receiving windows. */
  readonly expected: number
  /** Samples never received. */
  readonly lost: number
  /** Samples received more than once. */
  readonly duplicated: number
  /** Samples received after one that was sent later. */
  readonly reordered: number
  readonly meanMs: number | null
  readonly sdMs: number | null
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  readonly p99Ms: number | null
  readonly minMs: number | null
  readonly maxMs: number | null
  readonly serverCpuMs: number | null
  readonly serverRssBytes: number | null
}

/** The figures of one mode of the run. */
export function summariseMode(run: Run, mode: string): ModeSummary {
  const samples = run.samples.filter((sample) => sample.mode === mode)
  const times = samples.filter(hasArrived).map(transmissionMs)
  return {
    mode,
    n: times.length,
    expected: samples.length,
    ...faults(samples),
    ...timesInMs(times.length === 0 ? undefined : summarise(times)),
    ...spent(run, mode),
    ...roundedStages(stagesOf(samples, run.clock)),
  }
}

function faults(samples: readonly Sample[]) {
  return {
    lost: samples.filter((sample) => !hasArrived(sample)).length,
    duplicated: samples.filter((sample) => sample.copies > 1).length,
    reordered: samples.filter((sample) => sample.reordered).length,
  }
}

function timesInMs(figures: Figures | undefined) {
  const inMs = (figure: Exclude<keyof Figures, 'n'>) => significant(figures?.[figure] ?? Number.NaN)
  return {
    meanMs: inMs('mean'),
    sdMs: inMs('sd'),
    p50Ms: inMs('p50'),
    p95Ms: inMs('p95'),
    p99Ms: inMs('p99'),
    minMs: inMs('min'),
    maxMs: inMs('max'),
  }
}

function spent({ serverUse }: Run, mode: string) {
  const use = serverUse[mode]
  return {
    serverCpuMs: significant(use?.cpuMs ?? Number.NaN),
    serverRssBytes: significant(use?.rssBytes ?? Number.NaN),
  }
}

function roundedStages(stages: Stages): Stages {
  return Object.fromEntries(Object.entries(stages).map(([name, value]) => [name, rounded(value)]))
}
