// Entry point of the lab: `npm run lab -- SCENARIO [flags]`.

import { suggestion } from '../server/config/suggestion.ts'
import { leaveWhenDone } from '../server/process.ts'
import { brokenBounds, readBudget } from './lab/budget.ts'
import { readResilienceOptions, readTrialOptions, resilienceHelp } from './scenarios/resilience-options.ts'
import {
  capacityHelp,
  keystrokesHelp,
  payloadHelp,
  pubsubHelp,
  readCapacityOptions,
  readKeystrokeOptions,
  readPayloadOptions,
  readPubsubOptions,
  readReanalysis,
  readWindcommOptions,
  readWindowsOptions,
  windcommHelp,
  windowsHelp,
} from './scenarios/scenario-options.ts'

const help = `npm run lab -- SCENARIO [flags]

  Scenarios
    capacity     opens windows at a steady rate that ping, and records CPU and memory of every process
    keystrokes   types 200 keys in one of five windows and times each to every window, mode by mode
    payload      times messages of 10 B to 1 MB
    pubsub       times a message of each of 50 to 10,000 users at once, without and through brokers
    resilience   counts lost, repeated and reordered messages under cuts, stalls, restarts, kills and floods
    windcomm     times wind readings to distant windows, over all transports at once
    windows      counts how many windows each mode carries, and times keys to 1 to 32 of them

  npm run lab -- SCENARIO --help lists its flags. Every scenario takes one more:
    --budget FILE  bounds of its figures, JSON; docs/measuring.md describes it

  Exit status: 0; 1 if the run failed or a promise of the scenario was broken; 2 if a figure is out of its bounds;
  130 if it was stopped.
`

interface Outcome {
  readonly folder: string
  readonly summary: { readonly finding: string }
  readonly table?: string
  readonly isFailure?: boolean
}

interface Scenario {
  readonly help: string
  /** Rejects wrong flags before the scenario's modules, which take two seconds to load. */
  readonly run: (flags: readonly string[], command: string, signal: AbortSignal) => Promise<Outcome>
}

const scenarios: Readonly<Record<string, Scenario>> = {
  capacity: {
    help: capacityHelp,
    async run(flags, ...rest) {
      const options = readCapacityOptions(flags)
      return (await import('./scenarios/capacity.ts')).capacityRun(options, ...rest)
    },
  },
  keystrokes: {
    help: keystrokesHelp,
    async run(flags, ...rest) {
      const options = readKeystrokeOptions(flags)
      return (await import('./scenarios/keystrokes.ts')).keystrokeRun(options, ...rest)
    },
  },
  payload: {
    help: payloadHelp,
    async run(flags, ...rest) {
      const options = readPayloadOptions(flags)
      return (await import('./scenarios/payload.ts')).payloadRun(options, ...rest)
    },
  },
  pubsub: {
    help: pubsubHelp,
    async run(flags, ...rest) {
      const options = readPubsubOptions(flags)
      return (await import('./scenarios/pubsub.ts')).pubsubRun(options, ...rest)
    },
  },
  resilience: {
    help: resilienceHelp,
    async run(flags, ...rest) {
      const trials = readTrialOptions(flags)
      if (trials) return (await import('./scenarios/resilience-trials.ts')).trialsRun(trials, ...rest)
      const options = readResilienceOptions(flags)
      return (await import('./scenarios/resilience.ts')).resilienceRun(options, ...rest)
    },
  },
  windows: {
    help: windowsHelp,
    async run(flags, ...rest) {
      const options = readWindowsOptions(flags)
      return (await import('./scenarios/windows.ts')).windowsRun(options, ...rest)
    },
  },
  windcomm: {
    help: windcommHelp,
    async run(flags, ...rest) {
      const reanalysis = readReanalysis(flags)
      const options = readWindcommOptions(flags)
      const { windcommReanalysis, windcommRun } = await import('./scenarios/windcomm.ts')
      return reanalysis ? windcommReanalysis(reanalysis) : windcommRun(options, ...rest)
    },
  },
}

leaveWhenDone()
const stopping = new AbortController()
process.once('SIGINT', stop)
process.once('SIGTERM', stop)

try {
  await run(process.argv.slice(2))
} catch (error) {
  const why = error instanceof Error ? error.message : error
  console.error(stopping.signal.aborted ? '\n  Stopped; no report was written.' : `\n  ${why}`)
  process.exitCode = stopping.signal.aborted ? 130 : 1
}

async function run([name, ...flags]: readonly string[]): Promise<void> {
  if (name === undefined || name === '--help' || name === '-h') return void process.stdout.write(help)
  const scenario = Object.hasOwn(scenarios, name) ? scenarios[name] : undefined
  if (!scenario)
    throw new Error(
      `There is no scenario "${name}"${suggestion(name, Object.keys(scenarios), `; there are ${Object.keys(scenarios).join(', ')}.`)}`,
    )
  if (flags.includes('--help') || flags.includes('-h')) return void process.stdout.write(scenario.help)
  const command = ['npm run lab --', name, ...flags].join(' ')
  const { budgetFile, rest } = withoutBudget(flags)
  // Before the run, which takes minutes.
  const budget = budgetFile === null ? null : await readBudget(budgetFile)
  const { folder, summary, table, isFailure } = await scenario.run(rest, command, stopping.signal)
  if (table !== undefined) console.log(`\n${table}`)
  console.log(`\n  ${summary.finding}\n\n  ${folder}/report.html\n`)
  process.exitCode = isFailure ? 1 : 0
  if (budget === null) return
  const broken = brokenBounds(budget, summary)
  for (const sentence of broken) console.error(`  Over budget: ${sentence}`)
  if (broken.length > 0) process.exitCode ||= 2
  else console.log(`  Within the budget of ${budgetFile}.\n`)
}

function withoutBudget(flags: readonly string[]) {
  const place = flags.findIndex((flag) => flag === '--budget' || flag.startsWith('--budget='))
  if (place < 0) return { budgetFile: null, rest: flags }
  const [name = '', joined] = (flags[place] ?? '').split(/=(.*)/s)
  const budgetFile = joined ?? flags[place + 1] ?? ''
  if (budgetFile === '' || budgetFile.startsWith('--')) throw new Error(`${name} needs a file.`)
  return { budgetFile, rest: flags.toSpliced(place, joined === undefined ? 2 : 1) }
}

/** The first signal closes browsers and servers; the second exits at once. */
function stop(): void {
  stopping.abort(new Error('stopped'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
}
