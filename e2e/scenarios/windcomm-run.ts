// The WindComm run from flags to report: networks, measuring, writing.

import { describeEnvironment, loadNow } from '../lab/environment.ts'
import { reportFolder, requireFree, writeFolder } from '../lab/out.ts'
import { requireMode } from '../lab/subject.ts'
import type { Site, WindRun } from '../lab/windcomm/run.ts'
import { analyse, type WindSummary } from '../lab/windcomm/summary.ts'
import { profiles, scaled } from '../network/profiles.ts'
import { windcommFiles } from '../render/windcomm/files.ts'
import { terminalTable } from '../render/windcomm/terminal.ts'
import { createWindProgress } from './windcomm/progress.ts'
import { runWindcomm, warmUpReadings } from './windcomm.ts'
import type { WindcommOptions } from './windcomm-options.ts'

export interface Finished {
  readonly folder: string
  readonly summary: WindSummary
  /** The run in a screen's width. */
  readonly table: string
}

/** Writes the report's folder, whatever was found; when the run fails, or the signal aborts, nothing is written. */
export async function windcommRun(
  options: WindcommOptions,
  command: string,
  signal: AbortSignal,
): Promise<Finished> {
  const startedAt = new Date()
  const folder = options.out ?? reportFolder('windcomm', startedAt)
  await requireFree(folder)
  const loadBefore = loadNow()
  const progress = createWindProgress(process.stdout)
  const { readings, rateHz, holdMs, intervalMs, faster, seed } = options
  const sites = sitesOf(options)
  const modes = options.modes.map(requireMode)
  progress.say(announcement(options))
  const plan = { sites, modes, readings, rateHz, polling: { holdMs, intervalMs }, seed }
  const { browser, ...measured } = await runWindcomm(plan, progress, signal)
  const run: WindRun = {
    ...measured,
    ...{ rateHz, holdMs, intervalMs, faster, warmUpReadings, sites },
    modes: options.modes,
    command: command.includes('--seed') ? command : `${command} --seed ${seed}`,
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    environment: describeEnvironment({
      browser,
      server: 'a process of its own on this machine, its log in SQLite',
      loadBefore,
    }),
    parameters: parametersOf(options),
  }
  progress.say('All readings are in; working out what they say.')
  const summary = analyse(run)
  await writeFolder(folder, windcommFiles(run, summary))
  return { folder, summary, table: terminalTable(summary) }
}

/** A seed of its own for each site, so that stalls do not come everywhere at once. */
function sitesOf({ sites, faster, seed, browsersAt }: WindcommOptions): readonly Site[] {
  return sites.map((name, place) => ({
    name,
    profile: scaled(profiles[name], faster),
    seed: (seed + place) % 2 ** 32,
    windows: name === browsersAt ? 'browser' : 'client',
  }))
}

function announcement(options: WindcommOptions): string {
  const { sites, modes, readings, rateHz, faster, seed } = options
  const pace = faster === 1 ? '' : `, ${faster} times as fast: rate, hold, interval and delays together`
  const seconds = Math.round(readings / rateHz)
  return `${readings} readings at ${rateHz} Hz (${seconds} s) to ${sites.join(', ')} over ${modes.join(', ')}, all at once, seed ${seed}${pace}.`
}

function parametersOf(options: WindcommOptions): WindRun['parameters'] {
  const { sites, modes, readings, rateHz, holdMs, intervalMs, faster, browsersAt, seed } = options
  return {
    sites: sites.join(', '),
    modes: modes.join(', '),
    readings,
    rateHz,
    holdMs,
    intervalMs,
    faster,
    browsersAt: browsersAt ?? 'none',
    seed,
  }
}
