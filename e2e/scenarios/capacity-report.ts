// What a report of the capacity scenario says.

import type { Middle } from '../lab/statistics.ts'
import { intervals } from '../report/charts.ts'
import { lines, type TimePanel, type TimeSeries, timeLines } from '../report/line-charts.ts'
import { csv } from '../report/render.ts'
import {
  count,
  type Figure,
  figure,
  loadWords,
  megabytes,
  nothing,
  type Section,
  sessionsWords,
  table,
  text,
} from '../report/section.ts'
import {
  type ExperimentName,
  isPeerSubject,
  type RampProcess,
  type RampRecord,
  subjectLabel,
} from './capacity-ramps.ts'
import {
  type Comparison,
  clientBounds,
  type RampSummary,
  type Run,
  type SpeedUp,
  type Summary,
  spreadWords,
  summed,
  variantOf,
} from './capacity-summary.ts'

export function report(run: Run, summary: Summary) {
  return {
    sections: sectionsOf(run, summary),
    method: [
      `Each ramp started a fresh server and ${summary.parameters.clients} load processes, with the settings of npm start except for limits that fit the ramp. Windows opened at fixed times, whether or not earlier ones were open yet; each drew one period, uniform from 0.2 to 1.8 times the mean, and pinged at its multiples without waiting for answers.`,
      'A ping is the smallest exchange of each: over WebSocket and streamed bodies Crosswind’s clock request, in the other modes GET /api/clock on the window’s connection; with ws and Engine.IO a message each way, with Socket.IO and SocketCluster an event each way.',
      ...(summary.ramps.some(({ experiment }) => experiment === 'size')
        ? [
            'In the experiment “size” a peer answers with a buffer of that size. No Crosswind frame asks for stored content, so its windows read a page that holds one message of that size: over HTTP/2 on the window’s session, with a WebSocket over a second connection, which is kept. That read is a request with its checks, and costs more than an answer in the stream would.',
          ]
        : []),
      `${count(Math.max(...summary.ramps.map(({ perPage }) => perPage)))} windows shared a page: each hears who else is there. CPU and memory are the kernel’s, from /proc, in steps of 10 ms and once a second; between two samples CPU counts in proportion.`,
    ],
    data: {
      'ramps.csv': rampsCsv(run.ramps),
      'seconds.csv.gz': secondsCsv(run.ramps),
      'processes.csv.gz': processesCsv(run.ramps),
      ...(run.ramps.some(({ serverErrors }) => serverErrors !== '') && {
        'server-errors.txt': serverErrorsOf(run.ramps),
      }),
    },
    isFailure: summary.failures.length > 0,
  }
}

const serverErrorsOf = (ramps: Run['ramps']) =>
  ramps
    .filter(({ serverErrors }) => serverErrors !== '')
    .map((ramp) => `${ramp.experiment}: ${variantOf(ramp)}, session ${ramp.session}\n${ramp.serverErrors}`)
    .join('\n')

const sectionsOf = (run: Run, summary: Summary): readonly Section[] => [
  answersSection(summary),
  ...comparisonSections(summary),
  ...speedUpSections(summary),
  costSection(summary),
  ...timeSections(run),
  thesisSection(summary),
  doubtsSection(summary),
]

const percent = (share: number | null) => (share === null ? nothing : `${Math.round(share * 100)} %`)

function answersSection({ ramps, sessions }: Summary): Section {
  return {
    title: 'What was opened and answered',
    tables: [
      table(
        `Over ${sessions === 1 ? 'one session' : `${count(sessions)} sessions`}; medians of round trips and openings, in milliseconds`,
        [
          'Ramp',
          'Sessions',
          'Windows',
          'Dropped',
          'Pings due',
          'Not answered',
          'Repeated',
          'Round trip',
          ...['99 %', 'Opening', text('Bottleneck')],
        ],
        ramps.map((ramp) => [
          ...[ramp.mode, count(ramp.sessions)],
          ramp.opened === ramp.planned
            ? count(ramp.opened)
            : `${count(ramp.opened)} of ${count(ramp.planned)}`,
          ...[ramp.dropped, ramp.due, ramp.missing, ramp.repeated].map(count),
          ...[ramp.roundTripP50Ms, ramp.roundTripP99Ms, ramp.openedAfterP50Ms].map(({ median }) => median),
          bottleneckOf(ramp),
        ]),
      ),
    ],
    paragraphs: [
      'Windows: those that opened, in all sessions of the ramp; “of” gives those planned, if some failed to open. A window counts as open once the server has greeted it; its opening time starts when it was due, and includes TLS and session. A ping is due at every multiple of its window’s own period after that; one without an answer within 10 s counts as not answered. “Clients” as the bottleneck means that the load processes, not the server, limited the ramp, so its figures are no limit of the server.',
      ...reasonsOf(ramps),
    ],
  }
}

