// The report of `keystrokes`: sections and CSV.

import type { EditorName } from '../../server/wire/messages.ts'
import { editorOf, imitatedBy, isPeer, labelOf, spokenName, withoutEditor } from '../lab/mode-names.ts'
import { hasArrived, type Sample, totals, transmissionMs } from '../lab/samples.ts'
import { cumulative, distribution, isLogarithmic, timeline } from '../report/charts.ts'
import { lineColour } from '../report/figure-file.ts'
import { csv, csvTime } from '../report/render.ts'
import {
  count,
  figure,
  interval,
  megabytes,
  range,
  type Section,
  signed,
  spread,
  table,
  text,
} from '../report/section.ts'
import { publishedMeansMs, type Run, type Summary } from './keystrokes-summary.ts'

/** Times are ms since the epoch; empty is "never". */
export function samplesCsv(samples: readonly Sample[]): string {
  return csv(
    [
      ...(['mode', 'session', 'block', 'key', 'id', 'receiver'] as const),
      ['own', ({ receiver }) => receiver === 1],
      ...(['sentAt', 'receivedAt'] as const),
      ['transmission_ms', (sample) => csvTime(hasArrived(sample) ? transmissionMs(sample) : null)],
      ...([
        'inputAt',
        'arrivedAt',
        'acceptedAt',
        'committingAt',
        'storedAt',
        'writtenAt',
        'appliedAt',
      ] as const),
      ...(['paintedAt', 'sentBytes', 'receivedBytes', 'copies', 'reordered'] as const),
    ],
    samples,
  )
}

export function modesSection({ modes, baseline, sessions }: Summary): Section {
  const columns = [
    ...['Mode', 'Mean ± sd', 'Median', 'p95', 'p99', 'Max.'],
    ...(sessions > 1 ? ['Means of the sessions'] : []),
    ...['Received', 'Expected', 'Lost', 'Dup.', 'Reord.'],
  ]
  const rows = modes.map((mode) => {
    const means = mode.sessionMeansMs.filter((one) => one !== null)
    return [
      mode.mode === baseline ? `${labelOf(mode.mode)} (baseline)` : labelOf(mode.mode),
      ...[spread(mode.meanMs, mode.sdMs), mode.p50Ms, mode.p95Ms, mode.p99Ms, mode.maxMs],
      ...(sessions > 1
        ? [means.length === 0 ? '–' : `${figure(Math.min(...means))} to ${figure(Math.max(...means))}`]
        : []),
      ...[mode.n, mode.expected, mode.lost, mode.duplicated, mode.reordered].map(count),
    ]
  })
  return {
    title: 'Transmission times',
    tables: [table('Modes of this run; times in milliseconds', columns, rows)],
    paragraphs: [
      'A sample is one message at one receiving window; its time runs from being handed to the transport to being received. Lost samples have no time: they are counted, and are in no mean.',
    ],
  }
}

/** Ratios compare roughly across machines; milliseconds do not. */
const ratioBase = 'websocket/1.1'

export function paperSection({ modes }: Summary): Section {
  // With both editors, the one of the paper.
  const meanHere = (name: string) =>
    modes.find(({ mode }) => mode === name || mode === `${name} mirror`)?.meanMs ?? Number.NaN
  return {
    title: 'Beside the 2021 paper',
    tables: [
      table(
        'Here, and in the paper’s Table 1 (n = 200); means in milliseconds, and how many times WebSocket’s they are',
        ['Mode', 'Here', 'Ratio here', 'Paper', 'Ratio in paper'],
        Object.entries(publishedMeansMs).map(([mode, published]) => [
          ...[labelOf(mode), meanHere(mode), meanHere(mode) / meanHere(ratioBase)],
          ...[String(published), published / publishedMeansMs[ratioBase]],
        ]),
      ),
    ],
    paragraphs: [
      'The paper measured with three computers on a LAN in 2021. Milliseconds of different machines cannot be compared; ratios within one set of machines can, with care. It printed no standard deviations, so how sure its ratios are is unknown.',
    ],
  }
}

