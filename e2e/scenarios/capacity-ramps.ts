// The ramps of a capacity run, and how one is measured with its own server and load processes.

import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { connections, type HttpVersion } from '../../client/wire.ts'
import { flag, names, numbers, whole, wordsOnce } from '../lab/flags.ts'
import { labelOf, requireMode } from '../lab/mode-names.ts'
import { type ProcessRecord, ProcessRecorder, pin } from '../lab/process-recorder.ts'
import { programs } from '../lab/programs.ts'
import { startServerProcess } from '../lab/server-process.ts'
import { quantile } from '../lab/statistics.ts'
import { openBrowser } from '../load/lean-http.ts'
import { type AnsweringPeer, answeringPeers, type Target } from '../load/load-client.ts'
import { createSharedClock, type LoadProcess, startLoadProcess } from '../load/load-process.ts'
import { serverDefaults, startMode } from '../load/load-server.ts'
import { type RampSecond, type RampTally, rampMs } from '../load/ramp.ts'
import { peerLabel } from '../peers/peers.ts'
import { count, several, sizeOf } from '../report/section.ts'

const experimentNames = [
  'clients',
  'comparison',
  'switching',
  'workers',
  'period',
  'connections',
  'size',
  'most',
] as const

export type ExperimentName = (typeof experimentNames)[number]

export const rampFlags = {
  experiments: flag(
    names(experimentNames).default([...experimentNames]),
    'LIST',
    experimentNames.join(', '),
    'all',
  ),
  modes: flag(
    wordsOnce.default(['websocket/1.1', 'sse/2']),
    'LIST',
    'Crosswind modes; the first is also used by the other experiments',
  ),
  peers: flag(
    names(answeringPeers).default([...answeringPeers]),
    'LIST',
    `${answeringPeers.join(', ')}; or nothing ("")`,
    'all',
  ),
  workers: flag(numbers('1,2,3', 1, 64), 'LIST', 'workers to compare, with four times the windows'),
  clients: flag(whole(1, 64).default(2), 'N', 'load processes'),
  rate: flag(whole(1, 5000).default(40), 'N', 'windows that open each second'),
  seconds: flag(whole(2, 3600).default(20), 'N', 'duration of a ramp'),
  hold: flag(whole(1, 3600).default(8), 'N', 'seconds after the ramp, with all windows open'),
  period: flag(
    z.coerce.number().min(0.1).max(600).default(2.5),
    'S',
    'mean time between a window’s pings; period, connections and size use 1.6 and 1.2 times this',
  ),
  file: flag(
    numbers('1000,500000', 1, 1_000_000),
    'LIST',
    'size of an answer in bytes, in the experiment size',
  ),
  'per-browser': flag(
    numbers('1,10', 1, 1000),
    'LIST',
    'windows that share an HTTP/2 session, in the experiment comparison',
  ),
  'per-page': flag(whole(1, 100_000).default(100), 'N', 'windows that share a page'),
  connections: flag(
    whole(0, 1_000_000).default(25_000),
    'N',
    'windows of the experiment most, over the first mode whose windows share no connection; 0 for none',
  ),
  windows: flag(
    whole(0, 1_000_000).default(100_000),
    'N',
    'windows of the experiment most, over the first HTTP/2 mode, ten to a session; 0 for none',
  ),
  'most-limit': flag(
    whole(0, 1_000_000).default(0),
    'N',
    'goes on in the experiment most, over the first of these modes, with half as many windows more each time, until something fails or there would be more than N; 0 for one ramp',
  ),
  'most-rate': flag(
    whole(1, 5000).default(250),
    'N',
    'windows that open each second in the experiment most; four times as many over HTTP/2',
  ),
  'most-hold': flag(whole(1, 3600).default(30), 'N', 'seconds after it'),
}

type RampOptions = z.output<z.ZodObject<typeof rampFlags>>

