// Lines over time on linear axes, in small panels with common scales.

import * as Plot from '@observablehq/plot'
import { lineColours, panelName, svg } from './charts.ts'

export interface TimeSeries {
  readonly label: string
  /** From 0; null for the quiet colour of what is beside the question. */
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
  /** At least the top of the y axis. */
  readonly top: number
}

const panelHeight = 128
const legendHeight = 18

/** Two panels to a row where there is room. The legend names each label once, above. */
export function timeLines(panels: readonly TimePanel[], { width, axis, yFormat, top }: TimeLook): string {
  const perRow = width < 500 || panels.length < 2 ? 1 : 2
  const rows = Math.ceil(panels.length / perRow)
  const legend = [
    ...new Map(panels.flatMap(({ series }) => series.map((one) => [one.label, one] as const))).values(),
  ]
  const legendPerRow = width < 500 ? 2 : 5
  const legendPx = Math.ceil(legend.length / legendPerRow) * legendHeight + 8
  const highest = panels.reduce(
    (most, { series }) =>
      series.reduce((m, { points }) => points.reduce((n, { y }) => Math.max(n, y), m), most),
    top,
  )
  const longest = panels.reduce(
    (most, { series }) => series.reduce((m, { points }) => Math.max(m, points.at(-1)?.x ?? 0), most),
    0,
  )
  const column = (place: number) => place % perRow
  const row = (place: number) => Math.floor(place / perRow)
  const colourOf = ({ colour }: TimeSeries) =>
    colour === null ? 'var(--soft)' : (lineColours[colour % lineColours.length] ?? 'var(--ink)')
  const dashOf = ({ isDashed, colour }: TimeSeries) =>
    colour === null ? { strokeDasharray: '2 3' } : isDashed ? { strokeDasharray: '5 3' } : {}
  const legendX = (place: number) => (place % legendPerRow) * ((width - 50) / legendPerRow)
  return svg({
    width,
    height: legendPx + rows * (panelHeight + 34) + 44,
    marginLeft: 46,
    marginRight: 10,
    marginTop: legendPx + 26,
    marginBottom: 40,
    color: { type: 'identity' },
    fx: { axis: null, domain: Array.from({ length: perRow }, (_, place) => place), padding: 0.08 },
    fy: { axis: null, domain: Array.from({ length: rows }, (_, place) => place), padding: 0.22 },
    x: {
      domain: [0, longest],
      label: axis,
      labelAnchor: 'center',
      labelArrow: 'none',
      ticks: width < 500 ? 5 : 6,
    },
    y: { domain: [0, highest * 1.04], label: null, grid: true, ticks: 4, tickFormat: yFormat },
    marks: [
      ...panels.flatMap(({ series }, place) =>
        series.map((one) =>
          Plot.line(one.points, {
            ...{ x: 'x', y: 'y', fx: () => column(place), fy: () => row(place), clip: true },
            ...{ stroke: () => colourOf(one), strokeWidth: one.colour === null ? 1.2 : 1.7 },
            ...dashOf(one),
          }),
        ),
      ),
      Plot.text(panels, {
        text: 'title',
        fx: (_: TimePanel, place: number) => column(place),
        fy: (_: TimePanel, place: number) => row(place),
        dy: -6,
        ...panelName,
      }),
      ...legend.map((one, place) =>
        Plot.text([`${one.colour === null ? '┄┄' : one.isDashed ? '┅┅' : '━━'}  ${one.label}`], {
          ...{ fx: () => 0, fy: () => 0, frameAnchor: 'top-left', textAnchor: 'start', lineAnchor: 'top' },
          ...{ fontWeight: 600, fill: () => colourOf(one), dx: legendX(place) },
          dy: -26 - legendPx + Math.floor(place / legendPerRow) * legendHeight,
        }),
      ),
    ],
  })
}
