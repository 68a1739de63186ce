// Named faults, one after the other, each on fresh servers: how windows learn what is missing.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { jetstreamManager, type StreamAPI } from '@nats-io/jetstream'
import { z } from 'zod'
import { backup, restore } from '../../server/backup.ts'
import { mountSmallDisk } from '../../server/log/log-testing.ts'
import type { TestNats } from '../../server/log/nats-testing.ts'
import type { OutputCode } from '../../server/output.ts'
import { createSeededRandom, type Random } from '../../server/wire/time.ts'
import { defineExperiment } from '../lab/experiment.ts'
import { file, flag, seed, whole, wordsOnce } from '../lab/flags.ts'
import { requireMode } from '../lab/mode-names.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { makeServerFolder, serverProgram } from '../lab/server-process.ts'
import { unfinishedName } from '../report/render.ts'
import { count, nothing, seconds, type Table, table, text } from '../report/section.ts'
import type { Stretch } from '../windows/cutting-proxy.ts'
import {
  channelOf,
  type FleetWindow,
  isSettled,
  openFleet,
  requireWindowForEach,
  startWriting,
  timeUntil,
  untilOpen,
} from './resilience-fleet.ts'
import { RestartingServer, readLog, type ServerUnderTest, startCluster } from './resilience-server.ts'
import { acceptedOf, accountFor, accountsOf, type Seen, type WindowRecord } from './resilience-summary.ts'

/** Faults by name, each for one kind of log. */
export const faultNames = {
  sqlite: ['copy-restored', 'wal-missing', 'wal-damaged', 'database-damaged', 'disk-full'],
  nats: [
    ...(['stream-deleted', 'stream-purged', 'stream-full', 'stream-recreated'] as const),
    ...(['node-cut', 'node-frozen', 'broker-frozen', 'all-started-at-once', 'rolling-restart'] as const),
  ],
} as const

type LogName = keyof typeof faultNames
export type FaultName = (typeof faultNames)[LogName][number]

const allFaults: readonly FaultName[] = Object.values(faultNames).flat()

/** Flags of these only; the others are the scenario's. */
export const trialFlags = {
  faults: flag(
    wordsOnce
      .transform((names) => (names.join() === 'all' ? allFaults : names))
      .pipe(z.array(z.enum(allFaults, `must be all, or among ${allFaults.join(', ')}`)))
      .optional(),
    'LIST',
    `${allFaults.join(', ')}; or all`,
  ),
  schedules: flag(whole(1, 1000).optional(), 'N', 'random schedules instead of single faults'),
  resume: flag(file, 'DIR', 'continues a stopped run of these; its other flags are in the folder'),
}

interface TrialRun extends Circumstances {
  readonly trials: readonly TrialRow[]
  readonly seed: number
}

