// How many windows a mode carries: one types, all receive, with more and more of them.

import { randomUUID } from 'node:crypto'
import { createSeededRandom, type Random, shuffled } from '../../server/wire/time.ts'
import { startBrowser } from '../browser/browser.ts'
import {
  openPatiently,
  openWindows,
  readClocks,
  readStates,
  stampsOf,
  textBetween,
  typeKeys,
  warmUp,
} from '../browser/typing.ts'
import { boundBetween, combine } from '../lab/clock.ts'
import {
  describeNetwork,
  describePlace,
  recordingAddress,
  startMeasuredServer,
  startPeer,
} from '../lab/measured-server.ts'
import { requireMode } from '../lab/mode-names.ts'
import { describeEnvironment, loadNow, processorTimes } from '../lab/run-environment.ts'
import type { MeasuredServer } from '../lab/server-process.ts'
import { median } from '../lab/statistics.ts'
import { Progress } from '../lab/terminal-output.ts'
import { type Link, meanLateness } from '../network/delay-link.ts'
import { imitatedModes } from '../peers/peers.ts'
import { reportFolder, requireFree, writeFolder } from '../report/render.ts'
import { hasArrived, matchBlock, transmissionMs } from './keystrokes-analysis.ts'
import type { WindowsOptions } from './scenario-options.ts'
import { analyse, type Cell, type Run } from './windows-analysis.ts'
import { windowsFiles } from './windows-report.ts'

interface Subject {
  readonly name: string
  readonly mode: ReturnType<typeof requireMode>
  readonly server: MeasuredServer
}

/** Wide enough for differences of milliseconds; many windows are compared one after the other. */
const clockEnoughMs = 0.1
const warmupIntervalMs = 20

/** Writes nothing after a failure or abort. */
export async function windowsRun(options: WindowsOptions, command: string, signal: AbortSignal) {
  const startedAt = new Date()
  const folder = options.out ?? reportFolder('windows', startedAt)
  await requireFree(folder)
  const loadBefore = loadNow()
  const progress = new Progress(process.stdout)
  const { sessions, counts, browsers, keys, interval, warmup, patience, wait, headed, seed, profile } =
    options
  const subjects = namesOf(options)
  progress.say(
    `${counts.join(', ')} windows in ${browsers.join(', ')} browser${browsers.at(-1) === 1 ? '' : 's'}, ${keys} keys for each of ${subjects.join(', ')}, ${sessions} session${sessions === 1 ? '' : 's'}: ${expectedWords(options)}; --seed ${seed}.`,
  )
  const random = createSeededRandom(seed)
  const cells: Cell[] = []
  const measured: Awaited<ReturnType<typeof measureSession>>[] = []
  for (let session = 1; session <= sessions; session += 1) {
    const one = await measureSession(options, session, random, progress, signal)
    measured.push(one)
    cells.push(...one.cells)
    if (session < sessions) {
      const leftMs = ((Date.now() - startedAt.getTime()) / session) * (sessions - session)
      progress.say(`About ${minutes(leftMs)} are left.`)
    }
  }
  const run: Run = {
    command,
    parameters: {
      ...{ counts: counts.join(', '), browsers: browsers.join(', '), share: options.share.join(', ') },
      ...{ sessions, keys, interval, warmup, patience, wait, seed, headed },
      ...(profile && { profile }),
    },
    subjects,
    baseline: options.baseline,
    cells,
    patienceMs: patience * 1000,
    waitMs: wait * 1000,
    clock: { method: 'one machine', boundMs: Math.max(...measured.map(({ boundMs }) => boundMs)) },
    ...describeNetwork(
      profile,
      measured.map(({ lateMs }) => lateMs),
    ),
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    environment: describeEnvironment({
      browser: measured[0]?.version ?? '',
      server: describePlace(profile),
      loadBefore,
    }),
  }
  const summary = analyse(run)
  await writeFolder(folder, windowsFiles(run, summary))
  return { folder, summary }
}

