// Messages of 10 B to 1 MB from one window to all, size by size, in sessions.

import { join } from 'node:path'
import { z } from 'zod'
import { createSeededRandom, shuffled } from '../../client/wire.ts'
import { startBrowser } from '../browser/browser.ts'
import { openWindows, sendProbes, showPages } from '../browser/typing.ts'
import type { Plan } from '../lab/estimate.ts'
import { defineExperiment } from '../lab/experiment.ts'
import { flag, headed, numbers, seed, whole, wordsOnce } from '../lab/flags.ts'
import {
  labelOf,
  requireMode,
  requireModes,
  requireRoom,
  spokenName,
  usualBaseline,
} from '../lab/mode-names.ts'
import {
  circumstances,
  deliveryColumns,
  noStamps,
  number,
  numberOrNull,
  readSummary,
  readText,
  rowsIn,
  serverUseOf,
  withoutNulls,
} from '../lab/reread.ts'
import type { Circumstances, Network } from '../lab/run-environment.ts'
import {
  atAllWindows,
  atOthers,
  bySession,
  echoesIn,
  hasArrived,
  outcomeWords,
  type Sample,
  sessionsIn,
  summariseSamples,
  timesOf,
  totals,
  transmissionMs,
} from '../lab/samples.ts'
import { median, sessionRatio, significant } from '../lab/statistics.ts'
import {
  describeNetworks,
  describePlace,
  profileFlag,
  type RunClock,
  recordingAddress,
  spentByMode,
  Testbed,
  timeTurn,
  type Use,
} from '../lab/testbed.ts'
import { lines } from '../report/line-charts.ts'
import { csv, csvTime } from '../report/render.ts'
import {
  count,
  everySessionSection,
  figure,
  loadWords,
  lostSection,
  megabytes,
  ratioWords,
  type Section,
  sessionsWords,
  several,
  sizeOf,
  table,
} from '../report/section.ts'

interface PayloadSample extends Sample {
  /** Size of the text in the message. */
  readonly bytes: number
}

export interface Run extends Circumstances {
  readonly modes: readonly string[]
  readonly baseline: string
  readonly sizes: readonly number[]
  readonly samples: readonly PayloadSample[]
  readonly serverUse: Readonly<Record<string, Use>>
  readonly waitMs: number
  readonly clock: RunClock
  readonly network?: Network
}

/** JSON and the log's own fields on top of the text. */
const envelopeBytes = 4096
/** The minimum that a server accepts by default: smaller limits would measure refusals. */
const usualMessageBytes = 1_048_576

