// The verdict of a keystroke run, what it means to people and programs, and what to do next.

import { type Comparison, opponentOf, sessionsNeeded, type Until } from '../lab/comparisons.ts'
import { durationWords } from '../lab/estimate.ts'
import { isPeer, spokenName, variantOf, withoutVariant } from '../lab/mode-names.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { capital, count, listed } from '../report/section.ts'
import { networksVerdict, type summariseNetworks } from './keystrokes-networks.ts'

interface ModeFigures {
  readonly mode: string
  /** At the windows that do not type; null if nothing arrived. */
  readonly meanMs: number | null
  /** At all windows, as the counts below. */
  readonly n: number
  readonly expected: number
  readonly lost: number
  readonly duplicated: number
  readonly reordered: number
  readonly serverCpuMs: number | null
}

/** A direct comparison: below 1 the first mode is faster. */
interface Ratio {
  readonly meanRatio: number
  readonly meanRatioCi95: readonly [number, number]
}

interface Found extends Pick<Circumstances, 'startedAt' | 'finishedAt'> {
  readonly modes: readonly ModeFigures[]
  readonly comparisons: readonly Comparison[]
  /** The networks over which each mode was measured, the first for comparison; empty with one network. */
  readonly networks: readonly string[]
  readonly overNetworks: ReturnType<typeof summariseNetworks>
  readonly baseline: string
  readonly sessions: number
  readonly until: Until | null
  /** For `--quick`: the time that the run would take without it. */
  readonly quick: { readonly fullMs: number } | null
  /** Of two modes; undefined without an interval. */
  readonly ratioOf: (mode: string, other: string) => Ratio | undefined
  /** Whether the first is faster, by a test of its own. */
  readonly isApart: (best: string, other: string) => boolean
}

type Timed = ModeFigures & { readonly meanMs: number }

export function findingOf(found: Found): { readonly finding: string; readonly remarks: readonly string[] } {
  const timed = found.modes
    .filter((mode): mode is Timed => mode.meanMs !== null && !isPeer(mode.mode))
    .toSorted((a, b) => a.meanMs - b.meanMs)
  const faults = found.modes.flatMap(faultWords).join('; ')
  const { verdict, remarks } = verdictOf(found, timed)
  return {
    finding: `${faults && `${capital(faults)}. `}${verdict}`,
    remarks: [...remarks, ...peersWords(found), ...nextWords(found, timed.length)],
  }
}

function verdictOf(found: Found, timed: readonly Timed[]) {
  const { comparisons, overNetworks, networks } = found
  if (networks.length > 0) {
    const { verdict, remarks } = networksVerdict(overNetworks, networks, comparisons)
    return { verdict, remarks: [...latenessWords(timed, networks), ...remarks] }
  }
  const [best, ...others] = timed
  return {
    verdict: best ? capital(verdictWords(found, best, others)) : 'No transmission time was measured.',
    remarks: best && others.length > 0 ? meaningWords(best, others) : [],
  }
}

/** `WebSocket lost 3 of 1,000 samples, reordered 1`; empty without faults. */
function faultWords({ mode, expected, lost, duplicated, reordered }: ModeFigures): readonly string[] {
  const some = lost === expected ? `all ${count(expected)}` : `${count(lost)} of ${count(expected)}`
  const words = [
    lost > 0 && `lost ${some} samples`,
    duplicated > 0 && `duplicated ${count(duplicated)}`,
    reordered > 0 && `reordered ${count(reordered)}`,
  ].filter(Boolean)
  return words.length === 0 ? [] : [`${spokenName(mode)} ${words.join(', ')}`]
}

