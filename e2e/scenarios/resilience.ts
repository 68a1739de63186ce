// Windows of every mode go through cuts, stalls, restarts, kills and floods; all is counted.

import { setTimeout as delay } from 'node:timers/promises'
import { requireMode } from '../lab/mode-names.ts'
import { describeEnvironment, loadNow } from '../lab/run-environment.ts'
import { makeServerFolder, serverProgram } from '../lab/server-process.ts'
import { Progress } from '../lab/terminal-output.ts'
import { reportFolder, requireFree, writeFolder } from '../report/render.ts'
import { seconds } from '../report/section.ts'
import { countFaults, type FaultRecord, type ResilienceRecord, summarise } from './resilience-analysis.ts'
import { BrowserWindows, browserChannel } from './resilience-browsers.ts'
import { carryOut, planFaults } from './resilience-faults.ts'
import {
  channelOf,
  type FleetWindow,
  isSettled,
  openFleet,
  startWriting,
  timeUntil,
  untilOpen,
} from './resilience-fleet.ts'
import type { ResilienceOptions } from './resilience-options.ts'
import { resilienceFiles, resilienceTable } from './resilience-report.ts'
import { RestartingServer, readLog, startCluster } from './resilience-server.ts'

/** Writes nothing on abort. */
export async function resilienceRun(options: ResilienceOptions, command: string, signal: AbortSignal) {
  const startedAt = new Date()
  const { modes, windows, seconds, rate, browsers, fallback, seed, servers, workers } = options
  const folder = options.out ?? reportFolder('resilience', startedAt)
  await requireFree(folder)
  const loadBefore = loadNow()
  const progress = new Progress(process.stdout)
  const plan = planFaults(seed, seconds, modes, { hasBroker: servers > 1, hasWorkers: workers > 1 })
  const { promised } = plan
  progress.say(
    `${windows} windows in ${modes.length} modes for ${seconds} s, seed ${seed}: at least ${promised.cuts} cuts, ${promised.restarts} restarts, ${promised.kills} kills.`,
  )
  const { record, errors, browser } = await measure(options, plan, progress, signal)
  const summary = summarise(record, {
    command,
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    environment: describeEnvironment({
      browser,
      server:
        servers > 1
          ? `${servers} processes on this machine, over loopback, behind one balancer, their log on NATS JetStream`
          : `${workers > 1 ? `${workers} workers and a process with the log` : 'a process of its own'} on this machine, over loopback, its log in SQLite`,
      loadBefore,
    }),
    parameters: {
      ...{ windows, seconds, rate, browsers, fallback, seed },
      ...(servers > 1 && { servers }),
      ...(workers > 1 && { workers }),
    },
    seed,
    promised,
    modes,
  })
  await writeFolder(folder, resilienceFiles(record, summary, { 'server-errors.txt': errors }))
  return { folder, summary, table: resilienceTable(summary), isFailure: summary.failures.length > 0 }
}

/** Factor on the run's length for late faults: on a slow machine the server is down for longer, and faults wait for targets. */
const overtime = 1.5
/** After this long open, the link's next reconnect delay is short. */
const steadyMs = 5000
/** Many reconnect attempts, at most 3 s apart. */
const settleWithinMs = 45_000
/** Idle before the last memory sample. */
const restMs = 1500