export const payload = defineExperiment({
  name: 'payload',
  about: `Sends messages of increasing size from one window to all, one at a time, and measures the transmission time of each to each\n    window, in several sessions.`,
  flags: {
    sizes: flag(
      numbers('10,100,1000,10000,100000,1000000', 1, 2_000_000),
      'LIST',
      'bytes of a message’s text',
    ),
    modes: flag(wordsOnce.default(['sse/2', 'sse/1.1', 'websocket/1.1']), 'LIST', 'modes to compare'),
    windows: flag(whole(1, 50).default(3), 'N', 'simultaneously open windows'),
    sessions: flag(whole(1, 1000).default(3), 'N', 'at least 2 for intervals'),
    messages: flag(whole(1, 10_000).default(20), 'N', 'messages per size, mode and session'),
    warmup: flag(whole(0, 200).default(3), 'N', 'uncounted messages before them'),
    interval: flag(whole(1, 10_000).default(50), 'MS', 'minimum time between two messages'),
    wait: flag(whole(1, 600).default(10), 'S', 'a message that has not arrived by then is lost'),
    profile: profileFlag,
    seed,
    headed,
  },
  /** `baseline`: WebSocket, or else the first mode. */
  options(given) {
    requireRoom(requireModes(given.modes), given.windows, given.windows)
    return { ...given, baseline: usualBaseline(given.modes) ?? given.modes[0] ?? '' }
  },

  plan: (options): Plan => ({ sessionMs: sessionMs(options) }),

  networks: ({ profile }) => profile,

  reread,

  async measure(options, lab): Promise<Run> {
    const { sessions, sizes, modes, windows: count, messages, warmup, interval, wait, profile } = options
    lab.say(
      `${messages} messages of each of ${sizes.map(sizeOf).join(', ')} for each of ${modes.join(', ')} in each of ${several(sessions, 'session')}, ${count} windows; --seed ${options.seed}.`,
    )
    const random = createSeededRandom(options.seed)
    const largest = Math.max(usualMessageBytes, ...sizes.map((bytes) => bytes + envelopeBytes))
    const settings = {
      share: 'none',
      'limits-max-message-bytes': largest,
      'limits-queue-bytes-per-window': 4 * largest,
      'limits-outbox-bytes': 4 * largest,
    }
    const measured = await lab.sessions(sessions, async (session, opened) => {
      const testbed = new Testbed('payload', options, session, opened)
      const [server] = await testbed.startServer(settings)
      const browser = await startBrowser({ headed: options.headed })
      opened.defer(browser.quit)
      const windows = await openWindows([browser], count)
      const turns: { bounds: number; samples: PayloadSample[]; use: Use & { mode: string } }[] = []
      for (const name of shuffled(modes, random)) {
        const system = { name, mode: requireMode(name), server, editor: 'shared', forgets: false } as const
        const address = `${recordingAddress(system, 'payload')}&probes`
        await showPages(windows, address, { text: '', forgets: false })
        for (const bytes of shuffled(sizes, random)) {
          lab.signal.throwIfAborted()
          const send = (times: number) =>
            sendProbes(
              windows,
              { bytes, times, intervalMs: interval, receivedWithinMs: wait * 1000 },
              lab.signal,
            )
          if (warmup > 0) await send(warmup)
          const place = { session, block: 1, firstKey: 1 }
          const turn = await timeTurn(windows, system, place, () => send(messages))
          if (turn.sent !== messages)
            throw new Error(
              `${name}: ${messages} messages of ${sizeOf(bytes)} were published, ${turn.sent} fitted into the outbox.`,
            )
          const samples = turn.samples.map((sample) => ({ ...sample, bytes }))
          turns.push({ bounds: turn.boundMs, samples, use: { mode: name, ...turn.use } })
          lab.say(
            `${`${session}  ${name}`.padEnd(20)} ${sizeOf(bytes).padStart(7)}  ${outcomeWords(turn.samples)}`,
          )
        }
      }
      return { turns, networkUses: await testbed.networkUses(), version: browser.version }
    })
    const turns = measured.flatMap((session) => session.turns)
    const { windows, seed, headed } = options
    return {
      ...lab.circumstances({
        browser: measured[0]?.version ?? '',
        server: describePlace(profile),
        parameters: {
          sizes: sizes.join(', '),
          windows,
          sessions,
          messages,
          warmup,
          interval,
          wait,
          seed,
          headed,
          ...(profile.length > 0 && { profile: profile.join(', ') }),
        },
      }),
      modes,
      baseline: options.baseline,
      sizes,
      waitMs: wait * 1000,
      samples: turns.flatMap(({ samples }) => samples),
      serverUse: spentByMode(
        modes,
        turns.map(({ use }) => use),
      ),
      clock: { method: 'one machine', boundMs: Math.max(...turns.map(({ bounds }) => bounds)) },
      ...describeNetworks(
        profile,
        measured.map(({ networkUses }) => networkUses),
      ),
    }
  },

  analyse,

  report: (run, summary) => ({
    sections: [
      timesSection(summary),
      throughputSection(summary),
      ...comparisonSections(summary),
      lostSection(atAllWindows(summary.sizes, summary.echoes), naming, {
        caption: 'Sizes at which something was lost, duplicated or reordered',
        paragraphs: [`Lost: not received within ${summary.waitMs / 1000} s.`],
      }),
      everySessionSection(atAllWindows(summary.sizes, summary.echoes), naming, summary.sessions),
      costSection(summary),
      doubtsSection(summary),
    ],
    method: [
      `Each of the ${several(summary.sessions, 'session')} started a fresh server process, browser and ${summary.parameters.windows} windows; modes and sizes came in random order. All windows and the server used the machine’s clock, to within ${figure(summary.clock.boundMs)} ms for two windows.`,
    ],
    data: {
      'samples.csv.gz': csv(
        [
          ...(['mode', 'session', 'bytes'] as const),
          ['message', ({ key }) => key],
          ...(['id', 'receiver', 'sentAt', 'receivedAt'] as const),
          ['transmission_ms', (sample) => csvTime(hasArrived(sample) ? transmissionMs(sample) : null)],
          ...(['acceptedAt', 'sentBytes', 'receivedBytes', 'copies', 'reordered'] as const),
        ],
        run.samples,
      ),
    },
  }),
})

