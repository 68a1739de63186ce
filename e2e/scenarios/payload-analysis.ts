// Data of a payload run, and its summary: what each size of a message takes in each mode, the finding.

import { mean, meanOfClusters } from '../../server/wire/t-test.ts'
import { spokenName } from '../lab/mode-names.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { median, rounded, roundedInterval, significant, summarise } from '../lab/statistics.ts'
import { figure } from '../report/section.ts'
import { hasArrived, type Run as KeystrokeRun, type Sample, transmissionMs } from './keystrokes-analysis.ts'

export interface PayloadSample extends Sample {
  /** Of the text in the message. */
  readonly bytes: number
}

export interface Run extends Circumstances, Pick<KeystrokeRun, 'network' | 'clock' | 'serverUse'> {
  readonly modes: readonly string[]
  readonly baseline: string
  readonly sizes: readonly number[]
  readonly samples: readonly PayloadSample[]
  readonly waitMs: number
}

/** At most so many times the least: alike, for the finding. */
export const alikeWithin = 1.25

/** Content of summary.json; measured figures have six significant digits at most. */
export type Summary = ReturnType<typeof analyse>
export type SizeSummary = ReturnType<typeof summariseSize>

/** Deterministic. */
export function analyse(run: Run) {
  const { command, startedAt, finishedAt, environment, parameters, clock, baseline, waitMs } = run
  const sizes = run.modes.flatMap((mode) => run.sizes.map((bytes) => summariseSize(run, mode, bytes)))
  const modes = run.modes.map((mode) => summariseMode(run, mode, sizes))
  const words = findingOf(run, sizes)
  return {
    scenario: 'payload' as const,
    ...{ command, startedAt, finishedAt, environment, parameters, clock, baseline, waitMs },
    sessions: new Set(run.samples.map(({ session }) => session)).size,
    network: run.network ?? null,
    modes,
    sizes,
    finding: run.network ? `Over the simulated network “${run.network.profile}”: ${words}` : words,
  }
}

/** `1 kB`, in powers of ten. */
export function sizeOf(bytes: number): string {
  const [unit, power] = bytes < 1000 ? ['B', 1] : bytes < 1e6 ? ['kB', 1000] : ['MB', 1e6]
  return `${Number((bytes / Number(power)).toPrecision(3))} ${unit}`
}

/** Times in ms over all samples, (message, receiving window); null without arrivals. */
function summariseSize(run: Run, mode: string, bytes: number) {
  const samples = run.samples.filter((sample) => sample.mode === mode && sample.bytes === bytes)
  const times = samples.filter(hasArrived).map(transmissionMs)
  const figures = times.length === 0 ? undefined : summarise(times)
  const bySession = (of: string) =>
    [
      ...Map.groupBy(
        run.samples.filter((sample) => sample.mode === of && sample.bytes === bytes),
        ({ session }) => session,
      ),
    ]
      .toSorted(([one], [other]) => one - other)
      .map(([session, own]) => {
        const arrived = own.filter(hasArrived).map(transmissionMs)
        return { session, p50Ms: arrived.length === 0 ? null : median(arrived) }
      })
  const sessions = bySession(mode)
  const others = mode === run.baseline ? [] : bySession(run.baseline)
  const ratios = sessions.flatMap(({ session, p50Ms }) => {
    const other = others.find((one) => one.session === session)?.p50Ms
    return p50Ms === null || other == null ? [] : [p50Ms / other]
  })
  const logarithms = ratios.map(Math.log)
  const interval = ratios.length < 2 ? null : meanOfClusters(logarithms).interval
  const p50 = figures?.p50 ?? Number.NaN
  return {
    mode: `${mode}, ${sizeOf(bytes)}`,
    ...{ subject: mode, bytes },
    n: times.length,
    expected: samples.length,
    lost: samples.length - times.length,
    duplicated: samples.filter(({ copies }) => copies > 1).length,
    reordered: samples.filter(({ reordered }) => reordered).length,
    p50Ms: significant(p50),
    meanMs: significant(figures?.mean ?? Number.NaN),
    sdMs: significant(figures?.sd ?? Number.NaN),
    p95Ms: significant(figures?.p95 ?? Number.NaN),
    maxMs: significant(figures?.max ?? Number.NaN),
    /** The text over the median time, at one window. */
    kilobytesPerSecond: significant(bytes / p50),
    /** In order of the sessions. */
    sessionP50sMs: sessions.map(({ p50Ms }) => (p50Ms === null ? null : rounded(p50Ms))),
    /** Median over the baseline's, geometric mean over sessions. */
    ratio: ratios.length === 0 ? null : rounded(Math.exp(mean(logarithms))),
    ratioCi95: interval === null ? null : roundedInterval([Math.exp(interval[0]), Math.exp(interval[1])]),
  }
}

