// `bench crowd`: many windows at one server process, in one long turn.

import { z } from 'zod'
import type { Figures } from '../../server/process.ts'
import { connections, type Mode, modeNamed, modes } from '../../server/wire/modes.ts'
import { readFlags, whole } from '../lab/flags.ts'
import { textTable } from '../lab/terminal-output.ts'
import { startLoadProcess } from '../load/load-process.ts'
import { count, figure, megabytes } from '../report/section.ts'
import { startMode } from './bench-server.ts'
import { figuresOf, takeTurn } from './bench-turn.ts'

const schema = z.object({
  mode: z.string().default('sse/2'),
  windows: whole(1, 50_000).default(10_000),
  'per-browser': whole(1, 1000).default(10),
  rate: whole(1, 1000).default(5),
  seconds: whole(1, 600).default(30),
  opening: whole(1, 1000).default(200),
  clients: whole(1, 8).default(1),
  json: z.string().min(1).optional(),
})

const help = `npm run bench -- crowd [flags]

  Opens many windows at one server process. Measures deliveries, latency, memory per window and processor load.

  --mode MODE      one mode of Crosswind                sse/2
  --windows N      windows that receive                 10000
  --per-browser K  windows that share an HTTP/2 session 10
  --rate N         messages a second                    5
  --seconds N      measured time                        30
  --opening N      handshakes at the same time          200
  --clients N      client processes                     1
  --json FILE      also writes the figures to a file
`

type CrowdOptions = ReturnType<typeof readCrowdOptions>

/** Throws if the open-file limit is too low, and says how to raise it. */
export function readCrowdOptions(argv: readonly string[], openFiles = openFilesAllowed()) {
  const { mode: name, 'per-browser': perBrowser, ...rest } = readFlags(schema, argv)
  const mode = modeNamed(name)
  if (!mode) throw new Error(`--mode is "${name}"; there are ${modes.map((known) => known.name).join(', ')}.`)
  const options = { ...rest, mode, perBrowser }
  requireConnections(options, openFiles)
  return options
}

/** Hard limit of open files, which Node adopts itself; infinite where unknown. */
function openFilesAllowed(): number {
  const report = process.report.getReport() as {
    userLimits?: { open_files?: { soft: unknown; hard: unknown } }
  }
  const allowed = Number(report.userLimits?.open_files?.hard)
  return Number.isFinite(allowed) ? allowed : Number.POSITIVE_INFINITY
}

/** Linux, net.ipv4.ip_local_port_range: 32768 to 60999. All connections have one destination. */
const ephemeralPorts = 28_000
/** Besides the windows' connections. */
const spareFiles = 200

function requireConnections(
  { mode, windows, perBrowser }: { mode: Mode; windows: number; perBrowser: number },
  openFiles: number,
): void {
  const needed = connections[mode.http].isShared ? Math.ceil(windows / perBrowser) : windows
  const files = needed + spareFiles
  if (files > openFiles) {
    throw new Error(
      `${windows} windows take ${files} open files in a process and this system allows ${openFiles}: raise it first with \`ulimit -n ${files}\` (as root, or in /etc/security/limits.conf).`,
    )
  }
  if (needed > ephemeralPorts) {
    throw new Error(
      `${needed} connections are more than the ${ephemeralPorts} that one machine has to one address: take fewer windows, or more to a browser.`,
    )
  }
}

const graceMs = 15_000
const warmupSeconds = 2

export const crowdBench = {
  help,
  async run(argv: readonly string[], onStep: (step: string) => void, signal: AbortSignal) {
    const options = readCrowdOptions(argv)
    const { mode, windows, perBrowser, rate, seconds, opening, clients, json } = options
    await using opened = new AsyncDisposableStack()
    onStep(`starting ${mode.name}`)
    const server = await startMode(mode, options)
    opened.defer(server.close)
    const loads = Array.from({ length: clients }, () => startLoadProcess(signal))
    for (const load of loads) opened.defer(load.end)
    const empty = await server.figures()
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
    onStep(`${windows} windows are coming, then ${seconds} s of ${rate} messages a second`)
    const turn = await takeTurn(server, loads, plan, signal)
    const row = crowdRow(options, empty, turn)
    return { text: crowdText(row), failures: turn.failures, rows: [row], isComplete: row.lost === 0, json }
  },
}

