// Shared by the actions of the sensor command: context, failure and output.

import type { Random, Timers } from '../../protocol/time.ts'
import type { FrameReading } from '../readings.ts'
import type { createSerialPort, PortSettings } from '../serial-port.ts'
import type { WindUnit } from '../wind-units.ts'

/** As listed by the operating system. */
export interface ListedPort {
  readonly path: string
  readonly manufacturer?: string | undefined
  readonly serialNumber?: string | undefined
}

/** Replaced in tests: no terminal, no port, no real time. */
export interface SensorContext {
  readonly print: (line: string) => void
  readonly timers: Timers
  readonly random: Random
  readonly listPorts: () => Promise<readonly ListedPort[]>
  readonly createPort: typeof createSerialPort
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
}

/** The message is one sentence for people, printed without a stack. */
export class SensorFailure extends Error {
  override name = 'SensorFailure'
}

const gap = 3

/** Aligns columns, indents by two, trims line ends. */
export function inColumns(rows: readonly (readonly string[])[]): string[] {
  const count = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  return rows.map((row) => rowOf(row, widths))
}

/** For rows that arrive one by one. */
export function rowOf(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, column) => cell.padEnd(widths[column] ?? 0))
  return `  ${padded.join(' '.repeat(gap))}`.trimEnd()
}

const marks: Readonly<Record<string, string>> = { '\x02': '<STX>', '\x03': '<ETX>' }

/** STX and ETX by name, other unprintable characters as `\xfe`. */
export function visible(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, (character) => {
    const hex = character.charCodeAt(0).toString(16).padStart(2, '0')
    return marks[character] ?? `\\x${hex}`
  })
}

/** Drops empty lines; the last one may be incomplete. */
export function linesOf(text: string): string[] {
  return text.split(/[\r\n]+/).filter((line) => line !== '')
}

const unitNames: Readonly<Record<WindUnit, string>> = {
  M: 'm/s',
  N: 'kn',
  P: 'mph',
  K: 'km/h',
  F: 'ft/min',
}

/** `229°   2.74 m/s`, aligned; a calm has no direction, a fault no value. */
export function readAs({ state, directionDegrees, speed, unit, status }: FrameReading): string {
  if (state === 'fault') return `fault, status ${status}`
  const direction = directionDegrees === null ? 'calm' : `${Math.round(directionDegrees)}°`
  return `${direction.padStart(4)} ${(speed ?? 0).toFixed(2).padStart(6)} ${unitNames[unit]}`
}

/** `9600 baud, parity none` */
export function formatLineSettings({ baudRate, parity }: PortSettings): string {
  return `${baudRate} baud, parity ${parity}`
}
