// Reads a sensor's raw logs: messages and the timestamps that a logger put before them.

import { createFrameSplitter } from './frame-splitter.ts'
import { isIntact, type RefusalCode } from './windsonic-frame.ts'

/**
 * `date`: with time of day. `epoch`: in s, ms, µs or ns. `clock`: time of day. `count`: since the
 * start.
 */
type TimeLayout =
  | { readonly kind: 'epoch' | 'clock' }
  /** How 03/04/2020 is read; an impossible date is read the other way. */
  | { readonly kind: 'date'; readonly isDayFirst: boolean }
  /** Index among the numbers before a message. */
  | { readonly kind: 'count'; readonly column: number; readonly unitMs: number }

interface Entry {
  /** Latin1, without line end and logger's quotes. */
  readonly message: string
  /**
   * Null without a timestamp or without a `layout`. `at` is in ms since the epoch, the first
   * midnight or the start; without a zone, as if in UTC. `isLocal`: it has no zone, so
   * daylight-saving time shifts it.
   */
  readonly time: { readonly at: number; readonly isLocal: boolean } | null
}

/** Yields the first message of each line. Unwraps times of day at midnight. */
export async function* entriesOf(
  chunks: AsyncIterable<Uint8Array>,
  layout: TimeLayout | null,
): AsyncGenerator<Entry> {
  let last = Number.NaN
  for await (const line of linesOf(chunks)) {
    const begin = line.search(beginning)
    if (begin < 0) continue
    const message = stripLogger(line.slice(begin))
    const stamp = layout && stampIn(prefixOf(line, begin), layout)
    const read = stamp && layout ? timeOf(stamp, layout) : Number.NaN
    const days = layout?.kind === 'clock' ? Math.round((last - read) / dayMs) || 0 : 0
    const at = read + days * dayMs
    const isLocal = layout?.kind === 'clock' || (layout?.kind === 'date' && !stamp?.groups.zone)
    if (!Number.isNaN(at)) last = at
    yield { message, time: Number.isNaN(at) ? null : { at, isLocal } }
  }
}

const dayMs = 86_400_000

/** Longer than any frame and timestamp; bounds memory if there are no line ends. */
const longestLine = 1024

/** Latin1, without line ends. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of chunks) {
    // A CR at a chunk's end may be half of a CR LF.
    const lines = (rest + Buffer.from(chunk).toString('latin1')).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    yield* lines
    for (; rest.length > longestLine; rest = rest.slice(longestLine)) yield rest.slice(0, longestLine)
  }
  yield rest.replace(/\r$/, '')
}

/** STX, or `$` and its head. */
const beginning = new RegExp(`${String.fromCharCode(0x02)}|\\$(?:II|WI)MWV`)

