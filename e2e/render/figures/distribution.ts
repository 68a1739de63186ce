// Draws every sample of every mode on one axis of time, and below each cloud what it amounts to.

import * as Plot from '@observablehq/plot'
import { ascending } from '../../lab/stats/summary.ts'
import { isLogarithmic, timeAxis } from './axis.ts'
import { box } from './box.ts'
import { rowName } from './names.ts'
import { asOnePath, svg } from './svg.ts'
import type { ModeTimes } from './times.ts'

interface Look {
  readonly width: number
  readonly isLog: boolean
}

/** Pixels for each mode. */
const rowHeight = 104

/** Places within a row, from 0 at its top to 1 at its foot. */
const places = { label: 0.08, cloud: 0.5, cloudHeight: 0.56, box: 0.87 }
const medianHeight = 0.2

export function distribution(times: readonly ModeTimes[], width: number): string {
  const isLog = isLogarithmic(times)
  return svg({
    width,
    height: times.length * rowHeight + 50,
    margin: 10,
    marginLeft: 2,
    marginBottom: 40,
    x: { ...timeAxis(times), grid: true, label: 'ms', labelAnchor: 'right' },
    y: { axis: null, domain: [times.length, 0] },
    marks: times.flatMap((mode, row) => rowMarks(mode, row, { width, isLog })),
  })
}

function rowMarks({ label, colour, values }: ModeTimes, row: number, look: Look): Plot.Markish[] {
  const name = Plot.text([values.length === 0 ? `${label}: nothing arrived` : label], {
    y: () => row + places.label,
    ...rowName,
  })
  const sorted = ascending(values.map(({ ms }) => ms))
  return sorted.length === 0
    ? [name]
    : [cloud(sorted, row, colour, look), ...box(sorted, row + places.box, medianHeight), name]
}

function cloud(sorted: readonly number[], row: number, colour: string, { width, isLog }: Look): Plot.Markish {
  const offsets = offsetsOf(sorted, isLog)
  const dots = sorted.map((ms, place) => ({
    ms,
    y: row + places.cloud + places.cloudHeight * (offsets[place] ?? 0),
  }))
  return Plot.dot(dots, {
    x: 'ms',
    y: 'y',
    render: asOnePath(colour, sorted.length > 3000 || width < 500 ? 1.7 : 2.6, 0.65),
  })
}

/**
 * How far each dot stands from the middle of its row, -0.5 to 0.5: widest where samples are densest, so that the
 * cloud's outline is the distribution. Spread by the golden ratio, which leaves no gaps and needs no chance.
 */
function offsetsOf(sorted: readonly number[], isLog: boolean): readonly number[] {
  const neighbours = neighboursOf(isLog ? sorted.map(Math.log) : sorted)
  const most = neighbours.reduce((largest, number) => Math.max(largest, number), 1)
  return neighbours.map((number, place) => (((place * 0.618034) % 1) - 0.5) * (number / most))
}

/** For each of ascending values, how many lie within a fortieth of their whole range to either side. */
function neighboursOf(values: readonly number[]): readonly number[] {
  const reach = ((values.at(-1) ?? 0) - (values.at(0) ?? 0)) / 40
  let from = 0
  let to = 0
  return values.map((value) => {
    while ((values[from] ?? value) < value - reach) from++
    while (to < values.length && (values[to] ?? value) <= value + reach) to++
    return to - from
  })
}
