// A ramp as a row with its measures; what is compared with what, and what only this scenario finds.

import type { Analysis, Design, Row, StudyComparison } from '../lab/study.ts'
import type { StudySummary } from '../lab/study-experiment.ts'
import { rampMs } from '../load/ramp.ts'
import { count, figure, interval, listed } from '../report/section.ts'
import { doubt } from '../report/study-finding.ts'
import {
  isPeerSubject,
  type RampProcess,
  type RampRecord,
  type RampSetup,
  variantOf,
} from './capacity-ramps.ts'

/**
 * Limits for a load process, in the second half of a ramp; lateness of its openings and pings.
 * Beyond either, the clients limit the ramp.
 */
export const clientBounds = { share: 0.9, latenessP99Ms: 100 }

/** Its level, and its name in a budget. */
export const rampName = (setup: RampSetup) => `${setup.experiment}: ${variantOf(setup)}`

/** `WebSocket, 2 workers` of `workers: WebSocket, 2 workers`. */
export const variantIn = (mode: string) => mode.slice(mode.indexOf(': ') + 2)

/** Cumulative, interpolated between samples; 0 before the first. */
function cpuAt({ samples }: Pick<RampProcess, 'samples'>, atMs: number): number {
  const next = samples.findIndex((sample) => sample.atMs >= atMs)
  const after = samples[next < 0 ? samples.length - 1 : next]
  const before = samples[next - 1]
  if (!after) return 0
  if (!before || next < 0) return after.cpuMs
  const share = (atMs - before.atMs) / (after.atMs - before.atMs)
  return before.cpuMs + share * (after.cpuMs - before.cpuMs)
}

export const cpuBetween = (process: Pick<RampProcess, 'samples'>, fromMs: number, toMs: number) =>
  cpuAt(process, toMs) - cpuAt(process, fromMs)

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)
const maxOf = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value), 0)
const known = (value: number) => (Number.isFinite(value) ? value : null)

/** Their result is how many windows fail or are dropped. */
const countsLosses: ReadonlySet<RampRecord['experiment']> = new Set(['switching', 'most'])

/** Describes a ramp that lost windows, which is in no figure; null for others. */
function formatBroken({ session, windows, counts, serverErrors, ...ramp }: RampRecord): string | null {
  if (countsLosses.has(ramp.experiment) || counts.failed + counts.dropped === 0) return null
  const said = serverErrors.trim().split('\n').at(-1)
  const last = said ? ` The server’s last line: ${said.replace(/\.$/, '')}.` : ''
  return `A ramp broke, and is in no figure: ${rampName({ ...ramp, windows })}, session ${session}; of ${count(windows)} windows ${count(counts.failed)} failed to open and ${count(counts.dropped)} were dropped.${last}`
}

export type RampRow = Row & ReturnType<typeof rampRow>