function reasonsOf(ramps: readonly RampSummary[]): readonly string[] {
  const told = ramps.flatMap(({ mode, reasons }) => {
    const words = Object.entries(reasons).map(([why, times]) => `${why} (${count(times)})`)
    return words.length === 0 ? [] : [`${mode}: ${words.join(', ')}.`]
  })
  return told.length === 0 ? [] : [`Reasons for failed and dropped windows. ${told.join(' ')}`]
}

function bottleneckOf({ limitedSessions, sessions, limitedBy, serverShare }: RampSummary): string {
  if (limitedSessions > 0)
    return `clients, by ${limitedBy}${limitedSessions < sessions ? ` in ${limitedSessions} of ${sessions} sessions` : ''}`
  return (serverShare.median ?? 0) > clientBounds.share ? 'server' : 'none'
}

function comparisonSections({ comparisons, sessions }: Summary): readonly Section[] {
  const drawn = comparisons.filter(({ ratio }) => ratio !== null)
  if (drawn.length === 0) return []
  const subjects = [...Map.groupBy(drawn, ({ subjectVariant }) => subjectVariant)]
  const peers = [...new Set(drawn.map(({ peerVariant }) => peerVariant))]
  const grid = (caption: string, value: (comparison: Comparison) => Middle) =>
    table(
      `${caption}; median, and the range of the sessions`,
      ['Crosswind', ...peers],
      subjects.map(([subject, own]) => [
        subject,
        ...peers.map((peer) => {
          const found = own.find(({ peerVariant }) => peerVariant === peer)
          return found ? spreadWords(value(found)) : nothing
        }),
      ]),
    )
  return [
    {
      title: 'Server CPU against the peers',
      // The others are in the tables.
      figures: subjects.slice(0, 1).map(([subject, own]) => ({
        caption: `Server CPU per window of ${subject} over that of each peer, in the same ramp. The dot is the median of the sessions, the line their range; left of the solid line Crosswind uses less, left of the dashed one at most 0.8.`,
        description: `Ratios of ${subject}: ${own.map(({ peerVariant, ratioRange }) => `${peerVariant} ${spreadWords(ratioRange)}`).join('; ')}.`,
        draw: (width) =>
          intervals(
            own.map(({ peerVariant, ratio, ratioRange, ratios, isLimited }) => ({
              label: peerVariant,
              point: ratio ?? Number.NaN,
              interval: [ratioRange.min ?? Number.NaN, ratioRange.max ?? Number.NaN],
              isDecided: !isLimited,
              sessions: ratios.flatMap((one) => one ?? []),
            })),
            { width, axis: 'times the peer’s server CPU', references: [1, 0.8] },
          ),
      })),
      tables: [
        grid('Times the peer’s server CPU for the whole ramp and the hold', ({ ratioRange }) => ratioRange),
        grid('The same from the middle of the ramp on', ({ laterRatioRange }) => laterRatioRange),
      ],
      paragraphs: [
        `CPU is the user and system time of all server processes from the first window until the end, divided by the windows that opened. Ratios are of ramps in the same session. Every server starts cold: the whole ramp includes code compilation, of which a larger program has more; the later part includes little of it.${sessions < 2 ? ' One session does not show how far sessions differ.' : ''}`,
        'Engine.IO and Socket.IO are opened both as their own clients do by default, by polling and an upgrade, and directly by WebSocket. No peer compresses by default, and none stores, numbers or checks anything; Crosswind’s windows have a name, a page, a cursor and a place in the log.',
      ],
    },
  ]
}

