// Entry point of the lab: `npm run lab -- SCENARIO [flags]`.

import { leaveWhenDone } from '../server/leave.ts'
import { keystrokesHelp, readKeystrokeOptions } from './scenarios/keystrokes-options.ts'
import { readResilienceOptions, resilienceHelp } from './scenarios/resilience-options.ts'
import { readWindcommOptions, windcommHelp } from './scenarios/windcomm-options.ts'

const help = `npm run lab -- SCENARIO [flags]

  Scenarios
    keystrokes   200 keys in one of five windows, timed to every window, for each transport in turns
    resilience   cuts, stalls, restarts, kill -9, floods: is anything lost, repeated or reordered?
    windcomm     a wind sensor's readings timed to far away places, over every transport at once

  npm run lab -- SCENARIO --help lists its flags.
`

interface Told {
  readonly folder: string
  readonly summary: { readonly finding: string }
}

leaveWhenDone()
const stopping = new AbortController()
process.once('SIGINT', stop)
process.once('SIGTERM', stop)

try {
  await run(process.argv.slice(2))
} catch (error) {
  const isStopped = stopping.signal.aborted
  console.error(
    isStopped
      ? '\n  Stopped; no report was written.'
      : `\n  ${error instanceof Error ? error.message : error}`,
  )
  process.exitCode = isStopped ? 130 : 1
}

async function run([scenario, ...flags]: readonly string[]): Promise<void> {
  const wantsHelp = flags.includes('--help') || flags.includes('-h')
  if (scenario === undefined || scenario === '--help' || scenario === '-h')
    return void process.stdout.write(help)
  const command = ['npm run lab --', scenario, ...flags].join(' ')
  if (scenario === 'resilience') return runResilience(flags, command, wantsHelp)
  if (scenario === 'windcomm') return runWindcomm(flags, command, wantsHelp)
  if (scenario !== 'keystrokes')
    throw new Error(`There is no scenario "${scenario}"; there are keystrokes, resilience and windcomm.`)
  if (wantsHelp) return void process.stdout.write(keystrokesHelp)
  const options = readKeystrokeOptions(flags)
  // Only now: browsers and figures take two seconds to load, and a wrong flag is to be said at once.
  const { keystrokeRun } = await import('./scenarios/keystrokes-run.ts')
  tell(await keystrokeRun(options, command, stopping.signal))
}

async function runResilience(flags: readonly string[], command: string, wantsHelp: boolean): Promise<void> {
  if (wantsHelp) return void process.stdout.write(resilienceHelp)
  const options = readResilienceOptions(flags)
  const { resilienceRun } = await import('./scenarios/resilience-run.ts')
  const { folder, summary, table } = await resilienceRun(options, command, stopping.signal)
  console.log(`\n${table}`)
  tell({ folder, summary })
  process.exitCode = summary.failures.length > 0 ? 1 : 0
}

async function runWindcomm(flags: readonly string[], command: string, wantsHelp: boolean): Promise<void> {
  if (wantsHelp) return void process.stdout.write(windcommHelp)
  const options = readWindcommOptions(flags)
  const [{ windcommRun }, { faultsIn }] = await Promise.all([
    import('./scenarios/windcomm-run.ts'),
    import('./lab/windcomm/summary.ts'),
  ])
  const { folder, summary, table } = await windcommRun(options, command, stopping.signal)
  console.log(`\n${table}`)
  tell({ folder, summary })
  // Where the paper is contradicted the report says so; only what went wrong with the readings ends a run badly.
  process.exitCode = faultsIn(summary) > 0 ? 1 : 0
}

function tell({ folder, summary }: Told): void {
  console.log(`\n  ${summary.finding}\n\n  ${folder}/report.html\n`)
}

/** The first signal ends the run in order, browsers and servers with it; a second one ends it at once. */
function stop(): void {
  stopping.abort(new Error('stopped'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
}
