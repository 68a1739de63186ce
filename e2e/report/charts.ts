// Draws charts as SVG with Observable Plot, without a browser, in the page's colours.

import * as Plot from '@observablehq/plot'
import { JSDOM } from 'jsdom'
import { ascending, type Interval, quantile } from '../lab/statistics.ts'
import { figure } from './section.ts'

const { document } = new JSDOM('').window

/** Colours are the page's CSS variables, so that they follow light and dark. */
export function svg(options: Plot.PlotOptions): string {
  const drawn = Plot.plot({
    document,
    style: { fontFamily: 'inherit', fontSize: '12.5px', background: 'none' },
    ...options,
  })
  // The page describes the figure; reading out its parts would be noise.
  drawn.setAttribute('aria-hidden', 'true')
  return drawn.outerHTML
}

/** Dots as one path of short strokes with round ends: a tenth of the size of thousands of circles. */
export function asOnePath(colour: string, diameter: number, opacity: number): Plot.RenderFunction {
  return (index, _scales, { x, y }, _dimensions, { document: owner }) => {
    if (x === undefined || y === undefined) return null
    const path = owner.createElementNS('http://www.w3.org/2000/svg', 'path')
    const at = (place: number) => `M${Number(x[place]).toFixed(1)} ${Number(y[place]).toFixed(1)}h0`
    const attributes = {
      d: Array.from(index, at).join(''),
      fill: 'none',
      stroke: colour,
      'stroke-width': String(diameter),
      'stroke-linecap': 'round',
      'stroke-opacity': String(opacity),
    }
    for (const [name, value] of Object.entries(attributes)) path.setAttribute(name, value)
    return path
  }
}

const halo = { fill: 'var(--ink)', stroke: 'var(--paper)', strokeWidth: 4 } as const

export const rowName = { frameAnchor: 'left', textAnchor: 'start', fontWeight: 600, ...halo } as const

export const panelName = {
  frameAnchor: 'top-left',
  textAnchor: 'start',
  lineAnchor: 'bottom',
  fontWeight: 600,
  fill: 'var(--ink)',
} as const

/** Rows of `rowHeight` pixels above an axis. A mark's y counts rows from the top. */
export function inRows(rows: number, rowHeight: number) {
  return {
    height: rows * rowHeight + 52,
    margin: 10,
    marginLeft: 2,
    marginBottom: 42,
    y: { axis: null, domain: [rows, 0] },
  } satisfies Plot.PlotOptions
}

/** Clock errors can produce times of 0 or less, which have no place on a logarithmic axis. */
export function isLogarithmic(times: readonly number[]): boolean {
  return times.every((ms) => ms > 0)
}

/** Plot scale for x or y: all times with some margin; logarithmic where possible, with round ticks. */
export function timeAxis(times: readonly number[]) {
  // No Math.min(...): long runs exceed the limit on arguments.
  const low = times.reduce((least, ms) => Math.min(least, ms), Number.POSITIVE_INFINITY)
  const high = times.reduce((most, ms) => Math.max(most, ms), Number.NEGATIVE_INFINITY)
  const isLog = isLogarithmic(times)
  const margin = (high - low) / 30 || 1
  const domain: [number, number] = isLog ? [low / 1.1, high * 1.1] : [low - margin, high + margin]
  const type = isLog ? ('log' as const) : ('linear' as const)
  return { type, domain, ticks: isLog ? roundTicks(...domain) : 6, tickFormat: String }
}

/** 1, 2 and 5 of each power of ten; only powers of ten beyond three of them. */
function roundTicks(low: number, high: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))]
  const steps = Math.log10(high / low) > 3 ? [1] : [1, 2, 5]
  const powers = Array.from({ length: last - first + 1 }, (_, place) => first + place)
  const ticks = powers.flatMap((power) => steps.map((step) => Number(`${step}e${power}`)))
  return ticks.filter((tick) => tick >= low && tick <= high)
}

/**
 * 5th to 95th percentile, quartiles and the labelled median. `sorted`: ascending, not empty. `y` and `medianHeight` in
 * rows.
 */
function box(sorted: readonly number[], y: number, medianHeight: number): Plot.Markish[] {
  const at = (probability: number) => quantile(sorted, probability)
  const stroke = 'var(--ink)'
  const half = medianHeight / 2
  return [
    Plot.ruleY([y], { x1: at(0.05), x2: at(0.95), stroke, strokeWidth: 1.2 }),
    Plot.ruleY([y], { x1: at(0.25), x2: at(0.75), stroke, strokeWidth: 4.5 }),
    Plot.ruleX([at(0.5)], { y1: y - half, y2: y + half, stroke, strokeWidth: 2.5 }),
    Plot.text([`median ${figure(at(0.5))}`], { x: [at(0.95)], y: [y], dx: 7, textAnchor: 'start', ...halo }),
  ]
}

interface Row<Value> {
  readonly label: string
  readonly colour: string
  readonly values: readonly (Value & { readonly ms: number })[]
}

const timesIn = (rows: readonly Row<unknown>[]) => rows.flatMap(({ values }) => values.map(({ ms }) => ms))

/** Positions in a row: 0 is its top, 1 its foot. */
const cloudPlaces = { label: 0.08, cloud: 0.5, cloudHeight: 0.56, box: 0.87 }

