// Analyses the cells of a `windows` run and reports them: how many windows each mode carries.

import { mean } from '../../client/statistics.ts'
import { connections, type Mode, modeNamed } from '../../client/wire.ts'
import type { WindowState } from '../browser/typing.ts'
import { imitatedBy, isPeer, labelOf, spokenName, variantOf, withoutVariant } from '../lab/mode-names.ts'
import type { Circumstances, Network } from '../lab/run-environment.ts'
import {
  bySession,
  hasArrived,
  medianMs,
  type Sample,
  sessionsIn,
  summariseSamples,
  timesOf,
  totals,
  transmissionMs,
} from '../lab/samples.ts'
import { sessionRatio, significant } from '../lab/statistics.ts'
import type { RunClock } from '../lab/testbed.ts'
import { countedWords, type WireBytes, wireSections } from '../lab/wire-bytes.ts'
import { type LinePoint, lines } from '../report/line-charts.ts'
import { csv, csvTime } from '../report/render.ts'
import {
  capital,
  count,
  everySessionSection,
  figure,
  interval,
  loadWords,
  lostSection,
  nothing,
  range,
  ratioWords,
  type Section,
  sessionsWords,
  several,
  table,
  text,
} from '../report/section.ts'
import { publishedMeansMs } from './keystrokes-report.ts'

/** Times are ms since the epoch; empty is "never". Windows that were not open have no row. */
export function samplesCsv({ cells }: Run): string {
  const rows = cells.flatMap((cell) => cell.samples.map((sample) => ({ ...sample, ...cellPlace(cell) })))
  return csv(
    [
      ...(['mode', 'session', 'windows', 'browsers', 'key', 'id'] as const),
      ...(['receiver', 'sentAt', 'receivedAt'] as const),
      ['transmission_ms', (sample) => csvTime(hasArrived(sample) ? transmissionMs(sample) : null)],
      ...(['acceptedAt', 'copies', 'reordered'] as const),
    ],
    rows,
  )
}

const cellPlace = ({ subject, windows, browsers }: Cell) => ({ mode: subject, windows, browsers })

/** A row for each requested window. */
export function windowsCsv({ cells }: Run): string {
  const rows = cells.flatMap((cell) =>
    cell.states.map(({ isShown, isOpen, mode, fall }, place) => ({
      ...cellPlace(cell),
      session: cell.session,
      window: place + 1,
      shown: isShown,
      open: isOpen,
      modeUsed: mode,
      fall,
    })),
  )
  return csv(['mode', 'session', 'windows', 'browsers', 'window', 'shown', 'open', 'modeUsed', 'fall'], rows)
}

/** Whose bytes are counted: one types. */
export const countedWindows = 3

export const sectionsOf = (summary: Summary): readonly Section[] => [
  timesSection(summary),
  openedSection(summary),
  ...lostSections(summary),
  ...paperSections(summary),
  everySessionSection(summary.cells, namingIn(summary), summary.sessions),
  ...wireSections(
    summary.bytes,
    countedWords(
      `keys in an empty document, ${summary.parameters.interval} ms apart, with ${countedWindows} windows`,
    ),
  ),
  costSection(summary),
  doubtsSection(summary),
]

const hasBrowsers = ({ modes }: Summary) => new Set(modes.map(({ browsers }) => browsers)).size > 1

const labelWith = ({ subject, browsers }: Pick<Place, 'subject' | 'browsers'>, summary: Summary) =>
  hasBrowsers(summary) ? `${labelOf(subject)}; ${browsersWords(browsers)}` : labelOf(subject)

const namingIn = (summary: Summary) =>
  [
    ['Mode', (cell: CellSummary) => labelWith(cell, summary)],
    ['Windows', (cell: CellSummary) => count(cell.windows)],
  ] as const

/** A row per mode and number of browsers, a column per number of windows. */
function grid(
  summary: Summary,
  caption: string,
  cellOf: (cell: CellSummary) => string,
  modes = summary.modes,
) {
  const counts = distinct(summary.cells.map(({ windows }) => windows))
  const rows = modes.map((mode) => [
    labelWith(mode, summary),
    ...counts.map((windows) => {
      const cell = cellAt(summary, { ...mode, windows })
      return cell ? cellOf(cell) : nothing
    }),
  ])
  return table(caption, ['Mode', ...counts.map(windowsWords)], rows)
}