export const nothingArrived: Section = {
  title: 'Every sample',
  paragraphs: ['Nothing arrived: there is nothing to draw.'],
}

/** Every sample by its time, how many arrive within a time, and every sample by its key. */
export function sampleSections({ modes, samples }: Run): readonly [Section, Section, Section] {
  const keys = samples.reduce((most, { key }) => Math.max(most, key), 0)
  const arrived = samples.filter(hasArrived).map((sample) => ({
    mode: sample.mode,
    key: (sample.session - 1) * keys + sample.key,
    turn: `${sample.session}.${sample.block}`,
    ms: transmissionMs(sample),
  }))
  const byMode = Map.groupBy(arrived, ({ mode }) => mode)
  const rows = modes.map((mode) => ({
    label: labelOf(mode),
    colour: isPeer(mode) ? 'var(--peer)' : 'var(--accent)',
    values: byMode.get(mode) ?? [],
  }))
  const expected = Map.groupBy(samples, ({ mode }) => mode)
  const kinds = [...new Set(modes.map(kindOf))]
  const curves = rows.map((row, place) => {
    const mode = modes[place] ?? ''
    const colour = lineColour(kinds.indexOf(kindOf(mode)))
    const isDashed = isPeer(mode) || editorOf(mode) === 'mirror'
    return { ...row, colour, isDashed, expected: expected.get(mode)?.length ?? 0 }
  })
  const labels = modes.map(labelOf).join('; ')
  const isLog = isLogarithmic(arrived.map(({ ms }) => ms))
  const axis = isLog ? 'The axis is logarithmic' : 'The axis is linear, as some times are not above 0'
  const byTime = {
    caption: `Transmission time of every sample, in milliseconds. ${axis} and cut nowhere. A dot is one sample, set higher or lower only to lie free. Below the dots: the middle half (thick), the 5th to the 95th percentile (thin) and the median (upright, with its figure).`,
    description: `Distribution of transmission times for ${labels}. The table of transmission times gives the same in figures.`,
    draw: (width: number) => distribution(rows, width),
  }
  const hasLost = curves.some(({ values, expected }) => values.length < expected)
  const hasDashes = curves.some(({ isDashed }) => isDashed)
  const byShare = {
    caption: `How many of all samples had arrived within a time, in milliseconds${isLog ? ' (logarithmic)' : ''}. Read from the left: where a line crosses 50 % is its median; at 95 % all but one sample in twenty have arrived. A line further left is faster; where two cross, neither is faster for all samples.${hasDashes ? ' A dashed line has the colour of the mode that it is compared with.' : ''}${hasLost ? ' A line that ends below 100 % lost the rest.' : ''}`,
    description: `Cumulative distribution of transmission times for ${labels}. The table of transmission times gives median, 95th and 99th percentile.`,
    draw: (width: number) => cumulative(curves, width),
  }
  const byKey = {
    caption: `Transmission time in milliseconds${isLog ? ' (logarithmic)' : ''} by key, in the order of sending, one session after the other. Upright lines part the turns of the mode, between which the other modes had theirs.`,
    description: `Transmission time of each sample by key for ${labels}.`,
    draw: (width: number) => timeline(rows, width),
  }
  return [
    { title: 'Every sample', figure: byTime },
    { title: 'How many arrive within a time', figure: byShare },
    { title: 'Through the run', figure: byKey },
  ]
}

/** `sse/2` of `bare:sse/2` and of `sse/2 mirror`: they share a colour. */
const kindOf = (mode: string) => imitatedBy(mode) ?? withoutEditor(mode)

