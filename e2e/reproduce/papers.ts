// Four papers as data: their figures, the runs that measure the same, and what counts as agreement.

import type { Interval } from '../../client/statistics.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { middleOf, sessionRatio, shareInterval } from '../lab/statistics.ts'
import type { Level } from '../lab/study.ts'
import type { StudySummary } from '../lab/study-experiment.ts'
import { capital, count, figure, listed, range } from '../report/section.ts'
import { type CapacitySummary, ratiosIn, thesisSpeedUp } from '../scenarios/capacity-study.ts'
import { type Summary as KeystrokesSummary, publishedMeansMs } from '../scenarios/keystrokes-report.ts'
import { figureAt, type PubsubMeasure, paperP, publishedRows } from '../scenarios/pubsub-paper.ts'
import { type Method, methodWords, modeOf, paperTests } from '../scenarios/windcomm-paper.ts'
import { ratioWithin, type WindSummary } from '../scenarios/windcomm-summary.ts'

export interface Paper {
  readonly year: string
  readonly title: string
  readonly citation: string
  /** What the paper measured and found, for a reader who does not know it. */
  readonly about: string
  /** Explains the intervals. */
  readonly intervals: string
  /** All its runs together, on two cores. */
  readonly minutes: number
  readonly runs: readonly PaperRun[]
}

export interface PaperRun {
  /** Its report is in the folder NAME, or reference-NAME. */
  readonly name: string
  readonly scenario: string
  readonly flags: string
  /** Added to the flags for a run of a few minutes, which decides less. */
  readonly quick: string
  /** Parameters of the paper's experiment: a run with others is another experiment. */
  readonly asks: Readonly<Record<string, string | number>>
  readonly claims: readonly Claim[]
}

export type Claim<Summary = Circumstances> = FigureClaim<Summary> | HypothesisClaim<Summary>

interface Stated<Summary> {
  readonly what: string
  /** In the paper. */
  readonly place: string
  /** As the paper has it. */
  readonly paper: string
  /** How the run differed from the paper, such as `30 keys in place of 200`; null if it did not. */
  differs?(summary: Summary): string | null
  /** Sentences that explain a difference, if the run shows that they are true; else null. */
  because(summary: Summary): string | null
}

/** One figure of a paper. */
export interface FigureClaim<Summary = Circumstances> extends Stated<Summary> {
  /** As numbers: one value twice, or the range of the paper's tests. */
  readonly given: Interval
  /** Share by which both ends are widened. */
  readonly margin: number
  readonly unit?: '%'
  /** Null if the run did not measure it. */
  found(summary: Summary): Measurement | null
}

/** One test of a paper. */
export interface HypothesisClaim<Summary = Circumstances> extends Stated<Summary> {
  /** Whether the paper's test accepted it. */
  readonly isAccepted: boolean
  /** By the same test; null if the run did not measure it. */
  tested(summary: Summary): { readonly isAccepted: boolean; readonly words: string } | null
}

export interface Measurement {
  readonly value: number
  readonly interval: Interval | null
  /** The computation, as text. */
  readonly words?: string
}

type Side = 'below' | 'within' | 'above'

export const bandOf = ({ given: [low, high], margin }: Expected): Interval => [
  low * (1 - margin),
  high * (1 + margin),
]

/** Where the whole interval lies; null if an end of the band is inside it. */
export function sideOf(claim: Expected, { value, interval }: Measurement): Side | null {
  const [low, high] = bandOf(claim)
  const [least, most] = interval ?? [value, value]
  return most < low ? 'below' : least > high ? 'above' : least >= low && most <= high ? 'within' : null
}

type Expected = Pick<FigureClaim, 'given' | 'margin'>
const about = (low: number, high = low): Expected => ({ given: [low, high], margin: ratioWithin })
const within = (low: number, high: number): Expected => ({ given: [low, high], margin: 0 })
const unexplained = () => null
/** The interval of a run with one session. */
const unknown: Interval = [0, Infinity]

type Amount = number | null | undefined

/** `30 keys in place of 200`; null if it is the paper's. */
const inPlaceOf = (here: unknown, paper: number, what: string) =>
  here === paper ? null : `${count(Number(here))} ${what} in place of ${count(paper)}`

function quotient(first: Amount, second: Amount, unit = ''): Measurement | null {
  if (first == null || second == null) return null
  return { value: first / second, interval: null, words: `${figure(first)} / ${figure(second)}${unit}` }
}

