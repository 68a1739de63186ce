// The keystroke run from flags to report: servers, browsers, measuring, writing.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, startBrowser } from '../browser/browser.ts'
import { describeEnvironment, loadNow } from '../lab/environment.ts'
import { reportFolder, requireFree, writeFolder } from '../lab/out.ts'
import { createProgress, type Progress } from '../lab/progress.ts'
import type { ClockCheck, Run } from '../lab/samples.ts'
import { joinServer, type MeasuredServer, startServerProcess } from '../lab/server-process.ts'
import { analyse, type Summary } from '../lab/stats/analysis.ts'
import { requireMode, type Subject } from '../lab/subject.ts'
import { csv } from '../render/csv.ts'
import { html } from '../render/html.ts'
import { json } from '../render/json.ts'
import { markdown } from '../render/markdown.ts'
import { type Measured, runKeystrokes } from './keystrokes.ts'
import { baselineOf, type KeystrokeOptions } from './keystrokes-options.ts'

const root = join(import.meta.dirname, '../..')

export interface Finished {
  readonly folder: string
  readonly summary: Summary
}

/** Writes the report's folder and resolves to it; when the run fails, or the signal aborts, nothing is written. */
export async function keystrokeRun(
  options: KeystrokeOptions,
  command: string,
  signal: AbortSignal,
): Promise<Finished> {
  const startedAt = new Date()
  const folder = options.out ?? reportFolder('keystrokes', startedAt)
  await requireFree(folder)
  const loadBefore = loadNow()
  const progress = createProgress(process.stdout, options.blocks)
  await using opened = new AsyncDisposableStack()
  const subjects = await openSubjects(options, opened)
  const browsers = await openBrowsers(options, opened)
  signal.throwIfAborted()
  const clock: ClockCheck['method'] = options.remote.length > 0 ? 'server exchange' : 'one machine'
  announce(progress, options, browsers)
  const plan = {
    ...options,
    subjects,
    browsers,
    warmupKeys: options.warmup,
    intervalMs: options.interval,
    clock,
  }
  const measured = await runKeystrokes(plan, progress, signal)
  const environment = describeEnvironment({
    browser: browsers.map(({ version }) => version).join(', '),
    server: serverWords(options),
    loadBefore,
  })
  const run = {
    ...runOf(options, command, measured, clock),
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    environment,
  }
  return write(run, folder)
}

/** Crosswind's modes in the order asked for, then each peer's imitation of them. */
async function openSubjects(options: KeystrokeOptions, opened: AsyncDisposableStack): Promise<Subject[]> {
  const server = await openServer(options, opened)
  opened.defer(server.close)
  const modes = options.modes.map(requireMode)
  const subjects: Subject[] = modes.map((mode) => ({ name: mode.name, mode, server, forgets: false }))
  for (const peer of options.peers) {
    const peerServer = await startServerProcess(join(root, 'e2e/peers', peer, 'server.ts'), [])
    opened.defer(peerServer.close)
    subjects.push(
      ...modes.map((mode) => ({ name: `${peer}:${mode.name}`, mode, server: peerServer, forgets: true })),
    )
  }
  return subjects
}

async function openServer(
  { server, sensor }: KeystrokeOptions,
  opened: AsyncDisposableStack,
): Promise<MeasuredServer> {
  if (server !== undefined) return joinServer(server)
  // A log of its own: neither what somebody wrote before nor a server that runs already has part in the run.
  const dataFolder = await mkdtemp(join(tmpdir(), 'crosswind-lab-'))
  opened.defer(() => rm(dataFolder, { recursive: true, force: true }))
  const ports = ['--port', '0', '--http1-port', '0', '--host', 'localhost']
  const flags = [...ports, '--sensor-source', sensor, '--data-folder', dataFolder]
  return startServerProcess(join(root, 'server/main.ts'), flags)
}

async function openBrowsers(
  { headed, remote }: KeystrokeOptions,
  opened: AsyncDisposableStack,
): Promise<Browser[]> {
  const browsers: Browser[] = []
  for (const place of [undefined, ...remote]) {
    const browser = await startBrowser({ headed, remote: place })
    opened.defer(browser.quit)
    browsers.push(browser)
  }
  return browsers
}

function announce(
  progress: Progress,
  { modes, windows, keys, blocks, peers }: KeystrokeOptions,
  browsers: readonly Browser[],
): void {
  const beside = peers.length > 0 ? `, each beside its ${peers.join(' and ')} page` : ''
  progress.say(
    `${keys} keys for each of ${modes.join(', ')}${beside}, in ${blocks} turns, ${windows} windows of ${browsers[0]?.version}.`,
  )
}

function serverWords({ server }: KeystrokeOptions): string {
  return server === undefined ? 'a process of its own on this machine, over loopback' : server
}

function runOf(
  options: KeystrokeOptions,
  command: string,
  { samples, serverUse, clockBoundMs }: Measured,
  method: ClockCheck['method'],
) {
  const { windows, keys, blocks, warmup, interval, sensor, headed } = options
  return {
    scenario: 'keystrokes',
    command,
    parameters: { windows, keys, blocks, warmup, interval, sensor, headed, remotes: options.remote.length },
    modes: [
      ...options.modes,
      ...options.peers.flatMap((peer) => options.modes.map((mode) => `${peer}:${mode}`)),
    ],
    baseline: baselineOf(options),
    samples,
    serverUse,
    clock: { method, boundMs: clockBoundMs },
  }
}

async function write(run: Run, folder: string): Promise<Finished> {
  const summary = analyse(run)
  await writeFolder(folder, {
    'samples.csv': csv(run),
    'summary.json': json(summary),
    'report.md': markdown(run, summary),
    'report.html': html(run, summary),
  })
  return { folder, summary }
}
