// The 2012 WindComm paper: its methods, formulas and measurements, and a model of its methods.

import { createSeededRandom, type Random } from '../../client/wire.ts'
import { labelOf } from '../lab/mode-names.ts'
import { createPaths, type Paths, type Profile } from '../network/profiles.ts'
import { capital, range } from '../report/section.ts'

/** HTTP/1.1 as in 2012; unlike the paper's, these run over TLS. */
export const modeOf = {
  websocket: 'websocket/1.1',
  'long-polling': 'long-polling/1.1',
  polling: 'polling/1.1',
} as const

export type Method = keyof typeof modeOf

export const methods = Object.keys(modeOf) as readonly Method[]

export const methodWords: Readonly<Record<Method, string>> = {
  websocket: 'WebSocket',
  'long-polling': 'long polling',
  polling: 'polling',
}

export const baseline = modeOf.websocket

export const modesBeside: readonly string[] = ['sse/2', 'streaming/2', 'websocket/2']

export function methodOf(mode: string): Method | undefined {
  return methods.find((method) => modeOf[method] === mode)
}

/** Confidence level. */
export const paperLevel = 0.99

interface Timing {
  /** ν: WebSocket's mean. */
  readonly oneWayMs: number
  /** M, the sensor's interval. */
  readonly betweenReadingsMs: number
  /** Δ, from a response to the next request. */
  readonly intervalMs: number
}

/**
 * 2ν + Δ, from a poll's response to the arrival of the next request. The paper expects polling “to
 * deliver the same performance as WebSocket or long polling” while it is less than M (last section).
 */
export const pollReturnsMs = ({ oneWayMs, intervalMs }: Timing) => 2 * oneWayMs + intervalMs

/** A long poll is back before the next reading: ν < M/2 ("Polling", last but two paragraphs). */
export function keepsUp({ oneWayMs, betweenReadingsMs }: Timing): boolean {
  return oneWayMs < betweenReadingsMs / 2
}

/** Means, ms; the worst is null if the paper gives none. */
export function expectationOf(method: Method, timing: Timing) {
  const { oneWayMs, intervalMs } = timing
  const formulas: Readonly<Record<Method, readonly [expectedMs: number, worstMs: number | null]>> = {
    websocket: [oneWayMs, null],
    // 2012 paper, "Long Polling".
    'long-polling': keepsUp(timing) ? [oneWayMs, null] : [1.5 * oneWayMs, 2 * oneWayMs],
    // For uniformly distributed requests (2012 paper, "Polling").
    polling: [2 * oneWayMs + intervalMs / 2, 3 * oneWayMs + intervalMs],
  }
  const [expectedMs, worstMs] = formulas[method]
  return { expectedMs, worstMs }
}

interface Modelled {
  readonly readings: number
  readonly rateHz: number
  readonly holdMs: number
  readonly intervalMs: number
  readonly random: Random
}

/** Uncounted readings, until pollers are in steady state. */
const warmUpReadings = 8

/**
 * One-way latencies of a model of the methods over a profile, ms, in order of the readings. All
 * methods see the same queues and stalls. Ignores processing time and, since a reading has 22
 * bytes, the rate.
 */
export function predict(
  profile: Profile,
  { readings, rateHz, holdMs, intervalMs, random }: Modelled,
): Readonly<Record<Method, readonly number[]>> {
  const seed = Math.floor(random() * 2 ** 32)
  const paths = () => createPaths(profile, createSeededRandom(seed))
  const everyMs = 1000 / rateHz
  const times = Array.from({ length: readings }, (_, reading) => (reading + warmUpReadings) * everyMs)
  const firstAskMs = random() * everyMs
  const { down } = paths()
  return {
    websocket: times.map((time) => down(time) - time),
    'long-polling': poll(times, paths(), { holdMs, pauseMs: 0, firstAskMs }),
    polling: poll(times, paths(), { holdMs: 0, pauseMs: intervalMs, firstAskMs }),
  }
}

/** Each response carries all readings since the last. */
function poll(
  times: readonly number[],
  { down, up }: Paths,
  { holdMs, pauseMs, firstAskMs }: Readonly<Record<'holdMs' | 'pauseMs' | 'firstAskMs', number>>,
): number[] {
  const latencies: number[] = []
  let askedAt = firstAskMs
  while (latencies.length < times.length) {
    const heardAt = up(askedAt)
    const newest = times[latencies.length] ?? 0
    const answeredAt = Math.min(Math.max(newest, heardAt), heardAt + holdMs)
    const receivedAt = down(answeredAt)
    for (let time = times[latencies.length]; time !== undefined && time <= answeredAt; ) {
      latencies.push(receivedAt - time)
      time = times[latencies.length]
    }
    askedAt = receivedAt + pauseMs
  }
  return latencies
}

