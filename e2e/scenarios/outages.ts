// Shows what a queue is for: messages of the 2015 study's users while connections and servers end.

import { setTimeout as delay } from 'node:timers/promises'
import { createSeededRandom, shuffled } from '../../client/wire.ts'
import { natsServerVersion, startNatsServer } from '../../scripts/nats-server.ts'
import { sqsServerVersion, startSqsServer } from '../../scripts/sqs-server.ts'
import { flag, names, seed, whole } from '../lab/flags.ts'
import { requireMode } from '../lab/mode-names.ts'
import { programs } from '../lab/programs.ts'
import { makeServerFolder, startServerProcess } from '../lab/server-process.ts'
import type { Row } from '../lab/study.ts'
import { defineStudy, type StudyRun } from '../lab/study-experiment.ts'
import { BareUser } from '../load/bare-user.ts'
import { CuttableWindow } from '../load/cuttable-window.ts'
import { type CuttingProxy, startProxy } from '../network/cutting-proxy.ts'
import { several } from '../report/section.ts'
import { timeUntil } from './resilience-fleet.ts'
import { RestartingServer } from './resilience-server.ts'

const brokers = {
  none: { label: 'None', spoken: 'without a broker' },
  embedded: { label: 'Embedded log', spoken: 'with the embedded log' },
  nats: { label: 'NATS', spoken: 'with NATS' },
  sqs: { label: 'SQS', spoken: 'with SQS' },
} as const

type BrokerName = keyof typeof brokers
const brokerNames = Object.keys(brokers) as BrokerName[]

const faults = {
  none: { label: 'No fault', spoken: 'undisturbed' },
  cut: { label: 'Every connection is cut', spoken: 'with every connection cut' },
  restart: { label: 'The server restarts', spoken: 'through a restart' },
  kill: { label: 'The server is killed', spoken: 'through a kill -9' },
} as const

type FaultName = keyof typeof faults
const faultNames = Object.keys(faults) as FaultName[]

const wordsOf = (table: Readonly<Record<string, { readonly label: string; readonly spoken: string }>>) => ({
  label: (name: string | number) => table[name]?.label ?? String(name),
  spoken: (name: string | number) => table[name]?.spoken ?? String(name),
})

const mode = requireMode('websocket/1.1')