function cellAt(
  { cells }: Pick<Summary, 'cells'>,
  { subject, browsers, windows }: Place,
): CellSummary | undefined {
  return cells.find(
    (cell) => cell.subject === subject && cell.browsers === browsers && cell.windows === windows,
  )
}

function timesSection(summary: Summary): Section {
  const counts = distinct(summary.cells.map(({ windows }) => windows))
  const browsers = distinct(summary.modes.map((mode) => mode.browsers))
  const colours = [...new Set(summary.modes.map(({ subject }) => modeOf(subject)?.name))]
  const panels = browsers.map((number) => ({
    title: browsers.length === 1 ? '' : `in ${browsersWords(number)}`,
    series: summary.modes
      .filter((mode) => mode.browsers === number)
      .map(({ subject }) => ({
        label: labelOf(subject),
        isDashed: isPeer(subject) || isLaterShare(summary, subject),
        colour: colours.indexOf(modeOf(subject)?.name),
        points: counts.flatMap((windows): LinePoint[] => {
          const cell = cellAt(summary, { subject, browsers: number, windows })
          if (!cell || (cell.p50Ms === null && isCarried(cell))) return []
          const mark = !isCarried(cell) ? 'failed' : hasFallen(cell) ? 'open' : 'filled'
          return [{ x: windows, y: cell.p50Ms, mark }]
        }),
      })),
  }))
  const labels = summary.modes.map((mode) => labelWith(mode, summary))
  return {
    title: 'Transmission time by number of windows',
    figure: {
      caption: `Median transmission time in milliseconds by number of windows; both axes are logarithmic. A hollow mark: every key arrived everywhere, but some windows used another mode than the one asked for. A cross at the top, and a gap in the line: windows did not open, or keys were lost. Dashed: ${summary.modes.some(({ subject }) => isPeer(subject)) ? 'the bare page' : 'another setting of share'}.`,
      description: `Median transmission time by number of windows for ${labels.join('; ')}. The table below gives the same in figures.`,
      draw: (width) => lines(panels, { width, axis: 'windows', ticks: counts }),
    },
    tables: [grid(summary, 'Median in milliseconds, by windows in all', medianCell)],
    paragraphs: [
      'A sample is one message at one receiving window; its time runs from being handed to the transport to being received. The times are those of the windows that do not type, so one window alone has none. † Every key arrived, but some windows used another mode. ✗ Windows did not open or keys were lost: what did arrive also has a median, in summary.json, but it is not a time of this mode with this many windows.',
    ],
  }
}

const isLaterShare = ({ modes }: Summary, subject: string) => {
  const first = modes.find((mode) => variantOf(mode.subject) !== undefined)
  return variantOf(subject) !== undefined && variantOf(subject) !== variantOf(first?.subject ?? '')
}

function medianCell(cell: CellSummary): string {
  if (!isCarried(cell)) return '✗'
  return `${figure(cell.p50Ms)}${hasFallen(cell) ? ' †' : ''}`
}

const reasons: Readonly<Record<string, string>> = {
  full: 'connections taken',
  blocked: 'it did not get through',
  unsupported: 'the browser does not support it',
  flapping: 'its connections kept ending',
}

function openedSection(summary: Summary): Section {
  const opened = table(
    'Windows of each session, by mode',
    ['Mode', 'Asked for', 'Page shown', 'Opened', 'In the mode', text('In another mode, and why')],
    summary.cells.map((cell) => {
      const falls = cell.falls.map(
        ({ mode, why, windows }) =>
          `${count(windows)} in ${labelOf(mode)}: ${reasons[why] ?? 'the page does not say why'}`,
      )
      return [
        ...[labelWith(cell, summary), count(cell.windows), count(cell.shown)],
        ...[range([cell.opened, cell.mostOpened], count), count(cell.inMode), falls.join('; ') || nothing],
      ]
    }),
  )
  const limited = summary.modes.find(({ subject }) => isLimited(subject) && !isPeer(subject))
  const mode = limited && modeOf(limited.subject)
  const next = modeNamed(mode?.whenFull ?? '')
  const own =
    mode && next
      ? [
          `A browser opens six connections to a host over HTTP/1.1, and each stream holds one. With share: none, Crosswind’s own page lets ${mode.windowsPerBrowser} windows of a browser hold one in ${spokenName(mode.name)} and keeps the sixth for typing; every further window uses ${spokenName(next.name)} at once and says so. That is intended, not a failure: no key is lost, but from there on the row measures a mixture. With share: auto or browser all windows of a browser use one stream, and none needs another mode.`,
        ]
      : []
  const bare = summary.modes.some(({ subject }) => isPeer(subject) && isLimited(subject))
    ? [
        'The bare page has no such limit: each of its windows opens a connection and keeps it. With six windows the sixth connection is a stream too, so no request of the typing window gets out; a seventh window does not even receive the page, until another is closed. The browser reports neither as an error.',
      ]
    : []
  return {
    title: 'Which windows opened, and in which mode',
    tables: [opened],
    paragraphs: [
      'Opened: the page has loaded and its stream is open. Page shown: the document has loaded, open or not. If sessions differ, the column Opened has the fewest and the most, the others the fewest.',
      ...own,
      ...bare,
    ],
  }
}

