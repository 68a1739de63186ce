// Keystrokes over several networks: each mode beside itself over the first, and who waits for a lost packet.

import { mean } from '../../client/statistics.ts'
import { editorNames, labelOf, spokenName, variantOf, withoutVariant } from '../lab/mode-names.ts'
import { bySession, hasArrived, type Sample } from '../lab/samples.ts'
import { median, rounded, sessionRatio, significant } from '../lab/statistics.ts'
import type { StudyComparison } from '../lab/study.ts'
import { capital, count, formatRatio, listed, nothing, type Section, table } from '../report/section.ts'
import { ratiosFigure } from '../report/study-report.ts'

type Row = ReturnType<typeof latenessOver>

/** Multiple of the median over the usual network: a resent packet takes at least three one-way times. */
const lateTimes = 2

/** Networks over which each mode was measured, the first for comparison; empty with one network. */
export function networksIn(modes: readonly string[]): readonly string[] {
  const editors: readonly string[] = editorNames
  return [...new Set(modes.map(variantOf))].filter(
    (name) => name !== undefined && !editors.includes(name),
  ) as string[]
}

/** Each mode over each network; empty with one network. */
export function latenessOf(modes: readonly string[], samples: readonly Sample[]): readonly Row[] {
  const networks = networksIn(modes)
  const of = Map.groupBy(samples, ({ mode }) => mode)
  return networks.length === 0
    ? []
    : modes.map((mode) => {
        const usual = `${withoutVariant(mode)} ${usualFor(variantOf(mode) ?? '', networks)}`
        return latenessOver(mode, of.get(mode) ?? [], of.get(usual) ?? [])
      })
}

/** The same network without loss, else the first: what is late over `wan+5%` would be usual over `wan`. */
function usualFor(network: string, networks: readonly string[]): string {
  const [whole = ''] = network.split('+')
  return networks.includes(whole) ? whole : (networks[0] ?? '')
}

/** How long a late delivery takes. */
export function formatLate(networks: readonly string[]): string {
  const [first = ''] = networks
  const isFirst = networks.every((network) => usualFor(network, networks) === first)
  const usual = isFirst
    ? `over ${first}`
    : `over the same network without loss, or over ${first} if that was not measured,`
  return `more than ${lateTimes} times the median of the same mode ${usual} in the same session`
}

function latenessOver(mode: string, own: readonly Sample[], others: readonly Sample[]) {
  const usual = new Map(bySession(others))
  const sessions = bySession(own).map(([session, samples]) => [samples, usual.get(session) ?? []] as const)
  const messages = sessions.map(([samples, others]) => latenessIn(samples, others))
  const all = messages.flat()
  const late = all.filter(isLate)
  const sum = (name: 'windows' | 'late') => all.reduce((total, message) => total + message[name], 0)
  const windows = Math.max(0, ...all.map((message) => message.windows))
  const share = sum('late') / sum('windows')
  const sessionLateWindows = messages
    .map((session) => session.filter(isLate).map((message) => message.late))
    .filter((session) => session.length > 0)
    .map((session) => rounded(mean(session)))
  const { ratio, ratioCi95 } = sessionRatio(sessionLateWindows)
  return {
    mode,
    windows,
    messages: all.length,
    lateMessages: late.length,
    lateAtOne: late.filter((message) => message.late === 1).length,
    lateAtAll: late.filter((message) => message.late === message.windows).length,
    /** Late share of the deliveries. */
    lateShare: significant(share),
    /** At how many windows a message is late on average, if it is late at one. */
    lateWindows: ratio,
    lateWindowsCi95: ratioCi95,
    sessionLateWindows,
    /** The same, if each window were late independently of the others. */
    lateWindowsByChance: share > 0 ? rounded((windows * share) / (1 - (1 - share) ** windows)) : null,
  }
}

interface Lateness {
  /** Number of windows that received the message. */
  readonly windows: number
  /** Number of windows that waited for it on its way from the server. */
  readonly late: number
}