/** Median and range of one value a session. */
function middle(values: readonly number[]): Measurement | null {
  const { median, min, max } = middleOf(values)
  if (median === null || min === null || max === null) return null
  return { value: median, interval: values.length > 1 ? [min, max] : unknown }
}

/** A share in percent, with the interval for independent draws. */
function percentage(part: number, all: number): Measurement {
  const [low, high] = shareInterval(part, all)
  const words = `${count(part)} of ${count(all)}`
  return { value: (100 * part) / all, interval: [100 * low, 100 * high], words }
}

/** Ratio of two modes' means, session by session. */
function ratioOfMeans({ figures }: KeystrokesSummary, mode: string, other: string): Measurement | null {
  const [own, base] = [mode, other].map((name) => figures.find((each) => each.mode === name))
  const ratios = (own?.sessions ?? []).map(
    (ms, index) => (ms ?? Number.NaN) / (base?.sessions[index] ?? Number.NaN),
  )
  const { ratio, ratioCi95 } = sessionRatio(ratios.filter(Number.isFinite))
  const found = quotient(own?.mean, base?.mean, ' ms')
  return found && ratio !== null ? { ...found, value: ratio, interval: ratioCi95 ?? unknown } : null
}

type PublishedMode = keyof typeof publishedMeansMs

function typing(what: string, mode: PublishedMode, other: PublishedMode): FigureClaim<KeystrokesSummary> {
  const ms = publishedMeansMs[mode]
  const otherMs = publishedMeansMs[other]
  const paper = `${figure(ms / otherMs)} (${ms} / ${otherMs} ms)`
  return {
    what,
    place: 'table 1, pp. 16–17',
    paper,
    ...about(ms / otherMs),
    found: (summary) => ratioOfMeans(summary, mode, other),
    differs: ({ parameters }) => inPlaceOf(parameters.keys, 200, 'keys'),
    because(summary) {
      const own = this.found(summary)
      const bare = ratioOfMeans(summary, `bare:${mode}`, `bare:${other}`)
      const isLikewise = own !== null && bare !== null && sideOf(this, bare) === sideOf(this, own)
      if (!isLikewise) return null
      return 'Pages of a few lines, without Crosswind, differ from the paper in the same direction here: it is neither this page nor this server. What was tried to explain it, such as another host and connections that are not kept, is in docs/measuring.md, “What gives the paper’s order?”.'
    },
  }
}

const thesis =
  'A. Fladvad and A. Khans, “Real-Time Synchronization of Multi-Window Web-Applications”, bachelor’s thesis, Dalarna University, 2021'

const http3Networks = ['wan', 'wan+1%', 'wan+5%', 'wan+15%'] as const

/** The thesis's first question, for HTTP/3 over a network that it did not have. */
function typingOverHttp3(network: (typeof http3Networks)[number]): FigureClaim<KeystrokesSummary> {
  const overHttp2 = typing(`${network}: SSE + XHR over HTTP/3, times WebSocket`, 'sse/2', 'websocket/1.1')
  return {
    ...overHttp2,
    paper: `${overHttp2.paper}, over HTTP/2`,
    differs: () => null,
    found: (summary) => ratioOfMeans(summary, `sse/3 ${network}`, `websocket/1.1 ${network}`),
    because: unexplained,
  }
}

const slower = ['long-polling', 'polling'] as const

const cellOf = ({ cells }: WindSummary, site: string, method: Method) =>
  cells.find((cell) => cell.site === site && cell.mode === modeOf[method])

const fewerReadings = ({ parameters }: WindSummary) => inPlaceOf(parameters.readings, 1200, 'readings')