export const outages = defineStudy({
  name: 'outages',
  about: `Users send messages to themselves, as in the 2015 study, while every connection is cut once, or the server restarts or is\n    killed, without a broker and with each; counts what never came back, and what came twice.`,
  flags: {
    brokers: flag(
      names(brokerNames).default(brokerNames),
      'LIST',
      'none: a bare relay, whose users only open their WebSocket again; embedded, nats, sqs: Crosswind and its link. NATS and SQS need the programs that docs/cluster.md names',
    ),
    faults: flag(names(faultNames).default(faultNames), 'LIST', faultNames.join(', ')),
    users: flag(whole(1, 2000).default(100), 'N', 'users'),
    sessions: flag(whole(1, 1000).default(5), 'N', 'at least 2 to see how far sessions differ'),
    seconds: flag(
      whole(4, 600).default(8),
      'N',
      'time in which users send; the fault comes after half of it',
    ),
    rate: flag(whole(1, 50).default(4), 'N', 'messages a second from each user'),
    away: flag(whole(0, 60).default(1), 'S', 'how long a server is away'),
    wait: flag(whole(1, 600).default(20), 'S', 'a message that has not returned by then is lost'),
    seed,
  },

  design: {
    question: 'How many messages does a fault lose, with and without a broker?',
    factors: [
      { name: 'broker', title: 'Broker', ...wordsOf(brokers) },
      { name: 'fault', title: 'Fault', ...wordsOf(faults) },
    ],
    areMessages: false,
    measures: [
      { name: 'lostPercent', title: 'Messages lost', unit: '%', better: 'less' },
      { name: 'twicePercent', title: 'Messages that came twice', unit: '%', better: 'less' },
    ],
    notes: () => [
      'A sample is a session: the share of all users’ messages that did not return to their user. Without a broker a user is what a page without a library is: it opens its WebSocket again half a second after it closed, and what it sends meanwhile, or what was on its way, nobody sends again. With a broker it is Crosswind’s link, which sends again what was not acknowledged and resumes after what it has received.',
      'So the difference is that of the whole: a queue alone would not know what a user has not received, and an acknowledgement alone would not survive the server.',
    ],
  },

  options(given) {
    if (given.brokers.length === 0) throw new Error('--brokers names no broker.')
    if (given.faults.length === 0) throw new Error('--faults names no fault.')
    return given
  },

  plan: ({ brokers: list, faults: each, seconds, away }) => ({
    sessionMs: list.length * (3000 + each.length * (2500 + 1000 * (seconds + away / 2))),
  }),

  async measure(options, lab): Promise<StudyRun> {
    const { brokers: list, faults: each, users, sessions, seconds, rate, away, wait } = options
    lab.progress.say(
      `${several(users, 'user')}, brokers ${list.join(', ')}, faults ${each.join(', ')}: ${several(sessions, 'session')}; --seed ${options.seed}.`,
    )
    const caption = 'Messages lost, in percent'
    lab.progress.compare({ title: 'Broker', caption, subjects: list, baselineOf: () => undefined })
    const random = createSeededRandom(options.seed)
    const measured = await lab.sessions(sessions, async (session) => {
      const rows: Row[] = []
      for (const broker of shuffled(list, random)) {
        await using opened = new AsyncDisposableStack()
        const system = await openSystem(broker, opened)
        for (const fault of shuffled(each, random)) {
          lab.signal.throwIfAborted()
          const found = await goThrough(system, fault, `${session}-${fault}`)
          const share = (part: number) => (100 * part) / found.sent
          rows.push({
            broker,
            fault,
            session,
            sent: found.sent,
            missing: found.lost,
            twice: found.twice,
            lostPercent: share(found.lost),
            twicePercent: share(found.twice),
          })
          const turn = { subject: broker, group: faults[fault].label, values: [share(found.lost)] }
          lab.progress.took(
            { ...turn, received: found.sent - found.lost, expected: found.sent },
            `${`${session}  ${broker}`.padEnd(14)} ${fault.padEnd(8)} ${found.lost} of ${found.sent} lost, ${found.twice} twice`,
          )
        }
      }
      return rows
    })
    return {
      ...lab.circumstances({
        browser: 'none: users on Node’s connections',
        server: 'a process of its own for each broker, on this machine, over loopback',
        parameters: {
          brokers: list.join(', '),
          faults: each.join(', '),
          users,
          sessions,
          seconds,
          rate,
          away,
          wait,
          seed: options.seed,
          ...(list.includes('nats') && { nats: natsServerVersion() }),
          ...(list.includes('sqs') && { sqs: sqsServerVersion() }),
        },
      }),
      levels: { broker: list, fault: each },
      baseline: null,
      samples: measured.flat(),
    }

    async function goThrough({ proxy, server, open }: OutageSystem, fault: FaultName, name: string) {
      const all = Array.from({ length: users }, (_, place) => open(`user-${name}-${place + 1}`))
      try {
        const areOpen = () => all.every((user) => user.isOpen)
        if ((await timeUntil(areOpen, wait * 1000, lab.pause.bind(lab))) === null)
          throw new Error(`Not every user was connected within ${wait} s.`)
        const sending = setInterval(() => {
          for (const user of all) user.send()
        }, 1000 / rate)
        try {
          await lab.pause(500 * seconds)
          if (fault === 'cut') proxy.cut()
          if (fault === 'restart') await server.restart(away * 1000)
          if (fault === 'kill') await server.kill(away * 1000)
          await lab.pause(500 * seconds)
        } finally {
          clearInterval(sending)
        }
        const hasAll = () => all.every((user) => user.missing() === 0)
        await timeUntil(hasAll, wait * 1000, lab.pause.bind(lab))
        const sum = (of: (user: OutageUser) => number) => all.reduce((total, user) => total + of(user), 0)
        return {
          sent: sum((user) => user.sent()),
          lost: sum((user) => user.missing()),
          twice: sum((user) => user.repeated()),
        }
      } finally {
        for (const user of all) user.close()
      }
    }
  },
})

