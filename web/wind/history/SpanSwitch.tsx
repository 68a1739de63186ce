// How much of the history: three buttons of which one is pressed in, that arrow keys move through.

import { useId } from 'react'
import { type HistoryMinutes, historyMinutes } from '../choices.ts'

interface SpanSwitchProps {
  readonly minutes: HistoryMinutes
  readonly onChoose: (minutes: HistoryMinutes) => void
}

export function SpanSwitch({ minutes, onChoose }: SpanSwitchProps) {
  const name = useId()
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">Length of the history</legend>
      {historyMinutes.map((choice) => (
        <label key={choice} className="segment">
          <input
            type="radio"
            name={name}
            value={choice}
            checked={choice === minutes}
            onChange={() => onChoose(choice)}
          />
          <span>{choice} min</span>
        </label>
      ))}
    </fieldset>
  )
}
