// Draws what was measured against what was expected: the formula as an upright, the model's runs as a bar, the measured as a dot.

import * as Plot from '@observablehq/plot'
import { rowName } from '../../figures/names.ts'
import { inRows } from '../../figures/rows.ts'
import { svg } from '../../figures/svg.ts'
import { roundAxis } from './round-axis.ts'

export interface ExpectedRow {
  readonly label: string
  /** Ms; null for what is not known. */
  readonly measured: number | null
  readonly formula: number | null
  /** The paper's worst case, dotted. */
  readonly worst: number | null
  /** Least and largest mean of the model's runs. */
  readonly model: readonly [number, number]
}

const rowHeight = 46
const middle = 0.7
const half = 0.16

export function expectedOf(rows: readonly ExpectedRow[], width: number): string {
  const placed = rows.map((row, place) => ({ ...row, y: place + middle }))
  const axis = roundAxis(
    rows.flatMap(({ measured, formula, worst, model }) =>
      [measured, formula, worst, ...model].filter((ms) => ms !== null),
    ),
  )
  const uprights = (pick: (row: ExpectedRow) => number | null) =>
    placed.flatMap((row) => {
      const ms = pick(row)
      return ms === null ? [] : [{ ms, from: row.y - half, to: row.y + half }]
    })
  const upright = { x1: 'ms', x2: 'ms', y1: 'from', y2: 'to', stroke: 'var(--ink)', strokeWidth: 2 } as const
  return svg({
    width,
    ...inRows(rows.length, rowHeight),
    x: { ...axis, grid: true, label: 'ms', labelAnchor: 'right' },
    marks: [
      Plot.rect(placed, {
        x1: ({ model }) => model[0],
        x2: ({ model }) => model[1],
        y1: ({ y }) => y - half,
        y2: ({ y }) => y + half,
        fill: 'var(--shade)',
        stroke: 'var(--soft)',
        strokeWidth: 0.6,
      }),
      Plot.link(
        uprights(({ formula }) => formula),
        upright,
      ),
      Plot.link(
        uprights(({ worst }) => worst),
        { ...upright, strokeDasharray: '2 3' },
      ),
      Plot.dot(
        placed.filter(({ measured }) => measured !== null),
        { x: 'measured', y: 'y', r: 5, fill: 'var(--accent)', stroke: 'var(--paper)', strokeWidth: 1 },
      ),
      Plot.text(placed, {
        y: ({ y }) => y - 0.4,
        text: 'label',
        ...rowName,
      }),
    ],
  })
}
