// Report of a keystroke run: sections and files.

import {
  editorOf,
  imitatedBy,
  isBarePeer,
  isPeer,
  labelOf,
  opponentLabel,
  spokenName,
  withoutEditor,
} from '../lab/mode-names.ts'
import { clustersForHalf } from '../lab/statistics.ts'
import { isBare, type PeerFacts } from '../peers/peers.ts'
import { cumulative, distribution, intervals, isLogarithmic, stacks, timeline } from '../report/charts.ts'
import { lineColour } from '../report/figure-file.ts'
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
  publishedMeansMs,
  type Run,
  type Sample,
  type Summary,
  sessionsNeeded,
  transmissionMs,
} from './keystrokes-analysis.ts'

export function keystrokesFiles(run: Run, summary: Summary): Readonly<Record<string, string>> {
  const [distributed, cumulated, timed] = sampleSections(run)
  const hasTimes = run.samples.some(hasArrived)
  const sections = [
    modesSection(summary),
    ...(hasTimes ? [distributed, cumulated] : [nothingArrived]),
    comparisonsSection(summary),
    ...peersSections(summary),
    ...knownFaultsSections(summary),
    paperSection(summary),
    faultsSection(summary),
    ...windowsSections(summary),
    stagesSection(summary),
    bytesSection(summary),
    ...growingSections(summary),
    ...(hasTimes ? [timed, slowestSection(run)] : []),
    costSection(summary),
    methodSection(summary),
    doubtsSection(summary),
    runAgainSection(summary, summary.command),
  ]
  const report = {
    title: `Crosswind lab: keystrokes${summary.network ? ` over a simulated network, “${summary.network.profile}”` : ''}`,
    subtitle: `${moment(summary.startedAt)}, commit ${summary.environment.commit}`,
    finding: summary.finding,
    sections,
  }
  const growing = run.growing?.flatMap(({ samples }) => samples)
  return reportFiles(report, summary, {
    'samples.csv': samplesCsv(run.samples),
    ...(growing && { 'growing.csv': samplesCsv(growing) }),
  })
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
      ['arrived_at', ({ arrivedAt }) => csvTime(arrivedAt)],
      ['accepted_at', ({ acceptedAt }) => csvTime(acceptedAt)],
      ['committing_at', ({ committingAt }) => csvTime(committingAt)],
      ['stored_at', ({ storedAt }) => csvTime(storedAt)],
      ['written_at', ({ writtenAt }) => csvTime(writtenAt)],
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
    tables: [times],
    paragraphs: [
      'A sample is one message at one receiving window; its time runs from being handed to the transport to being received. Lost samples have no time: they are counted, and are in no mean.',
    ],
  }
}

function paperSection({ modes }: Summary): Section {
  return {
    title: 'Beside the 2021 paper',
    tables: [publishedTable(modes)],
    paragraphs: [
      'The paper measured with three computers on a LAN in 2021. Milliseconds of different machines cannot be compared; ratios within one set of machines can, with care. It printed no standard deviations, so how sure its ratios are is unknown.',
    ],
  }
}

/** `4.1 to 5.3`; a dash where nothing arrived. */
function rangeOf(means: readonly (number | null)[]): string {
  const known = means.filter((one) => one !== null)
  return known.length === 0 ? '–' : `${figure(Math.min(...known))} to ${figure(Math.max(...known))}`
}

/** Ratios compare roughly across machines; milliseconds do not. */
const ratioBase = 'websocket/1.1'

