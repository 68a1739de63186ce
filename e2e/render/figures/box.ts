// Draws what a row's times amount to: 5th to 95th percentile, the middle half, and the median with its figure.

import * as Plot from '@observablehq/plot'
import { quantile } from '../../lab/stats/summary.ts'
import { figure } from '../format.ts'
import { halo } from './names.ts'

/** `sorted`: ascending, at least one. `y` and `medianHeight` in rows. */
export function box(sorted: readonly number[], y: number, medianHeight: number): Plot.Markish[] {
  const [p5, p25, p50, p75, p95] = [0.05, 0.25, 0.5, 0.75, 0.95].map((probability) =>
    quantile(sorted, probability),
  )
  const bar = (from: number | undefined, to: number | undefined, strokeWidth: number) =>
    Plot.link([0], {
      x1: () => from,
      x2: () => to,
      y1: () => y,
      y2: () => y,
      stroke: 'var(--ink)',
      strokeWidth,
    })
  const middle = [{ ms: p50, y, text: `median ${figure(p50)}` }]
  return [
    bar(p5, p95, 1.2),
    bar(p25, p75, 4.5),
    Plot.link(middle, {
      x1: 'ms',
      x2: 'ms',
      y1: y - medianHeight / 2,
      y2: y + medianHeight / 2,
      stroke: 'var(--ink)',
      strokeWidth: 2.5,
    }),
    Plot.text(middle, { x: () => p95, y: 'y', text: 'text', dx: 7, textAnchor: 'start', ...halo }),
  ]
}
