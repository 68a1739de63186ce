// How many windows a mode carries: one types, all receive, with increasing numbers of windows.

import { randomUUID } from 'node:crypto'
import { createSeededRandom, modeNamed, shareNames, shuffled } from '../../client/wire.ts'
import { startBrowser } from '../browser/browser.ts'
import {
  openPatiently,
  openWindows,
  readStates,
  stampsOf,
  textBetween,
  typeKeys,
  type WindowState,
  warmUp,
} from '../browser/typing.ts'
import type { Plan } from '../lab/estimate.ts'
import { flag, headed, names, numbers, seed, whole, wordsOnce } from '../lab/flags.ts'
import {
  imitatedBy,
  isPeer,
  labelOf,
  requireMode,
  requireModes,
  spokenName,
  usualBaseline,
  withoutVariant,
} from '../lab/mode-names.ts'
import { describeNetworks, describePlace } from '../lab/network-report.ts'
import { processorTimes } from '../lab/run-environment.ts'
import type { Lab } from '../lab/run-sessions.ts'
import { atOthers, formatOutcome, type Sample } from '../lab/samples.ts'
import { type Turn, turnOf } from '../lab/standings.ts'
import { type Design, type Measured, placeLabel, type Row } from '../lab/study.ts'
import { defineStudy, type StudyRun } from '../lab/study-experiment.ts'
import { missedRow, modeFactor, transmission, transmissionRow } from '../lab/study-parts.ts'
import { profileFlag, recordingAddress, type System, Testbed } from '../lab/testbed.ts'
import { timeTurn } from '../lab/turns.ts'
import { countModes, formatCounting } from '../lab/wire-bytes.ts'
import { bareModes, imitatedModes, readPeers } from '../peers/peers.ts'
import {
  capital,
  count,
  listed,
  nothing,
  range,
  type Section,
  several,
  table,
  text,
} from '../report/section.ts'

/** Wide enough for differences of milliseconds; many windows are compared one after the other. */
const clockEnoughMs = 0.1
const warmupIntervalMs = 20
/** Number of windows whose bytes are counted: one types. */
const countedWindows = 3

const design: Design<{ readonly openings: readonly Opening[] }> = {
  question: 'How many windows does a mode carry, and how fast?',
  factors: [
    {
      ...modeFactor,
      spoken: (mode) =>
        spokenName(imitatedBy(String(mode)) ?? String(mode)) +
        (isPeer(String(mode)) ? ' on a bare page' : ''),
    },
    {
      name: 'windows',
      title: 'Number of windows',
      label: (windows) => several(Number(windows), 'window'),
      short: String,
      spoken: (windows) => `with ${several(Number(windows), 'window')}`,
    },
    {
      name: 'browsers',
      title: 'Browsers',
      label: (browsers) => several(Number(browsers), 'browser'),
      short: String,
      spoken: (browsers) => `in ${several(Number(browsers), 'browser')}`,
    },
  ],
  measures: [{ ...transmission, needsAll: true }],
  pairs: (modes, baseline) =>
    modes.flatMap((mode) =>
      baseline === null || mode === baseline || isPeer(String(mode)) ? [] : [[mode, baseline] as const],
    ),
  notes: () => [
    'A sample is one message at one receiving window; its time runs from being handed to the transport to being received. Every requested window is expected to receive every key, whether it opened or not. One window alone has no time: its own messages take longer than those of others.',
  ],
  remarks: ({ openings }) => formatFall(openings),
}

