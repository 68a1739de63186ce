// Parts that only a `capacity` report has: counts, every process second by second, and the thesis.

import { formatRows } from '../lab/csv.ts'
import type { Row } from '../lab/study.ts'
import { readRows, type StudyRun } from '../lab/study-experiment.ts'
import { type TimePanel, type TimeSeries, timeLines } from '../report/line-charts.ts'
import { count, type Figure, figure, nothing, type Section, table, text } from '../report/section.ts'
import { type ExperimentName, isPeerSubject, type RampRecord, subjectLabel } from './capacity-ramps.ts'
import {
  type CapacitySummary,
  clientBounds,
  formatCertain,
  medianOf,
  type RampSummary,
  rampName,
  ratiosIn,
  thesisSpeedUp,
  timesCpu,
  variantIn,
} from './capacity-study.ts'

const processesFile = 'processes.csv.gz'
const secondsFile = 'seconds.csv.gz'

/** Each second of each ramp, each process in it, and what servers wrote to their standard error. */
export function filesOf(ramps: readonly RampRecord[]): Readonly<Record<string, string>> {
  const placeOf = (ramp: RampRecord) => ({ ramp: rampName(ramp), session: ramp.session })
  const seconds = ramps.flatMap((ramp) =>
    ramp.seconds.map((second, place) => ({ ...placeOf(ramp), second: place + 1, ...second })),
  )
  const processes = ramps.flatMap((ramp) =>
    [...ramp.server, ...ramp.load].flatMap(({ name, samples }) =>
      samples.map(({ atMs, cpuMs, rssBytes }) => ({
        ...placeOf(ramp),
        process: name,
        atMs,
        cpu_ms: Math.round(cpuMs - (samples[0]?.cpuMs ?? 0)),
        rssBytes,
      })),
    ),
  )
  const errors = ramps
    .filter(({ serverErrors }) => serverErrors !== '')
    .map((ramp) => `${rampName(ramp)}, session ${ramp.session}\n${ramp.serverErrors}`)
  return {
    [processesFile]: formatRows(processes),
    [secondsFile]: formatRows(seconds),
    ...(errors.length > 0 && { 'server-errors.txt': errors.join('\n') }),
  }
}

export const sectionsOf = (summary: CapacitySummary, run: StudyRun): readonly Section[] => [
  answersSection(summary),
  timeSection(summary, run),
  thesisSection(summary),
]

function answersSection(summary: CapacitySummary): Section {
  const told = summary.ramps.flatMap(({ mode, reasons }) => (reasons ? [`${mode}: ${reasons}.`] : []))
  return {
    title: 'What was opened and answered',
    tables: [
      table(
        'Windows and pings, over all sessions of the ramp',
        [
          'Ramp',
          'Sessions',
          'Windows',
          'Dropped',
          'Pings due',
          'Not answered',
          'Repeated',
          text('Bottleneck'),
        ],
        summary.ramps.map((ramp) => [
          ramp.mode,
          count(ramp.sessions),
          ramp.opened === ramp.planned
            ? count(ramp.opened)
            : `${count(ramp.opened)} of ${count(ramp.planned)}`,
          ...[ramp.dropped, ramp.due, ramp.missing, ramp.repeated].map(count),
          bottleneckOf(summary, ramp),
        ]),
      ),
    ],
    paragraphs: told.length === 0 ? [] : [`Reasons for failed and dropped windows. ${told.join(' ')}`],
  }
}

function bottleneckOf(
  summary: CapacitySummary,
  { mode, limitedSessions, sessions, limitedBy }: RampSummary,
): string {
  if (limitedSessions > 0)
    return `clients, by ${limitedBy}${limitedSessions < sessions ? ` in ${limitedSessions} of ${sessions} sessions` : ''}`
  const percent = medianOf(summary, mode, 'serverPercent') ?? 0
  return percent > 100 * clientBounds.share ? 'server' : 'none'
}