/** Shares are percentages of one core, each of the busiest process. */
export function rampRow(ramp: RampRecord) {
  const { server, load, endMs, seconds, counts, experiment, workers, holdSeconds } = ramp
  const ends = rampMs(ramp)
  const serverCpuMs = sumOf(server.map((process) => cpuBetween(process, 0, endMs)))
  // From the middle of the ramp on most of the code is compiled.
  const late = server.map((process) => cpuBetween(process, ends / 2, endMs))
  const lateMs = ends / 2 + holdSeconds * 1000
  const shareOf = (process: RampProcess) => (100 * cpuBetween(process, ends / 2, ends)) / (ends / 2)
  const clientsPercent = maxOf(load.map(shareOf))
  const latenessP99Ms = Math.max(ramp.openingLatenessMs.p99 ?? 0, ramp.pingLatenessMs.p99 ?? 0)
  const holdCpuMs = sumOf(server.map((process) => cpuBetween(process, ends, endMs)))
  const answeredInHold = sumOf(seconds.slice(Math.round(ends / 1000)).map(({ answered }) => answered))
  const pongMs = holdCpuMs / answeredInHold
  const rssAt = (place: number) => sumOf(server.map(({ samples }) => samples.at(place)?.rssBytes ?? 0))
  const isOfWorkers = experiment === 'workers'
  return {
    ramp: rampName(ramp),
    session: ramp.session,
    turn: ramp.turn,
    experiment,
    subject: ramp.subject,
    workers,
    clients: ramp.clients,
    windows: ramp.windows,
    windowsPerSecond: ramp.windowsPerSecond,
    holdSeconds,
    meanPeriodMs: ramp.meanPeriodMs,
    perBrowser: ramp.perBrowser,
    perPage: ramp.perPage,
    fileBytes: ramp.fileBytes,
    ...counts,
    reasons: formatReasons(ramp.reasons) || null,
    broken: formatBroken(ramp),
    limitedBy:
      clientsPercent > 100 * clientBounds.share
        ? 'their processor time'
        : latenessP99Ms > clientBounds.latenessP99Ms
          ? 'their lateness'
          : null,
    cpuMsPerWindow: known(serverCpuMs / counts.opened),
    lateCpuMsPerWindow:
      isOfWorkers || experiment === 'comparison' ? known(sumOf(late) / counts.opened) : null,
    windowsCarried: isOfWorkers ? known((counts.opened * lateMs) / maxOf(late)) : null,
    firstCarries: isOfWorkers && workers > 1 ? known((counts.opened * lateMs) / (late[0] ?? 0)) : null,
    serverCpuMs,
    cpuMsPerOpening: known(
      (serverCpuMs - holdCpuMs - pongMs * (counts.answered - answeredInHold)) / counts.opened,
    ),
    cpuMicrosPerPong: known(pongMs * 1000),
    serverPercent: maxOf(server.map(shareOf)),
    clientsPercent,
    clientCpuMs: sumOf(load.map((process) => cpuBetween(process, 0, endMs))),
    latenessP99Ms,
    roundTripP50Ms: ramp.roundTripMs.p50,
    roundTripP99Ms: ramp.roundTripMs.p99,
    roundTripMaxMs: ramp.roundTripMs.max,
    openedAfterP50Ms: ramp.openedAfterMs.p50,
    openedAfterP99Ms: ramp.openedAfterMs.p99,
    megabytes: maxOf((server[0]?.samples ?? []).map((_, place) => rssAt(place))) / 1e6,
    kilobytesPerWindow: known((rssAt(-1) - rssAt(0)) / (counts.opened - counts.dropped) / 1000),
    proportionalBytes: server.every(({ pssBytes }) => pssBytes !== null)
      ? sumOf(server.map(({ pssBytes }) => pssBytes ?? 0))
      : null,
    loopDelayP99Ms: ramp.loopDelayP99Ms,
    receivedBytes: ramp.receivedBytes,
    endMs,
  }
}

/** `EMFILE 120, reset 3`; the most frequent first. */
const formatReasons = (reasons: RampRecord['reasons']) =>
  Object.entries(reasons)
    .toSorted(([, one], [, other]) => other - one)
    .map(([why, times]) => `${why} ${count(times)}`)
    .join(', ')

const described = (name: string, title: string, unit: string) =>
  ({ name, title, unit, better: 'less', isCompared: false }) as const

