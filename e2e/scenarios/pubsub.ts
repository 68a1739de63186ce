// Publish and subscribe as in the 2015 study: all users send at once and wait for their message.

import { mean } from '../../client/statistics.ts'
import { natsServerVersion, startNatsServer, type TestNats } from '../../scripts/nats-server.ts'
import { sqsServerVersion, startSqsServer, startThief, type TestSqs } from '../../scripts/sqs-server.ts'
import type { Plan } from '../lab/estimate.ts'
import { flag, names, numbers, whole, wordsOnce } from '../lab/flags.ts'
import { labelOf, requireMode, requireModes, spokenName } from '../lab/mode-names.ts'
import type { Lab } from '../lab/run-sessions.ts'
import { summarise } from '../lab/statistics.ts'
import type { Analysis, Design, Factor, Level, Row } from '../lab/study.ts'
import { defineStudy, type StudyRun } from '../lab/study-experiment.ts'
import { modeFactor } from '../lab/study-parts.ts'
import { turnsOf } from '../lab/turns.ts'
import {
  createSharedClock,
  type LoadProcess,
  type Measured,
  openAcross,
  split,
  startLoadProcess,
} from '../load/load-process.ts'
import { type LoadServer, startMode, startRelayFor } from '../load/load-server.ts'
import { count, figure, several } from '../report/section.ts'
import { paperSections } from './pubsub-paper.ts'

/**
 * `none`: a bare relay of channels, without broker and log. `bare-file`, `bare-nats`: the same
 * relay, which writes each message to a file or through JetStream, and checks nothing.
 */
const brokerNames = ['none', 'bare-file', 'embedded', 'bare-nats', 'nats', 'sqs'] as const
type BrokerName = (typeof brokerNames)[number]

interface AboutBroker {
  readonly label: string
  readonly spoken: string
  /** Its name in `e2e/peers/relays.ts`. */
  readonly relay?: string
  /** The bare relay that does the minimum of what this broker does. */
  readonly floor?: BrokerName
}

const aboutBroker: Readonly<Record<BrokerName, AboutBroker>> = {
  none: { label: 'None', spoken: 'a bare relay', relay: 'channels' },
  'bare-file': { label: 'Bare, file', spoken: 'a bare relay’s file', relay: 'channels-file' },
  embedded: { label: 'Embedded', spoken: 'the embedded log', floor: 'bare-file' },
  'bare-nats': { label: 'Bare, NATS', spoken: 'a bare relay’s NATS', relay: 'channels-nats' },
  nats: { label: 'NATS', spoken: 'NATS', floor: 'bare-nats' },
  sqs: { label: 'SQS', spoken: 'SQS' },
}

const aboutLevel = (broker: Level) => aboutBroker[broker as BrokerName]

const brokerFactor: Factor = {
  name: 'broker',
  title: 'Broker',
  label: (broker) => aboutLevel(broker).label,
  spoken: (broker) => aboutLevel(broker).spoken,
}

const byMode: Factor = { ...modeFactor, spoken: (mode) => `by ${spokenName(String(mode))}` }

const design: Design = {
  question: 'How much longer does a message take through a broker?',
  factors: [
    brokerFactor,
    {
      name: 'users',
      title: 'Users',
      label: (users) => several(Number(users), 'user'),
      short: (users) => count(Number(users)),
      spoken: (users) => `with ${several(Number(users), 'user')}`,
    },
    byMode,
  ],
  measures: [
    { name: 'meanMs', title: 'Response latency', unit: 'ms', better: 'less' },
    { name: 'kbps', title: 'Bandwidth out', unit: 'kbit/s', better: 'more', by: 'mean' },
    ...(
      [
        { name: 'lost', title: 'Lost messages', unit: 'per burst' },
        { name: 'p50Ms', title: 'Median', unit: 'ms' },
        { name: 'p95Ms', title: 'p95', unit: 'ms' },
        { name: 'maxMs', title: 'Maximum', unit: 'ms' },
        { name: 'lastMs', title: 'Last message back', unit: 'ms' },
        { name: 'sendingMs', title: 'Last message sent', unit: 'ms' },
        { name: 'bytesPerMessage', title: 'Bytes out', unit: 'per message' },
        { name: 'serverCpuMicros', title: 'Server CPU', unit: 'µs per message' },
        {
          name: 'clientCpuPercent',
          title: 'Load of the busiest client process',
          unit: '% of a core',
        },
      ] as const
    ).map((measure) => ({ ...measure, better: 'less', by: 'mean', isCompared: false }) as const),
  ],
  // Each with the baseline, and with the bare relay that stores in the same way.
  pairs: (brokers, baseline) =>
    brokers.flatMap((broker) =>
      [...new Set([baseline, aboutLevel(broker).floor])]
        .filter((against) => against !== undefined && against !== null)
        .filter((against) => against !== broker && brokers.includes(against))
        .map((against) => [broker, against] as const),
    ),
  remarks: formatBusy,
  notes: () => [
    'A sample is one message, but for figures it is one burst: every user sends a message at the same moment and waits for it. Its latency is the mean over its messages, from being handed to the user’s connection to returning over the same user’s stream. All messages of a burst compete for the same processors: the mean says how far a server falls behind, not how long one message alone would take.',
    'Bandwidth: the bytes of TLS at the users’ sockets, acknowledgements included, over the time from the first message to the last answer. A faster answer is a higher bandwidth; the bytes per message are what a broker adds. The server’s CPU is that of its own process, without the broker’s. The load of a client process is over the time of the burst; in bursts of a few milliseconds what it does just before and after counts too.',
  ],
}