/** Means and standard deviations in ms; the ratio is over the preceding WebSocket test's mean, as printed. */
type PaperRow = readonly [site: string, Method, meanMs: number, sdMs: number, ratio: number]

/**
 * V. Pimentel and B. G. Nickerson, "Communicating and Displaying Real-Time Data with WebSocket", IEEE Internet Computing
 * 16(4), 2012, Table 1: 1,200 readings each.
 */
const paperRows: readonly PaperRow[] = [
  ['edmonton', 'websocket', 40.3, 7.6, 1],
  ['edmonton', 'long-polling', 41.3, 0.86, 1.02],
  ['edmonton', 'polling', 151.3, 63.7, 3.75],
  ['edmonton', 'websocket', 39.7, 2.8, 1],
  ['edmonton', 'long-polling', 40.7, 2.4, 1.02],
  ['edmonton', 'polling', 149.9, 63.6, 3.77],
  ['edmonton', 'websocket', 40.5, 0.52, 1],
  ['edmonton', 'long-polling', 41.5, 0.97, 1.02],
  ['edmonton', 'polling', 150.4, 63.4, 3.72],
  ['caracas', 'websocket', 122.9, 48.2, 1],
  ['caracas', 'long-polling', 131.5, 66.3, 1.07],
  ['caracas', 'polling', 283.5, 111.7, 2.31],
  ['caracas', 'websocket', 124.0, 51.02, 1],
  ['caracas', 'long-polling', 121.4, 50.8, 0.98],
  ['caracas', 'polling', 298.0, 114.1, 2.4],
  ['caracas', 'websocket', 98.8, 1.37, 1],
  ['caracas', 'long-polling', 106.1, 41.2, 1.07],
  ['caracas', 'polling', 266.9, 100.1, 2.7],
  ['lund', 'websocket', 91.92, 2.74, 1],
  ['lund', 'long-polling', 87.5, 2.26, 0.95],
  ['lund', 'polling', 241.4, 88.4, 2.63],
  ['lund', 'websocket', 95.3, 2.08, 1],
  ['lund', 'long-polling', 97.3, 1.72, 1.02],
  ['lund', 'polling', 253.0, 90.1, 2.65],
  ['lund', 'websocket', 75.1, 0.42, 1],
  ['lund', 'long-polling', 77.6, 0.88, 1.03],
  ['lund', 'polling', 225.1, 84.8, 3.0],
  ['nagaoka', 'websocket', 153.4, 133.3, 1],
  ['nagaoka', 'long-polling', 647.0, 683.4, 4.22],
  ['nagaoka', 'polling', 584.3, 508.8, 3.81],
  ['nagaoka', 'websocket', 163.3, 161.9, 1],
  ['nagaoka', 'long-polling', 585.7, 622.0, 3.59],
  ['nagaoka', 'polling', 699.5, 682.8, 4.28],
  ['nagaoka', 'websocket', 156.2, 176.0, 1],
  ['nagaoka', 'long-polling', 623.3, 654.6, 3.99],
  ['nagaoka', 'polling', 700.1, 711.0, 4.48],
]

/** `nagaoka` of `nagaoka+1%`. */
export const cityOf = (site: string) => site.split('+', 1)[0] ?? site

/** In the table's order; empty for sites outside the paper. */
export function paperTests(site: string, method: Method) {
  return paperRows
    .filter(([city, measured]) => city === cityOf(site) && measured === method)
    .map(([, , meanMs, sdMs, ratio]) => ({ meanMs, sdMs, ratio }))
}

/** Pace of the paper's own experiment. */
export const paperPace = { rateHz: 4, holdMs: 300, intervalMs: 150 } as const

/**
 * Largest deviation of the paper's own polling tests from its formula at a site, as a share; null
 * without tests.
 */
export function paperFormulaError(site: string): number | null {
  const sent = paperTests(site, 'websocket')
  const errors = paperTests(site, 'polling').map(({ meanMs }, place) => {
    const { rateHz, intervalMs } = paperPace
    const oneWayMs = sent[place]?.meanMs ?? Number.NaN
    const timing = { betweenReadingsMs: 1000 / rateHz, intervalMs, oneWayMs }
    return Math.abs(meanMs / expectationOf('polling', timing).expectedMs - 1)
  })
  return errors.length === 0 ? null : Math.max(...errors)
}

/** `1.00 to 1.05`, or one figure when equal. */
export const span = (values: readonly number[]) => range(values, (value) => value.toFixed(2))

/** The paper's word for its methods, otherwise the mode's label. */
export function formatMode(mode: string): string {
  const method = methodOf(mode)
  return method ? methodWords[method] : labelOf(mode)
}

export function cellLabel(site: string, mode: string): string {
  return `${capital(site)}, ${formatMode(mode)}`
}