/** Columns after a complete message (STX to ETX, or $ to *). */
const furtherColumns = /^(\p{Cc}\P{Cc}*\p{Cc}[\dA-Fa-f]{2}|\$[^$*]*\*[\dA-Fa-f]{2})["']?[\s,;].*$/u

/** No message ends with a quote. */
function stripLogger(raw: string): string {
  return raw.replace(/[\s"']+$/, '').replace(furtherColumns, '$1')
}

/**
 * A comma starts a fraction, not a column, if 3 or 6 digits follow, as in most loggers, or no comma
 * does.
 */
const commaFraction = String.raw`,(?:\d{3}(?!\d)|\d{6}(?!\d)|\d{1,9}(?![\d,]))`
const hourAndMinute = String.raw`(?<hour>\d\d?):(?<minute>\d\d)`
const secondPart = String.raw`:(?<second>\d\d)(?<fraction>[.:]\d+|${commaFraction})?`
const halfPart = String.raw`(?: ?(?<half>[AaPp])\.?[Mm]\b\.?)?`
const clock = `${hourAndMinute}(?:${secondPart})?${halfPart}`
const zone = String.raw`(?<zone>Z| ?(?:UTC|GMT)\b| ?[+-]\d\d:?\d\d)?`
/** Date and time may be separate columns. */
const between = String.raw`["']?(?:[T_]|[\s,;]+)["']?`
const yearFirst = String.raw`(?<year>\d{4})[-/.](?<month>\d\d?)[-/.](?<day>\d\d?)`
const yearLast = String.raw`(?<first>\d\d?)[-/.](?<other>\d\d?)[-/.](?<year>\d{4}|\d\d)`
const compact = String.raw`(?<year>(?:19|20)\d\d)(?<month>\d\d)(?<day>\d\d)[T _-]?(?<hour>\d\d)(?<minute>\d\d)(?<second>\d\d)(?<fraction>\.\d+|${commaFraction})?`
const epoch = String.raw`(?<number>\d{9,10}|\d{12,13}|\d{15,16}|\d{18,19})(?<fraction>\.\d+|${commaFraction})?`
const count = String.raw`\+?(?<number>\d{1,12})(?<fraction>\.\d+|${commaFraction})?s?`

/** A timestamp ends at a blank, separator, closing quote or bracket. */
const alone = (stamp: string, before = String.raw`\d.`) =>
  new RegExp(String.raw`(?<![${before}])${stamp}(?=[\s,;:|>\])"']|$)`, 'g')

const stampsOf = {
  date: [
    alone(`${yearFirst}${between}${clock}${zone}`),
    alone(`${yearLast}${between}${clock}${zone}`),
    alone(compact + zone),
  ],
  epoch: [alone(epoch)],
  clock: [alone(hourAndMinute + secondPart + halfPart, String.raw`\d.:`)],
  count: [alone(count, String.raw`\w.:/\-`)],
}

type Stamp = RegExpExecArray & { readonly groups: Readonly<Record<string, string | undefined>> }

/** The timestamp nearest to a message, or that of the column. */
function stampIn(prefix: string, layout: TimeLayout): Stamp | undefined {
  const stamps = stampsIn(prefix, layout.kind)
  return layout.kind === 'count' ? stamps[layout.column] : stamps.at(-1)
}

/** In line order. `matchAll` recompiles the expression: ten times slower. */
function stampsIn(text: string, kind: TimeLayout['kind']): Stamp[] {
  const stamps: Stamp[] = []
  for (const pattern of stampsOf[kind]) {
    pattern.lastIndex = 0
    for (let stamp = pattern.exec(text); stamp !== null; stamp = pattern.exec(text))
      stamps.push(stamp as Stamp)
  }
  return stamps.length > 1 ? stamps.sort((a, b) => a.index - b.index) : stamps
}

const longestPrefix = 120

function prefixOf(line: string, begin: number): string {
  return line.slice(Math.max(0, begin - longestPrefix), begin)
}

/** NaN if impossible. */
function timeOf(stamp: Stamp, layout: TimeLayout): number {
  const { groups } = stamp
  if (layout.kind === 'count') return numberOf(stamp) * layout.unitMs
  if (layout.kind === 'epoch') {
    // Up to 10 digits are s, 13 ms, 16 µs, 19 ns.
    const thousandths = Math.max(0, Math.ceil(((groups.number?.length ?? 0) - 10) / 3))
    return (numberOf(stamp) * 1000) / 1000 ** thousandths
  }
  const clockMs = clockOf(groups)
  return layout.kind === 'date' ? dayOf(groups, layout.isDayFirst) + clockMs - zoneOf(groups.zone) : clockMs
}

function numberOf({ groups }: Stamp): number {
  return Number(groups.number) + fractionOf(groups.fraction)
}

function fractionOf(fraction = '.0'): number {
  return Number(`0.${fraction.slice(1)}`)
}

/** Ms since midnight; NaN if impossible. */
function clockOf({ hour, minute, second, fraction, half }: Stamp['groups']): number {
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0)
  const minutes = Number(minute)
  const seconds = Number(second ?? 0)
  if (Number(hour) > 23 || minutes > 59 || seconds > 60) return Number.NaN
  // Rounding to ns makes a fraction independent of the hour.
  const ms = Math.round(fractionOf(fraction) * 1e9) / 1e6
  return ((hours * 60 + minutes) * 60 + seconds) * 1000 + ms
}

/** Ms since the epoch; NaN if impossible. */
function dayOf({ year = '', month, day, first, other }: Stamp['groups'], isDayFirst: boolean): number {
  if (month !== undefined) return midnight(Number(year), Number(month), Number(day))
  const fullYear = Number(year) + (year.length === 2 ? 2000 : 0)
  const dayFirst = midnight(fullYear, Number(other), Number(first))
  const monthFirst = midnight(fullYear, Number(first), Number(other))
  const [wanted, spare] = isDayFirst ? [dayFirst, monthFirst] : [monthFirst, dayFirst]
  return Number.isNaN(wanted) ? spare : wanted
}

function midnight(year: number, month: number, day: number): number {
  const at = Date.UTC(year, month - 1, day)
  return new Date(at).getUTCMonth() === month - 1 && month >= 1 ? at : Number.NaN
}

function zoneOf(zone = ''): number {
  const [, sign, hours = 0, minutes = 0] = /([+-])(\d\d):?(\d\d)/.exec(zone) ?? []
  return (sign === '-' ? -60_000 : 60_000) * (Number(hours) * 60 + Number(minutes))
}

/** More than an hour at the highest rate. */
const maxMessages = 20_000
/** Before the first valid message: longer than any heading. */
const maxBytes = 2 ** 26
const maxHintLines = 5000
const damagedShare = 0.1

/**
 * Reads 20,000 messages, or 64 MB if none is valid. `layout` is null if no times are recognized.
 * `notes` are sentences for people about assumed, invented or omitted times. Rejects with an Error
 * that says why nothing can be replayed.
 */
export async function surveyLog(chunks: AsyncIterable<Uint8Array>, rateHz: number) {
  const times = new TimeSurvey()
  const content = new ContentSurvey()
  for await (const line of linesOf(chunks)) {
    const begin = line.search(beginning)
    content.add(line, begin)
    if (begin >= 0) times.add(prefixOf(line, begin))
    if (times.messages >= maxMessages || (content.frames === 0 && content.bytes > maxBytes)) break
  }
  if (content.frames === 0) throw new Error(`nothing in the log can be replayed: ${content.refusal()}`)
  const layout = times.layout()
  return { layout, notes: [...times.notes(layout, rateHz), ...content.notes()] }
}

/** Maximum number of number columns before a message that may be times. */
const maxColumns = 4

class TimeSurvey {
  messages = 0
  readonly #found = { date: 0, epoch: 0, clock: 0 }
  /** Dates such as 03/04/2020, read in both orders. */
  readonly #dates: { order: 'day' | 'month' | 'either'; day: number; month: number }[] = []
  readonly #columns: number[][] = Array.from({ length: maxColumns }, () => [])

  /** `prefix` is the text before a message. */
  add(prefix: string): void {
    this.messages += 1
    for (const kind of ['epoch', 'clock'] as const) {
      const stamp = stampIn(prefix, { kind })
      if (stamp && !Number.isNaN(timeOf(stamp, { kind }))) this.#found[kind] += 1
    }
    this.#addDate(prefix)
    const numbers = stampsIn(prefix, 'count').map(numberOf)
    for (const [column, times] of this.#columns.entries()) times.push(...numbers.slice(column, column + 1))
  }

  #addDate(prefix: string): void {
    const stamp = stampIn(prefix, { kind: 'date', isDayFirst: true })
    if (!stamp) return
    const day = timeOf(stamp, { kind: 'date', isDayFirst: true })
    const month = timeOf(stamp, { kind: 'date', isDayFirst: false })
    if (Number.isNaN(day)) return
    this.#found.date += 1
    const { first, other } = stamp.groups
    if (first === undefined) return
    const order = Number(first) > 12 ? 'day' : Number(other) > 12 ? 'month' : 'either'
    this.#dates.push({ order, day, month })
  }

  layout(): TimeLayout | null {
    const most = Math.max(...Object.values(this.#found))
    const kinds = ['date', 'epoch', 'clock'] as const
    const kind = kinds.find((one) => most > 0 && this.#found[one] >= most / 2)
    if (kind === undefined) return this.#countLayout()
    return kind === 'date' ? { kind, isDayFirst: this.#isDayFirst() ?? true } : { kind }
  }

  /** Decides by dates that allow only one order, then by the smaller gaps; null if undecidable. */
  #isDayFirst(): boolean | null {
    const days = this.#datesIn('day')
    const months = this.#datesIn('month')
    if (days !== months) return days > months
    const [asDays, asMonths] = (['day', 'month'] as const).map((order) =>
      stepsOf(this.#dates.map((date) => date[order])).reduce((sum, step) => sum + Math.abs(step), 0),
    )
    return asDays === asMonths ? null : Number(asDays) < Number(asMonths)
  }

  #datesIn(order: 'day' | 'month' | 'either'): number {
    return this.#dates.filter((date) => date.order === order).length
  }

  /** Prefers a growing column with fractions. */
  #countLayout(): TimeLayout | null {
    const columns = this.#columns
      .map((times, column) => ({ times, column, hasFraction: !times.every(Number.isInteger) }))
      .filter(({ times }) => times.length >= Math.max(3, this.messages / 10) && isGrowing(times))
    const best = columns.find(({ hasFraction }) => hasFraction) ?? columns[0]
    return best ? { kind: 'count', column: best.column, unitMs: unitOf(best.times, best.hasFraction) } : null
  }

  notes(layout: TimeLayout | null, rateHz: number): string[] {
    if (layout === null)
      return [
        `No timestamps were recognised: the log is played at an assumed rate, ${rateHz} messages a second (sensor.rateHz).`,
      ]
    const notes: string[] = []
    if (layout.kind === 'date' && this.#datesIn('either') > 0 && this.#isDayFirst() === null)
      notes.push('Its dates are assumed to be day/month/year, which the log does not show.')
    if (layout.kind === 'count')
      notes.push(`The numbers before its messages are read as ${unitNames[layout.unitMs]} since the start.`)
    const timed = layout.kind === 'count' ? this.#columns[layout.column]?.length : this.#found[layout.kind]
    const untimed = this.messages - (timed ?? 0)
    if (untimed > 0)
      notes.push(
        `${untimed} of ${this.messages} messages have no timestamp: they are spread between their neighbours.`,
      )
    return notes
  }
}

const unitNames: Readonly<Record<number, string>> = {
  1000: 'seconds',
  1: 'milliseconds',
  0.001: 'microseconds',
}

function stepsOf(times: readonly number[]): number[] {
  return times.slice(1).map((time, index) => time - (times[index] ?? 0))
}

function isGrowing(times: readonly number[]): boolean {
  const steps = stepsOf(times)
  return steps.some((step) => step > 0) && steps.filter((step) => step < 0).length <= steps.length / 20
}

/** Messages are at least 0.1 s and mostly less than 100 s apart. */
function unitOf(times: readonly number[], hasFraction: boolean): number {
  const steps = stepsOf(times)
  const median = steps.toSorted((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0
  if (median < 100) return 1000
  return hasFraction || median < 100_000 ? 1 : 0.001
}

const failures: Readonly<Record<RefusalCode, string>> = {
  cut: 'cut before the checksum or line end',
  checksum: 'with a wrong checksum',
  ending: 'without a line end after the checksum',
  layout: 'in an unsupported format',
  range: 'with impossible wind values',
  'too-long': 'too long',
}

const escaped =
  /\\x0?[23]|\\u000[23]|\\00?[23]|[<[](?:STX|ETX|CR|LF)[>\]]|\*[\dA-Fa-f]{2}\\[rn]|\^[BC]|\xe2\x90[\x82\x83]/
const withoutMarks =
  /(?:^|[^A-Za-z\d])[A-Z],(?:\d{3})?,(?:\d{3}\.\d\d)?,[A-Z],\d\d,|[A-Z],[+-]\d{3}\.\d\d,[+-]\d{3}\.\d\d,[A-Z],|(?<!\$)(?:II|WI)MWV,/

class ContentSurvey {
  bytes = 0
  frames = 0
  readonly #splitter = createFrameSplitter()
  #messages = 0
  #lines = 0
  #hints = { escaped: '', withoutMarks: '', intact: '' }
  #firstLine = ''

  add(text: string, begin: number): void {
    this.bytes += text.length + 1
    this.#firstLine ||= text.trim()
    if (this.#lines < maxHintLines) {
      if (escaped.test(text)) this.#hints.escaped ||= text
      if (begin < 0 && withoutMarks.test(text)) this.#hints.withoutMarks ||= text
    }
    this.#lines += 1
    if (begin < 0) return
    this.#messages += 1
    const wire = `${stripLogger(text.slice(begin))}\r\n`
    for (const split of this.#splitter.push(Buffer.from(wire, 'latin1'), 0)) {
      if (split.kind === 'frame') this.frames += 1
      else if (isIntact(split.code)) this.#hints.intact ||= text.slice(begin)
    }
  }

  notes(): string[] {
    const damaged = this.#messages - this.frames
    return damaged < damagedShare * this.#messages
      ? []
      : [`${damaged} of ${this.#messages} messages cannot be read (${this.#failures()}).`]
  }

  refusal(): string {
    const { escaped: written, withoutMarks: stripped, intact } = this.#hints
    const encoding = encodingOf(this.#firstLine)
    if (encoding !== null) return encoding
    if (written !== '')
      return `its control characters are written as text (${excerptOf(written)}); log every byte unchanged`
    const { refused } = this.#splitter
    if (intact !== '' && refused.layout + refused.range >= this.#messages / 2)
      return `its messages are intact, but in an unsupported format (${excerptOf(intact)}); if they come from a WindSonic, set its message format to M2`
    if (this.#messages > 0)
      return `${this.#messages} messages start in it, but none is complete (${this.#failures()}); log every byte unchanged`
    if (stripped !== '')
      return `the marks around its messages, STX and ETX or $, were left out (${excerptOf(stripped)}); log every byte unchanged (in PuTTY, "All session output")`
    return `it contains no WindSonic message (its first line is ${excerptOf(this.#firstLine)}); name a raw log of a WindSonic`
  }

  /** `299 cut before the checksum or line end, 1 with a wrong checksum` */
  #failures(): string {
    return Object.entries(this.#splitter.refused)
      .filter(([, times]) => times > 0)
      .toSorted(([, a], [, b]) => b - a)
      .map(([code, times]) => `${times} ${failures[code as RefusalCode]}`)
      .join(', ')
  }
}

/** Magic numbers: gzip, zip, bzip2, xz, zstd. */
const packed = ['\x1f\x8b', 'PK\x03\x04', 'BZh', '\xfd7zXZ', '\x28\xb5\x2f\xfd']

/** Returns why a log cannot be read as text, by its first line (latin1); null if it can. */
function encodingOf(text: string): string | null {
  if (packed.some((start) => text.startsWith(start))) return 'it is compressed; unpack it first'
  const zeros = text.split('\0').length - 1
  return /^(?:\xff\xfe|\xfe\xff)/.test(text) || zeros > text.length / 4
    ? 'it is UTF-16 text, as Windows PowerShell writes; convert it: iconv -f UTF-16 -t UTF-8'
    : null
}

function excerptOf(text: string): string {
  const shown = text.replace(/[^\x20-\x7e]/g, '·')
  return `"${shown.length > 40 ? `${shown.slice(0, 40)}…` : shown}"`
}
