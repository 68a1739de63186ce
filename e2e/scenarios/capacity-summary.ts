// Analyses the ramps of `capacity`: spreads over sessions, comparisons, speed-ups and the finding.

import type { Circumstances } from '../lab/run-environment.ts'
import { type Middle, middleOf, significant } from '../lab/statistics.ts'
import { rampMs } from '../load/ramp.ts'
import { count, figure, several, sizeOf } from '../report/section.ts'
import {
  type ExperimentName,
  isPeerSubject,
  type RampProcess,
  type RampRecord,
  type RampSetup,
  subjectLabel,
} from './capacity-ramps.ts'

export interface Run extends Circumstances {
  readonly seed: number
  readonly sessions: number
  readonly ramps: readonly RampRecord[]
}

/**
 * Limits for a load process, in the second half of a ramp; lateness of its openings and pings.
 * Beyond either, the clients limit the ramp.
 */
export const clientBounds = { share: 0.9, latenessP99Ms: 100 }

export type Summary = ReturnType<typeof analyse>
export type RampSummary = ReturnType<typeof summariseSetup>
export type Comparison = ReturnType<typeof comparisonsOf>[number]
export type SpeedUp = ReturnType<typeof speedUpsOf>[number]

export function analyse({ seed: _, ramps, ...circumstances }: Run) {
  const figures = ramps.map(figuresOf)
  const whole = figures.filter(({ ramp }) => !isBroken(ramp))
  const setups = [...Map.groupBy(figures, ({ ramp }) => keyOf(ramp)).values()].map(summariseSetup)
  const comparisons = comparisonsOf(whole)
  const speedUps = speedUpsOf(whole)
  const broken = ramps.filter(isBroken).map(brokenWords)
  return {
    scenario: 'capacity' as const,
    ...circumstances,
    clientBounds,
    ramps: setups,
    comparisons,
    speedUps,
    failures: [...broken, ...failuresOf(setups)],
    finding: [...broken, findingOf(setups, comparisons, speedUps)].join(' '),
  }
}

/** Their result is how many windows fail or are dropped. */
const countsLosses: ReadonlySet<RampRecord['experiment']> = new Set(['switching', 'most'])

/** Lost windows elsewhere: what it cost is no sample of anything. */
const isBroken = ({ experiment, counts: { failed, dropped } }: RampRecord) =>
  !countsLosses.has(experiment) && failed + dropped > 0

function brokenWords(ramp: RampRecord): string {
  const { experiment, session, windows, counts, serverErrors } = ramp
  const said = serverErrors.trim().split('\n').at(-1)
  const last = said ? ` The server’s last line: ${said.replace(/\.$/, '')}.` : ''
  return `A ramp broke, and is in no figure: ${experiment}, ${variantOf(ramp)}, session ${session}; of ${count(windows)} windows ${count(counts.failed)} failed to open and ${count(counts.dropped)} were dropped.${last}`
}

/** What distinguishes one setup from another. */
const keyOf = ({ experiment, subject, workers, clients, windows, ...others }: RampSetup) =>
  JSON.stringify([
    experiment,
    subject,
    workers,
    clients,
    windows,
    others.meanPeriodMs,
    others.perBrowser,
    others.fileBytes,
  ])

/** What distinguishes it from the others in its experiment. */
export function variantOf({ experiment, subject, workers, clients, windows, ...others }: RampSetup): string {
  const { meanPeriodMs, perBrowser, fileBytes } = others
  const label = subjectLabel(subject)
  const variants: Readonly<Record<ExperimentName, string>> = {
    clients: several(clients, 'load process', 'load processes'),
    comparison: perBrowser > 1 ? `${label}, ${perBrowser} to a session` : label,
    switching: `${several(workers === 1 ? 1 : workers + 1, 'process', 'processes')} on one core`,
    workers: `${label}, ${several(workers, 'worker')}`,
    period: `mean period ${meanPeriodMs / 1000} s`,
    connections: `${count(windows)} windows`,
    size: `${label}, ${sizeOf(fileBytes)}`,
    most: `${label}, ${count(windows)} windows`,
  }
  return variants[experiment]
}

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
const mostOf = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value), 0)

type RampFigures = ReturnType<typeof figuresOf>

