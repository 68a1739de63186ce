// `bench scaling`: measures message, delivery and window costs, checks the model, computes plans.

import { setTimeout as pause } from 'node:timers/promises'
import { createSeededRandom, type Mode } from '../../client/wire.ts'
import { startNatsServer } from '../../scripts/nats-server.ts'
import type { Plan } from '../lab/estimate.ts'
import { defineExperiment } from '../lab/experiment.ts'
import { flag, whole } from '../lab/flags.ts'
import { readProcessorMs } from '../lab/process-recorder.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { median, rounded } from '../lab/statistics.ts'
import { type LoadProcess, startLoadProcess } from '../load/load-process.ts'
import {
  figuresOf,
  type LoadServer,
  modeFlag,
  overLoopback,
  startMode,
  takeTurn,
} from '../load/load-server.ts'
import { count, figure, range, sizeOf, table, text } from '../report/section.ts'
import { type Costs, type Load, type Machine, plan, type SimulatedLoad, simulate } from './scaling-model.ts'

/**
 * One core, with a quarter of its memory for things other than windows, a gigabit shared by ten
 * such processes, and the assumed rate of one R3 stream.
 */
const machine: Machine = {
  busyShare: 0.6,
  memoryBytes: 3e9,
  networkBytes: 12.5e6,
  streamMessages: 10_000,
}

/**
 * Ten people per page, and on one page in ten someone types three keys a second; one sensor that
 * all read.
 */
const loads: readonly (readonly [name: string, of: (windows: number) => Load])[] = [
  ['pages of ten', (windows) => ({ windows, windowsPerPage: 10, messageRate: 0.03 })],
  ['the wind', (windows) => ({ windows, windowsPerPage: windows, messageRate: 4 / windows })],
]
const sizes = [10_000, 1_000_000, 100_000_000]

interface Run extends Circumstances {
  readonly learnt: readonly Costs[]
  readonly checks: readonly (readonly Check[])[]
}

export const scaling = defineExperiment({
  name: 'scaling',
  about: `Measures what a message, a delivery and an open window cost one server process, and what following a NATS stream costs.\n    Checks the model of scaling-model.ts with larger loads that it was not fitted to, and prints what many windows need.`,
  notes: 'Needs nats-server (CROSSWIND_NATS_PROGRAM names another one).',
  isBench: true,
  flags: {
    mode: modeFlag,
    'per-browser': flag(whole(1, 250).default(10), 'K', 'windows that share an HTTP/2 session'),
    windows: flag(whole(100, 18_000).default(5000), 'N', 'windows of the larger load'),
    sessions: flag(whole(1, 100).default(5), 'N', 'fresh servers each'),
    seconds: flag(whole(1, 600).default(8), 'N', 'measured time per load'),
  },
  options: ({ 'per-browser': perBrowser, ...given }): Options => ({ ...given, perBrowser }),

  plan: (options): Plan => ({ sessionMs: sessionMs(options) }),

  async measure(options, lab): Promise<Run> {
    const sessions = await lab.sessions(options.sessions, async (session) => {
      const step = (what: string) => lab.progress.step(`session ${session} of ${options.sessions}  ${what}`)
      const learnt = await measureCosts(options, step, lab.signal)
      return { learnt, checks: await measureChecks(options, step, lab.signal) }
    })
    const parameters = { ...options, mode: options.mode.name }
    return {
      ...lab.circumstances({ ...overLoopback, parameters }),
      learnt: sessions.map(({ learnt }) => learnt),
      checks: sessions.map(({ checks }) => checks),
    }
  },

  analyse({ learnt, checks: measured, ...circumstances }) {
    const costs = medianCosts(learnt)
    const checks = checksOver(measured, costs)
    const ratios = range(checks.map(({ ratio }) => ratio))
    const finding = `In loads that it was not fitted to, the model gives ${ratios} times the measured values.`
    return { scenario: 'scaling', ...circumstances, costs, learnt, checks, plans: plansWith(costs), finding }
  },

  report(_, summary) {
    const tables = [checksTable(summary.checks), plansTable(summary.plans), costsTable(summary)]
    return { sections: [{ title: 'What many windows need', tables }], tables }
  },
})