/** The last sample may come too soon after the previous one for the kernel's clock. */
const leastMs = 500

/** One colour per process in every panel. */
function lookOf(name: string): Pick<TimeSeries, 'label' | 'colour' | 'isDashed'> {
  const [kind = '', place = '1'] = name.split(' ')
  if (kind === 'clients') return { label: name, colour: 3, isDashed: Number(place) % 2 === 0 }
  if (kind === 'worker') return { label: name, colour: Number(place) - 1, isDashed: false }
  const isLog = name === 'log'
  return { label: isLog ? 'first process' : name, colour: isLog ? 4 : 0, isDashed: isLog }
}

/** Percentage of one core in each second. */
const processorPoints = (rows: readonly Row[]) =>
  rows.slice(1).flatMap((row, place) => {
    const before = rows[place] ?? row
    const forMs = Number(row.atMs) - Number(before.atMs)
    const y = (100 * (Number(row.cpuMs) - Number(before.cpuMs))) / forMs
    return forMs < leastMs ? [] : [{ x: Number(row.atMs) / 1000, y }]
  })

const memoryPoints = (rows: readonly Row[]) =>
  rows.map(({ atMs, rssBytes }) => ({ x: Number(atMs) / 1000, y: Number(rssBytes) / 1e6 }))

/** Shows the first session; the others have the same shape. */
function timeSection({ ramps }: CapacitySummary, { files = {} }: StudyRun): Section {
  const byRamp = (file: string) => {
    const first = readRows(files[file] ?? '').filter(({ session }) => session === 1)
    return Map.groupBy(first, ({ ramp }) => String(ramp))
  }
  const processes = byRamp(processesFile)
  const seconds = byRamp(secondsFile)
  const panelOf = (
    { mode, windows }: RampSummary,
    points: typeof memoryPoints,
    hasWindows: boolean,
  ): TimePanel => {
    const open: TimeSeries = {
      label: 'windows open',
      colour: null,
      isDashed: false,
      points: (seconds.get(mode) ?? []).map(({ second, open: now }) => ({
        x: Number(second),
        y: (100 * Number(now)) / windows,
      })),
    }
    const series = [...Map.groupBy(processes.get(mode) ?? [], ({ process }) => String(process))]
      .map(([name, rows]) => ({ ...lookOf(name), points: points(rows) }))
      .toSorted((one, other) => one.label.localeCompare(other.label))
    return { title: variantIn(mode), series: hasWindows ? [...series, open] : series }
  }
  const figures = [...Map.groupBy(ramps, ({ experiment }) => experiment)].flatMap(([name, all]): Figure[] => {
    const own = all.filter(({ mode }) => processes.has(mode))
    if (own.length === 0) return []
    const { title } = experiments[name]
    const titles = own.map(({ mode }) => variantIn(mode)).join('; ')
    const panels = (points: typeof memoryPoints, hasWindows: boolean) =>
      own.map((ramp) => panelOf(ramp, points, hasWindows))
    const processor: Figure = {
      caption: `${title}: processor time of each process in each second, as a percentage of one core; dotted, the open windows as a percentage of those planned.`,
      description: `Processor time over time: ${titles}.`,
      draw: (width) =>
        timeLines(panels(processorPoints, true), {
          width,
          axis: 'seconds',
          top: 100,
          yFormat: (y) => `${y} %`,
        }),
    }
    const memory: Figure = {
      caption: `${title}: resident memory of each process in megabytes.`,
      description: `Memory over time: ${titles}.`,
      draw: (width) =>
        timeLines(panels(memoryPoints, false), { width, axis: 'seconds', top: 10, yFormat: String }),
    }
    return name === 'most' || name === 'comparison' ? [processor, memory] : [processor]
  })
  return { title: 'Second by second, in the first session', figures }
}

const moreCpu = (summary: CapacitySummary, [first, second]: readonly RampSummary[]) =>
  first && second ? timesCpu(summary, second, first) : nothing

