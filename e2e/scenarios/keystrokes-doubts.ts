// Doubts about the samples of a keystroke run: a trend within its sessions, and how far samples depend on each other.

import { holm, mean, meanOfClusters, standardDeviation } from '../../client/statistics.ts'
import { spokenName } from '../lab/mode-names.ts'
import { bySession, hasArrived, type Sample, transmissionMs } from '../lab/samples.ts'
import { outerThirds, rounded, roundedInterval } from '../lab/statistics.ts'
import { count, interval, range, type Section, signed } from '../report/section.ts'

/**
 * Whether a mode became slower or faster within its sessions: mean of the last third of its
 * messages minus that of the first, one figure per session. Omits modes with fewer than two such
 * sessions.
 */
export function driftsOf(modes: readonly string[], samples: readonly Sample[], boundMs: number) {
  const found = modes.flatMap((mode) => {
    const own = samples.filter((sample) => sample.mode === mode)
    const inOrder = own.toSorted((one, other) => one.key - other.key)
    const differences = bySession(inOrder).flatMap(([, inSession]) => {
      const messageMeans = messageMeansOf(inSession)
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

/** Mean transmission time of each message that arrived, over the windows. */
const messageMeansOf = (samples: readonly Sample[]) =>
  [...Map.groupBy(samples.filter(hasArrived), ({ id }) => id).values()].map((message) =>
    mean(message.map(transmissionMs)),
  )

/**
 * The number of independent samples whose mean would be as precise as these sessions' means: the
 * samples' variance over the variance of the mean of the sessions. Rough with few sessions; at most
 * `n`; null below two sessions.
 */
export function effectiveN(
  n: number,
  sd: number | null,
  sessionMeans: readonly (number | null)[],
): number | null {
  const known = sessionMeans.filter((one) => one !== null)
  const variance = standardDeviation(known) ** 2 / known.length
  return sd === null || known.length < 2 || variance === 0
    ? null
    : Math.min(n, Math.round(sd ** 2 / variance))
}

type Drift = ReturnType<typeof driftsOf>[number]

/** `worth`: the samples of each mode, in independent ones. */
export function doubtsSection(drifts: readonly Drift[], worth: readonly number[], sessions: number): Section {
  const changed = drifts.filter(({ verdict }) => verdict !== 'none found')
  const drift = ({ mode, differenceMs, ci95Ms }: Drift) =>
    `${spokenName(mode)} ${signed(differenceMs)} ms (${interval(ci95Ms)})`
  const trend =
    'from the first to the last third of a mode’s messages in each session, averaged over the sessions'
  const drifted =
    drifts.length === 0
      ? 'one session cannot tell a trend from chance.'
      : changed.length === 0
        ? `none was found ${trend}: ${drifts.map(drift).join('; ')}. A trend smaller than these intervals would not be seen.`
        : `${trend} the time changed: ${changed.map(drift).join('; ')}. The modes took turns, so that changes over time affected all of them; the means hold for sessions of this length.`
  const resembled =
    worth.length === 0
      ? 'how far sessions differ is not known from one session, so there is no interval.'
      : `the samples of a mode are worth ${range(worth, count)} independent ones, by a rough estimate from how far the means of ${count(sessions)} sessions differ.`
  return {
    title: 'Doubts',
    isMethod: true,
    paragraphs: [`Drift: ${drifted}`, `Dependence: ${resembled}`],
  }
}
