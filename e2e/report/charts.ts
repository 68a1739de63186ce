// Draws charts as SVG with Observable Plot, without a browser, in the page's colours.

import * as Plot from '@observablehq/plot'
import type { Interval } from '../../client/statistics.ts'
import { ascending, quantile } from '../lab/statistics.ts'
import { window } from './dom.ts'
import { figure } from './section.ts'

/** Colours are the page's CSS variables, so that they follow light and dark. */
export function svg(options: Plot.PlotOptions): string {
  const drawn = Plot.plot({
    document: window.document,
    style: { fontFamily: 'inherit', fontSize: '12.5px', background: 'none' },
    ...withEveryTickNamed(options),
  })
  // The page describes the figure; reading out its parts would be noise.
  drawn.setAttribute('aria-hidden', 'true')
  return drawn.outerHTML
}

/**
 * Plot leaves some ticks of a logarithmic axis unlabelled, unless the axis is a mark with its own
 * texts.
 */
function withEveryTickNamed(options: Plot.PlotOptions): Plot.PlotOptions {
  const { x = {}, y = {}, marks = [] } = options
  const isLog = ({ type, ticks, axis }: Plot.ScaleOptions) =>
    type === 'log' && Array.isArray(ticks) && axis !== null
  const axisOf = ({ ticks, label = null, labelAnchor = 'right', labelArrow = 'auto' }: Plot.ScaleOptions) =>
    [ticks as number[], { text: (ms: number) => String(ms), label, labelAnchor, labelArrow }] as const
  const axes = [
    ...(isLog(x) ? [Plot.axisX(...axisOf(x))] : []),
    ...(isLog(y) ? [Plot.axisY(...axisOf({ labelAnchor: 'top', ...y }))] : []),
  ]
  return {
    ...options,
    ...(isLog(x) && { x: { ...x, axis: null } }),
    ...(isLog(y) && { y: { ...y, axis: null } }),
    marks: [...axes, ...marks],
  }
}

/**
 * Dots as one path of short strokes with round ends: a tenth of the size of thousands of circles.
 */
export function asOnePath(colour: string, diameter: number, opacity: number): Plot.RenderFunction {
  return (index, _scales, { x, y }, _dimensions, { document: owner }) => {
    if (x === undefined || y === undefined) return null
    const path = owner.createElementNS('http://www.w3.org/2000/svg', 'path')
    const at = (index: number) => `M${Number(x[index]).toFixed(1)} ${Number(y[index]).toFixed(1)}h0`
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

/** Plot scale for x or y: all times with some margin; logarithmic if possible, with round ticks. */
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

/** 1, 2 and 5 of each power of ten; over more than three powers, powers of ten only. */
function roundTicks(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low))
  const last = Math.ceil(Math.log10(high))
  const steps = Math.log10(high / low) > 3 ? [1] : [1, 2, 5]
  const powers = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  const ticks = powers.flatMap((power) => steps.map((step) => Number(`${step}e${power}`)))
  return ticks.filter((tick) => tick >= low && tick <= high)
}

/**
 * 5th to 95th percentile, quartiles and the median; `label` labels its ends. `sorted`: ascending,
 * not empty. `y` and `medianHeight` in rows.
 */
function box(
  sorted: readonly number[],
  y: number,
  medianHeight: number,
  label: (ends: Interval) => Plot.TextOptions,
): Plot.Markish[] {
  const at = (probability: number) => quantile(sorted, probability)
  const stroke = 'var(--ink)'
  const half = medianHeight / 2
  return [
    Plot.ruleY([y], { x1: at(0.05), x2: at(0.95), stroke, strokeWidth: 1.2 }),
    Plot.ruleY([y], { x1: at(0.25), x2: at(0.75), stroke, strokeWidth: 4.5 }),
    Plot.ruleX([at(0.5)], { y1: y - half, y2: y + half, stroke, strokeWidth: 2.5 }),
    Plot.text([`median ${figure(at(0.5))}`], { y: [y], ...halo, ...label([at(0.05), at(0.95)]) }),
  ]
}

interface Row<Value> {
  readonly label: string
  readonly colour: string
  readonly values: readonly (Value & { readonly ms: number })[]
}

const timesIn = (rows: readonly Row<unknown>[]) => rows.flatMap(({ values }) => values.map(({ ms }) => ms))

/** Positions in a row: 0 is its top, 1 its bottom. */
const cloudPlaces = { label: 0.08, cloud: 0.5, cloudHeight: 0.56, box: 0.87 }

/** Pixels. */
const labelWidth = 92

/** Beside the box, at its right end if there is room. */
function besideBox({ type, domain }: ReturnType<typeof timeAxis>, width: number) {
  const scale = type === 'log' ? Math.log : (ms: number) => ms
  const low = scale(domain[0])
  const high = scale(domain[1])
  const place = (ms: number) => (width * (scale(ms) - low)) / (high - low)
  return ([left, right]: Interval): Plot.TextOptions => {
    if (place(right) + labelWidth < width) return { x: [right], dx: 7, textAnchor: 'start' }
    if (place(left) > labelWidth) return { x: [left], dx: -7, textAnchor: 'end' }
    return { x: [domain[1]], textAnchor: 'end' }
  }
}

