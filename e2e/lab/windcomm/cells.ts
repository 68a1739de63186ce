// One method at one site in figures: how many readings arrived, how long they took, how many times WebSocket's time.

import { effectiveSize } from '../stats/effective-size.ts'
import { pairedRatio } from '../stats/paired-series.ts'
import { rounded, significant } from '../stats/significant.ts'
import { type Figures, summarise } from '../stats/summary.ts'
import { baseline } from './methods.ts'
import { cellOf, hasArrived, latencyMs, type Site, type WindRun, type WindSample } from './run.ts'

/** Times in ms; null where nothing arrived to take them from. */
export interface CellSummary {
  readonly site: string
  readonly mode: string
  readonly windows: Site['windows']
  /** Readings received. */
  readonly n: number
  /** Readings that were sent while this window counted. */
  readonly expected: number
  readonly lost: number
  readonly duplicated: number
  readonly reordered: number
  readonly meanMs: number | null
  readonly sdMs: number | null
  readonly medianMs: number | null
  readonly p95Ms: number | null
  readonly p99Ms: number | null
  readonly minMs: number | null
  readonly maxMs: number | null
  /** So many independent readings would say as much of the mean (`stats/effective-size.ts`). */
  readonly effectiveN: number | null
  /** Mean over WebSocket's mean at this site, over the readings that both received. */
  readonly ratioToWebsocket: number | null
  readonly ratioToWebsocketCi95: readonly [number, number] | null
}

export function summariseCell(run: WindRun, { name, windows }: Site, mode: string): CellSummary {
  const samples = cellOf(run, name, mode)
  const times = samples.filter(hasArrived).map(latencyMs)
  return {
    site: name,
    mode,
    windows,
    n: times.length,
    expected: samples.length,
    lost: samples.length - times.length,
    duplicated: samples.filter(({ copies }) => copies > 1).length,
    reordered: samples.filter(({ reordered }) => reordered).length,
    ...figuresOf(times.length === 0 ? undefined : summarise(times)),
    effectiveN: times.length === 0 ? null : Math.round(effectiveSize(times)),
    ...ratioOf(run, name, mode),
  }
}

function figuresOf(figures: Figures | undefined) {
  const inMs = (figure: Exclude<keyof Figures, 'n'>) => significant(figures?.[figure] ?? Number.NaN)
  return {
    meanMs: inMs('mean'),
    sdMs: inMs('sd'),
    medianMs: inMs('p50'),
    p95Ms: inMs('p95'),
    p99Ms: inMs('p99'),
    minMs: inMs('min'),
    maxMs: inMs('max'),
  }
}

function ratioOf(run: WindRun, site: string, mode: string) {
  const { first, second } = latenciesOfBoth(run, site, mode, baseline)
  if (first.length < 2) return { ratioToWebsocket: null, ratioToWebsocketCi95: null }
  const { ratio, interval } = pairedRatio(first, second)
  const [low, high] = interval
  return {
    ratioToWebsocket: rounded(ratio),
    ratioToWebsocketCi95: mode === baseline ? null : ([rounded(low), rounded(high)] as const),
  }
}

/** Latencies of the readings that both modes received at a site, in ms and in the readings' order: place by place the same one. */
export function latenciesOfBoth(run: WindRun, site: string, one: string, other: string) {
  const others = cellOf(run, site, other)
  const pairs = cellOf(run, site, one).flatMap((sample, place) => bothOf(sample, others[place]))
  return { first: pairs.map(([first]) => first), second: pairs.map(([, second]) => second) }
}

function bothOf(one: WindSample, other: WindSample | undefined): readonly (readonly [number, number])[] {
  return other && hasArrived(one) && hasArrived(other) ? [[latencyMs(one), latencyMs(other)]] : []
}