export const windows = defineStudy({
  name: 'windows',
  about: `Opens increasing numbers of windows, types in the first and measures the transmission time to each, and what is lost: how many\n    windows each mode carries in one browser and in several. Each session has its own server processes, and each number of windows\n    and mode its own browsers.`,
  flags: {
    counts: flag(
      numbers('1,2,4,6,8,16,32', 1, 200),
      'LIST',
      'windows in total, distributed over the browsers',
    ),
    browsers: flag(numbers('1', 1, 16), 'LIST', 'separate Chromium processes, each with its own profile'),
    modes: flag(wordsOnce.default(['sse/2', 'sse/1.1', 'websocket/1.1']), 'LIST', 'modes to compare'),
    share: flag(
      names(shareNames).default(['none']),
      'LIST',
      `the server’s setting share: ${shareNames.join(', ')}`,
    ),
    peers: flag(
      names(['bare', 'none']).default(['bare']),
      'NAME',
      'bare: the same modes on a page of a few lines, without Crosswind’s limit of five held connections; or none',
    ),
    sessions: flag(whole(1, 1000).default(3), 'N', 'at least 2 for intervals'),
    keys: flag(whole(1, 10_000).default(10), 'N', 'keys per mode, number of windows and session'),
    interval: flag(whole(0, 10_000).default(200), 'MS', 'time between two keys'),
    warmup: flag(whole(0, 200).default(5), 'N', 'uncounted keys before them'),
    patience: flag(
      whole(1, 600).default(10),
      'S',
      'time for a window to open; after one that did not, all others together get as long',
    ),
    wait: flag(whole(1, 600).default(3), 'S', 'a key that has not arrived by then is lost'),
    profile: profileFlag,
    seed,
    headed,
  },
  options(given) {
    requireModes(given.modes)
    if (given.share.length === 0) throw new Error('--share names no setting.')
    if (given.browsers.some((number) => given.counts.every((windows) => windows < number)))
      throw new Error('each of --browsers needs at least one window: name a larger number in --counts.')
    const usual = usualBaseline(given.modes)
    const options = { ...given, peers: given.peers.filter((name) => name !== 'none') }
    const baseline = usual === undefined ? null : nameWith(options, usual, given.share[0] ?? '')
    return { ...options, baseline }
  },

  plan: (options): Plan => ({ sessionMs: sessionMs(options) }),

  networks: ({ profile }) => profile,

  design,

  wireWords: formatCounting('keys in an empty document, as far apart as all others'),

  own: ({ samples, levels }: StudyRun) => ({ openings: openingsOf(samples, levels) }),

  sections: ({ openings }) => [openedSection(openings)],

  method: ({ parameters: { patience, wait } }) => [
    `A window had ${patience} s to open, and the last key ${wait} s to arrive everywhere.`,
  ],

  async measure(options, lab): Promise<StudyRun> {
    const { sessions, counts, browsers, keys, interval, warmup, patience, wait, seed, profile } = options
    const { modes, share, peers } = options
    const subjects = subjectsOf(options)
    lab.progress.say(
      `${counts.join(', ')} windows in ${browsers.join(', ')} browser${browsers.at(-1) === 1 ? '' : 's'}, ${keys} keys for each of ${subjects.join(', ')}, ${several(sessions, 'session')}; --seed ${seed}.`,
    )
    const { baseline } = options
    lab.progress.compare({
      caption: 'Transmission time in milliseconds',
      subjects,
      baselineOf: () => baseline ?? undefined,
    })
    const random = createSeededRandom(seed)
    // Each cell has its own browsers, so that none inherits another's connections.
    const measured = await lab.sessions(sessions, async (session, opened) => {
      const testbed = new Testbed('windows', options, session, opened)
      const systems: System[] = []
      for (const one of share) {
        const [server] = await testbed.startServer({ share: one, 'merge-ms': 0 })
        for (const mode of requireModes(modes))
          systems.push({
            name: nameWith(options, mode.name, one),
            mode,
            server,
            editor: 'shared',
            forgets: false,
          })
      }
      for (const peer of readPeers(peers)) systems.push(...(await testbed.startPeer(peer, modes)).systems)
      const cells: Awaited<ReturnType<typeof measureCell>>[] = []
      for (const number of browsers)
        for (const windows of counts.filter((windows) => windows >= number))
          for (const system of shuffled(systems, random)) {
            lab.signal.throwIfAborted()
            lab.progress.step(
              `${system.name}  ${several(windows, 'window')} in ${several(number, 'browser')}`,
            )
            const place = { session, windows, browsers: number }
            const one = await measureCell(options, system, place, lab.signal)
            cells.push(one)
            lab.progress.took(turnOfCell(one.cell), formatCell(one.cell))
          }
      const wire = session === 1 && countsBytes(options) ? await countKeys(systems, options, lab) : []
      return { cells, wire, networkUses: await testbed.networkUses() }
    })
    const cells = measured.flatMap((session) => session.cells)
    return {
      ...lab.circumstances({
        browser: cells[0]?.version ?? '',
        server: describePlace(profile),
        parameters: {
          counts: counts.join(', '),
          browsers: browsers.join(', '),
          share: share.join(', '),
          sessions,
          keys,
          interval,
          warmup,
          patience,
          wait,
          seed,
          headed: options.headed,
          ...(profile.length > 0 && { profile: profile.join(', ') }),
        },
      }),
      levels: {
        mode: subjects,
        windows: counts.toSorted((one, other) => one - other),
        browsers: browsers.toSorted((one, other) => one - other),
      },
      baseline: options.baseline,
      ...(countsBytes(options) && { wire: measured[0]?.wire ?? [] }),
      samples: cells.flatMap(({ cell }) => rowsOf(cell)),
      costs: cells.flatMap(({ cost }) => cost ?? []),
      boundMs: Math.max(...cells.map(({ boundMs }) => boundMs)),
      ...describeNetworks(
        profile,
        measured.map(({ networkUses }) => networkUses),
      ),
    }
  },
})