/** One user, which sends to itself. */
interface OutageUser {
  readonly isOpen: boolean
  send(): void
  sent(): number
  /** Sent and not returned. */
  missing(): number
  repeated(): number
  close(): void
}

interface OutageSystem {
  readonly proxy: CuttingProxy
  readonly server: {
    readonly restart: (awayMs: number) => Promise<void>
    readonly kill: (awayMs: number) => Promise<void>
  }
  readonly open: (name: string) => OutageUser
}

function openSystem(broker: BrokerName, opened: AsyncDisposableStack): Promise<OutageSystem> {
  return broker === 'none' ? openRelay(opened) : openCrosswind(broker, opened)
}

async function openRelay(opened: AsyncDisposableStack): Promise<OutageSystem> {
  const start = () => startServerProcess(programs.relays, ['channels'], {})
  const portOf = ({ origin }: Awaited<ReturnType<typeof start>>) => Number(new URL(origin['1.1']).port)
  let relay = await start()
  opened.defer(() => relay.close())
  const proxy = await startProxy(portOf(relay))
  opened.defer(proxy.close)
  const replace = async (end: () => Promise<void>, awayMs: number) => {
    await end()
    await delay(awayMs)
    relay = await start()
    proxy.aim(portOf(relay))
  }
  return {
    proxy,
    server: {
      restart: (awayMs) => replace(() => relay.close(), awayMs),
      kill: (awayMs) => replace(() => relay.kill(), awayMs),
    },
    open: (name) => new BareUser(`wss://localhost:${proxy.port}`, name),
  }
}

async function openCrosswind(
  broker: Exclude<BrokerName, 'none'>,
  opened: AsyncDisposableStack,
): Promise<OutageSystem> {
  const folder = await makeServerFolder('outages')
  opened.defer(folder.remove)
  const server = await RestartingServer.start(folder, programs.server, {
    ...(await settingsOf(broker, opened)),
    'limits-max-channels': 100_000,
    'limits-new-channels-per-hour': 1_000_000,
  })
  opened.defer(() => server.close())
  const proxy = await startProxy(server.ports['1.1'])
  opened.defer(proxy.close)
  const origin = `https://localhost:${proxy.port}`
  return { proxy, server, open: (name) => linkedUser(name, origin, folder.ca) }
}

async function settingsOf(broker: Exclude<BrokerName, 'none'>, opened: AsyncDisposableStack) {
  if (broker === 'embedded') return {}
  if (broker === 'nats') {
    const nats = await startNatsServer()
    opened.defer(nats.stop)
    return { broker, 'nats-servers': nats.address() }
  }
  const sqs = await startSqsServer()
  opened.defer(sqs.stop)
  const { endpoint, queue } = sqs.settings('outages')
  return { broker, 'sqs-endpoint': String(endpoint), 'sqs-queue': queue }
}

function linkedUser(name: string, origin: string, ca: string): OutageUser {
  const window = new CuttableWindow({
    name,
    mode,
    channel: name,
    isWriter: true,
    random: Math.random,
    mayFall: false,
    origin: { '2': origin, '1.1': origin },
    ca,
    elapsed: () => performance.now(),
  })
  const { record } = window
  const returned = () => new Set(record.seen.map(({ id }) => id))
  return {
    get isOpen() {
      return window.isOpen
    },
    send: () => window.publish(`${record.published.length + 1}`),
    sent: () => record.published.length,
    missing: () => {
      const there = returned()
      return record.published.filter((id) => !there.has(id)).length
    },
    repeated: () => record.seen.length - returned().size,
    close: () => window.close(),
  }
}
