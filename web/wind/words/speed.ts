// Wind speeds as people read them, in any of the five units.

import { fromMetresPerSecond, type WindUnit } from '../../../server/wire/wind/units.ts'

export interface Quantity {
  readonly number: string
  /** As people write it: `m/s`. */
  readonly unit: string
  /** As it is read out: `metres per second`. */
  readonly spokenUnit: string
}

interface Unit {
  readonly symbol: string
  readonly name: string
  readonly spoken: string
  readonly decimals: number
}

export const units: Readonly<Record<WindUnit, Unit>> = {
  M: { symbol: 'm/s', name: 'm/s', spoken: 'metres per second', decimals: 1 },
  N: { symbol: 'kn', name: 'knots', spoken: 'knots', decimals: 1 },
  P: { symbol: 'mph', name: 'mph', spoken: 'miles per hour', decimals: 1 },
  K: { symbol: 'km/h', name: 'km/h', spoken: 'kilometres per hour', decimals: 1 },
  F: { symbol: 'ft/min', name: 'ft/min', spoken: 'feet per minute', decimals: 0 },
}

/** A speed in its own unit, rounded for reading: the sensor's hundredths only flicker. */
export function quantity(speed: number, unit: WindUnit): Quantity {
  const { symbol, spoken } = units[unit]
  return { number: speedDigits(speed, unit), unit: symbol, spokenUnit: spoken }
}

export function quantityIn(unit: WindUnit, speedMetresPerSecond: number): Quantity {
  return quantity(fromMetresPerSecond(speedMetresPerSecond, unit), unit)
}

/** The number alone, for where the unit stands already. */
export function speedDigits(speed: number, unit: WindUnit): string {
  return speed.toFixed(units[unit].decimals)
}
