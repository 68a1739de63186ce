// Windows of every mode go through cuts, stalls, restarts, kills and floods; everything is counted.

import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { modes as allModes, type HttpVersion, type Message } from '../../client/wire.ts'
import type { LabDoor } from '../../web/lab.ts'
import { type Browser, type BrowserWindow, startBrowser, until } from '../browser/browser.ts'
import { defineExperiment, type Experiment } from '../lab/experiment.ts'
import { flag, seed, whole, wordsOnce } from '../lab/flags.ts'
import { requireMode } from '../lab/mode-names.ts'
import { programs } from '../lab/programs.ts'
import type { Lab } from '../lab/run-sessions.ts'
import { makeServerFolder } from '../lab/server-process.ts'
import type { Progress } from '../lab/terminal-output.ts'
import type { CuttableWindow, Outage } from '../load/cuttable-window.ts'
import { seconds } from '../report/section.ts'
import { linkState, textShown } from '../windows/page.ts'
import { carryOut, planFaults } from './resilience-faults.ts'
import {
  channelOf,
  isSettled,
  openFleet,
  requireWindowForEach,
  startWriting,
  timeUntil,
  untilOpen,
} from './resilience-fleet.ts'
import { dataOf, outcomeTables, returnsTable, sectionsOf } from './resilience-report.ts'
import { RestartingServer, readDocument, readLog, startCluster } from './resilience-server.ts'
import {
  accountFor,
  analyse,
  type BrowserRecord,
  countFaults,
  type FaultRecord,
  type ResilienceRecord,
  type Run,
} from './resilience-summary.ts'
import { namedFaults, trialFlags } from './resilience-trials.ts'

/** Cuts, restarts and kills; or named faults, if one of their flags is given. */
export function experimentFor(argv: readonly string[]): Experiment {
  const given = argv.map((word) => word.replace(/=.*/s, ''))
  return Object.keys(trialFlags).some((name) => given.includes(`--${name}`)) ? namedFaults : resilience
}

export const resilience = defineExperiment({
  name: 'resilience',
  about: `Opens windows in every mode that write to each other, cuts their connections, stalls their reading, and restarts, kills
    (kill -9), floods and attacks the server with invalid input. Exits with status 1 if a message was lost, repeated or
    reordered, if windows were back later than 2 s in the median or 5 s at worst after the server's return, or if fewer
    faults occurred than promised: in 60 s 200 cut connections, 3 restarts and 3 kills, the last of which keeps the server
    away for 8 s; for other durations in proportion, and at least one of each.`,
  otherwise: {
    about: `Named faults, one after the other, each on fresh servers; or schedules of two to four of them. Exits with status 1 if\n    an acknowledged message is missing without notice from the server or in the window, or arrived twice or out of order.`,
    flags: trialFlags,
    notes: `Of the flags\n    above they accept --modes (sse/2,websocket/1.1,streaming/2,long-polling/2 by default), --windows (12; 60 for rolling-restart\n    alone), --rate, --seed and --out. Those that begin with a stream, a node or the broker need nats-server; disk-full needs the\n    right to mount a tmpfs.`,
  },
  flags: {
    modes: flag(
      z
        .string()
        .default('all')
        .transform((list) =>
          list.trim() === 'all' ? allModes.map(({ name }) => name) : wordsOnce.parse(list),
        ),
      'LIST',
      'modes, or all, at the same time on one server',
      'all',
    ),
    windows: flag(whole(1, 500).default(50), 'N', 'windows in total, spread evenly over the modes'),
    seconds: flag(whole(4, 3600).default(60), 'N', 'duration'),
    rate: flag(whole(1, 50).default(3), 'N', 'messages a second from each of two writers in each mode'),
    browsers: flag(whole(0, 8).default(2), 'N', 'additional real Chromium windows; 0 for none'),
    servers: flag(
      whole(1, 9).default(1),
      'N',
      'servers over one NATS stream, behind a balancer; faults hit them in turn, and NATS is killed too; needs nats-server',
    ),
    workers: flag(
      whole(1, 16).default(1),
      'N',
      'workers of each server; one of them is killed (kill -9) six times a minute',
    ),
    fallback: flag(z.boolean().default(false), '', 'lets windows fall back to other modes'),
    seed,
  },
  options(given) {
    requireWindowForEach(given)
    return given
  },

  async measure(options, lab): Promise<Run & { readonly errors: string }> {
    const { modes, windows, seconds, rate, browsers, fallback, seed, servers, workers } = options
    const plan = planFaults(seed, seconds, modes, { hasBroker: servers > 1, hasWorkers: workers > 1 })
    const { cuts, restarts, kills } = plan.promised
    lab.progress.say(
      `${windows} windows in ${modes.length} modes for ${seconds} s, seed ${seed}: at least ${cuts} cuts, ${restarts} restarts, ${kills} kills.`,
    )
    const { record, errors, browser } = await goThrough(options, plan, lab)
    const server =
      servers > 1
        ? `${servers} processes on this machine, over loopback, behind one balancer, their log on NATS JetStream`
        : `${workers > 1 ? `${workers} workers and a process with the log` : 'a process of its own'} on this machine, over loopback, its log in SQLite`
    const circumstances = lab.circumstances({
      browser,
      server,
      seed,
      parameters: {
        windows,
        seconds,
        rate,
        browsers,
        fallback,
        seed,
        ...(servers > 1 && { servers }),
        ...(workers > 1 && { workers }),
      },
    })
    return {
      ...circumstances,
      record,
      errors,
      seed,
      promised: plan.promised,
      modes,
    }
  },

  analyse: ({ errors: _, ...run }) => analyse(run),

  report: ({ record, errors }, summary) => ({
    subtitle: `, seed ${summary.seed}`,
    sections: sectionsOf(record, summary),
    method: [
      'All modes ran at the same time on one server, each mode on its own channel. A fleet window is the web app’s own link, run in Node over the same transports; two windows of each mode write, whether they are connected or not, and all of them receive.',
      'The windows stay in their modes (without --fallback). Connections are cut while idle, right after a message was sent so that its acknowledgement is lost, and once more while the window returns; its reading is stalled for a moment, until it counts as silent, and until its queue overflows. A cut waits until a window is connected; a window that has returned is spared until its link counts as steady.',
      'The run’s server notices silence within five seconds, and keeps a megabyte for a slow window; everything else is as by default.',
    ],
    data: { ...dataOf(record), 'server-errors.txt': errors },
    tables: [returnsTable(summary), ...outcomeTables(summary)],
    isFailure: summary.failures.length > 0,
  }),
})