export const namedFaults = defineExperiment({
  name: 'resilience',
  about: 'Named faults, one after the other, each on fresh servers; or schedules of two to four of them.',
  flags: {
    ...trialFlags,
    modes: flag(
      wordsOnce.default(['sse/2', 'websocket/1.1', 'streaming/2', 'long-polling/2']),
      'LIST',
      'modes',
    ),
    windows: flag(whole(1, 500).default(12), 'N', 'windows in total; 60 for rolling-restart alone'),
    rate: flag(whole(1, 50).default(3), 'N', 'messages a second from each of two writers in each mode'),
    seed,
  },
  options({ faults = [], ...given }, argv): TrialOptions {
    const names = argv.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*/s, ''))
    const other = names.find((name) => name !== '--resume')
    if (given.resume !== undefined && other !== undefined)
      throw new Error(`--resume takes everything from ${given.resume}: leave out ${other}.`)
    if (faults.length > 0 && given.schedules !== undefined)
      throw new Error('--schedules draws its faults: leave out --faults.')
    requireWindowForEach(given)
    return { faults, ...given }
  },
  resumed: ({ resume }) => resume,

  /** With `resume`, trials already in the folder are not repeated. */
  async measure(given, lab): Promise<TrialRun> {
    const folder = lab.folder ?? ''
    const results = join(unfinishedName(folder), 'trials.jsonl')
    const { startedAt, command: seeded } = lab.circumstances(circumstancesOf(given))
    const { options, rows } =
      given.resume === undefined
        ? { options: { ...given, command: seeded }, rows: [] as TrialRow[] }
        : await readResults(results)
    const { command } = options
    const append = (line: object) => appendFile(results, `${JSON.stringify(line)}\n`)
    if (given.resume === undefined) {
      await mkdir(unfinishedName(folder), { recursive: true })
      await append(options)
    }
    const trials = planTrials(options)
    const left = trials.filter(({ name }) => !rows.some((row) => row.name === name))
    lab.say(`${left.length} of ${trials.length} trials, seed ${options.seed}. If it is stopped:`)
    lab.say(`npm run lab -- resilience --resume ${folder}`)
    for (const trial of left) {
      lab.step(`${trial.name}: ${trial.faults.join(', ')}`)
      const row = await goThrough(trial, options, lab.signal)
      await append(row)
      rows.push(row)
      lab.say(`${seconds(row.lastedMs).padStart(7)}  ${trial.name.padEnd(20)} ${verdictOf(row)}`)
    }
    const ended = lab.circumstances(circumstancesOf(options))
    return { ...ended, startedAt, command, trials: rows, seed: options.seed }
  },

  analyse({ seed: _, ...run }) {
    const { trials: rows } = run
    const failed = rows.filter(({ failures }) => failures.length > 0)
    const untried = rows.filter((row) => row.untried !== null)
    const words = [
      `${rows.length - failed.length - untried.length} of ${rows.length} trials held`,
      failed.length > 0 && `not held: ${failed.map(({ name }) => name).join(', ')}`,
      untried.length > 0 &&
        `not tried: ${untried.map(({ name, untried: why }) => `${name} (${why})`).join(', ')}`,
    ]
    return { scenario: 'resilience', ...run, finding: `${words.filter(Boolean).join('; ')}.` }
  },

  report: ({ seed }, { trials }) => ({
    title: 'resilience, named faults',
    subtitle: `, seed ${seed}`,
    sections: [
      {
        title: 'Missing messages, and who was told',
        tables: [trialTable(trials)],
        paragraphs: trials.flatMap(({ name, failures, traces }) =>
          failures.length === 0 ? [] : [`${name}: ${[...failures, ...traces.slice(0, 10)].join(' ')}`],
        ),
      },
      { title: 'What the server said', tables: [saidTable(trials)] },
    ],
    method: [
      'Told is what was acknowledged and is missing in a window that got a snapshot in its place (recovered: false), or is missing in the log after a line of the server that names the loss. An outage includes the fault itself.',
    ],
    tables: [trialTable(trials)],
    isFailure: trials.some(({ failures }) => failures.length > 0),
  }),
})

interface TrialOptions {
  readonly faults: readonly FaultName[]
  readonly schedules?: number | undefined
  readonly resume?: string | undefined
  readonly modes: readonly string[]
  readonly windows: number
  readonly rate: number
  readonly seed: number
}

const circumstancesOf = ({ rate, seed, modes }: Pick<TrialOptions, 'rate' | 'seed' | 'modes'>) => ({
  browser: 'none: windows without a browser',
  server: 'one process with its log in SQLite, or three over one NATS stream, on this machine',
  parameters: { rate, seed, modes: modes.join(', ') },
  seed,
})

interface Trial {
  readonly name: string
  readonly log: LogName
  readonly faults: readonly FaultName[]
  readonly seed: number
  readonly windows: number
}

const logOf = (fault: FaultName): LogName =>
  (faultNames.sqlite as readonly FaultName[]).includes(fault) ? 'sqlite' : 'nats'

/**
 * One per fault, or per schedule: two to four faults of one kind of log, in sequence. Deterministic
 * for a seed.
 */
export function planTrials({ faults, schedules, seed, windows }: TrialOptions): Trial[] {
  if (schedules === undefined)
    return faults.map((fault) => {
      const trial = { name: fault, log: logOf(fault), faults: [fault], seed }
      return { ...trial, windows: Math.max(windows, catalogue[fault].windows ?? 0) }
    })
  return Array.from({ length: schedules }, (_, place) => {
    const random = createSeededRandom(seed * 1000 + place)
    const log = random() < 0.5 ? 'sqlite' : 'nats'
    const length = 2 + Math.floor(random() * 3)
    const drawn = Array.from({ length }, () => {
      const names = faultNames[log]
      return names[Math.floor(random() * names.length)] as FaultName
    })
    return {
      name: `schedule ${place + 1}`,
      log,
      faults: drawn,
      seed: Math.floor(random() * 2 ** 32),
      windows,
    }
  })
}

