// Publish and subscribe as in the 2015 study: all users send at once and wait for their message.

import { join } from 'node:path'
import { z } from 'zod'
import { natsServerVersion, startNatsServer, type TestNats } from '../../scripts/nats-server.ts'
import { sqsServerVersion, startSqsServer, startThief, type TestSqs } from '../../scripts/sqs-server.ts'
import type { Plan } from '../lab/estimate.ts'
import { defineExperiment, type Lab, turnsOf } from '../lab/experiment.ts'
import { flag, names, numbers, whole, wordsOnce } from '../lab/flags.ts'
import { labelOf, requireMode, requireModes } from '../lab/mode-names.ts'
import {
  circumstances,
  number,
  numberOrNull,
  readSummary,
  readText,
  rowsIn,
  withoutNulls,
} from '../lab/reread.ts'
import { summarise } from '../lab/statistics.ts'
import {
  createSharedClock,
  type LoadProcess,
  type Measured,
  openAcross,
  split,
  startLoadProcess,
} from '../load/load-process.ts'
import { type LoadServer, startMode, startRelayFor } from '../load/load-server.ts'
import { several } from '../report/section.ts'
import {
  aboutBroker,
  analyse,
  type BrokerName,
  brokerNames,
  type Iteration,
  iterationsCsv,
  type Requeued,
  type Run,
  sectionsOf,
} from './pubsub-report.ts'

export const pubsub = defineExperiment({
  name: 'pubsub',
  about: `Repeats the experiment of the 2015 publish/subscribe paper: each user sends one message at the same time and waits for it\n    to return, through each broker in turn. Compares loss, response latency and bandwidth with a bare relay's.\n    Exits with status 1 if a message was lost with a broker.`,
  flags: {
    users: flag(numbers('50,100,500,1000,5000,10000', 1, 20_000), 'LIST', 'simultaneous users'),
    brokers: flag(
      names(brokerNames).default(['none', 'embedded', 'nats', 'sqs']),
      'LIST',
      'none: a bare relay; embedded, nats, sqs; bare-file, bare-nats: the bare relay, storing in a file or on NATS, as a floor for embedded and nats. NATS and SQS need the programs that docs/cluster.md names',
    ),
    modes: flag(wordsOnce.default(['websocket/1.1', 'sse/2']), 'LIST', 'modes of the users'),
    iterations: flag(whole(1, 1000).default(30), 'N', 'bursts of each'),
    sessions: flag(
      whole(1, 100).default(5),
      'N',
      'sessions with fresh servers and users, which share the iterations',
    ),
    warmup: flag(whole(0, 100_000).default(3000), 'N', 'minimum of uncounted messages each, in whole bursts'),
    processes: flag(whole(1, 64).default(2), 'N', 'client processes per broker'),
    wait: flag(whole(1, 600).default(60), 'S', 'time after which a message is lost'),
  },
  options(given) {
    if (given.brokers.length === 0) throw new Error('--brokers names no broker.')
    if (given.iterations < given.sessions) throw new Error('iterations must be at least as many as sessions.')
    for (const { name, isPush } of requireModes(given.modes))
      if (!isPush)
        throw new Error(`--modes names ${name}: a user of pubsub waits for a message, and does not poll.`)
    return given
  },

  plan: (options): Plan => ({
    sessionMs: split(options.iterations, options.sessions).map((count) => sessionMs(options, count)),
  }),

  reread,

  async measure(options, lab): Promise<Run> {
    const { modes, users, brokers, iterations, sessions, processes, wait, warmup } = options
    lab.say(
      `${iterations} iterations in ${several(sessions, 'session')}, ${users.join(', ')} users, ${modes.join(', ')}; brokers: ${brokers.join(', ')}.`,
    )
    const latency = 'Mean response latency in milliseconds'
    lab.compare({ title: 'Broker', caption: latency, subjects: brokers, baselineOf: () => 'none' })
    const shares = split(iterations, sessions)
    const found = await lab.sessions(sessions, async (session) => {
      const first = shares.slice(0, session - 1).reduce((sum, earlier) => sum + earlier, 1)
      const all: Iteration[] = []
      for (const mode of modes)
        for (const size of users) {
          const about = { mode, users: size, session, first, count: shares[session - 1] ?? 0 }
          all.push(...(await measureSize(options, about, lab)))
        }
      return all
    })
    return {
      requeued: brokers.includes('sqs') && !lab.isStopped ? await showRequeueing(options, lab) : null,
      ...lab.circumstances({
        browser: 'none: load clients on Node’s connections',
        server: 'its own processes on this machine, over loopback',
        parameters: {
          users: users.join(', '),
          brokers: brokers.join(', '),
          iterations,
          sessions,
          warmup,
          processes,
          wait,
        },
      }),
      modes,
      users,
      brokers,
      iterations: found.flat(),
      waitMs: wait * 1000,
      brokerVersions: {
        ...(brokers.some((broker) => broker.endsWith('nats')) && { nats: natsServerVersion() }),
        ...(brokers.includes('sqs') && { sqs: sqsServerVersion() }),
      },
    }
  },

  analyse,

  report: (run, summary) => ({
    title: 'publish and subscribe',
    sections: sectionsOf(summary),
    method: [
      `Each broker got a fresh server and fresh users in each of ${summary.parameters.sessions} sessions, in ${summary.parameters.processes} client processes. Without a broker: a bare relay that finds a message’s channel and sends it. The bare relays with a file or NATS also number, store and acknowledge it. Crosswind checks, numbers, stores and acknowledges it; its log is the default one, a file. NATS and SQS ran on the same machine. ${Object.values(summary.brokerVersions).join('; ')}`.trim(),
      'The paper is Ganaputra and Pardamean, “Asynchronous Publish/Subscribe Architecture over WebSocket for Building Real-time Web Applications”, Internetworking Indonesia Journal, 2015: 30 iterations over the Internet, on one Windows server, with Amazon SQS.',
    ],
    data: { 'iterations.csv': iterationsCsv(run.iterations) },
    isFailure: summary.groups.some(({ broker, lost }) => broker !== 'none' && lost > 0),
  }),
})