const isLate = ({ late }: Lateness) => late > 0

/** Lateness of each message of a session, compared with what is usual in it. */
function latenessIn(samples: readonly Sample[], usual: readonly Sample[]): readonly Lateness[] {
  const usualTimes = usual.flatMap(fromServerMs)
  if (usualTimes.length === 0) return []
  const mostMs = lateTimes * median(usualTimes)
  return [...Map.groupBy(samples, ({ id }) => id).values()].map((message) => {
    const times = message.flatMap(fromServerMs)
    return { windows: times.length, late: times.filter((ms) => ms > mostMs).length }
  })
}

const fromServerMs = (sample: Sample) =>
  hasArrived(sample) && sample.acceptedAt !== null ? [sample.receivedAt - sample.acceptedAt] : []

/** The same mode, over another network. */
const besideItself = ({ mode, baseline }: StudyComparison) =>
  withoutVariant(mode) === withoutVariant(baseline)

const overNetwork = <One extends { readonly mode: string }>(rows: readonly One[], network: string) =>
  rows.filter(({ mode }) => variantOf(mode) === network)

const nameOf = ({ mode }: { readonly mode: string }) => spokenName(withoutVariant(mode))

/** Verdict on the last network; then one sentence for each other, and who waits for a lost packet. */
export function networksVerdict(
  rows: readonly Row[],
  all: readonly StudyComparison[],
): { readonly verdict: string; readonly remarks: readonly string[] } {
  const [first = '', ...others] = networksIn(rows.map(({ mode }) => mode))
  const [last = '', ...before] = others.toReversed()
  const comparisons = all.filter(besideItself)
  const words = (network: string) => networkWords(overNetwork(comparisons, network), network, first)
  const hasIntervals = comparisons.some(({ ratioCi95 }) => ratioCi95 !== null)
  const level = hasIntervals
    ? 'In brackets: 95 % intervals.'
    : 'One session cannot show how far sessions differ.'
  const waiting = others.findLast((network) => overNetwork(rows, network).some(hasLate))
  return {
    verdict: `${words(last)} ${level}`,
    remarks: [
      ...(waiting === undefined ? [] : [formatWaiting(overNetwork(rows, waiting).filter(hasLate), waiting)]),
      ...before.map(words),
    ],
  }
}

/** Formats the ratio of each mode's times over a network to those over the first, the lowest ratio first. */
function networkWords(compared: readonly StudyComparison[], network: string, first: string): string {
  const measured = compared.toSorted((a, b) => a.ratio - b.ratio)
  if (measured.length === 0) return `Over ${network} no time was measured.`
  const times = (own: readonly StudyComparison[]) =>
    listed(
      own.map(({ ratio: times, ratioCi95, ...row }, place) => {
        const ratio = formatRatio(times, ratioCi95)
        return place === 0 ? `${nameOf(row)} took ${ratio} times as long` : `${nameOf(row)} ${ratio}`
      }),
    )
  const subject = ({ length }: readonly unknown[]) => {
    if (measured.length > 1 && length === measured.length) return 'Every mode was'
    return length === 1 ? 'One mode was' : `${count(length)} modes were`
  }
  const of = (verdict: StudyComparison['verdict']) => measured.filter((one) => one.verdict === verdict)
  const speeds = [
    ['higher', 'slower'],
    ['lower', 'faster'],
  ] as const
  const apart = speeds.flatMap(([verdict, speed]) => {
    const own = of(verdict)
    return own.length === 0
      ? []
      : [`${subject(own)} ${speed} over ${network} than over ${first}: ${times(own)}.`]
  })
  const alike = of('alike')
  const open = of('undecided')
  const undecided = `Undecided${apart.length === 0 ? ` whether ${network} or ${first} is faster` : ''}`
  return [
    ...apart,
    ...(alike.length === 0
      ? []
      : [`No difference that matters between ${network} and ${first}: ${times(alike)}.`]),
    ...(open.length === 0 ? [] : [`${undecided}: ${times(open)}.`]),
  ]
    .map(capital)
    .join(' ')
}