/** Shares are of one core. */
function figuresOf(ramp: RampRecord) {
  const { server, load, endMs, seconds, counts } = ramp
  const ends = rampMs(ramp)
  const all = server.map((process) => ({ name: process.name, cpuMs: cpuBetween(process, 0, endMs) }))
  const late = server.map((process) => ({
    name: process.name,
    cpuMs: cpuBetween(process, ends / 2, endMs),
  }))
  const busiest = late.reduce((most, one) => (one.cpuMs > most.cpuMs ? one : most), { name: '', cpuMs: 0 })
  const serverCpuMs = sumOf(all.map(({ cpuMs }) => cpuMs))
  const shareOf = (process: RampProcess) => cpuBetween(process, ends / 2, ends) / (ends / 2)
  const clientShare = mostOf(load.map(shareOf))
  const holdCpuMs = sumOf(server.map((process) => cpuBetween(process, ends, endMs)))
  const holding = seconds.slice(Math.round(ends / 1000))
  const answeredInHold = sumOf(holding.map(({ answered }) => answered))
  const pongMs = holdCpuMs / answeredInHold
  const open = counts.opened - counts.dropped
  const rssAt = (place: 'first' | 'last') =>
    sumOf(server.map(({ samples }) => samples.at(place === 'first' ? 0 : -1)?.rssBytes ?? 0))
  const latenessP99Ms = Math.max(ramp.openingLatenessMs.p99 ?? 0, ramp.pingLatenessMs.p99 ?? 0)
  return {
    ramp,
    serverCpuMs,
    busiest,
    /** Like `busiest`, from the middle of the ramp on: by then most of the code is compiled. */
    logCpuMs: late.find(({ name }) => name === 'log')?.cpuMs ?? null,
    lateCpuMs: sumOf(late.map(({ cpuMs }) => cpuMs)),
    clientCpuMs: sumOf(load.map((process) => cpuBetween(process, 0, endMs))),
    clientShare,
    serverShare: mostOf(server.map(shareOf)),
    latenessP99Ms,
    limitedBy:
      clientShare > clientBounds.share
        ? ('their processor time' as const)
        : latenessP99Ms > clientBounds.latenessP99Ms
          ? ('their lateness' as const)
          : null,
    /** Cost at the whole server while nothing opens. */
    cpuMicrosPerPong: pongMs * 1000,
    /** The rest of its time during the ramp. */
    cpuMsPerOpening: (serverCpuMs - holdCpuMs - pongMs * (counts.answered - answeredInHold)) / counts.opened,
    cpuMsPerWindow: serverCpuMs / counts.opened,
    bytesPerWindow: open === 0 ? Number.NaN : (rssAt('last') - rssAt('first')) / open,
    rssBytes: mostOf(
      (server[0]?.samples ?? []).map((_, place) =>
        sumOf(server.map(({ samples }) => samples[place]?.rssBytes ?? 0)),
      ),
    ),
    pssBytes: server.some(({ pssBytes }) => pssBytes === null)
      ? Number.NaN
      : sumOf(server.map(({ pssBytes }) => pssBytes ?? 0)),
  }
}

/** Flat, so that a budget can bound it. */
function namedSpread<Name extends string>(name: Name, values: readonly number[]) {
  const spread = middleOf(values)
  return { [name]: spread.median, [`${name}Range`]: spread } as Record<Name, number | null> &
    Record<`${Name}Range`, Middle>
}

export const summed = ['opened', 'failed', 'dropped', 'due', 'answered', 'missing', 'repeated'] as const
const spreadNames = [
  ...([
    'serverCpuMs',
    'logCpuMs',
    'cpuMicrosPerPong',
    'cpuMsPerOpening',
    'serverShare',
    'clientShare',
  ] as const),
  ...(['clientCpuMs', 'latenessP99Ms', 'rssBytes', 'pssBytes', 'bytesPerWindow'] as const),
]

/** Over the sessions: counts are sums, figures those of the ramps that did not break. */
function summariseSetup(figures: readonly RampFigures[]) {
  const ramps = figures.map(({ ramp }) => ramp)
  const whole = figures.filter(({ ramp }) => !isBroken(ramp))
  const [first] = ramps
  if (!first) throw new Error('There is no ramp to summarise.')
  const over = (value: (figures: RampFigures) => number | null) =>
    middleOf(whole.map((one) => value(one) ?? Number.NaN))
  const { experiment, subject, workers, clients, windows, windowsPerSecond, holdSeconds, ...others } = first
  const { meanPeriodMs, perBrowser, perPage, fileBytes } = others
  const reasons: Record<string, number> = {}
  for (const { reasons: own } of ramps)
    for (const [why, times] of Object.entries(own)) reasons[why] = (reasons[why] ?? 0) + times
  const counts = summed.map((name) => [name, sumOf(ramps.map((ramp) => ramp.counts[name]))])
  const spreads = spreadNames.map((name) => [name, over((one) => one[name])])
  return {
    /** Its name in a budget. */
    mode: `${experiment}: ${variantOf(first)}`,
    experiment,
    variant: variantOf(first),
    subject,
    workers,
    clients,
    windows,
    windowsPerSecond,
    holdSeconds,
    meanPeriodMs,
    perBrowser,
    perPage,
    fileBytes,
    sessions: figures.length,
    planned: sumOf(ramps.map((ramp) => ramp.windows)),
    ...(Object.fromEntries(counts) as Record<(typeof summed)[number], number>),
    reasons,
    roundTripP50Ms: over(({ ramp }) => ramp.roundTripMs.p50),
    roundTripP99Ms: over(({ ramp }) => ramp.roundTripMs.p99),
    openedAfterP50Ms: over(({ ramp }) => ramp.openedAfterMs.p50),
    openedAfterP99Ms: over(({ ramp }) => ramp.openedAfterMs.p99),
    busiestCpuMs: over(({ busiest }) => busiest.cpuMs),
    ...(Object.fromEntries(spreads) as Record<(typeof spreadNames)[number], Middle>),
    /** In how many sessions, and by what, the clients limited the ramp. */
    limitedSessions: figures.filter(({ limitedBy }) => limitedBy !== null).length,
    limitedBy: figures.find(({ limitedBy }) => limitedBy !== null)?.limitedBy ?? null,
  }
}

