// Compares modes over a run's sessions: ratios, differences, verdicts, and their report section.

import { holm, mean, meanOfClusters, meanOfRatios } from '../../client/statistics.ts'
import { intervals } from '../report/charts.ts'
import {
  capital,
  count,
  type Figure,
  figure,
  interval,
  probability,
  type Section,
  signed,
  table,
  text,
} from '../report/section.ts'
import { labelOf, opponentLabel, spokenName } from './mode-names.ts'
import type { Circumstances } from './run-environment.ts'
import { bySession, hasArrived, type Sample, timesOf, transmissionMs } from './samples.ts'
import {
  ascending,
  clustersFor,
  median,
  outerThirds,
  quantile,
  rounded,
  roundedInterval,
} from './statistics.ts'

/** The smallest difference that matters, in ms or in percent of the baseline's mean. */
interface Matters {
  readonly amount: number
  readonly unit: 'ms' | '%'
}

/** For a run without a fixed number of sessions. */
export interface Until {
  readonly matters: Matters
  readonly outcome: 'decided' | 'limit'
}

interface Pair {
  readonly mode: string
  readonly baseline: string
}

type Contrast = NonNullable<ReturnType<typeof contrast>>
export type Comparison = ReturnType<typeof decide>
type Compared = ReturnType<typeof compare>

/**
 * `notCompared`: fewer than two sessions in which messages arrived on both sides, or a mean of one
 * is not above 0. All p are corrected together.
 */
export function compare(
  samples: readonly Sample[],
  pairs: readonly Pair[],
  boundMs: number,
  matters: Matters | undefined,
) {
  const contrasts = pairs.map(({ mode, baseline }) => contrast(samples, mode, baseline))
  const found = contrasts.filter((one) => one !== undefined)
  const corrected = holm(found.map(({ p }) => p))
  return {
    comparisons: found.map((one, place) =>
      decide(one, corrected[place] ?? 1, boundMs, matters && mattersIn(samples, one.baseline, matters)),
    ),
    notCompared: pairs.filter((_, place) => contrasts[place] === undefined),
  }
}

/**
 * The unit is the session: messages of one session resemble each other more than those of different
 * ones. Each session gives one ratio of means, their difference, and one ratio of medians; a
 * message counts once, with its mean over the windows. Ratios are pooled by their logarithms. `p`
 * tests the ratio of the means against 1: where a machine's speed changes from run to run, a ratio
 * of means holds and a difference does not (docs/measuring.md, "Check the intervals").
 */
export function contrast(samples: readonly Sample[], mode: string, baseline: string) {
  const of = (name: string) => sessionsOf(samples.filter((sample) => sample.mode === name))
  const others = new Map(of(baseline).map((one) => [one.session, one]))
  const sessions = of(mode).flatMap((own) => {
    const other = others.get(own.session)
    if (!other || own.times.length === 0 || other.times.length === 0) return []
    const ownMs = mean(own.messageMeans)
    const otherMs = mean(other.messageMeans)
    const medianRatio = median(own.times) / median(other.times)
    const p95Ratio = quantile(ascending(own.times), 0.95) / quantile(ascending(other.times), 0.95)
    const differenceMs = ownMs - otherMs
    const meanRatio = ownMs / otherMs
    return [{ session: own.session, differenceMs, meanRatio, medianRatio, p95Ratio }]
  })
  // If clocks differ, a mean may be below 0, which has no ratio.
  if (sessions.length < 2 || sessions.some(({ meanRatio }) => !(meanRatio > 0 && meanRatio < Infinity)))
    return undefined
  const means = meanOfRatios(sessions.map(({ meanRatio }) => meanRatio))
  const medians = meanOfRatios(sessions.map(({ medianRatio }) => medianRatio))
  const difference = meanOfClusters(sessions.map(({ differenceMs }) => differenceMs))
  return {
    mode,
    baseline,
    p: means.p,
    meanRatio: means.ratio,
    meanRatioCi95: means.interval,
    difference: difference.difference,
    interval: difference.interval,
    medianRatio: medians.ratio,
    medianRatioCi95: medians.interval,
    sessions,
  }
}

/** Sessions of one mode, in order. `messageMeans`: over the windows that received each message. */
export function sessionsOf(samples: readonly Sample[]) {
  return bySession(samples).map(([session, inSession]) => {
    const messages = [...Map.groupBy(inSession.filter(hasArrived), ({ id }) => id).values()]
    const times = messages.map((message) => message.map(transmissionMs))
    return { session, times: times.flat(), messageMeans: times.map(mean) }
  })
}

/**
 * For a direct comparison. A mode is called the fastest only if all of these hold, so no correction
 * for their number is needed (R. L. Berger, "Multiparameter Hypothesis Testing and Acceptance
 * Sampling", Technometrics 24, 1982).
 */
export function isBelow(found: Contrast | undefined, boundMs: number): boolean {
  return found !== undefined && found.meanRatioCi95[1] < 1 && -found.difference > boundMs
}