type Options = { readonly mode: Mode } & Readonly<
  Record<'perBrowser' | 'windows' | 'sessions' | 'seconds', number>
>

/** A message rate, and the number of windows that receive it. */
interface Traffic {
  readonly windows: number
  readonly rate: number
}

/** At the same rate as the others, so that they differ only in deliveries. */
const oneWindow = { windows: 1, rate: 50 }
const someWindows = { windows: 200, rate: 50 }
/** Keeps the process busy: one that sleeps between messages pays for each wake-up. */
const manyMessages = { windows: 1, rate: 1000 }
/** Loads that were not used to fit the costs. */
const checkedLoads = (windows: number): readonly Traffic[] => [
  { windows: 1000, rate: 20 },
  { windows, rate: 4 },
]
const idleSeconds = 20
/** Its first messages compile the code for later ones. */
const followingWarmupSeconds = 3

/** Estimates: to start a server and its clients, and to open a window. */
const startMs = 2000
const openingMsPerWindow = 1.2

function sessionMs({ windows, seconds }: Options): number {
  const turnMs = (at: Traffic) =>
    openedMs(at.windows) + settleMs(at.windows) + 1000 * (warmupMessages(at) / at.rate + seconds)
  const openedMs = (count: number) => startMs + count * openingMsPerWindow
  const turns = [oneWindow, someWindows, manyMessages, manyMessages, ...checkedLoads(windows)]
  const idleMs = openedMs(windows) + settleMs(windows) + idleSeconds * 1000
  const warmupMs = 1000 * (warmupMessages(manyMessages) / manyMessages.rate + followingWarmupSeconds)
  return turns.reduce((sum, at) => sum + turnMs(at), 0) + idleMs + warmupMs
}

async function measureCosts(
  options: Options,
  step: (what: string) => void,
  signal: AbortSignal,
): Promise<Costs> {
  const { windows } = options
  step('one window, and 200')
  const one = await turnAt(options, oneWindow, signal)
  const some = await turnAt(options, someWindows, signal)
  const many = await turnAt(options, manyMessages, signal)
  const deliveryMicros =
    (some.microsPerMessage - one.microsPerMessage) / (someWindows.windows - oneWindow.windows)
  step(`${windows} idle windows`)
  const idle = await measureIdle(options, signal)
  step('a NATS stream')
  const { followMicros, brokerMicros } = await measureFollowing(options, signal)
  return {
    messageMicros: many.microsPerMessage - deliveryMicros,
    deliveryMicros,
    followMicros,
    brokerMicros,
    ...idle,
    bytesPerDelivery: some.bytesPerDelivery,
  }
}

async function turnAt(options: Options, at: Traffic, signal: AbortSignal) {
  await using opened = new AsyncDisposableStack()
  const server = await startMode(options.mode, { ...at, perBrowser: options.perBrowser }, opened)
  const load = startLoadProcess(signal, opened)
  return await takeAndRead(options, server, [load], at, signal)
}

/** Two seconds, and at least 3,000 deliveries. */
const warmupMessages = ({ windows, rate }: Traffic) => Math.ceil(Math.max(rate * 2, 3000 / windows))

/** Presence frames follow the last window for this long. */
const settleMs = (windows: number) => 1000 + windows * 1.2