function wind(site: string, method: Method): FigureClaim<WindSummary> {
  const ratios = paperTests(site, method).map(({ ratio }) => ratio)
  return {
    what: `${capital(site)}: ${methodWords[method]}, times WebSocket`,
    place: 'table 1',
    paper: ratios.map((ratio) => ratio.toFixed(2)).join(', '),
    ...about(Math.min(...ratios), Math.max(...ratios)),
    found(summary) {
      const own = cellOf(summary, site, method)
      const found = quotient(own?.meanMs, cellOf(summary, site, 'websocket')?.meanMs, ' ms')
      return found && { ...found, interval: own?.ratioToWebsocketCi95 ?? unknown }
    },
    differs: fewerReadings,
    because(summary) {
      const predicted = summary.predictions.find((each) => each.site === site)?.methods ?? []
      const modelMs = (name: Method) =>
        predicted.find((each) => each.method === name)?.model?.meanMs ?? Number.NaN
      const expected = slower.map((name) => modelMs(name) / modelMs('websocket'))
      // The simulated network alone makes the difference.
      const isExpected = expected.every((ratio, index) => {
        const found = cellOf(summary, site, slower[index] ?? method)?.ratioToWebsocket ?? Number.NaN
        return Math.abs(found / ratio - 1) < 0.1
      })
      if (!isExpected || summary.sites.find(({ name }) => name === site)?.profile?.loss) return null
      const words = slower.map((name, index) => `${figure(expected[index])} for ${methodWords[name]}`)
      return `The simulated network has WebSocket’s mean and standard deviation in common with the paper’s, and loses no packets. A calculation for that network alone gives ${listed(words)}.`
    },
  }
}

/** Null unless the method and WebSocket were measured there. */
function isSlower(summary: WindSummary, site: string, method: Method) {
  const { ratioToWebsocket: ratio = null, ratioToWebsocketCi95: ends = null } =
    cellOf(summary, site, method) ?? {}
  return ratio === null || ends === null ? null : { isAccepted: ends[0] > 1, words: figure(ratio) }
}

/** The difference of means that the paper tested, for places where all its tests agree. */
const slowerThere = (site: string, method: Method): HypothesisClaim<WindSummary> => ({
  what: `${capital(site)}: ${methodWords[method]} is slower than WebSocket`,
  place: 'Results',
  paper: 'accepted in 3 of 3 tests',
  isAccepted: true,
  tested: (summary) => isSlower(summary, site, method),
  differs: fewerReadings,
  because: unexplained,
})

const windSites = ['edmonton', 'lund', 'caracas', 'nagaoka']

const slowerAnywhere: FigureClaim<WindSummary> = {
  what: 'Tests in which long polling is slower than WebSocket',
  place: 'last section',
  paper: '9 of 12; in 1 faster, in 2 alike',
  ...about(75),
  unit: '%',
  found(summary) {
    const tests = windSites.flatMap((site) => isSlower(summary, site, 'long-polling') ?? [])
    return tests.length === 0
      ? null
      : percentage(tests.filter(({ isAccepted }) => isAccepted).length, tests.length)
  },
  differs: fewerReadings,
  because: unexplained,
}

/** A measure with the queue and without it; null if the run lacks either. */
function pairOf(summary: StudySummary, measure: PubsubMeasure, users: Level) {
  const [sqs, none] = ['sqs', 'none'].map((broker) =>
    figureAt(summary, measure, { broker, users, mode: modeOf.websocket }),
  )
  return sqs && none ? { sqs, none } : null
}

/** For each number of users. */
const pairsOf = (summary: StudySummary, measure: PubsubMeasure) =>
  (summary.levels.users ?? []).flatMap((users) => pairOf(summary, measure, users) ?? [])

/** With the queue, in times of that without. */
const timesOf = (summary: StudySummary, measure: PubsubMeasure) =>
  pairsOf(summary, measure).map(({ sqs, none }) => (sqs.mean ?? Number.NaN) / (none.mean ?? Number.NaN))

/** The paper's. */
const publishedPairs = publishedRows
  .filter(({ broker }) => broker === 'none')
  .flatMap((none) => {
    const sqs = publishedRows.find(({ broker, users }) => broker === 'sqs' && users === none.users)
    return sqs ? [{ users: none.users, none, sqs }] : []
  })

const iterationsOf = ({ parameters }: StudySummary) => inPlaceOf(parameters.iterations, 30, 'iterations')

type Pair = NonNullable<ReturnType<typeof pairOf>>

interface Hypothesis {
  readonly measure: PubsubMeasure
  readonly what: string
  readonly place: string
  /** The smallest number of users with which the paper accepted it. */
  readonly acceptedFrom: number
  /** The paper's figures, without the queue and with it. */
  published(pair: (typeof publishedPairs)[number]): string
  /** Whether the means here are in the order that it states. */
  isSo(withQueue: number, without: number): boolean
  /** The same figures here. */
  words(pair: Pair): string
  because(summary: StudySummary): string | null
}

/** Significance level of Welch's test. */
const level = 0.05

