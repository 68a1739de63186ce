// The two plots of the history, of speed and of direction, one above the other with one cursor.

import UPlot from 'uplot'
import type { Columns } from './columns.ts'
import type { PlotLook } from './plot-look.ts'
import { directionOptions, type PlotState, speedOptions } from './plot-options.ts'
import type { Span } from './spans.ts'
import type { SpeedScale } from './speed-scale.ts'

export interface Plots {
  readonly draw: (columns: Columns, span: Span, scale: SpeedScale) => void
  readonly restyle: (look: PlotLook) => void
  /** Moves the cursor to that column, or takes it away. */
  readonly pointAt: (index: number | null) => void
  /** The column under the cursor; null without a cursor. */
  readonly pointedAt: () => number | null
  readonly stop: () => void
}

export interface PlotsOpening {
  readonly speed: HTMLElement
  readonly direction: HTMLElement
  readonly look: PlotLook
  readonly span: Span
  /** The cursor has moved, or is gone. */
  readonly onPoint: () => void
  /** The plots are wider or narrower than before: what is drawn may be finer or coarser. */
  readonly onResize: (width: number) => void
}

let opened = 0

export function openPlots({ speed, direction, look, span, onPoint, onResize }: PlotsOpening): Plots {
  opened += 1
  const syncKey = `wind-history-${opened}`
  const state: PlotState = { look, span, scale: { top: 1, ticks: [0, 1] } }
  const speedPlot = new UPlot(speedOptions(state, sizeOf(speed), syncKey), [[], [], []], speed)
  const directionPlot = new UPlot(directionOptions(state, sizeOf(direction), syncKey), [[], []], direction)
  speedPlot.hooks.setCursor = [onPoint]

  const observer = new ResizeObserver(() => {
    speedPlot.setSize(sizeOf(speed))
    directionPlot.setSize(sizeOf(direction))
    onResize(speed.clientWidth)
  })
  observer.observe(speed)
  observer.observe(direction)

  return {
    draw(columns, newSpan, scale) {
      Object.assign(state, { span: newSpan, scale })
      const { seconds } = columns
      speedPlot.setData([seconds, columns.gust, columns.speed])
      directionPlot.setData([seconds, columns.direction])
    },
    restyle(newLook) {
      state.look = newLook
      for (const plot of [speedPlot, directionPlot]) plot.redraw(false, false)
    },
    pointAt(index) {
      const seconds = index === null ? undefined : speedPlot.data[0][index]
      const left = seconds === undefined ? -10 : speedPlot.valToPos(seconds, 'x')
      speedPlot.setCursor({ left, top: left < 0 ? -10 : 10 }, true)
      directionPlot.setCursor({ left, top: left < 0 ? -10 : 10 }, false)
    },
    pointedAt: () => ((speedPlot.cursor.left ?? -1) < 0 ? null : (speedPlot.cursor.idx ?? null)),
    stop() {
      observer.disconnect()
      speedPlot.destroy()
      directionPlot.destroy()
    },
  }
}

function sizeOf({ clientWidth, clientHeight }: HTMLElement): { width: number; height: number } {
  return { width: Math.max(80, clientWidth), height: Math.max(40, clientHeight) }
}
