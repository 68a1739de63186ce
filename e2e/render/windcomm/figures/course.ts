// Draws a site's run through its time, a panel for each mode, with the stalls of the way down shaded through all of them.

import * as Plot from '@observablehq/plot'
import { panelName } from '../../figures/names.ts'
import { asOnePath, svg } from '../../figures/svg.ts'
import { roundAxis } from './round-axis.ts'

export interface CourseRow {
  readonly label: string
  /** CSS colour. */
  readonly colour: string
  readonly values: readonly { readonly atSeconds: number; readonly ms: number }[]
}

/** From one second of the run to another. */
export type Stretch = readonly [fromSeconds: number, toSeconds: number]

const panelHeight = 92

export function courseOf(rows: readonly CourseRow[], stalls: readonly Stretch[], width: number): string {
  const isNarrow = width < 500
  const labels = rows.map(({ label }) => ({ label }))
  const axis = roundAxis(rows.flatMap(({ values }) => values.map(({ ms }) => ms)))
  const wide = stalls.map((stall) => visible(stall, lengthOf(rows) / width))
  const shades = labels.flatMap(({ label }) => wide.map(([from, to]) => ({ label, from, to })))
  return svg({
    width,
    height: rows.length * panelHeight + 60,
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
      Plot.text(labels, {
        fy: 'label',
        text: 'label',
        dy: -3,
        ...panelName,
      }),
    ],
  })
}

/** Seconds of the run. */
function lengthOf(rows: readonly CourseRow[]): number {
  return Math.max(0, ...rows.map(({ values }) => values.at(-1)?.atSeconds ?? 0))
}

/** At least three pixels wide. */
function visible([from, to]: Stretch, secondsPerPixel: number): Stretch {
  const missing = Math.max(0, 3 * secondsPerPixel - (to - from)) / 2
  return [from - missing, to + missing]
}
