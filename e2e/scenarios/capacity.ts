// Ramps of pinging windows, as in the SocketCluster thesis of 2014; modes and peers take turns.

import { createSeededRandom, type Random, shuffled } from '../../client/wire.ts'
import type { Plan } from '../lab/estimate.ts'
import { flag, seed, whole } from '../lab/flags.ts'
import { requireModes } from '../lab/mode-names.ts'
import { requireProc } from '../lab/process-recorder.ts'
import type { Turn } from '../lab/standings.ts'
import { defineStudy, type StudyRun } from '../lab/study-experiment.ts'
import { rampMs } from '../load/ramp.ts'
import { count, figure, formatLoad, several } from '../report/section.ts'
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
import { filesOf, sectionsOf } from './capacity-report.ts'
import {
  type CapacitySummary,
  clientBounds,
  design,
  failuresOf,
  findingOf,
  ownFigures,
  type RampRow,
  rampName,
  rampRow,
} from './capacity-study.ts'

/** The others, which ratios and speed-ups are computed from, run in every session. */
const maxTurns: Readonly<Partial<Record<ExperimentName, number>>> = {
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
      setups.filter(({ experiment }) => place < (maxTurns[experiment] ?? sessions)),
      random,
    ),
  )
}

/** For a server and load processes to start and end. */
const aroundMs = 3500

export const capacity = defineStudy({
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

  design,

  own: ({ samples }: StudyRun) => ownFigures(samples),

  finding: (_, found) => [...(found.broken ?? []), ...findingOf(found)].join(' '),

  isFailure: (summary) => failuresOf(summary).length > 0,

  sections: sectionsOf,

  method: methodOf,

  plan(options): Plan {
    const turns = turnsOf(rampsOf(options), options.sessions, createSeededRandom(options.seed))
    const wholeMs = (setup: RampSetup): number => {
      const next = nextOf(setup, options)
      return rampMs(setup) + setup.holdSeconds * 1000 + aroundMs + (next ? wholeMs(next) : 0)
    }
    return { sessionMs: turns.map((turn) => turn.reduce((sum, setup) => sum + wholeMs(setup), 0)) }
  },

  async measure(options, lab): Promise<StudyRun> {
    requireProc()
    const { sessions, seed, clients, rate, seconds, hold, period, experiments } = options
    const setups = rampsOf(options)
    if (setups.length === 0) throw new Error('--experiments, --modes and --peers leave no ramp.')
    const turns = turnsOf(setups, sessions, createSeededRandom(seed))
    lab.progress.say(`${turns.flat().length} ramps in ${several(sessions, 'session')}; --seed ${seed}.`)
    const compared = setups.filter(({ experiment }) => experiment === 'comparison').map(rampName)
    lab.progress.compare({
      title: 'Ramp',
      caption: 'Server CPU in seconds',
      subjects: [],
      baselineOf: (ramp) => (compared.includes(ramp) ? compared[0] : undefined),
    })
    const measured = await lab.sessions(sessions, async (session) => {
      const ramps: { readonly setup: RampSetup; readonly ramp: RampRecord }[] = []
      for (const [turn, setup] of (turns[session - 1] ?? []).entries()) {
        lab.signal.throwIfAborted()
        const name = rampName(setup)
        lab.progress.step(`${session}  ${name}`)
        for (let next: RampSetup | null = setup; next; ) {
          const ramp: RampRecord = await measureRamp(
            next,
            { session, turn: turn + 1, seed },
            lab.signal,
          ).catch((cause) => {
            throw new Error(`${name}: ${cause instanceof Error ? cause.message : cause}`, { cause })
          })
          const row = rampRow(ramp)
          lab.progress.took(turnOfRamp(row), lineOf(row))
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
      ...runOf(
        // In the table's order, not that of the turns.
        setups.flatMap((setup) => measured.flat().flatMap((one) => (one.setup === setup ? [one.ramp] : []))),
      ),
    }
  },
})

function turnOfRamp({ ramp, experiment, due, missing, serverCpuMs }: RampRow): Turn {
  return {
    subject: ramp,
    group: experiment,
    values: [serverCpuMs / 1000],
    received: due - missing,
    expected: due,
  }
}

/** `ramps`: in the order of the tables. */
export function runOf(ramps: readonly RampRecord[]) {
  const samples = ramps.map(rampRow)
  return {
    levels: { ramp: [...new Set(samples.map(({ ramp }) => ramp))] },
    baseline: null,
    samples,
    files: filesOf(ramps),
  }
}

function methodOf({ ramps, environment }: CapacitySummary): readonly string[] {
  const limited = ramps.some(({ limitedSessions }) => limitedSessions > 0)
  return [
    `Server and clients shared one machine with ${environment.cores} cores; ${formatLoad({ environment })}.`,
    ...(limited
      ? []
      : [
          `In no ramp were the clients the bottleneck: no load process used more than ${100 * clientBounds.share} % of a core in the second half of a ramp, and 99 % of its openings and pings were at most ${clientBounds.latenessP99Ms} ms late.`,
        ]),
  ]
}

function lineOf(row: RampRow): string {
  const { ramp, session, opened, failed, dropped, missing, windows, serverCpuMs, roundTripP50Ms } = row
  const lost = failed + dropped + missing
  const trouble = lost === 0 ? '' : `, ${failed} failed, ${dropped} dropped, ${missing} pings missing`
  return `${`${session}  ${ramp}`.padEnd(52)} ${count(opened)} of ${count(windows)} open, server CPU ${figure(serverCpuMs / 1000)} s, round trip ${figure(roundTripP50Ms)} ms${trouble}`
}