/** Above this share of a core, the clients, not the server alone, determine how long a burst takes. */
const busyPercent = 90

function formatBusy({ figures }: Analysis): readonly string[] {
  const loads = figures.filter(({ measure }) => measure === 'clientCpuPercent')
  const busy = loads.filter(({ mean }) => (mean ?? 0) > busyPercent)
  return busy.length === 0
    ? []
    : [
        `In ${busy.length} of ${loads.length} places a client process was busy for over ${busyPercent} % of the time: there the clients were the bottleneck.`,
      ]
}

export const pubsub = defineStudy({
  name: 'pubsub',
  about: `Repeats the experiment of the 2015 publish/subscribe paper: each user sends one message at the same time and waits for it\n    to return, through each broker in turn. Compares response latency, bandwidth and loss with a bare relay's.\n    Exits with status 1 if a message was lost with a broker.`,
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

  design,

  plan: (options): Plan => ({
    sessionMs: split(options.iterations, options.sessions).map((count) => sessionMs(options, count)),
  }),

  async measure(options, lab): Promise<StudyRun> {
    const { modes, users, brokers, iterations, sessions, processes, wait, warmup } = options
    lab.progress.say(
      `${iterations} iterations in ${several(sessions, 'session')}, ${users.join(', ')} users, ${modes.join(', ')}; brokers: ${brokers.join(', ')}.`,
    )
    const latency = 'Mean response latency in milliseconds'
    lab.progress.compare({ title: 'Broker', caption: latency, subjects: brokers, baselineOf: () => 'none' })
    const shares = split(iterations, sessions)
    const found = await lab.sessions(sessions, async (session) => {
      const first = shares.slice(0, session - 1).reduce((sum, earlier) => sum + earlier, 1)
      const all: Row[] = []
      for (const mode of modes)
        for (const size of users) {
          const about = { mode, users: size, session, first, count: shares[session - 1] ?? 0 }
          all.push(...(await measureSize(options, about, lab)))
        }
      return all
    })
    const isRequeued = brokers.includes('sqs') && !lab.isStopped
    return {
      ...(isRequeued && { observations: [await showRequeueing(options, lab)] }),
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
          ...(brokers.some((broker) => broker.endsWith('nats')) && { nats: natsServerVersion() }),
          ...(brokers.includes('sqs') && { sqs: sqsServerVersion() }),
        },
      }),
      levels: { broker: brokers, users, mode: modes },
      baseline: brokers.includes('none') ? 'none' : (brokers[0] ?? null),
      samples: found.flat(),
    }
  },

  method: ({ parameters: { processes } }) => [
    `Every broker got a fresh server and fresh users, in ${several(Number(processes), 'client process', 'client processes')}, for each number of users; bursts of the brokers took turns.`,
  ],

  sections: (found) =>
    paperSections(found, { broker: (broker) => aboutLevel(broker).label, mode: byMode.label ?? String }),

  isFailure: ({ figures }) => figures.some(({ at, lost }) => at.broker !== 'none' && lost > 0),
})

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
): Promise<readonly Row[]> {
  await using opened = new AsyncDisposableStack()
  const about = `${session}  ${mode}  ${users} users`
  const groups: Group[] = []
  for (const broker of brokers) {
    lab.progress.step(`${about}  ${broker}: opening`)
    groups.push(await openGroup(broker, mode, users, processes, opened, lab.signal))
  }
  await lab.pause(settleMs(users))
  let mark = 0
  const burst = (group: Group) => {
    mark += 1
    return runBurst(group, mark, wait * 1000)
  }
  for (const group of groups) for (let sent = 0; sent < warmup; sent += users) await burst(group)
  const found: Row[] = []
  for (const [turn, order] of turnsOf(groups, count).entries())
    for (const group of order) {
      lab.signal.throwIfAborted()
      const { broker } = group
      lab.progress.step(`${about}  ${broker}: ${turn + 1} of ${count}`)
      const figures = burstFigures(users, await burst(group))
      found.push({ broker, users, mode, session, iteration: first + turn, ...figures })
      lab.progress.took({
        subject: broker,
        group: `${labelOf(mode)}, ${several(users, 'user')}`,
        values: figures.meanMs === null ? [] : [figures.meanMs],
        received: figures.expected - figures.lost,
        expected: figures.expected,
      })
      await lab.pause(betweenBurstsMs)
    }
  lab.progress.announce(
    `${session}  ${mode.padEnd(13)} ${String(users).padStart(6)} users  ${formatResult(brokers, found)}`,
  )
  return found
}