/** Rejects on abort, and when the windows do not open at first. `errors`: of all server processes. */
async function measure(
  options: ResilienceOptions,
  plan: ReturnType<typeof planFaults>,
  progress: Progress,
  signal: AbortSignal,
) {
  await using opened = new AsyncDisposableStack()
  let zero = performance.now()
  const elapsed = () => performance.now() - zero
  const pause = (ms: number) => delay(Math.max(0, ms), undefined, { signal })
  const folder = await makeServerFolder('resilience')
  opened.defer(folder.remove)
  const server =
    options.servers > 1
      ? (await startCluster(folder, options, opened)).server
      : await RestartingServer.start(folder, serverProgram, { workers: options.workers })
  if (options.servers === 1) opened.defer(() => server.close())
  const { origin, ca } = server
  const { seed, fallback: mayFall } = options
  const modes = options.modes.map(requireMode)
  const windows = openFleet(modes, options.windows, seed, { mayFall, origin, ca, elapsed })
  const closeWindows = () => {
    for (const window of windows) window.close()
  }
  opened.defer(closeWindows)
  const browsers = new BrowserWindows()
  opened.defer(() => browsers.close())
  await browsers.open(options.browsers, origin)
  await untilOpen(windows, pause)
  const beside = options.browsers > 0 ? `, and ${options.browsers} of ${browsers.version}` : ''
  progress.say(`${windows.length} windows are open${beside}.`)

  zero = performance.now()
  const memory = server.sampleMemory(elapsed)
  opened.defer(memory.stop)
  const faults: FaultRecord[] = []
  const acting = opened.use(new DisposableStack())
  acting.defer(follow(windows, faults, elapsed, options.seconds, progress))
  acting.defer(startWriting(windows, options.rate))
  const stopTyping = new AbortController()
  acting.defer(() => stopTyping.abort())
  const typing = browsers.type(stopTyping.signal)
  const wholeMs = options.seconds * 1000
  const limits = { endsAtMs: wholeMs * overtime, spareMs: Math.min(steadyMs, wholeMs / 12) }
  const parts = { windows, server, elapsed, pause, ...limits }
  const done = await carryOut(plan.faults, wholeMs, parts, (fault) => {
    faults.push(fault)
    const { kind, atMs, lastedMs, outcome } = fault
    if (kind === 'worker') progress.say(`${seconds(atMs).padStart(7)}  kill -9 of a worker, ${fault.target}`)
    if (kind !== 'restart' && kind !== 'kill' && kind !== 'broker') return
    const what = kind === 'kill' ? 'kill -9 ' : kind === 'broker' ? 'NATS -9 ' : 'restart '
    progress.say(`${seconds(atMs).padStart(7)}  ${what} up again after ${seconds(lastedMs)}, ${outcome}`)
  })

  acting.dispose()
  await typing
  const lastedMs = elapsed()
  progress.say('The faults are over; every window is given time to get everything.')
  const settledAfterMs = await timeUntil(() => isSettled(windows), settleWithinMs, pause)
  await browsers.settle(settleWithinMs)
  await pause(restMs)
  await memory.sampleNow()
  // A message acknowledged after the log is read would count as missing from it.
  closeWindows()
  const record: ResilienceRecord = {
    lastedMs,
    windows: windows.map((window) => window.record),
    faults: done,
    // The figures are of the worker that answers.
    memory: options.workers > 1 ? [] : memory.samples,
    log: (await readLog(server, options.modes.map(channelOf))).messages,
    browsers: await browsers.records((await readLog(server, [browserChannel])).messages, elapsed()),
    crashes: server.crashes,
    ...(options.servers > 1 && { servers: options.servers }),
    ...(options.workers > 1 && { workers: options.workers }),
    settledAfterMs,
  }
  return { record, errors: server.errors(), browser: browsers.version }
}

const followEveryMs = { terminal: 250, elsewhere: 5000 }

function follow(
  windows: readonly FleetWindow[],
  faults: readonly FaultRecord[],
  elapsed: () => number,
  wholeSeconds: number,
  progress: Progress,
): () => void {
  const records = windows.map(({ record }) => record)
  const show = () => {
    const open = windows.filter(({ isOpen }) => isOpen).length
    const { cuts, restarts, kills, stalls, floods, brokenInputs } = countFaults(faults, records)
    const accepted = records.reduce((sum, record) => sum + record.accepted.size, 0)
    const time = `${seconds(elapsed()).padStart(7)} of ${wholeSeconds} s`
    const done = `${cuts} cuts, ${restarts} restarts, ${kills} kills, ${stalls} stalls, ${floods} floods, ${brokenInputs} broken inputs`
    progress.update(`${time}  ${open}/${windows.length} open  ${accepted} accepted  ${done}`)
  }
  const timer = setInterval(show, progress.isTerminal ? followEveryMs.terminal : followEveryMs.elsewhere)
  return () => clearInterval(timer)
}