export const design: Design = {
  question: 'What does a window cost the server, and how many does it carry?',
  areMessages: false,
  factors: [{ name: 'ramp', title: 'Ramp', label: (ramp) => variantIn(String(ramp)) }],
  measures: [
    { name: 'cpuMsPerWindow', title: 'Server CPU per window', unit: 'CPU ms', better: 'less' },
    {
      name: 'lateCpuMsPerWindow',
      title: 'Server CPU per window from the middle of the ramp on',
      unit: 'CPU ms',
      better: 'less',
    },
    { name: 'windowsCarried', title: 'Windows carried', unit: 'windows', better: 'more' },
    described('serverCpuMs', 'Server CPU', 'ms'),
    described('cpuMsPerOpening', 'CPU of an opening', 'ms'),
    described('cpuMicrosPerPong', 'CPU of a pong', 'µs'),
    described('serverPercent', 'Busiest server process', '%'),
    described('clientsPercent', 'Busiest load process', '%'),
    described('clientCpuMs', 'Clients’ CPU', 'ms'),
    described('latenessP99Ms', 'Clients late, p99', 'ms'),
    described('roundTripP50Ms', 'Round trip', 'ms'),
    described('roundTripP99Ms', 'Round trip, p99', 'ms'),
    described('openedAfterP50Ms', 'Opening', 'ms'),
    described('openedAfterP99Ms', 'Opening, p99', 'ms'),
    described('megabytes', 'Memory', 'MB'),
    described('kilobytesPerWindow', 'A window’s memory', 'kB'),
    described('firstCarries', 'Carried by the first process', 'windows'),
  ],
  pairs: (levels, _, samples) => {
    const rows = levels.flatMap((level) => samples.find(({ ramp }) => ramp === level) ?? [])
    const groups = Map.groupBy(rows as readonly Row[] as readonly RampRow[], ({ experiment, subject }) =>
      experiment === 'comparison' ? experiment : `${experiment} ${subject}`,
    )
    return [...groups.values()].flatMap((own) => {
      const [first] = own
      if (first?.experiment === 'most') return []
      if (first?.experiment === 'comparison') {
        const peers = own.filter(({ subject }) => isPeerSubject(subject))
        const modes = own.filter(({ subject }) => !isPeerSubject(subject))
        return modes.flatMap((mode) => peers.map((peer) => [mode.ramp, peer.ramp] as const))
      }
      const base = first?.experiment === 'workers' ? own.find(({ workers }) => workers === 1) : first
      return own.flatMap(({ ramp }) => (!base || ramp === base.ramp ? [] : [[ramp, base.ramp] as const]))
    })
  },
  notes: () => [
    'A sample is one ramp: windows that open at a steady rate and ping, and a server of their own. CPU is the user and system time of all server processes from the first window until the end of the hold, divided by the windows that opened. Every server starts cold: the whole ramp includes code compilation, of which a larger program has more; from its middle on it includes little.',
    'Windows carried: those with which the busiest process would use a whole core, if each process had one; computed from that process’s CPU from the middle of the ramp on, not reached.',
  ],
}

type OwnFigures = ReturnType<typeof ownFigures>
export type CapacitySummary = StudySummary & OwnFigures
export type RampSummary = OwnFigures['ramps'][number]

const counted = ['opened', 'failed', 'dropped', 'due', 'answered', 'missing', 'repeated'] as const

/** Sums over the sessions, of broken ramps too. */
export function ownFigures(samples: readonly Row[]) {
  const byRamp = Map.groupBy(samples as readonly RampRow[], ({ ramp }) => ramp)
  return {
    ramps: [...byRamp.values()].map((rows) => {
      const [first] = rows as [RampRow]
      const total = (name: (typeof counted)[number] | 'windows') => sumOf(rows.map((row) => row[name]))
      const limited = rows.flatMap(({ limitedBy }) => limitedBy ?? [])
      return {
        mode: first.ramp,
        experiment: first.experiment,
        subject: first.subject,
        workers: first.workers,
        windows: first.windows,
        sessions: rows.length,
        planned: total('windows'),
        ...(Object.fromEntries(counted.map((name) => [name, total(name)])) as Record<
          (typeof counted)[number],
          number
        >),
        reasons: rows.flatMap(({ reasons }) => reasons ?? []).join('; '),
        /** In how many sessions the clients limited the ramp, and how. */
        limitedSessions: limited.length,
        limitedBy: limited[0] ?? null,
      }
    }),
  }
}

const lostIn = ({ failed, dropped, missing }: RampSummary) => failed + dropped + missing

const bySubject = (ramps: readonly RampSummary[], experiment: RampSummary['experiment']) => [
  ...Map.groupBy(
    ramps.filter((ramp) => ramp.experiment === experiment),
    ({ subject }) => subject,
  ).values(),
]

/** Promises broken by the first ramp of `most` in each mode; the later ramps continue until something fails. */
export const failuresOf = ({ ramps }: OwnFigures) =>
  bySubject(ramps, 'most').flatMap(([first]) => (first && lostIn(first) > 0 ? [first.mode] : []))