/** In ms, and as a share of the baseline's mean. */
function mattersIn(samples: readonly Sample[], baseline: string, { amount, unit }: Matters) {
  const meanMs = mean(timesOf(samples.filter(({ mode }) => mode === baseline)))
  return unit === 'ms'
    ? { ms: amount, share: amount / meanMs }
    : { ms: (amount / 100) * meanMs, share: amount / 100 }
}

/** Mode over baseline: below 1 is faster. */
function decide(
  found: Contrast,
  pCorrected: number,
  boundMs: number,
  matters: ReturnType<typeof mattersIn> | undefined,
) {
  const { mode, baseline, difference, meanRatio, meanRatioCi95, p, sessions } = found
  const [low, high] = meanRatioCi95
  const isOpen = pCorrected > 0.05 || (low <= 1 && high >= 1) || Math.abs(difference) <= boundMs
  const isAlike = matters !== undefined && low > 1 / (1 + matters.share) && high < 1 + matters.share
  const faster = meanRatio < 1 ? ('faster' as const) : ('slower' as const)
  return {
    mode,
    baseline,
    differenceMs: rounded(difference),
    ci95Ms: roundedInterval(found.interval),
    p,
    pCorrected,
    verdict: isOpen ? (isAlike ? ('alike' as const) : ('undecided' as const)) : faster,
    mattersMs: matters ? rounded(matters.ms) : null,
    mattersShare: matters ? rounded(matters.share) : null,
    meanRatio: rounded(meanRatio),
    meanRatioCi95: roundedInterval(meanRatioCi95),
    medianRatio: rounded(found.medianRatio),
    medianRatioCi95: roundedInterval(found.medianRatioCi95),
    sessions: sessions.map(({ session, differenceMs, meanRatio, medianRatio }) => ({
      session,
      differenceMs: rounded(differenceMs),
      meanRatio: rounded(meanRatio),
      medianRatio: rounded(medianRatio),
    })),
  }
}

/**
 * Whether every interval is at most as wide as the smallest difference that matters: it then
 * excludes 1, or lies within that difference. A rule by the width alone, not by the verdict, keeps
 * the intervals valid although they are checked after each session (Y. S. Chow and H. Robbins, "On
 * the Asymptotic Theory of Fixed-Width Sequential Confidence Intervals", Ann. Math. Statist. 36,
 * 1965).
 */
export function isDecided({ comparisons, notCompared }: Compared): boolean {
  return notCompared.length === 0 && comparisons.every((one) => widthInMatters(one) <= 1)
}

/**
 * The total number of sessions after which every interval would be at most as wide as this share of
 * the baseline's mean, default what matters, if they differ as these do.
 */
export function sessionsNeeded(
  comparisons: readonly Comparison[],
  sessions: number,
  share: number | null = null,
): number {
  const widest = Math.max(1, ...comparisons.map((one) => widthInMatters(one, share ?? one.mattersShare)))
  return clustersFor(sessions, 1 / widest)
}

/**
 * Width on the logarithmic scale, where the distance from a ratio of 1 to the smallest that matters
 * is one.
 */
function widthInMatters(
  { meanRatioCi95: [low, high], mattersShare }: Comparison,
  share: number | null = mattersShare,
): number {
  return share === null ? 0 : Math.log(high / low) / Math.log(1 + share)
}

export type Drift = ReturnType<typeof driftsOf>[number]

/**
 * Whether a mode became slower or faster within its sessions: mean of the last third of its
 * messages minus that of the first, one figure per session. Omits modes with fewer than two such
 * sessions.
 */
export function driftsOf(modes: readonly string[], samples: readonly Sample[], boundMs: number) {
  const found = modes.flatMap((mode) => {
    const own = samples.filter((sample) => sample.mode === mode)
    const inOrder = own.toSorted((one, other) => one.key - other.key)
    const differences = sessionsOf(inOrder).flatMap(({ messageMeans }) => {
      const [first, last] = outerThirds(messageMeans)
      return first.length === 0 ? [] : [mean(last) - mean(first)]
    })
    return differences.length < 2
      ? []
      : [{ mode, sessions: differences.length, ...meanOfClusters(differences) }]
  })
  const corrected = holm(found.map(({ p }) => p))
  return found.map(({ mode, sessions, difference, interval, p }, place) => {
    const pCorrected = corrected[place] ?? 1
    const isFound = pCorrected <= 0.05 && Math.abs(difference) > boundMs
    const verdict = !isFound ? 'none found' : difference > 0 ? 'slower' : 'faster'
    const differenceMs = rounded(difference)
    return { mode, sessions, differenceMs, ci95Ms: roundedInterval(interval), p, pCorrected, verdict }
  })
}

export const opponentOf = ({ mode, baseline }: Pair) => opponentLabel(baseline, mode)
export const overLabel = (pair: Pair) => `${labelOf(pair.mode)} / ${opponentOf(pair)}`

type RatioRow = Parameters<typeof intervals>[0][number] & { readonly outcome?: string }