async function takeAndRead(
  { perBrowser, seconds }: Options,
  server: LoadServer,
  clients: readonly LoadProcess[],
  { windows, rate }: Traffic,
  signal: AbortSignal,
) {
  const messages = rate * seconds
  const plan = {
    windows,
    perBrowser,
    rate,
    messages,
    warmupMessages: warmupMessages({ windows, rate }),
    openingAtOnce: 64,
    settleMs: settleMs(windows),
    graceMs: 15_000,
    channel: 'scaling',
  }
  const turn = await takeTurn(server, clients, plan, signal)
  if (turn.lost > 0) throw new Error(`${turn.lost} of ${windows * messages} deliveries were lost.`)
  const { p50, p99 } = figuresOf(turn.latenciesMs)
  const bytes = turn.measured.reduce((sum, { receivedBytes }) => sum + receivedBytes, 0)
  return {
    microsPerMessage: (1000 * turn.cpuMs) / messages,
    bytesPerDelivery: bytes / turn.n,
    busyShare: turn.cpuMs / (turn.after.uptimeMs - turn.before.uptimeMs),
    p50Ms: p50,
    p99Ms: p99,
  }
}

async function measureIdle({ mode, windows, perBrowser }: Options, signal: AbortSignal) {
  await using opened = new AsyncDisposableStack()
  const server = await startMode(mode, { windows, perBrowser, rate: 1 }, opened)
  const load = startLoadProcess(signal, opened)
  const empty = await server.figures()
  const { target } = server
  await load.open({ target, firstWindow: 0, windows, perBrowser, channel: 'idle', openingAtOnce: 64 })
  await pause(settleMs(windows), undefined, { signal })
  const joined = await server.figures()
  const before = await server.cpuMs()
  await pause(idleSeconds * 1000, undefined, { signal })
  const cpuMs = (await server.cpuMs()) - before
  return {
    idleMicros: (cpuMs * 1000) / windows / idleSeconds,
    bytesPerWindow: (joined.rssBytes - empty.rssBytes) / windows,
  }
}

/** A second server without windows, while messages arrive at the first. */
async function measureFollowing(options: Options, signal: AbortSignal) {
  await using opened = new AsyncDisposableStack()
  const nats = await startNatsServer()
  opened.defer(nats.stop)
  const settings = { broker: 'nats', 'nats-servers': nats.address() }
  const [first, second] = await Promise.all(
    [0, 1].map(() => startMode(options.mode, { ...manyMessages, perBrowser: 1 }, opened, settings)),
  )
  if (!first || !second) throw new Error('Two servers are needed.')
  const load = startLoadProcess(signal, opened)
  await takeAndRead({ ...options, seconds: followingWarmupSeconds }, first, [load], manyMessages, signal)
  const read = () => Promise.all([second.cpuMs(), readProcessorMs(nats.pid())])
  const [before, brokerBefore] = await read()
  await takeAndRead(options, first, [load], manyMessages, signal)
  const [after, brokerAfter] = await read()
  const messages = manyMessages.rate * options.seconds + warmupMessages(manyMessages)
  return {
    followMicros: ((after - before) * 1000) / messages,
    brokerMicros: ((brokerAfter - brokerBefore) * 1000) / messages,
  }
}

type Check = Awaited<ReturnType<typeof measureChecks>>[number]

async function measureChecks(options: Options, step: (what: string) => void, signal: AbortSignal) {
  const { seconds, windows } = options
  const found = []
  for (const at of checkedLoads(windows)) {
    step(`${at.windows} windows`)
    const { busyShare, p50Ms, p99Ms } = await turnAt(options, at, signal)
    const load: SimulatedLoad = {
      processes: 1,
      pages: 1,
      windowsPerPage: at.windows,
      messageRate: at.rate,
      isEven: true,
      seconds,
    }
    found.push({ name: `${count(at.windows)} windows, ${at.rate} a second`, load, busyShare, p50Ms, p99Ms })
  }
  return found
}

const costUnits = {
  messageMicros: 'a message at the process that accepts it, µs',
  deliveryMicros: 'a delivery, µs',
  followMicros: 'a message at every other process, µs',
  brokerMicros: 'a message at NATS, µs',
  idleMicros: 'an idle window, µs per second',
  bytesPerWindow: 'memory per window, bytes',
  bytesPerDelivery: 'a delivery on the wire, bytes',
}
const costNames = Object.keys(costUnits) as (keyof Costs)[]

