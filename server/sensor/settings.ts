// The commands of a WindSonic: which there are, and what its settings mean in words.

import { ConfigError } from '../config/error.ts'
import { changed, factorySettings } from '../sources/device/settings.ts'
import type { PortSettings } from '../sources/port/serial-line.ts'

/** Ask, change nothing (manual 1405-PS-0019, section 10.8). */
const questions = ['D1', 'D2', 'D3', 'D5', 'D6']

const messages: Readonly<Record<string, string>> = {
  M1: 'Gill, U and V, sent by itself',
  M2: 'Gill, polar, sent by itself',
  M3: 'Gill, U and V, when asked',
  M4: 'Gill, polar, when asked',
  M5: 'NMEA $IIMWV, status A or V',
  M12: 'Gill, tunnel, sent by itself',
  M14: 'NMEA $WIMWV, status A or V',
  M15: 'NMEA $WIMWV, Gill status',
  M16: 'NMEA $IIMWV, Gill status',
}

/** Manual 1405-PS-0019, section 10.7. */
const meanings: Readonly<Record<string, string>> = {
  ...messages,
  U1: 'metres per second',
  U2: 'knots',
  U3: 'miles per hour',
  U4: 'kilometres per hour',
  U5: 'feet per minute',
  O1: 'in a calm the direction is left empty',
  O2: 'in a calm the last direction is repeated',
  L1: 'CR LF',
  L2: 'CR alone',
  P1: '1 a second',
  P2: '2 a second',
  P3: '4 a second',
  P20: '1 in 4 seconds',
  P21: '1 in 2 seconds',
  B1: '2400 baud',
  B2: '4800 baud',
  B3: '9600 baud',
  B4: '19200 baud',
  B5: '38400 baud',
  H1: 'on',
  H2: 'off',
  F1: '8 bits, no parity',
  F2: '8 bits, even parity',
  F3: '8 bits, odd parity',
  E2: 'RS422, RS485',
  E3: 'RS232',
}

const names: Readonly<Record<string, string>> = {
  M: 'message',
  U: 'unit',
  O: 'calm',
  L: 'line end',
  P: 'readings',
  B: 'baud rate',
  H: 'banner',
  N: 'node letter',
  F: 'parity',
  E: 'line',
  T: 'analogue type',
  S: 'analogue range',
  C: 'analogue wrap',
  G: 'reserved',
  K: 'direction from',
}

/**
 * `"P3 M2"` as `['P3', 'M2']`. Throws ConfigError at the first word that no WindSonic understands, before any port is
 * opened; `Q` and `*` are not taken either, since they are sent when it is time.
 */
export function readCommands(text: string): string[] {
  const words = text
    .toUpperCase()
    .split(/[\s,]+/)
    .filter((word) => word !== '')
  if (words.length === 0) throw new ConfigError(`--configure needs commands, such as "P3 M2"; ${known}.`)
  for (const word of words) {
    if (word === 'Q' || word.startsWith('*'))
      throw new ConfigError(`"${word}" is sent by itself, at the right moment; leave it out.`)
    if (!isQuestion(word) && changed(factorySettings, word) === null)
      throw new ConfigError(`"${word}" is no command of a WindSonic; ${known}.`)
  }
  return words
}

const known = `there are ${Object.keys(messages).join(', ')}, U1 to U5, O1, O2, L1, L2, P1, P2, P3, P20, P21, B1 to B5, F1 to F3, H1, H2, NA to NZ, K50 to K5000, E, T, S, C, and the questions ${questions.join(', ')}`

/** The answer to D3 in a text: `M2,U1,O1,L1,P1,B3,H1,NQ,F1,E3,T1,S4,C2,G0,K50,` as its words, or null. */
export function settingsIn(lines: readonly string[]): string[] | null {
  const answer = lines.findLast((line) => /^([A-Z][A-Z\d]+, ?){5,}([A-Z][A-Z\d]+)?$/.test(line))
  return (
    answer
      ?.split(',')
      .map((word) => word.trim())
      .filter((word) => word !== '') ?? null
  )
}

/** `['M2', 'message', 'Gill, polar, sent by itself']` */
export function inWords(setting: string): [string, string, string] {
  const [letter, value] = [setting.slice(0, 1), setting.slice(1)]
  return [setting, names[letter] ?? '', meaningOf(setting, letter, value)]
}

function meaningOf(setting: string, letter: string, value: string): string {
  if (letter === 'N') return value
  if (letter === 'K') return `${Number(value) / 1000} m/s`
  return meanings[setting] ?? ''
}

/** Whether a command asks and changes nothing. */
export function isQuestion(command: string): boolean {
  return questions.includes(command)
}

/** The letter that a sensor which is set so answers to. */
export function nodeIn(settings: readonly string[]): string {
  return settings.find((word) => word.startsWith('N'))?.slice(1) ?? 'Q'
}

/** Whether a sensor that is set so waits to be asked. */
export function isPolled(settings: readonly string[]): boolean {
  return settings.includes('M3') || settings.includes('M4')
}

/** What a command changes about the line itself, its rate or its parity; null for all others. */
export function lineChange(command: string): LineChange | null {
  return lineChanges[command] ?? null
}

type LineChange = Partial<Pick<PortSettings, 'baudRate' | 'parity'>>

const lineChanges: Readonly<Record<string, LineChange>> = {
  B1: { baudRate: 2400 },
  B2: { baudRate: 4800 },
  B3: { baudRate: 9600 },
  B4: { baudRate: 19_200 },
  B5: { baudRate: 38_400 },
  F1: { parity: 'none' },
  F2: { parity: 'even' },
  F3: { parity: 'odd' },
}
