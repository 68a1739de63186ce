// Diagnoses a real sensor from its bytes, in sentences for clients and the terminal.

import { nothingPlanned, type Timers } from '../protocol/time.ts'
import { createFrameSplitter, type Split } from './frame-splitter.ts'
import type { SensorHealth } from './readings.ts'
import { type Polling, type PortSettings, portPauses } from './serial-port.ts'
import { isIntact } from './windsonic-frame.ts'

interface LineSettings extends PortSettings {
  readonly polling: Polling | null
}

interface WatchOpening extends LineSettings {
  readonly timers: Timers
  /** Maximum time without a valid frame; longer for a slow sensor. */
  readonly silentAfterMs: number
  onChange(health: SensorHealth): void
}

/** The lowest rate is one frame in 4 s (P20); a longer gap is an outage. */
export const slowestMs = 4500
/** How much longer than usual nothing is said while no reading has shown the pace. */
const firstWait = 1.5
/** Frame intervals before a frame is late. */
const toleratedIntervals = 2.5

/** Number of messages over which damage is judged. */
const messagesKept = 40
/**
 * Damage is reported from this count and share on, if enough messages are good, until only `endsAt`
 * are damaged.
 */
const partialDamage = { damaged: 8, share: 0.2, good: 4, endsAt: 2 }

/**
 * Reports `connected` at the first valid frame; `silent` or `garbled` after `silentAfterMs` without
 * one; `garbled` also while many frames are damaged; `unplugged` without an open port. Reports
 * again when the reason changes.
 */
export class SensorWatch {
  readonly #opening: WatchOpening
  readonly #evidence = new Evidence()
  #reported: string | null = null
  #silentAfterMs: number
  #frameAt: number | null = null
  #isFirstLook = true
  /** Time that a sensor was given because no reading had shown its pace. */
  #furtherMs = 0
  #missed = 0
  #cancel = nothingPlanned
  #damages: boolean[] = []
  #isPartlyDamaged = false

  constructor(opening: WatchOpening) {
    this.#opening = opening
    this.#silentAfterMs = opening.silentAfterMs
  }

  opened(): void {
    this.#evidence.clear()
    this.#missed = 0
    this.#isFirstLook = true
    this.#restartTimer()
  }

  /** Returns what `createFrameSplitter` finds. */
  push(bytes: Uint8Array, at: number): Split[] {
    const splits = this.#evidence.push(bytes, at)
    for (const split of splits) {
      if (split.kind === 'frame') this.#frame()
      else if (!isIntact(split.code)) this.#note(true)
    }
    return splits
  }

  #frame(): void {
    const { path, parity } = this.#opening
    this.#note(false)
    if (this.#isPartlyDamaged) {
      const damaged = this.#damages.filter(Boolean).length
      const sentence = `${damaged} of the last ${this.#damages.length} messages from ${path} were damaged and are not shown: check the cable and its ground, and the parity (now ${parity}).`
      this.#report('garbled', sentence, 'partly')
    } else this.#report('connected', `The sensor on ${path} is sending readings.`)
    this.#learnPace()
    this.#missed = 0
    this.#restartTimer()
  }

  missed(): void {
    this.#missed += 1
  }

  closed(reason: string): void {
    this.#cancel()
    this.#frameAt = null
    this.#forgetDamage()
    // States the longest pause, not the next one, so that the sentence stays the same.
    const next = `trying again at least every ${seconds(portPauses.longestMs)}`
    this.#report('unplugged', `No sensor at ${this.#opening.path}: ${reason}; ${next}.`, reason)
  }

  stop(): void {
    this.#cancel()
  }

  #restartTimer(): void {
    this.#cancel()
    this.#evidence.age()
    this.#cancel = this.#opening.timers.later(() => this.#judge(), this.#silentAfterMs)
  }

  #judge(): void {
    const verdict = this.#evidence.judge()
    if (this.#mayBeSlow(verdict)) {
      this.#isFirstLook = false
      this.#furtherMs = (firstWait - 1) * this.#silentAfterMs
      this.#cancel = this.#opening.timers.later(() => this.#judge(), this.#furtherMs)
      return
    }
    const silentForMs = this.#silentAfterMs + this.#furtherMs
    this.#isFirstLook = false
    this.#furtherMs = 0
    if (!this.#damages.includes(false)) this.#forgetDamage()
    if (verdict.kind !== 'damaged' || !this.#isPartlyDamaged) {
      const doing = this.#opening.polling === null ? 'still listening' : 'still asking'
      const sentence = `${complaint(this.#opening, verdict, silentForMs, this.#missed)}; ${doing}.`
      this.#report(silentVerdicts.has(verdict.kind) ? 'silent' : 'garbled', sentence, verdict.kind)
    }
    this.#restartTimer()
  }

  #mayBeSlow({ kind }: Verdict): boolean {
    const isUnknown = this.#isFirstLook && this.#frameAt === null && this.#opening.polling === null
    return isUnknown && (kind === 'nothing' || kind === 'started')
  }

  #note(isDamaged: boolean): void {
    this.#damages.push(isDamaged)
    if (this.#damages.length > messagesKept) this.#damages.shift()
    const count = this.#damages.length
    const damaged = this.#damages.filter(Boolean).length
    const isGood = count - damaged >= partialDamage.good
    if (damaged <= partialDamage.endsAt) this.#isPartlyDamaged = false
    else if (isGood && damaged >= Math.max(partialDamage.damaged, partialDamage.share * count))
      this.#isPartlyDamaged = true
  }

  #forgetDamage(): void {
    this.#damages = []
    this.#isPartlyDamaged = false
  }

  #learnPace(): void {
    const now = this.#opening.timers.now()
    // After one frame the interval is unknown, unless the sensor is polled.
    const unknownGapMs = this.#opening.polling === null ? slowestMs : 0
    const gapMs = this.#frameAt === null ? unknownGapMs : now - this.#frameAt
    this.#frameAt = now
    if (gapMs <= slowestMs)
      this.#silentAfterMs = Math.max(this.#opening.silentAfterMs, toleratedIntervals * gapMs)
  }

  #report(state: SensorHealth['state'], sentence: string, because = ''): void {
    if (this.#reported === state + because) return
    this.#reported = state + because
    this.#opening.onChange({ state, sentence })
  }
}

