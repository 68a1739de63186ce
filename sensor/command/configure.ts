// `--configure`: sends commands in configuration mode and checks that the sensor resumes measuring.

import { nothingPlanned } from '../../protocol/time.ts'
import type { FrameReading } from '../readings.ts'
import { Evidence, othersThan } from '../sensor-health.ts'
import { type Line, openLine, type PortSettings } from '../serial-port.ts'
import { describeSetting, lineChange, questions } from '../simulator/windsonic-settings.ts'
import {
  formatLineSettings,
  inColumns,
  linesOf,
  readAs,
  rowOf,
  type SensorContext,
  SensorFailure,
  visible,
} from './sensor-context.ts'

interface ConfigureOptions {
  readonly port: PortSettings
  /** `A` to `Z`. */
  readonly node: string
  /** Validated, in sending order. */
  readonly commands: readonly string[]
}

/**
 * Prints the dialogue, then the sensor's settings. Rejects with SensorFailure if the sensor does
 * not answer, refuses a command or does not resume measuring; it leaves configuration mode even
 * then.
 */
export async function configure(
  { port, node, commands }: ConfigureOptions,
  context: SensorContext,
): Promise<void> {
  const print = (...lines: readonly string[]) => lines.forEach((line) => void context.print(line))
  print('', `  ${port.path} at ${formatLineSettings(port)}`, '')
  const dialogue = new Dialogue(port, node, context)
  await dialogue.open()
  try {
    await dialogue.enter()
    let answer: readonly string[] = []
    for (const command of commands.at(-1) === 'D3' ? commands : [...commands, 'D3'])
      answer = await dialogue.send(command)
    const settings = settingsIn(answer)
    if (settings === null) throw new SensorFailure('The sensor did not list its settings (D3).')
    const reading = await dialogue.leave(settings)
    const inWords = settings.map((setting) => [setting, ...describeSetting(setting)])
    print('', '  The sensor is now set to', '', ...inColumns(inWords), '')
    check(commands, settings, reading)
    print(`  It measures again: ${reading}`, ...hints(port, dialogue.port, settings), '')
  } finally {
    await dialogue.close()
  }
}

function check(commands: readonly string[], settings: readonly string[], reading: string | null): void {
  const last = new Map(commands.map((command) => [command.slice(0, 1), command]))
  const refused = [...last.values()].filter(
    (command) => !questions.includes(command) && !settings.includes(command),
  )
  if (refused.length > 0) throw new SensorFailure(`The sensor did not accept ${refused.join(', ')}.`)
  if (reading !== null) return
  throw new SensorFailure(
    isPolled(settings)
      ? 'It is set, but did not answer when it was polled for a reading.'
      : 'It is set, but sends no readings.',
  )
}

function hints(before: PortSettings, after: PortSettings, settings: readonly string[]): string[] {
  const flags = [
    after.baudRate !== before.baudRate && `--sensor-baud-rate ${after.baudRate}`,
    after.parity !== before.parity && `--sensor-parity ${after.parity}`,
    isPolled(settings) && '--sensor-mode polled',
    isPolled(settings) && !settings.includes('NQ') && `--sensor-node ${nodeIn(settings)}`,
  ].filter((flag) => flag !== false)
  return flags.length === 0 ? [] : [`  From now on start the server with ${flags.join(' ')}`]
}

/** The manual calls it ENTER. */
const Enter = '\r'
const announcement = 'CONFIGURATION MODE'
/** An answer may have more lines; a silence of this length ends it. */
const quietMs = 300
const enterMs = 2500
const answerMs = 3000
const selfTestMs = 10_000
/** Banner, then the first reading at the lowest rate (P20), with a margin. */
const continuousMs = 15_000
const bannerMs = 3000
/** A silence of this length ends the banner. */
const bannerQuietMs = 700
const replyMs = 1000
const pollTries = 3

/** Some devices cannot be reopened at once. */
const reopenings = { tries: 10, pauseMs: 100 }

/** Fits the longest command and the ENTER sign. */
const sentWidths = [7]

interface Expectation {
  isComplete(text: string): boolean
  /** For an answer that may continue: a silence of this length ends it. */
  readonly quietMs?: number
  /** Deadline. */
  readonly timeoutMs: number
}

/** Prints each command beside its answer. */
class Dialogue {
  readonly #node: string
  readonly #context: SensorContext
  readonly #evidence = new Evidence()
  #port: PortSettings
  #line: Line | null = null
  #failure: SensorFailure | null = null
  /** Text since the last `#send`, latin1. */
  #text = ''
  /** The newest reading since the last `#send`. */
  #reading: FrameReading | null = null
  #hasReadings = false
  #onChange = nothingPlanned
  #isConfiguring = false
  /** New line settings that the sensor did not confirm. */
  #unconfirmed: PortSettings | null = null

