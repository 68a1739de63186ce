// Draws intervals in rows against upright lines of reference: differences against 0, ratios against 1 and a goal.

import * as Plot from '@observablehq/plot'
import { figure } from '../format.ts'
import { rowName } from './names.ts'
import { inRows } from './rows.ts'
import { svg } from './svg.ts'

export interface IntervalRow {
  readonly label: string
  readonly point: number
  readonly interval: readonly [number, number]
  /** Filled where true, hollow where not. */
  readonly isDecided: boolean
  /** The same within each block, as small uprights. */
  readonly blocks: readonly number[]
}

interface Look {
  readonly width: number
  readonly axis: string
  /** The first is drawn in full, the others dashed. */
  readonly references: readonly number[]
  /** Shades so much to either side of 0; 0 for no shade. */
  readonly shadedTo: number
}

const rowHeight = 58

export function intervals(rows: readonly IntervalRow[], { width, axis, references, shadedTo }: Look): string {
  const placed = rows.map((row, place) => ({
    ...row,
    y: place + 0.68,
    low: row.interval[0],
    high: row.interval[1],
  }))
  const blocks = placed.flatMap(({ blocks, y }) => blocks.map((x) => ({ x, from: y - 0.13, to: y + 0.13 })))
  return svg({
    width,
    ...inRows(rows.length, rowHeight),
    x: {
      label: axis,
      labelAnchor: 'center',
      labelArrow: 'none',
      grid: true,
      domain: domainOf(rows, shadedTo > 0 ? [...references, -shadedTo, shadedTo] : references),
      ticks: width < 500 ? 5 : 9,
      tickFormat: tick,
    },
    marks: [
      shadedTo > 0 ? Plot.rectX([0], { x1: -shadedTo, x2: shadedTo, fill: 'var(--shade)' }) : null,
      references.map((x, place) =>
        Plot.ruleX([x], {
          stroke: 'var(--ink)',
          strokeWidth: 1.2,
          ...(place > 0 ? { strokeDasharray: '4 3' } : {}),
        }),
      ),
      Plot.link(blocks, { x1: 'x', x2: 'x', y1: 'from', y2: 'to', stroke: 'var(--soft)', strokeWidth: 1.2 }),
      Plot.link(placed, {
        x1: 'low',
        x2: 'high',
        y1: 'y',
        y2: 'y',
        stroke: 'var(--accent)',
        strokeWidth: 2.5,
      }),
      Plot.dot(placed, {
        x: 'point',
        y: 'y',
        r: 5,
        fill: ({ isDecided }) => (isDecided ? 'var(--accent)' : 'var(--paper)'),
        stroke: 'var(--accent)',
        strokeWidth: 2,
      }),
      Plot.text(placed, {
        y: (row) => row.y - 0.42,
        text: 'label',
        ...rowName,
      }),
    ],
  })
}

/** Holds all that is drawn, with some room to either side. */
function domainOf(rows: readonly IntervalRow[], marks: readonly number[]): [number, number] {
  const drawn = [...marks, ...rows.flatMap(({ point, interval, blocks }) => [point, ...interval, ...blocks])]
  const [low, high] = [Math.min(...drawn), Math.max(...drawn)]
  const room = (high - low) / 20 || 1
  return [low - room, high + room]
}

function tick(value: number): string {
  return value === 0 ? '0' : figure(value).replace(/\.?0+$/, '')
}