const sampleRow = z
  .object({
    ...deliveryColumns,
    mode: z.string(),
    session: number,
    bytes: number,
    message: number,
    receiver: number,
    sentAt: number,
    acceptedAt: numberOrNull,
    sentBytes: number,
    receivedBytes: numberOrNull,
  })
  .transform(({ message: key, ...sample }): PayloadSample => ({ ...noStamps, ...sample, block: 1, key }))

/** What a summary has of a run, besides its figures. */
type Known = Omit<Run, 'modes' | 'sizes' | 'samples' | 'serverUse'> & {
  readonly modes: Parameters<typeof serverUseOf>[0]
}

async function reread(folder: string): Promise<Run> {
  const summary = await readSummary<Known>(folder, 'payload')
  const path = join(folder, 'samples.csv.gz')
  return {
    ...withoutNulls(summary, [...circumstances, 'baseline', 'clock', 'waitMs', 'network']),
    modes: summary.modes.map(({ mode }) => mode),
    sizes: String(summary.parameters.sizes).split(', ').map(Number),
    samples: rowsIn(path, await readText(path), sampleRow),
    serverUse: serverUseOf(summary.modes),
  }
}

const startMs = 5000
const pageMs = 1500
/** Of a message, besides the interval. */
const messageMs = 60

/** On two idle cores. */
function sessionMs({ modes, sizes, messages, warmup, interval }: Options): number {
  return startMs + modes.length * (pageMs + sizes.length * (messages + warmup) * (interval + messageMs))
}

type Options = ReturnType<typeof payload.options>

/** Modes within this ratio of the fastest count as alike in the finding. */
const alikeWithin = 1.25

type Summary = ReturnType<typeof analyse>
type SizeSummary = ReturnType<typeof summariseSize>

function analyse(run: Run) {
  const { modes, sizes, samples, serverUse: _, network = null, ...circumstances } = run
  const rows = modes.flatMap((mode) => sizes.map((bytes) => summariseSize(run, mode, bytes)))
  const isAlone = samples.every(({ receiver }) => receiver === 1)
  const echoes = isAlone ? [] : modes.flatMap((mode) => sizes.map((bytes) => summariseEcho(run, mode, bytes)))
  const words = findingOf(run, rows, echoes)
  return {
    scenario: 'payload' as const,
    ...circumstances,
    sessions: sessionsIn(samples),
    network,
    modes: modes.map((mode) => summariseMode(run, mode, rows)),
    sizes: rows,
    echoes,
    finding: network ? `Over the simulated network “${network.profile}”: ${words}` : words,
  }
}

/**
 * Of the windows that do not send: times in ms over samples, (message, receiving window); null
 * without arrivals.
 */
function summariseSize({ samples: all, baseline }: Run, mode: string, bytes: number) {
  const of = (name: string) =>
    atOthers(all.filter((sample) => sample.mode === name && sample.bytes === bytes))
  const samples = of(mode)
  const medians = (name: string) =>
    bySession(of(name)).map(([session, own]) => {
      const times = timesOf(own)
      return [session, times.length === 0 ? null : median(times)] as const
    })
  const sessions = medians(mode)
  const others = new Map(mode === baseline ? [] : medians(baseline))
  const ratios = sessions.flatMap(([session, p50Ms]) => {
    const other = others.get(session)
    return p50Ms === null || other == null ? [] : [p50Ms / other]
  })
  const times = timesOf(samples)
  return {
    mode: nameOf(mode, bytes),
    subject: mode,
    bytes,
    ...summariseSamples(samples, transmissionMs),
    /** The text's size over the median time, at one window. */
    kilobytesPerSecond: times.length === 0 ? null : significant(bytes / median(times)),
    /** In order of the sessions. */
    sessionP50sMs: sessions.map(([, p50Ms]) => significant(p50Ms ?? Number.NaN)),
    /** Median over the baseline's, geometric mean over sessions. */
    ...sessionRatio(ratios),
  }
}

const nameOf = (mode: string, bytes: number) => `${mode}, ${sizeOf(bytes)}`

/** Of the sender's own messages. */
function summariseEcho({ samples: all }: Run, mode: string, bytes: number) {
  const samples = echoesIn(all).filter((sample) => sample.mode === mode && sample.bytes === bytes)
  const figures = summariseSamples(samples, transmissionMs)
  return { mode: nameOf(mode, bytes), subject: mode, bytes, ...figures }
}

