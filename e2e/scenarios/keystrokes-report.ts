// Report of a keystroke run: sections and files.

import { isPeer, labelOf, opponentLabel, spokenName } from '../lab/mode-names.ts'
import { clustersForHalf } from '../lab/statistics.ts'
import { distribution, intervals, isLogarithmic, timeline } from '../report/charts.ts'
import { csv, csvTime, reportFiles } from '../report/render.ts'
import {
  count,
  figure,
  interval,
  megabytes,
  moment,
  number,
  probability,
  runAgainSection,
  type Section,
  signed,
  spread,
  type Table,
  text,
} from '../report/section.ts'
import {
  type Comparison,
  growingIntervalMs,
  growingKeys,
  growingTurns,
  hasArrived,
  type ModeSummary,
  type Run,
  type Sample,
  type Summary,
  sessionsNeeded,
  stageNames,
  stages,
  transmissionMs,
} from './keystrokes-analysis.ts'

export function keystrokesFiles(run: Run, summary: Summary): Readonly<Record<string, string>> {
  const [distributed, timed] = sampleSections(run)
  const hasTimes = run.samples.some(hasArrived)
  const sections = [
    modesSection(summary),
    hasTimes ? distributed : nothingArrived,
    comparisonsSection(summary),
    ...peersSections(summary),
    faultsSection(summary),
    stagesSection(summary),
    bytesSection(summary),
    ...growingSections(summary),
    ...(hasTimes ? [timed, slowestSection(run)] : []),
    costSection(summary),
    methodSection(summary),
    runAgainSection(summary, summary.command),
  ]
  const report = {
    title: `Crosswind lab: keystrokes${summary.network ? ` over a simulated network, “${summary.network.profile}”` : ''}`,
    subtitle: `${moment(summary.startedAt)}, commit ${summary.environment.commit}`,
    finding: summary.finding,
    sections,
  }
  const growing = run.growing?.flatMap(({ samples }) => samples)
  return {
    ...reportFiles(report, summary),
    'samples.csv': samplesCsv(run.samples),
    ...(growing && { 'growing.csv': samplesCsv(growing) }),
  }
}

/** Times are ms since the epoch; empty is "never". */
function samplesCsv(samples: readonly Sample[]): string {
  return csv(
    [
      ['mode', ({ mode }) => mode],
      ['session', ({ session }) => session],
      ['block', ({ block }) => block],
      ['key', ({ key }) => key],
      ['id', ({ id }) => id],
      ['receiver', ({ receiver }) => receiver],
      ['own', ({ receiver }) => receiver === 1],
      ['sent_at', ({ sentAt }) => csvTime(sentAt)],
      ['received_at', ({ receivedAt }) => csvTime(receivedAt)],
      ['transmission_ms', (sample) => csvTime(hasArrived(sample) ? transmissionMs(sample) : null)],
      ['input_at', ({ inputAt }) => csvTime(inputAt)],
      ['accepted_at', ({ acceptedAt }) => csvTime(acceptedAt)],
      ['applied_at', ({ appliedAt }) => csvTime(appliedAt)],
      ['painted_at', ({ paintedAt }) => csvTime(paintedAt)],
      ['sent_bytes', ({ sentBytes }) => sentBytes],
      ['received_bytes', ({ receivedBytes }) => receivedBytes],
      ['copies', ({ copies }) => copies],
      ['reordered', ({ reordered }) => reordered],
    ],
    samples,
  )
}

function modesSection({ modes, baseline, sessions }: Summary): Section {
  const times: Table = {
    caption: 'Modes of this run; times in milliseconds',
    columns: [
      text('Mode'),
      ...['Mean ± sd', 'Median', 'p95', 'p99', 'Max.'].map(number),
      ...(sessions > 1 ? [number('Means of the sessions')] : []),
      ...['Received', 'Expected', 'Lost', 'Dup.', 'Reord.'].map(number),
    ],
    rows: modes.map((mode) => [
      mode.mode === baseline ? `${labelOf(mode.mode)} (baseline)` : labelOf(mode.mode),
      spread(mode.meanMs, mode.sdMs),
      ...[mode.p50Ms, mode.p95Ms, mode.p99Ms, mode.maxMs].map(figure),
      ...(sessions > 1 ? [rangeOf(mode.sessionMeansMs)] : []),
      ...[mode.n, mode.expected, mode.lost, mode.duplicated, mode.reordered].map(count),
    ]),
  }
  return {
    title: 'Transmission times',
    tables: [times, publishedTable(modes)],
    paragraphs: [
      'A sample is one message at one receiving window; its time runs from being handed to the transport to being received. Lost samples have no time: they are counted, and are in no mean.',
      'The paper measured with three computers on a LAN in 2021. Milliseconds of different machines cannot be compared; ratios within one set of machines can, with care. It printed no standard deviations, so how sure its ratios are is unknown.',
    ],
  }
}

