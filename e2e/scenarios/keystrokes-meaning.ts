// The meaning of a keystroke run's finding to people, programs and the server, and how peers did.

import { isPeer, opponentLabel, spokenName, variantOf, withoutVariant } from '../lab/mode-names.ts'
import type { Analysis } from '../lab/study.ts'
import { count, figure, listed } from '../report/section.ts'
import { ratioEnds, ratioFigure } from '../report/study-finding.ts'
import { type latenessOf, networksIn, networksVerdict } from './keystrokes-networks.ts'

/** `meanMs`: at the windows that do not type. */
interface Timed {
  readonly mode: string
  readonly meanMs: number
}

/** `lateness`: of each mode over each network, if there are several. */
export function meaningOf(found: Analysis, lateness: ReturnType<typeof latenessOf>): readonly string[] {
  const timed = found.figures
    .flatMap(({ mode, mean }): readonly Timed[] =>
      mean === null || isPeer(mode) ? [] : [{ mode, meanMs: mean }],
    )
    .toSorted((a, b) => a.meanMs - b.meanMs)
  const networks = networksIn(lateness.map(({ mode }) => mode))
  if (networks.length > 0)
    return [...formatLateness(timed, networks), ...networksVerdict(lateness, found.comparisons).remarks]
  const [best, ...others] = timed
  return [...(best && others.length > 0 ? formatMeaning(found, best, others) : []), ...formatPeers(found)]
}

/**
 * The delay that people noticed when they moved a mouse: the most sensitive of them, and half of
 * them. V. Forch, T. Franke, N. Rauh and J. F. Krems, "Are 100 ms Fast Enough? Characterizing Latency
 * Perception Thresholds in Mouse-Based Interaction" (EPCE 2017, LNCS 10276), section 4.1: 34 to 137
 * ms, median 54 ms.
 */
const noticed = { leastMs: 34, medianMs: 54, source: 'Forch and others, 2017' } as const

const noticedWhen = `in a test with a mouse, half of the people noticed a delay of ${noticed.medianMs} ms, and none noticed one below ${noticed.leastMs} ms (${noticed.source})`

function formatNoticed(betweenMs: number): string {
  if (betweenMs < noticed.leastMs) return 'less than a person would notice'
  return `enough for ${betweenMs < noticed.medianMs ? 'some' : 'most'} people to notice`
}

/** Formats what the last network adds to the first, with the modes that it slows least and most. */
function formatLateness(timed: readonly Timed[], networks: readonly string[]): readonly string[] {
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
    `Over ${last} a message came ${inMs(least.ms)} later than over ${first} with ${least.name}${also}, which is ${formatNoticed(most.ms)}: ${noticedWhen}.`,
  ]
}

function formatMeaning({ costs }: Analysis, best: Timed, others: readonly Timed[]): readonly string[] {
  const slowest = others.at(-1) ?? best
  const fast = spokenName(best.mode)
  const slow = spokenName(slowest.mode)
  const betweenMs = slowest.meanMs - best.meanMs
  const people = `Between ${fast} and ${slow} lie ${inMs(betweenMs)}, which is ${formatNoticed(betweenMs)}: ${noticedWhen}.`
  const rate = ({ meanMs }: Timed) => count(Math.round(1000 / meanMs))
  const programs = `A program that waits for each message before the next one sends ${rate(best)} a second with ${fast} and ${rate(slowest)} with ${slow}.`
  const micros = [best, slowest].map(
    ({ mode }) => costs.find((cost) => cost.mode === mode)?.serverCpuMicrosPerSample ?? Number.NaN,
  )
  const [less = Number.NaN, more = Number.NaN] = micros
  const server = `The server spent ${figure(less)} µs of processor time on a delivery with ${fast} and ${figure(more)} µs with ${slow}.`
  const machines = [best.meanMs > 0 && programs, Number.isFinite(less + more) && server].filter(Boolean)
  return [people, ...(machines.length > 0 ? [machines.join(' ')] : [])]
}

/** One sentence for all peers; each is in it. */
function formatPeers({ figures, comparisons }: Analysis): readonly string[] {
  const against = comparisons.filter(({ baseline }) => isPeer(baseline))
  const compared = [...Map.groupBy(against, ({ mode }) => mode)].map(([mode, own]) => {
    const times = own.map((one) => {
      const doubt = one.verdict === 'undecided' ? ', undecided' : ''
      const sure = one.ratioCi95 ? `${ratioEnds(one.ratioCi95)}${doubt}` : 'in one session'
      return `${ratioFigure(one.ratio)} times as long as ${opponentLabel(one.baseline, mode)} (${sure})`
    })
    return `${spokenName(mode)} took ${listed(times)}`
  })
  const alone = figures
    .filter(({ mode }) => isPeer(mode) && !against.some(({ baseline }) => baseline === mode))
    .map(({ mode, mean }) =>
      mean === null ? `${spokenName(mode)} received nothing` : `${spokenName(mode)} took ${inMs(mean)}`,
    )
  const all = [...compared, ...alone]
  return all.length === 0 ? [] : [`Other systems: ${all.join('; ')}.`]
}

const inMs = (value: number) => `${figure(value)} ms`