function speedUpSections({ speedUps }: Summary): readonly Section[] {
  if (!speedUps.some(({ workers }) => workers > 1)) return []
  const bySubject = [...Map.groupBy(speedUps, ({ subject }) => subject)]
  const numbers = [...new Set(speedUps.map(({ workers }) => workers))].sort((one, other) => one - other)
  const reference = (label: string, per: number) => ({
    label,
    isDashed: true,
    colour: label === 'ideal, n' ? 3 : 4,
    points: numbers.map((workers) => ({ x: workers, y: workers * per, mark: 'open' as const })),
  })
  const series = [
    ...bySubject.map(([subject, own], place) => ({
      label: subjectLabel(subject),
      isDashed: false,
      colour: place,
      points: own.map(({ workers, speedUp }) => ({ x: workers, y: speedUp, mark: 'filled' as const })),
    })),
    reference('ideal, n', 1),
    reference('the thesis, n/2', 0.5),
  ]
  const row = ({ subject, workers, speedUpRange, work, ceiling, busiest, thesis }: SpeedUp) => [
    `${subjectLabel(subject)}, ${workers}`,
    spreadWords(speedUpRange),
    figure(thesis),
    String(workers),
    spreadWords(work),
    busiest,
    ceiling.median === null ? nothing : spreadWords(ceiling),
  ]
  return [
    {
      title: 'Speed-up with workers',
      figure: {
        caption:
          'How many times one worker’s windows n workers carry, beside the ideal and the thesis’s n/2; both axes are logarithmic.',
        description: `Speed-up: ${speedUps.map((one) => `${one.mode} ${figure(one.speedUp)}`).join('; ')}.`,
        draw: (width) => lines([{ title: '', series }], { width, axis: 'workers', ticks: numbers }),
      },
      tables: [
        table(
          'Median, and the range of the sessions',
          [
            ...['Workers', 'Speed-up', 'Thesis, n/2', 'Ideal', 'CPU of all, times one worker’s'],
            ...[text('Busiest process'), 'Most, by the first process'],
          ],
          speedUps.map(row),
        ),
      ],
      paragraphs: [
        'A server’s capacity ends when its busiest process uses a whole core. The speed-up is therefore the busiest process’s CPU per window with one worker over that with n workers, for the same ramp in the same session, from the middle of the ramp on: each process compiles its own code, which a short ramp would count against several. For the same reason these ramps have four times the windows of the others, at four times the rate: with fewer, a worker is idle nearly all the time. It assumes a core for each process; server and clients share the cores of this machine, so the speed-up is computed, not reached. With one worker Crosswind is one process; with more, one further process has the log, which counts like any other; workers accept their connections themselves.',
        '“Most” is the speed-up that this first process would allow with any number of workers: one worker’s CPU per window over the first process’s. The thesis concludes with n/2 for n processors without the store, since each of its workers needed a load balancer beside it; here n is the number of workers, which accept their connections themselves.',
      ],
    },
  ]
}

function costSection({ ramps }: Summary): Section {
  return {
    title: 'CPU and memory of each ramp',
    tables: [
      table(
        'Median of the sessions, their range in brackets; server and clients: of one core, the busiest process of each in the second half of the ramp',
        [
          ...['Ramp', 'Server CPU, s', 'ms an opening', 'µs a pong', 'Server', 'Clients', 'Late, ms'],
          ...['Memory', 'kB a window'],
        ],
        ramps.map((ramp) => [
          ...[ramp.mode, secondsOf(ramp.serverCpuMs)],
          ...[ramp.cpuMsPerOpening.median, ramp.cpuMicrosPerPong.median],
          ...[percent(ramp.serverShare.median), percent(ramp.clientShare.median), ramp.latenessP99Ms.median],
          megabytes(ramp.rssBytes.median),
          ramp.bytesPerWindow.median && ramp.bytesPerWindow.median / 1000,
        ]),
      ),
    ],
    paragraphs: [
      'The cost of a pong is the server’s CPU in the hold, when nothing opens, divided by the pongs in that time: it includes heartbeats and idle work, which dominate at few pongs a second. The cost of an opening is the rest of the CPU, minus the ramp’s pongs at that price, and includes TLS. Late is how long after its time the load processes opened a window or sent a ping, for 99 % of them.',
      'Memory is resident, for all server processes together; shared memory counts in each. summary.json also has the proportional size, in which it counts once. The cost of a window is the growth from the start to the end divided by the windows open at the end, including uncollected garbage.',
    ],
  }
}

