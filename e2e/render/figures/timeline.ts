// Draws the run through its keys, a small panel for each mode on one axis of time.

import * as Plot from '@observablehq/plot'
import { timeAxis } from './axis.ts'
import { panelName } from './names.ts'
import { asOnePath, svg } from './svg.ts'
import type { ModeTimes } from './times.ts'

export function timeline(times: readonly ModeTimes[], width: number): string {
  const labels = times.map(({ label }) => ({ label }))
  return svg({
    width,
    height: times.length * 118 + 64,
    marginLeft: 34,
    marginRight: 8,
    marginTop: 22,
    marginBottom: 40,
    fy: { axis: null, domain: labels.map(({ label }) => label), padding: 0.22 },
    x: { label: 'key', labelAnchor: 'right', ticks: width < 500 ? 5 : 10 },
    y: { ...timeAxis(times), label: null, grid: true },
    marks: [
      Plot.ruleX(times.flatMap(blockStarts), {
        x: 'key',
        fy: 'label',
        stroke: 'var(--soft)',
        strokeWidth: 0.8,
      }),
      ...times.map(dots),
      Plot.text(labels, {
        fy: 'label',
        text: 'label',
        dy: -3,
        ...panelName,
      }),
    ],
  })
}

function dots({ label, colour, values }: ModeTimes): Plot.Markish {
  return Plot.dot(values, { x: 'key', y: 'ms', fy: () => label, render: asOnePath(colour, 2, 0.8) })
}

/** Half a key before the first of each block but the first. */
function blockStarts({
  label,
  values,
}: ModeTimes): readonly { readonly label: string; readonly key: number }[] {
  const blocks = [...Map.groupBy(values, ({ block }) => block)].sort(([a], [b]) => a - b).slice(1)
  return blocks.map(([, inBlock]) => ({
    label,
    key: inBlock.reduce((least, { key }) => Math.min(least, key), Number.POSITIVE_INFINITY) - 0.5,
  }))
}