function summariseMode({ serverUse }: Run, mode: string, sizes: readonly SizeSummary[]) {
  const own = sizes.filter(({ subject }) => subject === mode)
  const use = serverUse[mode]
  return {
    mode,
    n: own.reduce((sum, { n }) => sum + n, 0),
    ...totals(own),
    smallestP50Ms: own.at(0)?.p50Ms ?? null,
    largestP50Ms: own.at(-1)?.p50Ms ?? null,
    /**
     * Largest size up to which every size takes at most `alikeWithin` times as long as the
     * smallest; null without times.
     */
    flatToBytes: flatTo(own),
    serverCpuMs: significant(use?.cpuMs ?? Number.NaN),
    serverRssBytes: significant(use?.rssBytes ?? Number.NaN),
  }
}

/** `own`: one mode's, ascending. */
function flatTo(own: readonly SizeSummary[]): number | null {
  const least = own[0]?.p50Ms
  if (least == null) return null
  const next = own.findIndex(({ p50Ms }) => p50Ms === null || p50Ms > alikeWithin * least)
  return (next < 0 ? own.at(-1) : own[next - 1])?.bytes ?? null
}

function findingOf(
  { modes, sizes: all }: Run,
  sizes: readonly SizeSummary[],
  echoes: readonly ReturnType<typeof summariseEcho>[],
): string {
  const at = (bytes: number) => sizes.filter((size) => size.bytes === bytes)
  const smallest = all.at(0)
  const largest = all.at(-1)
  if (smallest === undefined || largest === undefined || sizes.every(({ n }) => n === 0))
    return 'No transmission time was measured.'
  const flat = modes.map((mode) => flatTo(sizes.filter(({ subject }) => subject === mode)))
  const flatBytes = Math.min(...flat.map((bytes) => bytes ?? 0))
  const start =
    flatBytes > smallest
      ? `Up to ${sizeOf(flatBytes)} the size hardly matters: at most ${alikeWithin} times the time of ${sizeOf(smallest)} in every mode`
      : `The size matters from ${sizeOf(all[1] ?? largest)} on in some mode`
  const late = ({ p50Ms }: SizeSummary) => p50Ms ?? Number.POSITIVE_INFINITY
  const times = at(largest)
    .toSorted((one, other) => late(one) - late(other))
    .map(({ subject, p50Ms, lost, expected }) =>
      p50Ms === null
        ? `${spokenName(subject)} lost all`
        : `${figure(p50Ms)} ms by ${spokenName(subject)}${lost > 0 ? ` (${lost} of ${expected} lost)` : ''}`,
    )
  const end = `in the median ${sizeOf(largest)} takes ${times.join(', ')}`
  const { lost } = totals([...sizes, ...echoes])
  const sentences = [
    [...(flat.includes(null) ? [] : [start]), end].join('; ').replace(/^in/, 'In'),
    ...(modes.length > 1 ? [alikeWords(all.filter((bytes) => areAlike(at(bytes))))] : []),
    ...(lost > 0 ? [`${lost} samples were lost`] : []),
  ]
  return sentences.map((words) => `${words}.`).join(' ')
}

const alikeWords = (sizes: readonly number[]) =>
  sizes.length === 0
    ? `At no size are the modes within ${alikeWithin} times the fastest`
    : `Within ${alikeWithin} times the fastest, the modes are alike at ${sizes.map(sizeOf).join(', ')}`

function areAlike(sizes: readonly SizeSummary[]): boolean {
  const times = sizes.flatMap(({ p50Ms }) => p50Ms ?? [])
  return times.length === sizes.length && Math.max(...times) <= alikeWithin * Math.min(...times)
}

const naming = [
  ['Mode', ({ subject }: SizeSummary) => labelOf(subject)],
  ['Size', ({ bytes }: SizeSummary) => sizeOf(bytes)],
] as const

const sizesIn = ({ sizes }: { readonly sizes: readonly { readonly bytes: number }[] }) => [
  ...new Set(sizes.map(({ bytes }) => bytes)),
]

/** A row per mode, a column per size. */
function grid<Size extends Pick<SizeSummary, 'subject' | 'bytes'>>(
  summary: Pick<Summary, 'modes'> & { readonly sizes: readonly Size[] },
  caption: string,
  cellOf: (size: Size) => string | number | null,
  modes = summary.modes,
) {
  const columns = ['Mode', ...sizesIn(summary).map(sizeOf)]
  const rows = modes.map(({ mode }) => [
    labelOf(mode),
    ...summary.sizes.filter(({ subject }) => subject === mode).map(cellOf),
  ])
  return table(caption, columns, rows)
}