const hasLate = ({ lateMessages }: Row) => lateMessages > 0

/** Where windows wait together, and where they do no more than by chance. */
function formatWaiting(late: readonly Row[], network: string): string {
  const isTogether = ({ lateWindowsCi95, lateWindowsByChance }: Row) =>
    lateWindowsCi95 !== null && lateWindowsCi95[0] > (lateWindowsByChance ?? 0)
  const words = (own: readonly Row[]) =>
    listed(own.map((row) => `${formatRatio(row.lateWindows, row.lateWindowsCi95)} with ${nameOf(row)}`))
  const together = late.filter(isTogether)
  const apart = late.filter((row) => !isTogether(row))
  const windows = Math.max(...late.map((row) => row.windows))
  const sentences = [
    ...(together.length === 0 ? [] : [`at ${words(together)}, more than chance explains`]),
    ...(apart.length === 0 ? [] : [`at ${words(apart)}, which chance alone may explain`]),
  ]
  return `Over ${network} a message that was late at one of the ${count(windows)} windows was late ${sentences.join('; and ')}.`
}

/** Empty unless there are several networks. */
export function networksSections(
  rows: readonly Row[],
  comparisons: readonly StudyComparison[],
): readonly Section[] {
  const [first = '', ...others] = networksIn(rows.map(({ mode }) => mode))
  const lossy = others.flatMap((network) => overNetwork(rows, network))
  if (lossy.length === 0) return []
  const percent = (part: number, whole: number) =>
    whole === 0 ? nothing : `${count(part)} (${Math.round((100 * part) / whole)} %)`
  const drawn = lossy.flatMap(
    ({ mode, lateWindows, lateWindowsCi95: interval, sessionLateWindows: sessions }) =>
      lateWindows !== null && interval !== null
        ? [{ label: labelOf(mode), point: lateWindows, interval, sessions, isDecided: true }]
        : [],
  )
  const windows = Math.max(...lossy.map((row) => row.windows))
  const caption = `At how many windows a message is late, if it is late at one: 1 if each waits for its own packets alone, ${windows} if all wait together. With the 95 % interval; small ticks: each session.`
  return [
    {
      title: 'Beside the same mode over the first network',
      tables: [
        table(
          `Ratio to the same mode over ${first}, with the 95 % interval`,
          ['Mode', 'Mean', 'Median', 'p95'],
          comparisons
            .filter(besideItself)
            .map((one) => [
              labelOf(one.mode),
              formatRatio(one.ratio, one.ratioCi95),
              formatRatio(one.medianRatio, one.medianRatioCi95),
              formatRatio(one.p95Ratio, one.p95RatioCi95),
            ]),
        ),
      ],
      paragraphs: ['Each session gives one ratio; the intervals are over sessions.'],
    },
    {
      title: 'Who waits for a lost packet',
      ...(drawn.length > 0 && {
        figure: ratiosFigure(drawn, { caption, axis: 'windows late together', references: [1, windows] }),
      }),
      tables: [
        table(
          'Messages that were late on the way from the server',
          [
            'Mode',
            'Messages',
            'Late',
            'At one window alone',
            'At all windows',
            'Windows, if late',
            'By chance',
          ],
          rows.map((row) => [
            labelOf(row.mode),
            count(row.messages),
            percent(row.lateMessages, row.messages),
            percent(row.lateAtOne, row.lateMessages),
            percent(row.lateAtAll, row.lateMessages),
            formatRatio(row.lateWindows, row.lateWindowsCi95),
            row.lateWindowsByChance,
          ]),
        ),
      ],
      paragraphs: [
        `Late: from the server’s acceptance to the window it took ${formatLate([first, ...others])}; a packet that is sent again takes at least three times the one-way time. What is lost on the way to the server delays every window and does not count here. By chance: the windows that would be late together if each were late as often as here, but independently.`,
      ],
    },
  ]
}
