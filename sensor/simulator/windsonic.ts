// A simulated WindSonic: reads what a host writes and sends what the sensor would send.

import { createSeededRandom, nothingPlanned, type Random, type Timers } from '../../protocol/time.ts'
import { writeFrame } from '../windsonic-frame.ts'
import { type Fault, FaultyLine, statusAt } from './faulty-line.ts'
import { Measurement } from './measurement.ts'
import { createWind, type Wind, type WindStrength } from './wind-model.ts'
import { longestFrameBytes, WindSonicSettings } from './windsonic-settings.ts'

export interface WindSonicOpening {
  /** As typed in configuration mode, such as `"M5 U2 P3"`; factory settings by default. */
  readonly configuration?: string
  /** Frames per second, which override P until a P is typed. */
  readonly rateHz?: number
  /** `breeze` by default. */
  readonly strength?: WindStrength
  readonly faults?: readonly Fault[]
  /** Share of damaged messages, 0 to 1; 0 by default. */
  readonly noise?: number
  readonly timers: Timers
  /** Seeds separate streams, so that noise does not change the wind. */
  readonly random: Random
  /** Whether to send the banner and ignore polls for 5 s; otherwise it is already running. */
  readonly isPoweredUp: boolean
  /** 16 for a serial port's buffer, or more for whole frames. */
  readonly pieceBytes: number
  onBytes(bytes: Uint8Array): void
}

interface Mode {
  take(character: string): void
  stop(): void
}

/**
 * "Allow 5 seconds from switch on before sending poll commands" (manual 1405-PS-0019, section 9.3).
 */
const ignorePollsMs = 5000
/** A reply begins within 130 ms (section 9.3); the distribution is unverified. */
const soonestReplyMs = 10
const latestReplyMs = 50
/**
 * Shorter stalls are caught up, as by a serial converter; after longer ones the schedule restarts.
 */
const longestBacklogMs = 10_000
/** Share of the line's capacity that frames may use at a custom rate. */
const highestLoad = 0.9
/** Longer than any command; the rest is dropped. */
const longestCommand = 80

/** Invented, in the manual's form (section 10.8), which has the small v. */
const serialNumber = 'Y16120001'
const firmware = '2368-103'
const supply = '+11.7v'

const checksums = [
  'CHECKSUM ROM:4651 4651 *PASS*',
  'CHECKSUM FAC:0A2B 0A2B *PASS*',
  'CHECKSUM ENG:12B5 12B5 *PASS*',
  'CHECKSUM CAL:CC55 CC55 *PASS*',
]

/**
 * Sent at power-up and after configuration mode, unless H2 (command H; wording and blank lines
 * vary).
 */
const banner = ['WINDSONIC (Gill Instruments Ltd)', firmware, 'RS232 (CFG)', ...checksums]

/** D6 in still air (section 10.8). */
const selfTest = [
  'ALIGNMENT LIMITS:0D59,0CF5',
  'ALIGNMENT U:0D15 *PASS*',
  'ALIGNMENT V:0D16 *PASS*',
  ...checksums,
]

/** From the maker's SDI-12 model (section 14.8); unverified here. */
const illegal = 'ILLEGAL COMMAND LINE'

/**
 * Unverified: in configuration mode lines end with CR LF whatever L says, and settings apply at
 * once.
 */
export class WindSonic {
  readonly #timers: Timers
  readonly #random: Random
  readonly #startAt: number
  readonly #readyAt: number
  readonly #faults: readonly Fault[]
  readonly #nextWind: (stepSeconds: number) => Wind
  readonly #measurement = new Measurement()
  readonly #line: FaultyLine
  #wind: Wind
  #settings: WindSonicSettings
  #customRateHz: number | null
  #mode: Mode

  /** Does not call `onBytes`. Throws an Error for invalid settings. */
  constructor(opening: WindSonicOpening) {
    const { timers, random, isPoweredUp, configuration = '', rateHz = null } = opening
    const { strength = 'breeze', faults = [], noise = 0 } = opening
    this.#settings = WindSonicSettings.parse(configuration)
    this.#customRateHz = rateHz
    this.#timers = timers
    this.#random = random
    this.#startAt = timers.now()
    this.#readyAt = this.#startAt + (isPoweredUp ? ignorePollsMs : 0)
    this.#faults = faults
    this.#nextWind = createWind({ random: fork(random), strength })
    this.#wind = this.#nextWind(0)
    this.#line = new FaultyLine({ ...opening, random: fork(random), faults, noise })
    this.#mode = isPoweredUp ? this.#powerUp() : this.#measure()
  }

  write(bytes: Uint8Array): void {
    for (const byte of bytes) this.#mode.take(String.fromCharCode(byte))
  }

  /** Stops all calls of `onBytes`. */
  stop(): void {
    this.#mode.stop()
    this.#line.stop()
  }

  #powerUp(): Mode {
    if (this.#settings.hasBanner) this.#sendLines(banner)
    return this.#measure()
  }