type Options = ReturnType<typeof resilience.options>

/** Factor on the run's length for late faults: on a slow machine the server is down for longer, and faults wait for targets. */
const overtime = 1.5
/** After this long open, the link's next reconnect delay is short. */
const steadyMs = 5000
/** Many reconnect attempts, at most 3 s apart. */
const settleWithinMs = 45_000
/** Idle before the last memory sample. */
const restMs = 1500

/** Rejects on abort, and if the windows do not open at first. `errors`: of all server processes. */
async function goThrough(options: Options, plan: ReturnType<typeof planFaults>, lab: Lab) {
  await using opened = new AsyncDisposableStack()
  let zero = performance.now()
  const elapsed = () => performance.now() - zero
  const pause = (ms: number) => lab.pause(ms)
  const folder = await makeServerFolder('resilience')
  opened.defer(folder.remove)
  const server =
    options.servers > 1
      ? (await startCluster(folder, options, opened)).server
      : await RestartingServer.start(folder, programs.server, { workers: options.workers })
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
  lab.progress.say(`${windows.length} windows are open${beside}.`)

  zero = performance.now()
  const memory = server.sampleMemory(elapsed)
  opened.defer(memory.stop)
  const faults: FaultRecord[] = []
  const acting = opened.use(new DisposableStack())
  acting.defer(follow(windows, faults, elapsed, options.seconds, lab.progress))
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
    if (kind === 'worker')
      lab.progress.say(`${seconds(atMs).padStart(7)}  kill -9 of a worker, ${fault.target}`)
    if (kind !== 'restart' && kind !== 'kill' && kind !== 'broker') return
    const what = kind === 'kill' ? 'kill -9 ' : kind === 'broker' ? 'NATS -9 ' : 'restart '
    lab.progress.say(`${seconds(atMs).padStart(7)}  ${what} up again after ${seconds(lastedMs)}, ${outcome}`)
  })

  acting.dispose()
  await typing
  const lastedMs = elapsed()
  lab.progress.say('The faults are over; every window is given time to get everything.')
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
    // The figures are those of the worker that answers.
    memory: options.workers > 1 ? [] : memory.samples,
    log: (await readLog(server, options.modes.map(channelOf))).messages,
    browsers: await browsers.records(
      (await readLog(server, [browserChannel])).messages,
      await readDocument(server, browserChannel),
      elapsed(),
    ),
    crashes: server.crashes,
    ...(options.servers > 1 && { servers: options.servers }),
    ...(options.workers > 1 && { workers: options.workers }),
    settledAfterMs,
  }
  return { record, errors: server.errors(), browser: browsers.version }
}