function summariseMode(run: Run, mode: string, sizes: readonly SizeSummary[]) {
  const own = sizes.filter(({ subject }) => subject === mode)
  const sum = (name: 'n' | 'expected' | 'lost' | 'duplicated' | 'reordered') =>
    own.reduce((total, size) => total + size[name], 0)
  const use = run.serverUse[mode]
  return {
    mode,
    ...{ n: sum('n'), expected: sum('expected'), lost: sum('lost') },
    ...{ duplicated: sum('duplicated'), reordered: sum('reordered') },
    smallestP50Ms: own.at(0)?.p50Ms ?? null,
    largestP50Ms: own.at(-1)?.p50Ms ?? null,
    /** Largest size up to which every one takes at most `alikeWithin` times as long as the smallest; null without times. */
    flatToBytes: flatTo(own),
    serverCpuMs: significant(use?.cpuMs ?? Number.NaN),
    serverRssBytes: significant(use?.rssBytes ?? Number.NaN),
  }
}

/** `own`: of one mode, ascending. */
function flatTo(own: readonly SizeSummary[]): number | null {
  const least = own[0]?.p50Ms
  if (least == null) return null
  const next = own.findIndex(({ p50Ms }) => p50Ms === null || p50Ms > alikeWithin * least)
  return (next < 0 ? own.at(-1) : own[next - 1])?.bytes ?? null
}

function findingOf(
  { modes, sizes: all }: Pick<Run, 'modes' | 'sizes'>,
  sizes: readonly SizeSummary[],
): string {
  const at = (bytes: number) => sizes.filter((size) => size.bytes === bytes)
  const [smallest, largest] = [all.at(0), all.at(-1)]
  if (smallest === undefined || largest === undefined || sizes.every(({ n }) => n === 0))
    return 'No transmission time was measured.'
  const flat = modes.map((mode) => flatTo(sizes.filter(({ subject }) => subject === mode)))
  const flatBytes = Math.min(...flat.map((bytes) => bytes ?? 0))
  const size = flat.includes(null)
    ? []
    : flatBytes > smallest
      ? [
          `Up to ${sizeOf(flatBytes)} the size hardly counts: at most ${alikeWithin} times the time of ${sizeOf(smallest)} in every mode`,
        ]
      : [`The size counts from ${sizeOf(all[1] ?? largest)} on in some mode`]
  const ends = at(largest).toSorted(
    (one, other) => (one.p50Ms ?? Number.POSITIVE_INFINITY) - (other.p50Ms ?? Number.POSITIVE_INFINITY),
  )
  const times = ends.map(({ subject, p50Ms, lost, expected }) =>
    p50Ms === null
      ? `${spokenName(subject)} lost all`
      : `${figure(p50Ms)} ms by ${spokenName(subject)}${lost > 0 ? ` (${lost} of ${expected} lost)` : ''}`,
  )
  const end =
    all.length > 1
      ? `${sizeOf(largest)} takes ${times.join(', ')}`
      : `${sizeOf(largest)} takes ${times.join(', ')}`
  const alike = modes.length > 1 ? [alikeWords(all.filter((bytes) => areAlike(at(bytes))))] : []
  const lost = sizes.reduce((sum, one) => sum + one.lost, 0)
  const losses = lost > 0 ? [`${lost} samples were lost`] : []
  return `${[...size, end].join('; ')}. ${[...alike, ...losses].map((words) => `${words}.`).join(' ')}`.trim()
}

const alikeWords = (sizes: readonly number[]) =>
  sizes.length === 0
    ? `At no size are the modes within ${alikeWithin} times the fastest`
    : `Within ${alikeWithin} times the fastest, the modes are alike at ${sizes.map(sizeOf).join(', ')}`

function areAlike(sizes: readonly SizeSummary[]): boolean {
  const times = sizes.flatMap(({ p50Ms }) => p50Ms ?? [])
  return times.length === sizes.length && Math.max(...times) <= alikeWithin * Math.min(...times)
}
