// `transfer`: a long transfer over a network that loses packets, beside its formula; and datagrams.

import { type ChildProcess, fork } from 'node:child_process'
import { createSocket, type Socket as DatagramSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { defineExperiment } from '../lab/experiment.ts'
import { flag, seed, whole } from '../lab/flags.ts'
import { describeNetwork, lostShareOf, type NetworkUse, packetUse } from '../lab/network-report.ts'
import type { Circumstances, Network } from '../lab/run-environment.ts'
import { rounded, sessionRatio } from '../lab/statistics.ts'
import { profileName } from '../lab/testbed.ts'
import { type Congestion, PacketNetwork } from '../network/packet-network.ts'
import { type Loss, type Profile, readProfile } from '../network/profiles.ts'
import { count, figure, formatRatio, interval, table, text } from '../report/section.ts'

/** With TCP's timestamps. */
const segmentBytes = 1448
/** Slow start. */
const warmUpMs = 2000

type Way = 'up' | 'down'

/** Counted at both ends, beside the relay's own count. */
interface Datagrams {
  readonly sent: number
  readonly received: number
  readonly droppedByRelay: number
}

interface Session {
  /** Null without a transfer. */
  readonly bytesPerSecond: number | null
  readonly datagrams: Readonly<Record<Way, Datagrams>>
  readonly networkUse: NetworkUse
}

type LossyProfile = Profile & { readonly loss: Loss }

interface Run extends Circumstances {
  readonly profile: LossyProfile
  readonly congestion: Congestion
  readonly sessions: readonly Session[]
  readonly network?: Network
}

export const transfer = defineExperiment({
  name: 'transfer',
  about:
    'Sends datagrams both ways over a network that loses packets, and compares those that arrive with what the relay says it dropped. Then sends as much as TCP can, and compares the rate with the formula of its congestion control. Exits with status 1 if they contradict each other.',
  isBench: true,
  flags: {
    profile: flag(
      profileName
        .refine((words) => readProfile(words)?.loss?.share, 'must name a loss, such as wan+1%')
        .default('wan+1%'),
      'NAME',
      'a network and its loss',
    ),
    congestion: flag(z.enum(['reno', 'cubic']).default('reno'), 'NAME', 'congestion control: reno or cubic'),
    sessions: flag(whole(1, 100).default(5), 'N', 'at least 2 for intervals'),
    seconds: flag(
      whole(0, 600).default(20),
      'N',
      'length of a transfer, after its first two seconds; 0 for none',
    ),
    datagrams: flag(whole(1, 100_000).default(5000), 'N', 'datagrams in each direction and session'),
    seed,
  },
  options: (given) => given,
  networks: ({ profile }) => [profile],

  async measure(options, lab): Promise<Run> {
    const { congestion, sessions, seconds, datagrams, seed } = options
    const profile = readProfile(options.profile)
    if (!profile?.loss) throw new Error(`The profile ${options.profile} loses nothing.`)
    const { loss } = profile
    const measured = await lab.sessions(sessions, async (session, opened): Promise<Session> => {
      const network = await PacketNetwork.open(congestion)
      opened.defer(network.close)
      const { address } = await network.addPath(profile, (seed + session) % 2 ** 32)
      const peer = await startPeer(network, opened)
      lab.progress.step(`session ${session} of ${sessions}`)
      const counted = await countDatagrams(network, address, peer, datagrams, lab.signal)
      const bytesPerSecond =
        seconds === 0 ? null : await timeTransfer(address, peer.port, seconds * 1000, lab.signal)
      const networkUse = packetUse(await network.figures())
      return { bytesPerSecond, datagrams: counted, networkUse }
    })
    const circumstances = lab.circumstances({
      browser: 'none',
      server: 'a process on another host, in a network namespace',
      seed,
      parameters: { profile: options.profile, congestion, sessions, seconds, datagrams, seed },
    })
    const uses = measured.map(({ networkUse }) => networkUse)
    const described = describeNetwork(options.profile, uses, congestion)
    return { ...circumstances, profile: { ...profile, loss }, congestion, sessions: measured, ...described }
  },

  analyse({ profile, congestion, sessions, network, ...circumstances }) {
    const expected = expectedRate(profile, congestion)
    const rates = sessions.flatMap(({ bytesPerSecond }) =>
      bytesPerSecond === null ? [] : rounded(bytesPerSecond),
    )
    const { ratio, ratioCi95 } = sessionRatio(rates.map((bytesPerSecond) => bytesPerSecond / expected))
    const datagrams = { up: totalOf(profile, sessions, 'up'), down: totalOf(profile, sessions, 'down') }
    const rate = figure(rates.reduce((sum, each) => sum + each, 0) / rates.length / 1000)
    const beside = `${formatRatio(ratio, ratioCi95)} times the formula's ${figure(expected / 1000)}`
    const isTrue = Object.values(datagrams).every(({ lost, droppedByRelay }) => lost === droppedByRelay)
    const words = isTrue
      ? 'The missing datagrams are exactly those that the relay dropped.'
      : 'The missing datagrams are not those that the relay dropped.'
    return {
      scenario: 'transfer',
      ...circumstances,
      ...(network && { network }),
      bytesPerSecond: rates,
      expectedBytesPerSecond: rounded(expected),
      ratio,
      ratioCi95,
      datagrams,
      isTrue,
      finding:
        rates.length === 0 ? words : `A transfer with ${congestion} ran at ${rate} kB/s, ${beside}. ${words}`,
    }
  },

  report({ congestion }, { bytesPerSecond, expectedBytesPerSecond, datagrams, isTrue, network }) {
    const rates = table(
      'Rate of a long transfer, kB/s',
      ['Session', 'Measured', 'By the formula', 'Ratio'],
      bytesPerSecond.map((rate, session) => [
        `${session + 1}`,
        rate / 1000,
        expectedBytesPerSecond / 1000,
        rate / expectedBytesPerSecond,
      ]),
    )
    const planted = 100 * (network?.packets?.plantedShare ?? 0)
    const arrivals = table(
      'Datagrams, counted by sender and receiver',
      [
        'Direction',
        'Sent',
        'Received',
        'Lost, %',
        text('95 % interval'),
        'Planted, %',
        'Dropped, by the relay’s count',
      ],
      [['To the far host', datagrams.up] as const, ['Back', datagrams.down] as const].map(([way, one]) => [
        way,
        count(one.sent),
        count(one.received),
        100 * one.lostShare,
        interval([100 * one.lostShareCi95[0], 100 * one.lostShareCi95[1]]),
        planted,
        count(one.droppedByRelay),
      ]),
    )
    const sections = [
      { title: 'A long transfer', tables: [rates], paragraphs: [formulas[congestion].words] },
      { title: 'Datagrams', tables: [arrivals] },
    ]
    return { sections, tables: [rates, arrivals], isFailure: !isTrue }
  },
})

const renoWindow = (share: number) => Math.sqrt(3 / (2 * share))

/** Mean congestion windows, in segments. */
const formulas = {
  reno: {
    window: renoWindow,
    words:
      'The formula is MSS/RTT · √(3/2)/√p (M. Mathis et al., Computer Communication Review 27(3), 1997), for losses one at a time and no timeouts.',
  },
  cubic: {
    window: (share: number, seconds: number) =>
      // C = 0.4, β = 0.7.
      Math.max(renoWindow(share), ((0.4 * 3.7) / 1.2) ** 0.25 * (seconds / share) ** 0.75),
    words: 'The formula is that of RFC 9438, section 5.1: the larger of the windows of CUBIC and of Reno.',
  },
} as const

/** Bytes a second. */
function expectedRate({ up, down, loss, kilobitsPerSecond }: LossyProfile, congestion: Congestion): number {
  const seconds = (up.floorMs + up.queueMeanMs + down.floorMs + down.queueMeanMs) / 1000
  const unlimited = (segmentBytes * formulas[congestion].window(loss.share, seconds)) / seconds
  return Math.min(unlimited, kilobitsPerSecond === null ? Number.POSITIVE_INFINITY : kilobitsPerSecond * 125)
}

function totalOf({ loss }: LossyProfile, sessions: readonly Session[], way: Way) {
  const sum = (name: keyof Datagrams) =>
    sessions.reduce((total, session) => total + session.datagrams[way][name], 0)
  const sent = sum('sent')
  const received = sum('received')
  const droppedByRelay = sum('droppedByRelay')
  const lost = sent - received
  return { sent, received, lost, droppedByRelay, ...lostShareOf(lost, sent, loss) }
}

interface Peer {
  readonly process: ChildProcess
  readonly port: number
  readonly datagramPort: number
}

async function startPeer(network: PacketNetwork, opened: AsyncDisposableStack): Promise<Peer> {
  const [execPath = '', ...execArgv] = [...network.there, process.execPath, ...process.execArgv]
  const child = fork(import.meta.filename, [], { execPath, execArgv })
  opened.defer(() => void child.kill('SIGKILL'))
  const [ports] = await once(child, 'message')
  return { process: child, ...ports }
}

async function timeTransfer(host: string, port: number, ms: number, signal: AbortSignal): Promise<number> {
  const socket = connect({ host, port })
  try {
    let bytes = 0
    socket.on('data', (chunk) => {
      bytes += chunk.length
    })
    await once(socket, 'connect', { signal })
    await delay(warmUpMs, undefined, { signal })
    const bytesBefore = bytes
    const before = performance.now()
    await delay(ms, undefined, { signal })
    return (bytes - bytesBefore) / ((performance.now() - before) / 1000)
  } finally {
    socket.resetAndDestroy()
  }
}

/** Long enough for the transfer's last packets, and for datagrams. */
const settleMs = 500

async function countDatagrams(
  network: PacketNetwork,
  host: string,
  { process: peer, datagramPort }: Peer,
  number: number,
  signal: AbortSignal,
): Promise<Readonly<Record<Way, Datagrams>>> {
  const socket = createSocket('udp4')
  let received = 0
  socket.on('message', () => {
    received += 1
  })
  const ask = async (order: object) => {
    peer.send(order)
    return (await once(peer, 'message', { signal }))[0]
  }
  const overflowsBefore = await overflowsNow()
  const dropped = async (way: Way) => {
    const { packets } = packetUse(await network.figures())
    return packets ? packets[way].lost + packets[way].overflowed : 0
  }
  try {
    await delay(settleMs, undefined, { signal })
    const before = { up: await dropped('up'), down: await dropped('down') }
    await sendDatagrams(socket, number, datagramPort, host, signal)
    await delay(settleMs, undefined, { signal })
    const arrived: { received: number; from: AddressInfo | null } = await ask({})
    if (arrived.from) await ask({ send: number, to: arrived.from })
    await delay(settleMs, undefined, { signal })
    const after = { up: await dropped('up'), down: await dropped('down') }
    return {
      up: { sent: number, received: arrived.received, droppedByRelay: after.up - before.up },
      down: {
        sent: number,
        received: received + (await overflowsNow()) - overflowsBefore,
        droppedByRelay: after.down - before.down,
      },
    }
  } finally {
    socket.close()
  }
}

/** Datagrams that arrived at this host and found its buffer full. */
async function overflowsNow(): Promise<number> {
  const lines = (await readFile('/proc/self/net/snmp', 'utf8')).split('\n')
  const [names = [], values = []] = lines
    .filter((line) => line.startsWith('Udp:'))
    .map((line) => line.split(' '))
  return Number(values[names.indexOf('RcvbufErrors')])
}

const datagramsAtOnce = 10
const pauseMs = 5

/** Slow and small, so that a busy machine drops few for want of room in the receiver's buffer. */
async function sendDatagrams(
  socket: DatagramSocket,
  number: number,
  port: number,
  host: string,
  signal?: AbortSignal,
): Promise<void> {
  const content = Buffer.alloc(8)
  for (let sent = 0; sent < number; sent += datagramsAtOnce) {
    for (let index = sent; index < Math.min(number, sent + datagramsAtOnce); index += 1)
      socket.send(content, port, host)
    await delay(pauseMs, undefined, { signal })
  }
}

/** On the far host: a source of bytes, and a counter and source of datagrams. */
async function serve(): Promise<void> {
  const bytes = Buffer.alloc(64 * 1024)
  const source = createServer((socket: Socket) => {
    const fill = () => {
      while (socket.write(bytes));
    }
    socket.on('drain', fill).on('error', () => undefined)
    fill()
  }).listen(0, '0.0.0.0')
  const datagrams = createSocket('udp4')
  let received = 0
  let from: { address: string; port: number } | null = null
  datagrams.on('message', (_, sender) => {
    received += 1
    from = sender
  })
  datagrams.bind(0, '0.0.0.0')
  await Promise.all([once(source, 'listening'), once(datagrams, 'listening')])
  process.on('message', async ({ send, to }: { send?: number; to?: { address: string; port: number } }) => {
    if (send && to) await sendDatagrams(datagrams, send, to.port, to.address)
    process.send?.({ received: received + (await overflowsNow()), from })
  })
  process.once('disconnect', () => process.exit())
  process.send?.({ port: (source.address() as AddressInfo).port, datagramPort: datagrams.address().port })
}

if (import.meta.main) await serve()