/** Before the first fault, and after the last one. */
const writeMs = 1500
/** Duration of a fault; longer than a server waits before it sends its windows away. */
const lasts = { least: 3000, spread: 4000 }
/** Until the next fault, which then hits windows and servers that are not yet back. */
const mostGapMs = 2000
/** Many reconnect attempts, at most 3 s apart. */
const settleWithinMs = 45_000

/** Content of a row. Rejects only on abort. */
export async function goThrough(
  trial: Trial,
  { modes, rate }: Pick<TrialOptions, 'modes' | 'rate'>,
  signal: AbortSignal,
) {
  const startedAt = performance.now()
  const elapsed = () => performance.now() - startedAt
  const pause = (ms: number) => delay(ms, undefined, { signal })
  const random = createSeededRandom(trial.seed)
  const failures: string[] = []
  await using opened = new AsyncDisposableStack()
  let servers: FaultedServers | null = null
  let windows: readonly FleetWindow[] = []
  let untried: string | null = null
  let settledAfterMs: number | null = null
  let log: Outcome['log'] = { messages: [], isWhole: false }
  try {
    servers = await openServers(trial.log, trial.faults, opened)
    const { origin, ca } = servers.server
    const opening = { mayFall: false, origin, ca, elapsed }
    windows = openFleet(modes.map(requireMode), trial.windows, trial.seed, opening)
    opened.defer(() => closeAll(windows))
    await untilOpen(windows, pause)
    const stopWriting = startWriting(windows, rate)
    try {
      await pause(writeMs)
      for (const [place, fault] of trial.faults.entries()) {
        if (place > 0) await pause(random() * mostGapMs)
        await meet(fault, { ...servers, random, pause })
      }
      await timeUntil(() => windows.every(({ isOpen }) => isOpen), settleWithinMs, pause)
      // A window that missed something without notice reveals it by the messages that follow.
      await pause(writeMs)
    } finally {
      stopWriting()
    }
    settledAfterMs = await timeUntil(() => isSettled(windows), settleWithinMs, pause)
    closeAll(windows)
    log = await readLog(servers.server, modes.map(channelOf))
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof Untried) untried = error.message
    else failures.push(error instanceof Error ? error.message : String(error))
  }
  if (settledAfterMs === null && untried === null && failures.length === 0)
    failures.push('Not all windows reached the end of the log in time.')
  const crashes = servers?.server.crashes ?? []
  if (crashes.length > 0) failures.push(`Server crashes: ${crashes.length}.`)
  const lines = servers?.servers.flatMap((server) => server.lines) ?? []
  const found = countTrial(trial.faults, {
    windows: windows.map(({ record }) => record),
    log,
    lines,
    lastedMs: elapsed(),
  })
  return {
    ...{ name: trial.name, log: trial.log, faults: trial.faults, windows: trial.windows, untried },
    ...found,
    lastedMs: Math.round(elapsed()),
    failures: untried === null ? [...failures, ...found.failures] : [],
  }
}

type TrialRow = Awaited<ReturnType<typeof goThrough>>

async function meet(
  fault: FaultName,
  parts: FaultedServers & { readonly random: Random; readonly pause: (ms: number) => Promise<void> },
): Promise<void> {
  const lastsMs = lasts.least + parts.random() * lasts.spread
  const end = await catalogue[fault].begin({ ...parts, lastsMs })
  if (typeof end !== 'function') return
  try {
    await parts.pause(lastsMs)
  } finally {
    await end()
  }
}

function closeAll(windows: readonly FleetWindow[]): void {
  for (const window of windows) window.close()
}

interface Outcome {
  readonly windows: readonly WindowRecord[]
  readonly log: { readonly messages: readonly Seen[]; readonly isWhole: boolean }
  readonly lines: FaultedServers['servers'][number]['lines']
  readonly lastedMs: number
}

/** Lines of every start and stop. */
const usual = new Set<string>(['started', 'stopping', 'stopped'])

/**
 * `told`: acknowledged and missing, but reported: by a snapshot in its place or, if the log lacks
 * it, by a line of the server or a snapshot to the reader of the log.
 */
