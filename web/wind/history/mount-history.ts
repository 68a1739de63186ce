// Keeps the history's plots and its sentence up to date, as often as there is something to see.

import type { Clock } from '../../../server/wire/time.ts'
import type { WindHistory } from '../../../server/wire/wind/history.ts'
import type { Store, WindView } from '../../store/store.ts'
import { unitShown } from '../choices.ts'
import { browserFrames, createDrawing } from '../drawing.ts'
import { onLookChange, propertyReader } from '../look-changes.ts'
import { watchSight } from '../sight.ts'
import { type Columns, columnsOf } from './columns.ts'
import { historySummary, momentWords } from './history-words.ts'
import { plotLook } from './plot-look.ts'
import { openPlots } from './plots.ts'
import { columnMsFor, redrawMsFor, spanOf } from './spans.ts'
import { speedScale } from './speed-scale.ts'

export interface HistoryParts {
  readonly store: Store
  readonly history: Pick<WindHistory, 'since'>
  /** The clock that stamps what comes. */
  readonly clock: Clock
  readonly speed: HTMLElement
  readonly direction: HTMLElement
  /** `moment` is what stands at the cursor; null without one. */
  readonly onWords: (words: { summary: string; moment: string | null }) => void
}

/** What stands at the cursor, and how many seconds before now that is; negative. */
export interface Moment {
  readonly words: string
  readonly seconds: number
}

export interface MountedHistory {
  /** Moves the cursor by so many columns, from the newest one where there is none yet. */
  readonly step: (by: number) => Moment
  readonly leave: () => void
  readonly stop: () => void
}

/** Without readings the wind moves on all the same. */
const idleMs = 1000

export function mountHistory(parts: HistoryParts): MountedHistory {
  const { store, history, clock, speed, direction, onWords } = parts
  let width = 300
  let drawnAt = Number.NEGATIVE_INFINITY
  /** The same by the clock that the reader sees, for the words at the cursor. */
  let readerDrewAt = 0
  let choices = store.view().wind.choices
  let columns: Columns = { seconds: [], speed: [], gust: [], direction: [] }
  let summary = ''

  const sight = watchSight(speed)
  const drawing = createDrawing(draw, sight, browserFrames)
  const plots = openPlots({
    speed,
    direction,
    look: plotLook(propertyReader(speed)),
    span: spanOf(choices.minutes),
    onPoint: tellWords,
    onResize(newWidth) {
      width = newWidth
      drawNow()
    },
  })

  function draw(): null {
    const { wind } = store.view()
    const span = spanOf(wind.choices.minutes)
    const nowAt = nowOf(wind, clock())
    const unit = unitShown(wind.choices.unit, wind.reading?.unit ?? null)
    const stretches = history.since(nowAt - span.ms, span.isFull)
    columns = columnsOf(stretches, { nowAt, columnMs: columnMsFor(span, width), unit })
    summary = historySummary(stretches, { spanMs: span.ms, nowAt, unit })
    plots.draw(columns, span, speedScale(highestOf(columns), unit))
    drawnAt = clock()
    readerDrewAt = Date.now()
    tellWords()
    return null
  }

  function tellWords(): void {
    const index = plots.pointedAt()
    onWords({ summary, moment: index === null ? null : momentAt(index) })
  }

  function momentAt(index: number): string {
    const { wind } = store.view()
    return momentWords(columns, index, readerDrewAt, unitShown(wind.choices.unit, wind.reading?.unit ?? null))
  }

  function drawNow(): void {
    drawnAt = Number.NEGATIVE_INFINITY
    drawing.plan()
  }

  function update(): void {
    const { wind } = store.view()
    if (wind.choices !== choices) {
      choices = wind.choices
      drawNow()
    } else if (wind.receivedAt !== null && clock() - drawnAt >= redrawMsFor(spanOf(choices.minutes), width)) {
      drawing.plan()
    }
  }

  const stops = [
    store.subscribe(update),
    onLookChange(() => plots.restyle(plotLook(propertyReader(speed)))),
    drawing.stop,
    sight.stop,
    plots.stop,
  ]
  const idle = setInterval(update, idleMs)
  drawing.plan()

  return {
    step(by) {
      const from = plots.pointedAt() ?? columns.seconds.length
      const index = Math.max(0, Math.min(columns.seconds.length - 1, from + by))
      if (columns.seconds.length === 0) return { words: summary, seconds: 0 }
      plots.pointAt(index)
      return { words: momentAt(index), seconds: columns.seconds[index] ?? 0 }
    },
    leave: () => plots.pointAt(null),
    stop() {
      clearInterval(idle)
      for (const stop of stops) stop()
    },
  }
}

/** Now, in the history's own time: the newest reading's, and what has passed since it came. */
function nowOf({ takenAt, receivedAt }: WindView, now: number): number {
  return takenAt === null || receivedAt === null ? 0 : takenAt + Math.max(0, now - receivedAt)
}

function highestOf({ speed, gust }: Columns): number {
  let highest = 0
  for (const values of [speed, gust]) for (const value of values) highest = Math.max(highest, value ?? 0)
  return highest
}
