// The library's door for the program that runs a server: what it prints, and how its start fails.

import { type CrosswindOptions, workersOf } from './library/options.ts'
import { replaceWarnings } from './node-internals.ts'
import { output } from './output.ts'
import { isWorker, tellPrimary, workerName } from './workers/workers.ts'

export { type Output, output } from './output.ts'
export { isWorker } from './workers/workers.ts'

/**
 * Selects the form of the output. As JSON, it includes what Node prints by itself: warnings, and an
 * uncaught error, which still ends the process with code 1. `workers`, as for `createCrosswind`, names the
 * processes in lines that are printed before the server is created.
 */
export function printAs(
  format: 'text' | 'json',
  { workers = 1 }: Pick<CrosswindOptions, 'workers'> = {},
): void {
  output.use(format)
  if (isWorker()) output.name(workerName())
  else if (workersOf({ workers }) > 1) output.name('log')
  if (format === 'text' || process.listenerCount('uncaughtException') > 0) return
  replaceWarnings(({ name, message }) => output.say('process-warning', `${name}: ${message}`))
  process.on('uncaughtException', (error) => {
    output.incident('crashed', 'The server failed', error)
    process.exit(1)
  })
}

/**
 * Prints that the program did not start (`sentence`) and why, and sets exit code 1. A worker ends at once,
 * and the first process prints its reason.
 */
export function reportFailedStart(sentence: string, error: unknown): void {
  const why = error instanceof Error ? error.message : String(error)
  if (isWorker()) tellPrimary({ type: 'failed', why }, () => process.exit(1))
  else output.say('not-started', `${sentence} ${why}`)
  process.exitCode = 1
}
