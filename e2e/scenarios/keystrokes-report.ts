// Analyses the samples of a `keystrokes` run and reports them: figures, comparisons, the finding.

import { mean, standardDeviation } from '../../client/statistics.ts'
import type { EditorName } from '../../client/wire.ts'
import {
  compare,
  comparisonsSection,
  contrast,
  driftsOf,
  isBelow,
  sessionsOf,
  type Until,
} from '../lab/comparisons.ts'
import {
  imitatedBy,
  isPeer,
  labelOf,
  peerOf,
  soundPeer,
  spokenName,
  variantOf,
  withoutVariant,
} from '../lab/mode-names.ts'
import { type RunWindow, summariseWindow, windowsSections } from '../lab/participants.ts'
import type { Circumstances, Network } from '../lab/run-environment.ts'
import type { EndedPeer } from '../lab/run-peers.ts'
import {
  atAllWindows,
  atOthers,
  echoesIn,
  hasArrived,
  medianMs,
  type Sample,
  sessionsIn,
  summariseSamples,
  totals,
  transmissionMs,
} from '../lab/samples.ts'
import { bytesOf, pathOf, stagesOf, stagesSection } from '../lab/stages.ts'
import { rounded, roundedInterval, significant } from '../lab/statistics.ts'
import type { RunClock, Use } from '../lab/testbed.ts'
import { countedWords, type WireBytes, wireSections } from '../lab/wire-bytes.ts'
import type { PeerFacts } from '../peers/peers.ts'
import { cumulative, distribution, isLogarithmic, timeline } from '../report/charts.ts'
import { lineColour } from '../report/figure-file.ts'
import { csv, csvTime } from '../report/render.ts'
import {
  count,
  figure,
  interval,
  lostSection,
  megabytes,
  nothing,
  range,
  type Section,
  signed,
  spread,
  type Table,
  table,
  text,
} from '../report/section.ts'
import { findingOf } from './keystrokes-finding.ts'
import { networksSections, summariseNetworks } from './keystrokes-networks.ts'
import {
  bareRatiosOf,
  endedWords,
  knownFaultsOf,
  knownFaultsSections,
  peersSections,
} from './keystrokes-peers.ts'

/** Times are ms since the epoch; empty is "never". */
export function samplesCsv(samples: readonly Sample[]): string {
  return csv(
    [
      ...(['mode', 'session', 'block', 'key', 'id', 'receiver'] as const),
      ['own', ({ receiver }) => receiver === 1],
      ...(['sentAt', 'receivedAt'] as const),
      ['transmission_ms', (sample) => csvTime(hasArrived(sample) ? transmissionMs(sample) : null)],
      ...(['inputAt', 'arrivedAt', 'acceptedAt', 'committingAt', 'storedAt'] as const),
      ...(['writtenAt', 'appliedAt'] as const),
      ...(['paintedAt', 'sentBytes', 'receivedBytes', 'copies', 'reordered'] as const),
    ],
    samples,
  )
}

export function sectionsOf(run: Run, summary: Summary): readonly Section[] {
  const others = { ...run, samples: atOthers(run.samples) }
  const [distributed, cumulated, timed] = sampleSections(others)
  const hasTimes = others.samples.some(hasArrived)
  const modes = summary.modes.map(({ mode }) => mode)
  const naming = [['Mode', ({ mode }: ModeSummary) => labelOf(mode)]] as const
  return [
    modesSection(summary),
    ...networksSections(summary.overNetworks, networkNames(summary)),
    ...(hasTimes ? [distributed, cumulated] : [nothingArrived]),
    comparisonsSection(summary),
    ...echoesSections(summary),
    ...peersSections(summary),
    ...knownFaultsSections(summary.knownFaults),
    ...paperSections(summary),
    lostSection(atAllWindows(summary.modes, summary.echoes), naming, {
      caption: 'Samples that did not arrive once and in order, at all windows',
    }),
    ...windowsSections(summary.windows, modes),
    stagesSection(summary.modes, summary.clock),
    bytesSection(summary),
    ...wireSections(
      summary.bytes,
      countedWords(`keys in an empty document, ${summary.parameters.interval} ms apart`),
    ),
    ...growingSections(summary.growing),
    ...(hasTimes ? [timed, slowestSection(others)] : []),
    costSection(summary),
    doubtsSection(summary),
  ]
}

