// A logarithmic axis of times that holds all of them, with round ticks.

import { type TimeAxis, timeAxis } from '../../figures/axis.ts'

/** Linear where a time is not above 0, as a clock's error can make it. */
export function roundAxis(values: readonly number[]): TimeAxis {
  return timeAxis([{ label: '', colour: '', values: values.map((ms, key) => ({ ms, key, block: 1 })) }])
}
