// The paper's hypothesis tests, and the same question asked with what neighbouring readings have in common.

import { holm } from '../stats/holm.ts'
import { pairedDifference } from '../stats/paired-series.ts'
import { rounded } from '../stats/significant.ts'
import { summarise } from '../stats/summary.ts'
import { welch } from '../stats/welch.ts'
import { latenciesOfBoth } from './cells.ts'
import { clockBetweenMs } from './clocks.ts'
import { baseline, methodOf, modeOf } from './methods.ts'
import type { Site, WindRun } from './run.ts'

/** The paper's level. */
export const level = 0.99

/** Why a difference is left open: chance (Welch), neighbours (correlated readings), or the clocks. */
export type Doubt = 'chance' | 'neighbours' | 'clock'

/** Mode minus against, in ms: above 0 the mode is slower. */
export interface TestSummary {
  readonly site: string
  readonly mode: string
  readonly against: string
  /** Readings that both received. */
  readonly readings: number
  readonly differenceMs: number
  /** As the paper tested, each reading taken for independent; intervals at 99 %. */
  readonly welch: {
    readonly ci99Ms: readonly [number, number]
    readonly t: number
    readonly degreesOfFreedom: number
    readonly p: number
    /** After Holm over the run's comparisons that the paper did not make; null for the paper's own, which it did not correct. */
    readonly pCorrected: number | null
  }
  /** Reading by reading, with what neighbours have in common allowed for (`stats/paired-series.ts`). */
  readonly paired: {
    readonly ci99Ms: readonly [number, number]
    readonly p: number
    /** The differences are worth so many independent ones. */
    readonly effectiveReadings: number
  }
  /** Two windows' clocks here may differ by so much, ms. */
  readonly clockMs: number
  readonly verdict: 'slower' | 'faster' | 'undecided'
  readonly doubt: Doubt | null
}

type Found = Omit<TestSummary, 'verdict' | 'doubt'>

/** Per site: the paper's three, then each mode beside against WebSocket. Left out where fewer than two readings came to both. */
export function testsOf(run: WindRun): readonly TestSummary[] {
  const found = run.sites.flatMap((site) =>
    pairsOf(run.modes).flatMap((pair) => contrast(run, site, pair) ?? []),
  )
  const corrected = holm(found.filter(({ mode }) => !isPapers(mode)).map(({ welch: { p } }) => p))[
    Symbol.iterator
  ]()
  return found.map((test) =>
    decided(isPapers(test.mode) ? test : withCorrected(test, corrected.next().value ?? 1)),
  )
}

type Pair = readonly [mode: string, against: string]

/** WebSocket is not among the modes on the left. */
function pairsOf(modes: readonly string[]): readonly Pair[] {
  const others = modes.filter((mode) => mode !== baseline)
  const slower: Pair = [modeOf.polling, modeOf['long-polling']]
  const papers = others.filter(isPapers).map((mode): Pair => [mode, baseline])
  const both = slower.every((mode) => modes.includes(mode)) ? [slower] : []
  const beside = others.filter((mode) => !isPapers(mode)).map((mode): Pair => [mode, baseline])
  return [...papers, ...both, ...beside]
}

function isPapers(mode: string): boolean {
  return methodOf(mode) !== undefined
}

function contrast(run: WindRun, site: Site, [mode, against]: Pair): Found | undefined {
  const { first, second } = latenciesOfBoth(run, site.name, mode, against)
  if (first.length < 2) return undefined
  const unpaired = welch(summarise(first), summarise(second), level)
  const paired = pairedDifference(first, second, level)
  return {
    site: site.name,
    mode,
    against,
    readings: first.length,
    differenceMs: rounded(unpaired.difference),
    welch: {
      ci99Ms: roundedInterval(unpaired.interval),
      t: rounded(unpaired.t),
      degreesOfFreedom: rounded(unpaired.degreesOfFreedom),
      p: unpaired.p,
      pCorrected: null,
    },
    paired: {
      ci99Ms: roundedInterval(paired.interval),
      p: paired.p,
      effectiveReadings: Math.round(paired.effectiveSize),
    },
    clockMs: rounded(clockBetweenMs(run, site)),
  }
}

function withCorrected(test: Found, pCorrected: number): Found {
  return { ...test, welch: { ...test.welch, pCorrected } }
}

function decided(test: Found): TestSummary {
  const doubt = doubtOf(test)
  if (doubt) return { ...test, verdict: 'undecided', doubt }
  return { ...test, verdict: test.differenceMs < 0 ? 'faster' : 'slower', doubt }
}

function doubtOf({
  welch: { p, pCorrected },
  paired: { ci99Ms },
  differenceMs,
  clockMs,
}: Found): Doubt | null {
  if ((pCorrected ?? p) >= 1 - level) return 'chance'
  if (ci99Ms[0] <= 0 && ci99Ms[1] >= 0) return 'neighbours'
  return Math.abs(differenceMs) <= clockMs ? 'clock' : null
}

function roundedInterval([low, high]: readonly [number, number]): readonly [number, number] {
  return [rounded(low), rounded(high)]
}