const iterationRow = z.object({
  mode: z.string(),
  users: number,
  broker: z.enum(brokerNames),
  session: number,
  iteration: number,
  n: number,
  duplicated: number,
  meanMs: numberOrNull,
  p50Ms: numberOrNull,
  p95Ms: numberOrNull,
  maxMs: numberOrNull,
  sendingMs: number,
  lastMs: number,
  bytesOut: number,
  serverCpuMs: number,
  clientCpuShare: number,
})

async function reread(folder: string): Promise<Run> {
  const summary = await readSummary<Omit<Run, 'iterations'>>(folder, 'pubsub')
  const path = join(folder, 'iterations.csv')
  return {
    ...withoutNulls(summary, [...circumstances, 'waitMs', 'brokerVersions', 'modes', 'users', 'brokers']),
    requeued: summary.requeued,
    iterations: rowsIn(path, await readText(path), iterationRow),
  }
}

type Options = ReturnType<typeof pubsub.options>

/** For users of one number in one mode, with its own server. */
interface Group {
  readonly broker: BrokerName
  readonly server: LoadServer
  readonly loads: readonly LoadProcess[]
  /** Settings of the queue, if there is one. */
  readonly sqs: ReturnType<TestSqs['settings']> | null
}

const clock = createSharedClock()
const openingAtOnce = 64
/** Until all orders have arrived. */
const leadMs = 100
const betweenBurstsMs = 300
/** Presence frames follow the last user for this long. */
const settleMs = (users: number) => 500 + users * 1.2

/** Estimates: to start a broker with its server and clients, to open a user, and until a burst is back. */
const groupMs = 1500
const openingMsPerUser = 2
const burstMsPerUser = 0.15

