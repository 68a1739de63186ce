// The wind in words: directions, speeds, ages, sources and status codes.

import type { SensorSource } from '../../app/shared/page-messages.ts'
import { gapMs } from '../../app/shared/wind-statistics.ts'
import { fromMetresPerSecond, type WindUnit, wholeTurn } from '../../sensor/wind-units.ts'

const points = [
  'north',
  'north-north-east',
  'north-east',
  'east-north-east',
  'east',
  'east-south-east',
  'south-east',
  'south-south-east',
  'south',
  'south-south-west',
  'south-west',
  'west-south-west',
  'west',
  'west-north-west',
  'north-west',
  'north-north-west',
]

/** The nearest of 16 points, each centred in its 22.5 degrees. */
export function compassPoint(degrees: number): string {
  return points[Math.round(wholeTurn(degrees) / 22.5) % points.length] ?? 'north'
}

/** 0 to 359, like a sensor's. */
export function wholeDegrees(degrees: number): number {
  return Math.round(degrees) % 360
}

export const units: Readonly<Record<WindUnit, { symbol: string; name: string; spoken: string }>> = {
  M: { symbol: 'm/s', name: 'm/s', spoken: 'metres per second' },
  N: { symbol: 'kn', name: 'knots', spoken: 'knots' },
  P: { symbol: 'mph', name: 'mph', spoken: 'miles per hour' },
  K: { symbol: 'km/h', name: 'km/h', spoken: 'kilometres per hour' },
  F: { symbol: 'ft/min', name: 'ft/min', spoken: 'feet per minute' },
}

export interface Quantity {
  /** Null for none. */
  readonly number: string | null
  /** Such as `m/s`; may be empty. */
  readonly unit: string
  /** Such as `metres per second`. */
  readonly spokenUnit: string
}

export function quantityIn(unit: WindUnit, metresPerSecond: number | null): Quantity {
  const { symbol, spoken } = units[unit]
  const number = metresPerSecond === null ? null : speedIn(unit, metresPerSecond)
  return { number, unit: symbol, spokenUnit: spoken }
}

export function speedIn(unit: WindUnit, metresPerSecond: number): string {
  return speedDigits(fromMetresPerSecond(metresPerSecond, unit), unit)
}

/** The Beaufort scale (WMO-No. 8, part I, chapter 5): the lowest speed of each force from 1 on, m/s, and its name. */
const forces: readonly (readonly [lowestMetresPerSecond: number, name: string])[] = [
  [0.3, 'Light air'],
  [1.6, 'Light breeze'],
  [3.4, 'Gentle breeze'],
  [5.5, 'Moderate breeze'],
  [8, 'Fresh breeze'],
  [10.8, 'Strong breeze'],
  [13.9, 'Near gale'],
  [17.2, 'Gale'],
  [20.8, 'Strong gale'],
  [24.5, 'Storm'],
  [28.5, 'Violent storm'],
  [32.7, 'Hurricane'],
]

/**
 * The Beaufort force, 0 to 12, which is defined of a mean over 10 minutes at a height of 10 m. The scale's
 * limits are in tenths, to which the speed is rounded.
 */
export function beaufort(metresPerSecond: number): { readonly force: number; readonly name: string } {
  const tenths = Math.round(metresPerSecond * 10) / 10
  const force = forces.filter(([lowest]) => tenths >= lowest).length
  return { force, name: forces[force - 1]?.[1] ?? 'Calm' }
}

/** Rounded: the sensor's hundredths only flicker. */
export function speedDigits(speed: number, unit: WindUnit): string {
  return speed.toFixed(unit === 'F' ? 0 : 1)
}

/** Longer than the interval of any sensor rate. */
const staleAfterMs = gapMs

export function isStale(ageMs: number): boolean {
  return ageMs >= staleAfterMs
}

/**
 * Constant, because it is announced once. For connected windows only; others know nothing about the
 * sensor.
 */
export const staleSentence = `No reading for ${formatTime(staleAfterMs)}: the connection to the sensor is lost.`

/** In the largest whole unit: `12 s`, `3 min`, `2 h`, `3 d`. */
export function formatTime(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`
}

export const sourceWords: Readonly<Record<SensorSource, string>> = {
  simulated: 'Simulated',
  recorded: 'Recorded',
  serial: 'WindSonic',
}

/** Manual 1405-PS-0019, "Status codes"; `V` is NMEA 0183's code for invalid data. */
const faults: Readonly<Record<string, string>> = {
  '01': 'something blocks its U axis',
  '02': 'something blocks its V axis',
  '04': 'both of its axes have failed',
  '08': 'the checksum of its settings memory is wrong',
  '09': 'the checksum of its program memory is wrong',
  '10': 'its amplifier is at full gain: something is in the way',
  V: 'it marks its data as invalid',
}

export function faultSentence(status: string): string {
  const words = Object.hasOwn(faults, status) ? faults[status] : undefined
  return words
    ? `The sensor reports a fault: ${words} (status ${status}).`
    : `The sensor reports a fault, status ${status}.`
}