  constructor(port: PortSettings, node: string, context: SensorContext) {
    this.#port = port
    this.#node = node
    this.#context = context
  }

  get port(): PortSettings {
    return this.#port
  }

  /** Rejects with SensorFailure if the port does not open. */
  async open(): Promise<void> {
    const { timers, createPort } = this.#context
    const opened = Promise.withResolvers<void>()
    this.#text = ''
    this.#reading = this.#failure = null
    this.#evidence.clear()
    this.#line = openLine({
      ...this.#port,
      polling: null,
      timers,
      createPort,
      onOpen: opened.resolve,
      onBytes: (bytes, at) => this.#handleBytes(bytes, at),
      onClose: (reason) => {
        this.#failure = new SensorFailure(`${this.#port.path} cannot be used: ${reason}.`)
        opened.reject(this.#failure)
        this.#onChange()
      },
    })
    await opened.promise
  }

  /**
   * Enters configuration mode: with `*` for a continuous sensor, with `*` and the node letter for a
   * polled one (manual 1405-PS-0019, section 10.4). One already in configuration mode ignores both
   * but answers D3. Rejects with SensorFailure otherwise.
   */
  async enter(): Promise<void> {
    this.#isConfiguring = true
    const isAnnounced = (text: string) => text.includes(announcement)
    for (const call of ['*', `*${this.#node}`]) {
      const text = await this.#ask(call, { isComplete: isAnnounced, quietMs, timeoutMs: enterMs })
      this.#show(call, isAnnounced(text) ? [announcement] : [])
      if (isAnnounced(text)) return
    }
    const isListed = (text: string) => settingsIn(linesOf(text)) !== null
    const text = await this.#ask(`${Enter}D3${Enter}`, { isComplete: isListed, quietMs, timeoutMs: enterMs })
    this.#show('D3 ⏎', isListed(text) ? linesOf(text) : [])
    if (!isListed(text)) throw new SensorFailure(this.#refusal())
  }

  async send(command: string): Promise<readonly string[]> {
    const timeoutMs = command === 'D6' ? selfTestMs : answerMs
    const lines = await this.#exchange(command, timeoutMs)
    const change = lineChange(command)
    if (change !== null) await this.#follow(command, { ...this.#port, ...change })
    else if (lines.length === 0)
      throw new SensorFailure(`The sensor did not answer ${command} within ${timeoutMs / 1000} s.`)
    return lines
  }

  /** Resolves to the first reading in words; null without one. `settings` are as D3 listed them. */
  async leave(settings: readonly string[]): Promise<string | null> {
    this.#isConfiguring = false
    this.#send(`Q${Enter}`)
    this.#show('Q ⏎', await this.#receiveReading(settings))
    if (this.#reading === null && this.#unconfirmed !== null) {
      await this.#reopen(this.#unconfirmed)
      this.#show('', await this.#receiveReading(settings))
    }
    return this.#reading && readAs(this.#reading).trim()
  }

  /** Leaves configuration mode first, or warns if the port is not open for that. */
  async close(): Promise<void> {
    const isStuck = this.#isConfiguring && !this.#line?.isOpen
    if (isStuck) for (const line of stillConfiguring(this.#port.path)) this.#context.print(line)
    else if (this.#isConfiguring) this.#show('Q ⏎', ['(so that it measures again)'])
    await this.#line?.close(this.#isConfiguring ? `Q${Enter}` : '')
  }

  async #exchange(command: string, timeoutMs = answerMs): Promise<string[]> {
    const fewest = questions.includes(command) ? 2 : 1
    const isComplete = (text: string) => linesOf(text).length >= fewest
    const lines = linesOf(await this.#ask(command + Enter, { isComplete, quietMs, timeoutMs }))
    this.#show(`${command} ⏎`, lines)
    return lines
  }

  /**
   * A new rate applies at once and must be confirmed at that rate by its bare letter (the same
   * maker's WindObserver, manual 1390-PS-0004, command B). Otherwise reverts to the old rate.
   */
  async #follow(command: string, changed: PortSettings): Promise<void> {
    const before = this.#port
    if (formatLineSettings(changed) === formatLineSettings(before)) return
    await this.#reopen(changed)
    const lines = await this.#exchange(command.slice(0, 1))
    if (lines.some((line) => line.includes(command))) return
    this.#unconfirmed = changed
    await this.#reopen(before)
    await this.#ask(Enter, { isComplete: () => true, quietMs, timeoutMs: answerMs })
  }

  async #reopen(port: PortSettings): Promise<void> {
    const { timers, signal, print } = this.#context
    await this.#line?.close()
    this.#port = port
    for (let left = reopenings.tries; ; left--) {
      try {
        await this.open()
        break
      } catch (error) {
        if (left === 1 || signal.aborted) throw error
        await new Promise<void>((resolve) => void timers.later(resolve, reopenings.pauseMs))
      }
    }
    print(rowOf(['', `(reopened the port: ${formatLineSettings(port)})`], sentWidths))
  }

  /** Resolves to the lines up to the first reading. */
  async #receiveReading(settings: readonly string[]): Promise<readonly string[]> {
    const isComplete = () => this.#reading !== null
    if (!isPolled(settings)) return upToReading(await this.#receive({ isComplete, timeoutMs: continuousMs }))
    const banner = { isComplete: () => true, quietMs: bannerQuietMs, timeoutMs: bannerMs }
    let text = await this.#receive(banner)
    for (let left = pollTries; left > 0 && !isComplete(); left--)
      text += await this.#ask(`?${nodeIn(settings)}`, { isComplete, timeoutMs: replyMs })
    return upToReading(text)
  }

  #ask(text: string, expectation: Expectation): Promise<string> {
    this.#send(text)
    return this.#receive(expectation)
  }

  /** Discards earlier text, which is not part of the answer. */
  #send(text: string): void {
    this.#text = ''
    this.#reading = null
    this.#line?.write(text)
  }

  /** Resolves to `#text`. Rejects with SensorFailure when the port closes or the signal aborts. */
  async #receive({ isComplete, quietMs = 0, timeoutMs }: Expectation): Promise<string> {
    const { timers, signal } = this.#context
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const end = () => resolve(this.#text)
    const cancelDeadline = timers.later(end, timeoutMs)
    let cancelQuiet = nothingPlanned
    this.#onChange = () => {
      const failure = signal.aborted ? new SensorFailure('Stopped.') : this.#failure
      if (failure !== null) reject(failure)
      cancelQuiet()
      if (isComplete(this.#text)) cancelQuiet = timers.later(end, quietMs)
    }
    signal.addEventListener('abort', this.#onChange)
    this.#onChange()
    return promise.finally(() => {
      signal.removeEventListener('abort', this.#onChange)
      this.#onChange = nothingPlanned
      cancelDeadline()
      cancelQuiet()
    })
  }

  #handleBytes(bytes: Uint8Array, at: number): void {
    for (const split of this.#evidence.push(bytes, at))
      if (split.kind === 'frame') this.#reading = split.reading
    this.#hasReadings ||= this.#reading !== null
    this.#text += Buffer.from(bytes).toString('latin1')
    this.#onChange()
  }

  #show(sent: string, [first = '(no answer)', ...rest]: readonly string[]): void {
    this.#context.print(rowOf([sent, visible(first)], sentWidths))
    for (const line of rest) this.#context.print(rowOf(['', visible(line)], sentWidths))
  }

  #refusal(): string {
    const { path, baudRate, parity } = this.#port
    if (this.#hasReadings)
      return `The sensor on ${path} sends readings but accepts no commands: check the wire that leads to it.`
    if (this.#evidence.judge().kind === 'baud-rate')
      return `The data from ${path} makes no sense at ${baudRate} baud, parity ${parity}: try --baud ${othersThan(baudRate)}.`
    return `No sensor answers on ${path} at ${baudRate} baud, parity ${parity}: check its power and cable, try another --baud, and give the letter of a polled one with --node (here ${this.#node}).`
  }
}

function stillConfiguring(path: string): string[] {
  return [
    '',
    `  The sensor on ${path} may still be in configuration mode, where it sends no readings: once the port`,
    '  can be used again run npm run sensor -- --configure D3, or switch the sensor off and on.',
    '',
  ]
}

function upToReading(text: string): readonly string[] {
  const lines = linesOf(text)
  const at = lines.findIndex((line) => line.startsWith('\x02') || line.startsWith('$'))
  return at === -1 ? lines : lines.slice(0, at + 1)
}

/** Finds the answer to D3, `M2,U1,O1,L1,P1,B3,H1,NQ,F1,E3,T1,S4,C2,G0,K50,`. */
function settingsIn(lines: readonly string[]): string[] | null {
  const answer = lines.findLast((line) => /^([A-Z][A-Z\d]+, ?){5,}([A-Z][A-Z\d]+)?$/.test(line))
  const words = answer?.split(',').map((word) => word.trim())
  return words?.filter((word) => word !== '') ?? null
}

function nodeIn(settings: readonly string[]): string {
  return settings.find((word) => word.startsWith('N'))?.slice(1) ?? 'Q'
}

function isPolled(settings: readonly string[]): boolean {
  return settings.includes('M3') || settings.includes('M4')
}