/** One row of the experiments' table. */
export interface RampSetup {
  readonly experiment: ExperimentName
  /** A Crosswind mode or a peer. */
  readonly subject: string
  readonly workers: number
  readonly clients: number
  readonly windows: number
  readonly windowsPerSecond: number
  readonly holdSeconds: number
  readonly meanPeriodMs: number
  readonly perBrowser: number
  readonly perPage: number
  /** Size of an answer; 0 for the smallest possible. */
  readonly fileBytes: number
  /** The server's, and the clients'; null for all. */
  readonly serverCores: string | null
  readonly clientCores: string | null
}

export const isPeerSubject = (subject: string): subject is AnsweringPeer =>
  answeringPeers.some((peer) => peer === subject)

const atOnce = '-websocket'

/** `Engine.IO, WebSocket at once` of `engine.io-websocket`. */
export function subjectLabel(subject: string): string {
  if (!isPeerSubject(subject)) return labelOf(subject)
  return subject.endsWith(atOnce) ? `${peerLabel(serverOf(subject))}, WebSocket at once` : peerLabel(subject)
}

/** Peers that differ only in their clients share a server. */
const serverOf = (peer: AnsweringPeer) => peer.replace(atOnce, '')

const httpOf = (subject: string): HttpVersion => (isPeerSubject(subject) ? '1.1' : requireMode(subject).http)

/**
 * Peers that run in several processes unchanged: polling needs sticky connections, SocketCluster 20
 * its own broker.
 */
const clusteredPeers: ReadonlySet<string> = new Set(['ws', 'engine.io-websocket'])

/** Its periods relative to the 2.5 s of most of its experiments: 4 s and 3 s. */
const thesis = { referencePeriod: 1.6, shorterPeriod: 1.2, moreClients: 1.5, maxPeriodMs: 6000 }

/**
 * For `workers`: at the thesis's rates a worker is idle nine tenths of the time, and code
 * compilation in each process weighs more.
 */
const manyTimes = 4

/**
 * For `most`, over HTTP/2: a window that pings as often as a WebSocket would take both cores for
 * requests alone.
 */
const sharedPeriodMs = 60_000
const sharedPerBrowser = 10

/** Describes the settings that distinguish a ramp from the others in its experiment. */
export function variantOf({ experiment, subject, workers, clients, windows, ...others }: RampSetup): string {
  const { meanPeriodMs, perBrowser, fileBytes } = others
  const label = subjectLabel(subject)
  const variants: Readonly<Record<ExperimentName, string>> = {
    clients: several(clients, 'load process', 'load processes'),
    comparison: perBrowser > 1 ? `${label}, ${perBrowser} to a session` : label,
    switching: `${several(workers === 1 ? 1 : workers + 1, 'process', 'processes')} on one core`,
    workers: `${label}, ${several(workers, 'worker')}`,
    period: `mean period ${meanPeriodMs / 1000} s`,
    connections: `${count(windows)} windows`,
    size: `${label}, ${sizeOf(fileBytes)}`,
    most: `${label}, ${count(windows)} windows`,
  }
  return variants[experiment]
}

