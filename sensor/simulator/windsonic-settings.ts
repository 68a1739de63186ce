// The settings of a WindSonic: values, meanings, commands and listing.

import type { Parity } from '../serial-port.ts'
import type { WindUnit } from '../wind-units.ts'
import type { FrameStyle } from '../windsonic-frame.ts'

type MessageStyle = FrameStyle & { readonly isPolled: boolean }

interface Message extends Partial<Omit<MessageStyle, 'ending'>> {
  readonly format: MessageStyle['format']
  readonly words: string
}

/** All values below: manual 1405-PS-0019, section 10.7. */
const messages: Readonly<Record<string, Message>> = {
  1: { format: 'uv', words: 'Gill, U and V, continuous' },
  2: { format: 'polar', words: 'Gill, polar, continuous' },
  3: { format: 'uv', isPolled: true, words: 'Gill, U and V, polled' },
  4: { format: 'polar', isPolled: true, words: 'Gill, polar, polled' },
  5: { format: 'nmea', words: 'NMEA $IIMWV, status A or V' },
  12: { format: 'tunnel', words: 'Gill, tunnel, continuous' },
  14: { format: 'nmea', talker: 'WI', words: 'NMEA $WIMWV, status A or V' },
  15: { format: 'nmea', talker: 'WI', hasGillStatus: true, words: 'NMEA $WIMWV, Gill status' },
  16: { format: 'nmea', hasGillStatus: true, words: 'NMEA $IIMWV, Gill status' },
}
const units: Readonly<Record<string, WindUnit>> = { 1: 'M', 2: 'N', 3: 'P', 4: 'K', 5: 'F' }
const ratesHz: Readonly<Record<string, number>> = { 1: 1, 2: 2, 3: 4, 20: 0.25, 21: 0.5 }
const baudRates: Readonly<Record<string, number>> = { 1: 2400, 2: 4800, 3: 9600, 4: 19_200, 5: 38_400 }
const parities: Readonly<Record<string, Parity>> = { 1: 'none', 2: 'even', 3: 'odd' }

interface Letter {
  readonly name: string
  readonly factory: string
  /** Meanings by value, or a pattern of self-explanatory values. */
  readonly values: Readonly<Record<string, string>> | RegExp
}

/**
 * In D3's order (section 10.6); factory values of an option 1 unit. G is reserved; T, S and C set
 * the analogue output of option 3 and do nothing here. Values of E besides E2 and E3 are
 * unverified.
 */
const letters: Readonly<Record<string, Letter>> = {
  M: { name: 'message', factory: '2', values: mapped(messages, ({ words }) => words) },
  U: {
    name: 'unit',
    factory: '1',
    values: {
      1: 'metres per second',
      2: 'knots',
      3: 'miles per hour',
      4: 'kilometres per hour',
      5: 'feet per minute',
    },
  },
  O: {
    name: 'calm',
    factory: '1',
    values: { 1: 'the direction is left empty in a calm', 2: 'the last direction is repeated in a calm' },
  },
  L: { name: 'line end', factory: '1', values: { 1: 'CR LF', 2: 'CR alone' } },
  P: {
    name: 'readings',
    factory: '1',
    values: mapped(ratesHz, (hz) => (hz < 1 ? `1 in ${1 / hz} seconds` : `${hz} a second`)),
  },
  B: { name: 'baud rate', factory: '3', values: mapped(baudRates, (baudRate) => `${baudRate} baud`) },
  H: { name: 'banner', factory: '1', values: { 1: 'on', 2: 'off' } },
  N: { name: 'node letter', factory: 'Q', values: /^[A-Z]$/ },
  F: {
    name: 'parity',
    factory: '1',
    values: { 1: '8 bits, no parity', 2: '8 bits, even parity', 3: '8 bits, odd parity' },
  },
  E: { name: 'line', factory: '3', values: { 1: '', 2: 'RS422, RS485', 3: 'RS232' } },
  T: { name: 'analogue type', factory: '1', values: /^[135]$/ },
  S: { name: 'analogue range', factory: '4', values: /^[1-79]$/ },
  C: { name: 'analogue wrap', factory: '2', values: /^[12]$/ },
  G: { name: 'reserved', factory: '0', values: /^0$/ },
  K: { name: 'direction from', factory: '50', values: /^([5-9]\d|[1-9]\d\d|[1-4]\d{3}|5000)$/ },
}

