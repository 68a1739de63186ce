// A sensor that answers as a script has it, on a port that is none, for tests of the command.

import assert from 'node:assert/strict'
import { FakePort } from '../sources/port/fake-port.ts'
import type { PortSettings } from '../sources/port/serial-line.ts'
import { createManualTime } from '../wire/manual-time.ts'
import type { ListedPort, Surroundings } from './surroundings.ts'

export const portSettings: PortSettings = { path: '/dev/wind', baudRate: 9600, parity: 'none' }
export const reading = '\x02Q,229,002.74,M,00,\x0316\r\n'
export const banner = 'WINDSONIC (Gill Instruments Ltd)\r\n2368-103\r\nCHECKSUM ROM:4651 4651 *PASS*\r\n'

/** What comes back on what was written, by the port's settings; what is written piece by piece comes so here. */
export type Script = (written: string, port: PortSettings) => string

/** How long a scripted sensor thinks. */
const answerMs = 20
/** Nothing of the command waits longer in all. */
const longestMs = 120_000

interface StageOptions {
  readonly ports?: readonly ListedPort[] | Error
  /** What opening a port fails with, for as many times. */
  readonly refusals?: string[]
  /** What comes once a port is open, by how many were made. */
  readonly onOpened?: (count: number) => string
}

/** The command's surroundings: ports that open by themselves, time that passes when `play` lets it. */
export function setStage(
  script: Script,
  { ports = [], refusals = [], onOpened = () => '' }: StageOptions = {},
) {
  const time = createManualTime()
  const printed: string[] = []
  const made: FakePort[] = []
  const ending = new AbortController()

  function createPort(settings: PortSettings): FakePort {
    const port = new FakePort(settings)
    const refusal = refusals.shift()
    const answer = (text: string) => {
      if (text !== '') time.later(() => port.isOpen && port.receive(text), answerMs)
    }
    port.onWrite = (text) => answer(script(text, settings))
    queueMicrotask(() => {
      if (refusal !== undefined) return port.fail(refusal)
      port.succeed()
      answer(onOpened(made.length))
    })
    made.push(port)
    return port
  }

  const surroundings: Surroundings = {
    print: (line) => void printed.push(line),
    timers: time,
    random: () => 0.5,
    listPorts: async () => {
      if (ports instanceof Error) throw ports
      return ports
    },
    createPort,
    signal: ending.signal,
  }

  /** Lets time pass until it is over, but none while nothing waits for it: files are read in a time of their own. */
  async function play<Value>(running: Promise<Value>): Promise<Value> {
    let isOver = false
    const over = () => {
      isOver = true
    }
    running.then(over, over)
    const endAt = time.now() + longestMs
    while (!isOver) {
      assert.ok(time.now() < endAt, `it waits for ever after:\n${printed.join('\n')}`)
      await new Promise(setImmediate)
      if (time.pending() > 0) time.advance(10)
    }
    return running
  }

  return {
    surroundings,
    play,
    time,
    ending,
    printed,
    ports: made,
    written: () => made.flatMap((port) => port.written).join(''),
  }
}

const factory = ['M2', 'U1', 'O1', 'L1', 'P1', 'B3', 'H1', 'NQ', 'F1', 'E3', 'T1', 'S4', 'C2', 'G0', 'K50']

export interface SensorOptions {
  /** What it never takes. */
  readonly refuses?: readonly string[]
  /** Takes `*Q` alone, and sends nothing unless asked. */
  readonly isPolled?: boolean
  /** Was left in configuration mode. */
  readonly isConfiguring?: boolean
  /** Obeys a new rate only when it leaves configuration mode. */
  readonly isSlowToChange?: boolean
  /** What it measures afterwards; a reading unless told. */
  readonly measures?: string
}

/** A WindSonic in configuration mode, as far as the command needs one. */
export function scriptSensor(options: SensorOptions = {}): Script {
  const settings = [...factory]
  let rate = 'B3'
  let isConfiguring = options.isConfiguring ?? false
  let typed = ''

  function obey(line: string): string {
    if (line === 'D3') return `D3\r\n${settings.join(',')},\r\n`
    if (line === 'Q') return leave()
    if (/^D\d$/.test(line)) return `${line}\r\nanswer\r\n`
    const at = settings.findIndex((word) => word[0] === line[0])
    if (line.length === 1) return `${line}\r\n${settings[at]}\r\n`
    if (at === -1 || options.refuses?.includes(line)) return `${line}\r\nILLEGAL\r\n`
    settings[at] = line
    if (line.startsWith('B') && !options.isSlowToChange) rate = line
    return `${line}\r\n`
  }

  function leave(): string {
    isConfiguring = false
    rate = settings.find((word) => word.startsWith('B')) ?? rate
    const isAsked = settings.includes('M4') || options.measures === ''
    return `Q\r\n${banner}${isAsked ? '' : (options.measures ?? reading)}`
  }

  function take(character: string): string {
    if (!isConfiguring) return takeMeasuring(character)
    if (character !== '\r') typed += character
    if (character !== '\r' || typed === '') return ''
    const line = typed
    typed = ''
    return obey(line)
  }

  function takeMeasuring(character: string): string {
    const last = typed
    typed = character
    isConfiguring = options.isPolled ? last === '*' && character === 'Q' : character === '*'
    if (isConfiguring) typed = ''
    if (!isConfiguring && last === '?' && settings.includes(`N${character}`)) return reading
    return isConfiguring ? 'CONFIGURATION MODE\r\n' : ''
  }

  return (written, { baudRate }) => (baudRate === rates[rate] ? Array.from(written, take).join('') : '')
}

const rates: Readonly<Record<string, number>> = { B1: 2400, B2: 4800, B3: 9600, B4: 19_200, B5: 38_400 }
