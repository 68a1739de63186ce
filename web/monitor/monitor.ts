// The server's load in words and lines: what the monitor shows of its seconds.

import { type MonitorReply, type MonitorSecond, secondsKept } from '../../server/wire/monitor.ts'
import { msWords } from '../page/wording.ts'

export interface MonitorChart {
  readonly name: string
  /** The newest figure, with its unit. */
  readonly figure: string
  /** Empty for none. */
  readonly beside: string
  /** Of the figure, by second, the newest last; null leaves a gap. */
  readonly line: readonly (number | null)[]
  /** Of the words beside it; null for none. */
  readonly other: readonly (number | null)[] | null
  /** Of the axis, which begins at 0. */
  readonly top: number
  readonly topWords: string
}

type Read = (second: MonitorSecond) => number | null

interface Measure {
  readonly name: string
  readonly inWords: (value: number) => string
  /** The axis reaches at least as far. */
  readonly leastTop: number
  readonly read: Read
  readonly readOther?: Read
  readonly beside: (second: MonitorSecond, all: readonly MonitorSecond[]) => string
}

const count = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 })
const perSecond = (value: number) => `${count.format(value)} a second`
const windowsOf = ({ windows }: MonitorSecond) =>
  Object.values(windows).reduce((sum, windows) => sum + windows, 0)

const measures: readonly Measure[] = [
  {
    name: 'Windows',
    inWords: (value) => count.format(value),
    leastTop: 5,
    read: windowsOf,
    beside: ({ windows }) =>
      Object.entries(windows)
        .toSorted(([, one], [, other]) => other - one)
        .map(([mode, windows]) => `${mode} ${count.format(windows)}`)
        .join(', '),
  },
  {
    name: 'Messages in',
    inWords: perSecond,
    leastTop: 10,
    read: ({ stored }) => stored,
    beside: () => 'taken by the log',
  },
  {
    name: 'Messages out',
    inWords: perSecond,
    leastTop: 10,
    read: ({ sent }) => sent,
    beside: () => 'written to windows',
  },
  {
    name: 'Latency in the server',
    inWords: msWords,
    leastTop: 2,
    read: ({ latencyMs }) => latencyMs?.p50 ?? null,
    readOther: ({ latencyMs }) => latencyMs?.p99 ?? null,
    beside: ({ latencyMs }) =>
      latencyMs ? `median; 99 % within ${msWords(latencyMs.p99)}` : 'median, admitted until written',
  },
  {
    name: 'Processor',
    inWords: (value) => `${count.format(100 * value)} %`,
    leastTop: 1,
    read: ({ cpu }) => cpu,
    beside: () => 'of one core',
  },
  {
    name: 'Memory',
    inWords: (value) => bytesWords(value),
    leastTop: 100_000_000,
    read: ({ rssBytes }) => rssBytes,
    readOther: ({ heapBytes }) => heapBytes,
    beside: ({ heapBytes }) => `${bytesWords(heapBytes)} of it JavaScript’s heap`,
  },
  {
    name: 'Event loop',
    inWords: (value) => `${msWords(value)} late`,
    leastTop: 5,
    read: ({ loopDelayMs }) => loopDelayMs?.p50 ?? null,
    readOther: ({ loopDelayMs }) => loopDelayMs?.max ?? null,
    beside: ({ loopDelayMs }) => (loopDelayMs ? `median; at most ${msWords(loopDelayMs.max)}` : ''),
  },
  {
    name: 'Waiting',
    inWords: (value) => bytesWords(value),
    leastTop: 10_000,
    read: ({ backlogBytes }) => backlogBytes,
    beside: () => 'for windows that read slowly',
  },
  {
    name: 'Left out',
    inWords: perSecond,
    leastTop: 5,
    read: ({ omitted }) => omitted,
    beside: (_second, all) => {
      const sum = all.reduce((total, { omitted }) => total + omitted, 0)
      return `readings; ${count.format(sum)} in what is drawn`
    },
  },
]

/** Empty without seconds. */
export function chartsOf(seconds: readonly MonitorSecond[]): MonitorChart[] {
  const newest = seconds.at(-1)
  if (!newest) return []
  return measures.map(({ name, inWords, leastTop, read, readOther, beside }) => {
    const line = inPlaces(seconds, newest.at, read)
    const other = readOther ? inPlaces(seconds, newest.at, readOther) : null
    const top = niceTop(Math.max(leastTop, ...[...line, ...(other ?? [])].map((value) => value ?? 0)))
    const value = read(newest)
    const figure = value === null ? '–' : inWords(value)
    return { name, figure, beside: beside(newest, seconds), line, other, top, topWords: inWords(top) }
  })
}

/** One place a second, up to the newest; a second that is missing is null. */
function inPlaces(
  seconds: readonly MonitorSecond[],
  newestAt: number,
  read: (second: MonitorSecond) => number | null,
): (number | null)[] {
  const places = Array<number | null>(secondsKept).fill(null)
  for (const second of seconds) {
    const place = secondsKept - 1 - Math.round((newestAt - second.at) / 1000)
    if (place >= 0) places[place] = read(second)
  }
  return places
}

/** 1, 2 or 5 times a power of ten. */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 5, 10].find((one) => one * power >= value * 0.999) ?? 10
  return step * power
}

function bytesWords(bytes: number): string {
  if (bytes < 1000) return `${count.format(bytes)} B`
  const [size, unit] = bytes < 1e6 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB']
  return `${size < 10 ? size.toFixed(1) : count.format(size)} ${unit}`
}

/** Those of a reply after those that are known; the oldest are dropped. */
export function withReply(
  known: readonly MonitorSecond[],
  { seconds }: MonitorReply,
): readonly MonitorSecond[] {
  const newestAt = known.at(-1)?.at ?? Number.NEGATIVE_INFINITY
  return [...known, ...seconds.filter(({ at }) => at > newestAt)].slice(-secondsKept)
}

/** `up 3 h 12 min, Node 26.10.0, log in SQLite` */
export function serverWords({ node, uptimeMs, log, workers }: MonitorReply): string {
  const minutes = Math.floor(uptimeMs / 60_000)
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60) % 24]
  const parts = days > 0 ? [`${days} d`, `${hours} h`] : [hours > 0 && `${hours} h`, `${minutes % 60} min`]
  const who = workers > 1 ? `One of ${workers} workers` : 'This server'
  return `${who}: up ${parts.filter(Boolean).join(' ')}, Node ${node.replace(/^v/, '')}, log in ${log}`
}