function formatResult(brokers: readonly BrokerName[], found: readonly Row[]): string {
  return brokers
    .map((broker) => {
      const own = found.filter((one) => one.broker === broker)
      const times = own.flatMap(({ meanMs }) => (typeof meanMs === 'number' ? [meanMs] : []))
      const lost = own.reduce((sum, one) => sum + (one.lost ?? 0), 0)
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
async function showRequeueing({ modes, processes, wait }: Options, lab: Lab): Promise<string> {
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
  lab.progress.say(
    `Another consumer took ${taken} of ${users} messages from the queue: ${n} arrived, ${againMs.length} of them again.`,
  )
  const again = againMs.length === 0 ? '' : `, after ${figure(mean(againMs) / 1000)} s on average`
  return `Lost messages are queued again: another consumer took ${count(taken)} of ${count(users)} messages from the queue and never acknowledged them; after the visibility time-out of ${visibilitySeconds} s the queue delivered them again${again}. ${count(n)} of ${count(users)} messages returned to their users, ${duplicated === 0 ? 'none' : count(duplicated)} of them twice.`
}

async function runBurst(group: Group, mark: number, waitMs: number) {
  const before = await group.server.cpuMs()
  const measured = await burstOf(group, mark, waitMs)
  return { measured, serverCpuMs: (await group.server.cpuMs()) - before }
}

function burstOf({ loads }: Pick<Group, 'loads'>, mark: number, waitMs: number): Promise<Measured[]> {
  const startAt = clock() + leadMs
  return Promise.all(loads.map((load) => load.burst({ startAt, mark, graceMs: waitMs })))
}

const joined = (measured: readonly Measured[]) => ({
  latenciesMs: measured.flatMap(({ latenciesMs }) => Array.from(latenciesMs)),
  duplicated: measured.reduce((sum, { duplicated }) => sum + duplicated, 0),
})

/** One burst. Times in ms, from when each message was handed to its connection. */
function burstFigures(users: number, { measured, serverCpuMs }: Awaited<ReturnType<typeof runBurst>>) {
  const { latenciesMs, duplicated } = joined(measured)
  const n = latenciesMs.length
  const { mean, p50, p95, max } = n > 0 ? summarise(latenciesMs) : {}
  const lastMs = Math.max(...measured.map(({ wallMs }) => wallMs))
  const bytes = measured.reduce((sum, { receivedBytes }) => sum + receivedBytes, 0)
  const clientShare = Math.max(...measured.map(({ cpuMs, wallMs }) => cpuMs / wallMs))
  return {
    expected: users,
    lost: users - n,
    duplicated,
    meanMs: mean ?? null,
    kbps: (8 * bytes) / lastMs,
    p50Ms: p50 ?? null,
    p95Ms: p95 ?? null,
    maxMs: max ?? null,
    lastMs,
    sendingMs: Math.max(...measured.map(({ sendingMs }) => sendingMs)),
    bytesPerMessage: n > 0 ? bytes / n : null,
    serverCpuMicros: n > 0 ? (1000 * serverCpuMs) / n : null,
    clientCpuPercent: Number((100 * clientShare).toFixed(2)),
  }
}