function lostSections(summary: Summary): readonly Section[] {
  const meaning = `Every requested window is expected to receive every key, whether it opened or not. Lost: not received within ${summary.waitMs / 1000} s of the last key.`
  const caption = 'Numbers of windows at which something was lost, duplicated or reordered'
  const lost = lostSection(summary.cells, namingIn(summary), { caption, paragraphs: [meaning] })
  const received = grid(summary, 'Samples received, as a percentage of those expected', receivedCell)
  return [lost.tables ? { ...lost, tables: [received, ...lost.tables] } : lost]
}

/** Only all of them count as 100 %. */
function receivedCell({ received, expected }: CellSummary): string {
  if (received === expected) return '100'
  if (received === 0) return '0'
  return figure(Math.min(99.9, (100 * received) / expected))
}

function paperSections(summary: Summary): readonly Section[] {
  const { baseline, sessions } = summary
  if (baseline === null || !summary.cells.some(({ ratio }) => ratio !== null)) return []
  const ratioCell = (cell: CellSummary) =>
    cell.ratio === null ? nothing : `${ratioWords(cell.ratio, cell.ratioCi95)}${hasFallen(cell) ? ' †' : ''}`
  const others = summary.modes.filter(({ subject }) => subject !== baseline && !isPeer(subject))
  const compared = [...new Set(others.map(({ subject }) => subject))]
  const published = compared.flatMap((subject) => {
    const ratio = publishedRatio(subject, withoutVariant(baseline))
    const known: Readonly<Record<string, number>> = publishedMeansMs
    return ratio === null ? [] : [[labelOf(subject), String(known[withoutVariant(subject)]), figure(ratio)]]
  })
  return [
    {
      title: 'What the paper measured',
      tables: [
        grid(summary, `Mean, relative to ${spokenName(baseline)} with as many windows`, ratioCell, others),
        table(
          'Table 1 of the 2021 paper (n = 200): five windows on three computers',
          ['Mode', 'Mean, ms', 'Times WebSocket’s'],
          published,
        ),
      ],
      paragraphs: [
        `${sessions < 2 ? 'One session gives no interval: how far sessions differ is unknown.' : 'In brackets the 95 % interval of the ratio, Student’s t over the logarithms of the sessions’ ratios.'} A ratio is given only if both modes delivered every key. † Some windows used another mode.`,
        `The paper (4.2) had ${paperWindows} windows on the server’s own computer, ${paperWindows} on a laptop and the typing one on another laptop. With ${paperWindows} windows a browser holds ${paperWindows} of its six connections, and the typist’s holds one: no window had to wait for a connection, if the page was the only one from that server. So its ratio is not the effect of the connection limit that it names as HTTP/1.1’s drawback (5), and the ratio does not show that effect either: it begins at six windows of one browser, and then keys are lost, not slow. The paper does not say what its ratio shows; it states neither the browser, nor the pause between keys, nor a deviation. Requests that could not reuse an earlier connection, or that opened a connection with its own handshake, are possible causes that this run does not test.`,
      ],
    },
  ]
}

