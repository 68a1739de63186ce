// The run in a screen's width: a row for each cell, then the checks.

import type { CellSummary } from '../../lab/windcomm/cells.ts'
import type { Check } from '../../lab/windcomm/checks.ts'
import type { WindSummary } from '../../lab/windcomm/summary.ts'
import { placeName } from '../../lab/windcomm/words.ts'
import { count, figure, spread } from '../format.ts'
import { checkFound } from './checks.ts'

const columns: readonly (readonly [title: string, cell: (cell: CellSummary) => string])[] = [
  ['Site', ({ site }) => placeName(site)],
  ['Mode', ({ mode }) => mode],
  ['Received', ({ n, expected }) => `${count(n)} of ${count(expected)}`],
  ['Mean ± sd, ms', ({ meanMs, sdMs }) => spread(meanMs, sdMs)],
  ['Median', ({ medianMs }) => figure(medianMs)],
  ['p99', ({ p99Ms }) => figure(p99Ms)],
  ['Ratio', ({ ratioToWebsocket }) => figure(ratioToWebsocket)],
]

export function terminalTable({ cells, checks }: Pick<WindSummary, 'cells' | 'checks'>): string {
  const rows = [
    columns.map(([title]) => title),
    ...cells.map((cell) => columns.map(([, text]) => text(cell))),
  ]
  const widths = columns.map((_, place) => Math.max(...rows.map((row) => row[place]?.length ?? 0)))
  const aligned = (cell: string, place: number) =>
    place < 2 ? cell.padEnd(widths[place] ?? 0) : cell.padStart(widths[place] ?? 0)
  const table = rows.map((row) => `  ${row.map(aligned).join('  ')}`)
  return [...table, '', ...checks.map(checkLine)].join('\n')
}

function checkLine(check: Check): string {
  const { site, what, wanted, holds } = check
  const where = site === null ? '' : `${placeName(site)}: `
  return `  ${holds ? 'yes' : 'NO '}  ${where}${what}: ${checkFound(check)}, wanted ${wanted}`
}
