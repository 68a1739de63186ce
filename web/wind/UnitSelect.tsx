// The unit that speeds are shown in, everywhere in this window.

import { isUnitChoice, type UnitChoice } from './choices.ts'
import { units } from './words/speed.ts'

interface UnitSelectProps {
  readonly unit: UnitChoice
  readonly onChoose: (unit: UnitChoice) => void
}

export function UnitSelect({ unit, onChoose }: UnitSelectProps) {
  return (
    <label className="unit-select">
      <span className="visually-hidden">Unit of speeds</span>
      <select
        value={unit}
        onChange={({ target: { value } }) => {
          if (isUnitChoice(value)) onChoose(value)
        }}
      >
        {Object.entries(units).map(([choice, { name }]) => (
          <option key={choice} value={choice}>
            {name}
          </option>
        ))}
        <option value="sent">as sent</option>
      </select>
    </label>
  )
}
