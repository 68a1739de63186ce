// How many windows a mode carries: one types, all receive, with increasing numbers of windows.

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { createSeededRandom, shareNames, shuffled } from '../../client/wire.ts'
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
import { defineExperiment, type Lab } from '../lab/experiment.ts'
import { flag, headed, names, numbers, seed, whole, wordsOnce } from '../lab/flags.ts'
import { requireMode, requireModes, usualBaseline } from '../lab/mode-names.ts'
import {
  circumstances,
  deliveryColumns,
  noStamps,
  number,
  numberOrNull,
  readSummary,
  readText,
  rowsIn,
  withoutNulls,
} from '../lab/reread.ts'
import { processorTimes } from '../lab/run-environment.ts'
import { atOthers, outcomeWords } from '../lab/samples.ts'
import { type Turn, turnOf } from '../lab/standings.ts'
import {
  describeNetworks,
  describePlace,
  profileFlag,
  recordingAddress,
  type System,
  Testbed,
  timeTurn,
} from '../lab/testbed.ts'
import { countModes } from '../lab/wire-bytes.ts'
import { bareModes, imitatedModes, readPeers } from '../peers/peers.ts'
import { figure, several } from '../report/section.ts'
import {
  analyse,
  type Cell,
  countedWindows,
  type Run,
  samplesCsv,
  sectionsOf,
  windowsCsv,
} from './windows-report.ts'

/** Wide enough for differences of milliseconds; many windows are compared one after the other. */
const clockEnoughMs = 0.1
const warmupIntervalMs = 20

export const windows = defineExperiment({
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

  reread,

  async measure(options, lab): Promise<Run> {
    const { sessions, counts, browsers, keys, interval, warmup, patience, wait, seed, profile } = options
    const { modes, share, peers } = options
    const subjects = subjectsOf(options)
    lab.say(
      `${counts.join(', ')} windows in ${browsers.join(', ')} browser${browsers.at(-1) === 1 ? '' : 's'}, ${keys} keys for each of ${subjects.join(', ')}, ${several(sessions, 'session')}; --seed ${seed}.`,
    )
    const { baseline } = options
    lab.compare({
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
        const [server] = await testbed.startServer({ share: one, editor: 'shared', 'merge-ms': 0 })
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
            lab.step(`${system.name}  ${several(windows, 'window')} in ${several(number, 'browser')}`)
            const one = await measureCell(options, system, { session, windows, browsers: number }, lab.signal)
            cells.push(one)
            lab.took(turnOfCell(one.cell), cellWords(one.cell))
          }
      const bytes = session === 1 && countsBytes(options) ? await countKeys(systems, options, lab) : []
      return { cells, bytes, networkUses: await testbed.networkUses() }
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
      subjects,
      baseline: options.baseline,
      cells: cells.map(({ cell }) => cell),
      patienceMs: patience * 1000,
      waitMs: wait * 1000,
      ...(countsBytes(options) && { bytes: measured[0]?.bytes ?? [] }),
      clock: { method: 'one machine', boundMs: Math.max(...cells.map(({ boundMs }) => boundMs)) },
      ...describeNetworks(
        profile,
        measured.map(({ networkUses }) => networkUses),
      ),
    }
  },

  analyse,

  report: (run, summary) => ({
    sections: sectionsOf(summary),
    method: [
      `Each of the ${several(summary.sessions, 'session')} started its own server processes; a window had ${summary.patienceMs / 1000} s to open, and the last key ${summary.waitMs / 1000} s to arrive everywhere. All windows and the server used the machine’s clock, to within ${figure(summary.clock.boundMs)} ms for two windows.`,
    ],
    data: { 'samples.csv.gz': samplesCsv(run), 'windows.csv': windowsCsv(run) },
  }),
})

const placeColumns = { mode: z.string(), session: number, windows: number, browsers: number }

const sampleRow = z
  .object({
    ...deliveryColumns,
    ...placeColumns,
    key: number,
    receiver: number,
    sentAt: number,
    acceptedAt: numberOrNull,
  })
  .transform(({ windows, browsers, ...sample }) => ({
    place: placeOf({ ...sample, windows, browsers }),
    sample: { ...noStamps, ...sample, block: 1, sentBytes: 0, receivedBytes: null },
  }))

