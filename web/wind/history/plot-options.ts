// What uPlot is told of the two plots: scales that stand still, few ticks, a cursor that both share.

import type uPlot from 'uplot'
import type { PlotLook } from './plot-look.ts'
import type { Span } from './spans.ts'
import type { SpeedScale } from './speed-scale.ts'

/** What changes from drawing to drawing; the options read it when they are asked. */
export interface PlotState {
  look: PlotLook
  span: Span
  scale: SpeedScale
}

export interface PlotSize {
  readonly width: number
  readonly height: number
}

const fontPixels = 12
/** Room for "11811", and the same in both plots, so that the same moment is at the same place. */
const valueAxisWidth = 44
const timeAxisHeight = 32

/** Points of the compass at the direction's ticks. */
const compassTicks = ['N', 'E', 'S', 'W', 'N']

/** Series: gust, speed. The band between them is filled. */
export function speedOptions(state: PlotState, size: PlotSize, syncKey: string): uPlot.Options {
  return {
    ...shared(state, size, syncKey),
    scales: { x: timeScale(state), y: { range: () => [0, state.scale.top] } },
    axes: [
      // The time stands below the direction, for both.
      { ...timeAxis(state), values: (_plot, splits) => splits.map(() => ''), size: 8 },
      valueAxis(state, {
        splits: () => [...state.scale.ticks],
        values: (_plot, splits) => splits.map(String),
      }),
    ],
    series: [
      {},
      { stroke: () => state.look.gust, width: 1, points: { show: false } },
      { stroke: () => state.look.line, width: 1.75, points: { show: false } },
    ],
    bands: [{ series: [1, 2], fill: () => state.look.band }],
  }
}

/** One series, of points alone: a line would cross the whole plot where the wind goes through north. */
export function directionOptions(state: PlotState, size: PlotSize, syncKey: string): uPlot.Options {
  const points = () => state.look.points
  return {
    ...shared(state, size, syncKey),
    scales: { x: timeScale(state), y: { range: () => [0, 360] } },
    axes: [
      timeAxis(state),
      valueAxis(state, {
        splits: () => [0, 90, 180, 270, 360],
        values: () => compassTicks,
      }),
    ],
    series: [
      {},
      {
        paths: () => null,
        points: { show: true, size: 3, width: 0, space: 0, stroke: points, fill: points },
      },
    ],
  }
}

function shared(state: PlotState, size: PlotSize, syncKey: string): Omit<uPlot.Options, 'series'> {
  return {
    ...size,
    // Half of the last tick's word stands beyond the axis.
    padding: [10, 16, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      sync: { key: syncKey, scales: ['x', null] },
      points: { size: 7, width: 0, fill: () => state.look.line, stroke: () => state.look.line },
    },
  }
}

function timeScale(state: PlotState): uPlot.Scale {
  return { time: false, range: () => [-state.span.ms / 1000, 0] }
}

function timeAxis(state: PlotState): uPlot.Axis {
  return {
    ...axis(state),
    size: timeAxisHeight,
    gap: 12,
    splits: () => [...state.span.tickSeconds],
    values: () => [...state.span.tickWords],
  }
}

function valueAxis(state: PlotState, ticks: Pick<uPlot.Axis, 'splits' | 'values'>): uPlot.Axis {
  return { ...axis(state), size: valueAxisWidth, gap: 8, ...ticks }
}

function axis(state: PlotState): uPlot.Axis {
  return {
    stroke: () => state.look.text,
    font: `${fontPixels}px ${state.look.family}`,
    grid: { stroke: () => state.look.grid, width: 1 },
    ticks: { show: false },
    // Every tick that is asked for is there: they are few.
    filter: (_plot, splits) => splits,
  }
}
