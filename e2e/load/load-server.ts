// Servers for load clients, each in its own process, and one turn of load on them.

import https from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import axios from 'axios'
import { z } from 'zod'
import { type Mode, modes } from '../../client/wire.ts'
import type { Figures } from '../../scripts/process.ts'
import { flag, wordsOnce } from '../lab/flags.ts'
import { requireMode } from '../lab/mode-names.ts'
import { readProcessorMs } from '../lab/process-recorder.ts'
import { programs } from '../lab/programs.ts'
import { makeServerFolder, startServerProcess } from '../lab/server-process.ts'
import { summarise } from '../lab/statistics.ts'
import type { Target } from './load-client.ts'
import { createSharedClock, type LoadProcess, type Measured, openAcross } from './load-process.ts'

export type LoadServer = Awaited<ReturnType<typeof startLoadServer>>

type Settings = Readonly<Record<string, string | number>>

/** The server's, as docs/settings.md has them. */
export const serverDefaults = {
  polling: { intervalMs: 150, holdMs: 300 },
  limits: { maxWindows: 2000, maxConnections: 4000, streamsPerSession: 100, messagesPerSecond: 200 },
}

/** A server with ten thousand windows may be busy. */
const answerWithinMs = 30_000

/** `client` and `http`: the load clients'. `opened` closes it. */
async function startLoadServer(
  program: string,
  args: readonly string[],
  { client, http }: Pick<Target, 'client' | 'http'>,
  opened: AsyncDisposableStack,
  stages = false,
) {
  const { pid, origin, close, errors } = await startServerProcess(program, args, { stages })
  // Keep-alive, or handshakes would be measured too.
  const httpsAgent = new https.Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  opened.defer(() => {
    httpsAgent.destroy()
    return close()
  })
  async function figures(): Promise<Figures> {
    const options = { httpsAgent, proxy: false, timeout: answerWithinMs } as const
    return (await axios.get<Figures>(`${origin['1.1']}/api/figures`, options)).data
  }
  const target: Target = {
    client,
    http,
    origin: origin[http],
    polling: serverDefaults.polling,
  }
  return {
    pid,
    origin,
    target,
    figures,
    errors,
    /**
     * Since its start. Read from outside if the system allows it: answering would cost the server
     * as much as some messages.
     */
    async cpuMs(): Promise<number> {
      const counted = await readProcessorMs(pid)
      return Number.isNaN(counted) ? (await figures()).cpuMs : counted
    },
    /** Rejects after half a minute. */
    async untilCounted(windows: number, signal: AbortSignal): Promise<void> {
      const deadline = performance.now() + countedWithinMs
      for (;;) {
        const found = (await figures()).windows
        if (found >= windows) return
        if (performance.now() > deadline)
          throw new Error(
            `The server counts only ${found} windows, ${countedWithinMs / 1000} s after they joined.`,
          )
        await pause(20, undefined, { signal })
      }
    },
  }
}

const countedWithinMs = 30_000

interface Load {
  readonly windows: number
  readonly perBrowser: number
  /** Messages per second. */
  readonly rate: number
}

/**
 * One process per mode: JIT optimisation for one must not affect another. Like `npm start`, with
 * its file log; only the limits are raised to fit the load. With `stages`, stamps message stages.
 */
export async function startMode(
  { transport, http }: Mode,
  { windows, perBrowser, rate }: Load,
  opened: AsyncDisposableStack,
  settings: Settings = {},
  stages = false,
): Promise<LoadServer> {
  const folder = await makeServerFolder('load')
  opened.defer(folder.remove)
  const { limits } = serverDefaults
  const flags = folder.flags({
    port: 0,
    'http1-port': 0,
    host: 'localhost',
    share: 'none',
    'sensor-source': 'none',
    'drain-ms': 0,
    'limits-max-windows': Math.max(limits.maxWindows, windows * 2),
    'limits-max-connections': Math.max(limits.maxConnections, windows * 2 + 100),
    'limits-streams-per-session': Math.max(limits.streamsPerSession, perBrowser * 2 + 10),
    'limits-messages-per-second': Math.max(limits.messagesPerSecond, rate * 2),
    ...settings,
  })
  return startLoadServer(programs.server, flags, { client: transport, http }, opened, stages)
}

