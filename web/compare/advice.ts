// What to do after a comparison: the advice as data, and the sentences that say it.

import type { Interval } from '../../client/statistics.ts'
import { type WindowMode, windowModeNamed } from '../../protocol/modes.ts'
import { formatMs } from '../page/late-wording.ts'
import { estimateOf, isSlower, type Row, ranked, timesAsLong } from './comparison.ts'

/**
 * A mode that lost messages or failed is never advised. `next`: the fastest other mode that is not
 * certainly slower; if all are, the fastest of them.
 */
export type Advice =
  /** `best` is certainly faster than the mode in use, which takes `times` as long. */
  | { readonly kind: 'faster'; readonly best: Row; readonly inUse: Row; readonly times: Interval }
  /** All others are certainly slower than the mode in use: `next` takes `times` as long. */
  | { readonly kind: 'fastest'; readonly inUse: Row; readonly next: Row; readonly times: Interval }
  /** None is certainly faster than the mode in use. */
  | { readonly kind: 'undecided'; readonly inUse: Row; readonly next: Row }
  /** The same, but `next` lost messages or failed. */
  | { readonly kind: 'lossyNext'; readonly inUse: Row; readonly next: Row }
  /** The mode in use lost messages or failed, `best` did not, and none is certainly faster. */
  | { readonly kind: 'lossyInUse'; readonly inUse: Row; readonly best: Row }
  /** Every mode with a figure lost messages or failed. */
  | { readonly kind: 'allLossy' }
  /** No other mode than `best` has a figure. */
  | { readonly kind: 'only'; readonly best: Row; readonly inUse: WindowMode | null }
  /** The mode in use has no figure, or is none of this browser's. `times`: null if `next` may be as fast. */
  | {
      readonly kind: 'best'
      readonly best: Row
      readonly next: Row
      readonly times: Interval | null
      readonly inUse: WindowMode | null
    }
  | { readonly kind: 'none' }

const isReliable = ({ sent, received, failure }: Row) => failure === null && received === sent

/** `nameInUse`: of the window's mode; null for a result that was measured elsewhere. */
export function advise(rows: readonly Row[], nameInUse: string | null): Advice {
  const measured = ranked(rows).filter((row) => estimateOf(row) !== null)
  const best = measured.find(isReliable)
  if (measured.length === 0) return { kind: 'none' }
  if (!best) return { kind: 'allLossy' }

  // Every interval has this mode at one end, so that all of them can be corrected together.
  const inUse = measured.find(({ mode }) => mode.name === nameInUse)
  const reference = inUse ?? best
  const others = measured.filter((row) => row !== reference)
  const mode = (nameInUse && windowModeNamed(nameInUse)) || null
  const isOpen = (row: Row) => !isSlower(timesAsLong(row, reference, others.length))
  const next = others.find(isOpen) ?? others[0]
  if (!next) return { kind: 'only', best, inUse: mode }
  const ratio = timesAsLong(next, reference, others.length)
  const times = isSlower(ratio) ? ratio : null
  if (!inUse) return { kind: 'best', best, next, times, inUse: mode }

  for (const row of others.filter(isReliable)) {
    const gained = timesAsLong(inUse, row, others.length)
    if (isSlower(gained)) return { kind: 'faster', best: row, inUse, times: gained }
  }
  if (!isReliable(inUse)) return { kind: 'lossyInUse', inUse, best }
  if (times) return { kind: 'fastest', inUse, next, times }
  return { kind: isReliable(next) ? 'undecided' : 'lossyNext', inUse, next }
}

interface Sentences {
  readonly sentence: string
  readonly reason: string
}

