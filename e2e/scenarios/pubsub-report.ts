// Analyses the iterations of a `pubsub` run: latencies with each broker, beside the paper’s.

import { mean, standardDeviation } from '../../client/statistics.ts'
import { labelOf, spokenName } from '../lab/mode-names.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { bySession, sessionsIn } from '../lab/samples.ts'
import { rounded, sessionRatio, significant, welch } from '../lab/statistics.ts'
import { type LineSeries, lines } from '../report/line-charts.ts'
import { csv } from '../report/render.ts'
import {
  count,
  type Figure,
  figure,
  loadWords,
  nothing,
  probability,
  ratioWords,
  type Section,
  sessionsWords,
  spread,
  table,
  text,
} from '../report/section.ts'

export function iterationsCsv(iterations: readonly Iteration[]): string {
  return csv(
    [
      ...(['mode', 'users', 'broker', 'session', 'iteration', 'n', 'duplicated', 'meanMs', 'p50Ms'] as const),
      ...(['p95Ms', 'maxMs', 'sendingMs', 'lastMs', 'bytesOut', 'serverCpuMs'] as const),
      ['client_cpu_share', ({ clientCpuShare }) => clientCpuShare.toFixed(4)],
    ],
    iterations,
  )
}

export const sectionsOf = (summary: Summary): readonly Section[] => [
  latencySection(summary),
  lossSection(summary),
  bandwidthSection(summary),
  ...testSections(summary),
  ...requeuedSections(summary),
  costSection(summary),
  doubtsSection(summary),
]

const find = ({ groups }: Summary, mode: string, users: number, broker: BrokerName) =>
  groups.find((group) => group.mode === mode && group.users === users && group.broker === broker)

/** For each mode a row per number of users, a column per broker, and two of the paper. */
function grids(
  summary: Summary,
  caption: string,
  cellOf: (group: GroupSummary) => string | number | null,
  paperCell?: (row: PaperRow) => string,
) {
  const { users, brokers } = summary
  const ofPaper = paperCell ? (['none', 'sqs'] as const) : []
  const columns = [
    ...['Users', ...brokers.map((broker) => aboutBroker[broker].column)],
    ...ofPaper.map((broker) => `Paper, ${broker === 'none' ? 'none' : 'SQS'}`),
  ]
  return summary.modes.map((mode) => {
    const rows = users.map((size) => [
      count(size),
      ...brokers.map((broker) => {
        const group = find(summary, mode, size, broker)
        return group ? cellOf(group) : nothing
      }),
      ...ofPaper.map((broker) => {
        const row = paperRow(size, broker)
        return row && paperCell ? paperCell(row) : nothing
      }),
    ])
    return table(`${labelOf(mode)}: ${caption}`, columns, rows)
  })
}

function drawing(
  summary: Summary,
  caption: string,
  read: (group: GroupSummary) => number | null,
  readPaper: (row: PaperRow) => number,
): Figure {
  const { modes, users, brokers } = summary
  const own = (mode: string) =>
    brokers.map(
      (broker, colour): LineSeries => ({
        label: aboutBroker[broker].column,
        isDashed: false,
        colour,
        points: users.map((size) => {
          const group = find(summary, mode, size, broker)
          return { x: size, y: group ? read(group) : null, mark: 'filled' as const }
        }),
      }),
    )
  // In the colour of the same broker here; the tables also have the others.
  const ofPaper = (['none', 'sqs'] as const)
    .filter((broker) => brokers.includes(broker))
    .map(
      (broker): LineSeries => ({
        label: `Paper, ${broker === 'none' ? 'none' : 'SQS'}`,
        isDashed: true,
        colour: brokers.indexOf(broker),
        points: users.flatMap((size) => {
          const row = paperRow(size, broker)
          return row ? [{ x: size, y: readPaper(row), mark: 'open' as const }] : []
        }),
      }),
    )
  const panels = modes.map((mode) => ({
    title: labelOf(mode),
    series: [...own(mode), ...ofPaper.filter(({ points }) => points.length > 0)],
  }))
  return {
    caption: `${caption} Both axes are logarithmic; dashed: the paper’s.`,
    description: `${caption} By number of users for ${brokers.map((broker) => aboutBroker[broker].label).join(', ')}, in ${modes.map(spokenName).join(' and ')}. The tables below give the same in figures.`,
    draw: (width) => lines(panels, { width, axis: 'simultaneous users', ticks: users, tickFormat: count }),
  }
}