/** For the terminal. */
export function briefTable(summary: Summary): Table {
  const { modes, baseline } = summary
  return table(
    `Transmission time${windowsWords(summary)} in milliseconds`,
    ['Mode', 'Mean ± sd', 'Median', 'p95', 'Lost'],
    modes.map(({ mode, meanMs, sdMs, p50Ms, p95Ms, lost }) => [
      mode === baseline ? `${labelOf(mode)} (baseline)` : labelOf(mode),
      ...[spread(meanMs, sdMs), p50Ms, p95Ms, count(lost)],
    ]),
  )
}

/** Whose times the figures of the modes are. */
const windowsWords = ({ echoes }: Pick<Summary, 'echoes'>) =>
  echoes.length > 0 ? ' to the windows that do not type,' : ' to the only window,'

function modesSection(summary: Summary): Section {
  const { modes, baseline, sessions, echoes } = summary
  const columns = [
    ...['Mode', 'Mean ± sd', 'Median', 'p95', 'p99', 'Max.'],
    ...(sessions > 1 ? ['Means of the sessions'] : []),
    'Received',
  ]
  const rows = modes.map((mode) => {
    const means = mode.sessionMeansMs.filter((one) => one !== null)
    return [
      mode.mode === baseline ? `${labelOf(mode.mode)} (baseline)` : labelOf(mode.mode),
      ...[spread(mode.meanMs, mode.sdMs), mode.p50Ms, mode.p95Ms, mode.p99Ms, mode.maxMs],
      ...(sessions > 1
        ? [means.length === 0 ? '–' : `${figure(Math.min(...means))} to ${figure(Math.max(...means))}`]
        : []),
      `${count(mode.n)} of ${count(mode.expected)}`,
    ]
  })
  return {
    title: 'Transmission times',
    tables: [table(`Transmission times${windowsWords(summary)} in milliseconds`, columns, rows)],
    paragraphs: [
      'A sample is one message at one receiving window; its time runs from being handed to the transport to being received. Lost samples have no time: they are counted, and are in no mean.',
      echoes.length > 0
        ? 'Every figure of this report is of the windows that do not type, unless it says otherwise.'
        : 'There was one window: every figure is of its own messages, which take longer than those to another window.',
    ],
  }
}

/** Ratios compare roughly across machines; milliseconds do not. */
const ratioBase = 'websocket/1.1'

/** Empty unless the editor of the paper was measured, over one network. */
function paperSections({ modes, networks, parameters }: Summary): readonly Section[] {
  if (networks.length > 0 || !String(parameters.editors).includes('mirror')) return []
  const meanHere = (name: string) =>
    modes.find(({ mode }) => mode === name || mode === `${name} mirror`)?.meanMs ?? Number.NaN
  const section: Section = {
    title: 'Beside the 2021 paper',
    tables: [
      table(
        'Here, and in the paper’s Table 1 (n = 200); means in milliseconds, and their ratios to WebSocket’s',
        ['Mode', 'Here', 'Ratio here', 'Paper', 'Ratio in paper'],
        Object.entries(publishedMeansMs).map(([mode, published]) => [
          ...[labelOf(mode), meanHere(mode), meanHere(mode) / meanHere(ratioBase)],
          ...[String(published), published / publishedMeansMs[ratioBase]],
        ]),
      ),
    ],
    paragraphs: [
      'Both are times from one window to another. The paper measured with three computers on a LAN in 2021. Milliseconds of different machines cannot be compared; ratios within one set of machines can, with care. It printed no standard deviations, so the precision of its ratios is unknown.',
    ],
  }
  return [section]
}

const nothingArrived: Section = {
  title: 'Every sample',
  paragraphs: ['Nothing arrived: there is nothing to draw.'],
}