export function formatAdvice(advice: Advice): Sentences {
  switch (advice.kind) {
    case 'none':
      return { sentence: 'No mode gets through.', reason: 'Each row says why.' }
    case 'allLossy':
      return {
        sentence: 'No mode is reliable.',
        reason: 'Every one that opened lost messages or its connection. Measure again.',
      }
    case 'only': {
      const { best, inUse } = advice
      if (inUse === best.mode)
        return { sentence: `Keep ${inWords(best)}.`, reason: 'No other mode could be measured.' }
      const window = inUse && `, not even ${inWords({ mode: inUse })}, which this window uses`
      return {
        sentence: `Only ${inWords(best)} works${inUse ? ' here' : ''}.`,
        reason: `No other mode could be measured${window ?? ''}.`,
      }
    }
    case 'best':
      return formatBest(advice)
    case 'faster': {
      const { best, inUse, times } = advice
      return {
        sentence: `Use ${inWords(best)} here.`,
        reason: `It is ${formatTimes(times)} as fast as ${inWords(inUse)}, which this window uses: ${against(best, inUse)}.`,
      }
    }
    case 'lossyInUse': {
      const { best, inUse } = advice
      return {
        sentence: `${inWords(inUse)} is not reliable here.`,
        reason: `It ${lossOf(inUse)}. ${inWords(best)} lost nothing: ${against(best, inUse)}.`,
      }
    }
    default:
      return { sentence: `Keep ${inWords(advice.inUse)}.`, reason: reasonToKeep(advice) }
  }
}

function reasonToKeep(advice: Extract<Advice, { kind: 'fastest' | 'undecided' | 'lossyNext' }>): string {
  const { kind, inUse, next } = advice
  const maybe = `${inWords(next)} ${mayBe(next, inUse)} here`
  if (kind === 'fastest')
    return `It is the fastest here: ${formatMs(figureOf(inUse))}. ${formatSlower(next, advice.times)}`
  if (kind === 'lossyNext') return `${maybe} (${against(next, inUse)}), but ${lossOf(next)}.`
  const not = isFaster(next, inUse) ? ': not certain' : ''
  return `${maybe}${not} (${against(next, inUse)}).`
}

function formatBest({ best, next, times, inUse }: Extract<Advice, { kind: 'best' }>): Sentences {
  const is = times ? 'is' : 'may be'
  const figure = formatMs(figureOf(best))
  const but = isReliable(next) ? '' : `, but ${lossOf(next)}`
  const reason = times
    ? `It takes ${figure}. ${formatSlower(next, times)}`
    : `It takes ${figure}. ${inWords(next)} ${mayBe(next, best)} (${formatMs(figureOf(next))})${but}.`
  if (!inUse) return { sentence: `${inWords(best)} ${is} the fastest there.`, reason }
  return {
    sentence: `Of those measured, ${inWords(best)} ${is} the fastest.`,
    reason: `${inWords({ mode: inUse })}, which this window uses, could not be measured. ${reason}`,
  }
}

/** Within a sentence. */
export const inWords = ({ mode }: Pick<Row, 'mode'>) => mode.label.replace(', HTTP/', ' over HTTP/')

const figureOf = (row: Row) => estimateOf(row)?.medianMs ?? Number.NaN

const isFaster = (row: Row, other: Row) => figureOf(row) < figureOf(other)

const mayBe = (row: Row, other: Row) => `may be ${isFaster(row, other) ? 'faster' : 'just as fast'}`

const against = (row: Row, other: Row) => `${formatMs(figureOf(row))} against ${formatMs(figureOf(other))}`

const formatSlower = (next: Row, times: Interval) =>
  `${inWords(next)}, the next, takes ${formatTimes(times)} as long.`

/** Such as `1.8 to 2.4 times`, or `1.02 to 1.1 times`. */
function formatTimes(times: Interval): string {
  const [from, to] = times.map((ratio) => ratio.toFixed(ratio < 1.095 ? 2 : ratio < 9.95 ? 1 : 0))
  return from === to ? `${from} times` : `${from} to ${to} times`
}

/** A predicate. */
function lossOf({ sent, received }: Row): string {
  return received < sent ? `lost ${sent - received} of ${sent} messages` : 'did not stay connected'
}