/** In the order of the report. */
function namesOf(options: WindowsOptions): readonly string[] {
  const { modes, share, peers } = options
  return [
    ...share.flatMap((one) => modes.map((mode) => nameWith(options, mode, one))),
    ...peers.flatMap((name) => imitatedModes({ name }, modes).map((mode) => `${name}:${mode}`)),
  ]
}

/** The setting is named only where there are several. */
const nameWith = ({ share }: Pick<WindowsOptions, 'share'>, mode: string, one: string) =>
  share.length === 1 ? mode : `${mode} share=${one}`

const openingMs = 450
const cellMs = 2500
const browserMs = 1200

/** Rough; after the first session the run tells from that. */
function expectedWords(options: WindowsOptions): string {
  const { counts, browsers, keys, interval, warmup, sessions, peers, modes, patience, wait } = options
  const subjects = namesOf(options).length
  const perSession = browsers.flatMap((number) =>
    counts
      .filter((windows) => windows >= number)
      .map((windows) => {
        const typing = keys * Math.max(interval, 10) + 2 * warmup * warmupIntervalMs
        const hidden = Math.max(0, windows - 6 * number)
        const stuck = windows > 5 * number ? (2 * patience + 2 * wait + 2 * hidden) * 1000 : 0
        const limited = modes.filter((name) => requireMode(name).windowsPerBrowser !== null).length
        return (
          subjects * (number * browserMs + windows * openingMs + cellMs + typing) +
          peers.length * limited * stuck
        )
      }),
  )
  return `roughly ${minutes(sessions * perSession.reduce((sum, ms) => sum + ms, 0))} on two idle cores`
}

const minutes = (ms: number) => {
  const whole = Math.max(1, Math.ceil(ms / 60_000))
  return `${whole} minute${whole === 1 ? '' : 's'}`
}

/** Servers of its own; each cell has browsers of its own, so that none inherits the connections of another. */
async function measureSession(
  options: WindowsOptions,
  session: number,
  random: Random,
  progress: Progress,
  signal: AbortSignal,
) {
  await using opened = new AsyncDisposableStack()
  const links: Link[] = []
  const subjects = await openSubjects(options, links, opened)
  const cells: Cell[] = []
  let boundMs = 0
  let version = ''
  for (const browsers of options.browsers)
    for (const windows of options.counts.filter((windows) => windows >= browsers))
      for (const subject of shuffled(subjects, random)) {
        signal.throwIfAborted()
        const place = { subject, session, windows, browsers }
        const one = await measureCell(options, place, signal)
        cells.push(one.cell)
        boundMs = Math.max(boundMs, one.boundMs)
        version = one.version
        progress.say(outcomeOf(one.cell))
      }
  return { cells, boundMs, version, lateMs: meanLateness(links.map((link) => link.figures())) }
}

async function openSubjects(options: WindowsOptions, links: Link[], opened: AsyncDisposableStack) {
  const modes = options.modes.map(requireMode)
  const subjects: Subject[] = []
  for (const share of options.share) {
    const settings = { 'sensor-source': 'none', share, editor: 'shared', 'merge-ms': 0 }
    const server = await startMeasuredServer('windows', settings, options, links, opened)
    for (const mode of modes) subjects.push({ name: nameWith(options, mode.name, share), mode, server })
  }
  for (const peer of options.peers) {
    const server = await startPeer([peer], options, links, opened)
    for (const mode of imitatedModes({ name: peer }, options.modes).map(requireMode))
      subjects.push({ name: `${peer}:${mode.name}`, mode, server })
  }
  return subjects
}

interface CellPlace {
  readonly subject: Subject
  readonly session: number
  readonly windows: number
  readonly browsers: number
}

