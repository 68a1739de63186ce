// Draws a row for each method at each site: the paper's tests as hollow dots, this run's mean as a filled one.

import * as Plot from '@observablehq/plot'
import { rowName } from '../../figures/names.ts'
import { inRows } from '../../figures/rows.ts'
import { svg } from '../../figures/svg.ts'
import { roundAxis } from './round-axis.ts'

export interface BesideRow {
  readonly label: string
  /** Behind the label; empty for nothing. */
  readonly note: string
  /** Ms; null where nothing arrived. */
  readonly here: number | null
  readonly paper: readonly number[]
}

const rowHeight = 40

export function besideThePaper(rows: readonly BesideRow[], width: number): string {
  const here = rows.flatMap((row, place) => (row.here === null ? [] : [{ ms: row.here, y: place + 0.72 }]))
  const paper = rows.flatMap((row, place) => row.paper.map((ms) => ({ ms, y: place + 0.72 })))
  const axis = roundAxis([...here, ...paper].map(({ ms }) => ms))
  return svg({
    width,
    ...inRows(rows.length, rowHeight),
    x: { ...axis, grid: true, label: 'ms', labelAnchor: 'right' },
    marks: [
      Plot.ruleY(
        rows.map((_, place) => place + 0.72),
        { stroke: 'var(--line)', strokeWidth: 1 },
      ),
      Plot.dot(paper, {
        x: 'ms',
        y: 'y',
        r: 5,
        fill: 'var(--paper)',
        stroke: 'var(--peer)',
        strokeWidth: 1.8,
      }),
      Plot.dot(here, {
        x: 'ms',
        y: 'y',
        r: 5,
        fill: 'var(--accent)',
        stroke: 'var(--paper)',
        strokeWidth: 1,
      }),
      Plot.text(rows, {
        y: (_row, place) => place + 0.3,
        text: ({ label, note }) => (note === '' ? label : `${label}   ${note}`),
        ...rowName,
      }),
    ],
  })
}