  #measure(): Mode {
    return this.#settings.message.isPolled ? this.#waitForPolls() : this.#sendContinuously()
  }

  /**
   * Frame n has left at `freeAt() + n / rateHz`, however late the timers are, unless they stall.
   */
  #sendContinuously(): Mode {
    const timers = this.#timers
    const rateHz = this.#rateHz
    const aheadMs = Math.ceil(longestFrameBytes * this.#byteMs)
    let startAt = this.#line.freeAt()
    let count = 0
    let cancel = nothingPlanned

    const nextAt = () => startAt + ((count + 1) * 1000) / rateHz
    const waitMs = () => nextAt() - aheadMs - timers.now()
    const plan = () => {
      if (waitMs() < -longestBacklogMs) {
        startAt = timers.now()
        count = 0
      }
      cancel = timers.later(send, Math.max(0, waitMs()))
    }
    const send = () => {
      const dueAt = nextAt()
      count += 1
      plan()
      this.#line.send(this.#frame(1 / rateHz, dueAt), dueAt, this.#byteMs)
    }

    plan()
    return {
      take: (character) => {
        if (character === '*') this.#configure()
      },
      stop: () => cancel(),
    }
  }

  /**
   * Section 9.3: `?` enables, `!` disables, the node letter polls while enabled, `&` after `?`
   * returns the letter, `*` and the letter start configuration mode. A reply has the last sample,
   * perhaps repeated. A poll during a reply is dropped; unverified.
   */
  #waitForPolls(): Mode {
    const timers = this.#timers
    const rateHz = this.#rateHz
    const { node } = this.#settings
    let sampledAt = timers.now()
    let isEnabled = false
    let isReplying = false
    let last = ''
    let cancel = nothingPlanned

    const reply = () => {
      isReplying = false
      const samples = Math.max(0, Math.floor(((timers.now() - sampledAt) * rateHz) / 1000))
      sampledAt += (samples * 1000) / rateHz
      this.#sendNow(this.#frame(samples / rateHz, timers.now()))
    }

    const ask = () => {
      if (isReplying) return
      isReplying = true
      cancel = timers.later(reply, soonestReplyMs + (latestReplyMs - soonestReplyMs) * this.#random())
    }

    return {
      take: (character) => {
        if (timers.now() < this.#readyAt) return
        const before = last
        last = character
        if (character === '?') isEnabled = true
        else if (character === '!') isEnabled = false
        else if (character === '&' && before === '?') this.#sendLines([node])
        else if (character === node && before === '*') this.#configure()
        else if (character === node && isEnabled) ask()
      },
      stop: () => cancel(),
    }
  }

  /** CR, LF and CR LF are one Enter; an empty line is ignored. */
  #configure(): void {
    this.#mode.stop()
    this.#sendLines(['CONFIGURATION MODE'])
    let typed = ''
    this.#mode = {
      take: (character) => {
        const isEnter = character === '\r' || character === '\n'
        if (!isEnter && typed.length < longestCommand) typed += character
        if (!isEnter || typed === '') return
        const command = typed
        typed = ''
        this.#execute(command)
      },
      stop: nothingPlanned,
    }
  }

  /**
   * Echoes the command at the old baud rate (section 10.7). Unverified: also an illegal command,
   * such as small letters.
   */
  #execute(command: string): void {
    const byteMs = this.#byteMs
    const answer = this.#answer(command)
    const changed = answer === null ? this.#settings.changedBy(command) : null
    if (changed) {
      this.#settings = changed
      if (command.startsWith('P')) this.#customRateHz = null
    }
    this.#sendLines([command, ...(answer ?? (changed ? [] : [illegal]))], byteMs)
    if (command === 'Q') this.#mode = this.#powerUp()
  }

  /** Lines after the echo; null for a command that changes a setting. */
  #answer(command: string): readonly string[] | null {
    const answers: Readonly<Record<string, readonly string[]>> = {
      Q: [],
      D1: [serialNumber],
      D2: [firmware],
      D3: [this.#settings.list()],
      D5: [supply],
      D6: selfTest,
    }
    if (Object.hasOwn(answers, command)) return answers[command] ?? null
    // As the maker's WindObserver answers after a change of baud rate (1390-PS-0004, command B);
    // unverified here.
    const setting = this.#settings.named(command)
    return setting === null ? null : [setting]
  }

  get #rateHz(): number {
    return this.#customRateHz ?? this.#settings.rateHz
  }

  get #byteMs(): number {
    const neededMs =
      this.#customRateHz === null ? Infinity : (1000 * highestLoad) / (longestFrameBytes * this.#customRateHz)
    return Math.min(this.#settings.byteMs, neededMs)
  }

  #frame(afterSeconds: number, at: number): Uint8Array {
    if (afterSeconds > 0) this.#wind = this.#nextWind(afterSeconds)
    const status = statusAt(this.#faults, (at - this.#startAt) / 1000)
    const values = this.#measurement.values(this.#wind, status, this.#settings)
    return writeFrame(values, this.#settings.message)
  }

  #sendLines(lines: readonly string[], byteMs = this.#byteMs): void {
    this.#sendNow(Buffer.from(lines.map((text) => `${text}\r\n`).join(''), 'latin1'), byteMs)
  }

  #sendNow(message: Uint8Array, byteMs = this.#byteMs): void {
    this.#line.send(message, this.#timers.now() + message.length * byteMs, byteMs)
  }
}

function fork(random: Random): Random {
  return createSeededRandom(Math.floor(random() * 2 ** 32))
}
