// The history of speed and direction: how much of it, in a sentence, and as two plots.

import { type KeyboardEvent, memo, useEffect, useId, useRef, useState } from 'react'
import type { WindHistory } from '../../../server/wire/wind/history.ts'
import { browserTimers } from '../../link/timers.ts'
import type { Actions } from '../../page/actions.ts'
import { useView } from '../../page/use-view.ts'
import type { Store } from '../../store/store.ts'
import { unitShown } from '../choices.ts'
import { units } from '../words/speed.ts'
import { type Moment, type MountedHistory, mountHistory } from './mount-history.ts'
import { SpanSwitch } from './SpanSwitch.tsx'

interface HistoryProps {
  readonly store: Store
  readonly actions: Actions
  readonly history: Pick<WindHistory, 'since'>
}

/** A reading renders nothing here but the sentence, and that only when it says something else. */
export const History = memo(function History({ store, actions, history }: HistoryProps) {
  const id = useId()
  const speed = useRef<HTMLDivElement>(null)
  const direction = useRef<HTMLDivElement>(null)
  const mounted = useRef<MountedHistory>(null)
  const [words, setWords] = useState<{ summary: string; moment: string | null }>({
    summary: '',
    moment: null,
  })
  const [moment, setMoment] = useState<Moment>({ words: 'now', seconds: 0 })
  const minutes = useView(store, (view) => view.wind.choices.minutes)
  const unit = useView(store, ({ wind }) => unitShown(wind.choices.unit, wind.reading?.unit ?? null))

  useEffect(() => {
    if (!speed.current || !direction.current) return
    const onWords = (next: typeof words) =>
      setWords((last) => (last.summary === next.summary && last.moment === next.moment ? last : next))
    mounted.current = mountHistory({
      store,
      history,
      clock: browserTimers.now,
      speed: speed.current,
      direction: direction.current,
      onWords,
    })
    return () => mounted.current?.stop()
  }, [store, history])

  function onKeyDown(event: KeyboardEvent): void {
    const by = stepOf(event)
    if (event.key === 'Escape') mounted.current?.leave()
    if (by === null || !mounted.current) return
    event.preventDefault()
    // What is read out changes by a key alone, not with every reading.
    setMoment(mounted.current.step(by))
  }

  return (
    <section className="history" aria-labelledby={`${id}-name`}>
      <div className="history-head">
        <h3 id={`${id}-name`}>History</h3>
        <SpanSwitch minutes={minutes} onChoose={(chosen) => actions.chooseWind({ minutes: chosen })} />
      </div>
      <p className="history-words" id={`${id}-words`} data-moment={words.moment !== null}>
        <span className="visually-hidden">{words.moment === null && `In the last ${minutes} minutes: `}</span>
        {words.moment ?? words.summary}
      </p>
      <div
        className="history-plots"
        role="slider"
        tabIndex={0}
        aria-label="Moment of the history"
        aria-valuemin={-minutes * 60}
        aria-valuemax={0}
        aria-valuenow={Math.round(moment.seconds)}
        aria-valuetext={moment.words}
        aria-describedby={`${id}-words`}
        onKeyDown={onKeyDown}
        onBlur={() => mounted.current?.leave()}
      >
        <p className="plot-name" aria-hidden="true">
          Speed, {units[unit].name} <span className="plot-key">gust 1 min</span>
        </p>
        <div ref={speed} className="plot plot-speed" />
        <p className="plot-name" aria-hidden="true">
          Direction
        </p>
        <div ref={direction} className="plot plot-direction" />
      </div>
    </section>
  )
})

/** Columns to go; with Shift or a page key ten at once, to the ends with Home and End. */
function stepOf({ key, shiftKey }: KeyboardEvent): number | null {
  const far = shiftKey ? 10 : 1
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return -far
    case 'ArrowRight':
    case 'ArrowUp':
      return far
    case 'PageDown':
      return -10
    case 'PageUp':
      return 10
    case 'Home':
      return Number.NEGATIVE_INFINITY
    case 'End':
      return Number.POSITIVE_INFINITY
    default:
      return null
  }
}