/** Every ramp of one session, by experiment. */
export function rampsOf(options: RampOptions): RampSetup[] {
  const {
    modes,
    peers,
    workers,
    rate,
    seconds,
    hold,
    period,
    file,
    clients,
    connections: most,
    windows,
  } = options
  const [mode] = modes
  if (mode === undefined) return []
  const base = {
    subject: mode,
    workers: 1,
    clients,
    perBrowser: 1,
    perPage: options['per-page'],
    fileBytes: 0,
    windows: rate * seconds,
    windowsPerSecond: rate,
    holdSeconds: hold,
    meanPeriodMs: period * 1000,
    serverCores: null,
    clientCores: null,
  } as const
  const reference = { ...base, meanPeriodMs: thesis.referencePeriod * period * 1000 }
  const isShared = (subject: string) => connections[httpOf(subject)].isShared
  const fileSubjects = [mode, ...peers.filter((peer) => peer === 'engine.io' || peer === 'socketcluster')]
  const maxRate = options['most-rate']
  const maxHold = options['most-hold']
  const experiments: Readonly<Record<ExperimentName, () => readonly Omit<RampSetup, 'experiment'>[]>> = {
    clients: () => [
      { ...base, clients: 1, windows: base.windows / 2, windowsPerSecond: rate / 2 },
      { ...base, clients: 2 },
    ],
    comparison: () =>
      [...modes, ...peers].flatMap((subject) =>
        (isShared(subject) ? options['per-browser'] : [1]).map((perBrowser) => ({
          ...base,
          subject,
          perBrowser,
        })),
      ),
    switching: () => [1, 3].map((count) => ({ ...base, workers: count, serverCores: '0', clientCores: '1' })),
    workers: () =>
      [mode, ...peers.filter((peer) => clusteredPeers.has(peer))].flatMap((subject) =>
        workers.map((count) => ({
          ...base,
          subject,
          workers: count,
          windows: base.windows * manyTimes,
          windowsPerSecond: rate * manyTimes,
        })),
      ),
    period: () => [reference, { ...reference, meanPeriodMs: thesis.shorterPeriod * period * 1000 }],
    connections: () => [
      reference,
      {
        ...reference,
        windows: reference.windows * thesis.moreClients,
        windowsPerSecond: rate * thesis.moreClients,
      },
    ],
    size: () =>
      fileSubjects.flatMap((subject) =>
        file.map((fileBytes) => ({
          ...reference,
          // Half a megabyte to as many windows as elsewhere is more than one machine can encrypt
          // and decrypt.
          windows: base.windows / 4,
          windowsPerSecond: rate / 4,
          subject,
          fileBytes,
        })),
      ),
    most: () => [
      ...modes
        .filter((name) => !isShared(name) && most > 0)
        .slice(0, 1)
        .map((subject) => ({
          ...base,
          subject,
          workers: 2,
          windows: most,
          windowsPerSecond: maxRate,
          holdSeconds: maxHold,
          meanPeriodMs: thesis.maxPeriodMs,
        })),
      ...modes
        .filter((name) => isShared(name) && windows > 0)
        .slice(0, 1)
        .map((subject) => ({
          ...base,
          subject,
          workers: 2,
          windows,
          windowsPerSecond: maxRate * 4,
          holdSeconds: maxHold,
          meanPeriodMs: sharedPeriodMs,
          perBrowser: sharedPerBrowser,
        })),
    ],
  }
  return options.experiments.flatMap((experiment) =>
    experiments[experiment]().map((setup) => ({
      ...setup,
      experiment,
      windows: Math.round(setup.windows),
    })),
  )
}

/**
 * The next ramp after one that lost nothing, 1.5 times as large, to find the maximum. Null
 * if the experiment or its limit allows no more.
 */
export function nextOf(setup: RampSetup, { 'most-limit': most }: RampOptions): RampSetup | null {
  const windows = Math.round(1.5 * setup.windows)
  return setup.experiment === 'most' && setup.perBrowser === 1 && windows <= most
    ? { ...setup, windows }
    : null
}

export const lostNothing = ({ counts: { failed, dropped, missing } }: Pick<RampRecord, 'counts'>) =>
  failed + dropped + missing === 0

/** A ramp's results: the load processes' counts combined, times as quantiles. */
export interface RampRecord extends RampSetup {
  readonly session: number
  /** Within the session, from 1. */
  readonly turn: number
  readonly counts: Readonly<Record<(typeof countNames)[number], number>>
  readonly reasons: Readonly<Record<string, number>>
  readonly roundTripMs: Quantiles
  readonly openedAfterMs: Quantiles
  readonly openingLatenessMs: Quantiles
  readonly pingLatenessMs: Quantiles
  /** The longest of the load processes'. */
  readonly loopDelayP99Ms: number
  readonly receivedBytes: number
  readonly seconds: readonly (RampSecond & { readonly roundTripP50Ms: number | null })[]
  /** When the ramp's CPU was last read, from its start. */
  readonly endMs: number
  readonly server: readonly RampProcess[]
  readonly load: readonly RampProcess[]
  /** Tail of the server's standard error. */
  readonly serverErrors: string
}

