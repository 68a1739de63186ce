// What the settings of a WindSonic mean: formats, units, rates and the line.

import type { WindUnit } from '../../wire/wind/units.ts'
import type { FrameStyle } from '../frames/write-frame.ts'
import type { Settings } from './settings.ts'

type Message = Omit<FrameStyle, 'ending'> & { readonly isPolled: boolean }

const plain = { talker: 'II', hasGillStatus: false, isPolled: false } as const

/** Manual 1405-PS-0019, section 10.7, command M. */
const messages: Readonly<Record<string, Message>> = {
  1: { ...plain, format: 'uv' },
  2: { ...plain, format: 'polar' },
  3: { ...plain, format: 'uv', isPolled: true },
  4: { ...plain, format: 'polar', isPolled: true },
  5: { ...plain, format: 'nmea' },
  12: { ...plain, format: 'tunnel' },
  14: { ...plain, format: 'nmea', talker: 'WI' },
  15: { ...plain, format: 'nmea', talker: 'WI', hasGillStatus: true },
  16: { ...plain, format: 'nmea', hasGillStatus: true },
}

/** Same place, commands U, P and B. */
const units: Readonly<Record<string, WindUnit>> = { 1: 'M', 2: 'N', 3: 'P', 4: 'K', 5: 'F' }
const ratesHz: Readonly<Record<string, number>> = { 1: 1, 2: 2, 3: 4, 20: 0.25, 21: 0.5 }
const baudRates: Readonly<Record<string, number>> = { 1: 2400, 2: 4800, 3: 9600, 4: 19_200, 5: 38_400 }

/** The longest that a sensor sends: UV, or NMEA with the Gill status, with CR LF. */
export const longestFrameBytes = 29

/** How the settings' frames are written, and whether they wait to be asked for. */
export function messageOf({ M, L }: Settings): FrameStyle & { readonly isPolled: boolean } {
  return { ...known(messages, M), ending: L === '1' ? '\r\n' : '\r' }
}

export function unitOf({ U }: Settings): WindUnit {
  return known(units, U)
}

/** Frames a second. */
export function rateOf({ P }: Settings): number {
  return known(ratesHz, P)
}

/** The words `P3`, `P1` and so on for a rate that the sensor has; null for any other. */
export function rateSetting(rateHz: number): string | null {
  const found = Object.entries(ratesHz).find(([, hz]) => hz === rateHz)
  return found ? `P${found[0]}` : null
}

/** How long one byte takes: start and stop bit and eight of data, with parity (F2, F3) one more. */
export function byteMsOf({ B, F }: Settings): number {
  return ((F === '1' ? 10 : 11) * 1000) / known(baudRates, B)
}

/** Below it the direction means nothing; K is in mm/s. */
export function calmMetresPerSecondOf({ K }: Settings): number {
  return Number(K) / 1000
}

function known<Value>(table: Readonly<Record<string, Value>>, key: string): Value {
  const value = table[key]
  if (value === undefined) throw new RangeError(`No WindSonic has the setting ${key}.`)
  return value
}
