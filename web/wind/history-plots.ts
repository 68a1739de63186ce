// The history's two plots: kept up to date, drawn on canvases, with a cursor and its words.

import type { WindHistory } from '../../app/shared/wind-history.ts'
import type { Cancel, Clock } from '../../protocol/time.ts'
import { type Store, unitShown, type WindView } from '../store.ts'
import {
  type CanvasSize,
  createRedrawing,
  type Display,
  keepSharp,
  type Look,
  lookOf,
  onLookChange,
  stroke,
} from './canvas.ts'
import {
  type Column,
  columnAt,
  formatMoment,
  type HistoryModel,
  historyModel,
  redrawMsFor,
  type TimeAxis,
} from './history-view-model.ts'
import { historyTimeAt } from './wind-view-model.ts'

interface HistoryPlotsParts {
  /** Parents of the canvases. */
  readonly speed: HTMLElement
  readonly direction: HTMLElement
  readonly store: Store
  readonly history: Pick<WindHistory, 'since'>
  /** The clock of `receivedAt`. */
  readonly clock: Clock
  readonly display: Display
  /** `moment`: at the cursor; null without one. */
  readonly onWords: (summary: string, moment: string | null) => void
}

interface Drawing {
  readonly context: CanvasRenderingContext2D
  readonly draw: typeof drawSpeed
  size: CanvasSize
}

/** Without readings, time still moves the plot. */
const idleMs = 1000

/**
 * Redraws when time has moved by about a pixel, and in the next frame when history or choices
 * change. Drawn by hand: a plot library for lines, points and one cursor would add a seventh to the
 * page's download.
 */
export class HistoryPlots {
  readonly #parts: HistoryPlotsParts
  readonly #ending = new AbortController()
  readonly #drawings: readonly Drawing[]
  readonly #redrawing: ReturnType<typeof createRedrawing>
  readonly #stops: readonly Cancel[]
  #look: Look<typeof plotProperties>
  #width = 300
  #model: HistoryModel
  /** Seconds before now: fixed while the wind moves under it. */
  #cursorAt: number | null = null
  #drawnAt = Number.NEGATIVE_INFINITY
  /** For the words at the cursor. */
  #wallClockDrawnAt = Date.now()
  #drawnFor: WindView