export interface RampProcess extends Pick<ProcessRecord, 'name' | 'samples'> {
  /** At the end; null if unknown. */
  readonly pssBytes: number | null
}

const countNames = ['opened', 'failed', 'dropped', 'due', 'sent', 'answered', 'missing', 'repeated'] as const

/** Null without values. */
type Quantiles = ReturnType<typeof quantilesOf>

const quantilesOf = (values: Float64Array) => {
  const sorted = values.toSorted() as unknown as readonly number[]
  const at = (probability: number) => (sorted.length === 0 ? null : quantile(sorted, probability))
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

const clock = createSharedClock()
/** Until the first window is due: all orders arrive earlier. */
const leadMs = 400
const patienceMs = 10_000

interface RampPlace {
  readonly session: number
  readonly turn: number
  readonly seed: number
}

/** Rejects if a process cannot be started, or does not answer. */
export async function measureRamp(
  setup: RampSetup,
  { session, turn, seed }: RampPlace,
  signal: AbortSignal,
): Promise<RampRecord> {
  await using opened = new AsyncDisposableStack()
  const { target, pid, errors } = await startSubject(setup, opened)
  signal.throwIfAborted()
  const loads = Array.from({ length: setup.clients }, () => startLoadProcess(signal, opened))
  // Each is ready once it has answered an order.
  await Promise.all(loads.map((load) => load.closeWindows()))
  await pinAll(setup, pid, loads)

  const { windows, windowsPerSecond, perBrowser, perPage, meanPeriodMs, holdSeconds } = setup
  const startAt = clock() + leadMs
  const plan = {
    target,
    windows,
    windowsPerSecond,
    perBrowser,
    perPage,
    meanPeriodMs,
    seed,
    startAt,
    patienceMs,
    holdMs: holdSeconds * 1000,
  }
  const climbing = Promise.all(
    loads.map((load, place) => load.ramp({ ...plan, share: { place, of: loads.length } })),
  )
  // Awaited below; until then its failure must not be an unhandled rejection.
  climbing.catch(() => undefined)
  await delay(Math.max(0, startAt - clock()), undefined, { signal })
  const recorder = recorderOf(setup, pid, loads)
  await recorder.start()
  await Promise.race([
    delay(Math.max(0, startAt + rampMs(plan) + plan.holdMs - clock()), undefined, { signal }),
    // Only a failure settles earlier.
    climbing,
  ])
  await recorder.sample()
  const endMs = clock() - startAt
  const shared = await recorder.proportionalBytes()
  const tallies = await climbing
  const records = (await recorder.stop()).map(({ name, samples }) => ({
    name,
    samples: samples.filter(({ atMs }) => atMs <= endMs),
    pssBytes: shared.get(name) ?? null,
  }))
  const isLoad = ({ name }: { readonly name: string }) => name.startsWith('clients')
  return {
    ...setup,
    session,
    turn,
    endMs,
    ...joined(tallies),
    loopDelayP99Ms: Math.max(...tallies.map(({ loopDelayP99Ms }) => loopDelayP99Ms)),
    receivedBytes: tallies.reduce((sum, tally) => sum + tally.receivedBytes, 0),
    server: records.filter((one) => !isLoad(one)),
    load: records.filter(isLoad),
    serverErrors: errors(),
  }
}

function recorderOf({ workers }: RampSetup, pid: number, loads: readonly LoadProcess[]): ProcessRecorder {
  const first = {
    name: workers > 1 ? 'log' : 'server',
    pid,
    nameOfChild: (place: number) => `worker ${place}`,
  }
  return new ProcessRecorder(
    [first, ...loads.map((load, place) => ({ name: `clients ${place + 1}`, pid: load.pid }))],
    clock,
  )
}

async function pinAll(setup: RampSetup, pid: number, loads: readonly LoadProcess[]): Promise<void> {
  const { serverCores, clientCores } = setup
  if (serverCores === null && clientCores === null) return
  const recorder = recorderOf(setup, pid, loads)
  await recorder.sample()
  const loadPids = new Set(loads.map((load) => load.pid))
  for (const one of recorder.pids()) {
    const cores = loadPids.has(one) ? clientCores : serverCores
    if (cores !== null) await pin(one, cores)
  }
}

/** Combines the tallies of several processes with the same plan. */
export function joined(tallies: readonly RampTally[]) {
  const total = (what: (typeof countNames)[number]) => tallies.reduce((sum, tally) => sum + tally[what], 0)
  const all = (what: 'roundTripsMs' | 'openedAfterMs' | 'openingLatenessMs' | 'pingLatenessMs') =>
    Float64Array.from(tallies.flatMap((tally) => [...tally[what]]))
  const reasons: Record<string, number> = {}
  for (const tally of tallies)
    for (const [why, times] of Object.entries(tally.reasons)) reasons[why] = (reasons[why] ?? 0) + times
  const length = Math.max(...tallies.map(({ seconds }) => seconds.length))
  const bySecond: number[][] = Array.from({ length }, () => [])
  for (const { roundTripsMs, roundTripSeconds } of tallies)
    roundTripsMs.forEach((ms, place) => {
      bySecond[roundTripSeconds[place] ?? 0]?.push(ms)
    })
  const seconds = Array.from({ length }, (_, place) => {
    const sum = (what: keyof RampSecond) =>
      tallies.reduce((added, tally) => added + (tally.seconds[place]?.[what] ?? 0), 0)
    return {
      open: sum('open'),
      opened: sum('opened'),
      failed: sum('failed'),
      dropped: sum('dropped'),
      sent: sum('sent'),
      answered: sum('answered'),
      roundTripP50Ms: quantilesOf(Float64Array.from(bySecond[place] ?? [])).p50,
    }
  })
  return {
    counts: Object.fromEntries(countNames.map((name) => [name, total(name)])) as RampRecord['counts'],
    reasons,
    roundTripMs: quantilesOf(all('roundTripsMs')),
    openedAfterMs: quantilesOf(all('openedAfterMs')),
    openingLatenessMs: quantilesOf(all('openingLatenessMs')),
    pingLatenessMs: quantilesOf(all('pingLatenessMs')),
    seconds,
  }
}

const fileChannel = 'ramp-file'

async function startSubject(setup: RampSetup, opened: AsyncDisposableStack) {
  const { subject, workers, fileBytes, windows, perBrowser } = setup
  if (isPeerSubject(subject)) {
    const server = await startServerProcess(programs.pongServers, [
      serverOf(subject),
      String(fileBytes),
      String(workers),
    ])
    opened.defer(server.kill)
    const place = { http: '1.1', origin: server.origin['1.1'] } as const
    const target: Target = { client: subject, ...place, polling: serverDefaults.polling }
    return { target, pid: server.pid, errors: server.errors }
  }
  const { limits } = serverDefaults
  const server = await startMode(requireMode(subject), { windows, perBrowser, rate: 1 }, opened, {
    workers,
    'limits-max-windows': Math.min(100_000, Math.max(limits.maxWindows, windows * 2)),
    // With a WebSocket, a file is requested over a second connection.
    'limits-max-connections': Math.min(200_000, Math.max(limits.maxConnections, windows * 2 + 100)),
    'limits-streams-per-session': Math.max(limits.streamsPerSession, perBrowser * 3),
  })
  if (fileBytes > 0) await storeFile(server.origin['2'], fileBytes)
  const target: Target = { ...server.target, fileChannel: fileBytes > 0 ? fileChannel : null }
  return { target, pid: server.pid, errors: server.errors }
}

/** A document of that size, as one message: what a newly opened page would read. */
async function storeFile(origin: string, bytes: number): Promise<void> {
  const browser = await openBrowser(origin, '2')
  try {
    const path = `/api/documents/${fileChannel}?id=lab-1&from=lab`
    // In base64, three bytes are four.
    const content = 'x'.repeat((bytes * 3) / 4)
    const { status, body } = await browser.post(path, 'text/plain; charset=utf-8', content)
    if (status !== 200) throw new Error(`The file of ${bytes} bytes was not stored: ${status} ${body}`)
  } finally {
    browser.close()
  }
}