/** `4.1 to 5.3`; a dash where nothing arrived. */
function rangeOf(means: readonly (number | null)[]): string {
  const known = means.filter((one) => one !== null)
  return known.length === 0 ? '–' : `${figure(Math.min(...known))} to ${figure(Math.max(...known))}`
}

/**
 * Mean transmission times in ms: 2021 thesis on SSE and XHR over HTTP/2, Table 1 (section 5); n = 200, three computers
 * on a LAN. It gives no standard deviation, hence no intervals here.
 */
const publishedMeansMs = { 'sse/2': 79.889, 'sse/1.1': 198.45, 'websocket/1.1': 88.171 } as const

/** Ratios compare roughly across machines; milliseconds do not. */
const ratioBase = 'websocket/1.1'

function publishedTable(modes: readonly ModeSummary[]): Table {
  // With both editors, the one of the paper.
  const meanHere = (name: string) =>
    modes.find(({ mode }) => mode === name || mode === `${name} mirror`)?.meanMs ?? Number.NaN
  return {
    caption:
      'Beside Table 1 of the 2021 paper (n = 200); means in milliseconds, and how many times WebSocket’s they are',
    columns: [text('Mode'), ...['Here', 'Ratio here', 'Paper', 'Ratio in paper'].map(number)],
    rows: Object.entries(publishedMeansMs).map(([mode, published]) => [
      labelOf(mode),
      figure(meanHere(mode)),
      figure(meanHere(mode) / meanHere(ratioBase)),
      String(published),
      figure(published / publishedMeansMs[ratioBase]),
    ]),
  }
}

const nothingArrived: Section = {
  title: 'Every sample',
  paragraphs: ['Nothing arrived: there is nothing to draw.'],
}

/** Every sample by its time, and by its key. */
function sampleSections({ modes, samples }: Run): readonly [Section, Section] {
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
  const labels = modes.map(labelOf).join('; ')
  const isLog = isLogarithmic(arrived.map(({ ms }) => ms))
  const axis = isLog ? 'The axis is logarithmic' : 'The axis is linear, as some times are not above 0'
  const byTime = {
    caption: `Transmission time of every sample, in milliseconds. ${axis} and cut nowhere. A dot is one sample, set higher or lower only to lie free. Below the dots: the middle half (thick), the 5th to the 95th percentile (thin) and the median (upright, with its figure).`,
    description: `Distribution of transmission times for ${labels}. The table of transmission times gives the same in figures.`,
    draw: (width: number) => distribution(rows, width),
  }
  const byKey = {
    caption: `Transmission time in milliseconds${isLog ? ' (logarithmic)' : ''} by key, in the order of sending, one session after the other. Upright lines part the turns of the mode, between which the other modes had theirs.`,
    description: `Transmission time of each sample by key for ${labels}.`,
    draw: (width: number) => timeline(rows, width),
  }
  return [
    { title: 'Every sample', figure: byTime },
    { title: 'Through the run', figure: byKey },
  ]
}

const minusLabel = ({ mode, baseline }: Comparison) => `${labelOf(mode)} − ${opponentLabel(baseline, mode)}`