/** One subject with a number of windows in one session. */
export interface Cell {
  /** `sse/2`, with several settings `sse/2 share=none`; for a peer `bare:sse/2`. */
  readonly mode: string
  readonly session: number
  /** The total requested, distributed over the browsers in rotation. */
  readonly windows: number
  readonly browsers: number
  /** By window, before the first key. */
  readonly states: readonly WindowState[]
  /** Numbers of windows that changed their mode while keys were typed. */
  readonly switched: readonly number[]
  readonly keys: number
  /** Samples of windows that were open. */
  readonly samples: readonly Sample[]
}

/** For every key at every requested window, with the window's state. */
export function rowsOf({ states, switched, keys, samples, ...cell }: Cell): readonly Row[] {
  const { mode, session, windows, browsers } = cell
  const sent = new Map(samples.map((sample) => [sample.key, sample]))
  const arrived = new Map(samples.map((sample) => [`${sample.receiver} ${sample.key}`, sample]))
  return states.flatMap(({ isShown: shown, isOpen: open, mode: modeUsed, fall }, place) => {
    const receiver = place + 1
    const columns = {
      windows,
      browsers,
      shown,
      open,
      modeUsed,
      fall,
      switched: switched.includes(receiver),
    }
    return Array.from({ length: keys }, (_, place) => {
      const key = place + 1
      const sample = arrived.get(`${receiver} ${key}`)
      return sample
        ? transmissionRow(sample, columns)
        : missedRow({ mode, session, key, receiver }, sent.get(key), columns)
    })
  })
}

/** A mode, or that of a page that imitates it. */
const modeOf = (subject: string) => modeNamed(imitatedBy(subject) ?? withoutVariant(subject))

type Opening = ReturnType<typeof openingsOf>[number]

/** Which windows opened, and in which mode. Over all sessions; figures are the fewest of a session. */
function openingsOf(
  samples: readonly Row[],
  { mode: modes = [], windows: counts = [], browsers: numbers = [] }: Measured['levels'],
) {
  const rows = samples.filter(({ key }) => key === 1)
  return numbers.flatMap((browsers) =>
    modes.flatMap((mode) =>
      counts.flatMap((windows) => {
        const place = { mode, windows, browsers }
        const own = rows.filter(
          (row) => row.mode === mode && row.windows === windows && row.browsers === browsers,
        )
        return own.length === 0 ? [] : [openingOf(place, own)]
      }),
    ),
  )
}

/** `rows`: one for each window and session. */
function openingOf(
  place: Readonly<Record<'mode' | 'windows' | 'browsers', string | number>>,
  rows: readonly Row[],
) {
  const asked = modeOf(String(place.mode))?.name
  const inMode = (row: Row) => row.open === true && (row.modeUsed ?? asked) === asked
  const sessions = [...Map.groupBy(rows, ({ session }) => session).values()]
  const inSessions = (is: (row: Row) => boolean) => sessions.map((own) => own.filter(is).length)
  const opened = inSessions(({ open }) => open === true)
  const fallen = rows.filter((row) => row.open === true && !inMode(row))
  return {
    mode: placeLabel(design.factors, place),
    at: place,
    shown: Math.min(...inSessions(({ shown }) => shown === true)),
    opened: Math.min(...opened),
    mostOpened: Math.max(...opened),
    inMode: Math.min(...inSessions(inMode)),
    /** The most of a session. */
    falls: [...Map.groupBy(fallen, ({ modeUsed, fall }) => `${modeUsed} ${fall}`).values()].map((alike) => ({
      mode: String(alike[0]?.modeUsed),
      why: String(alike[0]?.fall ?? 'unknown'),
      windows: Math.max(...inSessions((row) => alike.includes(row))),
    })),
    /** While keys were typed; in all sessions. */
    switched: rows.filter(({ switched }) => switched === true).length,
  }
}