/** Names every mode, the one with the lowest mean first. */
function verdictWords(found: Found, best: Timed, others: readonly Timed[]): string {
  const name = spokenName(best.mode)
  const mean = `${inMs(best.meanMs)} on average`
  if (others.length === 0) return `${name} took ${mean}; it was the only mode of Crosswind in this run.`
  if (found.comparisons.every(({ baseline }) => baseline !== found.baseline)) {
    const all = [best, ...others].map(({ mode, meanMs }) => `${spokenName(mode)} ${inMs(meanMs)}`)
    const why =
      found.sessions === 1
        ? 'one session cannot show how far sessions differ'
        : 'messages arrived in too few sessions, or clock errors put a mean below 0'
    return `Undecided: ${why}. On average ${listed(all)}.`
  }
  const judged = others.map((other) => ({ other, outcome: outcomeOf(found, best.mode, other.mode) }))
  const of = (one: (typeof judged)[number]['outcome']) =>
    judged.filter(({ outcome }) => outcome === one).map(({ other }) => other)
  const open = of('undecided')
  const alike = of('alike')
  const slower = of('slower')
  let level = '95 % interval '
  /** `a took 1.19 times as long (95 % interval 1.11 to 1.27) and b 1.52 times (1.44 to 1.60)`. */
  const longer = (modes: readonly Timed[]) => {
    const words = modes.map(({ mode, meanMs }, place) => {
      const [verb, asLong] = place === 0 ? [' took', ' as long'] : ['', '']
      const ratio = found.ratioOf(mode, best.mode)
      if (!ratio) return `${spokenName(mode)}${verb} ${inMs(meanMs)}`
      const interval = `${level}${ends(ratio.meanRatioCi95)}`
      level = ''
      return `${spokenName(mode)}${verb} ${ratioFigure(ratio.meanRatio)} times${asLong} (${interval})`
    })
    return listed(words)
  }
  const near = [...open, ...alike]
  const rivals = [best, ...near].map(({ mode }) => spokenName(mode))
  const mattersMs = found.comparisons.find(({ baseline }) => baseline === found.baseline)?.mattersMs ?? 0
  const rivalWords =
    slower.length === 0 && rivals.length > 2
      ? 'which mode is fastest'
      : `whether ${listed(rivals, 'disjunction')} is ${rivals.length > 2 ? 'fastest' : 'faster'}`
  const rest = () => (slower.length > 0 ? ` ${capital(longer(slower))}.` : '')
  if (open.length > 0) return `Undecided ${rivalWords}: ${name} took ${mean}, ${longer(near)}.${rest()}`
  if (alike.length > 0)
    return `No difference that matters between ${listed(rivals)}: ${name} took ${mean}, ${longer(near)}; ${inMs(mattersMs)} would matter.${rest()}`
  const rank = others.length > 1 ? `the fastest of ${others.length + 1} modes` : 'faster'
  return `${name} was ${rank}, by ${noticedWords((others.at(-1) ?? best).meanMs - best.meanMs)}. It took ${mean}; ${longer(slower)}.`
}

/** Of the mode with the lowest mean against another. */
function outcomeOf({ comparisons, baseline, isApart }: Found, best: string, other: string) {
  const one = comparisons.find(
    (comparison) =>
      comparison.baseline === baseline && comparison.mode === (best === baseline ? other : best),
  )
  if (best !== baseline && other !== baseline) return isApart(best, other) ? 'slower' : 'undecided'
  if (one?.verdict === 'alike') return 'alike'
  return one?.verdict === (best === baseline ? 'slower' : 'faster') ? 'slower' : 'undecided'
}

/**
 * The delay that people noticed when they moved a mouse: the most sensitive of them, and half of
 * them. V. Forch, T. Franke, N. Rauh and J. F. Krems, "Are 100 ms Fast Enough? Characterizing Latency
 * Perception Thresholds in Mouse-Based Interaction" (EPCE 2017, LNCS 10276), section 4.1: 34 to 137
 * ms, median 54 ms.
 */
const noticed = { leastMs: 34, medianMs: 54, source: 'Forch and others, 2017' } as const

const noticedWhen = `in a test with a mouse, half of the people noticed a delay of ${noticed.medianMs} ms, and none noticed one below ${noticed.leastMs} ms (${noticed.source})`

function noticedWords(betweenMs: number): string {
  if (betweenMs < noticed.leastMs) return 'less than a person would notice'
  return `enough for ${betweenMs < noticed.medianMs ? 'some' : 'most'} people to notice`
}

/** What the last network adds to the first, with the mode that it slows least and the one that it slows most. */
function latenessWords(timed: readonly Timed[], networks: readonly string[]): readonly string[] {
  const first = networks[0]
  const last = networks.at(-1)
  const added = timed
    .filter(({ mode }) => variantOf(mode) === last)
    .flatMap(({ mode, meanMs }) => {
      const name = withoutVariant(mode)
      const usual = timed.find((other) => other.mode === `${name} ${first}`)
      return usual ? [{ name: spokenName(name), ms: meanMs - usual.meanMs }] : []
    })
    .toSorted((a, b) => a.ms - b.ms)
  const least = added[0]
  const most = added.at(-1)
  if (!least || !most || least.ms <= 0) return []
  const also = least === most ? '' : ` and ${inMs(most.ms)} later with ${most.name}`
  return [
    `Over ${last} a message came ${inMs(least.ms)} later than over ${first} with ${least.name}${also}, which is ${noticedWords(most.ms)}: ${noticedWhen}.`,
  ]
}