/** Dots above a box, one row for each mode on one axis. */
export function distribution(rows: readonly Row<unknown>[], width: number): string {
  const axis = timeAxis(timesIn(rows))
  return svg({
    width,
    ...inRows(rows.length, 104),
    x: { ...axis, grid: true, label: 'ms', labelAnchor: 'right' },
    marks: rows.flatMap(({ label, colour, values }, row) => {
      const name = Plot.text([values.length === 0 ? `${label}: nothing arrived` : label], {
        y: [row + cloudPlaces.label],
        ...rowName,
      })
      if (values.length === 0) return [name]
      const sorted = ascending(values.map(({ ms }) => ms))
      const offsets = cloudOffsets(axis.type === 'log' ? sorted.map(Math.log) : sorted)
      const cloud = Plot.dot(sorted, {
        x: sorted,
        y: offsets.map((offset) => row + cloudPlaces.cloud + cloudPlaces.cloudHeight * offset),
        render: asOnePath(colour, sorted.length > 3000 || width < 500 ? 1.7 : 2.6, 0.65),
      })
      return [cloud, ...box(sorted, row + cloudPlaces.box, 0.2), name]
    }),
  })
}

/**
 * Vertical offset of each ascending position, -0.5 to 0.5, widest where most lie within 1/40 of the range, so that the
 * cloud outlines the distribution. The golden ratio spreads the dots evenly without randomness.
 */
function cloudOffsets(positions: readonly number[]): number[] {
  const reach = ((positions.at(-1) ?? 0) - (positions.at(0) ?? 0)) / 40
  let from = 0
  let to = 0
  const neighbours = positions.map((position) => {
    while ((positions[from] ?? position) < position - reach) from++
    while ((positions[to] ?? Number.POSITIVE_INFINITY) <= position + reach) to++
    return to - from
  })
  const most = neighbours.reduce((largest, number) => Math.max(largest, number), 1)
  return neighbours.map((number, place) => (((place * 0.618034) % 1) - 0.5) * (number / most))
}

/** `key` counts through the sessions; `turn` tells blocks of one session, and sessions, apart. */
export function timeline(rows: readonly Row<{ key: number; turn: string }>[], width: number): string {
  const labels = rows.map(({ label }) => label)
  // Half a key before each turn except the first.
  const starts = rows.flatMap(({ label, values }) =>
    values
      .filter(({ turn }, place) => turn !== (values[place - 1]?.turn ?? turn))
      .map(({ key }) => ({ label, key: key - 0.5 })),
  )
  return svg({
    width,
    height: rows.length * 118 + 64,
    marginLeft: 34,
    marginRight: 8,
    marginTop: 22,
    marginBottom: 40,
    fy: { axis: null, domain: labels, padding: 0.22 },
    x: { label: 'key', labelAnchor: 'right', ticks: width < 500 ? 5 : 10 },
    y: { ...timeAxis(timesIn(rows)), label: null, grid: true },
    marks: [
      Plot.ruleX(starts, { x: 'key', fy: 'label', stroke: 'var(--soft)', strokeWidth: 0.8 }),
      ...rows.map(({ label, colour, values }) =>
        Plot.dot(values, { x: 'key', y: 'ms', fy: () => label, render: asOnePath(colour, 2, 0.8) }),
      ),
      Plot.text(labels, { fy: labels, dy: -3, ...panelName }),
    ],
  })
}

interface IntervalRow {
  readonly label: string
  readonly point: number
  readonly interval: Interval
  /** Filled if true, else hollow. */
  readonly isDecided: boolean
  /** The same for each session, drawn as small vertical lines. */
  readonly sessions: readonly number[]
}

interface IntervalLook {
  readonly width: number
  readonly axis: string
  /** Vertical lines; the first solid, the others dashed. */
  readonly references: readonly number[]
  /** Half-width of the shaded range around 0; 0 for none. */
  readonly shadedTo: number
}

export function intervals(
  rows: readonly IntervalRow[],
  { width, axis, references, shadedTo }: IntervalLook,
): string {
  const placed = rows.map((row, place) => ({ ...row, y: place + 0.68 }))
  const sessions = placed.flatMap(({ sessions, y }) => sessions.map((x) => ({ x, y })))
  const shade = shadedTo > 0 ? [shadedTo] : []
  const ends = rows.flatMap(({ point, interval, sessions }) => [point, ...interval, ...sessions])
  const drawn = [...references, ...shade, ...shade.map((x) => -x), ...ends]
  const room = (Math.max(...drawn) - Math.min(...drawn)) / 20 || 1
  const [ink, accent] = ['var(--ink)', 'var(--accent)']
  return svg({
    width,
    ...inRows(rows.length, 58),
    x: {
      label: axis,
      labelAnchor: 'center',
      labelArrow: 'none',
      grid: true,
      domain: [Math.min(...drawn) - room, Math.max(...drawn) + room],
      ticks: width < 500 ? 5 : 9,
      tickFormat: (value: number) => (value === 0 ? '0' : figure(value).replace(/\.?0+$/, '')),
    },
    marks: [
      Plot.rectX(shade, { x1: (x) => -x, x2: (x) => x, fill: 'var(--shade)' }),
      Plot.ruleX(references.slice(0, 1), { stroke: ink, strokeWidth: 1.2 }),
      Plot.ruleX(references.slice(1), { stroke: ink, strokeWidth: 1.2, strokeDasharray: '4 3' }),
      Plot.ruleX(sessions, {
        x: 'x',
        y1: ({ y }) => y - 0.13,
        y2: ({ y }) => y + 0.13,
        stroke: 'var(--soft)',
        strokeWidth: 1.2,
      }),
      Plot.ruleY(placed, {
        x1: ({ interval }) => interval[0],
        x2: ({ interval }) => interval[1],
        y: 'y',
        stroke: accent,
        strokeWidth: 2.5,
      }),
      Plot.dot(placed, {
        x: 'point',
        y: 'y',
        r: 5,
        fill: ({ isDecided }) => (isDecided ? accent : 'var(--paper)'),
        stroke: accent,
        strokeWidth: 2,
      }),
      Plot.text(placed, { y: ({ y }) => y - 0.42, text: 'label', ...rowName }),
    ],
  })
}
