// What the samples of `keystrokes` say: figures by mode, comparisons and the finding.

import { mean, standardDeviation } from '../../server/wire/t-test.ts'
import {
  type Comparison,
  compare,
  contrast,
  driftsOf,
  isBelow,
  sessionsOf,
  type Until,
} from '../lab/comparisons.ts'
import { editorOf, imitatedBy, isPeer, soundPeer, spokenName, withoutEditor } from '../lab/mode-names.ts'
import { type RunWindow, summariseWindow } from '../lab/participants.ts'
import type { Circumstances, Network } from '../lab/run-environment.ts'
import { hasArrived, type Sample, sessionsIn, summariseSamples, transmissionMs } from '../lab/samples.ts'
import { bytesOf, pathOf, stagesOf } from '../lab/stages.ts'
import { significant } from '../lab/statistics.ts'
import type { RunClock, Use } from '../lab/testbed.ts'
import type { PeerFacts } from '../peers/peers.ts'
import { count } from '../report/section.ts'
import { type GrownDocument, summariseGrowing } from './growing-document.ts'
import { knownFaultsOf } from './keystrokes-peers.ts'

export interface Run extends Circumstances {
  readonly modes: readonly string[]
  readonly baseline: string
  readonly samples: readonly Sample[]
  /** Over all of a mode's blocks. */
  readonly serverUse: Readonly<Record<string, Use>>
  /** Absent unless asked for. */
  readonly growing?: readonly GrownDocument[]
  /** Absent where the number of sessions was fixed. */
  readonly until?: Until
  /** What the peers are; absent without any. */
  readonly peers?: readonly PeerFacts[]
  /** Absent where windows reach the server without a simulated network. */
  readonly network?: Network
  /** Where some are not of this machine: in order of `receiver`. */
  readonly windows?: readonly RunWindow[]
  readonly clock: RunClock
}

/**
 * Mean transmission times in ms: 2021 thesis on SSE and XHR over HTTP/2, Table 1 (section 5); n = 200, three computers
 * on a LAN. It gives no standard deviation, hence no intervals here.
 */
export const publishedMeansMs = { 'sse/2': 79.889, 'sse/1.1': 198.45, 'websocket/1.1': 88.171 } as const

export type Summary = ReturnType<typeof analyse>
export type ModeSummary = ReturnType<typeof summariseMode>

export function analyse(run: Run) {
  const {
    samples,
    serverUse: _,
    network = null,
    until = null,
    peers = [],
    windows = [],
    ...circumstances
  } = run
  const { baseline, clock } = run
  const sessions = sessionsIn(samples)
  const modes = run.modes.map((mode) => summariseMode(run, mode))
  const { comparisons, notCompared } = compare(samples, pairsOf(run), clock.boundMs, until?.matters)
  const isApart = (best: string, other: string) => isBelow(contrast(samples, best, other), clock.boundMs)
  const words = findingOf({ modes, comparisons, baseline, sessions, isApart })
  return {
    scenario: 'keystrokes',
    ...circumstances,
    ...{ sessions, until, network, peers, modes },
    windows: windows.map((window) => summariseWindow(run.modes, samples, window)),
    growing: summariseGrowing(run.growing ?? []),
    knownFaults: knownFaultsOf(run.modes, samples),
    ...{ comparisons, notCompared },
    drifts: driftsOf(run.modes, samples, clock.boundMs),
    finding: network ? `Over the simulated network “${network.profile}”: ${words}` : words,
  }
}

/** Times in ms over all samples, (message, receiving window); null without arrivals. */
function summariseMode(run: Run, mode: string) {
  const samples = run.samples.filter((sample) => sample.mode === mode)
  const use = run.serverUse[mode]
  const sessionMeans = sessionsOf(samples).map(({ times }) => (times.length === 0 ? Number.NaN : mean(times)))
  const times = samples.filter(hasArrived).map(transmissionMs)
  return {
    mode,
    ...summariseSamples(samples, transmissionMs),
    /** In order of the sessions; null for one in which nothing arrived. */
    sessionMeansMs: sessionMeans.map(significant),
    effectiveN: effectiveN(times.length, standardDeviation(times), sessionMeans),
    ...bytesOf(samples),
    serverCpuMs: significant(use?.cpuMs ?? Number.NaN),
    serverRssBytes: significant(use?.rssBytes ?? Number.NaN),
    ...stagesOf(samples),
    path: pathOf(samples),
  }
}

/**
 * How many independent samples would have a mean as sure as these sessions' means say: the samples' variance over the
 * variance of the mean of the sessions. Rough with few sessions; at most `n`; null below two sessions.
 */
export function effectiveN(n: number, sd: number, sessionMeans: readonly number[]): number | null {
  const known = sessionMeans.filter(Number.isFinite)
  const variance = standardDeviation(known) ** 2 / known.length
  return known.length < 2 || variance === 0 ? null : Math.min(n, Math.round(sd ** 2 / variance))
}