/** `count`: iterations. */
function sessionMs({ modes, users, brokers, warmup }: Options, count: number): number {
  const sizesMs = users.map((size) => {
    const burstsMs = (Math.ceil(warmup / size) + count) * (leadMs + size * burstMsPerUser)
    const openMs = groupMs + size * openingMsPerUser
    return settleMs(size) + brokers.length * (openMs + burstsMs + count * betweenBurstsMs)
  })
  return modes.length * sizesMs.reduce((sum, ms) => sum + ms, 0)
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
  { brokers, processes, wait, warmup }: Options,
  { mode, users, session, first, count }: About,
  lab: Lab,
): Promise<readonly Iteration[]> {
  await using opened = new AsyncDisposableStack()
  const about = `${session}  ${mode}  ${users} users`
  const groups: Group[] = []
  for (const broker of brokers) {
    lab.step(`${about}  ${broker}: opening`)
    groups.push(await openGroup(broker, mode, users, processes, opened, lab.signal))
  }
  await lab.pause(settleMs(users))
  let mark = 0
  const burst = (group: Group) => {
    mark += 1
    return runBurst(group, mark, wait * 1000)
  }
  for (const group of groups) for (let sent = 0; sent < warmup; sent += users) await burst(group)
  const found: Iteration[] = []
  for (const [turn, order] of turnsOf(groups, count).entries())
    for (const group of order) {
      lab.signal.throwIfAborted()
      const { broker } = group
      lab.step(`${about}  ${broker}: ${turn + 1} of ${count}`)
      const measured = await burst(group)
      found.push({ mode, users, broker, session, iteration: first + turn, ...measured })
      lab.took({
        subject: broker,
        group: `${labelOf(mode)}, ${several(users, 'user')}`,
        values: measured.meanMs === null ? [] : [measured.meanMs],
        received: measured.n,
        expected: users,
      })
      await lab.pause(betweenBurstsMs)
    }
  lab.announce(
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
  const mode = requireMode(modeName)
  const clients = { client: mode.transport, http: mode.http } as const
  const sqs = broker === 'sqs' ? await startQueue(opened) : null
  const nats = broker === 'nats' || broker === 'bare-nats' ? await startNatsServer() : null
  if (nats) opened.defer(nats.stop)
  const { relay } = aboutBroker[broker]
  const server = relay
    ? await startRelayFor(nats ? [relay, nats.address()] : [relay], clients, opened)
    : await startMode(mode, { windows: users, perBrowser: 1, rate: 500 }, opened, {
        'heartbeat-ms': 60_000,
        'limits-max-connections': 3 * users + 100,
        'limits-max-channels': users + 1000,
        'limits-new-channels-per-hour': 1_000_000,
        ...brokerSettings(broker, sqs, nats),
      })
  signal.throwIfAborted()
  const loads = Array.from({ length: processes }, () => startLoadProcess(signal, opened))
  await openAcross(loads, {
    target: server.target,
    windows: users,
    perBrowser: 1,
    openingAtOnce,
    channel: 'user',
    hasOwnChannels: true,
  })
  await server.untilCounted(users, signal)
  return { broker, server, loads, sqs }
}

/** Server settings for what runs beside it. */
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

/** Enough to show it: a message that is not deleted is delivered again. */
const requeueing = { users: 100, taken: 30, visibilitySeconds: 5 } as const

/** Another consumer takes messages from the queue and never deletes them. */
async function showRequeueing({ modes, processes, wait }: Options, lab: Lab): Promise<Requeued> {
  await using opened = new AsyncDisposableStack()
  const { users, visibilitySeconds } = requeueing
  const group = await openGroup('sqs', modes[0] ?? '', users, processes, opened, lab.signal)
  if (!group.sqs) throw new Error('The SQS group has no queue.')
  await lab.pause(settleMs(users))
  await runBurst(group, 1, wait * 1000)
  const thief = await startThief(group.sqs, requeueing.taken)
  opened.defer(() => thief.stop())
  const { latenciesMs, duplicated } = joined(await burstOf(group, 2, wait * 1000))
  const againMs = latenciesMs.filter((ms) => ms >= 1000 * visibilitySeconds)
  const taken = thief.taken()
  const n = latenciesMs.length
  lab.say(
    `Another consumer took ${taken} of ${users} messages from the queue: ${n} arrived, ${againMs.length} of them again.`,
  )
  return { users, taken, visibilityMs: 1000 * visibilitySeconds, n, duplicated, againMs }
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
    meanMs: mean ?? null,
    p50Ms: p50 ?? null,
    p95Ms: p95 ?? null,
    maxMs: max ?? null,
    sendingMs: Math.max(...measured.map(({ sendingMs }) => sendingMs)),
    lastMs: Math.max(...measured.map(({ wallMs }) => wallMs)),
    bytesOut: measured.reduce((sum, { receivedBytes }) => sum + receivedBytes, 0),
    serverCpuMs,
    clientCpuShare: Math.max(...measured.map(({ cpuMs, wallMs }) => cpuMs / wallMs)),
  }
}
