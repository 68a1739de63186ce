// The server's load in words and lines, for the monitor.

import {
  type MonitorProcess,
  type MonitorReply,
  type MonitorSecond,
  secondsKept,
} from '../../protocol/monitor.ts'
import { formatMs } from '../page/late-wording.ts'

export interface MonitorChart {
  readonly name: string
  /** The newest figure, with its unit. */
  readonly figure: string
  /** Empty for none. */
  readonly beside: string
  /** The figure by second, the newest last; null leaves a gap. */
  readonly line: readonly (number | null)[]
  /** The words beside it by second; null for none. */
  readonly other: readonly (number | null)[] | null
  /** Top of the axis, which begins at 0. */
  readonly top: number
  readonly topWords: string
}

/** The same second in each process. */
type Moment = readonly MonitorSecond[]

type Read = (moment: Moment) => number | null

interface Measure {
  readonly name: string
  readonly inWords: (value: number) => string
  /** The axis reaches at least this far. */
  readonly minTop: number
  readonly read: Read
  readonly readOther?: Read
  readonly beside: (moment: Moment, all: readonly Moment[]) => string
}

const count = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 })
const perSecond = (value: number) => `${count.format(value)} a second`
const percent = (value: number) => `${count.format(100 * value)} %`
const windowsOf = ({ windows }: MonitorSecond) =>
  Object.values(windows).reduce((sum, windows) => sum + windows, 0)

const sumOf = (read: (second: MonitorSecond) => number) => (moment: Moment) =>
  moment.reduce((sum, second) => sum + read(second), 0)

/** Quantiles of several processes cannot be combined. */
const worstOf = (read: (second: MonitorSecond) => number | undefined) => (moment: Moment) => {
  const values = moment.flatMap((second) => read(second) ?? [])
  return values.length === 0 ? null : Math.max(...values)
}

const latencyP99 = worstOf(({ latencyMs }) => latencyMs?.p99)
const loopMax = worstOf(({ loopDelayMs }) => loopDelayMs?.max)
const heap = sumOf(({ heapBytes }) => heapBytes)
const omitted = sumOf((second) => second.omitted)

const measures: readonly Measure[] = [
  {
    name: 'Windows',
    inWords: (value) => count.format(value),
    minTop: 5,
    read: sumOf(windowsOf),
    beside: (moment) => {
      const sums = new Map<string, number>()
      for (const { windows } of moment)
        for (const [mode, number] of Object.entries(windows)) sums.set(mode, (sums.get(mode) ?? 0) + number)
      return [...sums]
        .toSorted(([, one], [, other]) => other - one)
        .map(([mode, number]) => `${mode} ${count.format(number)}`)
        .join(', ')
    },
  },
  {
    name: 'Messages in',
    inWords: perSecond,
    minTop: 10,
    read: sumOf(({ stored }) => stored),
    beside: () => 'accepted by the log',
  },
  {
    name: 'Messages out',
    inWords: perSecond,
    minTop: 10,
    read: sumOf(({ sent }) => sent),
    beside: () => 'written to windows',
  },
  {
    name: 'Latency in the server',
    inWords: formatMs,
    minTop: 2,
    read: worstOf(({ latencyMs }) => latencyMs?.p50),
    readOther: latencyP99,
    beside: (moment) => {
      const p99 = latencyP99(moment)
      const median = moment.length > 1 ? 'median of the slowest' : 'median'
      return p99 === null ? `${median}, accepted to written` : `${median}; 99 % within ${formatMs(p99)}`
    },
  },
  {
    name: 'Processor',
    inWords: percent,
    minTop: 1,
    read: sumOf(({ cpu }) => cpu),
    beside: (moment) => (moment.length > 1 ? 'of one core, all processes together' : 'of one core'),
  },
  {
    name: 'Memory',
    inWords: (value) => formatBytes(value),
    minTop: 100_000_000,
    read: sumOf(({ rssBytes }) => rssBytes),
    readOther: heap,
    beside: (moment) => `${formatBytes(heap(moment))} of it JavaScript’s heap`,
  },
  {
    name: 'Event loop',
    inWords: (value) => `${formatMs(value)} late`,
    minTop: 5,
    read: worstOf(({ loopDelayMs }) => loopDelayMs?.p50),
    readOther: loopMax,
    beside: (moment) => {
      const max = loopMax(moment)
      const median = moment.length > 1 ? 'median of the latest' : 'median'
      return max === null ? '' : `${median}; at most ${formatMs(max)}`
    },
  },
  {
    name: 'Waiting',
    inWords: (value) => formatBytes(value),
    minTop: 10_000,
    read: sumOf(({ backlogBytes }) => backlogBytes),
    beside: () => 'for windows that read slowly',
  },
  {
    name: 'Left out',
    inWords: perSecond,
    minTop: 5,
    read: omitted,
    beside: (_moment, all) => {
      const sum = all.reduce((total, moment) => total + omitted(moment), 0)
      return `readings; ${count.format(sum)} in documents’ content`
    },
  },
]

/** Empty without seconds. */
export function chartsOf(processes: readonly MonitorProcess[]): MonitorChart[] {
  const moments = momentsOf(processes)
  const newest = moments.at(-1)
  if (!newest || newest.length === 0) return []
  return measures.map(({ name, inWords, minTop, read, readOther, beside }) => {
    const lineOf = (readOne: Read) => moments.map((moment) => (moment.length === 0 ? null : readOne(moment)))
    const line = lineOf(read)
    const other = readOther ? lineOf(readOther) : null
    const top = niceTop(Math.max(minTop, ...[...line, ...(other ?? [])].map((value) => value ?? 0)))
    const value = read(newest)
    const figure = value === null ? '–' : inWords(value)
    return { name, figure, beside: beside(newest, moments), line, other, top, topWords: inWords(top) }
  })
}