/** Each mode against the baseline, then the shared editor against mirroring in the same mode, then against peers. */
export function pairsOf({ modes, baseline }: Pick<Run, 'modes' | 'baseline'>) {
  const own = modes.filter((mode) => !isPeer(mode))
  const peersOf = (mode: string) =>
    modes.filter((peer) => imitatedBy(peer) === withoutEditor(mode) && soundPeer(peer) === peer)
  const mirrorsOf = (mode: string) =>
    modes.filter((other) => editorOf(other) === 'mirror' && other === `${withoutEditor(mode)} mirror`)
  return [
    ...own.filter((mode) => mode !== baseline).map((mode) => ({ mode, baseline })),
    ...own
      .filter((mode) => editorOf(mode) === 'shared')
      .flatMap((mode) => mirrorsOf(mode).map((mirror) => ({ mode, baseline: mirror })))
      .filter((pair) => pair.baseline !== baseline),
    ...own.flatMap((mode) => peersOf(mode).map((peer) => ({ mode, baseline: peer }))),
  ]
}

interface Found extends Pick<Summary, 'modes' | 'comparisons' | 'baseline' | 'sessions'> {
  readonly isApart: (best: string, other: string) => boolean
}
type Timed = ModeSummary & { readonly meanMs: number }

function findingOf(found: Found): string {
  const timed = found.modes.filter((mode): mode is Timed => mode.meanMs !== null && !isPeer(mode.mode))
  const [best] = timed.toSorted((a, b) => a.meanMs - b.meanMs)
  const verdict = best ? bestWords(found, best, timed.length) : 'No transmission time was measured'
  const faults = found.modes.flatMap(faultWords).join('; ')
  return `${faults && `${faults}. `}${verdict}.`
}

/** `WebSocket lost 3 of 1,000 samples, reordered 1`; empty without faults. */
function faultWords({ mode, expected, lost, duplicated, reordered }: ModeSummary): readonly string[] {
  const some = lost === expected ? `all ${count(expected)}` : `${count(lost)} of ${count(expected)}`
  const words = [
    lost > 0 && `lost ${some} samples`,
    duplicated > 0 && `duplicated ${count(duplicated)}`,
    reordered > 0 && `reordered ${count(reordered)}`,
  ].filter(Boolean)
  return words.length === 0 ? [] : [`${spokenName(mode)} ${words.join(', ')}`]
}

function bestWords(
  { comparisons, baseline, sessions, isApart }: Found,
  best: Timed,
  subjects: number,
): string {
  const name = spokenName(best.mode)
  const lowest = `${name} had the lowest mean, ${inMs(best.meanMs)}`
  const contrasts = comparisons.filter((one) => one.baseline === baseline)
  if (contrasts.length === 0 && sessions === 1 && subjects > 1)
    return `Undecided: ${lowest}, in one session, which cannot tell how far sessions differ`
  if (contrasts.length === 0)
    return `${name} took ${inMs(best.meanMs)} on average, and there was nothing to compare it with`
  /** How much longer than the best the other mode of a comparison took. */
  const longer = ({ mode, differenceMs, ci95Ms, meanRatio, meanRatioCi95 }: Comparison) => {
    const isBest = mode === best.mode
    const times = (ratio: number) => (isBest ? 1 / ratio : ratio)
    const apart = (difference: number) => (isBest ? -difference : difference)
    const ratio = `${ratioFigure(times(meanRatio))} times as long (${ends(meanRatioCi95.map(times), ratioFigure)})`
    const byMs = `${inMs(apart(differenceMs))} (${ends(ci95Ms.map(apart))})`
    return `${spokenName(isBest ? baseline : mode)} took ${ratio}, a difference of ${byMs}`
  }
  const undecided = (one: Comparison) =>
    `Undecided: ${lowest}, but that ${longer(one)}, is within chance or the clock's error`
  const alike = (one: Comparison) =>
    `No difference that matters: ${lowest}; ${longer(one)}, where ${inMs(one.mattersMs ?? 0)} would matter`
  const fastest = (rank: string, one: Comparison) =>
    `${name} ${rank}: ${inMs(best.meanMs)} on average; ${longer(one)}`
  if (best.mode === baseline) {
    const open = contrasts.find(({ verdict }) => verdict !== 'slower')
    if (open) return open.verdict === 'alike' ? alike(open) : undecided(open)
    const nearest = contrasts.reduce((least, one) => (one.meanRatio < least.meanRatio ? one : least))
    return fastest(`was ${contrasts.length > 1 ? 'fastest' : 'faster'}`, nearest)
  }
  const lead = contrasts.find(({ mode }) => mode === best.mode)
  if (lead === undefined) return `Undecided: ${lowest}, and no comparison`
  if (lead.verdict === 'alike') return alike(lead)
  if (lead.verdict !== 'faster') return undecided(lead)
  const rivals = contrasts.filter((other) => other !== lead && !isApart(best.mode, other.mode))
  const rank =
    rivals.length === 0
      ? `was ${subjects > 2 ? 'fastest' : 'faster'}`
      : `had the lowest mean, not clearly below ${rivals.map(({ mode }) => spokenName(mode)).join(' and ')}`
  return fastest(rank, lead)
}

const inMs = (value: number) => `${shortly(value)} ms`

/** `1.2 to 1.6`, the lower end first. */
function ends(values: readonly number[], inWords = shortly): string {
  const [low = 0, high = 0] = values.toSorted((a, b) => a - b)
  return `${inWords(low)} to ${inWords(high)}`
}

/** Two decimals below 10: between 1.0 and 1.1 lies much. */
const ratioFigure = (value: number) => (value < 10 ? value.toFixed(2) : shortly(value))

/** Two decimals below 1, one below 100, none above. */
function shortly(value: number): string {
  const size = Math.abs(value)
  return value.toFixed(size < 1 ? 2 : size < 100 ? 1 : 0).replace('-', '−')
}
