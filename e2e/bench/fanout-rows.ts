// From the turns of all contenders to the rows that are printed.

import { median } from '../lab/stats/summary.ts'
import type { Contender } from './contender.ts'
import { decimals, textTable } from './table.ts'
import { percentile, sortedLatencies, type Tallied } from './tallied.ts'

/** One contender's turn in one round. */
export interface RoundFigures extends Tallied {
  readonly cpuMs: number
}

export interface FanoutRow {
  readonly mode: string
  readonly perBrowser: number
  readonly n: number
  readonly lost: number
  readonly duplicated: number
  readonly reordered: number
  /** The server process's own: median of the rounds, which one disturbed round does not move; the least, the most. */
  readonly cpuMicrosPerDelivery: number | null
  readonly cpuMicrosMin: number | null
  readonly cpuMicrosMax: number | null
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** To the bare `ws` relay, null where that did not take part: CPU as the median of the ratios within each round. */
  readonly ratioToWs: number | null
  readonly ratioToWsMin: number | null
  readonly ratioToWsMax: number | null
  readonly p50RatioToWs: number | null
  readonly p99RatioToWs: number | null
  readonly rounds: number
}

type Named = Pick<Contender, 'name' | 'perBrowser'>

export function fanoutRows(measured: ReadonlyMap<Named, readonly RoundFigures[]>): FanoutRow[] {
  const wsRounds = [...measured].find(([{ name }]) => name === 'ws')?.[1]
  const ws = wsRounds && latenciesOf(wsRounds)
  return Array.from(measured, ([contender, rounds]) => {
    const own = latenciesOf(rounds)
    const ratios = wsRounds ? rounds.map((round, place) => microsOf(round) / microsOf(wsRounds[place])) : []
    return {
      mode: contender.name,
      perBrowser: contender.perBrowser,
      ...countsOf(rounds),
      ...spread('cpuMicrosPerDelivery', 'cpuMicrosMin', 'cpuMicrosMax', rounds.map(microsOf)),
      p50Ms: figure(own.p50),
      p99Ms: figure(own.p99),
      ...spread('ratioToWs', 'ratioToWsMin', 'ratioToWsMax', ratios),
      p50RatioToWs: figure(own.p50 / (ws?.p50 ?? Number.NaN)),
      p99RatioToWs: figure(own.p99 / (ws?.p99 ?? Number.NaN)),
      rounds: rounds.length,
    }
  })
}

function microsOf(round: RoundFigures | undefined): number {
  return round === undefined ? Number.NaN : (round.cpuMs * 1000) / round.n
}

function latenciesOf(rounds: readonly RoundFigures[]) {
  const sorted = sortedLatencies(rounds.flatMap(({ latenciesMs }) => latenciesMs))
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) }
}

function countsOf(rounds: readonly RoundFigures[]) {
  const sum = (of: (round: RoundFigures) => number) => rounds.reduce((total, round) => total + of(round), 0)
  return {
    n: sum(({ n }) => n),
    lost: sum(({ lost }) => lost),
    duplicated: sum(({ duplicated }) => duplicated),
    reordered: sum(({ reordered }) => reordered),
  }
}

/** Median, least and most under those names; rounds in which nothing arrived say nothing. */
function spread<Middle extends string, Least extends string, Most extends string>(
  middle: Middle,
  least: Least,
  most: Most,
  values: readonly number[],
) {
  const known = values.filter(Number.isFinite)
  const none = known.length === 0
  return {
    [middle]: none ? null : figure(median(known)),
    [least]: none ? null : figure(Math.min(...known)),
    [most]: none ? null : figure(Math.max(...known)),
  } as Record<Middle | Least | Most, number | null>
}

/** Rounded to what can be meant; null where nothing arrived. */
function figure(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(5)) : null
}

/** The rows for people. `sharing` is null for a contender whose windows share nothing. */
export function fanoutTable(rows: readonly FanoutRow[], sharing: readonly (number | null)[]): string {
  const head = [
    'mode',
    'per browser',
    'n',
    'lost',
    'CPU µs',
    'range',
    '× ws',
    'range',
    'p50 ms',
    '× ws',
    'p99 ms',
    '× ws',
  ]
  return textTable(
    head,
    rows.map((row, place) => [
      row.mode,
      sharing[place] == null ? 'any' : String(sharing[place]),
      String(row.n),
      String(row.lost),
      decimals(row.cpuMicrosPerDelivery, 2),
      `${decimals(row.cpuMicrosMin, 1)}–${decimals(row.cpuMicrosMax, 1)}`,
      decimals(row.ratioToWs, 2),
      `${decimals(row.ratioToWsMin, 2)}–${decimals(row.ratioToWsMax, 2)}`,
      decimals(row.p50Ms, 2),
      decimals(row.p50RatioToWs, 2),
      decimals(row.p99Ms, 2),
      decimals(row.p99RatioToWs, 2),
    ]),
  )
}
