// Line charts: over logarithmic axes, and over time in small panels with common scales.

import * as Plot from '@observablehq/plot'
import { panelName, svg, timeAxis } from './charts.ts'

export interface LinePoint {
  readonly x: number
  /** Null leaves a gap. */
  readonly y: number | null
  /** `open`: a hollow mark. `failed`: a cross at the top, and a gap. */
  readonly mark: 'filled' | 'open' | 'failed'
}

export interface LineSeries {
  readonly label: string
  readonly isDashed: boolean
  /** From 0; series of one colour belong together. */
  readonly colour: number
  readonly points: readonly LinePoint[]
}

interface LinePanel {
  /** Empty for none. */
  readonly title: string
  readonly series: readonly LineSeries[]
}

interface LineLook {
  readonly width: number
  readonly axis: string
  /** For the logarithmic x axis: every x of the points. */
  readonly ticks: readonly number[]
  readonly tickFormat?: (x: number) => string
}

/** At least 4.5:1 on paper and on the dark page (WCAG 2.2, 1.4.3). */
const lineColours = [
  'light-dark(#1f66a6, #7fb2e5)',
  'light-dark(#b3431f, #ef9a76)',
  'light-dark(#2f7336, #86c98c)',
  'light-dark(#7a4aa3, #c3a0e6)',
  'light-dark(#85693a, #cdb682)',
]

/** Crosses of the series are stacked by this many pixels, below the panel's title. */
const crossHeight = 13

/** One line per series over logarithmic axes, panels below each other on common scales. */
export function lines(
  panels: readonly LinePanel[],
  { width, axis, ticks, tickFormat = String }: LineLook,
): string {
  const all = panels.flatMap(({ series }) => series)
  const legend = byLabel(all)
  const times = all.flatMap(({ points }) =>
    points.flatMap(({ y, mark }) => (y === null || mark === 'failed' ? [] : [y])),
  )
  const crossed = legend.filter(({ label }) =>
    all.some((series) => series.label === label && series.points.some(({ mark }) => mark === 'failed')),
  )
  const topPx = crossed.length * crossHeight + 18
  const titles = panels.map(({ title }) => title)
  const perRow = width < 500 ? 1 : 2
  const legendPx = Math.ceil(legend.length / perRow) * 18 + (titles.some(Boolean) ? 14 : 0)
  // Logarithms on a linear scale: d3's logarithmic one omits labels, including those of 5 and 8.
  const { type, domain, ticks: yTicks } = timeAxis(times.length === 0 ? [1] : times)
  const toY = type === 'log' ? Math.log : Number
  const yShown = typeof yTicks === 'number' ? null : yTicks
  const axisY = {
    domain: domain.map(toY),
    ticks: yShown === null ? yTicks : yShown.map(toY),
    ...(yShown && { tickFormat: (_: number, index: number) => String(yShown[index]) }),
  }
  const crossDy = ({ label }: LineSeries) =>
    crossHeight * (crossed.findIndex((one) => one.label === label) + 0.5) - topPx + 8
  return svg({
    width,
    height: legendPx + panels.length * (topPx + (width < 500 ? 230 : 280)) + 44,
    marginLeft: 40,
    marginRight: 14,
    marginTop: legendPx + topPx,
    marginBottom: 42,
    // Colours are CSS, which Plot would treat as categories.
    color: { type: 'identity' },
    fy: { axis: null, domain: titles, padding: panels.length > 1 ? 0.24 : 0 },
    x: {
      domain: domainAround(ticks),
      ticks: ticks.map(Math.log),
      tickFormat: (_, index) => tickFormat(ticks[index] ?? Number.NaN),
      label: axis,
      labelAnchor: 'center',
      labelArrow: 'none',
    },
    y: { ...axisY, label: null, grid: true },
    marks: [
      ...panels.flatMap(({ title, series }) =>
        series.flatMap((one) => seriesMarks(one, title, toY, crossDy(one))),
      ),
      Plot.text(titles, { fy: titles, dy: -topPx + 6, ...panelName }),
      ...legend.map((one, index) =>
        Plot.text([`${one.isDashed ? '┅┅' : '━━'}  ${one.label}`], {
          fy: () => titles[0],
          ...legendText,
          lineAnchor: 'middle',
          fill: () => colourOf(one),
          dx: (index % perRow) * ((width - 60) / perRow),
          dy: -topPx - legendPx + 18 * Math.floor(index / perRow) + 9,
        }),
      ),
    ],
  })
}

