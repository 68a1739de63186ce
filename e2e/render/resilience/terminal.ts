// The run in a screen's width: a row for each mode.

import type { ModeSummary, ResilienceSummary } from '../../resilience/summary.ts'
import { count } from '../format.ts'

const columns: readonly (readonly [title: string, cell: (mode: ModeSummary) => string])[] = [
  ['Mode', ({ mode }) => mode],
  ['Windows', ({ windows }) => count(windows)],
  ['Accepted', ({ accepted }) => count(accepted)],
  ['Delivered', ({ n }) => count(n)],
  ['Lost', ({ lost }) => count(lost)],
  ['Twice', ({ duplicated }) => count(duplicated)],
  ['Reordered', ({ reordered }) => count(reordered)],
  ['Cuts', ({ cuts }) => count(cuts)],
  ['Longest outage', ({ longestOutageMs }) => `${(longestOutageMs / 1000).toFixed(1)} s`],
]

export function terminalTable({ modes }: Pick<ResilienceSummary, 'modes'>): string {
  const rows = [
    columns.map(([title]) => title),
    ...modes.map((mode) => columns.map(([, cell]) => cell(mode))),
  ]
  const widths = columns.map((_, place) => Math.max(...rows.map((row) => row[place]?.length ?? 0)))
  const aligned = (cell: string, place: number) =>
    place === 0 ? cell.padEnd(widths[place] ?? 0) : cell.padStart(widths[place] ?? 0)
  return rows.map((row) => `  ${row.map(aligned).join('  ')}`).join('\n')
}