/** `Of 6 windows of SSE + XHR over HTTP/1.1, 1 used SSE + XHR over HTTP/2; of 32 windows, 27 used …` */
function formatFall(openings: readonly Opening[]): readonly string[] {
  const fallen = openings.filter(({ falls }) => falls.length > 0)
  const isInSeveral = new Set(openings.map(({ at }) => at.browsers)).size > 1
  const rows = Map.groupBy(fallen, ({ at }) => `${at.mode} ${at.browsers}`)
  return [...rows.values()].map((row) => {
    const ends = [...new Set([row[0], row.at(-1)])].filter((end) => end !== undefined)
    const words = ends.map(({ at, falls }, place) => {
      const browsers = isInSeveral ? ` in ${several(Number(at.browsers), 'browser')}` : ''
      const subject = place === 0 ? ` of ${spokenName(String(at.mode))}${browsers}` : ''
      const used = falls.map(({ mode, windows }) => `${count(windows)} used ${spokenName(mode)}`)
      return `of ${several(Number(at.windows), 'window')}${subject}, ${listed(used)}`
    })
    return `${capital(words.join('; '))}.`
  })
}

const reasons: Readonly<Record<string, string>> = {
  full: 'connections taken',
  blocked: 'it did not get through',
  unsupported: 'the browser does not support it',
  flapping: 'its connections kept ending',
}

function openedSection(openings: readonly Opening[]): Section {
  const odd = openings.filter(({ at, inMode }) => inMode < Number(at.windows))
  const switched = openings.reduce((sum, opening) => sum + opening.switched, 0)
  const formatFalls = ({ falls }: Opening) =>
    falls.map(
      ({ mode, why, windows }) =>
        `${count(windows)} in ${labelOf(mode)}: ${reasons[why] ?? 'the page does not say why'}`,
    )
  return {
    title: 'Which windows opened, and in which mode',
    tables:
      odd.length === 0
        ? []
        : [
            table(
              'Windows of each session that did not all open in the mode asked for',
              [
                'Mode',
                'Windows',
                'Browsers',
                'Page shown',
                'Opened',
                'In the mode',
                text('In another mode, and why'),
              ],
              odd.map((one) => [
                labelOf(String(one.at.mode)),
                count(Number(one.at.windows)),
                count(Number(one.at.browsers)),
                count(one.shown),
                range([one.opened, one.mostOpened], count),
                count(one.inMode),
                formatFalls(one).join('; ') || nothing,
              ]),
            ),
          ],
    paragraphs: [
      `${odd.length === 0 ? 'All windows' : 'In every other case all windows'} opened, in the mode asked for. Opened: the page has loaded and its stream is open; shown: the page has loaded. If sessions differ, the column Opened has the fewest and the most, the others the fewest.`,
      ...(odd.length === 0
        ? []
        : ['docs/measuring.md says why the windows of a browser need another mode, or do not open.']),
      ...(switched > 0 ? [`${several(switched, 'window')} changed the mode while keys were typed.`] : []),
    ],
  }
}

/** The setting is named only if there are several. */
const nameWith = ({ share }: { readonly share: readonly string[] }, mode: string, one: string) =>
  share.length === 1 ? mode : `${mode} share=${one}`

type Options = ReturnType<typeof windows.options>

function subjectsOf(options: Options): readonly string[] {
  const { modes, share, peers } = options
  return [
    ...share.flatMap((one) => modes.map((mode) => nameWith(options, mode, one))),
    ...peers.flatMap((name) => imitatedModes(bareModes, modes).map((mode) => `${name}:${mode}`)),
  ]
}

const openingMs = 450
const cellMs = 2500
const browserMs = 1200
/** Time to count a mode's bytes. */
const countingMs = 10_000

/** On two idle cores. */
function sessionMs(options: Options): number {
  const { counts, browsers, keys, interval, warmup, peers, modes, patience, wait } = options
  const limited = modes.filter((name) => requireMode(name).windowsPerBrowser !== null).length
  const cells = browsers.flatMap((number) =>
    counts
      .filter((windows) => windows >= number)
      .map((windows) => {
        const typing = keys * Math.max(interval, 10) + 2 * warmup * warmupIntervalMs
        const hidden = Math.max(0, windows - 6 * number)
        const stuck = windows > 5 * number ? (2 * patience + 2 * wait + 2 * hidden) * 1000 : 0
        const opening = number * browserMs + windows * openingMs + cellMs
        return subjectsOf(options).length * (opening + typing) + peers.length * limited * stuck
      }),
  )
  const counting = subjectsOf(options).length * countingMs
  const bytesMs = countsBytes(options) ? (browserMs + counting) / options.sessions : 0
  return cells.reduce((sum, ms) => sum + ms, bytesMs)
}

/** Over no simulated network. */
const countsBytes = ({ profile }: Options) => profile.length === 0