function costSection(summary: Summary): Section {
  const busy = (cell: CellSummary) =>
    cell.machineBusy === null || cell.received === 0 ? nothing : figure(100 * cell.machineBusy)
  const cpu = (cell: CellSummary) => (cell.received === 0 ? nothing : figure(cell.serverCpuMsPerKey))
  return {
    title: 'What server and machine spent',
    tables: [
      grid(summary, 'Server processor time per key, in milliseconds', cpu),
      grid(summary, 'Utilisation of all the machine’s processors while keys were typed, in percent', busy),
    ],
    paragraphs: [
      'The server’s time covers everything it did while the keys were typed, including the reading of these figures. Utilisation is of the whole machine, with the browsers, the lab and anything else that ran.',
    ],
  }
}

function doubtsSection(summary: Summary): Section {
  const { clock, environment, cells, sessions } = summary
  const changed = cells.reduce((sum, cell) => sum + cell.switched, 0)
  return {
    title: 'Doubts',
    isMethod: true,
    paragraphs: [
      ...machineWords(summary),
      `Server, browsers and lab shared one machine with ${environment.cores} cores; ${loadWords({ environment })}. Windows of one user on one machine share it too, but a remote server would leave them more.`,
      sessionsWords(sessions),
      `Two windows’ stamps can differ by at most ${figure(clock.boundMs)} ms. The windows are headless Chromium’s; a browser with a screen also paints them.`,
      'A window that did not open in time counts as not opened; the run did not wait to see whether it would open later, for instance when another is closed.',
      ...(changed > 0 ? [`${windowsWords(changed)} changed the mode while keys were typed.`] : []),
    ],
  }
}

/**
 * The baseline needs neither HTTP/2 nor one of the six connections, so its growth is the machine's.
 */
function machineWords(summary: Summary): readonly string[] {
  const { modes, baseline } = summary
  return modes
    .filter(({ subject }) => !isPeer(subject) && subject !== baseline)
    .flatMap(({ subject, browsers }) => {
      const base = modes.find((mode) => mode.subject === baseline && mode.browsers === browsers)
      const own = modes.find((mode) => mode.subject === subject && mode.browsers === browsers)
      if (!base?.leastP50Ms || !base.mostP50Ms || !own?.leastP50Ms || !own.mostP50Ms) return []
      if (base.most === distinct(summary.cells.map(({ windows }) => windows)).at(0)) return []
      const apart = own.mostP50Ms - base.mostP50Ms
      const end = cellAt(summary, { subject: base.subject, browsers, windows: base.most })
      const bare = modes.find((mode) => mode.subject.endsWith(`:${subject}`) && mode.browsers === browsers)
      const page = bare?.mostP50Ms
        ? ` The bare page took ${figure(bare.mostP50Ms)} ms in the same mode: what is above that is Crosswind’s page and server.`
        : ''
      const busy =
        end?.machineBusy == null
          ? ''
          : ` With them the machine’s processors were ${figure(100 * end.machineBusy)} % busy.`
      return [
        `${spokenName(base.subject)} uses neither HTTP/2 nor the limited connections, so its growth is the machine’s: from ${figure(base.leastP50Ms)} ms with few windows to ${figure(base.mostP50Ms)} ms with ${base.most}${browsers > 1 ? ` in ${browsersWords(browsers)}` : ''}.${busy} ${spokenName(subject)} grew from ${figure(own.leastP50Ms)} to ${figure(own.mostP50Ms)} ms; ${apart > 0 ? `the ${figure(apart)} ms above WebSocket’s are its own, including the processor time that it needs and a busy machine lacks` : 'with that many it took no longer than WebSocket'}.${page}`,
      ]
    })
}

/** One subject with a number of windows in one session. */
export interface Cell {
  /** `sse/2`, with several settings `sse/2 share=none`; for a peer `bare:sse/2`. */
  readonly subject: string
  readonly session: number
  /** The total requested, distributed over the browsers in rotation. */
  readonly windows: number
  readonly browsers: number
  /** By window, before the first key. */
  readonly states: readonly WindowState[]
  /** Windows that changed their mode while keys were typed. */
  readonly switched: number
  readonly keys: number
  /** Samples of windows that were open. */
  readonly samples: readonly Sample[]
  readonly serverCpuMs: number
  /** Over all the machine's cores while keys were typed, 0 to 1. */
  readonly machineBusy: number
}

export interface Run extends Circumstances {
  readonly subjects: readonly string[]
  /** The mode that the times are compared with; null if it was not measured. */
  readonly baseline: string | null
  readonly cells: readonly Cell[]
  /** Limit for a window to open, and for the last key to arrive. */
  readonly patienceMs: number
  readonly waitMs: number
  /** Absent if they were not counted. */
  readonly bytes?: readonly WireBytes[]
  readonly clock: RunClock
  readonly network?: Network
}

