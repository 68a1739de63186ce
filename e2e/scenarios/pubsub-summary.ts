// What the iterations of `pubsub` say: latencies with each broker, and the papers’ next to them.

import { mean, standardDeviation } from '../../server/wire/t-test.ts'
import { spokenName } from '../lab/mode-names.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { bySession, sessionsIn } from '../lab/samples.ts'
import { rounded, sessionRatio, significant, welch } from '../lab/statistics.ts'
import { count, figure } from '../report/section.ts'

/**
 * `none`: a bare relay of channels, without broker and log. `bare-file`, `bare-nats`: the same relay, which writes each message to a
 * file or through JetStream, and checks nothing.
 */
export const brokerNames = ['none', 'bare-file', 'embedded', 'bare-nats', 'nats', 'sqs'] as const
export type BrokerName = (typeof brokerNames)[number]

const isBare = (broker: BrokerName) => broker === 'none' || broker.startsWith('bare-')

/** The bare relay that does the least of what a broker of Crosswind's does. */
const floorOf: Partial<Readonly<Record<BrokerName, BrokerName>>> = {
  embedded: 'bare-file',
  nats: 'bare-nats',
}

/** One burst: each user sends a message, and waits for it. Times in ms, from when each was handed to its connection. */
export interface Iteration {
  readonly mode: string
  readonly users: number
  readonly broker: BrokerName
  readonly session: number
  /** From 1, over all sessions. */
  readonly iteration: number
  /** Messages that came back. */
  readonly n: number
  readonly duplicated: number
  readonly meanMs: number | null
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  readonly maxMs: number | null
  /** Until the last message was sent, and until the last one had come back or the wait was over. */
  readonly sendingMs: number
  readonly lastMs: number
  /** From the server to the users, TLS included. */
  readonly bytesOut: number
  readonly serverCpuMs: number
  /** Of the busiest client process, of one core; from the first message to the last answer. */
  readonly clientCpuShare: number
}

/** Messages that another consumer took from the queue and never acknowledged. */
export interface Requeued {
  readonly users: number
  readonly taken: number
  readonly visibilityMs: number
  readonly n: number
  readonly duplicated: number
  /** Of those that came again, ms after they were sent. */
  readonly againMs: readonly number[]
}

export interface Run extends Circumstances {
  readonly modes: readonly string[]
  readonly users: readonly number[]
  readonly brokers: readonly BrokerName[]
  readonly iterations: readonly Iteration[]
  /** Null without SQS. */
  readonly requeued: Requeued | null
  readonly waitMs: number
  /** Names and versions of what runs beside the servers. */
  readonly brokerVersions: Readonly<Partial<Record<BrokerName, string>>>
}

/** Above it the clients, and not the server alone, decide how long a burst takes. */
export const busyShare = 0.9

/** Ganaputra and Pardamean 2015, tables I, III and IV: means of 30 iterations, in ms and kbit/s. */
export const paper: readonly PaperRow[] = [
  { users: 50, broker: 'none', lossPercent: 0, latencyMs: 36.83, latencySdMs: 2.89, kbps: 10.52 },
  { users: 50, broker: 'sqs', lossPercent: 0, latencyMs: 38, latencySdMs: 1.7, kbps: 10.51 },
  { users: 100, broker: 'none', lossPercent: 0, latencyMs: 87.67, latencySdMs: 3.97, kbps: 18.92 },
  { users: 100, broker: 'sqs', lossPercent: 0, latencyMs: 89.37, latencySdMs: 2.68, kbps: 19.03 },
  { users: 500, broker: 'none', lossPercent: 0.74, latencyMs: 292.77, latencySdMs: 6.04, kbps: 44.47 },
  { users: 500, broker: 'sqs', lossPercent: 0, latencyMs: 300.2, latencySdMs: 3.4, kbps: 44.8 },
  { users: 1000, broker: 'none', lossPercent: 1.14, latencyMs: 489.43, latencySdMs: 7.76, kbps: 70.24 },
  { users: 1000, broker: 'sqs', lossPercent: 0, latencyMs: 497.5, latencySdMs: 4.53, kbps: 70.8 },
  { users: 5000, broker: 'none', lossPercent: 5.7, latencyMs: 678.87, latencySdMs: 11.27, kbps: 286.58 },
  { users: 5000, broker: 'sqs', lossPercent: 0.98, latencyMs: 688.97, latencySdMs: 4.87, kbps: 298.44 },
  { users: 10_000, broker: 'none', lossPercent: 8.29, latencyMs: 793.63, latencySdMs: 10.5, kbps: 307.25 },
  { users: 10_000, broker: 'sqs', lossPercent: 0.85, latencyMs: 805.3, latencySdMs: 5.48, kbps: 332.44 },
]

