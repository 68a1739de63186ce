// Decides the comparisons of a run: which differences stand after correction, and which the clock cannot tell.

import type { ClockCheck } from '../samples.ts'
import type { BlockDifference, Contrast, Pair } from './comparison.ts'
import { holm } from './holm.ts'
import { rounded } from './significant.ts'

export type Verdict = 'faster' | 'slower' | 'undecided'

/**
 * One mode against another, mode minus baseline: negative is faster. The unit of the test, of both intervals and of
 * the bootstrap is the message (its mean over the windows that received it, or all of its samples together).
 */
export interface Comparison extends Pair {
  readonly messages: number
  readonly baselineMessages: number
  readonly differenceMs: number
  /** 95 % interval of the difference by Welch, low end first. */
  readonly ci95Ms: readonly [number, number]
  /** Welch's, two-sided. */
  readonly p: number
  /** After Holm, over all comparisons of the run. */
  readonly pCorrected: number
  readonly verdict: Verdict
  /** Median of the mode's samples over the baseline's. */
  readonly medianRatio: number
  readonly medianRatioCi95: readonly [number, number]
  readonly blocks: readonly BlockDifference[]
}

/** Corrects the p's over all comparisons of a run together, and decides each. */
export function decided(contrasts: readonly Contrast[], clock: ClockCheck): readonly Comparison[] {
  const corrected = holm(contrasts.map(({ p }) => p))
  return contrasts.map((found, place) => comparison(found, corrected[place] ?? 1, clock))
}

function comparison(found: Contrast, pCorrected: number, clock: ClockCheck): Comparison {
  const { mode, baseline, messages, baselineMessages, p } = found
  return {
    mode,
    baseline,
    messages,
    baselineMessages,
    differenceMs: rounded(found.difference),
    ci95Ms: roundedInterval(found.interval),
    p,
    pCorrected,
    verdict: verdictOf(found, pCorrected, clock.boundMs),
    medianRatio: rounded(found.medianRatio),
    medianRatioCi95: roundedInterval(found.ratioInterval),
    blocks: found.blocks.map(({ block, differenceMs }) => ({ block, differenceMs: rounded(differenceMs) })),
  }
}

/** Decided only where chance, the interval and the clock's error all leave no other reading. */
function verdictOf(
  { difference, interval: [low, high] }: Contrast,
  pCorrected: number,
  boundMs: number,
): Verdict {
  const isOpen = pCorrected > 0.05 || (low <= 0 && high >= 0) || Math.abs(difference) <= boundMs
  if (isOpen) return 'undecided'
  return difference < 0 ? 'faster' : 'slower'
}

function roundedInterval([low, high]: readonly [number, number]): readonly [number, number] {
  return [rounded(low), rounded(high)]
}