/** Windows of one computer in the 2021 paper (4.2), which had five on three. */
const paperWindows = 2

export const modeOf = (subject: string): Mode | undefined =>
  modeNamed(imitatedBy(subject) ?? withoutVariant(subject))

/** Whether each of its streams holds one of the few connections that a browser opens to a host. */
const isLimited = (subject: string) => (modeOf(subject)?.windowsPerBrowser ?? null) !== null

const sharesConnection = (subject: string) => {
  const mode = modeOf(subject)
  return mode !== undefined && connections[mode.http].isShared
}

type Summary = ReturnType<typeof analyse>
type CellSummary = ReturnType<typeof summariseCell>

export function analyse(run: Run) {
  const { subjects: _, cells: measured, network = null, ...circumstances } = run
  const { baseline } = run
  const sessions = sessionsIn(measured)
  const browserCounts = distinct(measured.map(({ browsers }) => browsers))
  const cells = browserCounts.flatMap((browsers) =>
    run.subjects.flatMap((subject) => {
      const own = measured.filter((cell) => cell.browsers === browsers && cell.subject === subject)
      return distinct(own.map(({ windows }) => windows)).map((windows) =>
        summariseCell(run, { subject, browsers, windows }),
      )
    }),
  )
  const modes = browserCounts.flatMap((browsers) =>
    run.subjects.flatMap((subject) => {
      const own = cells.filter((cell) => cell.browsers === browsers && cell.subject === subject)
      return own.length === 0 ? [] : [summariseSubject(own, browserCounts.length > 1)]
    }),
  )
  const words = findingOf({ cells, modes, baseline, sessions })
  return {
    scenario: 'windows' as const,
    ...circumstances,
    sessions,
    network,
    modes,
    cells,
    finding: network ? `Over the simulated network “${network.profile}”: ${words}` : words,
  }
}

/** Ascending. */
const distinct = (values: readonly number[]) => [...new Set(values)].sort((a, b) => a - b)

/** With one window there are none: its own messages take longer than another window's. */
const notTyping = (samples: readonly Sample[]) => samples.filter(({ receiver }) => receiver !== 1)

const windowsWords = (windows: number) => several(windows, 'window')
const browsersWords = (browsers: number) => several(browsers, 'browser')

interface Place {
  readonly subject: string
  readonly browsers: number
  readonly windows: number
}

const cellsAt = (run: Run, { subject, browsers, windows }: Place) =>
  run.cells.filter(
    (cell) => cell.subject === subject && cell.browsers === browsers && cell.windows === windows,
  )

/**
 * Over all sessions. Times in ms over samples, (message, receiving window), of the windows that do
 * not type; null without any. Counts are of all windows.
 */
function summariseCell(run: Run, place: Place) {
  const cells = cellsAt(run, place)
  const asked = modeOf(place.subject)?.name
  const samples = cells.flatMap((cell) => cell.samples)
  const { minMs: _, p99Ms: __, ...figures } = summariseSamples(notTyping(samples), transmissionMs)
  const { n: received, duplicated, reordered } = summariseSamples(samples, transmissionMs)
  const keys = cells.reduce((sum, cell) => sum + cell.keys, 0)
  const expected = keys * place.windows
  const opened = cells.map(({ states }) => states.filter(({ isOpen }) => isOpen).length)
  const inMode = cells.map(
    ({ states }) => states.filter(({ isOpen, mode }) => isOpen && (mode ?? asked) === asked).length,
  )
  const serverCpuMs = cells.reduce((sum, cell) => sum + cell.serverCpuMs, 0)
  return {
    mode: `${place.subject}, ${windowsWords(place.windows)}, ${browsersWords(place.browsers)}`,
    ...place,
    /** Fewest and most in a session. */
    opened: Math.min(...opened),
    mostOpened: Math.max(...opened),
    shown: Math.min(...cells.map(({ states }) => states.filter(({ isShown }) => isShown).length)),
    inMode: Math.min(...inMode),
    falls: fallsIn(cells),
    switched: cells.reduce((sum, cell) => sum + cell.switched, 0),
    keys,
    ...figures,
    n: received,
    expected,
    received,
    lost: expected - received,
    duplicated,
    reordered,
    /** In order of the sessions; null if nothing arrived in one. */
    sessionP50sMs: bySession(cells).map(([, [cell]]) => medianMs(notTyping(cell?.samples ?? []))),
    /** Mean over the baseline's with as many windows, geometric mean over sessions. */
    ...sessionRatio(ratiosTo(run, place)),
    serverCpuMsPerKey: significant(serverCpuMs / keys),
    machineBusy: significant(mean(cells.map((cell) => cell.machineBusy))),
  }
}