export interface PaperRow {
  readonly users: number
  readonly broker: BrokerName
  readonly lossPercent: number
  readonly latencyMs: number
  readonly latencySdMs: number
  readonly kbps: number
}

export function paperRow(users: number, broker: BrokerName): PaperRow | undefined {
  return paper.find((row) => row.users === users && row.broker === broker)
}

export type Summary = ReturnType<typeof analyse>
export type GroupSummary = ReturnType<typeof summariseGroup>

export function analyse(run: Run) {
  const { iterations, requeued, ...circumstances } = run
  const groups = run.modes.flatMap((mode) =>
    run.users.flatMap((users) => run.brokers.map((broker) => summariseGroup(run, mode, users, broker))),
  )
  return {
    scenario: 'pubsub' as const,
    ...circumstances,
    sessions: sessionsIn(iterations),
    groups,
    requeued: requeued && {
      ...requeued,
      againMs: requeued.againMs.map(rounded),
      againMeanMs: requeued.againMs.length === 0 ? null : rounded(mean(requeued.againMs)),
    },
    finding: findingOf(run, groups),
  }
}

/** Over iterations, as in the paper; ratios over sessions. */
function summariseGroup(run: Run, mode: string, users: number, broker: BrokerName) {
  const ofBroker = (name: BrokerName) =>
    run.iterations.filter((one) => one.mode === mode && one.users === users && one.broker === name)
  const [own, bare] = [ofBroker(broker), broker === 'none' ? [] : ofBroker('none')]
  const n = own.reduce((sum, one) => sum + one.n, 0)
  const expected = own.length * users
  const cpuMs = own.reduce((sum, { serverCpuMs }) => sum + serverCpuMs, 0)
  const floor = floorOf[broker]
  return {
    ...{ mode, users, broker },
    iterations: own.length,
    ...{ n, expected, lost: expected - n },
    duplicated: own.reduce((sum, { duplicated }) => sum + duplicated, 0),
    lossPercent: significant((100 * (expected - n)) / expected),
    latency: comparison(own, bare, ({ meanMs }) => meanMs),
    lostEach: comparison(own, bare, (one) => users - one.n),
    kbps: comparison(own, bare, ({ bytesOut, lastMs }) => (8 * bytesOut) / lastMs),
    p50Ms: meanFigure(own, ({ p50Ms }) => p50Ms),
    p95Ms: meanFigure(own, ({ p95Ms }) => p95Ms),
    maxMs: significant(Math.max(...own.flatMap(({ maxMs }) => maxMs ?? []))),
    lastMs: meanFigure(own, ({ lastMs }) => lastMs),
    sendingMs: meanFigure(own, ({ sendingMs }) => sendingMs),
    bytesPerMessage: significant(own.reduce((sum, { bytesOut }) => sum + bytesOut, 0) / n),
    serverCpuMicrosPerMessage: significant((1000 * cpuMs) / n),
    clientCpuShare: meanFigure(own, ({ clientCpuShare }) => clientCpuShare),
    /** Of the mean latency to the bare relay's, session by session; null for itself. */
    ratio: ratioOf(own, bare),
    /** Likewise, of that to the bare relay with the same broker. */
    overFloor: floor ? ratioOf(own, ofBroker(floor)) : null,
  }
}

type Read = (one: Iteration) => number | null

const known = (iterations: readonly Iteration[], read: Read) => iterations.flatMap((one) => read(one) ?? [])

