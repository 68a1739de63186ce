// Tools for tests of sources: a port without a device, frames, and logs in many layouts.

import { EventEmitter } from 'node:events'
import type { Random } from '../protocol/time.ts'
import type { FrameFormat, FrameReading } from './readings.ts'
import type { Port, PortSettings } from './serial-port.ts'
import { fromMetresPerSecond, type WindUnit } from './wind-units.ts'
import { axesOf, checksum, type FrameStyle, type FrameValues, writeFrame } from './windsonic-frame.ts'

/** Opens on command. */
export class FakePort extends EventEmitter implements Port {
  readonly settings: PortSettings
  readonly written: string[] = []
  isOpen = false
  opening = false
  closings = 0
  /** Never drains. */
  isStuck = false
  /** Closes only with `finishClosing`. */
  isSlowToClose = false
  /** Simulates the other end. */
  onWrite: (text: string) => void = () => undefined
  #opened: (error: Error | null) => void = () => undefined
  #closed: (error: Error | null) => void = () => undefined

  constructor(settings: PortSettings) {
    super()
    this.settings = settings
  }

  open(done: (error: Error | null) => void): void {
    this.opening = true
    this.#opened = done
  }

  write(text: string): void {
    this.written.push(text)
    this.onWrite(text)
  }

  drain(done: (error: Error | null) => void): void {
    if (!this.isStuck) done(null)
  }

  close(done: (error: Error | null) => void): void {
    this.closings += 1
    this.isOpen = false
    this.#closed = done
    if (!this.isSlowToClose) this.finishClosing()
  }

  finishClosing(): void {
    this.emit('close')
    this.#closed(null)
  }

  succeed(): void {
    this.opening = false
    this.isOpen = true
    this.#opened(null)
  }

  fail(message: string): void {
    this.opening = false
    this.#opened(new Error(message))
  }

  unplug(): void {
    this.isOpen = false
    this.emit('close', new Error('bad file descriptor'))
  }

  receive(text: string): void {
    this.emit('data', Buffer.from(text, 'latin1'))
  }
}

type Vector = readonly [
  body: string,
  sum: string,
  format: FrameFormat,
  state: FrameReading['state'],
  directionDegrees: number | null,
  speed: number | null,
]

/** Checked against real captures where the manual contradicts itself; UV to three decimals. */
const rows: readonly Vector[] = [
  ['Q,229,002.74,M,00,', '16', 'polar', 'measured', 229, 2.74],
  ['Q,156,000.05,M,00,', '19', 'polar', 'measured', 156, 0.05],
  ['Q,,000.04,M,00,', '2A', 'polar', 'calm', null, 0.04],
  ['Q,160,000.04,M,00,', '1D', 'polar', 'calm', null, 0.04],
  ['Q,,000.03,M,00,', '2D', 'polar', 'calm', null, 0.03],
  ['Q,,,M,04,', '34', 'polar', 'fault', null, null],
  ['Q,999,999.99,M,04,', '1A', 'polar', 'fault', null, null],
  ['Q,+001.59,-002.74,M,00,', '3A', 'uv', 'measured', 239.874, 3.168],
  ['Q,001.59,1,00,M,', '12', 'tunnel', 'measured', 180, 1.59],
  ['Q,316,009.52,N,00,', '17', 'polar', 'measured', 316, 9.52],
  ['Q,078,007.10,K,00,', '11', 'polar', 'measured', 78, 7.1],
  ['Q,+000.01,-000.01,M,00,', '36', 'uv', 'calm', null, 0.014],
  ['A,356,006.94,M,60,', '03', 'polar', 'measured', 356, 6.94],
  ['IIMWV,284,R,001.26,K,A', '1D', 'nmea', 'measured', 284, 1.26],
  ['IIMWV,120,R,002.10,M,A', '10', 'nmea', 'measured', 120, 2.1],
]

export const vectors = rows.map(([body, sum, format, state, directionDegrees, speed]) => ({
  body,
  sum,
  format,
  state,
  directionDegrees,
  speed,
}))

/** Latin1; detects NMEA by its head. */
export function wireOf(body: string, ending = '\r\n', sum = checksum(body)): string {
  const isNmea = /^(II|WI)MWV/.test(body)
  return isNmea ? `$${body}*${sum}${ending}` : `\x02${body}\x03${sum}${ending}`
}