/**
 * One for each session in which both delivered everything: what arrived in a broken one means
 * little.
 */
function ratiosTo(run: Run, place: Place): readonly number[] {
  const { baseline } = run
  if (baseline === null || place.subject === baseline || isPeer(place.subject)) return []
  const others = cellsAt(run, { ...place, subject: baseline })
  return cellsAt(run, place).flatMap((cell) => {
    const other = others.find(({ session }) => session === cell.session)
    if (!other || !isWhole(cell) || !isWhole(other)) return []
    const [times = [], otherTimes = []] = [cell, other].map(({ samples }) => timesOf(notTyping(samples)))
    return times.length * otherTimes.length === 0 ? [] : [mean(times) / mean(otherTimes)]
  })
}

const isWhole = ({ keys, windows, samples }: Cell) => keys > 0 && timesOf(samples).length === keys * windows

/** Every window opened, and every key reached every window, in all sessions. */
const isCarried = ({ opened, windows, lost }: Pick<CellSummary, 'opened' | 'windows' | 'lost'>) =>
  opened === windows && lost === 0

const hasFallen = ({ falls }: Pick<CellSummary, 'falls'>) => falls.length > 0

/** Most windows in a session for each mode and reason. */
function fallsIn(cells: readonly Cell[]) {
  const most = new Map<string, { mode: string; why: string; windows: number }>()
  for (const { states, subject } of cells) {
    const fallen = states.filter(
      ({ isOpen, mode }) => isOpen && (mode ?? modeOf(subject)?.name) !== modeOf(subject)?.name,
    )
    for (const [key, group] of Map.groupBy(fallen, ({ mode, fall }) => `${mode} ${fall}`)) {
      const [one] = group
      const windows = Math.max(group.length, most.get(key)?.windows ?? 0)
      most.set(key, { mode: one?.mode ?? '', why: one?.fall ?? 'unknown', windows })
    }
  }
  return [...most.values()]
}

/** `own`: one subject's, ascending by windows. */
function summariseSubject(own: readonly CellSummary[], areBrowsersNamed: boolean) {
  const [least] = own
  const most = own.at(-1)
  const fails = own.find((cell) => !isCarried(cell))
  const carried = fails ? own.slice(0, own.indexOf(fails)) : own
  const { subject = '', browsers = 0 } = least ?? {}
  return {
    mode: areBrowsersNamed ? `${subject}, ${browsersWords(browsers)}` : subject,
    subject,
    browsers,
    /** Largest number of windows up to which all opened and nothing was lost; 0 for none. */
    carries: carried.at(-1)?.windows ?? 0,
    /** Smallest number at which a window did not open or a key was lost; 0 for none. */
    failsAt: fails?.windows ?? 0,
    /** Largest number measured. */
    most: most?.windows ?? 0,
    received: own.reduce((sum, { received }) => sum + received, 0),
    ...totals(own),
    leastP50Ms: own.find(({ p50Ms }) => p50Ms !== null)?.p50Ms ?? null,
    mostP50Ms: most && isCarried(most) ? most.p50Ms : null,
  }
}

type Found = Pick<Summary, 'cells' | 'modes' | 'baseline' | 'sessions'>

function findingOf(found: Found): string {
  const limits = [http1Words(found), http2Words(found)].filter(Boolean).join('; ')
  const sentences = [limits, paperWords(found)].filter(Boolean)
  return sentences.length === 0 ? 'Nothing was measured.' : `${sentences.map(capital).join('. ')}.`
}

const inBrowsers = (browsers: number) => (browsers === 1 ? 'one browser' : `${browsers} browsers`)