const secondsOf = ({ median, min, max }: RampSummary['serverCpuMs']) => {
  const inSeconds = (ms: number | null) => (ms === null ? null : ms / 1000)
  return median === null
    ? nothing
    : spreadWords({ median: inSeconds(median), min: inSeconds(min), max: inSeconds(max) })
}

const perSecond = ({ samples }: RampProcess) =>
  samples.slice(1).map((sample, place) => {
    const before = samples[place] ?? sample
    const share = (sample.cpuMs - before.cpuMs) / Math.max(1, sample.atMs - before.atMs)
    return { x: sample.atMs / 1000, y: 100 * share, forMs: sample.atMs - before.atMs }
  })

/**
 * The last sample may come soon after the previous one: the kernel's clock is too coarse for such a
 * short time.
 */
const leastMs = 500

/** One colour per process in every panel. */
function lookOf({ name }: RampProcess): Pick<TimeSeries, 'label' | 'colour' | 'isDashed'> {
  const [kind = '', place = '1'] = name.split(' ')
  if (kind === 'clients') return { label: name, colour: 3, isDashed: Number(place) % 2 === 0 }
  if (kind === 'worker') return { label: name, colour: Number(place) - 1, isDashed: false }
  return {
    label: name === 'log' ? 'first process' : name,
    colour: name === 'log' ? 4 : 0,
    isDashed: name === 'log',
  }
}

const byLabel = (one: TimeSeries, other: TimeSeries) =>
  Number(one.colour === null) - Number(other.colour === null) || one.label.localeCompare(other.label)

type Points = (process: RampProcess) => TimeSeries['points']

/** Percentage of one core in each second. */
const processorPoints: Points = (process) => perSecond(process).filter(({ forMs }) => forMs >= leastMs)

/** Resident, in megabytes. */
const memoryPoints: Points = ({ samples }) =>
  samples.map(({ atMs, rssBytes }) => ({ x: atMs / 1000, y: rssBytes / 1e6 }))

function panelOf(ramp: RampRecord, points: Points, more: readonly TimeSeries[] = []): TimePanel {
  const processes = [...ramp.server, ...ramp.load].map((one) => ({ ...lookOf(one), points: points(one) }))
  return { title: variantOf(ramp), series: [...processes, ...more].sort(byLabel) }
}

/** Percentage of those planned. */
const windowsOpen = ({ seconds, windows }: RampRecord): TimeSeries => ({
  label: 'windows open',
  colour: null,
  isDashed: false,
  points: seconds.map(({ open }, place) => ({ x: place + 1, y: (100 * open) / windows })),
})

/** Shows the first session; the others have the same shape. */
function timeSections({ ramps }: Run): readonly Section[] {
  const first = ramps.filter(({ session }) => session === 1)
  const byExperiment = Map.groupBy(first, ({ experiment }) => experiment)
  return names.flatMap((name): Section[] => {
    const own = byExperiment.get(name)
    if (!own) return []
    const titles = own.map(variantOf).join('; ')
    const look = { axis: 'seconds', top: 100, yFormat: (y: number) => `${y} %` }
    const processors: Figure = {
      caption: `Processor time of each process in each second, as a percentage of one core; dotted, the open windows as a percentage of those planned.`,
      description: `Processor time over time: ${titles}.`,
      draw: (width) => {
        const panels = own.map((ramp) => panelOf(ramp, processorPoints, [windowsOpen(ramp)]))
        return timeLines(panels, { ...look, width })
      },
    }
    const memory: Figure = {
      caption: 'Resident memory of each process in megabytes, over the seconds of the ramp and the hold.',
      description: `Memory over time: ${titles}.`,
      draw: (width) => {
        const panels = own.map((ramp) => panelOf(ramp, memoryPoints))
        return timeLines(panels, { ...look, width, yFormat: String, top: 10 })
      },
    }
    const figures = name === 'most' || name === 'comparison' ? [processors, memory] : [processors]
    return [{ title: experiments[name].title, figures }]
  })
}

const cpuOf = ({ serverCpuMs }: RampSummary) => serverCpuMs.median ?? Number.NaN

