// Findings that only `keystrokes` has: pairs, peers, networks, stages, sizes, and their sections.

import { mean } from '../../client/statistics.ts'
import type { RunClock } from '../lab/clock.ts'
import {
  type EditorName,
  imitatedBy,
  isPeer,
  labelOf,
  soundPeer,
  variantOf,
  withoutVariant,
} from '../lab/mode-names.ts'
import { type RunWindow, summariseWindow, windowsSections } from '../lab/participants.ts'
import type { EndedPeer } from '../lab/run-peers.ts'
import { atOthers, echoesIn, hasArrived, medianMs, type Sample, transmissionMs } from '../lab/samples.ts'
import { bytesOf, pathOf, stagesOf, stagesSection } from '../lab/stages.ts'
import { rounded } from '../lab/statistics.ts'
import { type Analysis, contrast, type Design } from '../lab/study.ts'
import type { StudyRun, StudySummary } from '../lab/study-experiment.ts'
import { modeFactor, transmission } from '../lab/study-parts.ts'
import type { PeerFacts } from '../peers/peers.ts'
import { cumulative, isLogarithmic, timeline } from '../report/charts.ts'
import { lineColour } from '../report/figure-file.ts'
import { count, formatRatio, nothing, type Section, table, text } from '../report/section.ts'
import { doubtsSection, driftsOf, effectiveN } from './keystrokes-doubts.ts'
import { http3Pairs, http3Sections } from './keystrokes-http3.ts'
import { latenessOf, networksIn, networksSections } from './keystrokes-networks.ts'
import {
  bareRatiosOf,
  endedSections,
  knownFaultsOf,
  knownFaultsSections,
  peersSections,
} from './keystrokes-peers.ts'

/** A sample as a row of the study. */
export type KeyRow = { readonly [Name in keyof Sample]: Sample[Name] } & {
  /** The receiving window typed it. */
  readonly own: boolean
  /** Null is "never". */
  readonly transmissionMs: number | null
}

/** In the order of the columns; times are ms since the epoch. */
export function keyRow(sample: Sample): KeyRow {
  const { mode, session, block, key, id, receiver, sentAt, receivedAt, inputAt } = sample
  const { arrivedAt, acceptedAt, committingAt, storedAt, writtenAt, appliedAt, paintedAt } = sample
  const { sentBytes, receivedBytes, copies, reordered } = sample
  return {
    mode,
    session,
    block,
    key,
    id,
    receiver,
    own: receiver === 1,
    sentAt,
    receivedAt,
    transmissionMs: hasArrived(sample) ? transmissionMs(sample) : null,
    inputAt,
    arrivedAt,
    acceptedAt,
    committingAt,
    storedAt,
    writtenAt,
    appliedAt,
    paintedAt,
    sentBytes,
    receivedBytes,
    copies,
    reordered,
  }
}

export interface Run extends StudyRun {
  /** With their editor or network, if there are several. */
  readonly levels: { readonly mode: readonly string[] }
  readonly baseline: string
  readonly samples: readonly KeyRow[]
  readonly boundMs: number
  /** How the windows' stamps were made comparable. */
  readonly clock: RunClock['method']
  /** Facts about the peers; absent without any. */
  readonly peers?: readonly PeerFacts[]
  /** Peers whose adapters failed. */
  readonly endedPeers?: readonly EndedPeer[]
  /** Present if some are on other machines: in order of `receiver`. */
  readonly windows?: readonly RunWindow[]
  /** Absent unless requested. */
  readonly growing?: readonly GrownRow[]
}

/** With the document's length before the turn. */
export type GrownRow = KeyRow & { readonly characters: number }

export type Details = ReturnType<typeof detailsOf>
export type Summary = StudySummary<Run, { readonly details: Details }>

export const design: Design = {
  question: 'How long does a key take from one window to the others?',
  factors: [modeFactor],
  measures: [transmission],
  isSubject: (mode) => !isPeer(String(mode)),
  pairs: (modes, baseline) => pairsOf(modes.map(String), String(baseline)),
  notes: ({ echoes }) => [
    'A sample is one message at one receiving window; its time runs from being handed to the transport to being received. Lost samples have no time: they are counted, and are in no mean.',
    echoes.length > 0
      ? 'Every figure of this report is of the windows that do not type, unless it says otherwise.'
      : 'There was one window: every figure is of its own messages, which take longer than those to another window.',
  ],
}

/**
 * Over several networks, each mode against itself over the first. Else each mode against the
 * baseline, then the shared editor against mirroring in the same mode, then
 * against peers without a built-in fault. Then those over HTTP/3 against others.
 */
