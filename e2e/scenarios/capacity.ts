// Ramps of pinging windows, as in the SocketCluster thesis of 2014; modes and peers take turns.

import { createSeededRandom, type Random, shuffled } from '../../client/wire.ts'
import type { Plan } from '../lab/estimate.ts'
import { defineExperiment } from '../lab/experiment.ts'
import { flag, seed, whole } from '../lab/flags.ts'
import { requireModes } from '../lab/mode-names.ts'
import { requireProc } from '../lab/process-recorder.ts'
import type { Turn } from '../lab/standings.ts'
import { rampMs } from '../load/ramp.ts'
import { count, figure, several } from '../report/section.ts'
import {
  type ExperimentName,
  lostNothing,
  measureRamp,
  nextOf,
  type RampRecord,
  type RampSetup,
  rampFlags,
  rampsOf,
} from './capacity-ramps.ts'
import { report } from './capacity-report.ts'
import { analyse, cpuBetween, type Run, variantOf } from './capacity-summary.ts'

/** The others, which ratios and speed-ups are computed from, run in every session. */
const mostTurns: Readonly<Partial<Record<ExperimentName, number>>> = {
  clients: 2,
  switching: 2,
  period: 2,
  connections: 2,
  size: 2,
  // Takes hundreds of seconds each, and is compared with nothing.
  most: 1,
}

/** The ramps of each session, in its own order. */
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

export const capacity = defineExperiment({
  name: 'capacity',
  about: `Repeats the experiments of the 2014 SocketCluster thesis: windows open at a steady rate, each pings at its own random\n    period, and the server answers. Records processor time and memory of every process each second. Each ramp has its own server\n    and load processes; modes and peers take turns in changing order. Needs Linux. Exits with status 1 if a\n    window failed or was dropped, but in the experiment switching, and with --most-limit after the first ramp of most.`,
  flags: {
    ...rampFlags,
    sessions: flag(
      whole(1, 100).default(2),
      'N',
      'turns of the ramps of comparison and workers; the others run at most twice, those of most once',
    ),
    seed,
  },
  options(given) {
    requireModes(given.modes)
    if (given.experiments.length === 0) throw new Error('--experiments names no experiment.')
    return given
  },

  plan(options): Plan {
    const turns = turnsOf(rampsOf(options), options.sessions, createSeededRandom(options.seed))
    const wholeMs = (setup: RampSetup): number => {
      const next = nextOf(setup, options)
      return rampMs(setup) + setup.holdSeconds * 1000 + aroundMs + (next ? wholeMs(next) : 0)
    }
    return { sessionMs: turns.map((turn) => turn.reduce((sum, setup) => sum + wholeMs(setup), 0)) }
  },

  async measure(options, lab): Promise<Run> {
    requireProc()
    const { sessions, seed, clients, rate, seconds, hold, period, experiments } = options
    const setups = rampsOf(options)
    if (setups.length === 0) throw new Error('--experiments, --modes and --peers leave no ramp.')
    const turns = turnsOf(setups, sessions, createSeededRandom(seed))
    lab.say(`${turns.flat().length} ramps in ${several(sessions, 'session')}; --seed ${seed}.`)
    const compared = setups.filter(({ experiment }) => experiment === 'comparison').map(variantOf)
    lab.compare({
      title: 'Ramp',
      caption: 'Server CPU in seconds',
      subjects: [],
      baselineOf: (ramp) => (compared.includes(ramp) ? compared[0] : undefined),
    })
    const measured = await lab.sessions(sessions, async (session) => {
      const ramps: { readonly setup: RampSetup; readonly ramp: RampRecord }[] = []
      for (const [turn, setup] of (turns[session - 1] ?? []).entries()) {
        lab.signal.throwIfAborted()
        const name = `${setup.experiment}: ${variantOf(setup)}`
        lab.step(`${session}  ${name}`)
        for (let next: RampSetup | null = setup; next; ) {
          const ramp: RampRecord = await measureRamp(
            next,
            { session, turn: turn + 1, seed },
            lab.signal,
          ).catch((cause) => {
            throw new Error(`${name}: ${cause instanceof Error ? cause.message : cause}`, { cause })
          })
          lab.took(turnOfRamp(ramp), lineOf(ramp))
          ramps.push({ setup, ramp })
          next = lostNothing(ramp) ? nextOf(next, options) : null
        }
      }
      return ramps
    })
    return {
      ...lab.circumstances({
        browser: 'none',
        server: 'its own processes on this machine, over loopback',
        parameters: {
          rate,
          seconds,
          hold,
          period,
          clients,
          sessions,
          seed,
          experiments: experiments.join(', '),
        },
      }),
      seed,
      sessions: measured.length,
      // In the table's order, not that of the turns.
      ramps: setups.flatMap((setup) =>
        measured.flat().flatMap((one) => (one.setup === setup ? [one.ramp] : [])),
      ),
    }
  },

  analyse,

  report,
})

const serverCpuMs = ({ server, endMs }: RampRecord) =>
  server.reduce((sum, process) => sum + cpuBetween(process, 0, endMs), 0)

function turnOfRamp(ramp: RampRecord): Turn {
  const { due, missing } = ramp.counts
  const values = [serverCpuMs(ramp) / 1000]
  return { subject: variantOf(ramp), group: ramp.experiment, values, received: due - missing, expected: due }
}

function lineOf(ramp: RampRecord): string {
  const { session, counts, windows, roundTripMs } = ramp
  const name = `${session}  ${ramp.experiment}: ${variantOf(ramp)}`.padEnd(52)
  const lost = counts.failed + counts.dropped + counts.missing
  const trouble =
    lost === 0 ? '' : `, ${counts.failed} failed, ${counts.dropped} dropped, ${counts.missing} pings missing`
  return `${name} ${count(counts.opened)} of ${count(windows)} open, server CPU ${figure(serverCpuMs(ramp) / 1000)} s, round trip ${figure(roundTripMs.p50)} ms${trouble}`
}