/** Dots above a box, one row per mode, on one axis. */
export function distribution(rows: readonly Row<unknown>[], width: number, unit = 'ms'): string {
  const axis = timeAxis(timesIn(rows))
  return svg({
    width,
    ...inRows(rows.length, Math.min(104, Math.max(62, 520 / rows.length))),
    x: { ...axis, grid: true, label: unit, labelAnchor: 'right' },
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
      return [cloud, ...box(sorted, row + cloudPlaces.box, 0.2, besideBox(axis, width)), name]
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
  return neighbours.map((number, index) => (((index * 0.618034) % 1) - 0.5) * (number / most))
}

interface CurveRow extends Row<unknown> {
  /** Samples, including those that did not arrive. */
  readonly expected: number
  readonly isDashed: boolean
}

/** Points of a curve. */
const curveSteps = 300

/**
 * Share of the samples that arrived within a time: one line per mode, labelled beside it, or by a
 * digit in a narrow figure.
 */
export function cumulative(rows: readonly CurveRow[], width: number): string {
  const isNarrow = width < 500
  const axis = timeAxis(timesIn(rows))
  const drawn = rows.filter(({ values }) => values.length > 0)
  const curves = drawn
    .map((row) => {
      const sorted = ascending(row.values.map(({ ms }) => ms))
      const reached = sorted.length / row.expected
      const points = Array.from({ length: curveSteps + 1 }, (_, step) => {
        const probability = step / curveSteps
        return { ms: quantile(sorted, probability), share: 100 * probability * reached }
      })
      return { ...row, sorted, reached, points, median: quantile(sorted, 0.5) }
    })
    .toSorted((one, other) => other.median - one.median)
  // The slowest has the lowest label, so that its leader line crosses no other curve.
  const named = curves.map((curve, index) => {
    const share = 100 * ((index + 0.5) / curves.length) * 0.86 + 4
    const at = Math.min(share, 96 * curve.reached)
    const digit = String(curves.length - index)
    return { ...curve, share, digit, at, ms: quantile(curve.sorted, at / 100 / curve.reached) }
  })
  const [, right] = axis.domain
  const longest = drawn.reduce((most, { label }) => Math.max(most, label.length), 0)
  const keyHeight = 17
  const lineOf = ({ points, colour, isDashed }: (typeof named)[number]) =>
    Plot.line(points, {
      x: 'ms',
      y: 'share',
      stroke: colour,
      strokeWidth: 2,
      clip: true,
      strokeDasharray: isDashed ? '6 3' : 'none',
    })
  const leaderOf = ({ ms, at, share, colour }: (typeof named)[number]) =>
    Plot.link([0], { x1: [ms], y1: [at], x2: [right], y2: [share], stroke: colour, strokeDasharray: '1 3' })
  const nameOf = (curve: (typeof named)[number]) =>
    Plot.text([curve.label], {
      x: [right],
      y: [curve.share],
      dx: 6,
      textAnchor: 'start',
      ...ownColour(curve),
    })
  const digitOf = (curve: (typeof named)[number]) =>
    Plot.text([curve.digit], { x: [curve.ms], y: [curve.at], fontSize: 13, ...ownColour(curve) })
  const keyOf = (curve: (typeof named)[number]) =>
    Plot.text([`${curve.digit}  ${curve.label}`], {
      frameAnchor: 'top-left',
      textAnchor: 'start',
      lineAnchor: 'top',
      dy: keyHeight * (Number(curve.digit) - 1 - curves.length) - 8,
      ...ownColour(curve),
    })
  return svg({
    width,
    height: isNarrow ? 300 + keyHeight * curves.length : 400,
    marginLeft: 46,
    marginRight: isNarrow ? 8 : 14 + longest * 7.4,
    marginTop: isNarrow ? 16 + keyHeight * curves.length : 14,
    marginBottom: 42,
    x: { ...axis, grid: true, label: 'ms', labelAnchor: 'center', labelArrow: 'none' },
    y: {
      domain: [0, 100],
      label: null,
      grid: true,
      ticks: [0, 25, 50, 75, 95],
      tickFormat: (share: number) => `${share} %`,
    },
    marks: [
      ...(isNarrow ? [] : named.map(leaderOf)),
      ...named.map(lineOf),
      ...(isNarrow ? [...named.map(digitOf), ...named.map(keyOf)] : named.map(nameOf)),
    ],
  })
}

const ownColour = ({ colour }: { readonly colour: string }) =>
  ({ ...halo, fill: colour, fontWeight: 600 }) as const

/**
 * `key` counts through the sessions; `turn` distinguishes the blocks of a session, and sessions.
 */
export function timeline(rows: readonly Row<{ key: number; turn: string }>[], width: number): string {
  const labels = rows.map(({ label }) => label)
  // Half a key before each turn except the first.
  const starts = rows.flatMap(({ label, values }) =>
    values
      .filter(({ turn }, index) => turn !== (values[index - 1]?.turn ?? turn))
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

interface StackRow {
  readonly label: string
  /** In order from 0, ms. */
  readonly parts: readonly { readonly by: keyof typeof stackFills; readonly meanMs: number }[]
}

/** By who spends the time. */
const stackFills = { page: 'var(--accent)', way: 'var(--shade)', server: 'var(--peer)' } as const

/** Bars of parts that add up, each labelled with its ms if there is room. */
export function stacks(rows: readonly StackRow[], width: number): string {
  const bars = rows.flatMap(({ parts }, row) => {
    let end = 0
    return parts.map(({ by, meanMs }) => {
      // A clock error can make a stage negative; the bar cannot show that, the table does.
      const start = end
      end += Math.max(0, meanMs)
      return { row, by, meanMs, start, end }
    })
  })
  const most = bars.reduce((furthest, { end }) => Math.max(furthest, end), 0)
  const wideEnough = bars.filter(({ start, end }) => ((end - start) / most) * width > 34)
  const totals = rows.map(({ parts }) => parts.reduce((sum, { meanMs }) => sum + meanMs, 0))
  return svg({
    width,
    ...inRows(rows.length + 0.6, 62),
    x: { domain: [0, most * 1.02], grid: true, label: 'ms', labelAnchor: 'right' },
    marks: [
      Plot.rect(bars, {
        x1: 'start',
        x2: 'end',
        y1: ({ row }) => row + 0.45,
        y2: ({ row }) => row + 0.88,
        fill: ({ by }: (typeof bars)[number]) => stackFills[by],
        stroke: 'var(--paper)',
        strokeWidth: 1,
      }),
      Plot.text(wideEnough, {
        x: ({ start, end }) => (start + end) / 2,
        y: ({ row }) => row + 0.665,
        text: ({ meanMs }) => figure(meanMs),
        ...halo,
      }),
      Plot.text(rows, {
        y: (_, row) => row + 0.24,
        text: ({ label }, row) => `${label}: ${figure(totals[row])} ms`,
        ...rowName,
      }),
      ...Object.entries(stackFills).flatMap(([by, fill], index) => {
        const at = { x: [0], y: [rows.length + 0.4], dx: index * 66 }
        return [
          Plot.dot([by], { ...at, dx: at.dx + 6, r: 5.5, symbol: 'square', fill }),
          Plot.text([by], { ...at, dx: at.dx + 17, textAnchor: 'start', fill: 'var(--soft)' }),
        ]
      }),
    ],
  })
}

interface IntervalRow {
  readonly label: string
  readonly point: number
  readonly interval: Interval
  /** Filled if true, else hollow. */
  readonly isDecided: boolean
  /** The same value per session, drawn as a small vertical line. */
  readonly sessions: readonly number[]
}

interface IntervalLook {
  readonly width: number
  readonly axis: string
  /** Vertical lines; the first solid, the others dashed. */
  readonly references: readonly number[]
  /** Pixels; low rows have no label, and small dots. */
  readonly rowHeight?: number
  /** False for what is no ratio; default: true. */
  readonly mayBeLogarithmic?: boolean
}

/** Rows below this height have no room for a label. */
const labelledRowHeight = 40

/** Ratios further apart than this get a logarithmic axis. */
const farApart = 4
const logTicks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

export function intervals(
  rows: readonly IntervalRow[],
  { width, axis, references, rowHeight = 58, mayBeLogarithmic = true }: IntervalLook,
): string {
  const isLow = rowHeight < labelledRowHeight
  const placed = rows.map((row, index) => ({ ...row, y: index + (isLow ? 0.5 : 0.68) }))
  const sessions = placed.flatMap(({ sessions, y }) => sessions.map((x) => ({ x, y })))
  const ends = rows.flatMap(({ point, interval, sessions }) => [point, ...interval, ...sessions])
  const drawn = [...references, ...ends]
  const low = Math.min(...drawn)
  const high = Math.max(...drawn)
  const isLog = mayBeLogarithmic && low > 0 && high / low > farApart
  const room = isLog ? (high / low) ** 0.05 : (high - low) / 20 || 1
  const domain = isLog ? [low / room, high * room] : [low - room, high + room]
  const ink = 'var(--ink)'
  const accent = 'var(--accent)'
  return svg({
    width,
    ...inRows(rows.length, rowHeight),
    x: {
      label: axis,
      labelAnchor: 'center',
      labelArrow: 'none',
      grid: true,
      type: isLog ? 'log' : 'linear',
      domain,
      ticks: isLog
        ? logTicks.filter((tick) => tick >= (domain[0] ?? 0) && tick <= (domain[1] ?? 0))
        : width < 500
          ? 5
          : 9,
      tickFormat: (value: number) => String(Number(value.toPrecision(4))).replace('-', '−'),
    },
    marks: [
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
        r: isLow ? 3 : 5,
        fill: ({ isDecided }) => (isDecided ? accent : 'var(--paper)'),
        stroke: accent,
        strokeWidth: 2,
      }),
      ...(isLow ? [] : [Plot.text(placed, { y: ({ y }) => y - 0.42, text: 'label', ...rowName })]),
    ],
  })
}