function pairsOf(modes: readonly string[], baseline: string): readonly (readonly [string, string])[] {
  const general = generalPairs(modes, baseline)
  const isNew = ([mode, against]: readonly [string, string]) =>
    !general.some(([one, other]) => one === mode && other === against)
  return [...general, ...http3Pairs(modes).filter(isNew)]
}

function generalPairs(modes: readonly string[], baseline: string): readonly (readonly [string, string])[] {
  const [first] = networksIn(modes)
  if (first !== undefined)
    return modes
      .map((mode) => [mode, `${withoutVariant(mode)} ${first}`] as const)
      .filter(([mode, usual]) => mode !== usual)
  const own = modes.filter((mode) => !isPeer(mode))
  const peersOf = (mode: string) =>
    modes.filter((peer) => imitatedBy(peer) === withoutVariant(mode) && soundPeer(peer) === peer)
  const mirrorsOf = (mode: string) =>
    modes.filter((other) => variantOf(other) === 'mirror' && other === `${withoutVariant(mode)} mirror`)
  return [
    ...own.filter((mode) => mode !== baseline).map((mode) => [mode, baseline] as const),
    ...own
      .filter((mode) => variantOf(mode) === 'shared')
      .flatMap((mode) => mirrorsOf(mode).map((mirror) => [mode, mirror] as const))
      .filter(([, mirror]) => mirror !== baseline),
    ...own.flatMap((mode) => peersOf(mode).map((peer) => [mode, peer] as const)),
  ]
}

export function detailsOf(run: Run, found: Analysis) {
  const { samples, levels, windows = [], boundMs } = run
  const others = atOthers(samples)
  const echoes = others === samples ? [] : echoesIn(samples)
  const among = (rows: readonly KeyRow[]) => (mode: string, baseline: string) =>
    contrast({
      design,
      measured: run,
      samples: rows,
      measure: transmission,
      place: {},
      pair: [mode, baseline],
    })
  return {
    modes: levels.mode.map((mode) => {
      const own = others.filter((sample) => sample.mode === mode)
      const { n = 0, sd = null, sessions = [] } = found.figures.find((row) => row.mode === mode) ?? {}
      return {
        mode,
        effectiveN: effectiveN(n, sd, sessions),
        ...bytesOf(own),
        wayDownMs: wayDownOf(own),
        ...stagesOf(own),
        path: pathOf(own),
      }
    }),
    /** Figures of the window that types; empty without another. */
    echoes:
      echoes.length === 0
        ? []
        : levels.mode.map((mode) => {
            const pair = found.comparisons.find((one) => one.mode === mode && !isPeer(one.baseline))
            const { ratio = null, ratioCi95 = null } = (pair && among(echoes)(mode, pair.baseline)) ?? {}
            return {
              mode,
              baseline: ratioCi95 ? (pair?.baseline ?? null) : null,
              ratio: ratioCi95 && ratio,
              ratioCi95,
              wayDownMs: wayDownOf(echoes.filter((sample) => sample.mode === mode)),
            }
          }),
    overNetworks: latenessOf(levels.mode, samples),
    windows: windows.map((window) => summariseWindow(levels.mode, samples, window)),
    growing: summariseGrowing(run.growing ?? []),
    knownFaults: knownFaultsOf(levels.mode, samples, among(others)),
    bareRatios: bareRatiosOf(found.comparisons, among(echoes)),
    drifts: driftsOf(levels.mode, others, boundMs),
  }
}

export function sectionsOf(summary: Summary, run: Run): readonly Section[] {
  const { details, clock, boundMs, levels, comparisons, sessions } = summary
  const { peers = [], endedPeers = [] } = summary
  const samples = atOthers(run.samples)
  const drawn = samples.some(hasArrived)
  return [
    ...http3Sections(summary, details.overNetworks),
    ...networksSections(details.overNetworks, comparisons),
    ...(drawn ? [arrivalSection(levels.mode, samples)] : []),
    ...endedSections(endedPeers),
    ...peersSections(levels.mode, comparisons, peers, details.bareRatios),
    ...knownFaultsSections(details.knownFaults),
    ...paperSections(summary),
    ...windowsSections(details.windows, levels.mode),
    stagesSection(details.modes, { method: clock, boundMs: boundMs ?? 0 }),
    ...wayDownSections(details),
    bytesSection(summary),
    ...growingSections(details.growing),
    ...(drawn ? [timelineSection(levels.mode, samples), slowestSection(samples)] : []),
    doubtsSection(
      details.drifts,
      details.modes.flatMap((one) => one.effectiveN ?? []),
      sessions,
    ),
  ]
}

