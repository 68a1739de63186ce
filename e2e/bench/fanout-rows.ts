// From the turns of all contenders to the rows that are printed.

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
  /** The server process's own, over all rounds; and the least and the most of a round. */
  readonly cpuMicrosPerDelivery: number | null
  readonly cpuMicrosMin: number | null
  readonly cpuMicrosMax: number | null
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** To the bare `ws` relay; null where that did not take part. */
  readonly ratioToWs: number | null
  readonly p50RatioToWs: number | null
  readonly p99RatioToWs: number | null
  readonly rounds: number
}

type Named = Pick<Contender, 'name' | 'perBrowser'>

export function fanoutRows(measured: ReadonlyMap<Named, readonly RoundFigures[]>): FanoutRow[] {
  const rows = Array.from(measured, ([contender, rounds]) => rowOf(contender, rounds))
  const ws = rows.find(({ mode }) => mode === 'ws')
  return rows.map((row) => ({
    ...row,
    ratioToWs: ratio(row.cpuMicrosPerDelivery, ws?.cpuMicrosPerDelivery),
    p50RatioToWs: ratio(row.p50Ms, ws?.p50Ms),
    p99RatioToWs: ratio(row.p99Ms, ws?.p99Ms),
  }))
}

function rowOf({ name, perBrowser }: Named, rounds: readonly RoundFigures[]) {
  const sum = (of: (round: RoundFigures) => number) => rounds.reduce((total, round) => total + of(round), 0)
  const n = sum((round) => round.n)
  const latencies = sortedLatencies(rounds.flatMap(({ latenciesMs }) => latenciesMs))
  const micros = rounds.map((round) => (round.cpuMs * 1000) / round.n)
  return {
    mode: name,
    perBrowser,
    n,
    lost: sum((round) => round.lost),
    duplicated: sum((round) => round.duplicated),
    reordered: sum((round) => round.reordered),
    cpuMicrosPerDelivery: figure((sum((round) => round.cpuMs) * 1000) / n),
    cpuMicrosMin: figure(Math.min(...micros)),
    cpuMicrosMax: figure(Math.max(...micros)),
    p50Ms: figure(percentile(latencies, 0.5)),
    p99Ms: figure(percentile(latencies, 0.99)),
    rounds: rounds.length,
  }
}

/** Rounded to what can be meant; null where nothing arrived. */
function figure(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(5)) : null
}

function ratio(value: number | null, ws: number | null | undefined): number | null {
  return value === null || !ws ? null : figure(value / ws)
}

/** The rows for people. `sharing` is null for a contender whose windows share nothing. */
export function fanoutTable(rows: readonly FanoutRow[], sharing: readonly (number | null)[]): string {
  const head = ['mode', 'per browser', 'n', 'lost', 'CPU µs', 'range', '× ws', 'p50 ms', '× ws', 'p99 ms', '× ws']
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
      decimals(row.p50Ms, 2),
      decimals(row.p50RatioToWs, 2),
      decimals(row.p99Ms, 2),
      decimals(row.p99RatioToWs, 2),
    ]),
  )
}