/** `thesis`: its result, in its own words if it gives no figure; `here`: this run's. */
const experiments: Readonly<
  Record<
    ExperimentName,
    {
      readonly title: string
      readonly thesis: string
      readonly here: (summary: CapacitySummary, own: readonly RampSummary[]) => string
    }
  >
> = {
  clients: {
    title: 'Clients on one and two cores',
    thesis: 'a second core for the clients opened twice as many connections (figure 3.1)',
    here(summary, [first, second]) {
      if (!first || !second) return nothing
      const per = ({ mode, windows }: RampSummary) =>
        (medianOf(summary, mode, 'clientCpuMs') ?? Number.NaN) / windows
      return `${count(first.opened)} and ${count(second.opened)} opened; a window cost the clients ${figure(per(second) / per(first))} times as much CPU`
    },
  },
  comparison: {
    title: 'The same ramp, modes and peers',
    thesis:
      'at 2,400 connections engine.io’s one process took up to 75 % of a core, two of SocketCluster’s three almost 100 % (3.3, 3.4)',
    here: ({ figures }, own) =>
      own
        .map(({ mode }) => {
          const found = figures.find(({ at, measure }) => at.ramp === mode && measure === 'serverPercent')
          return `${variantIn(mode)} ${Math.round(found?.max ?? 0)} %`
        })
        .join(', '),
  },
  switching: {
    title: 'One core, one and four processes',
    thesis: 'four processes on one core: most connections were dropped, or never opened (3.5)',
    here: (summary, own) =>
      own
        .map(
          ({ mode, failed, dropped, missing }) =>
            `${variantIn(mode)}: ${count(failed + dropped)} failed or dropped, ${count(missing)} pings not answered, 99 % within ${figure(medianOf(summary, mode, 'roundTripP99Ms'))} ms`,
        )
        .join('; '),
  },
  workers: {
    title: 'One worker and several',
    thesis:
      'n/2 for n cores without the store: one worker almost a full core, two at most half, three 30 to 50 % (3.7 to 3.9)',
    here: (summary, own) =>
      ratiosIn(summary, 'workers', 'windowsCarried')
        .flatMap((one) => {
          const ramp = own.find(({ mode, subject }) => mode === one.mode && !isPeerSubject(subject))
          if (!ramp) return []
          return `${ramp.workers} workers ${formatCertain(one)}, where n/2 is ${figure(thesisSpeedUp(ramp.workers))}`
        })
        .join('; ') || nothing,
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
    here: (summary, own) =>
      [...Map.groupBy(own, ({ subject }) => subject)]
        .flatMap(([subject, ramps]) => {
          const small = ramps.at(0)
          const large = ramps.at(-1)
          return small && large && small !== large
            ? `${subjectLabel(subject)} ${timesCpu(summary, large, small)}`
            : []
        })
        .join('; ') || nothing,
  },
  most: {
    title: 'The greatest number',
    thesis: 'some 25,000 connections on 30 processes, a ping every 6 s (3.14)',
    here: (_, own) =>
      own
        .map(
          ({ mode, opened, dropped, missing }) =>
            `${variantIn(mode)}: ${count(opened)} open, ${count(dropped)} dropped, ${count(missing)} pings not answered`,
        )
        .join('; '),
  },
}

function thesisSection(summary: CapacitySummary): Section {
  const rows = [...Map.groupBy(summary.ramps, ({ experiment }) => experiment)].map(([name, own]) => {
    const { title, thesis, here } = experiments[name]
    return `${title}. The thesis: ${thesis}. Here: ${here(summary, own)}.`
  })
  return {
    title: 'Beside the thesis',
    paragraphs: [
      'G. L. Muller, HTML5 WebSocket protocol and its application to distributed computing, Cranfield University, 2014, chapter 3; figures in brackets are those of the thesis.',
      ...rows,
    ],
  }
}