function comparisonsSection(summary: Summary): Section {
  const {
    comparisons,
    notCompared,
    clock: { boundMs },
    sessions,
  } = summary
  const title = 'Differences'
  const missing = notCompared.map(
    ({ mode, baseline }) =>
      `${spokenName(mode)} could not be compared with ${spokenName(baseline)}: ${sessions < 2 ? 'one session gives no interval' : 'messages arrived on both sides in fewer than two sessions'}.`,
  )
  if (comparisons.length === 0) return { title, paragraphs: ['Nothing was compared.', ...missing] }
  const rows = comparisons.map((comparison) => ({
    label: minusLabel(comparison),
    point: comparison.differenceMs,
    interval: comparison.ci95Ms,
    isDecided: comparison.verdict !== 'undecided',
    sessions: comparison.sessions.map(({ differenceMs }) => differenceMs),
  }))
  const words = comparisons.map(
    (comparison) =>
      `${minusLabel(comparison)}: ${signed(comparison.differenceMs)} ms, ${interval(comparison.ci95Ms)}, ${comparison.verdict}`,
  )
  const axis = '← faster   difference, ms   slower →'
  return {
    title,
    figure: {
      caption: `Difference of the means in milliseconds with its 95 % interval. Left of zero the first mode is faster. Filled: decided; hollow: undecided. Small uprights: the difference in each session. Shaded: the clock’s error, ± ${figure(boundMs)} ms.`,
      description: words.join('; '),
      draw: (width) => intervals(rows, { width, axis, references: [0], shadedTo: boundMs }),
    },
    tables: [testsTable(comparisons, boundMs), sessionsTable(comparisons)],
    paragraphs: [
      `The unit is the session, which starts everything anew: messages of one session resemble each other, so that more of them would not make a difference surer. Each of the ${count(sessions)} sessions gives one difference of means; Student’s t, two-sided, over these; p corrected by Holm for all comparisons of this run; the intervals are for each comparison by itself. Half as wide intervals would take about ${count(clustersForHalf(sessions))} sessions.`,
      `A difference is undecided where the corrected p is above 0.05, where its interval holds 0, or where it is no larger than the clock’s error of ${figure(boundMs)} ms.`,
      ...untilWords(summary),
      ...missing,
    ],
  }
}

/** Why the run ended when it did; empty where the number of sessions was fixed. */
function untilWords(summary: Summary): readonly string[] {
  const { until, sessions } = summary
  if (!until) return []
  const { amount, unit } = until.matters
  const least = unit === 'ms' ? `${amount} ms` : `${amount} % of what a mode is compared with`
  const alike = `A difference of less than ${least} does not matter; where the whole interval is within it, the modes are called alike.`
  const end =
    until.outcome === 'decided'
      ? `The run went on until every interval reached at most half of that to either side, for ${count(sessions)} sessions.`
      : `The time limit ended it after ${count(sessions)} sessions; about ${count(sessionsNeeded(summary))} would have narrowed every interval to half of that on either side.`
  return [`${alike} ${end}`]
}

function testsTable(comparisons: readonly Comparison[], boundMs: number): Table {
  const undecided = (differenceMs: number) =>
    Math.abs(differenceMs) <= boundMs ? 'undecided (clock)' : 'undecided (chance)'
  return {
    caption: 'Differences of the means, in milliseconds',
    columns: [
      text('Mode − against'),
      ...['Difference', '95 % interval'].map(number),
      text('Verdict'),
      ...['p', 'p corrected', 'Sessions'].map(number),
    ],
    rows: comparisons.map((comparison) => [
      minusLabel(comparison),
      signed(comparison.differenceMs),
      interval(comparison.ci95Ms),
      comparison.verdict === 'undecided' ? undecided(comparison.differenceMs) : comparison.verdict,
      probability(comparison.p),
      probability(comparison.pCorrected),
      count(comparison.sessions.length),
    ]),
  }
}

function sessionsTable(comparisons: readonly Comparison[]): Table {
  const all = new Set(comparisons.flatMap(({ sessions }) => sessions.map(({ session }) => session)))
  const numbers = [...all].sort((a, b) => a - b)
  return {
    caption: 'The same difference in each session, in milliseconds',
    columns: [text('Mode − against'), ...numbers.map((session) => number(`Session ${session}`))],
    rows: comparisons.map((comparison) => {
      const found = new Map(comparison.sessions.map(({ session, differenceMs }) => [session, differenceMs]))
      return [minusLabel(comparison), ...numbers.map((session) => signed(found.get(session) ?? Number.NaN))]
    }),
  }
}

/** Largest accepted ratio of a mode's median to its peer's. */
const goal = 1.3