function meaningWords(best: Timed, others: readonly Timed[]): readonly string[] {
  const slowest = others.at(-1) ?? best
  const fast = spokenName(best.mode)
  const slow = spokenName(slowest.mode)
  const betweenMs = slowest.meanMs - best.meanMs
  const people = `Between ${fast} and ${slow} lie ${inMs(betweenMs)}, which is ${noticedWords(betweenMs)}: ${noticedWhen}.`
  const rate = ({ meanMs }: Timed) => count(Math.round(1000 / meanMs))
  const programs = `A program that waits for each message before the next one sends ${rate(best)} a second with ${fast} and ${rate(slowest)} with ${slow}.`
  const micros = [best, slowest].map(({ serverCpuMs, n }) => ((serverCpuMs ?? Number.NaN) * 1000) / n)
  const [less = Number.NaN, more = Number.NaN] = micros
  const server = `The server spent ${shortly(less)} µs of processor time on a delivery with ${fast} and ${shortly(more)} µs with ${slow}.`
  const machines = [best.meanMs > 0 && programs, Number.isFinite(less + more) && server].filter(Boolean)
  return [people, ...(machines.length > 0 ? [machines.join(' ')] : [])]
}

/** One sentence for all peers; each is in it. */
function peersWords({ modes, comparisons }: Found): readonly string[] {
  const against = comparisons.filter(({ baseline }) => isPeer(baseline))
  const compared = [...Map.groupBy(against, ({ mode }) => mode)].map(([mode, own]) => {
    const times = own.map((one) => {
      const doubt = one.verdict === 'undecided' ? ', undecided' : ''
      return `${ratioFigure(one.meanRatio)} times as long as ${opponentOf(one)} (${ends(one.meanRatioCi95)}${doubt})`
    })
    return `${spokenName(mode)} took ${listed(times)}`
  })
  const alone = modes
    .filter(({ mode }) => isPeer(mode) && !against.some(({ baseline }) => baseline === mode))
    .map(({ mode, meanMs }) =>
      meanMs === null ? `${spokenName(mode)} received nothing` : `${spokenName(mode)} took ${inMs(meanMs)}`,
    )
  const all = [...compared, ...alone]
  return all.length === 0 ? [] : [`Other systems: ${all.join('; ')}.`]
}

/** Smaller differences are not worth more sessions. */
const leastShare = 0.05

/** What the run could not decide, and what would. */
function nextWords(found: Found, subjects: number): readonly string[] {
  const { comparisons, sessions, until, quick, startedAt, finishedAt } = found
  const sessionMs = (Date.parse(finishedAt) - Date.parse(startedAt)) / Math.max(1, sessions)
  if (quick) {
    const widths = comparisons.map(({ meanRatioCi95: [low, high] }) => Math.sqrt(high / low))
    const limit =
      widths.length === 0 ? 'which mode is faster' : `differences below ${shareWords(Math.max(...widths))}`
    return [
      `A quick run cannot decide ${limit}, nor how slow the slowest keys are. Without --quick it takes about ${durationWords(quick.fullMs)}.`,
    ]
  }
  if (comparisons.length === 0)
    return sessions === 1 && subjects > 1
      ? [`To decide, use --sessions 5: about ${durationWords(5 * sessionMs)}.`]
      : []
  const open = comparisons.filter(({ verdict }) => verdict === 'undecided')
  if (open.length === 0 || until?.outcome === 'decided') return []
  const seen = open.map(({ meanRatio }) => Math.max(meanRatio, 1 / meanRatio) - 1)
  const isSmall = !until && seen.some((share) => share < leastShare)
  const needed = Math.max(
    ...open.map((one, place) =>
      sessionsNeeded([one], sessions, until ? null : Math.max(leastShare, seen[place] ?? 0)),
    ),
  )
  const wholeMs = needed * sessionMs
  const how = until ? `--limit ${Math.ceil(wholeMs / 60_000)}` : `--sessions ${needed}`
  const what = isSmall ? `tell differences of ${shareWords(1 + leastShare)}` : 'decide'
  return [`To ${what}, use ${how}: about ${durationWords(wholeMs)}.`]
}

/** `30 %`, or `a factor of 2.1`. */
const shareWords = (ratio: number) =>
  ratio < 2 ? `${Math.round(100 * (ratio - 1))} %` : `a factor of ${ratioFigure(ratio)}`

const inMs = (value: number) => `${shortly(value)} ms`

/** `1.20 to 1.60`. */
const ends = ([low, high]: readonly [number, number]) => `${ratioFigure(low)} to ${ratioFigure(high)}`

/** Two decimals below 10, since the range from 1.0 to 1.1 matters. */
const ratioFigure = (value: number) => (value < 10 ? value.toFixed(2) : shortly(value))

/** Two decimals below 1, one below 100, none above. */
function shortly(value: number): string {
  const size = Math.abs(value)
  return value.toFixed(size < 1 ? 2 : size < 100 ? 1 : 0).replace('-', '−')
}
