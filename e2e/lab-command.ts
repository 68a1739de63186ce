// Entry point of the lab, doctor, conformance suite and report: `npm run lab -- NAME [flags]`.

import { leaveWhenDone, whenReaderIsGone } from '../scripts/process.ts'
import { suggestion } from '../scripts/suggestion.ts'
import { brokenBounds, readBudget } from './lab/budget.ts'
import { type Experiment, helpOf, paragraph, readOptions, runExperiment } from './lab/experiment.ts'
import { commandOf } from './lab/programs.ts'
import { enterNamespace, isInNamespace } from './network/packet-network.ts'
import { readProfile } from './network/profiles.ts'
import { reportAddress } from './report/render.ts'

type Entry = readonly [about: string, load: (flags: readonly string[]) => Promise<Experiment>]

const scenarios: Readonly<Record<string, Entry>> = {
  capacity: [
    'opens windows that ping at a steady rate, and records CPU and memory of every process',
    async () => (await import('./scenarios/capacity.ts')).capacity,
  ],
  conditions: [
    'times keys in each mode under one condition after another, such as another host or no keep-alive',
    async () => (await import('./scenarios/conditions.ts')).conditions,
  ],
  keystrokes: [
    'types 200 keys into one of five windows and times each to every window, mode by mode',
    async () => (await import('./scenarios/keystrokes.ts')).keystrokes,
  ],
  outages: [
    'counts what cut connections, restarts and kills lose, with and without brokers',
    async () => (await import('./scenarios/outages.ts')).outages,
  ],
  payload: ['times messages of 10 B to 1 MB', async () => (await import('./scenarios/payload.ts')).payload],
  pubsub: [
    'times one message each from 50 to 10,000 users at once, with and without brokers',
    async () => (await import('./scenarios/pubsub.ts')).pubsub,
  ],
  resilience: [
    'counts lost, repeated and reordered messages under cuts, stalls, restarts, kills and floods',
    async (flags) => (await import('./scenarios/resilience.ts')).experimentFor(flags),
  ],
  windcomm: [
    'times wind readings to distant windows, over all transports at once',
    async () => (await import('./scenarios/windcomm.ts')).windcomm,
  ],
  windows: [
    'counts how many windows each mode carries, and times keys to 1 to 32 of them',
    async () => (await import('./scenarios/windows.ts')).windows,
  ],
}

const benches: Readonly<Record<string, Entry>> = {
  fanout: [
    'server processor time per delivered message, memory and latency, for each mode and for bare relays',
    async () => (await import('./bench/fanout-bench.ts')).fanout,
  ],
  message: [
    'what one message costs the server, compared with bare relays',
    async () => (await import('./bench/fanout-bench.ts')).message,
  ],
  scaling: [
    'what a million windows need, computed from measured costs, and a check of the model',
    async () => (await import('./bench/scaling-bench.ts')).scaling,
  ],
  frames: [
    'processor time per frame of a wind sensor',
    async () => (await import('./bench/frames-bench.ts')).frames,
  ],
  transfer: [
    'the rate of a long transfer over a network that loses packets, beside its formula',
    async () => (await import('./bench/transfer-bench.ts')).transfer,
  ],
  stages: [
    "what the lab's stage stamps add to the time of a message",
    async () => (await import('./bench/stages-bench.ts')).stages,
  ],
  editor: [
    'what a keystroke costs both editors in Chromium',
    async () => (await import('./bench/editor-bench.ts')).editor,
  ],
  opening: [
    'opening a document with a long history in Chromium',
    async () => (await import('./bench/opening-bench.ts')).opening,
  ],
}

/** Each resolves to its exit status. */
const others: Readonly<
  Record<string, readonly [about: string, run: (words: readonly string[]) => Promise<number>]>
> = {
  doctor: [
    'says which modes get through from here to a running server, and which to choose',
    async (words) => (await import('./doctor/doctor.ts')).doctor(words, stoppable()),
  ],
  conformance: [
    'tests a running server against PROTOCOL.md',
    async (words) => (await import('./conformance/conformance.ts')).conformance(words),
  ],
  report: [
    'sets two runs side by side',
    async (words) => (await import('./report/compare-runs.ts')).report(words),
  ],
}

