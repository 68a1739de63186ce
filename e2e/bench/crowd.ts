// The crowd bench from options to figures: one server, its windows in load processes, one long turn.

import type { Figures } from '../../server/monitor/figures.ts'
import { startLoadProcess } from '../load/load-process.ts'
import type { Measured } from '../load/orders.ts'
import { startMode } from './contender.ts'
import type { CrowdOptions } from './crowd-options.ts'
import type { Progress } from './progress.ts'
import { requireSockets } from './sockets.ts'
import { percentile, sortedLatencies, tallied } from './tallied.ts'
import { takeTurn } from './turn.ts'

export interface CrowdRow {
  readonly mode: string
  readonly perBrowser: number
  readonly windows: number
  readonly n: number
  readonly lost: number
  readonly duplicated: number
  readonly reordered: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly cpuMicrosPerDelivery: number
  /** Of the server process: before anyone came, with all windows there, and at the end of the measurement. */
  readonly rssBytes: { readonly before: number; readonly joined: number; readonly after: number }
  readonly heapBytes: { readonly before: number; readonly joined: number; readonly after: number }
  /** What a window made the resident set and the heap grow by. */
  readonly rssBytesPerWindow: number
  readonly heapBytesPerWindow: number
  /** Processor time over time passed, 1 is a core; the server's, and of each load process. */
  readonly serverCpuShare: number
  readonly clientCpuShares: readonly number[]
  readonly clientLoopDelayP99Ms: number
  readonly clientLoopDelayMaxMs: number
  /** One sentence: who, if anyone, could not have done more. */
  readonly bottleneck: string
  readonly joinedInMs: number
}

export interface CrowdResult {
  readonly row: CrowdRow
  readonly failures: readonly string[]
}

const graceMs = 15_000
const warmupSeconds = 2

export async function crowd(
  options: CrowdOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<CrowdResult> {
  requireSockets(options)
  const { mode, windows, perBrowser, rate, seconds, opening, clients } = options
  await using opened = new AsyncDisposableStack()
  progress.say(`starting ${mode.name}`)
  const server = await startMode(mode, { windows, perBrowser, messagesPerSecond: rate })
  opened.defer(server.close)
  const loads = Array.from({ length: clients }, () => startLoadProcess(signal))
  for (const load of loads) opened.defer(load.end)
  const before = await server.figures.read()
  const plan = {
    windows,
    perBrowser,
    rate,
    warmupMessages: rate * warmupSeconds,
    messages: rate * seconds,
    openingAtOnce: opening,
    settleMs: 1000 + windows * 1.2,
    graceMs,
    channel: 'crowd',
  }
  progress.say(`${windows} windows are coming, then ${seconds} s of ${rate} messages a second`)
  const turn = await takeTurn(server, loads, plan, signal)
  progress.clear()
  const all = tallied(turn.measured, windows * plan.messages)
  return { row: rowOf(options, { empty: before, ...turn }), failures: all.failures }
}

interface Passed {
  readonly empty: Figures
  readonly before: Figures
  readonly after: Figures
  readonly joinedInMs: number
  readonly measured: readonly Measured[]
}

function rowOf({ mode, perBrowser, windows, rate, seconds }: CrowdOptions, passed: Passed): CrowdRow {
  const { empty, before, after, measured, joinedInMs } = passed
  const { failures: _, latenciesMs, ...counts } = tallied(measured, windows * rate * seconds)
  const latencies = sortedLatencies(latenciesMs)
  const cpuMs = after.cpuMs - before.cpuMs
  const serverCpuShare = cpuMs / (after.uptimeMs - before.uptimeMs)
  const clientCpuShares = measured.map((one) => one.cpuMs / one.wallMs)
  return {
    mode: mode.name,
    perBrowser,
    windows,
    ...counts,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    maxMs: percentile(latencies, 1),
    cpuMicrosPerDelivery: (cpuMs * 1000) / counts.n,
    rssBytes: { before: empty.rssBytes, joined: before.rssBytes, after: after.rssBytes },
    heapBytes: { before: empty.heapUsedBytes, joined: before.heapUsedBytes, after: after.heapUsedBytes },
    rssBytesPerWindow: (before.rssBytes - empty.rssBytes) / windows,
    heapBytesPerWindow: (before.heapUsedBytes - empty.heapUsedBytes) / windows,
    serverCpuShare,
    clientCpuShares,
    clientLoopDelayP99Ms: Math.max(...measured.map(({ loopDelayP99Ms }) => loopDelayP99Ms)),
    clientLoopDelayMaxMs: Math.max(...measured.map(({ loopDelayMaxMs }) => loopDelayMaxMs)),
    bottleneck: bottleneckOf(serverCpuShare, Math.max(...clientCpuShares)),
    joinedInMs,
  }
}

/** From this share of a core on a process is taken to be busy all the time. */
const busyShare = 0.9

export function bottleneckOf(server: number, client: number): string {
  const percent = (share: number) => `${Math.round(share * 100)} % of a core`
  const shares = `the server used ${percent(server)}, the busiest load process ${percent(client)}`
  if (server < busyShare && client < busyShare) return `Neither was saturated: ${shares}.`
  return server >= client
    ? `The server was the bottleneck: ${shares}.`
    : `The load clients were the bottleneck, so the latencies are theirs: ${shares}.`
}
