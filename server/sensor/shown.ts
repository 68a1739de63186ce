// Makes what came from a sensor fit to be looked at: raw characters, and readings in words.

import type { FrameReading } from '../sources/frames/windsonic-frame.ts'
import type { PortSettings } from '../sources/port/serial-line.ts'
import type { WindUnit } from '../wire/wind/units.ts'

const marks: Readonly<Record<string, string>> = { '\x02': '<STX>', '\x03': '<ETX>' }

const unitNames: Readonly<Record<WindUnit, string>> = {
  M: 'm/s',
  N: 'kn',
  P: 'mph',
  K: 'km/h',
  F: 'ft/min',
}

/** STX and ETX by their names, everything else that a terminal would not show as `\xfe`. */
export function visible(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, (character) => {
    const hex = character.charCodeAt(0).toString(16).padStart(2, '0')
    return marks[character] ?? `\\x${hex}`
  })
}

/** Without line ends and empty lines; the last may not be whole. */
export function linesOf(text: string): string[] {
  return text.split(/[\r\n]+/).filter((line) => line !== '')
}

/** `229°   2.74 m/s`, lined up with its neighbours; a calm has no direction, a fault no value. */
export function readAs({ state, directionDegrees, speed, unit, status }: FrameReading): string {
  if (state === 'fault') return `fault, status ${status}`
  const direction = directionDegrees === null ? 'calm' : `${Math.round(directionDegrees)}°`
  return `${direction.padStart(4)} ${(speed ?? 0).toFixed(2).padStart(6)} ${unitNames[unit]}`
}

/** `9600 baud, parity none` */
export function lineWords({ baudRate, parity }: PortSettings): string {
  return `${baudRate} baud, parity ${parity}`
}
