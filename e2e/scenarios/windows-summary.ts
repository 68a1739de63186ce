// What the cells of `windows` say: how many windows each mode carries, and how long a key takes.

import { connections, type Mode, modeNamed } from '../../server/wire/modes.ts'
import { mean } from '../../server/wire/t-test.ts'
import type { WindowState } from '../browser/typing.ts'
import { imitatedBy, isPeer, spokenName, withoutEditor } from '../lab/mode-names.ts'
import type { Circumstances, Network } from '../lab/run-environment.ts'
import {
  bySession,
  type Sample,
  sessionsIn,
  summariseSamples,
  timesOf,
  totals,
  transmissionMs,
} from '../lab/samples.ts'
import { median, sessionRatio, significant } from '../lab/statistics.ts'
import type { RunClock } from '../lab/testbed.ts'
import { count, figure, interval } from '../report/section.ts'
import { publishedMeansMs } from './keystrokes-summary.ts'

/** One subject with so many windows in one session. */
export interface Cell {
  /** `sse/2`, with several settings `sse/2 share=none`; of a peer `bare:sse/2`. */
  readonly subject: string
  readonly session: number
  /** Asked for in all, dealt out to the browsers in turn. */
  readonly windows: number
  readonly browsers: number
  /** By window, before the first key. */
  readonly states: readonly WindowState[]
  /** Windows that changed their mode while keys were typed. */
  readonly switched: number
  readonly keys: number
  /** Of windows that were open. */
  readonly samples: readonly Sample[]
  readonly serverCpuMs: number
  /** Of all the machine's cores while keys were typed, 0 to 1. */
  readonly machineBusy: number
}

export interface Run extends Circumstances {
  readonly subjects: readonly string[]
  /** The mode at whose times the others are set; null if it was not measured. */
  readonly baseline: string | null
  readonly cells: readonly Cell[]
  /** For a window to open, and for the last key to arrive. */
  readonly patienceMs: number
  readonly waitMs: number
  readonly clock: RunClock
  readonly network?: Network
}

/** Windows of one computer in the 2021 paper (4.2), which had five on three. */
export const paperWindows = 2

export const modeOf = (subject: string): Mode | undefined =>
  modeNamed(imitatedBy(subject) ?? withoutEditor(subject))

/** Whether each of its streams holds one of the few connections that a browser opens to a host. */
export const isLimited = (subject: string) => (modeOf(subject)?.windowsPerBrowser ?? null) !== null

const sharesConnection = (subject: string) => {
  const mode = modeOf(subject)
  return mode !== undefined && connections[mode.http].isShared
}

export type Summary = ReturnType<typeof analyse>
export type CellSummary = ReturnType<typeof summariseCell>

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
    ...{ sessions, network, modes, cells },
    finding: network ? `Over the simulated network “${network.profile}”: ${words}` : words,
  }
}

/** Ascending. */
export const distinct = (values: readonly number[]) => [...new Set(values)].sort((a, b) => a - b)

export const windowsWords = (windows: number) => (windows === 1 ? '1 window' : `${count(windows)} windows`)
export const browsersWords = (browsers: number) => (browsers === 1 ? '1 browser' : `${browsers} browsers`)

export interface Place {
  readonly subject: string
  readonly browsers: number
  readonly windows: number
}

const cellsAt = (run: Run, { subject, browsers, windows }: Place) =>
  run.cells.filter(
    (cell) => cell.subject === subject && cell.browsers === browsers && cell.windows === windows,
  )

/** Over all sessions. Times in ms over samples, (message, receiving window); null without arrivals. */
function summariseCell(run: Run, place: Place) {
  const cells = cellsAt(run, place)
  const asked = modeOf(place.subject)?.name
  const samples = cells.flatMap((cell) => cell.samples)
  const { minMs: _, p99Ms: __, ...figures } = summariseSamples(samples, transmissionMs)
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
    ...{ expected, received: figures.n, lost: expected - figures.n },
    /** In order of the sessions; null for one in which nothing arrived. */
    sessionP50sMs: bySession(cells).map(([, [cell]]) => {
      const times = timesOf(cell?.samples ?? [])
      return times.length === 0 ? null : significant(median(times))
    }),
    /** Mean over the baseline's with as many windows, geometric mean over sessions. */
    ...sessionRatio(ratiosTo(run, place)),
    serverCpuMsPerKey: significant(serverCpuMs / keys),
    machineBusy: significant(mean(cells.map((cell) => cell.machineBusy))),
  }
}

