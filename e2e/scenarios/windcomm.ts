// The 2012 paper's "Experimental Design": a sensor's readings, timed to distant windows.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createSeededRandom } from '../../server/wire/time.ts'
import { startBrowser } from '../browser/browser.ts'
import { compareClock, readTickOffset } from '../browser/typing.ts'
import { exchangeWithServer } from '../clients/http-client.ts'
import { followClock } from '../lab/clock.ts'
import { requireMode } from '../lab/mode-names.ts'
import { commitNow, describeEnvironment, loadNow } from '../lab/run-environment.ts'
import { Progress } from '../lab/terminal-output.ts'
import { lateBetween } from '../network/delay-link.ts'
import { profiles, scaled } from '../network/profiles.ts'
import { reportFolder, requireFree, writeFolder } from '../report/render.ts'
import type { Reanalysis, WindcommOptions } from './scenario-options.ts'
import { analyse, faultsIn } from './windcomm-analysis.ts'
import { windcommFiles, windcommTable } from './windcomm-report.ts'
import {
  type ComparedClock,
  errorOf,
  matchReadings,
  type Reading,
  refuseWrongClocks,
  rereadRun,
  type Site,
  type WindRun,
} from './windcomm-samples.ts'
import {
  type ListeningWindow,
  openClient,
  openPage,
  openReferenceClient,
  openTestbed,
  type Page,
  type Plan,
  type ReferenceClient,
  type Testbed,
} from './windcomm-windows.ts'

/** Five seconds at the paper's rate. */
const warmUpReadings = 20

/** Writes nothing after a failure or abort. */
export async function windcommRun(options: WindcommOptions, command: string, signal: AbortSignal) {
  const startedAt = new Date()
  const folder = options.out ?? reportFolder('windcomm', startedAt)
  await requireFree(folder)
  const loadBefore = loadNow()
  const progress = new Progress(process.stdout)
  const { modes, readings, rateHz, holdMs, intervalMs, faster, seed, browsersAt } = options
  const pace = faster === 1 ? '' : `, ${faster} times as fast: rate, hold, interval and delays together`
  progress.say(
    `${readings} readings at ${rateHz} Hz (${Math.round(readings / rateHz)} s) to ${options.sites.join(', ')} over ${modes.join(', ')}, all at once, seed ${seed}${pace}.`,
  )
  const sites = sitesOf(options)
  const polling = { holdMs, intervalMs }
  const plan = { sites, modes: modes.map(requireMode), readings, rateHz, polling, seed }
  const { browser, ...measured } = await measure(plan, progress, signal)
  const run: WindRun = {
    ...measured,
    ...{ rateHz, holdMs, intervalMs, faster, warmUpReadings, sites, modes },
    command: command.includes('--seed') ? command : `${command} --seed ${seed}`,
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    environment: describeEnvironment({
      browser,
      server: 'a process of its own on this machine, its log in SQLite',
      loadBefore,
    }),
    parameters: {
      sites: options.sites.join(', '),
      modes: modes.join(', '),
      ...{ readings, rateHz, holdMs, intervalMs, faster, browsersAt: browsersAt ?? 'none', seed },
    },
  }
  progress.say('All readings are in; working out what they say.')
  return writeReport(folder, run)
}

/** Analyses a finished run with the current code. */
export async function windcommReanalysis({ from, out }: Reanalysis) {
  const folder = out ?? reportFolder('windcomm', new Date())
  await requireFree(folder)
  const run = await rereadRun(from, commitNow())
  const read = async (name: string) => [name, await readFile(join(from, name), 'utf8')] as const
  const measured = await Promise.all(['samples.csv', 'readings.csv'].map(read))
  return writeReport(folder, run, Object.fromEntries(measured))
}

async function writeReport(folder: string, run: WindRun, measured: Readonly<Record<string, string>> = {}) {
  const summary = analyse(run)
  await writeFolder(folder, windcommFiles(run, summary, measured))
  // Contradicting the paper is no failure.
  return { folder, summary, table: windcommTable(summary), isFailure: faultsIn(summary) > 0 }
}