/** Every sample by its time, how many arrive within a time, and every sample by its key. */
function sampleSections({ modes, samples, networks }: Run): readonly [Section, Section, Section] {
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
  const [, ...others]: readonly (string | undefined)[] = networkNames({ networks })
  const curves = rows.map((row, place) => {
    const mode = modes[place] ?? ''
    const colour = lineColour(kinds.indexOf(kindOf(mode)))
    const isDashed = isPeer(mode) || variantOf(mode) === 'mirror' || others.includes(variantOf(mode))
    return { ...row, colour, isDashed, expected: expected.get(mode)?.length ?? 0 }
  })
  const labels = modes.map(labelOf).join('; ')
  const isLog = isLogarithmic(arrived.map(({ ms }) => ms))
  const axis = isLog ? 'The axis is logarithmic' : 'The axis is linear, as some times are not above 0'
  const byTime = {
    caption: `Transmission time of every sample, in milliseconds. ${axis} and not truncated. A dot is one sample; its height only separates it from others. Below the dots: the middle half (thick), the 5th to the 95th percentile (thin) and the median (vertical line, with its figure).`,
    description: `Distribution of transmission times for ${labels}. The table of transmission times gives the same in figures.`,
    draw: (width: number) => distribution(rows, width),
  }
  const hasLost = curves.some(({ values, expected }) => values.length < expected)
  const hasDashes = curves.some(({ isDashed }) => isDashed)
  const byShare = {
    caption: `How many of all samples had arrived within a time, in milliseconds${isLog ? ' (logarithmic)' : ''}. Read from the left: a line crosses 50 % at its median; at 95 % all but one sample in twenty have arrived. A line further left is faster; if two cross, neither is faster for all samples.${hasDashes ? ' A dashed line has the colour of the mode that it is compared with.' : ''}${hasLost ? ' A line that ends below 100 % lost the rest.' : ''}`,
    description: `Cumulative distribution of transmission times for ${labels}. The table of transmission times gives median, 95th and 99th percentile.`,
    draw: (width: number) => cumulative(curves, width),
  }
  const byKey = {
    caption: `Transmission time in milliseconds${isLog ? ' (logarithmic)' : ''} by key, in order of sending, one session after the other. Vertical lines separate the turns of the mode, between which the other modes had theirs.`,
    description: `Transmission time of each sample by key for ${labels}.`,
    draw: (width: number) => timeline(rows, width),
  }
  return [
    { title: 'Every sample', isLead: true, figure: byTime },
    { title: 'How many arrive within a time', figure: byShare },
    { title: 'Through the run', figure: byKey },
  ]
}

/** `sse/2` for `bare:sse/2` and for `sse/2 mirror`: they share a colour. */
const kindOf = (mode: string) => imitatedBy(mode) ?? withoutVariant(mode)

function bytesSection({ modes, bytes = [], parameters: { editors, mergeMs = 0 } }: Summary): Section {
  const sizes = table(
    'Mean size of a message as JSON, in bytes',
    ['Mode', 'The typist sends', 'Each window receives'],
    modes.map(({ mode, sentBytes, receivedBytes }) => [labelOf(mode), sentBytes, receivedBytes]),
  )
  const has = (editor: EditorName) => String(editors).includes(editor)
  const sentences = [
    has('shared') &&
      (mergeMs === 0
        ? 'The shared editor sends the change of a key at once: its server ran with mergeMs 0, so that one key is one message.'
        : `The server ran with mergeMs ${mergeMs}: the shared editor sends a key that long after it was typed, and the transmission time begins then.`),
    has('mirror') && 'Mirroring sends the whole content at each key.',
    modes.some(({ mode }) => isPeer(mode)) && 'Peers’ pages send the whole content at each key.',
    bytes.length === 0 && 'Sizes exclude the framing of transport, HTTP and TLS.',
    'Over XHR the first is the body of the request; the second also includes the log’s number and time.',
  ]
  return { title: 'Size of a keystroke', tables: [sizes], paragraphs: [sentences.filter(Boolean).join(' ')] }
}

function slowestSection({ samples }: Run): Section {
  const slowest = samples
    .filter(hasArrived)
    .toSorted((a, b) => transmissionMs(b) - transmissionMs(a))
    .slice(0, 5)
  return {
    title: 'Slowest samples',
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
    paragraphs: ['No sample was excluded as an outlier: these five are in every figure of this report.'],
  }
}

/** Of the window that types. Empty if there is no other. */
function echoesSections({ echoes, modes }: Summary): readonly Section[] {
  if (echoes.length === 0) return []
  const hasWayDown = echoes.some(({ wayDownMs }) => wayDownMs !== null)
  const rows = echoes.map((echo, place) => [
    ...[labelOf(echo.mode), spread(echo.meanMs, echo.sdMs), echo.p50Ms, echo.p95Ms],
    echo.meanRatio === null ? nothing : `${figure(echo.meanRatio)} / ${labelOf(echo.baseline ?? '')}`,
    ...(hasWayDown ? [echo.wayDownMs, modes[place]?.wayDownMs] : []),
    ...[count(echo.n), count(echo.expected)],
  ])
  const columns = [
    ...['Mode', 'Mean ± sd', 'Median', 'p95', 'Ratio of means'],
    ...(hasWayDown ? ['Way down', 'To the others'] : []),
    ...['Received', 'Expected'],
  ]
  return [
    {
      title: 'The typist’s own echo',
      tables: [table('Transmission times to the window that types, in milliseconds', columns, rows)],
      paragraphs: [
        'The server sends a message to the window that typed it, too, as the confirmation that it is stored. Nobody waits for it: the page shows a key without it.',
        ...(hasWayDown
          ? [
              'Until the server has written it, a message has taken the same time whatever window it goes to. Where the echo takes longer, it does so on the way down, which ends when the page’s JavaScript receives the message: the page is still drawing the key (docs/measuring.md, “The typist’s echo”).',
            ]
          : []),
      ],
    },
  ]
}