const windowRow = z
  .object({
    ...placeColumns,
    shown: z.stringbool(),
    open: z.stringbool(),
    modeUsed: z.string().transform((mode) => mode || null),
    fall: z.string().transform((fall) => (fall || null) as WindowState['fall']),
  })
  .transform(({ shown: isShown, open: isOpen, modeUsed, fall, ...row }) => ({
    ...row,
    state: { isShown, isOpen, mode: modeUsed, fall },
  }))

const placeOf = ({ mode, session, windows, browsers }: z.output<z.ZodObject<typeof placeColumns>>) =>
  [mode, session, windows, browsers].join()

/** What a summary has of a run, besides its figures. Of each cell it has sums and means over the sessions. */
type Known = Omit<Run, 'cells' | 'subjects'> & {
  readonly cells: readonly (Pick<Cell, 'subject' | 'windows' | 'browsers' | 'switched' | 'keys'> & {
    readonly serverCpuMsPerKey: number
    readonly machineBusy: number
  })[]
}

async function reread(folder: string): Promise<Run> {
  const summary = await readSummary<Known & { readonly sessions: number }>(folder, 'windows')
  const path = join(folder, 'samples.csv.gz')
  const windowsPath = join(folder, 'windows.csv')
  const samples = Map.groupBy(rowsIn(path, await readText(path), sampleRow), ({ place }) => place)
  const rows = rowsIn(windowsPath, await readText(windowsPath), windowRow)
  const { sessions } = summary
  const cells = [...Map.groupBy(rows, placeOf)].map(([place, [first, ...others]]): Cell => {
    const { mode: subject = '', session = 0, windows = 0, browsers = 0 } = first ?? {}
    const known = summary.cells.find(
      (one) => one.subject === subject && one.windows === windows && one.browsers === browsers,
    )
    if (!first || !known) throw new Error(`${windowsPath} has windows that summary.json lacks: ${place}.`)
    const { keys, switched, serverCpuMsPerKey, machineBusy } = known
    return {
      subject,
      session,
      windows,
      browsers,
      states: [first, ...others].map(({ state }) => state),
      switched: switched / sessions,
      keys: keys / sessions,
      samples: samples.get(place)?.map(({ sample }) => sample) ?? [],
      serverCpuMs: (serverCpuMsPerKey * keys) / sessions,
      machineBusy,
    }
  })
  return {
    ...withoutNulls(summary, [...circumstances, 'patienceMs', 'waitMs', 'clock', 'network', 'bytes']),
    baseline: summary.baseline,
    subjects: [...new Set(summary.cells.map(({ subject }) => subject))],
    cells,
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
/** Of a mode's bytes. */
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
  return (await countModes(open, systems, counting, lab)).flat()
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
  const asked = { subject: name, ...place, states, keys }
  // Nothing can be typed.
  if (!isOpen(null, 0)) {
    const cell: Cell = { ...asked, switched: 0, samples: [], serverCpuMs: 0, machineBusy: 0 }
    return { cell, boundMs: 0, version }
  }
  await warmUp(open, warmup, warmupIntervalMs, wait * 1000)
  const statesBefore = await readStates(open)
  let machineBusy = 0
  const at = { session: place.session, block: 1, firstKey: 1, enoughMs: clockEnoughMs }
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
    switched: statesAfter.filter(({ mode }, window) => mode !== statesBefore[window]?.mode).length,
    // Numbered among all windows again.
    samples: samples.map((sample) => ({ ...sample, receiver: numbers[sample.receiver - 1] ?? 0 })),
    serverCpuMs: use.cpuMs,
    machineBusy,
  }
  return { cell, boundMs, version }
}

function turnOfCell({ subject, windows, browsers, keys, samples }: Cell): Turn {
  const group = `${several(windows, 'window')} in ${several(browsers, 'browser')}`
  // Windows that did not open have no samples.
  return { ...turnOf(subject, atOthers(samples), group), expected: keys * Math.max(1, windows - 1) }
}

function cellWords({ subject, session, windows, browsers, states, keys, samples }: Cell): string {
  const opened = states.filter(({ isOpen }) => isOpen)
  const modes = [...Map.groupBy(opened, ({ mode }) => mode)]
  const split = modes.map(([mode, own]) => `${own.length} ${mode}`).join(', ')
  const where = `${`${session}  ${subject}`.padEnd(26)} ${String(windows).padStart(3)} in ${browsers}`
  return `${where}  ${opened.length} opened${modes.length > 1 ? ` (${split})` : ''}  ${outcomeWords(samples, keys * windows)}`
}