const hypotheses: readonly Hypothesis[] = [
  {
    measure: 'lost',
    what: 'H1, fewer messages are lost with the queue',
    place: 'tables I, II',
    acceptedFrom: 5000,
    published: ({ none, sqs }) => `${none.lossPercent} and ${sqs.lossPercent} %`,
    isSo: (withQueue, without) => withQueue < without,
    words: ({ sqs, none }) =>
      `${count(none.lost)} of ${count(none.expected)} and ${count(sqs.lost)} of ${count(sqs.expected)}`,
    because({ figures }) {
      if (figures.some(({ lost }) => lost > 0)) return null
      return 'Here every message came back. A WebSocket runs over TCP, which loses nothing while its connection lasts. The paper does not say where its messages were lost, nor how long it waited for them.'
    },
  },
  {
    measure: 'meanMs',
    what: 'H2, messages take longer with the queue',
    place: 'table III',
    acceptedFrom: 500,
    published: ({ none, sqs }) => `${none.latencyMs} and ${sqs.latencyMs} ms`,
    isSo: (withQueue, without) => withQueue > without,
    words: ({ sqs, none }) => `${figure(none.mean)} and ${figure(sqs.mean)} ms`,
    because(summary) {
      const least = Math.min(...processorTimes(summary))
      if (!(least > 1)) return null
      const micros = (broker: 'sqs' | 'none') =>
        range(pairsOf(summary, 'serverCpuMicros').map((pair) => pair[broker].mean ?? Number.NaN))
      return `Here the processor decides: the server spent ${micros('sqs')} µs of it on a message with the queue and ${micros('none')} µs without. With the queue, the processor time of a burst alone is at least ${figure(least)} times the whole duration of a burst without.`
    },
  },
  {
    measure: 'kbps',
    what: 'H3, more bandwidth is used with the queue',
    place: 'table IV',
    acceptedFrom: 1000,
    published: ({ none, sqs }) => `${none.kbps} and ${sqs.kbps} kbit/s`,
    isSo: (withQueue, without) => withQueue > without,
    words: ({ sqs, none }) => `${figure(none.mean)} and ${figure(sqs.mean)} kbit/s`,
    because(summary) {
      const longer = timesOf(summary, 'lastMs')
      const larger = timesOf(summary, 'bytesPerMessage')
      // Both together must explain the rates.
      const isWhole = timesOf(summary, 'kbps').every(
        (rate, index) =>
          Math.abs((rate * (longer[index] ?? Number.NaN)) / (larger[index] ?? Number.NaN) - 1) < ratioWithin,
      )
      if (!isWhole || !(Math.min(...longer) > 1)) return null
      return `Bandwidth is bytes over time. With the queue a message had ${range(larger)} times the bytes here, but a burst took ${range(longer)} times as long.`
    },
  },
]

/** The server's processor time for a burst with the queue, in times of a whole burst without. */
function processorTimes(summary: StudySummary): readonly number[] {
  const bursts = pairsOf(summary, 'lastMs')
  return pairsOf(summary, 'serverCpuMicros').map(({ sqs }, index) => {
    const burstMs = (Number(sqs.at.users) * (sqs.mean ?? Number.NaN)) / 1000
    return burstMs / (bursts[index]?.none.mean ?? Number.NaN)
  })
}

const queue = hypotheses.flatMap(({ measure, what, place, acceptedFrom, published, isSo, words, because }) =>
  publishedPairs.map((pair): HypothesisClaim<StudySummary> => {
    const { users } = pair
    const isAccepted = users >= acceptedFrom
    return {
      what: `${what}, ${count(users)} users`,
      place,
      paper: `${isAccepted ? 'accepted' : 'not accepted'}: ${published(pair)}`,
      isAccepted,
      tested(summary) {
        const measured = pairOf(summary, measure, users)
        if (!measured) return null
        const { sqs, none } = measured
        // Over the iterations, as in the paper.
        const p = paperP(sqs, none) ?? 1
        return {
          isAccepted: p < level && isSo(sqs.mean ?? Number.NaN, none.mean ?? Number.NaN),
          words: words(measured),
        }
      },
      differs: iterationsOf,
      because,
    }
  }),
)

type ExperimentName = CapacitySummary['ramps'][number]['experiment']

const rampsOf = ({ ramps }: CapacitySummary, experiment: ExperimentName) =>
  ramps.filter((ramp) => ramp.experiment === experiment && ramp.subject === modeOf.websocket)