function costSection({ modes, echoes }: Summary): Section {
  return {
    title: 'Server use',
    tables: [
      table(
        'Processor time over all turns of a mode, and the highest resident memory in them',
        ['Mode', 'CPU, ms', 'CPU per message and window, µs', 'Memory'],
        atAllWindows(modes, echoes).map(({ mode, n, serverCpuMs, serverRssBytes }) => [
          ...[labelOf(mode), serverCpuMs, serverCpuMs && (1000 * serverCpuMs) / n, megabytes(serverRssBytes)],
        ]),
      ),
    ],
    paragraphs: [
      'Memory is that of the whole server process: a later block can inherit what an earlier one of another mode used.',
    ],
  }
}

function doubtsSection({ clock, drifts, modes, sessions }: Summary): Section {
  const changed = drifts.filter(({ verdict }) => verdict !== 'none found')
  const drift = ({ mode, differenceMs, ci95Ms }: (typeof drifts)[number]) =>
    `${spokenName(mode)} ${signed(differenceMs)} ms (${interval(ci95Ms)})`
  const trend =
    'from the first to the last third of a mode’s messages in each session, averaged over the sessions'
  const drifted =
    drifts.length === 0
      ? 'one session cannot tell a trend from chance.'
      : changed.length === 0
        ? `none was found ${trend}: ${drifts.map(drift).join('; ')}. A trend smaller than these intervals would not be seen.`
        : `${trend} the time changed: ${changed.map(drift).join('; ')}. The modes took turns, so that changes over time affected all of them; the means hold for sessions of this length.`
  const worth = modes.flatMap(({ effectiveN }) => effectiveN ?? [])
  const resembled =
    worth.length === 0
      ? 'how far sessions differ is not known from one session, so there is no interval.'
      : `those of a mode are worth ${range(worth, count)} independent ones, by a rough estimate from how far the means of ${count(sessions)} sessions differ. So intervals are over sessions; deviations and quantiles in the tables are over samples.`
  const { expected, lost } = totals(modes)
  const missing =
    lost === 0
      ? `none of ${count(expected)} samples was; no mean omits a slow one for that reason.`
      : `${count(lost)} of ${count(expected)} samples were, and are in no mean. If the slow ones were lost, the means are too low.`
  return {
    title: 'Doubts',
    isMethod: true,
    paragraphs: [
      `Clock: two windows’ stamps may differ by up to ${figure(clock.boundMs)} ms, and so may every time and every difference. A difference no larger than that is called undecided.`,
      `Drift: ${drifted}`,
      `Dependence: samples of one session resemble each other; ${resembled}`,
      `Lost: ${missing}`,
    ],
  }
}

export interface Run extends Circumstances {
  readonly modes: readonly string[]
  readonly baseline: string
  readonly samples: readonly Sample[]
  /** Over all of a mode's blocks. */
  readonly serverUse: Readonly<Record<string, Use>>
  /** Absent unless requested. */
  readonly growing?: readonly GrownDocument[]
  /** Absent if the number of sessions was fixed. */
  readonly until?: Until
  /** With `--quick`: the time that the run would take without it. */
  readonly quick?: { readonly fullMs: number }
  /** What the peers are; absent without any. */
  readonly peers?: readonly PeerFacts[]
  /** Those whose adapters failed. */
  readonly endedPeers?: readonly EndedPeer[]
  /** Absent if windows reach the server without a simulated network. */
  readonly network?: Network
  /** Absent if they were not counted. */
  readonly bytes?: readonly WireBytes[]
  /** Instead of one, those over which each mode was measured. */
  readonly networks?: readonly Network[]
  /** Present if some are on other machines: in order of `receiver`. */
  readonly windows?: readonly RunWindow[]
  readonly clock: RunClock
}