function meanFigure(iterations: readonly Iteration[], read: Read): number | null {
  return significant(mean(known(iterations, read)))
}

/** Mean and standard deviation over the iterations, and p of Welch's test against the bare relay's. */
function comparison(own: readonly Iteration[], bare: readonly Iteration[], read: Read) {
  const [first, second] = [own, bare].map((iterations) => {
    const values = known(iterations, read)
    return { n: values.length, mean: mean(values), sd: standardDeviation(values) }
  })
  if (!first || !second) throw new RangeError('Two groups have two summaries.')
  const isTested = first.n >= 2 && second.n >= 2
  return {
    mean: significant(first.mean),
    sd: significant(first.sd),
    p: isTested ? rounded(welch(first, second).p) : null,
  }
}

/** Iterations of one session share a server, so that a session counts once. Null without any in common. */
function ratioOf(own: readonly Iteration[], bare: readonly Iteration[]) {
  const latencies = (iterations: readonly Iteration[]) =>
    new Map(
      bySession(iterations).map(([session, all]) => [session, mean(known(all, ({ meanMs }) => meanMs))]),
    )
  const bases = latencies(bare)
  const ratios = [...latencies(own)]
    .map(([session, latency]) => latency / (bases.get(session) ?? Number.NaN))
    .filter(Number.isFinite)
  const { ratio, ratioCi95: interval } = sessionRatio(ratios)
  return ratio === null ? null : { ratio, interval, sessions: ratios.length }
}

function findingOf(run: Run, groups: readonly GroupSummary[]): string {
  const broker = groups.filter(({ broker }) => !isBare(broker))
  const most = Math.max(...run.users)
  const sum = (of: readonly GroupSummary[], name: 'n' | 'expected' | 'lost' | 'duplicated') =>
    of.reduce((total, group) => total + group[name], 0)
  const lostWords = (of: readonly GroupSummary[]) => {
    const lost = sum(of, 'lost')
    return lost === 0
      ? `none of ${count(sum(of, 'expected'))} messages was lost`
      : `${count(lost)} of ${count(sum(of, 'expected'))} messages were lost`
  }
  const sentences: string[] = []
  if (broker.length > 0) sentences.push(`With a broker ${lostWords(broker)}`)
  const bare = groups.filter(({ broker }) => broker === 'none')
  if (bare.length > 0)
    sentences.push(`${broker.length > 0 ? 'without one' : 'Without a broker'} ${lostWords(bare)}`)
  const repeated = sum(groups, 'duplicated')
  if (repeated > 0) sentences.push(`${count(repeated)} came twice`)
  const times = run.modes.flatMap((mode) => {
    const own = groups.filter((group) => group.mode === mode && group.users === most)
    const base = own.find(({ broker }) => broker === 'none')
    const others = own.filter(({ broker, ratio }) => broker !== 'none' && ratio !== null)
    if (!base || others.length === 0) return []
    const words = others.map(
      ({ broker, ratio }) => `${figure(ratio?.ratio)} times with ${brokerLabel(broker)}`,
    )
    return [`${spokenName(mode)}: ${figure(base.latency.mean)} ms without, ${words.join(', ')}`]
  })
  const latency = times.length > 0 ? [`Mean latency of ${count(most)} at once, ${times.join('; ')}.`] : []
  const busy = groups.filter(({ clientCpuShare }) => (clientCpuShare ?? 0) > busyShare)
  const doubt =
    busy.length > 0
      ? [
          `In ${busy.length} of ${groups.length} groups a client process was busy for over ${100 * busyShare} % of the time: there the clients were the bottleneck.`,
        ]
      : []
  return [`${sentences.join('; ')}.`, ...latency, ...doubt].join(' ')
}

const brokerLabels: Readonly<Record<BrokerName, string>> = {
  none: 'no broker',
  'bare-file': 'a bare relay’s file',
  embedded: 'the embedded log',
  'bare-nats': 'a bare relay’s NATS',
  nats: 'NATS',
  sqs: 'SQS',
}

export const brokerLabel = (broker: BrokerName) => brokerLabels[broker]
