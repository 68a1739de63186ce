// Says in one sentence what a run found: what went wrong first, then who was fastest, or that nobody can tell.

import type { ClockCheck } from '../samples.ts'
import type { ModeSummary } from './mode-summary.ts'
import { isPeer, spokenName } from './names.ts'
import type { Comparison } from './verdict.ts'

interface Found {
  readonly modes: readonly ModeSummary[]
  readonly comparisons: readonly Comparison[]
  readonly clock: ClockCheck
  readonly baseline: string
}

type Timed = ModeSummary & { readonly meanMs: number }

/** The finding over Crosswind's own modes; peers have their section in the report. */
export function findingOf(found: Found): string {
  const faults = found.modes.flatMap(faultsOf)
  const timed = found.modes.filter(isTimed).filter(({ mode }) => !isPeer(mode))
  const [best] = [...timed].sort((a, b) => a.meanMs - b.meanMs)
  const verdict = best === undefined ? 'no transmission time was measured' : sentence(found, best, timed)
  const opening = faults.length === 0 ? '' : `${faults.join('; ')}. `
  return `${opening}${verdict.charAt(0).toUpperCase()}${verdict.slice(1)}.`
}

function isTimed(summary: ModeSummary): summary is Timed {
  return summary.meanMs !== null
}

/** `WebSocket lost 3 of 1,000 samples and reordered 1`; nothing where nothing went wrong. */
function faultsOf({ mode, expected, lost, duplicated, reordered }: ModeSummary): readonly string[] {
  const counts = [
    lost > 0
      ? `lost ${lost === expected ? `all ${whole(expected)}` : `${whole(lost)} of ${whole(expected)}`} samples`
      : '',
    duplicated > 0 ? `duplicated ${whole(duplicated)}` : '',
    reordered > 0 ? `reordered ${whole(reordered)}` : '',
  ].filter((count) => count !== '')
  return counts.length === 0 ? [] : [`${spokenName(mode)} ${counts.join(', ')}`]
}

function sentence(found: Found, best: Timed, timed: readonly Timed[]): string {
  const name = spokenName(best.mode)
  const contrasts = found.comparisons.filter(({ baseline }) => baseline === found.baseline)
  if (contrasts.length === 0)
    return `${name} took ${ms(best.meanMs)} on average, and there was nothing to compare it with`
  if (best.mode === found.baseline) return baselineLeads(best, contrasts)
  const lead = contrasts.find(({ mode }) => mode === best.mode)
  if (lead === undefined)
    return `undecided: ${name} had the lowest mean, ${ms(best.meanMs)}, and no comparison`
  if (lead.verdict !== 'faster') return undecided(best, lead)
  const rivals = contrasts
    .filter((other) => other !== lead && !isApart(lead, other, found.clock))
    .map(({ mode }) => mode)
  return `${rank(name, rivals, timed.length)}: ${ms(best.meanMs)} on average, ${amount(lead)} less than ${spokenName(found.baseline)}`
}

/** Fastest, unless others that were not tested against it may be as fast. */
function rank(name: string, rivals: readonly string[], contenders: number): string {
  if (rivals.length > 0)
    return `${name} had the lowest mean, not clearly below ${rivals.map(spokenName).join(' and ')}`
  return `${name} was ${contenders > 2 ? 'fastest' : 'faster'}`
}

/**
 * Two modes that were each compared with the baseline only are told apart where their intervals do not touch and
 * their difference exceeds the clock's error: stricter than a test of the two would be.
 */
function isApart(lead: Comparison, other: Comparison, { boundMs }: ClockCheck): boolean {
  return lead.ci95Ms[1] < other.ci95Ms[0] && other.differenceMs - lead.differenceMs > boundMs
}

function baselineLeads(best: Timed, contrasts: readonly Comparison[]): string {
  const [nearest] = [...contrasts].sort((a, b) => a.differenceMs - b.differenceMs)
  const open = contrasts.find(({ verdict }) => verdict !== 'slower')
  if (open !== undefined) return undecided(best, open)
  if (nearest === undefined) return `${spokenName(best.mode)} took ${ms(best.meanMs)} on average`
  const who = contrasts.length > 1 ? 'fastest' : 'faster'
  return `${spokenName(best.mode)} was ${who}: ${ms(best.meanMs)} on average, ${amount(nearest)} less than ${spokenName(nearest.mode)}`
}

function undecided(best: Timed, { mode, baseline, differenceMs, ci95Ms: [low, high] }: Comparison): string {
  const [other, sign] = mode === best.mode ? [baseline, 1] : [mode, -1]
  const [from, to] = [sign * low, sign * high].sort((a, b) => a - b)
  const between = `${figure(sign * differenceMs)} ms (${figure(from ?? 0)} to ${figure(to ?? 0)})`
  return `undecided: ${spokenName(best.mode)} had the lowest mean, ${ms(best.meanMs)}, but its difference from ${spokenName(other)}, ${between}, is within chance or the clock's error`
}

/** `1.4 ms (1.2 to 1.6)`, without a sign. */
function amount({ differenceMs, ci95Ms: [low, high] }: Comparison): string {
  const [from, to] = [Math.abs(low), Math.abs(high)].sort((a, b) => a - b)
  return `${ms(Math.abs(differenceMs))} (${figure(from ?? 0)} to ${figure(to ?? 0)})`
}

function ms(value: number): string {
  return `${figure(value)} ms`
}

/** `1,000`. */
function whole(value: number): string {
  return value.toLocaleString('en-GB')
}

/** Two decimals below 1, one below 100, none above: three digits at most are worth saying. */
function figure(value: number): string {
  const size = Math.abs(value)
  return value.toFixed(size < 1 ? 2 : size < 100 ? 1 : 0).replace('-', '−')
}