/** Each ratio with its interval and the sessions' ratios. `references`: vertical lines. */
export function ratiosFigure(
  rows: readonly RatioRow[],
  look: { readonly caption: string; readonly axis: string; readonly references: readonly number[] },
): Figure {
  const words = rows.map(
    ({ label, point, interval: ends, outcome }) =>
      `${label}: ${figure(point)}, ${interval(ends)}${outcome ? `, ${outcome}` : ''}`,
  )
  const { caption, ...others } = look
  return { caption, description: words.join('; '), draw: (width) => intervals(rows, { width, ...others }) }
}

interface Shown extends Compared {
  readonly sessions: number
  readonly until: Until | null
  readonly stopped?: Circumstances['stopped']
  readonly clock: { readonly boundMs: number }
}

export function comparisonsSection(summary: Shown): Section {
  const { comparisons, notCompared, sessions } = summary
  const { boundMs } = summary.clock
  const title = 'Comparisons'
  const missing = notCompared.map(
    ({ mode, baseline }) =>
      `${capital(spokenName(mode))} could not be compared with ${spokenName(baseline)}: ${sessions < 2 ? 'one session gives no interval' : 'messages arrived on both sides in fewer than two sessions, or clock errors put one mean below 0'}.`,
  )
  if (comparisons.length === 0) return { title, paragraphs: ['Nothing was compared.', ...missing] }
  const rows = comparisons.map((comparison) => ({
    label: overLabel(comparison),
    point: comparison.meanRatio,
    interval: comparison.meanRatioCi95,
    isDecided: comparison.verdict !== 'undecided',
    outcome: comparison.verdict,
    sessions: comparison.sessions.map(({ meanRatio }) => meanRatio),
  }))
  const caption =
    'Ratio to the other’s mean, with the 95 % interval. Left of 1 the first mode is faster. Filled: decided; hollow: undecided. Small ticks: the ratio in each session.'
  const axis = '← faster   ratio to the other’s mean   slower →'
  return {
    title,
    figure: ratiosFigure(rows, { caption, axis, references: [1] }),
    tables: [testsTable(comparisons, boundMs), sessionsTable(comparisons)],
    paragraphs: [
      `Each of the ${count(sessions)} sessions starts everything afresh and gives one ratio of means. More messages in a session would not make a comparison more certain, because they resemble each other; more sessions would: about ${count(clustersFor(sessions, 0.5))} for intervals half as wide.`,
      'The test is Student’s t, two-sided, over the logarithms of the ratios. Its p is corrected for all comparisons of the run (Holm); each interval is for its comparison alone. Verdicts use the ratio, which holds when the machine becomes faster or slower; a difference in milliseconds holds only for this machine at this time.',
      `A comparison is undecided if the corrected p is above 0.05, if the interval of the ratio contains 1, or if the difference is no larger than the clocks’ error of ${figure(boundMs)} ms.`,
      ...untilWords(summary),
      ...missing,
    ],
  }
}

/** Why the run ended when it did; empty if the number of sessions was fixed. */
function untilWords({ until, stopped, comparisons, sessions }: Shown): readonly string[] {
  if (!until) return []
  const { amount, unit } = until.matters
  const least = unit === 'ms' ? `${amount} ms` : `${amount} % of the mean compared with`
  const alike = `A difference of less than ${least} does not matter; if the whole interval of the ratio is within it, the modes are called alike.`
  const end =
    until.outcome === 'decided'
      ? `The run continued until every interval was at most that wide, for ${count(sessions)} sessions.`
      : `${stopped ? 'It was stopped' : 'The time limit ended it'} after ${count(sessions)} sessions; about ${count(sessionsNeeded(comparisons, sessions))} would have made every interval that narrow.`
  return [`${alike} ${end}`]
}

function testsTable(comparisons: readonly Comparison[], boundMs: number) {
  const undecided = (differenceMs: number) =>
    Math.abs(differenceMs) <= boundMs ? 'undecided (clock)' : 'undecided (chance)'
  return table(
    'Ratio to the other’s mean, and the difference of the means in milliseconds',
    [
      ...['Mode / against', 'Ratio', '95 % interval', 'Difference', '95 % interval'],
      ...[text('Verdict'), 'p', 'p corrected', 'Sessions'],
    ],
    comparisons.map((one) => [
      ...[overLabel(one), one.meanRatio, interval(one.meanRatioCi95)],
      ...[signed(one.differenceMs), interval(one.ci95Ms)],
      one.verdict === 'undecided' ? undecided(one.differenceMs) : one.verdict,
      ...[probability(one.p), probability(one.pCorrected), count(one.sessions.length)],
    ]),
  )
}

function sessionsTable(comparisons: readonly Comparison[]) {
  const all = new Set(comparisons.flatMap(({ sessions }) => sessions.map(({ session }) => session)))
  const numbers = [...all].sort((a, b) => a - b)
  return table(
    'The same ratio in each session',
    ['Mode / against', ...numbers.map((session) => `Session ${session}`)],
    comparisons.map((comparison) => {
      const found = new Map(comparison.sessions.map(({ session, meanRatio }) => [session, meanRatio]))
      return [overLabel(comparison), ...numbers.map((session) => found.get(session))]
    }),
  )
}