/** `nothing`: no recent bytes. The others classify those since the last valid frame. */
interface Verdict {
  readonly kind: 'nothing' | 'configuration' | 'started' | 'few' | 'baud-rate' | 'damaged' | 'format' | 'text'
  /** Quotes other formats and other text. */
  readonly excerpt?: string
}

const silentVerdicts: ReadonlySet<Verdict['kind']> = new Set(['nothing', 'configuration', 'started'])

/** The shortest frame has 15. */
const fewestBytes = 8
/** Number of newest bytes that are judged. */
const maxBytes = 512
/** Number of newest bytes from which the longest line is quoted. */
const excerptBytes = 96
/** A wrong rate yields far more bytes that no instrument sends than a bad cable does. */
const implausibleShare = 0.2
const plainBytes = /[\w ,.:;$*+\-/()=]/g
/** The last one counts (manual 1405-PS-0019: configuration mode, power-up banner). */
const announcements = /CONFIGURATION MODE|WINDSONIC|\*PASS\*/g

/**
 * Splits a line's bytes and classifies those since the last valid frame. Pure: no clock. Memory is
 * bounded.
 */
export class Evidence {
  readonly #splitter = createFrameSplitter()
  #text = ''
  #isNew = false
  #announced: 'configuration' | 'started' | null = null

  push(bytes: Uint8Array, at: number): Split[] {
    const text = Buffer.from(bytes).toString('latin1')
    this.#text = (this.#text + text).slice(-maxBytes)
    this.#isNew ||= /[^\r\n]/.test(text)
    const announcement = this.#text.match(announcements)?.at(-1)
    if (announcement) this.#announced = announcement.startsWith('C') ? 'configuration' : 'started'
    const splits = this.#splitter.push(bytes, at)
    if (splits.some(({ kind }) => kind === 'frame')) this.#forget()
    return splits
  }

  /** Call when a port opens. */
  clear(): void {
    this.#splitter.clear()
    this.#forget()
  }