/** Ratios compare roughly across machines; milliseconds do not. */
const ratioBase = 'websocket/1.1'

/** Empty unless the editor of the paper was measured, over one network. */
function paperSections({ figures, levels, parameters }: Summary): readonly Section[] {
  if (networksIn(levels.mode).length > 0 || !String(parameters.editors).includes('mirror')) return []
  const meanHere = (name: string) =>
    figures.find(({ mode }) => mode === name || mode === `${name} mirror`)?.mean ?? Number.NaN
  const section: Section = {
    title: 'Beside the 2021 paper',
    tables: [
      table(
        'Here, and in the paper’s Table 1 (n = 200); means in milliseconds, and their ratios to WebSocket’s',
        ['Mode', 'Here', 'Ratio here', 'Paper', 'Ratio in paper'],
        Object.entries(publishedMeansMs).map(([mode, published]) => [
          labelOf(mode),
          meanHere(mode),
          meanHere(mode) / meanHere(ratioBase),
          String(published),
          published / publishedMeansMs[ratioBase],
        ]),
      ),
    ],
    paragraphs: [
      'Both are times from one window to another. The paper measured with three computers on a LAN in 2021. Milliseconds of different machines cannot be compared; ratios within one set of machines can, with care. It printed no standard deviations, so the precision of its ratios is unknown.',
    ],
  }
  return [section]
}

/** Groups the samples that arrived by mode. */
function arrivedByMode(samples: readonly KeyRow[]) {
  const keys = samples.reduce((most, { key }) => Math.max(most, key), 0)
  const arrived = samples.flatMap(({ mode, session, block, key, transmissionMs: ms }) =>
    ms === null ? [] : [{ mode, key: (session - 1) * keys + key, turn: `${session}.${block}`, ms }],
  )
  return {
    byMode: Map.groupBy(arrived, ({ mode }) => mode),
    isLog: isLogarithmic(arrived.map(({ ms }) => ms)),
  }
}

function arrivalSection(modes: readonly string[], samples: readonly KeyRow[]): Section {
  const { byMode, isLog } = arrivedByMode(samples)
  const expected = Map.groupBy(samples, ({ mode }) => mode)
  const kinds = [...new Set(modes.map(kindOf))]
  const [, ...others]: readonly (string | undefined)[] = networksIn(modes)
  const curves = modes.map((mode) => ({
    label: labelOf(mode),
    values: byMode.get(mode) ?? [],
    colour: lineColour(kinds.indexOf(kindOf(mode))),
    isDashed: isPeer(mode) || variantOf(mode) === 'mirror' || others.includes(variantOf(mode)),
    expected: expected.get(mode)?.length ?? 0,
  }))
  const hasLost = curves.some(({ values, expected }) => values.length < expected)
  const hasDashes = curves.some(({ isDashed }) => isDashed)
  const figure = {
    caption: `How many of all samples had arrived within a time, in milliseconds${isLog ? ' (logarithmic)' : ''}. Read from the left: a line crosses 50 % at its median; at 95 % all but one sample in twenty have arrived. A line further left is faster; if two cross, neither is faster for all samples.${hasDashes ? ' A dashed line has the colour of the mode that it is compared with.' : ''}${hasLost ? ' A line that ends below 100 % lost the rest.' : ''}`,
    description: `Cumulative distribution of transmission times for ${modes.map(labelOf).join('; ')}. The table of every figure gives median, 95th and 99th percentile.`,
    draw: (width: number) => cumulative(curves, width),
  }
  return { title: 'How many arrive within a time', figure }
}

function timelineSection(modes: readonly string[], samples: readonly KeyRow[]): Section {
  const { byMode, isLog } = arrivedByMode(samples)
  const rows = modes.map((mode) => ({
    label: labelOf(mode),
    colour: isPeer(mode) ? 'var(--peer)' : 'var(--accent)',
    values: byMode.get(mode) ?? [],
  }))
  const figure = {
    caption: `Transmission time in milliseconds${isLog ? ' (logarithmic)' : ''} by key, in order of sending, one session after the other. Vertical lines separate the turns of the mode, between which the other modes had theirs.`,
    description: `Transmission time of each sample by key for ${modes.map(labelOf).join('; ')}.`,
    draw: (width: number) => timeline(rows, width),
  }
  return { title: 'Through the run', figure }
}

