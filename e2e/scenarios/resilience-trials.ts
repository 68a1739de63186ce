// Named faults, one after the other, each on fresh servers: how windows learn what is missing.

import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { createSeededRandom, type Random } from '../../client/wire.ts'
import { defineExperiment } from '../lab/experiment.ts'
import { file, flag, seed, whole, wordsOnce } from '../lab/flags.ts'
import { requireMode } from '../lab/mode-names.ts'
import { commandOf } from '../lab/programs.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import type { CuttableWindow, Seen, WindowRecord } from '../load/cuttable-window.ts'
import { unfinishedName } from '../report/render.ts'
import { count, nothing, seconds, type Table, table, text } from '../report/section.ts'
import {
  catalogue,
  type FaultedServers,
  type FaultName,
  faultNames,
  type LogName,
  openServers,
  Untried,
} from './named-faults.ts'
import {
  channelOf,
  isSettled,
  openFleet,
  requireWindowForEach,
  startWriting,
  timeUntil,
  untilOpen,
} from './resilience-fleet.ts'
import { readLog } from './resilience-server.ts'
import { acceptedOf, accountFor, accountsOf } from './resilience-summary.ts'

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
    lab.progress.say(`${left.length} of ${trials.length} trials, seed ${options.seed}. If it is stopped:`)
    lab.progress.say(`${commandOf('lab')} resilience --resume ${folder}`)
    for (const trial of left) {
      lab.progress.step(`${trial.name}: ${trial.faults.join(', ')}`)
      const row = await goThrough(trial, options, lab.signal)
      await append(row)
      rows.push(row)
      lab.progress.say(`${seconds(row.lastedMs).padStart(7)}  ${trial.name.padEnd(20)} ${verdictOf(row)}`)
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
const maxGapMs = 2000
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
  let windows: readonly CuttableWindow[] = []
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
        if (place > 0) await pause(random() * maxGapMs)
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
    name: trial.name,
    log: trial.log,
    faults: trial.faults,
    windows: trial.windows,
    untried,
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

function closeAll(windows: readonly CuttableWindow[]): void {
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
      name: window.name,
      longestOutageMs,
      told: told.length + named.length,
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
    traces: traces.slice(0, maxTraces),
    failures: wrong.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}.`),
  }
}

const maxTraces = 40
const maxSentences = 3

function saidIn(lines: Outcome['lines']) {
  const byCode = Map.groupBy(lines, ({ code }) => code)
  return [...byCode]
    .filter(([code]) => !usual.has(code))
    .map(([code, own]) => {
      const sentences = [...new Set(own.map(({ message }) => message))].slice(0, maxSentences)
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
      'Trial',
      text('Held'),
      'Ackn.',
      'Untold',
      'Told',
      'Twice',
      'Disorder',
      'Outage, s',
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