const ratioText = (ratio: GroupSummary['ratio']) =>
  ratio === null ? nothing : ratioWords(ratio.ratio, ratio.interval)

function latencySection(summary: Summary): Section {
  return {
    title: 'Response latency',
    figure: drawing(
      summary,
      'Mean response latency in milliseconds.',
      ({ latency }) => latency.mean,
      ({ latencyMs }) => latencyMs,
    ),
    tables: [
      ...grids(
        summary,
        'mean ± standard deviation over the iterations, in milliseconds (the paper’s table III)',
        ({ latency }) => spread(latency.mean, latency.sd),
        ({ latencyMs, latencySdMs }) => spread(latencyMs, latencySdMs),
      ),
      ...grids(summary, 'mean latency, times that without a broker', ({ ratio }) => ratioText(ratio)),
      ...(summary.groups.some(({ overFloor }) => overFloor !== null)
        ? grids(summary, 'mean latency, times that of the bare relay with the same broker', ({ overFloor }) =>
            ratioText(overFloor),
          )
        : []),
    ],
    paragraphs: [
      'The latency of a message runs from the moment it was handed to its user’s connection until it came back over the same user’s stream. All messages of a burst compete for the same processors: the mean says how far a server falls behind users that all send at the same moment, not how long one message alone would take.',
      summary.sessions < 2
        ? 'One session gives no interval of the ratios.'
        : `In brackets the 95 % interval, Student’s t over the logarithms of the ${summary.sessions} sessions’ ratios: each session has fresh servers and users.`,
    ],
  }
}

function lossSection(summary: Summary): Section {
  const percent = (value: number | null) => (value === null ? nothing : `${figure(value)} %`)
  return {
    title: 'Loss',
    tables: grids(
      summary,
      'messages that did not return (the paper’s table I)',
      ({ lost, lossPercent }) => (lost === 0 ? '0' : `${count(lost)} (${percent(lossPercent)})`),
      ({ lossPercent }) => percent(lossPercent),
    ),
    paragraphs: [
      `Lost: not back within ${summary.waitMs / 1000} s. The paper does not say after what time a message counts as lost, nor where it was lost: a WebSocket over TCP does not lose a message while its connection lasts. There 10,000 users met a server with 1 GB of memory; here no connection broke${summary.groups.every(({ lost }) => lost === 0) ? ', and nothing was lost without a broker either' : ''}.`,
    ],
  }
}

function bandwidthSection(summary: Summary): Section {
  return {
    title: 'Bandwidth out',
    figure: drawing(
      summary,
      'Mean bandwidth from the server to the users, in kilobits a second.',
      ({ kbps }) => kbps.mean,
      ({ kbps }) => kbps,
    ),
    tables: [
      ...grids(
        summary,
        'kilobits a second, mean ± standard deviation (the paper’s table IV)',
        ({ kbps }) => spread(kbps.mean, kbps.sd),
        ({ kbps }) => figure(kbps),
      ),
      ...grids(summary, 'bytes per message returned', ({ bytesPerMessage }) => bytesPerMessage),
    ],
    paragraphs: [
      'Counted at the users’ sockets: TLS bytes of all frames, including acknowledgements, without TCP and IP headers; divided by the time from the first message to the last answer. A faster answer is a higher bandwidth; the bytes per message are what a broker adds. The paper’s figures are from a monitor that averages over a longer time.',
    ],
  }
}

