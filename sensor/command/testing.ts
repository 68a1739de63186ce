// Tools for tests of the sensor command: a scripted sensor on a fake port, and manual time.

import assert from 'node:assert/strict'
import { createManualTime } from '../../protocol/testing.ts'
import type { PortSettings } from '../serial-port.ts'
import { FakePort } from '../testing.ts'
import type { ListedPort, SensorContext } from './sensor-context.ts'

export const portSettings: PortSettings = { path: '/dev/wind', baudRate: 9600, parity: 'none' }
export const reading = '\x02Q,229,002.74,M,00,\x0316\r\n'
export const banner = 'WINDSONIC (Gill Instruments Ltd)\r\n2368-103\r\nCHECKSUM ROM:4651 4651 *PASS*\r\n'

/** Maps written text, in any chunks, to the answer. */
export type Script = (written: string, port: PortSettings) => string

const answerMs = 20
/** Longer than any command waits. */
const longestMs = 120_000

interface StageOptions {
  readonly ports?: readonly ListedPort[] | Error
  /** Errors of the next attempts to open a port. */
  readonly refusals?: string[]
  /** Sent by an opened port, depending on the number of ports created so far. */
  readonly onOpened?: (count: number) => string
}

/** Creates a context whose ports open by themselves and whose time advances in `play`. */
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

  const context: SensorContext = {
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

  /**
   * Advances time until `running` settles, but only while timers are pending: files are read in
   * real time.
   */
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
    context,
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
  /** Commands it refuses. */
  readonly refuses?: readonly string[]
  /** Accepts only `*Q`, and sends nothing unless polled. */
  readonly isPolled?: boolean
  readonly isConfiguring?: boolean
  /** Applies a new rate only when it leaves configuration mode. */
  readonly isSlowToChange?: boolean
  /** Sent after configuration mode; a reading by default. */
  readonly measures?: string
}

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