/** A relay of `e2e/peers`: `args` for relays.ts; `clients` join it. */
export function startRelayFor(
  args: readonly string[],
  clients: Pick<Target, 'client' | 'http'>,
  opened: AsyncDisposableStack,
): Promise<LoadServer> {
  return startLoadServer(programs.relays, args, clients, opened)
}

export const overLoopback = {
  browser: 'none: load clients in their own process',
  server: 'a process per mode and relay, on this machine, over loopback',
}

export const modesFlag = (initial: string) =>
  flag(
    wordsOnce
      .transform((names) => (names.includes('all') ? modes : names.map(requireMode)))
      .prefault(initial),
    'LIST',
    'Crosswind modes, or all',
    initial,
  )

const known = modes.map(({ name }) => name)

export const modeFlag = flag(
  z
    .enum(known, `there are ${known.join(', ')}`)
    .transform(requireMode)
    .prefault('sse/2'),
  'MODE',
  'one Crosswind mode',
  'sse/2',
)

interface TurnPlan {
  readonly windows: number
  readonly perBrowser: number
  readonly rate: number
  readonly warmupMessages: number
  readonly messages: number
  readonly openingAtOnce: number
  /** Pause after the last join, so that late presence frames are not measured. */
  readonly settleMs: number
  readonly graceMs: number
  readonly channel: string
}

const clock = createSharedClock()
/** Delay of the first message, by which all orders have arrived. */
const leadMs = 50

/** Also resolves to the time until the server counted every window, ms. */
export async function takeTurn(
  server: LoadServer,
  loads: readonly LoadProcess[],
  plan: TurnPlan,
  signal: AbortSignal,
) {
  const startedAt = clock()
  const { target } = server
  const { windows, perBrowser, channel, openingAtOnce } = plan
  await openAcross(loads, { target, windows, perBrowser, channel, openingAtOnce })
  await server.untilCounted(plan.windows, signal)
  const joinedInMs = clock() - startedAt
  await pause(plan.settleMs, undefined, { signal })
  if (plan.warmupMessages > 0) await measure(loads, plan, 0, plan.warmupMessages)
  const before = await server.figures()
  const cpuBefore = await server.cpuMs()
  const measured = await measure(loads, plan, plan.warmupMessages, plan.messages)
  const cpuMs = (await server.cpuMs()) - cpuBefore
  const after = await server.figures()
  await Promise.all(loads.map((load) => load.closeWindows()))
  signal.throwIfAborted()
  return { ...tallied(measured, plan.windows * plan.messages), cpuMs, before, after, measured, joinedInMs }
}

/** Latencies are unordered. `expected`: windows times messages. */
export function tallied(measured: readonly Measured[], expected: number) {
  const sumOf = (figure: 'received' | 'duplicated' | 'reordered') =>
    measured.reduce((total, one) => total + one[figure], 0)
  const n = sumOf('received')
  return {
    n,
    lost: expected - n,
    duplicated: sumOf('duplicated'),
    reordered: sumOf('reordered'),
    latenciesMs: measured.flatMap(({ latenciesMs }) => Array.from(latenciesMs)),
    failures: measured.flatMap(({ failureWords }) => failureWords),
  }
}

/** NaN without values. */
export function figuresOf(values: readonly number[]) {
  return summarise(values.length === 0 ? [Number.NaN] : values)
}

function measure(
  loads: readonly LoadProcess[],
  { rate, graceMs }: TurnPlan,
  first: number,
  count: number,
): Promise<Measured[]> {
  const measuring = { first, count, startAt: clock() + leadMs, intervalMs: 1000 / rate, graceMs }
  return Promise.all(loads.map((load) => load.measure(measuring)))
}