function testSections(summary: Summary): readonly Section[] {
  const { modes, users, brokers } = summary
  const others = brokers.filter((broker) => broker !== 'none')
  if (others.length === 0 || !brokers.includes('none')) return []
  const tested = summary.groups.some(({ latency }) => latency.p !== null)
  if (!tested) return []
  const p = (value: number | null) => (value === null ? nothing : probability(value))
  const tests = (mode: string) =>
    table(
      `${labelOf(mode)}: p of Welch’s t-test over the iterations, against no broker`,
      ['Users', text('Broker'), 'Latency', 'Lost messages', 'Bandwidth'],
      users.flatMap((size) =>
        others.flatMap((broker) => {
          const group = find(summary, mode, size, broker)
          return group
            ? [
                [
                  count(size),
                  aboutBroker[broker].column,
                  p(group.latency.p),
                  p(group.lostEach.p),
                  p(group.kbps.p),
                ],
              ]
            : []
        }),
      ),
    )
  return [
    {
      title: 't-tests, as in the paper',
      tables: modes.map(tests),
      paragraphs: [
        'The paper’s tables II, III and IV: significant below 0.05 from 500 users on for latency, from 1,000 on for bandwidth, and at 5,000 and 10,000 for lost messages. An iteration is one value. Iterations of a session share servers and connections and resemble each other, so these p values overstate the evidence; the intervals of the ratios above count sessions.',
      ],
    },
  ]
}

function requeuedSections({ requeued }: Summary): readonly Section[] {
  if (!requeued) return []
  const { users, taken, visibilityMs, n, duplicated, againMeanMs } = requeued
  return [
    {
      title: 'Lost messages are queued again',
      paragraphs: [
        `Another consumer took ${count(taken)} of ${count(users)} messages from the queue and never acknowledged them. After the visibility time-out of ${visibilityMs / 1000} s the queue delivered them again: ${count(n)} of ${count(users)} messages returned to their users, ${duplicated === 0 ? 'none' : count(duplicated)} of them twice; those that were taken, after ${figure(againMeanMs === null ? null : againMeanMs / 1000)} s on average.`,
      ],
    },
  ]
}

function costSection(summary: Summary): Section {
  return {
    title: 'What a message cost',
    tables: summary.modes.map((mode) =>
      table(
        `${labelOf(mode)}: over all iterations`,
        [
          ...['Users', text('Broker'), 'Median, ms', 'p95, ms', 'Last, ms', 'Sending, ms'],
          ...['Server CPU, µs per message', 'Busiest client'],
        ],
        summary.groups
          .filter((group) => group.mode === mode)
          .map((group) => [
            ...[count(group.users), aboutBroker[group.broker].column, group.p50Ms, group.p95Ms, group.lastMs],
            ...[group.sendingMs, group.serverCpuMicrosPerMessage],
            group.clientCpuShare === null ? nothing : `${Math.round(100 * group.clientCpuShare)} %`,
          ]),
      ),
    ),
    paragraphs: [
      'Median and p95: means of the iterations’. Last: until the last message was back; sending: until the last one was sent. The server’s processor time is that of its own process, without the broker’s. Busiest client: processor time over the time of the burst, of one core; in bursts of a few milliseconds what the process does just before and after also counts.',
    ],
  }
}

function doubtsSection({ environment, groups, sessions }: Summary): Section {
  const busy = groups.filter(({ clientCpuShare }) => (clientCpuShare ?? 0) > busyShare)
  return {
    title: 'Doubts',
    isMethod: true,
    paragraphs: [
      `Users, server and broker shared one machine with ${environment.cores} cores, over loopback; ${loadWords({ environment })}. A broker on a separate machine costs network time and saves this machine’s.`,
      busy.length === 0
        ? `No client process was busy for more than ${100 * busyShare} % of its bursts on average.`
        : `In ${busy.length} of ${groups.length} groups a client process was busy for more than ${100 * busyShare} % of its bursts on average: there the clients were the bottleneck, and the differences between brokers are larger than they seem.`,
      sessionsWords(sessions),
    ],
  }
}

/**
 * `none`: a bare relay of channels, without broker and log. `bare-file`, `bare-nats`: the same
 * relay, which writes each message to a file or through JetStream, and checks nothing.
 */
export const brokerNames = ['none', 'bare-file', 'embedded', 'bare-nats', 'nats', 'sqs'] as const
export type BrokerName = (typeof brokerNames)[number]

const isBare = (broker: BrokerName) => aboutBroker[broker].relay !== undefined