/**
 * Mean transmission times in ms: 2021 thesis on SSE and XHR over HTTP/2, Table 1 (section 5); n = 200, three computers
 * on a LAN. It gives no standard deviation, hence no intervals here.
 */
export const publishedMeansMs = { 'sse/2': 79.889, 'sse/1.1': 198.45, 'websocket/1.1': 88.171 } as const

export type Summary = ReturnType<typeof analyse>
type ModeSummary = ReturnType<typeof summariseMode>

export function analyse(run: Run) {
  const {
    samples,
    serverUse: _,
    network = null,
    networks = [],
    until = null,
    quick = null,
    peers = [],
    endedPeers = [],
    windows = [],
    ...circumstances
  } = run
  const { baseline, clock } = run
  const sessions = sessionsIn(samples)
  const others = atOthers(samples)
  const pairs = pairsOf(run)
  const modes = run.modes.map((mode) => summariseMode({ ...run, samples: others }, mode))
  const echoes = others === samples ? [] : run.modes.map((mode) => summariseEcho(samples, mode, pairs))
  const { comparisons, notCompared } = compare(others, pairs, clock.boundMs, until?.matters)
  const isApart = (best: string, other: string) => isBelow(contrast(others, best, other), clock.boundMs)
  const { startedAt, finishedAt } = circumstances
  const names = networkNames(run)
  const overNetworks = names.length === 0 ? [] : summariseNetworks(run.modes, samples, names[0] ?? '')
  const { finding, remarks } = findingOf({
    modes: atAllWindows(modes, echoes),
    comparisons,
    networks: names,
    overNetworks,
    baseline,
    sessions,
    until,
    quick,
    startedAt,
    finishedAt,
    ratioOf: (mode, other) => contrast(others, mode, other),
    isApart,
  })
  return {
    scenario: 'keystrokes',
    ...circumstances,
    sessions,
    until,
    quick,
    network,
    networks,
    peers,
    endedPeers,
    modes,
    echoes,
    overNetworks,
    windows: windows.map((window) => summariseWindow(run.modes, samples, window)),
    growing: summariseGrowing(run.growing ?? []),
    knownFaults: knownFaultsOf(run.modes, samples),
    comparisons,
    notCompared,
    bareRatios: bareRatiosOf(comparisons, samples),
    drifts: driftsOf(run.modes, others, clock.boundMs),
    finding: `${endedWords(endedPeers)}${network ? `Over the simulated network “${network.profile}”: ` : ''}${finding}`,
    remarks,
  }
}

/**
 * Of the windows that do not type: times in ms over samples, (message, receiving window); null
 * without arrivals.
 */
function summariseMode(run: Run, mode: string) {
  const samples = run.samples.filter((sample) => sample.mode === mode)
  const use = run.serverUse[mode]
  const sessionMeans = sessionsOf(samples).map(({ times }) => (times.length === 0 ? Number.NaN : mean(times)))
  const times = samples.filter(hasArrived).map(transmissionMs)
  return {
    mode,
    ...summariseSamples(samples, transmissionMs),
    /** In order of the sessions; null if nothing arrived in one. */
    sessionMeansMs: sessionMeans.map(significant),
    effectiveN: effectiveN(times.length, standardDeviation(times), sessionMeans),
    ...bytesOf(samples),
    wayDownMs: wayDownOf(samples),
    serverCpuMs: significant(use?.cpuMs ?? Number.NaN),
    serverRssBytes: significant(use?.rssBytes ?? Number.NaN),
    ...stagesOf(samples),
    path: pathOf(samples),
  }
}

/** Of the window that types. `baseline`: what the ratio of the means is to; null without an interval. */
function summariseEcho(all: readonly Sample[], mode: string, pairs: ReturnType<typeof pairsOf>) {
  const samples = echoesIn(all)
  const own = samples.filter((sample) => sample.mode === mode)
  const baseline = pairs.find((pair) => pair.mode === mode && !isPeer(pair.baseline))?.baseline
  const found = baseline === undefined ? undefined : contrast(samples, mode, baseline)
  return {
    mode,
    ...summariseSamples(own, transmissionMs),
    baseline: found?.baseline ?? null,
    meanRatio: found ? rounded(found.meanRatio) : null,
    meanRatioCi95: found ? roundedInterval(found.meanRatioCi95) : null,
    wayDownMs: wayDownOf(own),
  }
}

