// Ramps of pinging windows, as in the SocketCluster thesis of 2014, at modes and peers in turns.

import { createSeededRandom, type Random, shuffled } from '../../server/wire/time.ts'
import { requireProc } from '../lab/process-recorder.ts'
import { describeEnvironment, loadNow } from '../lab/run-environment.ts'
import { Progress } from '../lab/terminal-output.ts'
import { rampMs } from '../load/ramp.ts'
import { reportFolder, requireFree, writeFolder } from '../report/render.ts'
import { count, figure } from '../report/section.ts'
import { analyse, cpuBetween, type Run, variantOf } from './capacity-analysis.ts'
import { measureRamp, type RampRecord, type RampSetup, rampsOf } from './capacity-ramps.ts'
import { capacityFiles } from './capacity-report.ts'
import type { CapacityOptions, ExperimentName } from './scenario-options.ts'

/** The others, from which the ratios and speed-ups come, have a turn in every session. */
const mostTurns: Readonly<Partial<Record<ExperimentName, number>>> = {
  clients: 2,
  switching: 2,
  period: 2,
  connections: 2,
  size: 2,
  // Hundreds of seconds each, and compared with nothing.
  most: 1,
}

/** The ramps of each session, in an order of its own. */
export function turnsOf(setups: readonly RampSetup[], sessions: number, random: Random): RampSetup[][] {
  return Array.from({ length: sessions }, (_, place) =>
    shuffled(
      setups.filter(({ experiment }) => place < (mostTurns[experiment] ?? sessions)),
      random,
    ),
  )
}

/** For a server and load processes to start and end. */
const aroundMs = 3500

/** Writes nothing after a failure or abort. */
export async function capacityRun(options: CapacityOptions, command: string, signal: AbortSignal) {
  requireProc()
  const startedAt = new Date()
  const folder = options.out ?? reportFolder('capacity', startedAt)
  await requireFree(folder)
  const loadBefore = loadNow()
  const progress = new Progress(process.stdout)
  const { sessions, seed, clients, rate, seconds, hold, period } = options
  const setups = rampsOf(options)
  if (setups.length === 0) throw new Error('--experiments, --modes and --peers leave no ramp.')
  const turns = turnsOf(setups, sessions, createSeededRandom(seed))
  const wholeMs = turns
    .flat()
    .reduce((sum, setup) => sum + rampMs(setup) + setup.holdSeconds * 1000 + aroundMs, 0)
  progress.say(
    `${turns.flat().length} ramps in ${sessions} session${sessions === 1 ? '' : 's'}, some ${Math.ceil(wholeMs / 60_000)} minutes; --seed ${seed}.`,
  )
  const measured: { readonly setup: RampSetup; readonly ramp: RampRecord }[] = []
  for (const [session, order] of turns.entries())
    for (const [turn, setup] of order.entries()) {
      signal.throwIfAborted()
      progress.update(`${session + 1}  ${setup.experiment}: ${variantOf(setup)}`)
      const ramp = await measureTurn(setup, { session: session + 1, turn: turn + 1, seed }, signal)
      progress.clear()
      progress.say(lineOf(ramp))
      measured.push({ setup, ramp })
    }
  // In the table's order, not in that of the turns.
  const ramps = setups.flatMap((setup) => measured.flatMap((one) => (one.setup === setup ? [one.ramp] : [])))
  const run: Run = {
    command,
    parameters: {
      ...{ rate, seconds, hold, period, clients, sessions, seed },
      experiments: options.experiments.join(', '),
    },
    ...{ seed, sessions, ramps },
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    environment: describeEnvironment({
      browser: 'none',
      server: 'processes of its own on this machine, over loopback',
      loadBefore,
    }),
  }
  const summary = analyse(run)
  await writeFolder(folder, capacityFiles(run, summary))
  return { folder, summary, isFailure: summary.failures.length > 0 }
}

async function measureTurn(
  setup: RampSetup,
  place: Parameters<typeof measureRamp>[1],
  signal: AbortSignal,
): Promise<RampRecord> {
  try {
    return await measureRamp(setup, place, signal)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : cause
    throw new Error(`${setup.experiment}, ${variantOf(setup)}: ${why}`, { cause })
  }
}

function lineOf(ramp: RampRecord): string {
  const { session, counts, windows, server, endMs, roundTripMs } = ramp
  const cpuMs = server.reduce((sum, process) => sum + cpuBetween(process, 0, endMs), 0)
  const name = `${session}  ${ramp.experiment}: ${variantOf(ramp)}`.padEnd(52)
  const lost = counts.failed + counts.dropped + counts.missing
  const trouble =
    lost === 0 ? '' : `, ${counts.failed} failed, ${counts.dropped} dropped, ${counts.missing} pings missing`
  return `${name} ${count(counts.opened)} of ${count(windows)} open, server CPU ${figure(cpuMs / 1000)} s, round trip ${figure(roundTripMs.p50)} ms${trouble}`
}