/** Different seeds, so that stalls do not coincide. */
function sitesOf({ sites, faster, seed, browsersAt }: WindcommOptions): readonly Site[] {
  return sites.map((name, place) => ({
    name,
    profile: scaled(profiles[name], faster),
    seed: (seed + place) % 2 ** 32,
    windows: name === browsersAt ? 'browser' : 'client',
  }))
}

/** Rejects on abort, when windows do not open, when a clock's error is too large, and when the sensor stops. */
async function measure(plan: Plan, progress: Progress, signal: AbortSignal) {
  await using opened = new AsyncDisposableStack()
  const testbed = await openTestbed(plan, opened)
  const reference = openReferenceClient(testbed)
  const { windows, pages, browser } = await openWindows(plan, testbed, opened, signal)
  await untilOpen(windows, reference, signal)
  progress.say(
    `${windows.length} windows are open${browser === 'none' ? '' : `, ${pages.length} of ${browser}`}.`,
  )

  const compareClocks = clockComparer(testbed, pages)
  const before = await compareClocks('before')
  const errorMs = Math.max(...before.map(({ errorMs }) => errorMs))
  progress.say(`Clocks are off by ${errorMs.toFixed(2)} ms at most; warming up.`)
  const first = await warmUp(windows, reference, signal)
  const usedBefore = await testbed.server.figures()
  const linksBefore = testbed.linkFigures()
  const timer = setInterval(() => {
    progress.update(`${reference.readings.length - first} of ${plan.readings} readings`)
  }, progressEveryMs)
  try {
    await untilReadings(reference, first + plan.readings, signal)
  } finally {
    clearInterval(timer)
    progress.clear()
  }
  const readings = reference.readings.slice(first, first + plan.readings)
  refuseGaps(readings)
  const last = readings.at(-1)
  // Readings still missing count as lost.
  if (last) await untilEverywhere(windows, last, signal)
  const links = testbed
    .linkFigures()
    .map((after, place) => ({ ...after, lateMs: lateBetween(linksBefore[place] ?? after, after) }))
  const usedAfter = await testbed.server.figures()
  const after = await compareClocks('after')
  const received = await Promise.all(windows.map((window) => samplesOf(window, readings)))
  const serverCpuMs = usedAfter.cpuMs - usedBefore.cpuMs
  return { readings, samples: received.flat(), clock: { before, after }, links, serverCpuMs, browser }
}

async function samplesOf(window: ListeningWindow, readings: readonly Reading[]) {
  const { mode, site } = window
  const spoken = (await window.link()).mode
  if (spoken === mode) return matchReadings(readings, window, await window.receipts())
  throw new Error(
    `The window of ${mode} at ${site} ended in ${spoken}: what it heard is no figure of ${mode}.`,
  )
}

async function openWindows(
  { sites, modes, seed }: Plan,
  testbed: Testbed,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
) {
  const pages: Page[] = []
  const clients: ListeningWindow[] = []
  const random = createSeededRandom(seed)
  let version = 'none'
  for (const { name, windows } of sites) {
    if (windows === 'browser') {
      const browser = await startBrowser()
      opened.defer(browser.quit)
      version = browser.version
      for (const mode of modes) {
        signal.throwIfAborted()
        pages.push(await openPage(browser, testbed, name, mode))
      }
    } else {
      for (const mode of modes) clients.push(openClient(testbed, name, mode, random))
    }
  }
  return { windows: [...pages, ...clients], pages, browser: version }
}

async function warmUp(windows: readonly ListeningWindow[], reference: ReferenceClient, signal: AbortSignal) {
  const settled = reference.readings.length
  await untilReadings(reference, settled + warmUpReadings, signal)
  const early = reference.readings[settled]
  if (early && (await untilEverywhere(windows, early, signal))) return reference.readings.length
  throw new Error('Not every window received the readings of the warm-up: nothing was measured.')
}

/** Only the sensor writes, so readings are numbered consecutively. Throws for a gap. */
function refuseGaps(readings: readonly Reading[]): void {
  const gap = readings.findIndex(({ seq }, place) => place > 0 && seq !== (readings[place - 1]?.seq ?? 0) + 1)
  if (gap === -1) return
  throw new Error(
    `After reading ${readings[gap - 1]?.seq} the log goes on with ${readings[gap]?.seq}: something else was written, or the reference missed a reading. Run it again.`,
  )
}

