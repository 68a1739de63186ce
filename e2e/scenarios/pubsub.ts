// Publish and subscribe as in the 2015 study: each user sends a message at the same time, and waits for it to come back.

import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startNatsServer } from '../../server/log/nats-testing.ts'
import { type BenchServer, startBenchServer } from '../bench/bench-server.ts'
import { turnsOf, untilCounted } from '../bench/bench-turn.ts'
import { requireMode } from '../lab/mode-names.ts'
import { describeEnvironment, loadNow } from '../lab/run-environment.ts'
import { makeServerFolder, serverProgram } from '../lab/server-process.ts'
import { summarise } from '../lab/statistics.ts'
import { Progress } from '../lab/terminal-output.ts'
import {
  createSharedClock,
  type LoadProcess,
  type Measured,
  openAcross,
  split,
  startLoadProcess,
} from '../load/load-process.ts'
import { reportFolder, requireFree, writeFolder } from '../report/render.ts'
import { analyse, type BrokerName, type Iteration, type Run } from './pubsub-analysis.ts'
import { pubsubFiles } from './pubsub-report.ts'
import type { PubsubOptions } from './scenario-options.ts'

const relayProgram = join(import.meta.dirname, '../peers/relays.ts')

/** For users of one size in one mode, with a server of its own. */
interface Group {
  readonly broker: BrokerName
  readonly server: BenchServer
  readonly loads: readonly LoadProcess[]
}

const clock = createSharedClock()
const openingAtOnce = 64
/** Until all orders have arrived. */
const leadMs = 100
const betweenBurstsMs = 300
/** Presence frames follow the last user by as much. */
const settleMs = (users: number) => 500 + users * 1.2

/** Writes nothing after a failure or abort. */
export async function pubsubRun(options: PubsubOptions, command: string, signal: AbortSignal) {
  const startedAt = new Date()
  const folder = options.out ?? reportFolder('pubsub', startedAt)
  await requireFree(folder)
  const loadBefore = loadNow()
  const progress = new Progress(process.stdout)
  const { modes, users, brokers, iterations, sessions, processes, wait } = options
  progress.say(
    `${iterations} iterations in ${sessions} session${sessions === 1 ? '' : 's'}, ${users.join(', ')} users, ${modes.join(', ')}; brokers: ${brokers.join(', ')}.`,
  )
  const found: Iteration[] = []
  for (const [place, count] of split(iterations, sessions).entries()) {
    const first = split(iterations, sessions)
      .slice(0, place)
      .reduce((sum, earlier) => sum + earlier, 1)
    for (const mode of modes)
      for (const size of users) {
        const about = { mode, users: size, session: place + 1, first, count }
        found.push(...(await measureSize(options, about, progress, signal)))
      }
  }
  const run: Run = {
    command,
    parameters: {
      ...{ users: users.join(', '), brokers: brokers.join(', '), iterations, sessions },
      ...{ processes, wait },
    },
    ...{ modes, users, brokers },
    iterations: found,
    requeued: null,
    waitMs: wait * 1000,
    brokerVersions: {},
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    environment: describeEnvironment({
      browser: 'none: load clients on Node’s connections',
      server: 'processes of their own on this machine, over loopback',
      loadBefore,
    }),
  }
  const summary = analyse(run)
  await writeFolder(folder, pubsubFiles(run, summary))
  return {
    folder,
    summary,
    isFailure: summary.groups.some(({ broker, lost }) => broker !== 'none' && lost > 0),
  }
}

interface About {
  readonly mode: string
  readonly users: number
  readonly session: number
  /** Number of the first iteration. */
  readonly first: number
  readonly count: number
}

/** Fresh servers and users for all brokers, which take turns. */
async function measureSize(
  { brokers, processes, wait, warmup }: PubsubOptions,
  { mode, users, session, first, count }: About,
  progress: Progress,
  signal: AbortSignal,
): Promise<readonly Iteration[]> {
  await using opened = new AsyncDisposableStack()
  const groups: Group[] = []
  for (const broker of brokers) {
    if (progress.isTerminal) progress.update(`${session}  ${mode}  ${users} users  ${broker}: opening`)
    groups.push(await openGroup(broker, mode, users, processes, opened, signal))
  }
  await pause(settleMs(users), undefined, { signal })
  let mark = 0
  const burst = (group: Group) => {
    mark += 1
    return runBurst(group, mark, wait * 1000)
  }
  for (const group of groups) for (let time = 0; time < warmup; time += 1) await burst(group)
  const found: Iteration[] = []
  for (const [turn, order] of turnsOf(groups, count).entries())
    for (const group of order) {
      signal.throwIfAborted()
      if (progress.isTerminal)
        progress.update(`${session}  ${mode}  ${users} users  ${group.broker}: ${turn + 1} of ${count}`)
      const { broker } = group
      found.push({ ...{ mode, users, broker, session }, iteration: first + turn, ...(await burst(group)) })
      await pause(betweenBurstsMs, undefined, { signal })
    }
  progress.say(
    `${session}  ${mode.padEnd(13)} ${String(users).padStart(6)} users  ${resultWords(brokers, found)}`,
  )
  return found
}