  #forget(): void {
    this.#text = ''
    this.#isNew = false
    this.#announced = null
  }

  /**
   * Makes `judge` return `nothing` until more bytes arrive, unless the sensor announced a reason.
   */
  age(): void {
    this.#isNew = false
  }

  judge(): Verdict {
    if (this.#announced === 'configuration') return { kind: 'configuration' }
    if (!this.#isNew) return { kind: this.#announced ?? 'nothing' }
    const splits = createFrameSplitter().push(Buffer.from(this.#text, 'latin1'), 0)
    const intact = splits.filter((split) => split.kind === 'refused' && isIntact(split.code)).length
    const bytes = this.#text.replace(/[\r\n]/g, '')
    const unmarked = bytes.replaceAll('\x02', '').replaceAll('\x03', '')
    if (intact >= 1 && intact >= splits.length / 2) return { kind: 'format', excerpt: this.#longestLine(40) }
    if (bytes.length < fewestBytes) return { kind: 'few' }
    if (unmarked.replace(plainBytes, '').length / bytes.length > implausibleShare)
      return { kind: 'baud-rate' }
    if (splits.length + bytes.length - unmarked.length > 1) return { kind: 'damaged' }
    return this.#announced ? { kind: this.#announced } : { kind: 'text', excerpt: this.#longestLine(24) }
  }

  #longestLine(maxLetters: number): string {
    const lines = this.#text
      .slice(-excerptBytes)
      .split(/[\r\n]+/)
      .map((line) => line.replace(/\p{Cc}/gu, ''))
    return (lines.toSorted((a, b) => b.length - a.length)[0] ?? '').slice(0, maxLetters)
  }
}

/** A sentence without a full stop. `missed` is the number of unanswered polls. */
export function complaint(
  { path, baudRate, parity, polling }: LineSettings,
  verdict: Verdict,
  forMs: number,
  missed: number,
): string {
  const excerpt = JSON.stringify(verdict.excerpt)
  switch (verdict.kind) {
    case 'nothing': {
      // A wrong rate or parity may look like silence: some drivers drop characters without a stop
      // bit.
      if (polling === null)
        return `The sensor on ${path} has sent nothing for ${seconds(forMs)}: check its power and cable, its baud rate and parity (here ${baudRate}, ${parity}), and that it is not set to be polled (M3, M4)`
      const questions = missed === 1 ? 'a question' : `${missed} questions in a row`
      return `The sensor on ${path} has not answered ${questions}: check its power and cable, its baud rate (here ${baudRate}), that it is set to be polled (M3, M4), and its node letter (here ${polling.node})`
    }
    case 'configuration':
      return `The sensor on ${path} is in configuration mode and sends no readings: stop the server and run npm run sensor -- --configure D3, or switch the sensor off and on`
    case 'started':
      return polling === null
        ? `The sensor on ${path} has started but sends no readings: it is probably set to be polled (M3, M4); set M2, or sensor.mode to polled`
        : `The sensor on ${path} has started but does not answer to "${polling.node}" yet: it takes 5 s to be ready; after that check its node letter`
    case 'few':
      return `Only a few bytes and no reading from ${path} for ${seconds(forMs)}: check the baud rate (now ${baudRate}), the parity (now ${parity}) and the cable`
    case 'baud-rate':
      return `The data from ${path} makes no sense at ${baudRate} baud, parity ${parity}: the sensor is probably set otherwise; try ${othersThan(baudRate)} (sensor.baudRate), then another parity (sensor.parity)`
    case 'damaged':
      return `Pieces of readings arrive from ${path}, but no complete one for ${seconds(forMs)}: check the parity (now ${parity}), the cable and its ground`
    case 'format':
      return `The data from ${path} is intact, but in an unsupported format (${excerpt}): if it is a WindSonic, set the sensor's message format to M2`
    case 'text':
      return `The data from ${path} is not from a WindSonic (${excerpt}): check what is connected to this port`
  }
}

/** All rates (B1 to B5), factory settings first. */
const likelyRates = [9600, 38400, 19200, 4800, 2400]

/** `38400, 19200, 4800 or 2400` */
export function othersThan(baudRate: number): string {
  const others = likelyRates.filter((rate) => rate !== baudRate).map(String)
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(others)
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}

/** An incident ends after working for this long. */
const settledMs = 5000
/** Pauses between lines about one incident; doubled each time. */
const printPauses = { firstMs: 10_000, longestMs: 1_800_000 }

type TroublePrinting = (code: TroubleCode, sentence: string) => void

export type TroubleCode = 'sensor-note' | 'sensor-trouble' | 'sensor-recovered'

export class TroubleReport {
  readonly #print: TroublePrinting
  readonly #timers: Timers
  /** The sentence without its numbers; null without an incident. */
  #printed: string | null = null
  #nextAt = 0
  #pauseMs = printPauses.firstMs
  #cancel = nothingPlanned

  constructor(print: TroublePrinting, timers: Timers) {
    this.#print = print
    this.#timers = timers
  }

  sensor({ state, sentence, note }: SensorHealth): void {
    this.#cancel()
    if (note !== undefined) this.#print('sensor-note', `Wind: ${note}`)
    if (state === 'connected') {
      if (this.#printed !== null) this.#cancel = this.#timers.later(() => this.#end(sentence), settledMs)
      return
    }
    const gist = sentence.replace(/[\d.]+/g, '')
    if (gist === this.#printed) return
    const waitMs = this.#nextAt - this.#timers.now()
    if (this.#printed === null || waitMs <= 0) this.#trouble(sentence, gist)
    else this.#cancel = this.#timers.later(() => this.#trouble(sentence, gist), waitMs)
  }

  stop(): void {
    this.#cancel()
  }

  #trouble(sentence: string, gist: string): void {
    this.#printed = gist
    this.#nextAt = this.#timers.now() + this.#pauseMs
    this.#pauseMs = Math.min(2 * this.#pauseMs, printPauses.longestMs)
    this.#print('sensor-trouble', `Wind: ${sentence}`)
  }

  #end(sentence: string): void {
    this.#printed = null
    this.#pauseMs = printPauses.firstMs
    this.#print('sensor-recovered', `Wind: ${sentence}`)
  }
}
