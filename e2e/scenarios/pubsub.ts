// Publish and subscribe as in the 2015 study: each user sends a message at the same time, and waits for it to come back.

import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { natsServerVersion, startNatsServer, type TestNats } from '../../server/log/nats-testing.ts'
import { sqsServerVersion, startSqsServer, startThief, type TestSqs } from '../../server/log/sqs-testing.ts'
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
import { analyse, type BrokerName, type Iteration, type Requeued, type Run } from './pubsub-analysis.ts'
import { pubsubFiles } from './pubsub-report.ts'
import type { PubsubOptions } from './scenario-options.ts'

const relayProgram = join(import.meta.dirname, '../peers/relays.ts')

/** Their names in `e2e/peers/relays.ts`. */
const relays: Partial<Readonly<Record<BrokerName, string>>> = {
  none: 'channels',
  'bare-file': 'channels-file',
  'bare-nats': 'channels-nats',
}

/** For users of one size in one mode, with a server of its own. */
interface Group {
  readonly broker: BrokerName
  readonly server: BenchServer
  readonly loads: readonly LoadProcess[]
  /** Of the queue, where there is one. */
  readonly sqs: ReturnType<TestSqs['settings']> | null
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
  const requeued = brokers.includes('sqs') ? await showRequeueing(options, progress, signal) : null
  const run: Run = {
    command,
    parameters: {
      ...{ users: users.join(', '), brokers: brokers.join(', '), iterations, sessions },
      ...{ warmup: options.warmup, processes, wait },
    },
    ...{ modes, users, brokers },
    iterations: found,
    requeued,
    waitMs: wait * 1000,
    brokerVersions: {
      ...((brokers.includes('nats') || brokers.includes('bare-nats')) && { nats: natsServerVersion() }),
      ...(brokers.includes('sqs') && { sqs: sqsServerVersion() }),
    },
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
  for (const group of groups) for (let sent = 0; sent < warmup; sent += users) await burst(group)
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
  const sqs = broker === 'sqs' ? await startQueue(opened) : null
  const nats = broker === 'nats' || broker === 'bare-nats' ? await startNatsServer() : null
  if (nats) opened.defer(nats.stop)
  const relay = relays[broker]
  const server = relay
    ? await startBenchServer(relayProgram, nats ? [relay, nats.address()] : [relay], clients)
    : await startBenchServer(
        serverProgram,
        await serverFlags(users, brokerSettings(broker, sqs, nats), opened),
        clients,
      )
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
  return { broker, server, loads, sqs }
}

async function serverFlags(
  users: number,
  broker: Readonly<Record<string, string | number>>,
  opened: AsyncDisposableStack,
): Promise<readonly string[]> {
  const folder = await makeServerFolder('pubsub')
  opened.defer(folder.remove)
  return folder.flags({
    ...{ port: 0, 'http1-port': 0, host: 'localhost', share: 'none' },
    // The load clients send edits.
    ...{ 'sensor-source': 'none', 'drain-ms': 0, 'heartbeat-ms': 60_000, editor: 'mirror' },
    ...{ 'limits-max-windows': users + 100, 'limits-max-connections': 3 * users + 100 },
    ...{
      'limits-max-channels': users + 1000,
      'limits-new-channels-per-hour': 1_000_000,
      'limits-messages-per-second': 1000,
    },
    ...broker,
  })
}

/** Of the server, for what runs beside it. */
function brokerSettings(broker: BrokerName, sqs: Group['sqs'], nats: TestNats | null) {
  if (nats) return { broker, 'nats-servers': nats.address() }
  if (sqs === null) return { broker }
  const { endpoint, queue, visibilitySeconds } = sqs
  return {
    broker,
    'sqs-endpoint': String(endpoint),
    'sqs-queue': queue,
    'sqs-visibility-seconds': visibilitySeconds,
  }
}

async function startQueue(opened: AsyncDisposableStack) {
  const sqs = await startSqsServer()
  opened.defer(sqs.stop)
  return { ...sqs.settings('pubsub'), visibilitySeconds: requeueing.visibilitySeconds }
}

/** Enough to show it: what nobody deletes comes again. */
const requeueing = { users: 100, taken: 30, visibilitySeconds: 5 } as const

/** Another consumer takes messages from the queue and never deletes them. */
async function showRequeueing(
  { modes, processes, wait }: PubsubOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<Requeued> {
  await using opened = new AsyncDisposableStack()
  const { users, visibilitySeconds } = requeueing
  const group = await openGroup('sqs', modes[0] ?? '', users, processes, opened, signal)
  if (!group.sqs) throw new Error('The group of SQS has no queue.')
  await pause(settleMs(users), undefined, { signal })
  await runBurst(group, 1, wait * 1000)
  const thief = await startThief(group.sqs, requeueing.taken)
  opened.defer(() => thief.stop())
  const { latenciesMs, duplicated } = joined(await burstOf(group, 2, wait * 1000))
  const againMs = latenciesMs.filter((ms) => ms >= 1000 * visibilitySeconds)
  progress.say(
    `Another consumer took ${thief.taken()} of ${users} messages from the queue: ${latenciesMs.length} came, ${againMs.length} of them again.`,
  )
  return {
    ...{ users, taken: thief.taken(), visibilityMs: 1000 * visibilitySeconds },
    ...{ n: latenciesMs.length, duplicated, againMs },
  }
}

async function runBurst(group: Group, mark: number, waitMs: number) {
  const before = await group.server.cpuMs()
  const measured = await burstOf(group, mark, waitMs)
  return burstFigures(measured, (await group.server.cpuMs()) - before)
}

function burstOf({ loads }: Pick<Group, 'loads'>, mark: number, waitMs: number): Promise<Measured[]> {
  const startAt = clock() + leadMs
  return Promise.all(loads.map((load) => load.burst({ startAt, mark, graceMs: waitMs })))
}

const joined = (measured: readonly Measured[]) => ({
  latenciesMs: measured.flatMap(({ latenciesMs }) => Array.from(latenciesMs)),
  duplicated: measured.reduce((sum, { duplicated }) => sum + duplicated, 0),
})

function burstFigures(measured: readonly Measured[], serverCpuMs: number) {
  const { latenciesMs, duplicated } = joined(measured)
  const { mean, p50, p95, max } = latenciesMs.length > 0 ? summarise(latenciesMs) : {}
  return {
    n: latenciesMs.length,
    duplicated,
    ...{ meanMs: mean ?? null, p50Ms: p50 ?? null, p95Ms: p95 ?? null, maxMs: max ?? null },
    sendingMs: Math.max(...measured.map(({ sendingMs }) => sendingMs)),
    lastMs: Math.max(...measured.map(({ wallMs }) => wallMs)),
    bytesOut: measured.reduce((sum, { receivedBytes }) => sum + receivedBytes, 0),
    serverCpuMs,
    clientCpuShare: Math.max(...measured.map(({ cpuMs, wallMs }) => cpuMs / wallMs)),
  }
}