interface SentFrame {
  readonly bytes: readonly number[]
  /** The expected `raw`. */
  readonly raw: string
}

const formats: readonly FrameFormat[] = ['polar', 'uv', 'nmea', 'tunnel']
const units: readonly WindUnit[] = ['M', 'N', 'P', 'K', 'F']

export function oneOf<Item>(items: readonly Item[], random: Random): Item {
  const item = items[below(items.length, random)]
  if (item === undefined) throw new RangeError('There is nothing to draw from.')
  return item
}

export function below(end: number, random: Random): number {
  return Math.floor(random() * end)
}

const hundredths = (value: number) => Math.round(value * 100) / 100

/** The frames of one sensor: one in six is a calm, one in thirty a fault. */
export function drawFrames(count: number, random: Random): readonly SentFrame[] {
  const style: FrameStyle = {
    format: oneOf(formats, random),
    ending: oneOf(['\r\n', '\r'], random),
    talker: oneOf(['II', 'WI'], random),
    hasGillStatus: random() < 0.5,
  }
  const sound = {
    node: String.fromCharCode(0x41 + below(26, random)),
    unit: oneOf(units, random),
    status: oneOf(['00', '60'], random),
  }
  const isO2 = random() < 0.5
  return Array.from({ length: count }, () => {
    const chance = random() * 30
    const values = chance < 1 ? fault(isO2) : wind(chance < 6 ? 0.05 : 25, sound.unit, isO2, random)
    return sent(writeFrame({ ...sound, ...values }, style))
  })
}

type Values = Partial<FrameValues> & Pick<FrameValues, 'directionDegrees' | 'speed' | 'axes'>

function wind(strongest: number, unit: WindUnit, isO2: boolean, random: Random): Values {
  const metresPerSecond = Math.min(random() * strongest, unit === 'F' ? 5 : strongest)
  const speed = hundredths(fromMetresPerSecond(metresPerSecond, unit))
  const directionDegrees = below(360, random)
  const { u, v } = axesOf(directionDegrees, speed)
  const isEmpty = metresPerSecond < 0.04 && !isO2
  const axes = { u: hundredths(u), v: hundredths(v) }
  return { directionDegrees: isEmpty ? null : directionDegrees, speed, axes }
}

function fault(isO2: boolean): Values {
  const fields = isO2 ? { directionDegrees: 999, speed: 999.99 } : { directionDegrees: null, speed: null }
  return { ...fields, axes: null, status: '04' }
}

function sent(bytes: Uint8Array): SentFrame {
  const text = Buffer.from(bytes).toString('latin1')
  const sumLength = text.endsWith('\n') ? 5 : 4
  return { bytes: [...bytes], raw: text.slice(1, -sumLength) }
}

const two = (number: number) => String(number).padStart(2, '0')
const fraction = (at: number, digits = 3) =>
  String(at % 1000)
    .padStart(3, '0')
    .padEnd(digits, '0')
    .slice(0, digits)

function parts(at: number) {
  const date = new Date(at)
  const hours = date.getUTCHours()
  return {
    year: date.getUTCFullYear(),
    month: two(date.getUTCMonth() + 1),
    day: two(date.getUTCDate()),
    clock: `${two(hours)}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`,
    twelve: `${hours % 12 || 12}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`,
    half: hours < 12 ? 'AM' : 'PM',
    name: date.toUTCString().slice(8, 11),
    weekday: date.toUTCString().slice(0, 3),
  }
}

export interface LogLayout {
  readonly name: string
  /** `at` is in ms since the epoch. `index` counts from 0. */
  line(message: string, at: number, index: number): string
  /** Before the first line. */
  readonly heading?: string
  /** 1 by default. */
  readonly resolutionMs?: number
}

const at2020 = Date.UTC(2020, 0, 31, 23, 59, 57)
/** Midnight passes after 3 s. */
export const logStartAt = at2020

const dated =
  (write: (p: ReturnType<typeof parts>, at: number) => string, separator = ' ') =>
  (message: string, at: number) =>
    `${write(parts(at), at)}${separator}${message}`