function peersSections({ comparisons }: Summary): readonly Section[] {
  const rows = comparisons
    .filter(({ baseline }) => isPeer(baseline))
    .map(({ mode, baseline, medianRatio, medianRatioCi95: [low, high], sessions }) => ({
      label: `${labelOf(mode)} / ${opponentLabel(baseline, mode)}`,
      point: medianRatio,
      interval: [low, high] as const,
      outcome: high <= goal ? 'met' : low > goal ? 'missed' : 'undecided',
      isDecided: high <= goal || low > goal,
      sessions: sessions.map((one) => one.medianRatio),
    }))
  if (rows.length === 0) return []
  const words = rows.map(
    (row) => `${row.label}: ${figure(row.point)}, ${interval(row.interval)}, goal ${row.outcome}`,
  )
  const axis = 'times the peer’s median'
  return [
    {
      title: 'Against bare peers',
      figure: {
        caption: `Ratio of the medians with its 95 % interval; small uprights: the ratio in each session. At 1 both are alike; the dashed line is the goal, ${goal}. Filled: met or missed; hollow: undecided.`,
        description: words.join('; '),
        draw: (width) => intervals(rows, { width, axis, references: [1, goal], shadedTo: 0 }),
      },
      tables: [
        {
          caption: `Ratio of the medians, mode over peer; the goal is at most ${goal}`,
          columns: [text('Mode / peer'), number('Ratio'), number('95 % interval'), text('Goal')],
          rows: rows.map((row) => [row.label, figure(row.point), interval(row.interval), row.outcome]),
        },
      ],
      paragraphs: [
        'Each session gives one ratio of medians; the ratio and its interval are those of the mean of their logarithms. The goal is met where the whole interval keeps to it and missed where the whole interval is beyond.',
      ],
    },
  ]
}

function faultsSection({ modes }: Summary): Section {
  const title = 'Lost, duplicated, reordered'
  const expected = modes.reduce((sum, mode) => sum + mode.expected, 0)
  if (modes.every(({ lost, duplicated, reordered }) => lost + duplicated + reordered === 0)) {
    const clean = `Of ${count(expected)} samples none was lost, none came twice and none came out of order.`
    return { title, paragraphs: [clean] }
  }
  const faults: Table = {
    caption: 'Samples that did not arrive once and in order',
    columns: [text('Mode'), ...['Expected', 'Lost', 'Lost, %', 'Duplicated', 'Reordered'].map(number)],
    rows: modes.map((mode) => [
      labelOf(mode.mode),
      count(mode.expected),
      count(mode.lost),
      figure((100 * mode.lost) / mode.expected),
      count(mode.duplicated),
      count(mode.reordered),
    ]),
  }
  return { title, tables: [faults] }
}

function stagesSection({ modes, clock }: Summary): Section {
  const title = 'Where the time goes'
  const stamped = stageNames.filter((stage) => modes.some((mode) => stage in mode))
  const absent =
    clock.method === 'one machine'
      ? []
      : ['The server’s stamps are left out: it ran on another machine, with a clock of its own.']
  if (stamped.length === 0) return { title, paragraphs: ['No stage was stamped.', ...absent] }
  const medians: Table = {
    caption: 'Median of each stage, in milliseconds',
    columns: [text('Mode'), ...stamped.map((stage) => number(stages[stage].title))],
    rows: modes.map((mode) => [labelOf(mode.mode), ...stamped.map((stage) => figure(mode[stage]))]),
  }
  return {
    title,
    tables: [medians],
    paragraphs: ['Medians of the parts need not add up to the median of the whole.', ...absent],
  }
}

function bytesSection({ modes, parameters: { editors } }: Summary): Section {
  const table: Table = {
    caption: 'Mean size of a message as JSON, in bytes',
    columns: [text('Mode'), ...['The typist sends', 'Each window receives'].map(number)],
    rows: modes.map(({ mode, sentBytes, receivedBytes }) => [
      labelOf(mode),
      figure(sentBytes),
      figure(receivedBytes),
    ]),
  }
  return {
    title: 'What a key weighs',
    tables: [table],
    paragraphs: [
      `${editorWords(String(editors))} Sizes are without the framing of transport, HTTP and TLS. Over XHR the first is the body of the request; the second has the log’s number and time too.`,
    ],
  }
}

function editorWords(editors: string): string {
  const shared =
    'The shared editor sends the change of a key, at once: its server ran with mergeMs 0, so that one key is one message.'
  const mirror = 'Mirroring sends the whole content at each key.'
  return [editors.includes('shared') && shared, editors.includes('mirror') && mirror]
    .filter(Boolean)
    .join(' ')
}