async function measureCell(
  { keys, interval, warmup, patience, wait, headed }: WindowsOptions,
  { subject, session, windows: count, browsers: browserCount }: CellPlace,
  signal: AbortSignal,
) {
  const { name, mode, server } = subject
  await using opened = new AsyncDisposableStack()
  const browsers: Awaited<ReturnType<typeof startBrowser>>[] = []
  for (let number = 1; number <= browserCount; number += 1) {
    const browser = await startBrowser({ headed, waitsForLoad: false })
    opened.defer(browser.quit)
    browsers.push(browser)
  }
  const windows = await openWindows(browsers, count)
  const address = recordingAddress(server, mode, `windows-${randomUUID().slice(0, 8)}`)
  const states = await openPatiently(windows, address, patience * 1000, signal)
  const isOpen = (_: unknown, place: number) => states[place]?.isOpen === true
  const open = windows.filter(isOpen)
  const typed = { subject: name, session, windows: count, browsers: browserCount, states, keys }
  const version = browsers.map((browser) => browser.version).join(', ')
  // Nothing can be typed.
  if (!isOpen(null, 0))
    return {
      cell: { ...typed, switched: 0, samples: [], serverCpuMs: 0, machineBusy: 0 },
      ...{ boundMs: 0, version },
    }
  await warmUp(open, warmup, warmupIntervalMs, wait * 1000)
  const statesBefore = await readStates(open)
  const clocksBefore = await readClocks(open, 'one machine', '', clockEnoughMs)
  const usedBefore = await server.figures()
  const busyBefore = processorTimes()
  const marks = await typeKeys(open, [...textBetween(1, keys + 1)], interval, undefined, signal)
  const busyAfter = processorTimes()
  const { sent, received } = await stampsOf(open, marks, wait * 1000)
  const usedAfter = await server.figures()
  const clocksAfter = await readClocks(open, 'one machine', '', clockEnoughMs)
  const statesAfter = await readStates(open)
  if (sent.length > keys)
    throw new Error(`${name}: ${keys} keys were typed, the page sent ${sent.length} messages.`)
  const clocks = clocksBefore.map((before, place) => combine(before, clocksAfter[place] ?? before))
  const offsetsMs = clocks.map(({ offsetMs }) => offsetMs)
  const busyMs = busyAfter.busyMs - busyBefore.busyMs
  const numbers = windows.map((_, place) => place + 1).filter((_, place) => isOpen(null, place))
  const samples = matchBlock({ mode: name, session, block: 1, firstKey: 1, sent, received, offsetsMs })
  const cell: Cell = {
    ...typed,
    // A window may have fallen back since it opened.
    states: states.map((state, place) => statesBefore[numbers.indexOf(place + 1)] ?? state),
    switched: statesAfter.filter(({ mode }, place) => mode !== statesBefore[place]?.mode).length,
    // Numbered among all windows again.
    samples: samples.map((sample) => ({ ...sample, receiver: numbers[sample.receiver - 1] ?? 0 })),
    serverCpuMs: usedAfter.cpuMs - usedBefore.cpuMs,
    machineBusy: busyMs / (busyMs + busyAfter.idleMs - busyBefore.idleMs),
  }
  return { cell, boundMs: boundBetween(clocks), version }
}

function outcomeOf({ subject, session, windows, browsers, states, keys, samples }: Cell): string {
  const opened = states.filter(({ isOpen }) => isOpen).length
  const times = samples.filter(hasArrived).map(transmissionMs)
  const expected = keys * windows
  const middle = times.length > 0 ? `median ${median(times).toFixed(2)} ms` : 'nothing received'
  const modes = Map.groupBy(
    states.filter(({ isOpen }) => isOpen),
    ({ mode }) => mode,
  )
  const split =
    modes.size > 1 ? ` (${[...modes].map(([mode, own]) => `${own.length} ${mode}`).join(', ')})` : ''
  const lost = expected - times.length
  return `${`${session}  ${subject}`.padEnd(26)} ${String(windows).padStart(3)} in ${browsers}  ${opened} opened${split}  ${middle}  ${times.length} of ${expected} received${lost > 0 ? `, ${lost} LOST` : ''}`
}