/** A line with its dots, and below the panel's title a cross for each failed point. */
function seriesMarks(
  series: LineSeries,
  panel: string,
  toY: (y: number) => number,
  crossDy: number,
): readonly Plot.Markish[] {
  const x = (point: LinePoint) => Math.log(point.x)
  const y = (point: LinePoint) => (point.mark === 'failed' || point.y === null ? Number.NaN : toY(point.y))
  const fy = () => panel
  const stroke = () => colourOf(series)
  const dash = series.isDashed ? { strokeDasharray: '5 4' } : {}
  const drawn = series.points.filter((point) => point.y !== null && point.mark !== 'failed')
  const failed = series.points.filter(({ mark }) => mark === 'failed')
  return [
    Plot.line(series.points, { x, y, fy, stroke, strokeWidth: 2, ...dash }),
    Plot.dot(drawn, {
      x,
      y,
      fy,
      r: 4,
      fill: ({ mark }) => (mark === 'open' ? 'var(--paper)' : colourOf(series)),
      stroke,
      strokeWidth: 1.8,
    }),
    Plot.dot(failed, {
      x,
      fy,
      frameAnchor: 'top',
      dy: crossDy,
      symbol: 'times',
      r: 4,
      stroke,
      strokeWidth: 2,
    }),
  ]
}

function domainAround(ticks: readonly number[]): [number, number] {
  const low = Math.log(Math.min(...ticks))
  const high = Math.log(Math.max(...ticks))
  const margin = (high - low) / 25 || 1
  return [low - margin, high + margin]
}

const byLabel = <Series extends { readonly label: string }>(all: readonly Series[]) => [
  ...new Map(all.map((series) => [series.label, series])).values(),
]

/** The quiet colour for null. */
const colourOf = ({ colour }: { readonly colour: number | null }) =>
  colour === null ? 'var(--soft)' : (lineColours[colour % lineColours.length] ?? 'var(--ink)')

const legendText = { frameAnchor: 'top-left', textAnchor: 'start', fontWeight: 600 } as const

export interface TimeSeries {
  readonly label: string
  /** From 0; null for the quiet colour of secondary data. */
  readonly colour: number | null
  readonly isDashed: boolean
  readonly points: readonly { readonly x: number; readonly y: number }[]
}

export interface TimePanel {
  readonly title: string
  readonly series: readonly TimeSeries[]
}

interface TimeLook {
  readonly width: number
  readonly axis: string
  readonly yFormat: (y: number) => string
  /** Minimum top of the y axis. */
  readonly top: number
}

const panelHeight = 128
const legendHeight = 18

/** Two panels per row if there is room. The legend names each label once, above. */
export function timeLines(panels: readonly TimePanel[], { width, axis, yFormat, top }: TimeLook): string {
  const perRow = width < 500 || panels.length < 2 ? 1 : 2
  const rows = Math.ceil(panels.length / perRow)
  const all = panels.flatMap(({ series }) => series)
  const legend = byLabel(all)
  const legendPerRow = width < 500 ? 2 : 5
  const legendPx = Math.ceil(legend.length / legendPerRow) * legendHeight + 8
  const highest = all.reduce((most, { points }) => points.reduce((n, { y }) => Math.max(n, y), most), top)
  const longest = all.reduce((most, { points }) => Math.max(most, points.at(-1)?.x ?? 0), 0)
  const column = (index: number) => index % perRow
  const row = (index: number) => Math.floor(index / perRow)
  const dashOf = ({ isDashed, colour }: TimeSeries) =>
    colour === null ? { strokeDasharray: '2 3' } : isDashed ? { strokeDasharray: '5 3' } : {}
  const legendX = (index: number) => (index % legendPerRow) * ((width - 50) / legendPerRow)
  return svg({
    width,
    height: legendPx + rows * (panelHeight + 34) + 44,
    marginLeft: 46,
    marginRight: 10,
    marginTop: legendPx + 26,
    marginBottom: 40,
    color: { type: 'identity' },
    fx: { axis: null, domain: Array.from({ length: perRow }, (_, index) => index), padding: 0.08 },
    fy: { axis: null, domain: Array.from({ length: rows }, (_, index) => index), padding: 0.22 },
    x: {
      domain: [0, longest],
      label: axis,
      labelAnchor: 'center',
      labelArrow: 'none',
      ticks: width < 500 ? 5 : 6,
    },
    y: { domain: [0, highest * 1.04], label: null, grid: true, ticks: 4, tickFormat: yFormat },
    marks: [
      ...panels.flatMap(({ series }, index) =>
        series.map((one) =>
          Plot.line(one.points, {
            x: 'x',
            y: 'y',
            fx: () => column(index),
            fy: () => row(index),
            clip: true,
            stroke: () => colourOf(one),
            strokeWidth: one.colour === null ? 1.2 : 1.7,
            ...dashOf(one),
          }),
        ),
      ),
      Plot.text(panels, {
        text: 'title',
        fx: (_: TimePanel, index: number) => column(index),
        fy: (_: TimePanel, index: number) => row(index),
        dy: -6,
        ...panelName,
      }),
      ...legend.map((one, index) =>
        Plot.text([`${one.colour === null ? '┄┄' : one.isDashed ? '┅┅' : '━━'}  ${one.label}`], {
          fx: () => 0,
          fy: () => 0,
          ...legendText,
          lineAnchor: 'top',
          fill: () => colourOf(one),
          dx: legendX(index),
          dy: -26 - legendPx + Math.floor(index / legendPerRow) * legendHeight,
        }),
      ),
    ],
  })
}
