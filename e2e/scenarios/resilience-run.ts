// The resilience run from flags to report.

import { describeEnvironment, loadNow } from '../lab/environment.ts'
import { reportFolder, requireFree, writeFolder } from '../lab/out.ts'
import { requireMode } from '../lab/subject.ts'
import { resilienceFiles } from '../render/resilience/files.ts'
import { terminalTable } from '../render/resilience/terminal.ts'
import { brokenKinds } from '../resilience/faults.ts'
import { planFaults } from '../resilience/plan.ts'
import { createResilienceProgress } from '../resilience/progress.ts'
import { type ResilienceSummary, summarise } from '../resilience/summary.ts'
import { runResilience } from './resilience.ts'
import type { ResilienceOptions } from './resilience-options.ts'

export interface Finished {
  readonly folder: string
  readonly summary: ResilienceSummary
  /** The run in a screen's width. */
  readonly table: string
}

/** Writes the report's folder, whatever was found; when the signal aborts nothing is written. */
export async function resilienceRun(
  options: ResilienceOptions,
  command: string,
  signal: AbortSignal,
): Promise<Finished> {
  const startedAt = new Date()
  const folder = options.out ?? reportFolder('resilience', startedAt)
  await requireFree(folder)
  const loadBefore = loadNow()
  const progress = createResilienceProgress(process.stdout)
  const modes = options.modes.map(requireMode)
  const faults = planFaults(options.seed, options.seconds, options.modes, brokenKinds)
  const { cuts, restarts, kills } = faults.promised
  progress.say(
    `${options.windows} windows in ${modes.length} modes for ${options.seconds} s, seed ${options.seed}: at least ${cuts} cuts, ${restarts} restarts, ${kills} kills.`,
  )
  const { record, errors, browser } = await runResilience(
    { ...options, mayFall: options.ladder, modes, faults },
    progress,
    signal,
  )
  const { windows, seconds, rate, browsers, ladder, seed } = options
  const summary = summarise(record, {
    command,
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    environment: describeEnvironment({
      browser,
      server: 'a process of its own on this machine, over loopback, its log in SQLite',
      loadBefore,
    }),
    parameters: { windows, seconds, rate, browsers, ladder, seed },
    seed,
    promised: faults.promised,
    modes: options.modes,
  })
  await writeFolder(folder, { ...resilienceFiles(record, summary), 'server-errors.txt': errors })
  return { folder, summary, table: terminalTable(summary) }
}