const figuresOf = ({ figures }: CapacitySummary, mode: string, measure: string) =>
  figures.find((row) => row.at.ramp === mode && row.measure === measure)

/** Both ends of the ranges may have been in one session. */
function over(first: Measurement | null, second: Measurement | null, unit = ''): Measurement | null {
  const found = quotient(first?.value, second?.value, unit)
  const [least, most] = first?.interval ?? unknown
  const [base, maxBase] = second?.interval ?? unknown
  return found && { ...found, interval: [least / maxBase, most / base] }
}

/** The second ramp's processor time over the first's. */
function moreCpu(summary: CapacitySummary, experiment: ExperimentName): Measurement | null {
  const [first = null, second = null] = rampsOf(summary, experiment).map(({ mode, sessions }) => {
    const { p50, min, max } = figuresOf(summary, mode, 'serverCpuMs') ?? {}
    const hasRange = sessions > 1 && min != null && max != null
    return p50 == null ? null : { value: p50, interval: hasRange ? ([min, max] as const) : unknown }
  })
  return over(second, first, ' ms')
}

const ofCluster: FigureClaim<CapacitySummary> = {
  what: 'Server CPU for 2,400 connections, SocketCluster to Engine.IO',
  ...about(200 / 75),
  place: 'figures 3.3, 3.4, pp. 30–32',
  paper: '2.7 (two processes at “almost 100 %” of a core, one at 75 %)',
  found(summary) {
    const each = (subject: string) => {
      const ramp = summary.ramps.find((one) => one.experiment === 'comparison' && one.subject === subject)
      return figuresOf(summary, ramp?.mode ?? '', 'cpuMsPerWindow')?.sessions ?? []
    }
    const engine = each('engine.io')
    const ratios = each('socketcluster').map(
      (ms, index) => (ms ?? Number.NaN) / (engine[index] ?? Number.NaN),
    )
    return middle(ratios.filter(Number.isFinite))
  },
  because({ ramps }) {
    if (ramps.find(({ subject }) => subject === 'socketcluster')?.workers !== 1) return null
    return 'Here SocketCluster, in its version of today, served all connections in one process; in the thesis it had a load balancer, a worker and a store, of which two were busy.'
  },
}

const switched: FigureClaim<CapacitySummary> = {
  what: 'Connections dropped or never made by four processes on one core',
  place: 'figure 3.5, p. 33',
  paper: '“most”',
  ...within(50, 100),
  unit: '%',
  found(summary) {
    const ramp = rampsOf(summary, 'switching').find(({ workers }) => workers > 1)
    return ramp ? percentage(ramp.failed + ramp.dropped, ramp.planned) : null
  },
  // Only Crosswind's ramps count above.
  because: () =>
    'Here the processes were Crosswind’s; in the thesis they were those of SocketCluster of 2014.',
}

const spread = (workers: number): FigureClaim<CapacitySummary> => ({
  what: `Connections of ${workers} workers to those of one`,
  place: 'p. 44',
  paper: `“at least N/2”: ${figure(thesisSpeedUp(workers))}`,
  ...within(thesisSpeedUp(workers), Infinity),
  found(summary) {
    const ramp = rampsOf(summary, 'workers').find((one) => one.workers === workers)
    const own = ratiosIn(summary, 'workers', 'windowsCarried').find(({ mode }) => mode === ramp?.mode)
    return middle(own?.sessions.map(({ ratio }) => ratio) ?? [])
  },
  because: unexplained,
})

/** Connections in both ramps of an experiment. */
const connectionsOf =
  (experiment: ExperimentName, ...thesis: readonly number[]) =>
  (summary: CapacitySummary) => {
    const here = rampsOf(summary, experiment).map(({ windows }) => windows)
    if (here.join() === thesis.join()) return null
    const words = [here, thesis].map((counts) => listed([...new Set(counts)].map(count)))
    return `${words[0]} connections in place of ${words[1]}`
  }

/** The answer of a file: the thesis sends it over the WebSocket. */
const bySecondConnection =
  'each answer a GET over a second connection, in place of a message over the WebSocket'

/** Files that a process may open, and addresses that are left to connect from. */
const areOfClients = (reasons: string) => /EMFILE|EADDRNOTAVAIL|ENOBUFS/.test(reasons)

