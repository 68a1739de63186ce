// Figures of a WindComm report: means on one axis, and a site's readings over the run.

import * as Plot from '@observablehq/plot'
import { asOnePath, inRows, panelName, rowName, svg, timeAxis } from '../report/charts.ts'

interface MeanRow {
  readonly label: string
  readonly note?: string
  /** Filled dot, ms; null without arrivals. */
  readonly measured: number | null
  /** Hollow dots. */
  readonly others?: readonly number[]
  /** Solid and dotted vertical line. */
  readonly formula?: number | null
  readonly worst?: number | null
  /** Box from the smallest to the largest. */
  readonly range?: readonly [number, number]
}

export function meansFigure(rows: readonly MeanRow[], width: number): string {
  const half = 0.16
  const placed = rows.map((row, place) => ({ ...row, y: place + 0.7 }))
  const pointsOf = (pick: (row: MeanRow) => readonly (number | null | undefined)[]) =>
    placed.flatMap((row) =>
      pick(row)
        .filter((ms) => ms != null)
        .map((ms) => ({ ms, y: row.y, from: row.y - half, to: row.y + half })),
    )
  const drawn = pointsOf(({ measured, others = [], formula, worst, range = [] }) => {
    return [measured, ...others, formula, worst, ...range]
  })
  const upright = { x1: 'ms', x2: 'ms', y1: 'from', y2: 'to', stroke: 'var(--ink)', strokeWidth: 2 } as const
  const dot = { x: 'ms', y: 'y', r: 5 } as const
  return svg({
    width,
    ...inRows(rows.length, 44),
    x: { ...timeAxis(drawn.map(({ ms }) => ms)), grid: true, label: 'ms', labelAnchor: 'right' },
    marks: [
      Plot.rect(
        placed.filter(({ range }) => range),
        {
          x1: ({ range }) => range?.[0],
          x2: ({ range }) => range?.[1],
          y1: ({ y }) => y - half,
          y2: ({ y }) => y + half,
          fill: 'var(--shade)',
          stroke: 'var(--soft)',
          strokeWidth: 0.6,
        },
      ),
      Plot.link(
        pointsOf(({ formula }) => [formula]),
        upright,
      ),
      Plot.link(
        pointsOf(({ worst }) => [worst]),
        { ...upright, strokeDasharray: '2 3' },
      ),
      Plot.dot(
        pointsOf(({ others = [] }) => others),
        { ...dot, fill: 'var(--paper)', stroke: 'var(--peer)', strokeWidth: 1.8 },
      ),
      Plot.dot(
        pointsOf(({ measured }) => [measured]),
        { ...dot, fill: 'var(--accent)', stroke: 'var(--paper)', strokeWidth: 1 },
      ),
      Plot.text(placed, {
        y: ({ y }) => y - 0.4,
        text: ({ label, note = '' }) => `${label}   ${note}`.trimEnd(),
        ...rowName,
      }),
    ],
  })
}

interface CourseRow {
  readonly label: string
  readonly colour: string
  readonly values: readonly { readonly atSeconds: number; readonly ms: number }[]
}

export type Stretch = readonly [fromSeconds: number, toSeconds: number]

/** One panel per mode, with the downstream stalls shaded. */
export function courseFigure(rows: readonly CourseRow[], stalls: readonly Stretch[], width: number): string {
  const isNarrow = width < 500
  const labels = rows.map(({ label }) => ({ label }))
  const axis = timeAxis(rows.flatMap(({ values }) => values.map(({ ms }) => ms)))
  const lengthSeconds = Math.max(0, ...rows.map(({ values }) => values.at(-1)?.atSeconds ?? 0))
  const shaded = stalls.map((stall) => visible(stall, lengthSeconds / width))
  const shades = labels.flatMap(({ label }) => shaded.map(([from, to]) => ({ label, from, to })))
  return svg({
    width,
    height: rows.length * 92 + 60,
    marginLeft: 40,
    marginRight: 8,
    marginTop: 22,
    marginBottom: 40,
    fy: { axis: null, domain: labels.map(({ label }) => label), padding: 0.26 },
    x: { label: 's', labelAnchor: 'right', ticks: isNarrow ? 5 : 10 },
    y: { ...axis, label: null, grid: true },
    marks: [
      Plot.rectX(shades, { x1: 'from', x2: 'to', fy: 'label', fill: 'var(--line)', fillOpacity: 0.7 }),
      ...rows.map(({ label, colour, values }) =>
        Plot.dot(values, {
          x: 'atSeconds',
          y: 'ms',
          fy: () => label,
          render: asOnePath(colour, isNarrow ? 1.4 : 1.8, 0.85),
        }),
      ),
      Plot.text(labels, { fy: 'label', text: 'label', dy: -3, ...panelName }),
    ],
  })
}

/** At least three pixels wide. */
function visible([from, to]: Stretch, secondsPerPixel: number): Stretch {
  const missing = Math.max(0, 3 * secondsPerPixel - (to - from)) / 2
  return [from - missing, to + missing]
}