const listOf = (entries: Readonly<Record<string, readonly [about: string, ...unknown[]]>>) =>
  Object.entries(entries)
    .map(([name, [about]]) => `    ${name.padEnd(12)} ${about}`)
    .join('\n')

const lab = commandOf('lab')

const help = `${lab} NAME [flags]

  Scenarios, each with a report in reports/
${listOf(scenarios)}

  Benches
${listOf(benches)}

  Others
${listOf(others)}

  ${lab} NAME --help lists the flags of one. ${lab} keystrokes --quick takes a minute.

  Ctrl-C ends a run early, with a report of its whole sessions; a second Ctrl-C ends it at once, without one.

  Exit status: 0; 1 if the run failed or broke a promise of the scenario; 2 if a figure is out of its bounds;
  130 if it was stopped.
`

// The measurement continues, and writes its report.
whenReaderIsGone(() => undefined)

const stopping = new AbortController()

try {
  await run(process.argv.slice(2))
} catch (error) {
  const why = error instanceof Error ? error.message : error
  console.error(stopping.signal.aborted ? '\n  Stopped; no report was written.' : `\n  ${why}`)
  process.exitCode = stopping.signal.aborted ? 130 : 1
}
// A `bye` to a host that is gone would be resent for a quarter of an hour.
if (isInNamespace()) process.exit()

async function run([name, ...flags]: readonly string[]): Promise<void> {
  if (name === undefined || wantsHelp([name])) return void process.stdout.write(help)
  if (Object.hasOwn(others, name)) {
    process.exitCode = await others[name]?.[1](flags)
    return
  }
  const all = { ...scenarios, ...benches }
  const entry = Object.hasOwn(all, name) ? all[name] : undefined
  if (!entry) {
    const names = Object.keys({ ...all, ...others })
    throw new Error(
      `There is no scenario "${name}"${suggestion(name, names, `; there are ${names.join(', ')}.`)}`,
    )
  }
  const experiment = await entry[1](wantsHelp(flags) ? [] : flags)
  if (wantsHelp(flags)) return void process.stdout.write(helpOf(experiment))
  const options = readOptions(experiment, flags)
  // Before the run, which takes minutes.
  const budget = options.budget === undefined ? null : await readBudget(options.budget)
  const networks = options.from === undefined ? (experiment.networks?.(options.options) ?? []) : []
  const isCarried = experiment.carriesPackets?.(options.options) ?? false
  for (const network of networks) {
    if (readProfile(network)?.loss) enterNamespace(`The network ${network} loses packets`)
    if (isCarried) enterNamespace(`The network ${network} carries IP packets for HTTP/3`)
  }
  const command = [lab, name, ...flags].join(' ')
  const signal = stoppable()
  const { folder, summary, text, isFailure } = await runExperiment(experiment, options, command, signal)
  const paragraphs = [summary.finding, ...(summary.remarks ?? [])].map((words) =>
    paragraph(words, process.stdout.columns),
  )
  const parts = [...paragraphs, text, folder === null ? '' : `  ${reportAddress(folder)}`]
  console.log(`\n${parts.filter(Boolean).join('\n\n')}\n`)
  process.exitCode = signal.aborted ? 130 : isFailure ? 1 : 0
  if (budget === null) return
  const broken = brokenBounds(budget, summary)
  for (const sentence of broken) console.error(`  Over budget: ${sentence}`)
  if (broken.length > 0) process.exitCode ||= 2
  else console.log(`  Within the budget of ${options.budget}.\n`)
}

function wantsHelp(words: readonly string[]): boolean {
  return words.some((word) => word === '--help' || word === '-h')
}

/** Aborts on the first signal to this process. */
function stoppable(): AbortSignal {
  leaveWhenDone()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
  return stopping.signal
}

/** The first signal closes browsers and servers; the second exits at once. */
function stop(): void {
  if (stopping.signal.aborted) process.exit(130)
  stopping.abort(new Error('stopped'))
  console.error('\n  Stopping: Ctrl-C again ends at once, without a report.')
}