/** Measurement by continuing until something fails. */
const greatest: FigureClaim<CapacitySummary> = {
  what: 'Connections that one server carried',
  place: 'figure 3.14, p. 41',
  paper: '“around 25 000”',
  ...about(25_000),
  found(summary) {
    // Each has half as many windows more than the one before.
    const ramps = rampsOf(summary, 'most')
    const failed = ramps.find((ramp) => ramp.failed + ramp.dropped + ramp.missing > 0)
    const whole = ramps.filter((ramp) => ramp !== failed).at(-1)
    if (!failed)
      return whole
        ? { value: whole.windows, interval: [whole.windows, Infinity], words: 'more were not tried' }
        : null
    const held = whole?.windows ?? failed.opened - failed.dropped
    const lost = failed.failed + failed.dropped
    const why = failed.reasons && `, ${failed.reasons}`
    const end = `of ${count(failed.windows)} windows ${count(lost)} failed${why}, and ${count(failed.missing)} pings were not answered`
    // The clients' limit says nothing about the server.
    if (failed.limitedBy !== null || areOfClients(failed.reasons))
      return { value: held, interval: [held, Infinity], words: `the clients’ limit: ${end}` }
    return { value: held, interval: [held, failed.windows], words: end }
  },
  because: unexplained,
}

const connections: readonly FigureClaim<CapacitySummary>[] = [
  switched,
  ...[2, 3].map(spread),
  {
    what: 'Server CPU, a ping every 3 s to one every 4 s',
    place: 'figures 3.10, 3.11, pp. 38–39',
    paper: 'more than 1',
    ...within(1, Infinity),
    found: (summary) => moreCpu(summary, 'period'),
    differs: connectionsOf('period', 2400, 2400),
    because: unexplained,
  },
  {
    what: 'Server CPU, 1.5 times as many connections',
    place: 'figures 3.10, 3.12, pp. 38–39',
    paper: 'more than 1',
    ...within(1, Infinity),
    found: (summary) => moreCpu(summary, 'connections'),
    differs: connectionsOf('connections', 2400, 3600),
    because: unexplained,
  },
  {
    what: 'Server CPU, answers of 500 kB to 1 kB, over the smaller of the two above',
    place: 'figure 3.13, p. 40',
    paper: 'less than 1',
    ...within(0, 1),
    found(summary) {
      const period = moreCpu(summary, 'period')
      const more = moreCpu(summary, 'connections')
      return over(moreCpu(summary, 'size'), period && more && period.value < more.value ? period : more)
    },
    differs: (summary) =>
      [connectionsOf('size', 2400, 2400)(summary), bySecondConnection].filter(Boolean).join('; '),
    because: unexplained,
  },
]