/**
 * Server CPU per opened window, each mode over each peer in the same session: for the whole ramp,
 * and for its later part.
 */
function comparisonsOf(figures: readonly RampFigures[]) {
  const own = figures.filter(({ ramp }) => ramp.experiment === 'comparison')
  const setups = [...Map.groupBy(own, ({ ramp }) => keyOf(ramp)).values()]
  const modes = setups.filter(([first]) => first && !isPeerSubject(first.ramp.subject))
  const peers = setups.filter(([first]) => first && isPeerSubject(first.ramp.subject))
  return modes.flatMap((mode) =>
    peers.map((peer) => {
      const ratiosOf = (value: (figures: RampFigures) => number) =>
        mode.flatMap((own) => {
          const other = peer.find(({ ramp }) => ramp.session === own.ramp.session)
          return other ? [value(own) / value(other)] : []
        })
      const ratios = ratiosOf(({ cpuMsPerWindow }) => cpuMsPerWindow)
      const later = ratiosOf(({ lateCpuMs, ramp }) => lateCpuMs / ramp.counts.opened)
      const first = mode[0]?.ramp
      const second = peer[0]?.ramp
      if (!first || !second) throw new Error('There is no ramp to compare.')
      return {
        mode: `${variantOf(first)} to ${variantOf(second)}`,
        subject: first.subject,
        perBrowser: first.perBrowser,
        peer: second.subject,
        subjectVariant: variantOf(first),
        peerVariant: variantOf(second),
        ...namedSpread('ratio', ratios),
        ...namedSpread('laterRatio', later),
        ratios: ratios.map((ratio) => significant(ratio)),
        isLimited: [...mode, ...peer].some(({ limitedBy }) => limitedBy !== null),
      }
    }),
  )
}

/**
 * “Twice as many processors” for “twice as much computational power”, since a worker needs a load
 * balancer beside it; the store is not counted (G. L. Muller, 2014, section 3.4). Crosswind's workers
 * accept their connections themselves, so that each worker is a processor, and the log is the store.
 */
export const thesisSpeedUp = (processors: number) => processors / 2

/**
 * Speed-up of n workers over one, in the same session: a server's capacity ends when its busiest
 * process uses a whole core, so the speed-up is that process's CPU per opened window with one
 * worker over that with n, from the middle of the ramp on. The process with the log counts.
 */
function speedUpsOf(figures: readonly RampFigures[]) {
  const own = figures.filter(({ ramp }) => ramp.experiment === 'workers')
  return [...Map.groupBy(own, ({ ramp }) => ramp.subject)].flatMap(([subject, ramps]) =>
    [...Map.groupBy(ramps, ({ ramp }) => ramp.workers)]
      .toSorted(([one], [other]) => one - other)
      .flatMap(([workers, of]) => {
        const pairs = of.flatMap((several) => {
          const single = ramps.find(({ ramp }) => ramp.workers === 1 && ramp.session === several.ramp.session)
          return single ? [{ single, several }] : []
        })
        if (pairs.length === 0) return []
        const perWindow = (cpuMs: number, { ramp }: RampFigures) => cpuMs / ramp.counts.opened
        const busiest = (one: RampFigures) => perWindow(one.busiest.cpuMs, one)
        const speedUps = pairs.map(({ single, several }) => busiest(single) / busiest(several))
        return [
          {
            mode: `${subjectLabel(subject)}, ${workers}`,
            subject,
            workers,
            thesis: thesisSpeedUp(workers),
            ...namedSpread('speedUp', speedUps),
            speedUps: speedUps.map((value) => significant(value)),
            busiest: of[0]?.busiest.name ?? '',
            /** All processes together, over the single one. */
            work: middleOf(
              pairs.map(
                ({ single, several }) =>
                  perWindow(several.lateCpuMs, several) / perWindow(single.lateCpuMs, single),
              ),
            ),
            /**
             * What the process with the log, or the one that accepts connections, would allow with
             * any number of workers.
             */
            ceiling: middleOf(
              pairs.map(({ single, several }) =>
                several.logCpuMs === null
                  ? Number.NaN
                  : busiest(single) / perWindow(several.logCpuMs, several),
              ),
            ),
          },
        ]
      }),
  )
}

