// Wind speeds in the units that a WindSonic sends.

import type { WindUnit } from '../../server/wire/wind/units.ts'

export interface Quantity {
  readonly number: string
  /** As people write it: `m/s`. */
  readonly unit: string
  /** As it is read out: `metres per second`. */
  readonly spokenUnit: string
}

interface Unit {
  readonly symbol: string
  readonly spoken: string
  readonly decimals: number
}

const units: Readonly<Record<WindUnit, Unit>> = {
  M: { symbol: 'm/s', spoken: 'metres per second', decimals: 1 },
  N: { symbol: 'kn', spoken: 'knots', decimals: 1 },
  P: { symbol: 'mph', spoken: 'miles per hour', decimals: 1 },
  K: { symbol: 'km/h', spoken: 'kilometres per hour', decimals: 1 },
  F: { symbol: 'ft/min', spoken: 'feet per minute', decimals: 0 },
}

/** A speed in its own unit, rounded for reading: the sensor's hundredths only flicker. */
export function quantity(speed: number, unit: WindUnit): Quantity {
  const { symbol, spoken, decimals } = units[unit]
  return { number: speed.toFixed(decimals), unit: symbol, spokenUnit: spoken }
}