interface AboutBroker {
  readonly column: string
  readonly label: string
  /** Its name in `e2e/peers/relays.ts`. */
  readonly relay?: string
  /** The bare relay that does the minimum of what this broker does. */
  readonly floor?: BrokerName
}

export const aboutBroker: Readonly<Record<BrokerName, AboutBroker>> = {
  none: { column: 'None', label: 'no broker', relay: 'channels' },
  'bare-file': { column: 'Bare, file', label: 'a bare relay’s file', relay: 'channels-file' },
  embedded: { column: 'Embedded', label: 'the embedded log', floor: 'bare-file' },
  'bare-nats': { column: 'Bare, NATS', label: 'a bare relay’s NATS', relay: 'channels-nats' },
  nats: { column: 'NATS', label: 'NATS', floor: 'bare-nats' },
  sqs: { column: 'SQS', label: 'SQS' },
}

/**
 * One burst: each user sends a message, and waits for it. Times in ms, from when each was handed to
 * its connection.
 */
export interface Iteration {
  readonly mode: string
  readonly users: number
  readonly broker: BrokerName
  readonly session: number
  /** From 1, over all sessions. */
  readonly iteration: number
  /** Messages that returned. */
  readonly n: number
  readonly duplicated: number
  readonly meanMs: number | null
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  readonly maxMs: number | null
  /** Until the last message was sent, and until the last one had returned or the wait was over. */
  readonly sendingMs: number
  readonly lastMs: number
  /** From the server to the users, including TLS. */
  readonly bytesOut: number
  readonly serverCpuMs: number
  /**
   * CPU of the busiest client process, as a share of one core; from the first message to the last
   * answer.
   */
  readonly clientCpuShare: number
}

/** Messages that another consumer took from the queue and never acknowledged. */
export interface Requeued {
  readonly users: number
  readonly taken: number
  readonly visibilityMs: number
  readonly n: number
  readonly duplicated: number
  /** For those that were delivered again, ms after they were sent. */
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

/** Above this, the clients, not the server alone, determine how long a burst takes. */
export const busyShare = 0.9

/** Ganaputra and Pardamean 2015, tables I, III and IV: means of 30 iterations, in ms and kbit/s. */
export const publishedRows: readonly PaperRow[] = [
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

interface PaperRow {
  readonly users: number
  readonly broker: BrokerName
  readonly lossPercent: number
  readonly latencyMs: number
  readonly latencySdMs: number
  readonly kbps: number
}

function paperRow(users: number, broker: BrokerName): PaperRow | undefined {
  return publishedRows.find((row) => row.users === users && row.broker === broker)
}

export type Summary = ReturnType<typeof analyse>
type GroupSummary = ReturnType<typeof summariseGroup>

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
  const own = ofBroker(broker)
  const bare = broker === 'none' ? [] : ofBroker('none')
  const n = own.reduce((sum, one) => sum + one.n, 0)
  const expected = own.length * users
  const cpuMs = own.reduce((sum, { serverCpuMs }) => sum + serverCpuMs, 0)
  const { floor } = aboutBroker[broker]
  return {
    mode,
    users,
    broker,
    iterations: own.length,
    n,
    expected,
    lost: expected - n,
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
    /** Mean latency over the bare relay's, session by session; null for itself. */
    ratio: ratioOf(own, bare),
    /** Likewise, over that of the bare relay with the same broker. */
    overFloor: floor ? ratioOf(own, ofBroker(floor)) : null,
  }
}

type Read = (one: Iteration) => number | null

const known = (iterations: readonly Iteration[], read: Read) => iterations.flatMap((one) => read(one) ?? [])

function meanFigure(iterations: readonly Iteration[], read: Read): number | null {
  return significant(mean(known(iterations, read)))
}

/**
 * Mean and standard deviation over the iterations, and p of Welch's test against the bare relay's.
 */
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

/**
 * Iterations of one session share a server, so a session counts once. Null without any in common.
 */
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
      ({ broker, ratio }) => `${figure(ratio?.ratio)} times with ${aboutBroker[broker].label}`,
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
