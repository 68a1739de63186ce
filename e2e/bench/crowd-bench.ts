// `crowd`: many windows at one server process, in one long turn.

import { connections, type Mode } from '../../client/wire.ts'
import type { Figures } from '../../scripts/process.ts'
import { defineExperiment } from '../lab/experiment.ts'
import { flag, whole } from '../lab/flags.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { significant } from '../lab/statistics.ts'
import { startLoadProcess } from '../load/load-process.ts'
import { figuresOf, modeFlag, overLoopback, startMode, takeTurn } from '../load/load-server.ts'
import { count, figure, megabytes, table } from '../report/section.ts'

const graceMs = 15_000
const warmupSeconds = 2

interface Run extends Circumstances {
  readonly row: CrowdRow
  readonly failures: readonly string[]
}

export const crowd = defineExperiment({
  name: 'crowd',
  about:
    'Opens many windows at one server process. Measures deliveries, latency, memory per window and processor load.',
  isBench: true,
  flags: {
    mode: modeFlag,
    windows: flag(whole(1, 50_000).default(10_000), 'N', 'windows that receive'),
    'per-browser': flag(whole(1, 1000).default(10), 'K', 'windows that share an HTTP/2 session'),
    rate: flag(whole(1, 1000).default(5), 'N', 'messages a second'),
    seconds: flag(whole(1, 600).default(30), 'N', 'measured time'),
    opening: flag(whole(1, 1000).default(200), 'N', 'simultaneous handshakes'),
    clients: flag(whole(1, 8).default(1), 'N', 'client processes'),
  },
  options({ 'per-browser': perBrowser, ...given }) {
    const options = { ...given, perBrowser }
    requireConnections(options, openFilesAllowed())
    return options
  },

  async measure(options, lab): Promise<Run> {
    const { mode, windows, perBrowser, rate, seconds, opening, clients } = options
    await using opened = new AsyncDisposableStack()
    lab.step(`starting ${mode.name}`)
    const server = await startMode(mode, options, opened)
    const loads = Array.from({ length: clients }, () => startLoadProcess(lab.signal, opened))
    const empty = await server.figures()
    const plan = {
      windows,
      perBrowser,
      rate,
      graceMs,
      openingAtOnce: opening,
      channel: 'crowd',
      warmupMessages: rate * warmupSeconds,
      messages: rate * seconds,
      settleMs: 1000 + windows * 1.2,
    }
    lab.step(`${windows} windows are opening, then ${seconds} s of ${rate} messages a second`)
    const turn = await takeTurn(server, loads, plan, lab.signal)
    const parameters = { ...options, mode: mode.name }
    return {
      ...lab.circumstances({ ...overLoopback, parameters }),
      row: crowdRow(options, empty, turn),
      failures: turn.failures,
    }
  },

  analyse: ({ row, failures, ...circumstances }) => ({
    scenario: 'crowd',
    ...circumstances,
    rows: [row],
    finding: [
      `${row.lost === 0 ? 'None' : count(row.lost)} of ${count(row.n + row.lost)} deliveries ${row.lost === 0 ? 'was' : 'were'} lost.`,
      ...[row.bottleneck, ...failures],
    ].join(' '),
  }),

  report({ row }) {
    const tables = [deliveriesTable(row), memoryTable(row)]
    const clients = `Load clients: ${row.clientCpuShares.map(percent).join(', ')} of a core; their event loops were late by ${figure(row.clientLoopDelayP99Ms)} ms (p99), ${figure(row.clientLoopDelayMaxMs)} ms at most.`
    const joined = `All windows had joined after ${(row.joinedInMs / 1000).toFixed(1)} s.`
    return {
      sections: [{ title: 'Deliveries and memory', tables, paragraphs: [clients, joined] }],
      tables,
      isFailure: row.lost > 0,
    }
  },
})

/** Hard limit of open files, which Node itself raises its limit to; infinite where unknown. */
function openFilesAllowed(): number {
  const report = process.report.getReport() as {
    userLimits?: { open_files?: { soft: unknown; hard: unknown } }
  }
  const allowed = Number(report.userLimits?.open_files?.hard)
  return Number.isFinite(allowed) ? allowed : Number.POSITIVE_INFINITY
}

/** Linux, net.ipv4.ip_local_port_range: 32768 to 60999. All connections have one destination. */
const ephemeralPorts = 28_000
/** In addition to the windows' connections. */
const spareFiles = 200

/** Throws if the limit of open files is too low, and says how to raise it. */
export function requireConnections(
  { mode, windows, perBrowser }: { mode: Mode; windows: number; perBrowser: number },
  openFiles: number,
): void {
  const needed = connections[mode.http].isShared ? Math.ceil(windows / perBrowser) : windows
  const files = needed + spareFiles
  if (files > openFiles) {
    throw new Error(
      `${windows} windows need ${files} open files in a process, but this system allows ${openFiles}: raise the limit first with \`ulimit -n ${files}\` (as root, or in /etc/security/limits.conf).`,
    )
  }
  if (needed > ephemeralPorts) {
    throw new Error(
      `${needed} connections are more than the ${ephemeralPorts} that one machine can open to one address: use fewer windows, or more per browser.`,
    )
  }
}

type CrowdRow = ReturnType<typeof crowdRow>

/** `empty`: figures before the first window. */
export function crowdRow(
  { mode, perBrowser, windows }: { mode: Mode; perBrowser: number; windows: number },
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
    p50Ms: significant(p50),
    p99Ms: significant(p99),
    maxMs: significant(max),
    cpuMicrosPerDelivery: (cpuMs * 1000) / n,
    // The server process.
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

const deliveriesTable = (row: CrowdRow) =>
  table(
    'Deliveries',
    ['Mode', 'Windows', 'n', 'Lost', 'p50, ms', 'p99, ms', 'Most, ms', 'CPU of the server for one, µs'],
    [
      [
        ...[row.mode, count(row.windows), count(row.n), count(row.lost)],
        ...[row.p50Ms, row.p99Ms, row.maxMs, row.cpuMicrosPerDelivery],
      ],
    ],
  )

function memoryTable({ rssBytes, heapBytes, rssBytesPerWindow, heapBytesPerWindow }: CrowdRow) {
  const row = (name: string, { before, joined, after }: CrowdRow['rssBytes'], perWindow: number) => [
    ...[name, megabytes(before), megabytes(joined), megabytes(after), perWindow / 1000],
  ]
  return table(
    'Memory of the server',
    ['Memory', 'Before', 'Joined', 'After', 'A window, kB'],
    [row('resident', rssBytes, rssBytesPerWindow), row('heap', heapBytes, heapBytesPerWindow)],
  )
}

const percent = (share: number) => `${(share * 100).toFixed(0)} %`