export const logLayouts: readonly LogLayout[] = [
  { name: 'ISO', line: dated((_, at) => new Date(at).toISOString()) },
  {
    name: 'year/month/day',
    line: dated(({ year, month, day, clock }, at) => `${year}/${month}/${day} ${clock}.${fraction(at)}`),
  },
  {
    name: 'month/day/year',
    line: dated(({ year, month, day, clock }, at) => `${month}/${day}/${year} ${clock}.${fraction(at)}`),
  },
  {
    name: 'day/month/year',
    line: dated(
      ({ year, month, day, clock }, at) => `${day}/${month}/${year} ${clock}.${fraction(at)}`,
      '\t',
    ),
  },
  {
    name: 'day.month.year, comma',
    line: dated(({ year, month, day, clock }, at) => `${day}.${month}.${year} ${clock},${fraction(at)}`),
  },
  {
    name: 'month/day/year, 12 hours',
    resolutionMs: 1000,
    line: dated(({ year, month, day, twelve, half }) => `${month}/${day}/${year} ${twelve} ${half}`, ','),
  },
  {
    name: 'date and time in columns',
    line: dated(({ year, month, day, clock }, at) => `${year}-${month}-${day},${clock}.${fraction(at)}`, ','),
  },
  {
    name: 'compact',
    line: dated(
      ({ year, month, day, clock }, at) =>
        `${year}${month}${day}T${clock.replaceAll(':', '')}.${fraction(at)}Z`,
    ),
  },
  {
    name: 'a comma before the fraction',
    line: dated(({ year, month, day, clock }, at) => `${year}-${month}-${day} ${clock},${fraction(at)}`),
  },
  { name: 'a clock alone (tio)', line: dated(({ clock }, at) => `[${clock}.${fraction(at)}]`) },
  { name: 'a clock alone, comma', line: dated(({ clock }, at) => `${clock},${fraction(at)}`) },
  { name: 'ts', resolutionMs: 1000, line: dated(({ name, day, clock }) => `${name} ${day} ${clock}`) },
  {
    name: 'Tera Term',
    line: dated(
      ({ weekday, name, day, clock, year }, at) =>
        `[${weekday} ${name} ${day} ${clock}.${fraction(at)} ${year}]`,
    ),
  },
  {
    name: 'seconds since the start',
    line: (message, at) => `${((at - at2020) / 1000).toFixed(3)} ${message}`,
  },
  {
    name: 'seconds since the start, kernel',
    line: (message, at) => `[${((at - at2020 + 5_000) / 1000).toFixed(6).padStart(13)}] ${message}`,
  },
  {
    name: 'seconds since the start, comma',
    line: (message, at) => `${((at - at2020) / 1000).toFixed(3).replace('.', ',')};${message}`,
  },
  { name: 'ms since the start', line: (message, at) => `${at - at2020},${message}` },
  { name: 'µs since the start', line: (message, at) => `${(at - at2020) * 1000}\t${message}` },
  {
    name: 'a counter and seconds since the start',
    line: (message, at, index) => `${index},${((at - at2020) / 1000).toFixed(2)},${message}`,
  },
  { name: 'epoch in s', resolutionMs: 1000, line: (message, at) => `${Math.floor(at / 1000)} ${message}` },
  { name: 'epoch in s with a fraction', line: (message, at) => `${(at / 1000).toFixed(6)} ${message}` },
  {
    name: 'epoch in s, comma',
    line: (message, at) => `${(at / 1000).toFixed(3).replace('.', ',')} ${message}`,
  },
  { name: 'epoch in ms', line: (message, at) => `${at},${message}` },
  { name: 'epoch in µs', line: (message, at) => `${at}000 ${message}` },
  { name: 'epoch in ns', line: (message, at) => `${at}000000 ${message}` },
  {
    name: 'TOA5 (Campbell Scientific)',
    heading:
      '"TOA5","Mast","CR1000","1031","CR1000.Std.32","CPU:Wind.CR1","4062","Raw"\r\n"TIMESTAMP","RECORD","raw"\r\n"TS","RN",""\r\n"","","Smp"\r\n',
    line: (message, at, index) =>
      `"${new Date(at).toISOString().slice(0, -1).replace('T', ' ')}",${index + 97},"${message}"\r`,
  },
  { name: 'further columns behind', line: (message, at) => `${new Date(at).toISOString()},${message},ok,17` },
]