function resultWords(brokers: readonly BrokerName[], found: readonly Iteration[]): string {
  return brokers
    .map((broker) => {
      const own = found.filter((one) => one.broker === broker)
      const times = own.flatMap(({ meanMs }) => meanMs ?? [])
      const lost = own.reduce((sum, { users, n }) => sum + users - n, 0)
      const middle = times.length === 0 ? 'nothing came' : `${summarise(times).mean.toFixed(1)} ms`
      return `${broker} ${middle}${lost > 0 ? `, ${lost} lost` : ''}`
    })
    .join('  ')
}

async function openGroup(
  broker: BrokerName,
  modeName: string,
  users: number,
  processes: number,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Group> {
  const { transport, http } = requireMode(modeName)
  const clients = { client: transport, http } as const
  const server =
    broker === 'none'
      ? await startBenchServer(relayProgram, ['channels'], clients)
      : await startBenchServer(serverProgram, await serverFlags(broker, users, opened), clients)
  opened.defer(server.close)
  signal.throwIfAborted()
  const loads = Array.from({ length: processes }, () => startLoadProcess(signal))
  opened.defer(() => loads.forEach(({ end }) => void end()))
  const { target } = server
  await openAcross(loads, {
    ...{ target, windows: users, perBrowser: 1, openingAtOnce },
    ...{ channel: 'user', hasOwnChannels: true },
  })
  await untilCounted(server, users, signal)
  return { broker, server, loads }
}

async function serverFlags(
  broker: Exclude<BrokerName, 'none'>,
  users: number,
  opened: AsyncDisposableStack,
): Promise<readonly string[]> {
  const folder = await makeServerFolder('pubsub')
  opened.defer(folder.remove)
  return folder.flags({
    ...{ port: 0, 'http1-port': 0, host: 'localhost', share: 'none' },
    ...{ 'sensor-source': 'none', 'drain-ms': 0, 'heartbeat-ms': 60_000 },
    ...{ 'limits-max-windows': users + 100, 'limits-max-connections': 3 * users + 100 },
    ...{ 'limits-max-channels': users + 1000, 'limits-messages-per-second': 1000 },
    ...(await brokerSettings(broker, opened)),
  })
}

/** Starts what the broker needs beside the server. */
async function brokerSettings(broker: Exclude<BrokerName, 'none'>, opened: AsyncDisposableStack) {
  if (broker === 'nats') {
    const nats = await startNatsServer()
    opened.defer(nats.stop)
    return { broker, 'nats-servers': nats.address() }
  }
  return { broker }
}

async function runBurst({ server, loads }: Group, mark: number, waitMs: number) {
  const before = await server.figures()
  const startAt = clock() + leadMs
  const measured = await Promise.all(loads.map((load) => load.burst({ startAt, mark, graceMs: waitMs })))
  const after = await server.figures()
  return burstFigures(measured, after.cpuMs - before.cpuMs)
}

function burstFigures(measured: readonly Measured[], serverCpuMs: number) {
  const latencies = measured.flatMap(({ latenciesMs }) => Array.from(latenciesMs))
  const { mean, p50, p95, max } = latencies.length > 0 ? summarise(latencies) : {}
  return {
    n: latencies.length,
    duplicated: measured.reduce((sum, { duplicated }) => sum + duplicated, 0),
    ...{ meanMs: mean ?? null, p50Ms: p50 ?? null, p95Ms: p95 ?? null, maxMs: max ?? null },
    sendingMs: Math.max(...measured.map(({ sendingMs }) => sendingMs)),
    lastMs: Math.max(...measured.map(({ wallMs }) => wallMs)),
    bytesOut: measured.reduce((sum, { receivedBytes }) => sum + receivedBytes, 0),
    serverCpuMs,
    clientCpuShare: Math.max(...measured.map(({ cpuMs, wallMs }) => cpuMs / wallMs)),
  }
}