const timesCpu = (more: RampSummary, less: RampSummary) =>
  `${figure(cpuOf(more) / cpuOf(less))} times the server CPU`

const moreCpu = ([first, second]: readonly RampSummary[]) =>
  first && second ? timesCpu(second, first) : nothing

/**
 * In the report's order. `thesis`: its result, in its own words if it gives no figure; `here`: this
 * run's result.
 */
const experiments: Readonly<
  Record<
    ExperimentName,
    {
      readonly title: string
      readonly thesis: string
      readonly here: (own: readonly RampSummary[], speedUps: readonly SpeedUp[]) => string
    }
  >
> = {
  clients: {
    title: 'Clients on one and two cores',
    thesis: 'a second core for the clients opened twice as many connections (figure 3.1)',
    here([first, second]) {
      if (!first || !second) return nothing
      const per = ({ clientCpuMs, opened, sessions }: RampSummary) =>
        (clientCpuMs.median ?? Number.NaN) / (opened / sessions)
      return `${count(first.opened)} and ${count(second.opened)} opened; a window cost the clients ${figure(per(second) / per(first))} times as much CPU`
    },
  },
  comparison: {
    title: 'The same ramp, modes and peers',
    thesis:
      'at 2,400 connections engine.io’s one process took up to 75 % of a core, two of SocketCluster’s three almost 100 % (3.3, 3.4)',
    here: (own) => own.map(({ variant, serverShare }) => `${variant} ${percent(serverShare.max)}`).join(', '),
  },
  switching: {
    title: 'One core, one and four processes',
    thesis: 'four processes on one core: most connections were dropped, or never opened (3.5)',
    here: (own) =>
      own
        .map(
          ({ variant, failed, dropped, missing, roundTripP99Ms }) =>
            `${variant}: ${count(failed + dropped)} failed or dropped, ${count(missing)} pings not answered, 99 % within ${figure(roundTripP99Ms.median)} ms`,
        )
        .join('; '),
  },
  workers: {
    title: 'One worker and several',
    thesis:
      'n/2 for n cores without the store: one worker almost a full core, two at most half, three 30 to 50 % (3.7 to 3.9)',
    here: (_, speedUps) =>
      speedUps
        .filter(({ subject, workers }) => !isPeerSubject(subject) && workers > 1)
        .map(({ workers, speedUpRange }) => `${workers} workers ${spreadWords(speedUpRange)}`)
        .join('; '),
  },
  period: {
    title: 'Mean period of the pings',
    thesis: 'four seconds to three: more CPU (3.10, 3.11)',
    here: moreCpu,
  },
  connections: {
    title: 'Number of windows',
    thesis: '2,400 connections to 3,600: more CPU (3.10, 3.12)',
    here: moreCpu,
  },
  size: {
    title: 'Size of the answer',
    thesis: '1 kB to 500 kB: less influence than period and number (3.10, 3.13)',
    here: (own) =>
      [...Map.groupBy(own, ({ subject }) => subject)]
        .flatMap(([subject, ramps]) => {
          const small = ramps.at(0)
          const large = ramps.at(-1)
          return small && large && small !== large ? `${subjectLabel(subject)} ${timesCpu(large, small)}` : []
        })
        .join('; '),
  },
  most: {
    title: 'The greatest number',
    thesis: 'some 25,000 connections on 30 processes, a ping every 6 s (3.14)',
    here: (own) =>
      own
        .map(
          ({ variant, opened, dropped, missing }) =>
            `${variant}: ${count(opened)} open, ${count(dropped)} dropped, ${count(missing)} pings not answered`,
        )
        .join('; '),
  },
}

const names = Object.keys(experiments) as ExperimentName[]

function thesisSection({ ramps, speedUps }: Summary): Section {
  const rows = names.flatMap((name) => {
    const { title, thesis, here } = experiments[name]
    const own = ramps.filter(({ experiment }) => experiment === name)
    return own.length === 0 ? [] : `${title}. The thesis: ${thesis}. Here: ${here(own, speedUps)}.`
  })
  return {
    title: 'Beside the thesis',
    paragraphs: [
      'G. L. Muller, HTML5 WebSocket protocol and its application to distributed computing, Cranfield University, 2014, chapter 3; figures in brackets are those of the thesis.',
      ...rows,
      'The thesis measured SocketCluster of 2014 on virtual machines of 1 to 32 cores, with clients on separate machines and without TLS. Here server and clients share one machine, all over TLS: the figures are from different machines, so only their directions can be compared.',
    ],
  }
}