/** The one that Crosswind rebuilds comes first. */
export const papers: readonly Paper[] = [
  {
    year: '2021',
    title: 'event streams over HTTP/2 against WebSocket',
    citation: thesis,
    about:
      'A key is typed in one of five windows; how long does it take to the others? The thesis found event streams with POST requests (SSE and XHR) over HTTP/2 about as fast as a WebSocket, and more than twice as fast as over HTTP/1.1.',
    intervals: '95 %, over the sessions',
    minutes: 13,
    runs: [
      {
        name: 'keystrokes-2021',
        scenario: 'keystrokes',
        flags: '--modes sse/2,sse/1.1,websocket/1.1 --peers bare --editor mirror',
        quick: '--quick --windows 5',
        asks: { editors: 'mirror', windows: 5 },
        claims: [
          typing('SSE + XHR over HTTP/2, times WebSocket', 'sse/2', 'websocket/1.1'),
          typing('SSE + XHR over HTTP/1.1, times WebSocket', 'sse/1.1', 'websocket/1.1'),
          typing('SSE + XHR over HTTP/2, times HTTP/1.1', 'sse/2', 'sse/1.1'),
        ],
      },
    ],
  },
  {
    year: '2021-http3',
    title: 'the 2021 question again, with event streams over HTTP/3',
    citation: thesis,
    about:
      'The same question today: HTTP/3 carries each stream on its own, so that a lost packet holds up one window and not all. The networks are simulated, 50 ms there and back, without loss and with one, five and fifteen packets lost in a hundred; all modes go through the same proxy. The thesis had another network, and no HTTP/3: this says whether its answer still holds, not whether it was right.',
    intervals: '95 %, over the sessions',
    minutes: 20,
    runs: [
      {
        name: 'http3',
        scenario: 'keystrokes',
        flags:
          '--front --modes sse/3,sse/2,websocket/1.1,sse/1.1 --profile wan,wan+1%,wan+5%,wan+15%,wan+5%x4 --blocks 1 --warmup 1 --keys 15 --interval 250 --sensor simulated',
        quick: '--modes sse/3,websocket/1.1 --profile wan,wan+5% --sessions 2',
        asks: { windows: 5 },
        claims: http3Networks.map(typingOverHttp3),
      },
    ],
  },
  {
    year: '2012',
    title: 'polling against WebSocket',
    citation:
      'V. Pimentel and B. G. Nickerson, “Communicating and Displaying Real-Time Data with WebSocket”, IEEE Internet Computing 16(4), 2012, pp. 45–53',
    about:
      'A wind sensor in Canada sends four readings a second to four cities; how late do they arrive? Polling asks for them again and again; in long polling the request waits for the next one. The paper found long polling as fast as a WebSocket while a round trip is shorter than the time between two readings; polling took 2.3 to 4.5 times as long. Here the cities are simulated networks, set to WebSocket’s mean.',
    intervals: '95 %, over the readings of one session',
    minutes: 6,
    runs: [
      {
        name: 'windcomm',
        scenario: 'windcomm',
        flags: `--sites edmonton,lund,caracas,nagaoka --readings 1200 --rate 4 --modes ${Object.values(modeOf).join(',')}`,
        quick: '--readings 120',
        asks: { rateHz: 4, holdMs: 300, intervalMs: 150, faster: 1 },
        claims: [
          ...windSites.flatMap((site) => slower.map((method) => wind(site, method))),
          ...windSites.map((site) => slowerThere(site, 'polling')),
          ...['edmonton', 'nagaoka'].map((site) => slowerThere(site, 'long-polling')),
          slowerAnywhere,
        ],
      },
    ],
  },
  {
    year: '2015',
    title: 'a message queue behind WebSocket',
    citation:
      'J. Ganaputra and B. Pardamean, “Asynchronous Publish/Subscribe Architecture over WebSocket for Building Real-time Web Applications”, Internetworking Indonesia Journal 7(2), 2015, pp. 15–19',
    about:
      'Up to 10,000 users send a message at once and wait until it comes back, through a message queue (Amazon SQS) and without one. The paper found that with the queue far fewer messages are lost, that they take 1 to 3 % longer, and that they need up to 8 % more bandwidth. Here ElasticMQ takes the place of SQS, on the same machine.',
    intervals: '95 %, over the sessions; of lost messages, over the messages',
    minutes: 19,
    runs: [
      {
        name: 'pubsub',
        scenario: 'pubsub',
        flags: '--brokers none,sqs --modes websocket/1.1',
        quick: '--users 50,500 --iterations 4 --sessions 2 --warmup 500',
        asks: {},
        claims: queue,
      },
    ],
  },
  {
    year: '2014',
    title: 'how many connections a server carries',
    citation:
      'G. L. Muller, “HTML5 WebSocket protocol and its application to distributed computing”, master’s thesis, Cranfield University, 2014',
    about:
      'How many connections does a WebSocket server carry, and at what cost? The thesis measured SocketCluster, which spreads connections over several processes. It has charts and no tables; these figures are those of its text. Here Crosswind takes SocketCluster’s place, except in the comparison with Engine.IO.',
    intervals:
      'the range of the sessions, of a ratio the widest that two ranges allow; of dropped connections 95 %',
    minutes: 40,
    runs: [
      {
        name: 'capacity',
        scenario: 'capacity',
        flags:
          '--experiments switching,workers,period,connections,size --modes websocket/1.1 --peers= --sessions 5',
        quick: '--seconds 4 --hold 2 --sessions 2',
        asks: {},
        claims: connections,
      },
      {
        name: 'capacity-2400',
        scenario: 'capacity',
        flags:
          '--experiments comparison --seconds 60 --modes websocket/1.1 --peers engine.io,socketcluster --sessions 3',
        quick: '--seconds 4 --hold 2 --sessions 2',
        asks: {},
        claims: [ofCluster],
      },
      {
        name: 'capacity-most',
        scenario: 'capacity',
        flags: '--experiments most --most-limit 60000 --modes websocket/1.1 --peers= --sessions 1',
        quick: '--connections 500 --most-limit 1000 --most-hold 3',
        asks: {},
        claims: [greatest],
      },
    ],
  },
]