/** Ratios to the first ramp of the experiment, or to each peer's. */
export const ratiosIn = ({ comparisons }: Analysis, experiment: string, measure: string) =>
  comparisons.filter((one) => one.measure === measure && one.mode.startsWith(`${experiment}: `))

/** The greatest number of windows and its limit; the peers; the workers. */
export function findingOf(found: Analysis & OwnFigures): readonly string[] {
  const { ramps } = found
  const most = bySubject(ramps, 'most').flatMap((own) => {
    const last = own.at(-1)
    return own.slice(last && lostIn(last) > 0 ? -2 : -1).map(formatMax)
  })
  const ratios = ratiosIn(found, 'comparison', 'cpuMsPerWindow')
  const against = ratios.filter(({ mode }) => mode === ratios[0]?.mode)
  const peers = against.map((one) => `${formatCertain(one)} times that of ${variantIn(one.baseline)}`)
  const compared =
    ratios[0] && `For the same ramp the server CPU of ${variantIn(ratios[0].mode)} was ${peers.join('; ')}.`
  const carried = ratiosIn(found, 'workers', 'windowsCarried').flatMap((one) => {
    const own = ramps.find(({ mode }) => mode === one.mode)
    if (!own || isPeerSubject(own.subject)) return []
    return [`${own.workers} workers carry ${formatCertain(one)} times what one carries`]
  })
  const limited = ramps.filter(({ limitedSessions }) => limitedSessions > 0)
  const words = [...most, compared, carried.length > 0 && `${carried.join('; ')}.`].filter(Boolean)
  const doubts =
    limited.length > 0 &&
    `The clients were the bottleneck in ${listed(limited.map(({ mode }) => `“${mode}”`))}, which says nothing against the server.`
  return [...(words.length > 0 ? words : [formatTotal(ramps)]), doubts].filter(
    (one) => typeof one === 'string',
  )
}

/** `0.54 (0.40 to 0.82, undecided)`. */
export const formatCertain = (one: StudyComparison) =>
  `${figure(one.ratio)}${one.ratioCi95 ? ` (${interval(one.ratioCi95)}${doubt(one)})` : ''}`

function formatMax({ mode, opened, failed, dropped, due, missing, workers, reasons }: RampSummary): string {
  const lost =
    failed + dropped === 0
      ? 'none failed or was dropped'
      : `${count(failed)} failed and ${count(dropped)} were dropped${reasons && ` (${reasons})`}`
  const answers =
    due === 0
      ? 'no ping was due'
      : missing === 0
        ? `all ${count(due)} pings were answered`
        : `${count(missing)} of ${count(due)} pings were not answered in time`
  return `${variantIn(mode)} on ${workers} workers: ${count(opened)} opened, ${lost}, ${answers}.`
}

function formatTotal(ramps: readonly RampSummary[]): string {
  const [opened, planned, missing, due] = (['opened', 'planned', 'missing', 'due'] as const).map((name) =>
    count(sumOf(ramps.map((ramp) => ramp[name]))),
  )
  return `${opened} of ${planned} windows opened; ${missing} of ${due} pings were not answered in time.`
}

/**
 * “Twice as many processors” for “twice as much computational power”, since a worker needs a load
 * balancer beside it; the store is not counted (G. L. Muller, 2014, section 3.4). Crosswind's workers
 * accept their connections themselves, so that each worker is a processor, and the log is the store.
 */
export const thesisSpeedUp = (processors: number) => processors / 2

/** The median of the sessions. */
export const medianOf = ({ figures }: Analysis, mode: string, measure: string) =>
  figures.find((row) => row.at.ramp === mode && row.measure === measure)?.p50 ?? null

export const timesCpu = (found: Analysis, more: RampSummary, less: RampSummary) =>
  `${figure((medianOf(found, more.mode, 'serverCpuMs') ?? Number.NaN) / (medianOf(found, less.mode, 'serverCpuMs') ?? Number.NaN))} times the server CPU`