function doubtsSection({ ramps, environment, sessions }: Summary): Section {
  const limited = ramps.filter(({ limitedSessions }) => limitedSessions > 0)
  return {
    title: 'Doubts',
    isMethod: true,
    paragraphs: [
      `Server and clients shared one machine with ${environment.cores} cores; ${loadWords({ environment })}. Servers are compared by their CPU for the same work, which sharing affects less than times. Round trips over loopback show how long servers and clients took, without what a network adds.`,
      limited.length === 0
        ? `In no ramp were the clients the bottleneck: no load process used more than ${percent(clientBounds.share)} of a core in the second half of a ramp, and 99 % of its openings and pings were at most ${clientBounds.latenessP99Ms} ms late.`
        : `The clients were the bottleneck in: ${limited.map(({ mode, limitedBy }) => `${mode} (by ${limitedBy})`).join(', ')}. Their round trips, and what failed or was not answered, are not the server’s.`,
      'The windows are lean clients, which read what arrives and keep no document. No one writes: the load is connections and pings. A ping replaces the window’s own heartbeats, which are optional; those of the server, of Engine.IO, Socket.IO and SocketCluster are answered.',
      sessionsWords(sessions),
    ],
  }
}

/** Identifies a ramp in each table. */
const placeOf = (ramp: RampRecord) => {
  const { experiment, subject, session, turn } = ramp
  return { experiment, subject, variant: variantOf(ramp), session, turn }
}

const placeColumns = ['experiment', 'subject', 'variant', 'session', 'turn'] as const

function rampsCsv(ramps: readonly RampRecord[]): string {
  const times = (name: string, { p50, p99, max }: RampRecord['roundTripMs']) => ({
    [`${name}P50Ms`]: p50,
    [`${name}P99Ms`]: p99,
    [`${name}MaxMs`]: max,
  })
  const rows = ramps.map((ramp) => ({
    ...ramp,
    ...placeOf(ramp),
    ...ramp.counts,
    ...times('roundTrip', ramp.roundTripMs),
    ...times('openedAfter', ramp.openedAfterMs),
    ...times('openingLateness', ramp.openingLatenessMs),
    ...times('pingLateness', ramp.pingLatenessMs),
  })) as readonly object[] as readonly (Record<string, number> & RampRecord)[]
  return csv(
    [
      ...[...placeColumns, 'workers', 'clients', 'windows', 'windowsPerSecond', 'holdSeconds'],
      ['mean_period_ms', ({ meanPeriodMs }) => String(meanPeriodMs)],
      ...['perBrowser', 'perPage', 'fileBytes', ...summed.slice(0, 4), 'sent', ...summed.slice(4)],
      ...['roundTripP50Ms', 'roundTripP99Ms', 'roundTripMaxMs', 'openedAfterP50Ms', 'openedAfterP99Ms'],
      ...['openingLatenessP99Ms', 'pingLatenessP99Ms', 'loopDelayP99Ms', 'receivedBytes', 'endMs'],
    ],
    rows,
  )
}

function secondsCsv(ramps: readonly RampRecord[]): string {
  const rows = ramps.flatMap((ramp) =>
    ramp.seconds.map((second, place) => ({ ...second, ...placeOf(ramp), second: place + 1 })),
  )
  return csv(
    [
      ...placeColumns,
      ...(['second', 'open', 'opened', 'failed', 'dropped', 'sent', 'answered', 'roundTripP50Ms'] as const),
    ],
    rows,
  )
}

function processesCsv(ramps: readonly RampRecord[]): string {
  const rows = ramps.flatMap((ramp) =>
    [...ramp.server, ...ramp.load].flatMap(({ name, samples }) =>
      samples.map(({ atMs, cpuMs, rssBytes }) => ({
        ...placeOf(ramp),
        process: name,
        atMs,
        rssBytes,
        cpu_ms: Math.round(cpuMs - (samples[0]?.cpuMs ?? 0)),
      })),
    ),
  )
  return csv([...placeColumns, 'process', 'atMs', 'cpu_ms', 'rssBytes'], rows)
}