/** Of the ramps of `most` in each mode the last that lost nothing, and the one that ended them. */
function greatestOf(setups: readonly RampSummary[]): readonly RampSummary[] {
  const most = setups.filter(({ experiment }) => experiment === 'most')
  return [...Map.groupBy(most, ({ subject }) => subject).values()].flatMap((ramps) => {
    const { failed = 0, dropped = 0, missing = 0 } = ramps.at(-1) ?? {}
    return ramps.slice(failed + dropped + missing > 0 ? -2 : -1)
  })
}

/** For the first ramp of `most` in each mode: promises that were broken. Those after it go on until something fails. */
function failuresOf(setups: readonly RampSummary[]): readonly string[] {
  const most = Map.groupBy(
    setups.filter(({ experiment }) => experiment === 'most'),
    ({ subject }) => subject,
  )
  return [...most.values()]
    .flatMap(([first]) => first ?? [])
    .filter(({ failed, dropped, missing }) => failed + dropped + missing > 0)
    .map(({ variant, failed, dropped, missing, limitedBy }) => {
      const limited = limitedBy === null ? '' : `; the clients were the bottleneck, by ${limitedBy}`
      return `${variant}: ${count(failed)} failed to open, ${count(dropped)} were dropped, ${count(missing)} pings were not answered in time${limited}.`
    })
}

/** `EMFILE 120, reset 3`; the most frequent first. */
export const reasonsWords = (reasons: RampSummary['reasons']) =>
  Object.entries(reasons)
    .toSorted(([, one], [, other]) => other - one)
    .map(([why, times]) => `${why} ${count(times)}`)
    .join(', ')

export const spreadWords = ({ median: middle, min, max }: Middle) =>
  min === max ? figure(middle) : `${figure(middle)} (${figure(min)} to ${figure(max)})`

function findingOf(
  setups: readonly RampSummary[],
  comparisons: readonly Comparison[],
  speedUps: readonly SpeedUp[],
): string {
  const most = greatestOf(setups).map(
    ({ variant, opened, failed, dropped, due, missing, workers, reasons }) => {
      const why = reasonsWords(reasons)
      const lost =
        failed + dropped === 0
          ? 'none failed or was dropped'
          : `${count(failed)} failed and ${count(dropped)} were dropped${why && ` (${why})`}`
      const answers =
        due === 0
          ? 'no ping was due'
          : missing === 0
            ? `all ${count(due)} pings were answered`
            : `${count(missing)} of ${count(due)} pings were not answered in time`
      return `${variant} on ${workers} workers: ${count(opened)} opened, ${lost}, ${answers}.`
    },
  )
  const [subject] = comparisons
  const against = comparisons.filter((one) => one.subjectVariant === subject?.subjectVariant)
  const compared = subject
    ? [
        `For the same ramp ${subject.subjectVariant} takes ${against.map(({ ratio, peerVariant }) => `${figure(ratio)} of the server CPU of ${peerVariant}`).join(', ')}.`,
      ]
    : []
  const own = speedUps.filter(({ subject: name, workers }) => !isPeerSubject(name) && workers > 1)
  const carried = own.map(
    ({ workers, speedUp }) => `${workers} workers carry ${figure(speedUp)} times what one carries`,
  )
  const limited = setups.filter(({ limitedSessions }) => limitedSessions > 0)
  const doubts =
    limited.length === 0
      ? []
      : [
          `The clients were the bottleneck in ${limited.length} of ${setups.length} setups, which say nothing against the server.`,
        ]
  const words = [...most, ...compared, ...(carried.length > 0 ? [`${carried.join('; ')}.`] : []), ...doubts]
  if (words.length > 0) return words.join(' ')
  const opened = sumOf(setups.map((setup) => setup.opened))
  const planned = sumOf(setups.map((setup) => setup.planned))
  const missing = sumOf(setups.map((setup) => setup.missing))
  const due = sumOf(setups.map((setup) => setup.due))
  return `${count(opened)} of ${count(planned)} windows opened; ${count(missing)} of ${count(due)} pings were not answered in time.`
}