/**
 * Returns a place for each second, up to the newest. Processes measure at their own times: where one's
 * second falls between two places, its previous one is repeated, so that a sum has no dip.
 */
function momentsOf(processes: readonly MonitorProcess[]): MonitorSecond[][] {
  const newestAt = Math.max(...processes.map(({ seconds }) => seconds.at(-1)?.at ?? 0))
  const moments = Array.from({ length: secondsKept }, (): MonitorSecond[] => [])
  for (const { seconds } of processes) {
    let lastPlace = -1
    const add = (index: number, second: MonitorSecond | undefined) => second && moments[index]?.push(second)
    for (const [index, second] of seconds.entries()) {
      const place = secondsKept - 1 - Math.round((newestAt - second.at) / 1000)
      if (place <= lastPlace) continue
      if (processes.length > 1 && lastPlace >= 0 && place === lastPlace + 2)
        add(lastPlace + 1, seconds[index - 1])
      add(place, second)
      lastPlace = place
    }
    if (lastPlace === secondsKept - 2) add(secondsKept - 1, seconds.at(-1))
  }
  return moments
}

export interface ProcessRow {
  readonly name: string
  readonly windows: string
  readonly stored: string
  readonly sent: string
  readonly cpu: string
  readonly memory: string
  /** Median and greatest delay. */
  readonly loop: string
}

/**
 * The newest second of each process; empty for a single process, which the charts describe fully.
 */
export function processRows(processes: readonly MonitorProcess[]): readonly ProcessRow[] {
  if (processes.length < 2) return []
  return processes.flatMap(({ name, seconds }) => {
    const second = seconds.at(-1)
    if (!second) return []
    const { stored, sent, cpu, rssBytes, loopDelayMs } = second
    return [
      {
        name: name === 'log' ? 'Log' : name.replace(/^worker-/, 'Worker '),
        windows: name === 'log' ? '–' : count.format(windowsOf(second)),
        stored: count.format(stored),
        sent: name === 'log' ? '–' : count.format(sent),
        cpu: percent(cpu),
        memory: formatBytes(rssBytes),
        loop: loopDelayMs ? `${formatMs(loopDelayMs.p50)}, ${formatMs(loopDelayMs.max)}` : '–',
      },
    ]
  })
}

/** 1, 2 or 5 times a power of ten. */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 5, 10].find((one) => one * power >= value * 0.999) ?? 10
  return step * power
}

function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${count.format(bytes)} B`
  const [size, unit] = bytes < 1e6 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB']
  return `${size < 10 ? size.toFixed(1) : count.format(size)} ${unit}`
}

/**
 * Appends the reply's newer seconds; drops the oldest, and processes that the reply does not name.
 */
export function withReply(
  known: readonly MonitorProcess[],
  { processes }: MonitorReply,
): readonly MonitorProcess[] {
  return processes.map((process) => {
    const before = known.find(({ name }) => name === process.name)?.seconds ?? []
    const newestAt = before.at(-1)?.at ?? Number.NEGATIVE_INFINITY
    const newer = process.seconds.filter(({ at }) => at > newestAt)
    return { ...process, seconds: [...before, ...newer].slice(-secondsKept) }
  })
}

/**
 * The `after` of the next request: the least of the processes' newest, ms since the epoch; 0
 * without any.
 */
export function newestOf(processes: readonly MonitorProcess[]): number {
  const newest = processes.map(({ seconds }) => seconds.at(-1)?.at ?? 0)
  return newest.length === 0 ? 0 : Math.min(...newest)
}

/** Empty if nothing is wrong. */
export function formatTrouble(processes: readonly MonitorProcess[]): string {
  const newest = processes.flatMap(({ seconds }) => seconds.at(-1) ?? [])
  if (newest.some(({ isLogUp }) => !isLogUp))
    return 'The broker of the log does not answer; messages wait in their windows.'
  // Each process reads documents itself, and may have found the same ones.
  const quarantined = Math.max(0, ...newest.map((second) => second.quarantined))
  if (quarantined === 0) return ''
  const documents = quarantined === 1 ? '1 document takes' : `${quarantined} documents take`
  return `${documents} the server too long to read, and ${quarantined === 1 ? 'is' : 'are'} only relayed; its terminal names ${quarantined === 1 ? 'it' : 'them'}.`
}

/** Such as `up 3 h 12 min, Node 26.10.0, log in SQLite`; the age is the oldest process's. */
export function formatServer({ node, log, processes }: MonitorReply): string {
  const minutes = Math.floor(Math.max(0, ...processes.map(({ uptimeMs }) => uptimeMs)) / 60_000)
  const days = Math.floor(minutes / 1440)
  const hours = Math.floor(minutes / 60) % 24
  const parts = days > 0 ? [`${days} d`, `${hours} h`] : [hours > 0 && `${hours} h`, `${minutes % 60} min`]
  const workers = processes.filter(({ name }) => name.startsWith('worker')).length
  const many = workers > 0 ? `, ${workers} worker${workers === 1 ? '' : 's'}` : ''
  return `This server: up ${parts.filter(Boolean).join(' ')}${many}, Node ${node.replace(/^v/, '')}, log in ${log}`
}