/** In a browser of its own. */
async function countKeys(systems: readonly System[], { interval, wait, headed }: Options, lab: Lab) {
  await using opened = new AsyncDisposableStack()
  const browser = await startBrowser({ headed })
  opened.defer(browser.quit)
  const open = await openWindows([browser], countedWindows)
  const type = async (keys: number) => {
    const marks = await typeKeys(open, [...textBetween(1, keys + 1)], interval, undefined, lab.signal)
    return stampsOf(open, marks, wait * 1000)
  }
  const counting = (system: System) => ({
    address: recordingAddress(system, `bytes-${randomUUID().slice(0, 8)}`),
    sends: [type],
  })
  const found = await countModes(open, systems, counting, lab)
  return found.flat().map((row) => ({ ...row, windows: countedWindows, browsers: 1 }))
}

async function measureCell(
  { keys, interval, warmup, patience, wait, headed }: Options,
  system: System,
  place: Pick<Cell, 'session' | 'windows' | 'browsers'>,
  signal: AbortSignal,
) {
  const { name } = system
  await using opened = new AsyncDisposableStack()
  const browsers: Awaited<ReturnType<typeof startBrowser>>[] = []
  for (let number = 1; number <= place.browsers; number += 1) {
    const browser = await startBrowser({ headed, waitsForLoad: false })
    opened.defer(browser.quit)
    browsers.push(browser)
  }
  const windows = await openWindows(browsers, place.windows)
  const address = recordingAddress(system, `windows-${randomUUID().slice(0, 8)}`)
  const states = await openPatiently(windows, address, patience * 1000, signal)
  const isOpen = (_: unknown, window: number) => states[window]?.isOpen === true
  const open = windows.filter(isOpen)
  const version = browsers.map((browser) => browser.version).join(', ')
  const asked = { mode: name, ...place, states, keys }
  // Nothing can be typed.
  if (!isOpen(null, 0)) {
    const cell: Cell = { ...asked, switched: [], samples: [] }
    return { cell, cost: null, boundMs: 0, version }
  }
  await warmUp(open, warmup, warmupIntervalMs, wait * 1000)
  const statesBefore = await readStates(open)
  let machineBusy = 0
  const at = { session: place.session, block: 1, firstKey: 1, enoughMs: clockEnoughMs, mayFallBack: true }
  const { samples, sent, use, boundMs } = await timeTurn(open, system, at, async () => {
    const before = processorTimes()
    const marks = await typeKeys(open, [...textBetween(1, keys + 1)], interval, undefined, signal)
    const after = processorTimes()
    const busyMs = after.busyMs - before.busyMs
    machineBusy = busyMs / (busyMs + after.idleMs - before.idleMs)
    return stampsOf(open, marks, wait * 1000)
  })
  const statesAfter = await readStates(open)
  if (sent > keys) throw new Error(`${name}: ${keys} keys were typed, the page sent ${sent} messages.`)
  const numbers = windows.map((_, window) => window + 1).filter((_, window) => isOpen(null, window))
  const cell: Cell = {
    ...asked,
    // A window may have fallen back since it opened.
    states: states.map((state, window) => statesBefore[numbers.indexOf(window + 1)] ?? state),
    switched: numbers.filter((_, window) => statesAfter[window]?.mode !== statesBefore[window]?.mode),
    // Numbered among all windows again.
    samples: samples.map((sample) => ({ ...sample, receiver: numbers[sample.receiver - 1] ?? 0 })),
  }
  return { cell, cost: { mode: name, ...place, ...use, machineBusy }, boundMs, version }
}

function turnOfCell({ mode, windows, browsers, keys, samples }: Cell): Turn {
  const group = `${several(windows, 'window')} in ${several(browsers, 'browser')}`
  // Windows that did not open have no samples.
  return { ...turnOf(mode, atOthers(samples), group), expected: keys * Math.max(1, windows - 1) }
}

function formatCell({ mode: subject, session, windows, browsers, states, keys, samples }: Cell): string {
  const opened = states.filter(({ isOpen }) => isOpen)
  const modes = [...Map.groupBy(opened, ({ mode }) => mode)]
  const split = modes.map(([mode, own]) => `${own.length} ${mode}`).join(', ')
  const where = `${`${session}  ${subject}`.padEnd(26)} ${String(windows).padStart(3)} in ${browsers}`
  return `${where}  ${opened.length} opened${modes.length > 1 ? ` (${split})` : ''}  ${formatOutcome(samples, keys * windows)}`
}