export function bytesSection({ modes, parameters: { editors } }: Summary): Section {
  const sizes = table(
    'Mean size of a message as JSON, in bytes',
    ['Mode', 'The typist sends', 'Each window receives'],
    modes.map(({ mode, sentBytes, receivedBytes }) => [labelOf(mode), sentBytes, receivedBytes]),
  )
  const has = (editor: EditorName) => String(editors).includes(editor)
  const sentences = [
    has('shared') &&
      'The shared editor sends the change of a key, at once: its server ran with mergeMs 0, so that one key is one message.',
    has('mirror') && 'Mirroring sends the whole content at each key.',
    modes.some(({ mode }) => isPeer(mode)) && 'Peers’ pages send the whole content at each key.',
    'Sizes are without the framing of transport, HTTP and TLS. Over XHR the first is the body of the request; the second has the log’s number and time too.',
  ]
  return { title: 'What a key weighs', tables: [sizes], paragraphs: [sentences.filter(Boolean).join(' ')] }
}

export function slowestSection({ samples }: Run): Section {
  const slowest = samples
    .filter(hasArrived)
    .toSorted((a, b) => transmissionMs(b) - transmissionMs(a))
    .slice(0, 5)
  return {
    title: 'Samples that do not fit',
    tables: [
      table(
        'The five slowest samples',
        ['Message', 'Time, ms', text('Mode'), 'Session', 'Block', 'Key', 'Window'],
        slowest.map((sample) => [
          ...[sample.id, transmissionMs(sample), labelOf(sample.mode)],
          ...[sample.session, sample.block, sample.key, sample.receiver].map(String),
        ]),
      ),
    ],
    paragraphs: ['No sample was left out as an outlier: these five are in every figure of this report.'],
  }
}

export function costSection({ modes }: Summary): Section {
  return {
    title: 'What the server spent',
    tables: [
      table(
        'Processor time over all turns of a mode, and the highest resident memory in them',
        ['Mode', 'CPU, ms', 'CPU a sample received, µs', 'Memory'],
        modes.map(({ mode, n, serverCpuMs, serverRssBytes }) => [
          ...[labelOf(mode), serverCpuMs, serverCpuMs && (1000 * serverCpuMs) / n, megabytes(serverRssBytes)],
        ]),
      ),
    ],
    paragraphs: [
      'Memory is that of the whole server process: a later block can inherit what an earlier one of another mode took.',
    ],
  }
}

export function doubtsSection({ clock, drifts, modes, sessions }: Summary): Section {
  const changed = drifts.filter(({ verdict }) => verdict !== 'none found')
  const drift = ({ mode, differenceMs, ci95Ms }: (typeof drifts)[number]) =>
    `${spokenName(mode)} ${signed(differenceMs)} ms (${interval(ci95Ms)})`
  const trend =
    'from the first to the last third of a mode’s messages in each session, in the mean over the sessions'
  const drifted =
    drifts.length === 0
      ? 'one session cannot tell a trend from chance.'
      : changed.length === 0
        ? `none was found ${trend}: ${drifts.map(drift).join('; ')}. A trend smaller than these intervals would not be seen.`
        : `${trend} the time changed: ${changed.map(drift).join('; ')}. The modes took turns, so that what changed with time met all of them; the means hold for sessions of this length.`
  const worth = modes.flatMap(({ effectiveN }) => effectiveN ?? [])
  const resembled =
    worth.length === 0
      ? 'how far sessions differ is not known from one session, so that there is no interval.'
      : `by how far the sessions’ means lie apart, the samples of a mode are worth ${range(worth, count)} independent ones, by a rough estimate from ${count(sessions)} sessions. Intervals are over sessions for that reason; the deviations and quantiles of the tables describe samples.`
  const { expected, lost } = totals(modes)
  const missing =
    lost === 0
      ? `none of ${count(expected)} samples was; no mean leaves out a slow one for it.`
      : `${count(lost)} of ${count(expected)} samples were, and are in no mean. If the slow ones are those that were lost, the means are too low.`
  return {
    title: 'Doubts',
    paragraphs: [
      `Clock: two windows’ stamps may differ by up to ${figure(clock.boundMs)} ms, and so may every time and every difference. A difference no larger than that is called undecided.`,
      `Drift: ${drifted}`,
      `Dependence: samples of one session resemble each other; ${resembled}`,
      `Lost: ${missing}`,
    ],
  }
}
