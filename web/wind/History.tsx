// The history of speed and direction: its length, a summary and two plots.

import { type KeyboardEvent, memo, useEffect, useId, useRef, useState } from 'react'
import type { WindHistory } from '../../app/shared/wind-history.ts'
import { browserTimers } from '../../client/transports.ts'
import { Segments } from '../page/Controls.tsx'
import { type CommonProps, useView } from '../page/hooks.ts'
import { type HistoryMinutes, historyMinutes, unitShown } from '../store.ts'
import { displayOf } from './canvas.ts'
import { HistoryPlots } from './history-plots.ts'
import { units } from './wind-words.ts'

const lengths: Readonly<Record<HistoryMinutes, { readonly shown: string; readonly spoken: string }>> = {
  1: { shown: '1 min', spoken: 'minute' },
  10: { shown: '10 min', spoken: '10 minutes' },
  60: { shown: '1 h', spoken: 'hour' },
  1440: { shown: '24 h', spoken: '24 hours' },
  10080: { shown: '7 d', spoken: '7 days' },
}

export interface HistoryProps extends CommonProps {
  readonly history: Pick<WindHistory, 'since'>
}

/** Readings rerender only the summary, and only if its text changes. */
export const History = memo(function History({ store, actions, history }: HistoryProps) {
  const id = useId()
  const speed = useRef<HTMLDivElement>(null)
  const direction = useRef<HTMLDivElement>(null)
  const plots = useRef<HistoryPlots | null>(null)
  const [summary, setSummary] = useState('')
  const [moment, setMoment] = useState<string | null>(null)
  const [announced, setAnnounced] = useState({ words: 'now', seconds: 0 })
  const minutes = useView(store, (view) => view.wind.choices.minutes)
  const unit = useView(store, (view) => unitShown(view.wind))

  useEffect(() => {
    if (!speed.current || !direction.current) return
    const drawn = new HistoryPlots({
      store,
      history,
      clock: browserTimers.now,
      speed: speed.current,
      direction: direction.current,
      display: displayOf(speed.current),
      onWords(summary, moment) {
        setSummary(summary)
        setMoment(moment)
      },
    })
    plots.current = drawn
    return () => drawn.stop()
  }, [store, history])

  function onKeyDown(event: KeyboardEvent): void {
    const by = stepOf(event)
    if (event.key === 'Escape') plots.current?.leave()
    if (by === null || !plots.current) return
    event.preventDefault()
    // Only keys change the announced value, not every reading.
    setAnnounced(plots.current.step(by))
  }

  return (
    <section className="history" aria-labelledby={`${id}-name`}>
      <div className="history-head row">
        <h3 id={`${id}-name`}>History</h3>
        <Segments
          label="Length of the history"
          choices={historyMinutes.map((choice) => [choice, lengths[choice].shown])}
          chosen={minutes}
          onChoose={(minutes) => actions.chooseWind({ minutes })}
        />
      </div>
      <p className="history-words small" id={`${id}-words`} data-moment={moment !== null}>
        <span className="visually-hidden">
          {moment === null && `In the last ${lengths[minutes].spoken}: `}
        </span>
        {moment ?? summary}
      </p>
      <div
        className="history-plots"
        role="slider"
        tabIndex={0}
        aria-label="Time in the history"
        aria-valuemin={-minutes * 60}
        aria-valuemax={0}
        aria-valuenow={Math.round(announced.seconds)}
        aria-valuetext={announced.words}
        aria-describedby={`${id}-words`}
        onKeyDown={onKeyDown}
        onBlur={() => plots.current?.leave()}
      >
        <p className="plot-name small" aria-hidden="true">
          Speed, {units[unit].name} {minutes > 1 && <span className="plot-key">gust 1 min</span>}
        </p>
        <div ref={speed} className="plot plot-speed" />
        <p className="plot-name small" aria-hidden="true">
          Direction
        </p>
        <div ref={direction} className="plot plot-direction" />
      </div>
    </section>
  )
})

/** Number of columns to move: one, ten with Shift or a page key, all with Home and End. */
function stepOf({ key, shiftKey }: KeyboardEvent): number | null {
  const far = shiftKey ? 10 : 1
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: -far,
    ArrowDown: -far,
    ArrowRight: far,
    ArrowUp: far,
    PageDown: -10,
    PageUp: 10,
    Home: Number.NEGATIVE_INFINITY,
    End: Number.POSITIVE_INFINITY,
  }
  return steps[key] ?? null
}