const progressEveryMs = 5000
const lookMs = 100
const openWithinMs = 60_000
/** After this long without a reading the sensor has stopped. */
const silentAfterMs = 20_000
/** Ten times the longest stall of any profile. */
const stragglersWithinMs = 20_000

/** False when it did not hold until `end`. Rejects on abort. */
async function until(holds: () => Promise<boolean>, end: number, signal: AbortSignal): Promise<boolean> {
  while (!(await holds())) {
    if (performance.now() > end) return false
    await delay(lookMs, undefined, { signal })
  }
  return true
}

async function untilOpen(
  windows: readonly ListeningWindow[],
  reference: ReferenceClient,
  signal: AbortSignal,
) {
  const end = performance.now() + openWithinMs
  const missing: string[] = []
  for (const { link, mode, site } of [
    ...windows,
    { ...reference, mode: 'the reference', site: 'the server' },
  ])
    if (!(await until(async () => (await link()).state === 'open', end, signal)))
      missing.push(`${mode} at ${site}`)
  if (missing.length > 0)
    throw new Error(`Windows did not open within ${openWithinMs / 1000} s: ${missing.join('; ')}.`)
}

async function untilReadings(
  { readings }: ReferenceClient,
  wanted: number,
  signal: AbortSignal,
): Promise<void> {
  while (readings.length < wanted) {
    const known = readings.length
    if (await until(async () => readings.length > known, performance.now() + silentAfterMs, signal)) continue
    throw new Error(`No reading came for ${silentAfterMs / 1000} s: the server or its sensor has stopped.`)
  }
}

/** False when not every window has it in time. */
async function untilEverywhere(
  windows: readonly ListeningWindow[],
  wanted: Reading,
  signal: AbortSignal,
): Promise<boolean> {
  const end = performance.now() + stragglersWithinMs
  for (const { receipts } of windows) {
    const hasIt = async () => (await receipts()).some(({ id }) => id === wanted.id)
    if (!(await until(hasIt, end, signal))) return false
  }
  return true
}

const ticks = 20
/** Load widens a bound without biasing it; repeats keep the fastest exchanges. */
const mostRounds = 20
const closeEnoughMs = 1

/**
 * Clients use this process's clock. Exchanges with a page in a busy browser are too imprecise, so its bound comes
 * through the machine's shared clock: page to machine, machine to this process, this process to server. Rejects when a
 * page's exchanges contradict this chain, or when a clock's error exceeds the paper's limit.
 */
function clockComparer({ server, ca }: Testbed, pages: readonly Page[]) {
  const clients = followClock('clients', (times) => exchangeWithServer(server.origin['1.1'], ca, times))

  return async (when: 'before' | 'after'): Promise<readonly ComparedClock[]> => {
    let own = await compareClock(clients)
    for (let round = 2; round <= mostRounds && errorOf(own) > closeEnoughMs; round += 1)
      own = await compareClock(clients)
    const machine = readTickOffset(ticks)
    const found: ComparedClock[] = [{ ...own, errorMs: errorOf(own) }]
    for (const page of pages) {
      const exchanged = await compareClock(page.clock)
      const ownTicks = await page.readMachineClock()
      const chained = {
        offsetMs: ownTicks.offsetMs - machine.offsetMs + own.offsetMs,
        boundMs: ownTicks.boundMs + machine.boundMs + own.boundMs,
      }
      if (Math.abs(exchanged.offsetMs - chained.offsetMs) > exchanged.boundMs + chained.boundMs)
        throw new Error(
          `The clock of ${exchanged.name} is ${exchanged.offsetMs.toFixed(2)} ms from the server's by exchanges and ${chained.offsetMs.toFixed(2)} ms by the machine's clock: one of them was set meanwhile. Run it again.`,
        )
      found.push({ ...exchanged, errorMs: errorOf(chained) })
    }
    refuseWrongClocks(found, when)
    return found
  }
}
