// Entry point of the lab: `npm run lab -- SCENARIO [flags]`.

import { keystrokesHelp, readKeystrokeOptions } from './scenarios/keystrokes-options.ts'
import type { Finished } from './scenarios/keystrokes-run.ts'

const help = `npm run lab -- SCENARIO [flags]

  Scenarios
    keystrokes   200 keys in one of five windows, timed to every window, for each transport in turns

  npm run lab -- keystrokes --help lists its flags.
`

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
  if (scenario !== 'keystrokes') throw new Error(`There is no scenario "${scenario}"; there is keystrokes.`)
  if (wantsHelp) return void process.stdout.write(keystrokesHelp)
  const options = readKeystrokeOptions(flags)
  const command = ['npm run lab --', scenario, ...flags].join(' ')
  // Only now: browsers and figures take two seconds to load, and a wrong flag is to be said at once.
  const { keystrokeRun } = await import('./scenarios/keystrokes-run.ts')
  tell(await keystrokeRun(options, command, stopping.signal))
}

function tell({ folder, summary }: Finished): void {
  console.log(`\n  ${summary.finding}\n\n  ${folder}/report.html\n`)
}

/** The first signal ends the run in order, browsers and servers with it; a second one ends it at once. */
function stop(): void {
  stopping.abort(new Error('stopped'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
}
