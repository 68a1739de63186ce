// The report of `pubsub`: sections and CSV.

import { labelOf, spokenName } from '../lab/mode-names.ts'
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
import {
  type BrokerName,
  brokerLabel,
  busyShare,
  type GroupSummary,
  type Iteration,
  type PaperRow,
  paperRow,
  type Summary,
} from './pubsub-summary.ts'

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

const columnNames: Readonly<Record<BrokerName, string>> = {
  none: 'None',
  'bare-file': 'Bare, file',
  embedded: 'Embedded',
  'bare-nats': 'Bare, NATS',
  nats: 'NATS',
  sqs: 'SQS',
}
const columnName = (broker: BrokerName) => columnNames[broker]

const find = ({ groups }: Summary, mode: string, users: number, broker: BrokerName) =>
  groups.find((group) => group.mode === mode && group.users === users && group.broker === broker)

/** For each mode a row for each number of users, a column for each broker, and two of the paper. */
function grids(
  summary: Summary,
  caption: string,
  cellOf: (group: GroupSummary) => string | number | null,
  paperCell?: (row: PaperRow) => string,
) {
  const { users, brokers } = summary
  const ofPaper = paperCell ? (['none', 'sqs'] as const) : []
  const columns = [
    ...['Users', ...brokers.map(columnName)],
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
        label: columnName(broker),
        isDashed: false,
        colour,
        points: users.map((size) => {
          const group = find(summary, mode, size, broker)
          return { x: size, y: group ? read(group) : null, mark: 'filled' as const }
        }),
      }),
    )
  // In the colour of the same broker here; the tables have the others too.
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
    description: `${caption} By number of users for ${brokers.map(brokerLabel).join(', ')}, in ${modes.map(spokenName).join(' and ')}. The tables below give the same in figures.`,
    draw: (width) =>
      lines(panels, { width, axis: 'users at the same time', ticks: users, tickFormat: count }),
  }
}

const ratioText = (ratio: GroupSummary['ratio']) =>
  ratio === null ? nothing : ratioWords(ratio.ratio, ratio.interval)

export function latencySection(summary: Summary): Section {
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
      'The latency of a message runs from the moment it was handed to its user’s connection until it came back over the same user’s stream. All messages of a burst compete for the same processors: the mean says how far a server falls behind users that all send at the same moment, not what one message alone would take.',
      summary.sessions < 2
        ? 'One session gives no interval of the ratios.'
        : `In brackets the 95 % interval, Student’s t over the logarithms of the ${summary.sessions} sessions’ ratios: each session has fresh servers and users.`,
    ],
  }
}

export function lossSection(summary: Summary): Section {
  const percent = (value: number | null) => (value === null ? nothing : `${figure(value)} %`)
  return {
    title: 'Loss',
    tables: grids(
      summary,
      'messages that did not come back (the paper’s table I)',
      ({ lost, lossPercent }) => (lost === 0 ? '0' : `${count(lost)} (${percent(lossPercent)})`),
      ({ lossPercent }) => percent(lossPercent),
    ),
    paragraphs: [
      `Lost: not back within ${summary.waitMs / 1000} s. The paper does not say after what time a message counts as lost, nor where it was lost: a WebSocket over TCP does not lose a message while its connection lasts. There 10,000 users met a server with 1 GB of memory; here no connection broke${summary.groups.every(({ lost }) => lost === 0) ? ', and nothing was lost without a broker either' : ''}.`,
    ],
  }
}

export function bandwidthSection(summary: Summary): Section {
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
      ...grids(summary, 'bytes for each message that came back', ({ bytesPerMessage }) => bytesPerMessage),
    ],
    paragraphs: [
      'Counted at the users’ sockets: what TLS made of all frames, acknowledgements of messages included, without the headers of TCP and IP; divided by the time from the first message to the last answer. A faster answer is a higher bandwidth: the bytes for each message are what a broker adds. The paper’s figures are of a monitor that averages over a longer time.',
    ],
  }
}

export function testSections(summary: Summary): readonly Section[] {
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
            ? [[count(size), columnName(broker), p(group.latency.p), p(group.lostEach.p), p(group.kbps.p)]]
            : []
        }),
      ),
    )
  return [
    {
      title: 't-tests, as in the paper',
      tables: modes.map(tests),
      paragraphs: [
        'The paper’s tables II, III and IV: significant below 0.05 from 500 users on for latency, from 1,000 on for bandwidth, and at 5,000 and 10,000 for lost messages. An iteration is one value. Iterations of a session share servers and connections and resemble each other, so that these p are smaller than the evidence; the intervals of the ratios above count sessions.',
      ],
    },
  ]
}

export function requeuedSections({ requeued }: Summary): readonly Section[] {
  if (!requeued) return []
  const { users, taken, visibilityMs, n, duplicated, againMeanMs } = requeued
  return [
    {
      title: 'Lost messages are queued again',
      paragraphs: [
        `Another consumer took ${count(taken)} of ${count(users)} messages from the queue and never acknowledged them. After the visibility time-out of ${visibilityMs / 1000} s the queue gave them out again: ${count(n)} of ${count(users)} messages came back to their users, ${duplicated === 0 ? 'none' : count(duplicated)} of them twice; those that were taken after ${figure(againMeanMs === null ? null : againMeanMs / 1000)} s in the mean.`,
      ],
    },
  ]
}

export function costSection(summary: Summary): Section {
  return {
    title: 'What a message cost',
    tables: summary.modes.map((mode) =>
      table(
        `${labelOf(mode)}: over all iterations`,
        [
          ...['Users', text('Broker'), 'Median, ms', 'p95, ms', 'Last, ms', 'Sending, ms'],
          ...['Server CPU, µs a message', 'Busiest client'],
        ],
        summary.groups
          .filter((group) => group.mode === mode)
          .map((group) => [
            ...[count(group.users), columnName(group.broker), group.p50Ms, group.p95Ms, group.lastMs],
            ...[group.sendingMs, group.serverCpuMicrosPerMessage],
            group.clientCpuShare === null ? nothing : `${Math.round(100 * group.clientCpuShare)} %`,
          ]),
      ),
    ),
    paragraphs: [
      'Median and p95: means of the iterations’. Last: until the last message was back; sending: until the last one was sent. The server’s processor time is that of its own process, without the broker’s. Busiest client: processor time over the time of the burst, of one core; in bursts of a few milliseconds what the process does just before and after counts too.',
    ],
  }
}

export function doubtsSection({ environment, groups, sessions }: Summary): Section {
  const busy = groups.filter(({ clientCpuShare }) => (clientCpuShare ?? 0) > busyShare)
  return {
    title: 'Doubts',
    paragraphs: [
      `Users, server and broker shared one machine with ${environment.cores} cores, over loopback; ${loadWords({ environment })}. A broker on a machine of its own costs a network’s time and saves this machine’s.`,
      busy.length === 0
        ? `No client process was busy for more than ${100 * busyShare} % of its bursts in the mean.`
        : `In ${busy.length} of ${groups.length} groups a client process was busy for more than ${100 * busyShare} % of its bursts in the mean: there the clients were the bottleneck, and the differences between brokers are larger than they seem.`,
      sessionsWords(sessions),
    ],
  }
}