/** Mean ms from the server's writing to the window; null if no transport's writing was stamped. */
function wayDownOf(samples: readonly Sample[]): number | null {
  const times = samples.flatMap(({ writtenAt, receivedAt }) =>
    writtenAt === null || receivedAt === null ? [] : [receivedAt - writtenAt],
  )
  return times.length === 0 ? null : rounded(mean(times))
}

/**
 * The number of independent samples whose mean would be as precise as these sessions' means: the
 * samples' variance over the variance of the mean of the sessions. Rough with few sessions; at most
 * `n`; null below two sessions.
 */
function effectiveN(n: number, sd: number, sessionMeans: readonly number[]): number | null {
  const known = sessionMeans.filter(Number.isFinite)
  const variance = standardDeviation(known) ** 2 / known.length
  return known.length < 2 || variance === 0 ? null : Math.min(n, Math.round(sd ** 2 / variance))
}

/**
 * Over several networks, each mode against itself over the first. Else each mode against the
 * baseline, then the shared editor against mirroring in the same mode, then
 * against peers.
 */
export function pairsOf({
  modes,
  baseline,
  endedPeers = [],
  networks = [],
}: Pick<Run, 'modes' | 'baseline' | 'endedPeers' | 'networks'>) {
  const [first] = networks
  if (first)
    return modes
      .map((mode) => ({ mode, baseline: `${withoutVariant(mode)} ${first.profile}` }))
      .filter((pair) => pair.mode !== pair.baseline)
  const own = modes.filter((mode) => !isPeer(mode))
  const isWhole = (peer: string) =>
    soundPeer(peer) === peer && endedPeers.every(({ name }) => name !== peerOf(peer))
  const peersOf = (mode: string) =>
    modes.filter((peer) => imitatedBy(peer) === withoutVariant(mode) && isWhole(peer))
  const mirrorsOf = (mode: string) =>
    modes.filter((other) => variantOf(other) === 'mirror' && other === `${withoutVariant(mode)} mirror`)
  return [
    ...own.filter((mode) => mode !== baseline).map((mode) => ({ mode, baseline })),
    ...own
      .filter((mode) => variantOf(mode) === 'shared')
      .flatMap((mode) => mirrorsOf(mode).map((mirror) => ({ mode, baseline: mirror })))
      .filter((pair) => pair.baseline !== baseline),
    ...own.flatMap((mode) => peersOf(mode).map((peer) => ({ mode, baseline: peer }))),
  ]
}

const networkNames = ({ networks = [] }: { readonly networks?: Run['networks'] | undefined }) =>
  networks.map(({ profile }) => profile)

export interface GrownDocument {
  readonly characters: number
  readonly samples: readonly Sample[]
}

/** How a document is created and typed into. */
export const growing = {
  characters: [200, 10_000, 100_000],
  paragraphCharacters: 200,
  keysInTurn: 20,
  turns: 2,
  intervalMs: 200,
} as const

/** One row per size and mode; medians in ms, means of bytes. */
function summariseGrowing(grown: readonly GrownDocument[]) {
  return grown.flatMap(({ characters, samples }) =>
    [...Map.groupBy(samples, ({ mode }) => mode)].map(([mode, taken]) => {
      const { applyMs = null, showMs = null } = stagesOf(taken)
      const p50Ms = medianMs(atOthers(taken))
      const counts = { n: taken.filter(hasArrived).length, expected: taken.length }
      return { characters, mode, ...counts, p50Ms, applyMs, showMs, ...bytesOf(taken) }
    }),
  )
}

function growingSections(rows: ReturnType<typeof summariseGrowing>): readonly Section[] {
  if (rows.length === 0) return []
  const columns = [
    'Characters',
    text('Mode'),
    'Received',
    'Lost',
    'Transmission',
    'Received → applied',
    'Received → painted',
    ...['Bytes sent', 'Bytes received'],
  ]
  return [
    {
      title: 'A growing document',
      tables: [
        table(
          'By the document’s length; medians in milliseconds, means in bytes',
          columns,
          rows.map((row) => [
            ...[count(row.characters), labelOf(row.mode), count(row.n), count(row.expected - row.n)],
            ...[row.p50Ms, row.applyMs, row.showMs, row.sentBytes, row.receivedBytes],
          ]),
        ),
      ],
      paragraphs: [
        `Paragraphs of ${growing.paragraphCharacters} characters, written beforehand; then ${growing.keysInTurn} keys at the end in each of ${growing.turns} turns, ${growing.intervalMs} ms apart. The editors took turns, in one mode. Every sample is in growing.csv.gz.`,
      ],
    },
  ]
}