export function countTrial(faults: readonly FaultName[], { windows, log, lines, lastedMs }: Outcome) {
  const losses = faults.flatMap((fault) => catalogue[fault].losses ?? [])
  const inLog = new Set(log.messages.map(({ id }) => id))
  const isNamed = !log.isWhole || lines.some(({ code }) => losses.includes(code))
  const accounts = accountsOf({ windows, lastedMs }).map(({ window, accepted, longestOutageMs }) => {
    const { lost, told, ...others } = accountFor(window.seen, accepted, window.snapshots, inLog)
    const named = lost.filter((id) => isNamed && !inLog.has(id))
    return {
      ...{ name: window.name, longestOutageMs, told: told.length + named.length },
      lost: lost.filter((id) => !named.includes(id)),
      ...others,
    }
  })
  const accepted = acceptedOf(windows)
  const { lost: notInLog, duplicated, reordered } = accountFor(log.messages, accepted)
  const renumbered = log.messages.filter(({ id, seq }) => (accepted.get(id) ?? seq) !== seq)
  const sum = (figure: (account: (typeof accounts)[number]) => number) =>
    accounts.reduce((total, account) => total + figure(account), 0)
  const row = {
    acknowledged: accepted.size,
    delivered: sum(({ n }) => n),
    lost: sum(({ lost }) => lost.length) + (isNamed ? 0 : notInLog.length),
    told: sum(({ told }) => told) + (isNamed ? notInLog.length : 0),
    duplicated: sum(({ duplicated }) => duplicated.length) + duplicated.length,
    reordered: sum(({ reordered }) => reordered.length) + reordered.length + renumbered.length,
    unacknowledged: windows.reduce((total, { published }) => total + published.length, 0) - accepted.size,
    longestOutageMs: Math.max(0, ...accounts.map(({ longestOutageMs }) => longestOutageMs)),
    windowsTold: windows.filter(({ snapshots }) => snapshots.length > 0).length,
    said: saidIn(lines),
  }
  const mayLose = faults.some((fault) => catalogue[fault].losses !== null)
  const mayReorder = faults.some((fault) => catalogue[fault].mayReorder)
  const wrong: readonly [number: number, what: string][] = [
    [row.lost, 'acknowledged and missing without notice'],
    [mayLose ? 0 : row.told, 'acknowledged and missing, although nothing may be'],
    [row.duplicated, 'twice'],
    [mayReorder ? 0 : row.reordered, 'out of order or under another number'],
    [row.unacknowledged, 'never acknowledged'],
  ]
  const traces = [
    ...(isNamed ? [] : notInLog.map((id) => `log: ${id} missing`)),
    ...[...duplicated, ...reordered].map((id) => `log: ${id} twice or out of order`),
    ...renumbered.map(({ id, seq }) => `log: ${id} is ${seq}, was acknowledged as ${accepted.get(id)}`),
    ...accounts.flatMap(({ name, lost, duplicated, reordered }) => [
      ...lost.map((id) => `${name} never got ${id} (${accepted.get(id)})`),
      ...[...duplicated, ...reordered].map((id) => `${name} got ${id} twice or out of order`),
    ]),
    ...windows.flatMap(({ name, refused }) =>
      refused.map((sentence) => `${name} could not send: ${sentence}`),
    ),
  ]
  return {
    ...row,
    traces: traces.slice(0, mostTraces),
    failures: wrong.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}.`),
  }
}

const mostTraces = 40
const mostSentences = 3

function saidIn(lines: Outcome['lines']) {
  const byCode = Map.groupBy(lines, ({ code }) => code)
  return [...byCode]
    .filter(([code]) => !usual.has(code))
    .map(([code, own]) => {
      const sentences = [...new Set(own.map(({ message }) => message))].slice(0, mostSentences)
      return { code, times: own.length, sentences }
    })
}

async function readResults(results: string) {
  const lines = await readFile(results, 'utf8').catch((cause) => {
    throw new Error(`There is nothing to resume: ${results} cannot be read.`, { cause })
  })
  // The last line may have been cut short.
  const whole = lines.slice(0, lines.lastIndexOf('\n')).split('\n')
  const [options, ...rows] = whole.map((line) => JSON.parse(line))
  return { options: options as TrialOptions & { command: string }, rows: rows as TrialRow[] }
}

const verdictOf = ({ failures, untried }: TrialRow) =>
  untried !== null ? `not tried: ${untried}` : failures.length === 0 ? 'held' : failures.join(' ')

function trialTable(rows: readonly TrialRow[]): Table {
  return table(
    'Of what was acknowledged: missing without notice, missing and told, twice, out of order; and the longest outage of a window',
    [
      ...['Trial', text('Held'), 'Ackn.', 'Untold', 'Told', 'Twice', 'Disorder', 'Outage, s'],
      text('The server said'),
    ],
    rows.map((row) => [
      row.faults.length === 1 ? row.name : `${row.name}: ${row.faults.join(', ')}`,
      row.untried !== null ? nothing : row.failures.length === 0 ? 'yes' : 'NO',
      ...[row.acknowledged, row.lost, row.told, row.duplicated, row.reordered].map(count),
      row.longestOutageMs / 1000,
      row.said.map(({ code, times }) => `${code} ${times}`).join(', ') || nothing,
    ]),
  )
}

function saidTable(rows: readonly TrialRow[]): Table {
  return table(
    'Without the lines of each start and stop',
    ['Trial', text('Code'), 'Times', text('Sentences')],
    rows.flatMap(({ name, said }) =>
      said.map(({ code, times, sentences }) => [name, code, count(times), sentences.join(' ')]),
    ),
  )
}

/** One with its log in SQLite, or three over one NATS stream, each behind a relay. */
interface FaultedServers {
  readonly server: ServerUnderTest
  readonly servers: readonly RestartingServer[]
  readonly relays: readonly Stretch[]
  readonly nats: TestNats | null
  readonly dataFolder: string
}

interface Parts extends FaultedServers {
  readonly random: Random
  readonly pause: (ms: number) => Promise<void>
  /** How long the fault should last. */
  readonly lastsMs: number
}

interface NamedFault {
  /** Codes of the lines that name lost messages; null if none may be missing, told or not. */
  readonly losses: readonly OutputCode[] | null
  /**
   * Messages in flight may be stored again, after later messages of their sender (docs/cluster.md).
   */
  readonly mayReorder?: true
  /** Default when this fault is run alone. */
  readonly windows?: number
  /** Resolves to a function that ends the fault, unless it is already over. */
  readonly begin: (parts: Parts) => Promise<unknown>
}

const stream = 'crosswind'
const diskBytes = 48 * 1024 ** 2

class Untried extends Error {}

/** Throws `Untried` if this machine does not allow it. */
async function openServers(
  log: LogName,
  faults: readonly FaultName[],
  opened: AsyncDisposableStack,
): Promise<FaultedServers> {
  const folder = await makeServerFolder('faults')
  opened.defer(folder.remove)
  const more = { 'log-format': 'json' }
  if (log === 'nats') {
    const cluster = await startCluster(folder, { servers: 3, isRelayed: true, more }, opened)
    return { ...cluster, dataFolder: folder.data }
  }
  if (faults.includes('disk-full')) {
    const disk = mountSmallDisk(folder.data, diskBytes)
    if (!disk) throw new Untried('this user may not mount a small disk')
    opened.use(disk)
  }
  const server = await RestartingServer.start(folder, serverProgram, more)
  opened.defer(() => server.close())
  return { server, servers: [server], relays: [], nats: null, dataFolder: folder.data }
}

const logFile = ({ dataFolder }: Parts) => join(dataFolder, 'log.db')

const sources = (parts: Parts, flag: string, folder: string) => ({
  argv: [flag, folder, '--data-folder', parts.dataFolder],
  env: {},
  cwd: join(import.meta.dirname, '../..'),
})

/** Resolves to a function that restores the copy. */
async function copyOf(parts: Parts) {
  const folder = `${parts.dataFolder}-copy-${Math.floor(parts.random() * 1e9)}`
  await backup(sources(parts, '--to', folder))
  return () => restore(sources(parts, '--from', folder), Date.now())
}

/** Changes seven bytes at a random place. */
function damage(file: string, random: Random): void {
  const bytes = readFileSync(file)
  const place = Math.floor(random() * bytes.length)
  for (let at = place; at < Math.min(place + 7, bytes.length); at += 1) bytes[at] = (bytes[at] ?? 0) ^ 0x55
  writeFileSync(file, bytes)
}

async function changeStream(
  { nats }: Parts,
  change: (streams: StreamAPI) => Promise<unknown>,
): Promise<void> {
  if (!nats) throw new Error('There is no NATS here.')
  const admin = await nats.connect()
  try {
    await change((await jetstreamManager(admin)).streams)
  } finally {
    await admin.close()
  }
}

function pick<Item>(items: readonly Item[], random: Random): Item {
  const item = items[Math.floor(random() * items.length)]
  if (item === undefined) throw new Error('There is nothing to choose from.')
  return item
}

function freeze(pid: number) {
  process.kill(pid, 'SIGSTOP')
  return () => process.kill(pid, 'SIGCONT')
}

/**
 * Room in a stream that is about to be full: more than what is in flight, less than a second's
 * messages.
 */
const roomBytes = 4000

/** NATS 2.9 continues erasing a deleted stream, and loses messages of one created immediately. */
const erasedWithinMs = 1000

/** The order is that of the report. */
const catalogue: Readonly<Record<FaultName, NamedFault>> = {
  'copy-restored': {
    losses: ['log-lost-messages'],
    async begin(parts) {
      const putBack = await copyOf(parts)
      await parts.pause(parts.lastsMs)
      await parts.server.restart(putBack)
    },
  },
  'wal-missing': {
    losses: ['log-lost-messages'],
    begin: (parts) => parts.server.kill(() => rmSync(`${logFile(parts)}-wal`)),
  },
  'wal-damaged': {
    losses: ['log-lost-messages'],
    begin: (parts) => parts.server.kill(() => damage(`${logFile(parts)}-wal`, parts.random)),
  },
  'database-damaged': {
    losses: ['log-lost-messages'],
    async begin(parts) {
      const putBack = await copyOf(parts)
      await parts.pause(parts.lastsMs / 2)
      // A server that refuses the file says so; then its advice is followed.
      await parts.server
        .restart(() => damage(logFile(parts), parts.random))
        .catch((error) => {
          if (!String(error).includes('not-started')) throw error
          return parts.server.restart(putBack)
        })
    },
  },
  'disk-full': {
    losses: null,
    async begin({ dataFolder }) {
      const filler = join(dataFolder, 'filler')
      try {
        writeFileSync(filler, Buffer.alloc(diskBytes))
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      }
      return () => rmSync(filler)
    },
  },
  'stream-deleted': {
    losses: ['log-replaced'],
    begin: (parts) => changeStream(parts, (streams) => streams.delete(stream)),
  },
  'stream-purged': {
    losses: ['log-replaced'],
    mayReorder: true,
    async begin(parts) {
      await changeStream(parts, (streams) => streams.purge(stream))
      await pick(parts.servers, parts.random).kill(0)
    },
  },
  'stream-full': {
    losses: null,
    async begin(parts) {
      await changeStream(parts, async (streams) => {
        const { state } = await streams.info(stream)
        // NATS erases what is beyond a new limit, whatever it discards later.
        const max_bytes = state.bytes + roomBytes
        await streams.update(stream, { max_bytes, discard: 'new' } as never)
      })
      return () => changeStream(parts, (streams) => streams.update(stream, { max_bytes: -1 } as never))
    },
  },
  'stream-recreated': {
    losses: ['log-replaced'],
    async begin(parts) {
      for (const { refuse, cut } of parts.relays) {
        refuse(true)
        cut()
      }
      await changeStream(parts, async (streams) => {
        const { config } = await streams.info(stream)
        await streams.delete(stream)
        await parts.pause(erasedWithinMs)
        await streams.add(config as never)
      })
      for (const { refuse } of parts.relays) refuse(false)
    },
  },
  'node-cut': {
    losses: null,
    async begin({ relays, random }) {
      const { hold, release } = pick(relays, random)
      hold()
      return release
    },
  },
  'node-frozen': {
    losses: null,
    begin: async ({ servers, random }) => freeze(pick(servers, random).pid),
  },
  'broker-frozen': {
    losses: null,
    begin: async ({ nats }) => freeze(nats?.pid() ?? 0),
  },
  'all-started-at-once': {
    losses: null,
    async begin({ servers, nats }) {
      const allDown = Promise.withResolvers<void>()
      const up = servers.map((server) => server.kill(() => allDown.promise))
      await nats?.kill()
      allDown.resolve()
      await Promise.all([nats?.restart(), ...up])
    },
  },
  'rolling-restart': {
    losses: null,
    windows: 60,
    async begin({ servers }) {
      for (const server of servers) await server.restart(0)
    },
  },
}
