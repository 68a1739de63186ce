// Messages of 10 B to 1 MB from one window to all, size by size, in sessions.

import { createSeededRandom, type Random, shuffled } from '../../server/wire/time.ts'
import { startBrowser } from '../browser/browser.ts'
import { openWindows, readClocks, sendProbes, showPages } from '../browser/typing.ts'
import { boundBetween, combine } from '../lab/clock.ts'
import {
  describeNetwork,
  describePlace,
  recordingAddress,
  startMeasuredServer,
} from '../lab/measured-server.ts'
import { requireMode } from '../lab/mode-names.ts'
import { describeEnvironment, loadNow } from '../lab/run-environment.ts'
import { median } from '../lab/statistics.ts'
import { Progress } from '../lab/terminal-output.ts'
import { type Link, meanLateness } from '../network/delay-link.ts'
import { reportFolder, requireFree, writeFolder } from '../report/render.ts'
import { hasArrived, matchBlock, transmissionMs } from './keystrokes-analysis.ts'
import { analyse, type PayloadSample, type Run, sizeOf } from './payload-analysis.ts'
import { payloadFiles } from './payload-report.ts'
import type { PayloadOptions } from './scenario-options.ts'

/** Writes nothing after a failure or abort. */
export async function payloadRun(options: PayloadOptions, command: string, signal: AbortSignal) {
  const startedAt = new Date()
  const folder = options.out ?? reportFolder('payload', startedAt)
  await requireFree(folder)
  const loadBefore = loadNow()
  const progress = new Progress(process.stdout)
  const { sessions, sizes, modes, windows, messages, warmup, interval, wait, seed, headed, profile } = options
  progress.say(
    `${messages} messages of each of ${sizes.map(sizeOf).join(', ')} for each of ${modes.join(', ')} in each of ${sessions} session${sessions === 1 ? '' : 's'}, ${windows} windows; --seed ${seed}.`,
  )
  const random = createSeededRandom(seed)
  const measured: Awaited<ReturnType<typeof measureSession>>[] = []
  for (let session = 1; session <= sessions; session += 1)
    measured.push(await measureSession(options, session, random, progress, signal))
  const uses = measured.flatMap((one) => one.uses)
  const run: Run = {
    command,
    parameters: {
      ...{ sizes: sizes.join(', '), windows, sessions, messages, warmup, interval, wait, seed, headed },
      ...(profile && { profile }),
    },
    modes,
    baseline: options.baseline,
    sizes,
    samples: measured.flatMap(({ samples }) => samples),
    serverUse: Object.fromEntries(
      modes.map((mode) => {
        const own = uses.filter((use) => use.mode === mode)
        const cpuMs = own.reduce((sum, use) => sum + use.cpuMs, 0)
        return [mode, { cpuMs, rssBytes: Math.max(...own.map(({ rssBytes }) => rssBytes)) }]
      }),
    ),
    waitMs: wait * 1000,
    clock: { method: 'one machine', boundMs: Math.max(...measured.map(({ boundMs }) => boundMs)) },
    ...describeNetwork(
      profile,
      measured.map(({ lateMs }) => lateMs),
    ),
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    environment: describeEnvironment({
      browser: measured[0]?.version ?? '',
      server: describePlace(profile),
      loadBefore,
    }),
  }
  const summary = analyse(run)
  await writeFolder(folder, payloadFiles(run, summary))
  return { folder, summary }
}

/** JSON and the log's own fields on top of the text. */
const envelopeBytes = 4096
/** The least that a server accepts by default: smaller limits would measure refusals. */
const usualMessageBytes = 1_048_576

async function measureSession(
  { sizes, modes, windows: count, messages, warmup, interval, wait, headed, ...options }: PayloadOptions,
  session: number,
  random: Random,
  progress: Progress,
  signal: AbortSignal,
) {
  await using opened = new AsyncDisposableStack()
  const links: Link[] = []
  const largest = Math.max(usualMessageBytes, ...sizes.map((bytes) => bytes + envelopeBytes))
  const settings = {
    ...{ 'sensor-source': 'none', share: 'none' },
    'limits-max-message-bytes': largest,
    'limits-queue-bytes-per-window': 4 * largest,
    'limits-outbox-bytes': 4 * largest,
  }
  const server = await startMeasuredServer('payload', settings, options, links, opened)
  const browser = await startBrowser({ headed })
  opened.defer(browser.quit)
  const windows = await openWindows([browser], count)
  const samples: PayloadSample[] = []
  const uses: { mode: string; cpuMs: number; rssBytes: number }[] = []
  let boundMs = 0
  for (const name of shuffled(modes, random)) {
    const address = `${recordingAddress(server, requireMode(name), 'payload')}&probes`
    await showPages(windows, address, { text: '', forgets: false })
    const usedBefore = await server.figures()
    for (const bytes of shuffled(sizes, random)) {
      signal.throwIfAborted()
      const pace = { bytes, intervalMs: interval, receivedWithinMs: wait * 1000 }
      if (warmup > 0) await sendProbes(windows, { ...pace, times: warmup }, signal)
      const clocksBefore = await readClocks(windows, 'one machine')
      const { sent, received } = await sendProbes(windows, { ...pace, times: messages }, signal)
      const clocksAfter = await readClocks(windows, 'one machine')
      const clocks = clocksBefore.map((before, place) => combine(before, clocksAfter[place] ?? before))
      const offsetsMs = clocks.map(({ offsetMs }) => offsetMs)
      boundMs = Math.max(boundMs, boundBetween(clocks))
      if (sent.length !== messages)
        throw new Error(
          `${name}: ${messages} messages of ${sizeOf(bytes)} were published, ${sent.length} found room.`,
        )
      const taken = matchBlock({ mode: name, session, block: 1, firstKey: 1, sent, received, offsetsMs })
      samples.push(...taken.map((sample) => ({ ...sample, bytes })))
      const times = taken.filter(hasArrived).map(transmissionMs)
      const middle = times.length > 0 ? `median ${median(times).toFixed(2)} ms` : 'nothing received'
      progress.say(
        `${`${session}  ${name}`.padEnd(20)} ${sizeOf(bytes).padStart(7)}  ${middle}  ${times.length} of ${taken.length} received`,
      )
    }
    const { cpuMs, rssBytes } = await server.figures()
    uses.push({ mode: name, cpuMs: cpuMs - usedBefore.cpuMs, rssBytes })
  }
  return {
    samples,
    uses,
    boundMs,
    version: browser.version,
    lateMs: meanLateness(links.map((link) => link.figures())),
  }
}