/** One for each session in which both delivered everything: what arrived of a broken one says little. */
function ratiosTo(run: Run, place: Place): readonly number[] {
  const { baseline } = run
  if (baseline === null || place.subject === baseline || isPeer(place.subject)) return []
  const others = cellsAt(run, { ...place, subject: baseline })
  return cellsAt(run, place).flatMap((cell) => {
    const other = others.find(({ session }) => session === cell.session)
    if (!other || !isWhole(cell) || !isWhole(other)) return []
    return [mean(timesOf(cell.samples)) / mean(timesOf(other.samples))]
  })
}

const isWhole = ({ keys, windows, samples }: Cell) => keys > 0 && timesOf(samples).length === keys * windows

/** Every window opened, and every key reached every window, in all sessions. */
export const isCarried = ({ opened, windows, lost }: Pick<CellSummary, 'opened' | 'windows' | 'lost'>) =>
  opened === windows && lost === 0

export const hasFallen = ({ falls }: Pick<CellSummary, 'falls'>) => falls.length > 0

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
    ...{ subject, browsers },
    /** Largest number of windows up to which all opened and nothing was lost; 0 for none. */
    carries: carried.at(-1)?.windows ?? 0,
    /** Smallest number at which a window did not open or a key was lost; 0 for none. */
    failsAt: fails?.windows ?? 0,
    /** Largest number measured. */
    most: most?.windows ?? 0,
    received: own.reduce((sum, { received }) => sum + received, 0),
    ...totals(own),
    leastP50Ms: least?.p50Ms ?? null,
    mostP50Ms: most && isCarried(most) ? most.p50Ms : null,
  }
}

type Found = Pick<Summary, 'cells' | 'modes' | 'baseline' | 'sessions'>

function findingOf(found: Found): string {
  const limits = [http1Words(found), http2Words(found)].filter(Boolean).join('; ')
  const sentences = [limits, paperWords(found)].filter(Boolean)
  return sentences.length === 0 ? 'Nothing was measured.' : `${sentences.join('. ')}.`
}

const inBrowsers = (browsers: number) => (browsers === 1 ? 'one browser' : `${browsers} browsers`)

/** Of a page without the slots, where one was measured; empty otherwise. */
function http1Words({ modes, cells }: Found): string {
  const bare = modes.find(({ subject }) => isPeer(subject) && isLimited(subject))
  if (!bare) return ownLimitWords({ modes, cells })
  const { subject, browsers, carries, failsAt, most } = bare
  const name = spokenName(imitatedBy(subject) ?? subject)
  const where = inBrowsers(browsers)
  if (failsAt === 0)
    return `On a bare page ${name} carried all ${windowsWords(most)} of ${where} that were measured`
  const at = (windows: number) =>
    cells.find((cell) => cell.subject === subject && cell.browsers === browsers && cell.windows === windows)
  const end = at(most)
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
  const { subject, browsers, most, failsAt } = row
  const name = spokenName(subject)
  const end = cells.find(
    (cell) => cell.subject === subject && cell.browsers === browsers && cell.windows === most,
  )
  if (failsAt > 0 || !end)
    return `${name} failed at ${windowsWords(failsAt)}: ${end?.opened} of ${most} opened, ${count(end?.lost ?? 0)} of ${count(end?.expected ?? 0)} samples were lost`
  const ratio =
    end.ratio === null || baseline === null
      ? ''
      : `, ${figure(end.ratio)} times ${spokenName(baseline)}’s${end.ratioCi95 ? ` (${interval(end.ratioCi95)})` : ''}`
  const mean = end.meanMs === null ? '' : ` in ${figure(end.meanMs)} ms on average${ratio}`
  return `${name} delivered every key to all ${windowsWords(most)}${mean}`
}

/** The limited mode beside the baseline, nearest to the paper's windows in a browser. */
function paperCell({ cells }: Pick<Found, 'cells'>): CellSummary | undefined {
  const measured = cells.filter(
    (cell) => isLimited(cell.subject) && cell.ratio !== null && !hasFallen(cell) && isCarried(cell),
  )
  const distance = ({ windows, browsers }: CellSummary) => Math.abs(windows / browsers - paperWindows)
  return measured.toSorted((one, other) => distance(one) - distance(other)).at(0)
}

export function publishedRatio(subject: string, baseline: string): number | null {
  const known: Readonly<Record<string, number>> = publishedMeansMs
  const [above, below] = [known[withoutEditor(subject)], known[baseline]]
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
  return `The 2021 paper had at most ${paperWindows} windows on a computer, too few to meet that limit: it does not explain why HTTP/1.1 took ${figure(published)} times WebSocket there, and with ${here} it took ${figure(cell.ratio)} times here${sure}`
}