function medianCosts(learnt: readonly Costs[]): Costs {
  const medians = costNames.map((name) => [name, rounded(median(learnt.map((costs) => costs[name])))])
  return Object.fromEntries(medians) as Record<keyof Costs, number>
}

type Compared = ReturnType<typeof checksOver>[number]

function checksOver(sessions: readonly (readonly Check[])[], costs: Costs) {
  const [first = []] = sessions
  return first.flatMap(({ name, load }, index) => {
    const measured = sessions.flatMap((checks) => checks[index] ?? [])
    const { latenciesMs, busyShares } = simulate(load, costs, createSeededRandom(1))
    const { p50, p99 } = figuresOf(latenciesMs)
    const over = (what: string, read: (check: Check) => number, simulated: number) => {
      const values = measured.map(read)
      const middle = median(values)
      return {
        name,
        what,
        measured: middle,
        least: Math.min(...values),
        most: Math.max(...values),
        simulated,
        ratio: simulated / middle,
      }
    }
    return [
      over('processor, % of a core', ({ busyShare }) => 100 * busyShare, 100 * (busyShares[0] ?? 0)),
      over('median latency, ms', ({ p50Ms }) => p50Ms, p50),
      over('99th percentile, ms', ({ p99Ms }) => p99Ms, p99),
    ]
  })
}

type Planned = ReturnType<typeof plansWith>[number]

/** Simulated seconds of a plan; processes differ only by chance. */
const simulatedSeconds = 5
const simulatedProcesses = 4

function plansWith(costs: Costs) {
  return loads.flatMap(([name, of]) =>
    sizes.map((windows) => {
      const load = of(windows)
      const planned = plan(load, costs, machine)
      const { streams, needed, messages } = planned
      const simulated = simulate(
        {
          processes: Math.ceil(needed / streams),
          pages: Math.ceil(windows / load.windowsPerPage / streams),
          windowsPerPage: load.windowsPerPage,
          messageRate: messages / streams,
          isEven: false,
          seconds: simulatedSeconds,
          watched: simulatedProcesses,
        },
        costs,
        createSeededRandom(1),
      )
      const { p50, p99 } = figuresOf(simulated.latenciesMs)
      return { name, windows, ...planned, simulatedMs: { p50, p99 } }
    }),
  )
}

function costsTable({ costs, learnt }: { readonly costs: Costs; readonly learnt: readonly Costs[] }) {
  const rows = costNames.map((name) => {
    const each = learnt.map((one) => one[name])
    return [costUnits[name], costs[name], Math.min(...each), Math.max(...each)]
  })
  return table('What one costs', ['Cost', 'Median', 'Least', 'Most'], rows)
}

const checksTable = (checks: readonly Compared[]) =>
  table(
    'Model and measurement',
    ['Load', text('Figure'), 'Measured', text('Range'), 'Simulated', 'Ratio'],
    checks.map(({ name, what, measured, least, most, simulated, ratio }) => [
      name,
      what,
      measured,
      `${figure(least)}–${figure(most)}`,
      simulated,
      ratio,
    ]),
  )

const plansTable = (plans: readonly Planned[]) =>
  table(
    'What many windows need',
    [
      'Load',
      'Windows',
      'Messages/s',
      'Deliveries/s',
      'Out/s',
      'Memory',
      'Streams',
      'For CPU',
      'For memory',
      'For network',
      'Processes',
      'p50, p99, ms',
    ],
    plans.map((planned) => [
      planned.name,
      count(planned.windows),
      count(Math.round(planned.messages)),
      count(Math.round(planned.deliveries)),
      sizeOf(planned.bytesOut),
      sizeOf(planned.memoryBytes),
      ...[planned.streams, planned.processes.cpu, planned.processes.memory].map(count),
      ...[planned.processes.network, planned.needed].map(count),
      `${figure(planned.simulatedMs.p50)}, ${figure(planned.simulatedMs.p99)}`,
    ]),
  )