/** For a page without slots, if one was measured; empty otherwise. */
function http1Words({ modes, cells }: Found): string {
  const bare = modes.find(({ subject }) => isPeer(subject) && isLimited(subject))
  if (!bare) return ownLimitWords({ modes, cells })
  const { subject, browsers, carries, failsAt, most } = bare
  const name = spokenName(imitatedBy(subject) ?? subject)
  const where = inBrowsers(browsers)
  if (failsAt === 0)
    return `On a bare page ${name} carried all ${windowsWords(most)} of ${where} that were measured`
  const end = cellAt({ cells }, { ...bare, windows: most })
  const outcome = end
    ? `${most > failsAt ? `of ${most}, ` : ''}${end.opened === 0 ? 'none' : count(end.opened)} opened and ${arrivedWords(end)}`
    : ''
  const ends = `failed at ${failsAt}: ${outcome}`
  if (carries === 0)
    return `On a bare page ${name} carried no number of windows of ${where} that was measured; it ${ends}`
  return `On a bare page ${name} carried ${windowsWords(carries)} of ${where} and ${ends}`
}

function arrivedWords({ received, expected }: Pick<CellSummary, 'received' | 'expected'>): string {
  if (received === 0) return 'no key arrived'
  return `${count(received)} of ${count(expected)} samples arrived`
}

function ownLimitWords({ modes, cells }: Pick<Found, 'modes' | 'cells'>): string {
  const own = modes.find(({ subject }) => isLimited(subject))
  if (!own) return ''
  const fallen = cells.find(
    (cell) => cell.subject === own.subject && cell.browsers === own.browsers && hasFallen(cell),
  )
  if (!fallen) return `${spokenName(own.subject)} carried ${windowsWords(own.carries)}`
  return `${spokenName(own.subject)} held ${fallen.inMode} of ${windowsWords(fallen.windows)} in that mode; the others used another`
}

function http2Words({ modes, cells, baseline }: Found): string {
  const row = modes.find(({ subject }) => !isPeer(subject) && sharesConnection(subject))
  if (!row) return ''
  const { subject, most, failsAt } = row
  const name = spokenName(subject)
  const end = cellAt({ cells }, { ...row, windows: most })
  if (failsAt > 0 || !end)
    return `${name} failed at ${windowsWords(failsAt)}: ${end?.opened} of ${most} opened, ${count(end?.lost ?? 0)} of ${count(end?.expected ?? 0)} samples were lost`
  const ratio =
    end.ratio === null || baseline === null
      ? ''
      : `, ${figure(end.ratio)} times ${spokenName(baseline)}’s${end.ratioCi95 ? ` (${interval(end.ratioCi95)})` : ''}`
  const mean = end.meanMs === null ? '' : ` in ${figure(end.meanMs)} ms on average${ratio}`
  return `${name} delivered every key to all ${windowsWords(most)}${mean}`
}

/** The limited mode with the baseline, nearest to the paper's windows in a browser. */
function paperCell({ cells }: Pick<Found, 'cells'>): CellSummary | undefined {
  const measured = cells.filter(
    (cell) => isLimited(cell.subject) && cell.ratio !== null && !hasFallen(cell) && isCarried(cell),
  )
  const distance = ({ windows, browsers }: CellSummary) => Math.abs(windows / browsers - paperWindows)
  return measured.toSorted((one, other) => distance(one) - distance(other)).at(0)
}

function publishedRatio(subject: string, baseline: string): number | null {
  const known: Readonly<Record<string, number>> = publishedMeansMs
  const above = known[withoutVariant(subject)]
  const below = known[baseline]
  return above === undefined || below === undefined ? null : above / below
}

function paperWords({ cells, baseline, sessions }: Found): string {
  const cell = paperCell({ cells })
  const published = cell && baseline !== null ? publishedRatio(cell.subject, baseline) : null
  if (!cell || published === null || cell.ratio === null) return ''
  const sure = cell.ratioCi95 ? ` (${interval(cell.ratioCi95)})` : sessions < 2 ? ', in one session' : ''
  const here =
    cell.browsers === 1
      ? windowsWords(cell.windows)
      : `${windowsWords(cell.windows)} in ${browsersWords(cell.browsers)}`
  return `The 2021 paper had at most ${paperWindows} windows on a computer, too few to reach that limit: it does not explain why HTTP/1.1 took ${figure(published)} times WebSocket there, and with ${here} it took ${figure(cell.ratio)} times here${sure}, with an editor that sends changes where the paper’s sends its whole content`
}