/** `M1`, `M2` and so on. */
export const messageCommands: readonly string[] = Object.keys(messages).map((value) => `M${value}`)

/** Commands that change nothing (section 10.8). */
export const questions: readonly string[] = ['D1', 'D2', 'D3', 'D5', 'D6']

/** A UV frame, or NMEA with the Gill status, with CR LF. */
export const longestFrameBytes = 29

/** Immutable. */
export class WindSonicSettings {
  /** `M2,U1,O1,L1,P1,B3,H1,NQ,F1,E3,T1,S4,C2,G0,K50,` (section 10.6). */
  static readonly factory = new WindSonicSettings(mapped(letters, ({ factory }) => factory))

  readonly #values: Readonly<Record<string, string>>

  private constructor(values: Readonly<Record<string, string>>) {
    this.#values = values
  }

  /**
   * Reads `"M5 U2 P3"`, also with commas, as changes to the factory settings. Throws at the first
   * invalid word.
   */
  static parse(text: string): WindSonicSettings {
    let settings = WindSonicSettings.factory
    for (const word of text.split(/[\s,]+/).filter(Boolean)) {
      const next = settings.changedBy(word)
      if (!next)
        throw new Error(
          `"${word}" is not a WindSonic setting: write words such as M2, U1 or P3, separated by spaces.`,
        )
      settings = next
    }
    return settings
  }

  /** Null for an invalid command. */
  changedBy(command: string): WindSonicSettings | null {
    if (!isAllowed(command)) return null
    return new WindSonicSettings({ ...this.#values, [command.slice(0, 1)]: command.slice(1) })
  }

  /** `B3` for `B`; null for an unknown letter. */
  named(letter: string): string | null {
    return Object.hasOwn(this.#values, letter) ? letter + this.#values[letter] : null
  }

  /** In D3's form, with a trailing comma. */
  list(): string {
    return Object.entries(this.#values)
      .map(([letter, value]) => `${letter}${value},`)
      .join('')
  }

  get message(): MessageStyle {
    const { words, ...message } = known(messages, this.#values.M)
    const ending = this.#values.L === '1' ? '\r\n' : '\r'
    return { talker: 'II', hasGillStatus: false, isPolled: false, ...message, ending }
  }

  get unit(): WindUnit {
    return known(units, this.#values.U)
  }

  get rateHz(): number {
    return known(ratesHz, this.#values.P)
  }

  /** Start bit, eight data bits, stop bit, and a parity bit if set. */
  get byteMs(): number {
    return ((this.#values.F === '1' ? 10 : 11) * 1000) / known(baudRates, this.#values.B)
  }

  get node(): string {
    return this.#values.N ?? ''
  }

  get hasBanner(): boolean {
    return this.#values.H === '1'
  }

  /** Missing values are left empty (O1) or filled with nines (O2). */
  get leavesEmpty(): boolean {
    return this.#values.O === '1'
  }

  /** Below it the direction is meaningless; K is in mm/s. */
  get calmMetresPerSecond(): number {
    return Number(this.#values.K) / 1000
  }
}

/** Explains `M2` as `['message', 'Gill, polar, continuous']`; empty if unknown. */
export function describeSetting(setting: string): readonly [name: string, meaning: string] {
  const letter = setting.slice(0, 1)
  const value = setting.slice(1)
  const { name = '', values = {} } = letters[letter] ?? {}
  if (letter === 'N') return [name, value]
  if (letter === 'K') return [name, `${Number(value) / 1000} m/s`]
  return [name, values instanceof RegExp ? '' : (values[value] ?? '')]
}

/** Null for all commands except B and F. */
export function lineChange(command: string): { baudRate: number } | { parity: Parity } | null {
  if (!isAllowed(command)) return null
  if (command.startsWith('B')) return { baudRate: known(baudRates, command.slice(1)) }
  return command.startsWith('F') ? { parity: known(parities, command.slice(1)) } : null
}

function isAllowed(command: string): boolean {
  const { values = {} } = letters[command.slice(0, 1)] ?? {}
  const value = command.slice(1)
  return values instanceof RegExp ? values.test(value) : Object.hasOwn(values, value)
}

function mapped<Value>(
  table: Readonly<Record<string, Value>>,
  to: (value: Value) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, to(value)]))
}

function known<Value>(table: Readonly<Record<string, Value>>, key = ''): Value {
  const value = table[key]
  if (value === undefined) throw new RangeError(`No WindSonic has the setting ${key}.`)
  return value
}