type CrowdRow = ReturnType<typeof crowdRow>

/** `empty`: before the first window. */
export function crowdRow(
  { mode, perBrowser, windows }: Pick<CrowdOptions, 'mode' | 'perBrowser' | 'windows'>,
  empty: Figures,
  { n, lost, duplicated, reordered, latenciesMs, cpuMs, before, after, measured, joinedInMs }: Turn,
) {
  const { p50, p99, max } = figuresOf(latenciesMs)
  /** Bytes before the first window, with all joined, and after the measurement. */
  const memory = (figure: 'rssBytes' | 'heapUsedBytes') => ({
    before: empty[figure],
    joined: before[figure],
    after: after[figure],
  })
  const perWindow = (figure: 'rssBytes' | 'heapUsedBytes') => (before[figure] - empty[figure]) / windows
  const serverCpuShare = cpuMs / (after.uptimeMs - before.uptimeMs)
  const clientCpuShares = measured.map((one) => one.cpuMs / one.wallMs)
  return {
    mode: mode.name,
    perBrowser,
    windows,
    n,
    lost,
    duplicated,
    reordered,
    p50Ms: p50,
    p99Ms: p99,
    maxMs: max,
    cpuMicrosPerDelivery: (cpuMs * 1000) / n,
    // Of the server process.
    rssBytes: memory('rssBytes'),
    heapBytes: memory('heapUsedBytes'),
    // While windows joined.
    rssBytesPerWindow: perWindow('rssBytes'),
    heapBytesPerWindow: perWindow('heapUsedBytes'),
    // CPU time over wall time; 1 is one core.
    serverCpuShare,
    clientCpuShares,
    clientLoopDelayP99Ms: Math.max(...measured.map(({ loopDelayP99Ms }) => loopDelayP99Ms)),
    clientLoopDelayMaxMs: Math.max(...measured.map(({ loopDelayMaxMs }) => loopDelayMaxMs)),
    bottleneck: bottleneckOf(serverCpuShare, Math.max(...clientCpuShares)),
    joinedInMs,
  }
}

type Turn = Awaited<ReturnType<typeof takeTurn>>

/** Share of a core above which a process counts as saturated. */
const busyShare = 0.9

function bottleneckOf(server: number, client: number): string {
  const shares = `the server used ${percent(server)} of a core, the busiest load process ${percent(client)} of a core`
  if (server < busyShare && client < busyShare) return `Neither was saturated: ${shares}.`
  return server >= client
    ? `The server was the bottleneck: ${shares}.`
    : `The load clients were the bottleneck, so the latencies are theirs: ${shares}.`
}

function crowdText(row: CrowdRow): string {
  const counts = textTable<CrowdRow>(
    [
      ['mode', ({ mode }) => mode],
      ['windows', ({ windows }) => count(windows)],
      ['n', ({ n }) => count(n)],
      ['lost', ({ lost }) => count(lost)],
      ['p50 ms', ({ p50Ms }) => figure(p50Ms)],
      ['p99 ms', ({ p99Ms }) => figure(p99Ms)],
      ['max ms', ({ maxMs }) => figure(maxMs)],
      ['CPU µs', ({ cpuMicrosPerDelivery }) => figure(cpuMicrosPerDelivery)],
    ],
    [row],
  )
  const memory = (name: string, { before, joined, after }: CrowdRow['rssBytes'], perWindow: number) =>
    `Server memory, ${name}: ${[before, joined, after].map(megabytes).join(', ')} before, joined and after; ${figure(perWindow / 1000)} kB a window.`
  const clients = `Load clients: ${row.clientCpuShares.map(percent).join(', ')} of a core; their event loops were late by ${figure(row.clientLoopDelayP99Ms)} ms (p99), ${figure(row.clientLoopDelayMaxMs)} ms at most.`
  const sentences = [
    memory('resident', row.rssBytes, row.rssBytesPerWindow),
    memory('heap', row.heapBytes, row.heapBytesPerWindow),
    row.bottleneck,
    clients,
    `All windows were there after ${(row.joinedInMs / 1000).toFixed(1)} s.`,
  ]
  return `${counts}\n\n${sentences.map((sentence) => `  ${sentence}`).join('\n')}`
}

const percent = (share: number) => `${(share * 100).toFixed(0)} %`
