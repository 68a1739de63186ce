// Every method at every site in figures.

import type { CellSummary } from '../../lab/windcomm/cells.ts'
import type { WindSummary } from '../../lab/windcomm/summary.ts'
import { count, figure, interval, nothing, spread } from '../format.ts'
import { number, type Section, text } from '../section.ts'
import { cellLabel, paceNote } from './labels.ts'

export function cellsSection({ cells, readings, faster }: WindSummary): Section {
  return {
    title: 'Every method at every site',
    tables: [
      {
        caption: `One way, in milliseconds; ${count(readings)} readings for each${paceNote(faster)}`,
        columns: [
          text('Site, method'),
          ...['Mean ± sd', 'Ratio, 95 %', 'Median', 'p95', 'p99', 'Max.'].map(number),
          ...['Received', 'Lost, dup., reord.', 'Worth'].map(number),
        ],
        rows: cells.map(row),
      },
    ],
    paragraphs: [
      faultWords(cells),
      'Ratio is mean over WebSocket’s mean at that site, over the readings that both received, with its interval by the delta method on correlated pairs. Worth: so many independent readings would say as much of the mean.',
    ],
  }
}

function row(cell: CellSummary): readonly string[] {
  const { meanMs, sdMs, medianMs, p95Ms, p99Ms, maxMs, ratioToWebsocket, ratioToWebsocketCi95 } = cell
  return [
    cellLabel(cell.site, cell.mode),
    spread(meanMs, sdMs),
    ratioToWebsocketCi95 === null
      ? figure(ratioToWebsocket)
      : `${figure(ratioToWebsocket)} (${interval(ratioToWebsocketCi95).replace(' to ', '–')})`,
    ...[medianMs, p95Ms, p99Ms, maxMs].map(figure),
    count(cell.n),
    [cell.lost, cell.duplicated, cell.reordered].map(count).join(', '),
    cell.effectiveN === null ? nothing : count(cell.effectiveN),
  ]
}

function faultWords(cells: readonly CellSummary[]): string {
  const sum = (figure: 'expected' | 'lost' | 'duplicated' | 'reordered') =>
    cells.reduce((total, cell) => total + cell[figure], 0)
  const [lost, duplicated, reordered] = [sum('lost'), sum('duplicated'), sum('reordered')]
  if (lost + duplicated + reordered === 0)
    return `Of ${count(sum('expected'))} readings at all windows none was lost, none came twice and none came out of order.`
  return `Of ${count(sum('expected'))} readings at all windows ${count(lost)} were lost, ${count(duplicated)} came more than once and ${count(reordered)} came out of order.`
}