/** `sse/2` for `bare:sse/2` and for `sse/2 mirror`: they share a colour. */
const kindOf = (mode: string) => imitatedBy(mode) ?? withoutVariant(mode)

function bytesSection({
  details: { modes },
  wire = [],
  parameters: { editors, mergeMs = 0 },
}: Summary): Section {
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
    wire.length === 0 && 'Sizes exclude the framing of transport, HTTP and TLS.',
    'Over XHR the first is the body of the request; the second also includes the log’s number and time.',
  ]
  return { title: 'Size of a keystroke', tables: [sizes], paragraphs: [sentences.filter(Boolean).join(' ')] }
}

function slowestSection(samples: readonly KeyRow[]): Section {
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
          sample.id,
          transmissionMs(sample),
          labelOf(sample.mode),
          ...[sample.session, sample.block, sample.key, sample.receiver].map(String),
        ]),
      ),
    ],
    paragraphs: ['No sample was excluded as an outlier: these five are in every figure of this report.'],
  }
}

/** Sections on the window that types. Empty if there is no other. */
function wayDownSections({ echoes, modes }: Details): readonly Section[] {
  if (echoes.length === 0) return []
  const hasWayDown = echoes.some(({ wayDownMs }) => wayDownMs !== null)
  const rows = echoes.map((echo, place) => [
    labelOf(echo.mode),
    echo.ratio === null
      ? nothing
      : `${formatRatio(echo.ratio, echo.ratioCi95)} / ${labelOf(echo.baseline ?? '')}`,
    ...(hasWayDown ? [echo.wayDownMs, modes[place]?.wayDownMs] : []),
  ])
  const columns = ['Mode', 'Ratio of means', ...(hasWayDown ? ['Way down', 'To the others'] : [])]
  return [
    {
      title: 'The typist’s own echo',
      tables: [table('Of the window that types; the way down in milliseconds', columns, rows)],
      paragraphs: hasWayDown
        ? [
            'Nobody waits for the echo: the page shows a key without it. Until the server has written it, a message has taken the same time whatever window it goes to. Where the echo takes longer, it does so on the way down, which ends when the page’s JavaScript receives the message: the page is still drawing the key (docs/measuring.md, “The typist’s echo”).',
          ]
        : ['Nobody waits for the echo: the page shows a key without it.'],
    },
  ]
}

/**
 * Mean transmission times in ms: 2021 thesis on SSE and XHR over HTTP/2, Table 1 (section 5); n = 200, three computers
 * on a LAN. It gives no standard deviation, hence no intervals here.
 */
export const publishedMeansMs = { 'sse/2': 79.889, 'sse/1.1': 198.45, 'websocket/1.1': 88.171 } as const

/** Mean ms from the server's writing to the window; null if no transport's writing was stamped. */
function wayDownOf(samples: readonly Sample[]): number | null {
  const times = samples.flatMap(({ writtenAt, receivedAt }) =>
    writtenAt === null || receivedAt === null ? [] : [receivedAt - writtenAt],
  )
  return times.length === 0 ? null : rounded(mean(times))
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
function summariseGrowing(grown: readonly GrownRow[]) {
  return [...Map.groupBy(grown, ({ characters, mode }) => `${characters} ${mode}`).values()].flatMap(
    (taken) => {
      const [first] = taken
      if (!first) return []
      const { characters, mode } = first
      const { applyMs = null, showMs = null } = stagesOf(taken)
      const p50Ms = medianMs(atOthers(taken))
      const counts = { n: taken.filter(hasArrived).length, expected: taken.length }
      return [{ characters, mode, ...counts, p50Ms, applyMs, showMs, ...bytesOf(taken) }]
    },
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
    'Bytes sent',
    'Bytes received',
  ]
  return [
    {
      title: 'A growing document',
      tables: [
        table(
          'By the document’s length; medians in milliseconds, means in bytes',
          columns,
          rows.map((row) => [
            count(row.characters),
            labelOf(row.mode),
            count(row.n),
            count(row.expected - row.n),
            row.p50Ms,
            row.applyMs,
            row.showMs,
            row.sentBytes,
            row.receivedBytes,
          ]),
        ),
      ],
      paragraphs: [
        `Paragraphs of ${growing.paragraphCharacters} characters, written beforehand; then ${growing.keysInTurn} keys at the end in each of ${growing.turns} turns, ${growing.intervalMs} ms apart. The editors took turns, in one mode. Every sample is in growing.csv.gz.`,
      ],
    },
  ]
}