  constructor(parts: HistoryPlotsParts) {
    const { speed, direction, store, display } = parts
    this.#parts = parts
    this.#drawings = [this.#plotIn(speed, drawSpeed), this.#plotIn(direction, drawDirection)]
    this.#redrawing = createRedrawing(() => this.#draw(), display)
    this.#look = lookOf(speed, plotProperties)
    this.#model = this.#currentModel()
    this.#drawnFor = store.view().wind
    const idle = setInterval(() => this.#update(), idleMs)
    this.#stops = [
      () => clearInterval(idle),
      store.subscribe(() => this.#update()),
      onLookChange(() => {
        this.#look = lookOf(speed, plotProperties)
        this.#paint()
      }),
      ...this.#drawings.map((drawing) =>
        // Synchronous: resizing clears the canvas. The width of the columns depends on the plots'.
        keepSharp([drawing.context], (size) => {
          drawing.size = size
          if (size.width === this.#width) return this.#paint()
          this.#width = size.width
          this.#draw()
        }),
      ),
    ]
    this.#redrawing.plan()
  }

  /** Moves the cursor, starting from the newest column. `seconds`: before now, negative. */
  step(by: number) {
    const { columns, summary } = this.#model
    const from = this.#cursorAt === null ? columns.length : columnAt(columns, this.#cursorAt).place
    const column = columns[Math.max(0, Math.min(columns.length - 1, from + by))]
    if (!column) return { words: summary, seconds: 0 }
    this.#moveCursor(column.seconds)
    return { words: this.#momentAt(column), seconds: column.seconds }
  }

  leave(): void {
    this.#moveCursor(null)
  }

  stop(): void {
    this.#ending.abort()
    this.#redrawing.stop()
    for (const stop of this.#stops) stop()
    for (const { context } of this.#drawings) context.canvas.remove()
  }

  #plotIn(place: HTMLElement, draw: typeof drawSpeed): Drawing {
    const canvas = place.ownerDocument.createElement('canvas')
    const context = canvas.getContext('2d')
    if (!context) throw new Error('This browser provides no canvas to draw the history on.')
    place.append(canvas)
    const { signal } = this.#ending
    const follow = ({ clientX }: PointerEvent) => {
      const { left, width } = canvas.getBoundingClientRect()
      this.#moveCursor(secondsAt(clientX - left, width, this.#model.timeAxis))
    }
    place.addEventListener('pointerdown', follow, { signal })
    place.addEventListener('pointermove', follow, { signal })
    // Lifting a finger leaves the cursor in place.
    const leave = ({ pointerType }: PointerEvent) => pointerType === 'mouse' && this.#moveCursor(null)
    place.addEventListener('pointerleave', leave, { signal })
    return { context, draw, size: { width: 0, height: 0 } }
  }

  #currentModel(): HistoryModel {
    const { store, history, clock } = this.#parts
    const { wind } = store.view()
    const { minutes } = wind.choices
    const nowAt = historyTimeAt(wind, clock())
    return historyModel(history, { minutes, nowAt, unit: unitShown(wind), width: this.#width })
  }

  #update(): void {
    const { store, clock } = this.#parts
    const { wind } = store.view()
    const passedMs = clock() - this.#drawnAt
    if (wind.choices !== this.#drawnFor.choices || wind.lookedBack !== this.#drawnFor.lookedBack) {
      this.#drawnFor = wind
      this.#drawnAt = Number.NEGATIVE_INFINITY
      this.#redrawing.plan()
    } else if (wind.receivedAt !== null && passedMs >= redrawMsFor(wind.choices.minutes, this.#width))
      this.#redrawing.plan()
  }

  #draw(): null {
    this.#model = this.#currentModel()
    this.#drawnAt = this.#parts.clock()
    this.#wallClockDrawnAt = Date.now()
    this.#paint()
    this.#tellWords()
    return null
  }

  #paint(): void {
    const cursor = this.#pointedAt()
    for (const { context, size, draw } of this.#drawings)
      if (size.width > 0) draw(context, size, { ...this.#model, look: this.#look, cursor })
  }

  #moveCursor(at: number | null): void {
    if (at === this.#cursorAt) return
    this.#cursorAt = at
    this.#paint()
    this.#tellWords()
  }

  /** The measurement at the cursor. */
  #pointedAt(): Column | null {
    return this.#cursorAt === null ? null : columnAt(this.#model.columns, this.#cursorAt).column
  }

  #tellWords(): void {
    const column = this.#pointedAt()
    this.#parts.onWords(this.#model.summary, column && this.#momentAt(column))
  }

  #momentAt(column: Column): string {
    return formatMoment(column, this.#wallClockDrawnAt, unitShown(this.#parts.store.view().wind))
  }
}

export const plotProperties = {
  text: '--ink-soft',
  grid: '--plot-grid',
  line: '--accent',
  gust: '--plot-gust',
  band: '--plot-band',
  points: '--accent',
  family: '--type-interface',
}

export interface Picture extends Omit<HistoryModel, 'summary'> {
  readonly look: Look<typeof plotProperties>
  /** The measurement at the cursor; null without one. */
  readonly cursor: Column | null
}

/** The left margin fits "11811", in both plots to align their times; the right one half of the last label. */
const margin = { left: 44, right: 16, top: 10, bottom: 8 }
const timeWordsHeight = 24

const compassTicks = ['N', 'E', 'S', 'W', 'N'].map((word, quarter) => ({ value: quarter * 90, word }))

/** The time labels below the direction plot are for both. */
export function drawSpeed(context: CanvasRenderingContext2D, size: CanvasSize, picture: Picture): void {
  const { speedAxis, look } = picture
  const ticks = speedAxis.ticks.map((value) => ({ value, word: String(value) }))
  const plot = plotOn(context, size, picture, { top: speedAxis.top, ticks, hasTimeWords: false })
  const gust = plot.pointsOf('gust')
  const speed = plot.pointsOf('speed')
  plot.fillBand(gust, speed, look.band)
  plot.strokeLine(gust, look.gust, 1)
  plot.strokeLine(speed, look.line, 1.75)
  plot.finish('gust', 'speed')
}

/** Points only: a line would cross the plot whenever the wind passes north. */
export function drawDirection(context: CanvasRenderingContext2D, size: CanvasSize, picture: Picture): void {
  const plot = plotOn(context, size, picture, { top: 360, ticks: compassTicks, hasTimeWords: true })
  plot.fillDots(plot.pointsOf('direction'), 1.5, picture.look.points)
  plot.finish('direction')
}

/** Seconds before now at an x position; null beside the plot. */
export function secondsAt(left: number, width: number, { seconds }: TimeAxis): number | null {
  const share = (left - margin.left) / Math.max(1, width - margin.right - margin.left)
  return share < 0 || share > 1 ? null : (share - 1) * seconds
}

interface ValueAxis {
  /** The axis begins at 0. */
  readonly top: number
  readonly ticks: readonly { readonly value: number; readonly word: string }[]
  readonly hasTimeWords: boolean
}

type Series = 'speed' | 'gust' | 'direction'

/** Null in a gap. */
type Point = readonly [x: number, y: number] | null

/** Draws the axes on a cleared canvas; later drawing is clipped until `finish`. */
function plotOn(
  context: CanvasRenderingContext2D,
  { width, height }: CanvasSize,
  { columns, timeAxis, look, cursor }: Picture,
  valueAxis: ValueAxis,
) {
  const { left, top } = margin
  const right = Math.max(left + 1, width - margin.right)
  const below = margin.bottom + (valueAxis.hasTimeWords ? timeWordsHeight : 0)
  const bottom = Math.max(top + 1, height - below)
  const xOf = (seconds: number) => left + (1 + seconds / timeAxis.seconds) * (right - left)
  const yOf = (value: number) => bottom - (value / valueAxis.top) * (bottom - top)
  const pointOf = ({ seconds, ...values }: Column, series: Series): Point => {
    const value = values[series]
    return value === null ? null : [xOf(seconds), yOf(value)]
  }
  // On pixel centres, for lines one pixel wide.
  const sharp = (index: number) => Math.round(index - 0.5) + 0.5

  context.clearRect(0, 0, width, height)
  context.beginPath()
  for (const { seconds } of timeAxis.ticks) {
    context.moveTo(sharp(xOf(seconds)), top)
    context.lineTo(sharp(xOf(seconds)), bottom)
  }
  for (const { value } of valueAxis.ticks) {
    context.moveTo(left, sharp(yOf(value)))
    context.lineTo(right, sharp(yOf(value)))
  }
  stroke(context, look.grid, 1)
  context.font = `12px ${look.family}`
  context.fillStyle = look.text
  context.textAlign = 'right'
  context.textBaseline = 'middle'
  for (const { value, word } of valueAxis.ticks) context.fillText(word, left - 8, yOf(value))
  context.textAlign = 'center'
  context.textBaseline = 'top'
  if (valueAxis.hasTimeWords)
    for (const { seconds, word } of timeAxis.ticks) context.fillText(word, xOf(seconds), bottom + 12)
  context.save()
  context.beginPath()
  context.rect(left, 0, right - left + 4, bottom + 4)
  context.clip()

  const plot = {
    pointsOf: (series: Series) => columns.map((column) => pointOf(column, series)),
    /** Gaps interrupt the line. */
    strokeLine(points: readonly Point[], colour: string, lineWidth: number): void {
      context.lineJoin = 'round'
      context.beginPath()
      for (const [index, point] of points.entries())
        if (point && points[index - 1]) context.lineTo(...point)
        else if (point) context.moveTo(...point)
      stroke(context, colour, lineWidth)
    },
    /** Between two series, where both have values. */
    fillBand(upper: readonly Point[], lower: readonly Point[], colour: string): void {
      context.fillStyle = colour
      let corners: NonNullable<Point>[] = []
      for (const [index, point] of [...upper, null].entries()) {
        const other = lower[index]
        if (point && other) corners.splice(corners.length / 2, 0, point, other)
        else if (corners.length > 0) {
          context.beginPath()
          for (const corner of corners) context.lineTo(...corner)
          context.closePath()
          context.fill()
          corners = []
        }
      }
    },
    fillDots(points: readonly Point[], radius: number, colour: string): void {
      context.beginPath()
      for (const [x, y] of points.filter((point) => point !== null)) {
        context.moveTo(x + radius, y)
        context.arc(x, y, radius, 0, 2 * Math.PI)
      }
      context.fillStyle = colour
      context.fill()
    },
    /** The cursor is a line, with a dot on each series. */
    finish(...series: readonly Series[]): void {
      if (cursor) {
        const x = xOf(cursor.seconds)
        context.beginPath()
        context.moveTo(x, top)
        context.lineTo(x, bottom)
        stroke(context, look.text, 1)
        const dots = series.map((one) => pointOf(cursor, one))
        plot.fillDots(dots, 3.5, look.line)
      }
      context.restore()
    },
  }
  return plot
}