const followEveryMs = { terminal: 250, elsewhere: 5000 }

function follow(
  windows: readonly CuttableWindow[],
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

const browserModes = ['sse/2', 'websocket/1.1'].map(requireMode)

/** Apart from the fleet's: its whole text is typed in these windows. */
const browserChannel = 'resilience-browsers'

const openWithinMs = 30_000

class BrowserWindows {
  /** `chrome 156`, or `none` without windows. */
  version = 'none'
  #browser: Browser | null = null
  readonly #shown: { readonly mode: string; readonly window: BrowserWindow }[] = []
  #typed = ''

  /** Rejects if a window does not open; call `close` in any case. */
  async open(count: number, origin: Readonly<Record<HttpVersion, string>>): Promise<void> {
    if (count === 0) return
    this.#browser = await startBrowser()
    this.version = this.#browser.version
    for (let place = 0; place < count; place += 1) {
      const mode = browserModes[place % browserModes.length]
      if (!mode) continue
      const { name, transport, http } = mode
      const query = new URLSearchParams({ transport, http, channel: browserChannel, record: '' })
      const window = await this.#browser.newWindow()
      await window.open(`${origin[http]}/?${query}`)
      const isOpen = async () => {
        const { state, isRendered } = await window.run(linkState)
        return state === 'open' && isRendered
      }
      await until(isOpen, `a window of Chromium did not open in ${name}`, openWithinMs)
      await window.run(watchOutages)
      this.#shown.push({ mode: name, window })
    }
  }

  /** Types four letters a second until the signal aborts. */
  async type(signal: AbortSignal): Promise<void> {
    const typist = this.#shown[0]?.window
    await typist?.click('#document')
    while (typist && !signal.aborted) {
      const letter = String.fromCharCode(97 + (this.#typed.length % 26))
      await typist.key(letter)
      this.#typed += letter
      await delay(250)
    }
  }

  async settle(withinMs: number): Promise<void> {
    for (const { window } of this.#shown) {
      const isThere = async () => (await window.run(textShown)) === this.#typed
      // A timeout is not an error: missing text is counted later.
      await until(isThere, '', withinMs).catch(() => undefined)
    }
  }

  /** `log` and `content`: of the windows' channel; `elapsedMs`: time since the run began. */
  async records(
    log: readonly Message[],
    content: string,
    elapsedMs: number,
  ): Promise<readonly BrowserRecord[]> {
    const beganAt = Date.now() - elapsedMs
    const accepted = new Map(log.map(({ id, seq }) => [id, seq]))
    const shown = this.#shown.entries().map(async ([place, { mode, window }]) => {
      const text = await window.run(textShown)
      const { n, lost, duplicated, reordered } = accountFor(await window.run(updatesSeen), accepted)
      const outages = (await window.run(outagesSeen)).map(({ fromMs, toMs }) => ({
        fromMs: fromMs - beganAt,
        toMs: toMs === null ? null : toMs - beganAt,
      }))
      return {
        name: `chromium-${place + 1}`,
        outages,
        mode,
        isWriter: place === 0,
        typed: place === 0 ? this.#typed.length : 0,
        expected: accepted.size,
        n,
        lost: lost.length,
        duplicated: duplicated.length,
        reordered: reordered.length,
        isEqual: text === this.#typed && text === content,
      }
    })
    return Promise.all(shown)
  }

  async close(): Promise<void> {
    await this.#browser?.quit()
  }
}

// Runs in the page; must use nothing from this module.

type Page = typeof globalThis & { readonly crosswind?: LabDoor; outages?: Outage[] }

/** Samples 20 times a second; ms since the epoch. */
function watchOutages(): void {
  const page = globalThis as Page
  const outages: Outage[] = []
  page.outages = outages
  setInterval(() => {
    const isOpen = page.crosswind?.view().link.state === 'open'
    const last = outages.at(-1)
    if (!isOpen && last?.toMs !== null) outages.push({ fromMs: Date.now(), toMs: null })
    else if (isOpen && last?.toMs === null) last.toMs = Date.now()
  }, 50)
}

function outagesSeen(): Outage[] {
  return (globalThis as Page).outages ?? []
}

function updatesSeen(): { id: string; seq: number }[] {
  const received = (globalThis as Page).crosswind?.take().received ?? []
  return received.filter(({ kind }) => kind === 'update').map(({ id, seq }) => ({ id, seq }))
}
