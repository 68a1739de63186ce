// Draws how a site's times spread, a hill for each mode on one logarithmic axis, and below each hill what it amounts to.

import * as Plot from '@observablehq/plot'
import { ascending } from '../../../lab/stats/summary.ts'
import { box } from '../../figures/box.ts'
import { rowName } from '../../figures/names.ts'
import { asOnePath, svg } from '../../figures/svg.ts'
import { roundAxis } from './round-axis.ts'

export interface SpreadRow {
  readonly label: string
  /** CSS colour. */
  readonly colour: string
  /** Ms. */
  readonly values: readonly number[]
}

const rowHeight = 88
/** Places within a row, from 0 at its top to 1 at its foot. */
const places = { label: 0.1, foot: 0.72, hill: 0.5, box: 0.86 }
const medianHeight = 0.16
const bins = 120

export function spreadOf(rows: readonly SpreadRow[], width: number): string {
  const axis = roundAxis(rows.flatMap(({ values }) => values))
  return svg({
    width,
    height: rows.length * rowHeight + 50,
    margin: 10,
    marginLeft: 2,
    marginBottom: 40,
    x: { ...axis, grid: true, label: 'ms', labelAnchor: 'right' },
    y: { axis: null, domain: [rows.length, 0] },
    marks: rows.flatMap((row, place) => rowMarks(row, place, axis.domain)),
  })
}

function rowMarks({ label, colour, values }: SpreadRow, row: number, domain: readonly [number, number]) {
  const name = Plot.text([values.length === 0 ? `${label}: nothing arrived` : label], {
    y: () => row + places.label,
    ...rowName,
  })
  const sorted = ascending(values)
  if (sorted.length === 0) return [name]
  return [...hill(sorted, row, colour, domain), ...box(sorted, row + places.box, medianHeight), name]
}

/** As high as its densest place, and the slowest twentieth as dots, since a hill has no height to show a few with. */
function hill(sorted: readonly number[], row: number, colour: string, domain: readonly [number, number]) {
  const foot = row + places.foot
  const counts = countsOf(sorted, domain)
  const most = Math.max(...counts)
  const outline = counts.map((count, bin) => ({
    ms: binCentre(bin, domain),
    top: foot - (places.hill * count) / most,
  }))
  const slowest = sorted.slice(Math.floor(sorted.length * 0.95))
  return [
    Plot.areaY(outline, { x: 'ms', y1: foot, y2: 'top', fill: colour, fillOpacity: 0.75, curve: 'step' }),
    Plot.ruleY([foot], { stroke: 'var(--line)' }),
    Plot.dot(slowest, { x: (ms) => ms, y: () => foot - 0.05, render: asOnePath(colour, 3, 0.9) }),
  ]
}

/** Bins as wide as each other on the logarithmic axis. */
function countsOf(sorted: readonly number[], [low, high]: readonly [number, number]): readonly number[] {
  const counts = new Array<number>(bins).fill(0)
  const isLog = low > 0
  const share = (ms: number) =>
    isLog ? Math.log(ms / low) / Math.log(high / low) : (ms - low) / (high - low)
  for (const ms of sorted) {
    const bin = Math.min(bins - 1, Math.max(0, Math.floor(bins * share(ms))))
    counts[bin] = (counts[bin] ?? 0) + 1
  }
  return counts
}

function binCentre(bin: number, [low, high]: readonly [number, number]): number {
  const share = (bin + 0.5) / bins
  return low > 0 ? low * (high / low) ** share : low + (high - low) * share
}