function timesSection(summary: Summary): Section {
  const { modes, sizes } = summary
  const series = modes.map(({ mode }, colour) => ({
    label: labelOf(mode),
    isDashed: false,
    colour,
    points: sizes
      .filter(({ subject }) => subject === mode)
      .map(({ bytes, p50Ms, n }) => ({
        x: bytes,
        y: p50Ms,
        mark: n === 0 ? ('failed' as const) : ('filled' as const),
      })),
  }))
  const look = { axis: 'size of the text', ticks: sizesIn(summary), tickFormat: sizeOf }
  return {
    title: 'Transmission time by size',
    figure: {
      caption: `Median transmission time in milliseconds by the size of the message’s text; both axes are logarithmic.${sizes.some(({ n }) => n === 0) ? ' A cross at the top, and a gap in the line: nothing arrived.' : ''}`,
      description: `Median transmission time by size for ${modes.map(({ mode }) => labelOf(mode)).join('; ')}. The table below gives the same in figures.`,
      draw: (width) => lines([{ title: '', series }], { width, ...look }),
    },
    tables: [
      grid(summary, 'Median in milliseconds', ({ p50Ms }) => p50Ms),
      ...(summary.echoes.length === 0
        ? []
        : [grid({ ...summary, sizes: summary.echoes }, 'The sender’s own messages', ({ p50Ms }) => p50Ms)]),
    ],
    paragraphs: [
      'A sample is one message at one receiving window; its time runs from being handed to the window’s outbox to the arrival of its last byte, parsed. The envelope, about 150 bytes, is not part of the size.',
    ],
  }
}

function throughputSection(summary: Summary): Section {
  const caption = 'The size over the median time, in kilobytes a second at each window'
  return {
    title: 'Throughput',
    tables: [
      grid(summary, caption, ({ kilobytesPerSecond: rate }) =>
        rate !== null && rate >= 100 ? count(Math.round(rate)) : rate,
      ),
    ],
    paragraphs: [
      'One message is in flight at a time: this is what a single message reaches, not a mode’s total capacity. It goes to every window, so the server sends correspondingly more.',
    ],
  }
}

function comparisonSections(summary: Summary): readonly Section[] {
  const { baseline, modes, sessions } = summary
  if (modes.length < 2) return []
  const others = modes.filter(({ mode }) => mode !== baseline)
  const caption = `Median, relative to ${spokenName(baseline)}`
  return [
    {
      title: `Against ${spokenName(baseline)}`,
      tables: [grid(summary, caption, ({ ratio, ratioCi95 }) => ratioWords(ratio, ratioCi95), others)],
      paragraphs: [
        sessions < 2
          ? 'One session gives no interval: how far sessions differ is unknown.'
          : 'In brackets the 95 % interval, Student’s t over the logarithms of the sessions’ ratios.',
      ],
    },
  ]
}

function costSection({ modes }: Summary): Section {
  return {
    title: 'Server use',
    tables: [
      table(
        'Processor time over all sizes of a mode, and the highest resident memory in them',
        ['Mode', 'CPU, ms', 'Memory'],
        modes.map(({ mode, serverCpuMs, serverRssBytes }) => [
          ...[labelOf(mode), serverCpuMs, megabytes(serverRssBytes)],
        ]),
      ),
    ],
    paragraphs: [
      'Memory is that of the whole server process: a later mode can inherit what an earlier one used.',
    ],
  }
}

function doubtsSection({ clock, environment, sessions }: Summary): Section {
  return {
    title: 'Doubts',
    paragraphs: [
      `Server, browser and lab shared one machine with ${environment.cores} cores; ${loadWords({ environment })}. Over loopback, bytes travel as fast as memory: the time that grows with the size is encoding, encryption, storing and parsing. A network adds its own time per byte; --profile simulates one.`,
      sessionsWords(sessions),
      `Two windows’ stamps can differ by at most ${figure(clock.boundMs)} ms. The text is one repeated letter; no mode compresses messages, but a proxy in between might.`,
      `“Alike” in the finding means a ratio of medians of at most ${alikeWithin}; it is not a test.`,
    ],
  }
}