function publishedTable(modes: readonly ModeSummary[]): Table {
  // With both editors, the one of the paper.
  const meanHere = (name: string) =>
    modes.find(({ mode }) => mode === name || mode === `${name} mirror`)?.meanMs ?? Number.NaN
  return {
    caption:
      'Here, and in the paper’s Table 1 (n = 200); means in milliseconds, and how many times WebSocket’s they are',
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

/** Every sample by its time, how many arrive within a time, and every sample by its key. */
function sampleSections({ modes, samples }: Run): readonly [Section, Section, Section] {
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

const overLabel = ({ mode, baseline }: Comparison) => `${labelOf(mode)} / ${opponentLabel(baseline, mode)}`

function comparisonsSection(summary: Summary): Section {
  const {
    comparisons,
    notCompared,
    clock: { boundMs },
    sessions,
  } = summary
  const title = 'Comparisons'
  const missing = notCompared.map(
    ({ mode, baseline }) =>
      `${spokenName(mode)} could not be compared with ${spokenName(baseline)}: ${sessions < 2 ? 'one session gives no interval' : 'messages arrived on both sides in fewer than two sessions, or the clocks put the mean of one below 0'}.`,
  )
  if (comparisons.length === 0) return { title, paragraphs: ['Nothing was compared.', ...missing] }
  const rows = comparisons.map((comparison) => ({
    label: overLabel(comparison),
    point: comparison.meanRatio,
    interval: comparison.meanRatioCi95,
    isDecided: comparison.verdict !== 'undecided',
    sessions: comparison.sessions.map(({ meanRatio }) => meanRatio),
  }))
  const words = comparisons.map(
    (comparison) =>
      `${overLabel(comparison)}: ${figure(comparison.meanRatio)}, ${interval(comparison.meanRatioCi95)}, ${comparison.verdict}`,
  )
  const axis = '← faster   times the other’s mean   slower →'
  return {
    title,
    figure: {
      caption:
        'How many times the other’s mean, with the 95 % interval. Left of 1 the first mode is faster. Filled: decided; hollow: undecided. Small uprights: the ratio in each session.',
      description: words.join('; '),
      draw: (width) => intervals(rows, { width, axis, references: [1] }),
    },
    tables: [testsTable(comparisons, boundMs), sessionsTable(comparisons)],
    paragraphs: [
      `The unit is the session, which starts everything anew: messages of one session resemble each other, so that more of them would not make a comparison surer. Each of the ${count(sessions)} sessions gives one ratio of means; Student’s t, two-sided, over their logarithms; p corrected by Holm for all comparisons of this run; the intervals are for each comparison by itself. Half as wide intervals would take about ${count(clustersForHalf(sessions))} sessions. Verdicts rest on the ratio, since it holds where a machine’s speed changes from run to run; a difference in milliseconds is that of this machine at this hour.`,
      `A comparison is undecided where the corrected p is above 0.05, where the interval of the ratio holds 1, or where the difference is no larger than the clock’s error of ${figure(boundMs)} ms.`,
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
  const alike = `A difference of less than ${least} does not matter; where the whole interval of the ratio is within it, the modes are called alike.`
  const end =
    until.outcome === 'decided'
      ? `The run went on until every interval was at most as wide as that, for ${count(sessions)} sessions.`
      : `The time limit ended it after ${count(sessions)} sessions; about ${count(sessionsNeeded(summary))} would have made every interval as narrow as that.`
  return [`${alike} ${end}`]
}

function testsTable(comparisons: readonly Comparison[], boundMs: number): Table {
  const undecided = (differenceMs: number) =>
    Math.abs(differenceMs) <= boundMs ? 'undecided (clock)' : 'undecided (chance)'
  return {
    caption: 'How many times the other’s mean, and the difference of the means in milliseconds',
    columns: [
      text('Mode / against'),
      ...['Ratio', '95 % interval', 'Difference', '95 % interval'].map(number),
      text('Verdict'),
      ...['p', 'p corrected', 'Sessions'].map(number),
    ],
    rows: comparisons.map((comparison) => [
      overLabel(comparison),
      figure(comparison.meanRatio),
      interval(comparison.meanRatioCi95),
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
    caption: 'The same ratio in each session',
    columns: [text('Mode / against'), ...numbers.map((session) => number(`Session ${session}`))],
    rows: comparisons.map((comparison) => {
      const found = new Map(comparison.sessions.map(({ session, meanRatio }) => [session, meanRatio]))
      return [overLabel(comparison), ...numbers.map((session) => figure(found.get(session) ?? Number.NaN))]
    }),
  }
}

/** Largest accepted ratio of a mode's median to a bare page's. */
const goal = 1.3

function peersSections(summary: Summary): readonly Section[] {
  const against = summary.comparisons.filter(({ baseline }) => isPeer(baseline))
  const bare = against.filter(({ baseline }) => isBarePeer(baseline))
  const systems = against.filter(({ baseline }) => !isBarePeer(baseline))
  const others = summary.modes.filter(({ mode }) => isPeer(mode) && !isBarePeer(mode))
  return [
    ...(bare.length > 0 ? [barePeersSection(bare)] : []),
    ...(others.length > 0 ? [systemsSection(summary, systems)] : []),
  ]
}

const medianRow = (comparison: Comparison) => ({
  label: overLabel(comparison),
  point: comparison.medianRatio,
  interval: comparison.medianRatioCi95,
  sessions: comparison.sessions.map(({ medianRatio }) => medianRatio),
})

const ratioAxis = 'times the peer’s median'
const ratioWords =
  'Each session gives one ratio of medians; the ratio and its interval are those of the mean of their logarithms.'

function barePeersSection(comparisons: readonly Comparison[]): Section {
  const rows = comparisons.map(medianRow).map((row) => {
    const [low, high] = row.interval
    const outcome = high <= goal ? 'met' : low > goal ? 'missed' : 'undecided'
    return { ...row, outcome, isDecided: outcome !== 'undecided' }
  })
  const words = rows.map(
    (row) => `${row.label}: ${figure(row.point)}, ${interval(row.interval)}, goal ${row.outcome}`,
  )
  return {
    title: 'Against bare peers',
    figure: {
      caption: `Ratio of the medians with its 95 % interval; small uprights: the ratio in each session. At 1 both are alike; the dashed line is the goal, ${goal}. Filled: met or missed; hollow: undecided.`,
      description: words.join('; '),
      draw: (width) => intervals(rows, { width, axis: ratioAxis, references: [1, goal] }),
    },
    tables: [
      {
        caption: `Ratio of the medians, mode over peer; the goal is at most ${goal}`,
        columns: [text('Mode / peer'), number('Ratio'), number('95 % interval'), text('Goal')],
        rows: rows.map((row) => [row.label, figure(row.point), interval(row.interval), row.outcome]),
      },
    ],
    paragraphs: [
      `${ratioWords} The goal is met where the whole interval keeps to it and missed where the whole interval is beyond.`,
    ],
  }
}

/** Names the systems also where there was nothing to compare them with. */
function systemsSection({ peers, modes }: Summary, comparisons: readonly Comparison[]): Section {
  const rows = comparisons.map((comparison) => {
    const row = medianRow(comparison)
    const [low, high] = row.interval
    return { ...row, isDecided: low > 1 || high < 1 }
  })
  const words = rows.map((row) => `${row.label}: ${figure(row.point)}, ${interval(row.interval)}`)
  const systems = peers.filter(({ name }) => !isBare(name))
  const isElsewhere = systems.some(({ address }) => address !== null)
  const own = modes.filter(({ mode }) => !isPeer(mode)).map(({ mode }) => withoutEditor(mode))
  const alone = modes.filter(({ mode }) => isPeer(mode) && !own.includes(imitatedBy(mode) ?? ''))
  return {
    title: 'Against other systems',
    ...(rows.length > 0 && {
      figure: {
        caption:
          'Ratio of the medians with its 95 % interval; small uprights: the ratio in each session. Left of 1 Crosswind’s mode took less time. Filled: the interval does not hold 1; hollow: it does. Each interval is by itself; the verdicts are those of the comparisons above, of means.',
        description: words.join('; '),
        draw: (width) => intervals(rows, { width, axis: ratioAxis, references: [1] }),
      },
    }),
    tables: [
      ...(rows.length > 0
        ? [
            {
              caption: 'Ratio of the medians, mode over system',
              columns: [text('Mode / system'), number('Ratio'), number('95 % interval')],
              rows: rows.map((row) => [row.label, figure(row.point), interval(row.interval)]),
            },
          ]
        : []),
      {
        caption: 'The systems of this run',
        columns: [
          text('System'),
          text('Version'),
          text('Transport'),
          ...(isElsewhere ? [text('Server')] : []),
        ],
        rows: systems.map((system) => [
          system.label,
          versionWords(system),
          system.transport,
          ...(isElsewhere ? [system.address ?? 'started for the run'] : []),
        ]),
      },
    ],
    paragraphs: [
      `${rows.length > 0 ? `${ratioWords} ` : ''}Each system relays the messages of the bare page, which sends the whole content at each key. The relays started for the run store, merge and check nothing; Crosswind does, and its times include that.`,
      'A message is received when the system’s client hands it to the page, after its own decoding; on the bare page and on Crosswind’s, before.',
      ...alone.map(
        ({ mode }) => `${labelOf(mode)} has no comparison: no mode with its transport was measured.`,
      ),
    ],
  }
}

/** `4.8.4`, or `6.6.12, client 6.6.8`. */
function versionWords({ serverVersion, clientVersion, address }: PeerFacts): string {
  const isOne = clientVersion === null || clientVersion === serverVersion
  const server = address === null ? serverVersion : 'unknown'
  return isOne ? `${server}` : `${server}, client ${clientVersion}`
}

function knownFaultsSections({ knownFaults }: Summary): readonly Section[] {
  if (knownFaults.length === 0) return []
  const [spoiled, delayed] = [true, false].map((wanted) =>
    knownFaults.filter(({ hasFaults }) => hasFaults === wanted),
  ) as [typeof knownFaults, typeof knownFaults]
  const delays: Table = {
    caption: 'Delays built into a relay, and what the lab found; in milliseconds',
    columns: [
      text('Relay'),
      ...['Built in', 'Found', '95 % interval', 'Found, % of built in'].map(number),
      text('In the interval'),
    ],
    rows: delayed.map(({ mode, builtMs, foundMs, foundCi95Ms, holds }) => [
      labelOf(mode),
      ...[builtMs, foundMs].map(figure),
      interval(foundCi95Ms),
      figure((100 * foundMs) / (builtMs ?? Number.NaN)),
      holds ? 'yes' : 'no',
    ]),
  }
  const pair = ({ built, found }: { built: number; found: number }) => `${count(found)} of ${count(built)}`
  const counts: Table = {
    caption: 'Samples spoiled by a relay, found of built in',
    columns: [text('Relay'), ...['Lost', 'Duplicated', 'Reordered'].map(number)],
    rows: spoiled.map(({ mode, lost, duplicated, reordered }) => [
      labelOf(mode),
      ...[lost, duplicated, reordered].map(pair),
    ]),
  }
  return [
    {
      title: 'Known faults',
      tables: [delays, counts].filter(({ rows }) => rows.length > 0),
      paragraphs: [
        'These relays are wrong on purpose, so that the lab itself can be checked. The delay that is built in is the relay’s own, by its stamps of each message, less that of the sound relay; what is found is the difference of the transmission times, at the windows that do not type: the one that types still draws its key when its message comes back at once, which hides some of a delay.',
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
  const exchanged =
    clock.method === 'one machine'
      ? []
      : [
          `Every window’s stamps are on the server’s clock; the ways to and from the server hold its error, at most ${figure(clock.boundMs)} ms.`,
        ]
  const known = modes.filter(({ path }) => path.length > 0)
  if (known.length === 0) return { title, paragraphs: ['No stage was stamped.'] }
  const names = new Set(known.flatMap(({ path }) => path.map(({ stage }) => stage)))
  const means: Table = {
    caption: 'Mean of each stage, in milliseconds',
    columns: [text('Mode'), ...[...names, 'Sum'].map(number)],
    rows: known.map(({ mode, path }) => [
      labelOf(mode),
      ...Array.from(names, (name) => figure(path.find(({ stage }) => stage === name)?.meanMs)),
      figure(path.reduce((sum, { meanMs }) => sum + meanMs, 0)),
    ]),
  }
  const rows = known.map(({ mode, path }) => ({ label: labelOf(mode), parts: path }))
  const spoken = known.map(
    ({ mode, path }) =>
      `${labelOf(mode)}: ${path.map(({ stage, meanMs }) => `${stage} ${figure(meanMs)} ms`).join(', ')}`,
  )
  return {
    title,
    figure: {
      caption:
        'Mean time from input to paint, stage by stage from left to right as in the table. The transmission time is all but the page’s own stages at both ends.',
      description: spoken.join('; '),
      draw: (width) => stacks(rows, width),
    },
    tables: [means],
    paragraphs: [
      'The ways up and down run from the page’s call to the server’s first line of JavaScript, and back: they include the browser’s network process, the system and TLS on both sides, and waiting for a processor. A poll’s way down includes the wait for the next request.',
      ...exchanged,
    ],
  }
}

/** Empty where all windows are of this machine. */
function windowsSections({ windows, modes, sessions }: Summary): readonly Section[] {
  if (windows.length === 0) return []
  const table: Table = {
    caption: 'Median transmission time to each window, and the largest error of its clock, in milliseconds',
    columns: [
      text('Window'),
      ...modes.map(({ mode }) => number(labelOf(mode))),
      ...['Clock', 'Received', 'Lost', 'Turns missed'].map(number),
    ],
    rows: windows.map(({ name, p50Ms, boundMs, n, lost, missed }) => [
      name,
      ...modes.map(({ mode }) => figure(p50Ms[mode] ?? null)),
      n + lost === 0 ? '–' : `± ${figure(boundMs)}`,
      ...[n, lost, missed.length].map(count),
    ]),
  }
  const absent = windows
    .filter(({ missed }) => missed.length > 0)
    .map(({ name, missed }) => {
      const more = missed.length > mostNamed ? `; and ${count(missed.length - mostNamed)} more` : ''
      return `${name}, missed turns: ${missed.slice(0, mostNamed).join('; ')}${more}. Its samples of these turns are left out of every figure.`
    })
  return [
    {
      title: 'Window by window',
      tables: [table],
      paragraphs: [
        `Over ${sessions > 1 ? 'all sessions' : 'the session'}. A clock’s error is against the server’s clock; a time from window 1 to another window is wrong by at most the sum of both, and one from window 1 to itself by none.`,
        ...absent,
      ],
    },
  ]
}

const mostNamed = 5

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
      `${editorWords(String(editors))}${modes.some(({ mode }) => isPeer(mode)) ? ' Peers’ pages send the whole content at each key.' : ''} Sizes are without the framing of transport, HTTP and TLS. Over XHR the first is the body of the request; the second has the log’s number and time too.`,
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
    'Each window’s clock, those of this machine too, was set against the server’s by repeated exchanges before and after each turn, of which the fastest was kept.'
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

function doubtsSection({ clock, drifts, modes, sessions }: Summary): Section {
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
      : `by how far the sessions’ means lie apart, the samples of a mode are worth ${range(worth)} independent ones, by a rough estimate from ${count(sessions)} sessions. Intervals are over sessions for that reason; the deviations and quantiles of the tables describe samples.`
  const expected = modes.reduce((sum, mode) => sum + mode.expected, 0)
  const lost = modes.reduce((sum, mode) => sum + mode.lost, 0)
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

/** `26 to 90`, or one figure when equal. */
function range(values: readonly number[]): string {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(count)
  return least === most ? `${least}` : `${least} to ${most}`
}