function growingSections({ growing }: Summary): readonly Section[] {
  if (growing.length === 0) return []
  const table: Table = {
    caption: 'By the document’s length; medians in milliseconds, means in bytes',
    columns: [
      text('Characters'),
      text('Mode'),
      ...['Received', 'Lost', 'Transmission', 'Received → applied', 'Received → painted'].map(number),
      ...['Bytes sent', 'Bytes received'].map(number),
    ],
    rows: growing.map((row) => [
      count(row.characters),
      labelOf(row.mode),
      ...[row.n, row.expected - row.n].map(count),
      ...[row.p50Ms, row.applyMs, row.showMs, row.sentBytes, row.receivedBytes].map(figure),
    ]),
  }
  return [
    {
      title: 'A growing document',
      tables: [table],
      paragraphs: [
        `Paragraphs of 200 characters, written before; then ${growingKeys} keys at the end in each of ${growingTurns} turns, ${growingIntervalMs} ms apart. The editors took turns, in one mode. Every sample is in growing.csv.`,
      ],
    },
  ]
}

function slowestSection({ samples }: Run): Section {
  const slowest = samples
    .filter(hasArrived)
    .toSorted((a, b) => transmissionMs(b) - transmissionMs(a))
    .slice(0, 5)
  const table: Table = {
    caption: 'The five slowest samples',
    columns: [
      ...[text('Message'), number('Time, ms'), text('Mode')],
      ...['Session', 'Block', 'Key', 'Window'].map(number),
    ],
    rows: slowest.map((sample) => [
      sample.id,
      figure(transmissionMs(sample)),
      labelOf(sample.mode),
      ...[sample.session, sample.block, sample.key, sample.receiver].map(String),
    ]),
  }
  return {
    title: 'Samples that do not fit',
    tables: [table],
    paragraphs: ['No sample was left out as an outlier: these five are in every figure of this report.'],
  }
}

function costSection({ modes }: Summary): Section {
  const costs: Table = {
    caption: 'Processor time over all turns of a mode, and the highest resident memory in them',
    columns: [text('Mode'), number('CPU, ms'), number('CPU a sample received, µs'), number('Memory')],
    rows: modes.map(({ mode, n, serverCpuMs, serverRssBytes }) => [
      labelOf(mode),
      figure(serverCpuMs),
      figure(serverCpuMs === null ? null : (1000 * serverCpuMs) / n),
      megabytes(serverRssBytes),
    ]),
  }
  return {
    title: 'What the server spent',
    tables: [costs],
    paragraphs: [
      'Memory is that of the whole server process: a later block can inherit what an earlier one of another mode took.',
    ],
  }
}

function methodSection({ clock, environment, network }: Summary): Section {
  const anew = environment.server.startsWith('https:')
    ? 'Each session started browsers and windows anew; the server ran on.'
    : 'Each session started a server process, browsers and windows anew.'
  const sameClock =
    'All windows and the server ran on one machine and used its system clock; each window set its own timer against it.'
  const exchanges =
    'Each window’s clock was set against the server’s by repeated exchanges, of which the fastest was kept.'
  return {
    title: 'How it was measured',
    paragraphs: [
      `${anew} In it the modes took turns in short blocks, in an order drawn for the session, so that a drift of the machine or the network meets all of them alike. Every mode was warmed up once before the first block and again before each of its turns; none of that is among the samples.`,
      ...(network
        ? [
            `Between windows and server was a simulated network, “${network.profile}”: a relay on this machine that delays every byte in both directions. ${network.source} The relay itself added ${figure(network.lateMs)} ms to each way in the mean.`,
          ]
        : []),
      `${clock.method === 'one machine' ? sameClock : exchanges} Two windows’ stamps can differ by at most ${figure(clock.boundMs)} ms from this.`,
      'Quantiles are of type 7 (Hyndman and Fan, 1996). Means, deviations and quantiles are over all samples; tests and intervals are over sessions, which are taken as independent. All of them ran one after the other on this machine: another machine, or another day, may differ by more.',
      'Every sample, lost ones included, is in samples.csv; the figures of this report are in summary.json.',
    ],
  }
}
