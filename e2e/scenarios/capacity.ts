// Ramps of pinging windows, as in the SocketCluster thesis of 2014, at modes and peers in turns.

import { z } from 'zod'
import { createSeededRandom, type Random, shuffled } from '../../server/wire/time.ts'
import { defineExperiment, minutesWords } from '../lab/experiment.ts'
import { flag, names, numbers, seed, whole, wordsOnce } from '../lab/flags.ts'
import { requireModes } from '../lab/mode-names.ts'
import { requireProc } from '../lab/process-recorder.ts'
import { answeringPeers } from '../load/load-client.ts'
import { rampMs } from '../load/ramp.ts'
import { count, figure } from '../report/section.ts'
import {
  type ExperimentName,
  experimentNames,
  measureRamp,
  type RampRecord,
  type RampSetup,
  rampsOf,
} from './capacity-ramps.ts'
import {
  answersSection,
  comparisonSections,
  costSection,
  doubtsSection,
  processesCsv,
  rampsCsv,
  secondsCsv,
  speedUpSections,
  thesisSection,
  timeSections,
} from './capacity-report.ts'
import { analyse, cpuBetween, type Run, variantOf } from './capacity-summary.ts'

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

export const capacity = defineExperiment({
  name: 'capacity',
  about: `Repeats the experiments of the 2014 SocketCluster thesis: windows open at a steady rate, each pings at a random period of
    its own, and the server answers. Records processor time and memory of every process each second. Each ramp has a server
    and load processes of its own; modes and peers take turns in an order that changes. Needs Linux. Exits with status 1 if a
    window of the experiment most failed or was dropped, or a ping of it was not answered.`,
  flags: {
    experiments: flag(
      names(experimentNames).default([...experimentNames]),
      'LIST',
      experimentNames.join(', '),
      'all',
    ),
    modes: flag(
      wordsOnce.default(['websocket/1.1', 'sse/2']),
      'LIST',
      'modes of Crosswind; the first is also that of the other experiments',
    ),
    peers: flag(
      names(answeringPeers).default([...answeringPeers]),
      'LIST',
      `${answeringPeers.join(', ')}; or nothing ("")`,
      'all',
    ),
    workers: flag(numbers('1,2,3', 1, 64), 'LIST', 'workers to compare, with four times the windows'),
    clients: flag(whole(1, 64).default(2), 'N', 'load processes'),
    rate: flag(whole(1, 5000).default(40), 'N', 'windows that open each second'),
    seconds: flag(whole(2, 3600).default(20), 'N', 'duration of a ramp'),
    hold: flag(whole(1, 3600).default(8), 'N', 'seconds after it, with all windows open'),
    period: flag(
      z.coerce.number().min(0.1).max(600).default(2.5),
      'S',
      'mean time between two pings of a window; period, connections and size take 1.6 and 1.2 times it',
    ),
    file: flag(numbers('1000,500000', 1, 1_000_000), 'LIST', 'bytes of an answer, in the experiment size'),
    'per-browser': flag(
      numbers('1,10', 1, 1000),
      'LIST',
      'windows that share an HTTP/2 session, in the experiment comparison',
    ),
    'per-page': flag(whole(1, 100_000).default(100), 'N', 'windows that share a page'),
    connections: flag(
      whole(0, 1_000_000).default(25_000),
      'N',
      'of the experiment most, over the first mode whose windows share no connection; 0 for none',
    ),
    windows: flag(
      whole(0, 1_000_000).default(100_000),
      'N',
      'of the experiment most, over the first mode of HTTP/2, ten to a session; 0 for none',
    ),
    'most-rate': flag(
      whole(1, 5000).default(250),
      'N',
      'windows that open each second in the experiment most; of HTTP/2 four times as many',
    ),
    'most-hold': flag(whole(1, 3600).default(30), 'N', 'seconds after it'),
    sessions: flag(
      whole(1, 100).default(2),
      'N',
      'turns of the ramps of comparison and workers; the others come twice at most, those of most once',
    ),
    seed,
  },
  options(given) {
    requireModes(given.modes)
    if (given.experiments.length === 0) throw new Error('--experiments names no experiment.')
    return given
  },

  async measure(options, lab): Promise<Run> {
    requireProc()
    const { sessions, seed, clients, rate, seconds, hold, period, experiments } = options
    const setups = rampsOf(options)
    if (setups.length === 0) throw new Error('--experiments, --modes and --peers leave no ramp.')
    const turns = turnsOf(setups, sessions, createSeededRandom(seed))
    const wholeMs = turns
      .flat()
      .reduce((sum, setup) => sum + rampMs(setup) + setup.holdSeconds * 1000 + aroundMs, 0)
    lab.say(
      `${turns.flat().length} ramps in ${sessions} session${sessions === 1 ? '' : 's'}, some ${minutesWords(wholeMs)}; --seed ${seed}.`,
    )
    const measured: { readonly setup: RampSetup; readonly ramp: RampRecord }[] = []
    await lab.sessions(sessions, async (session) => {
      for (const [turn, setup] of (turns[session - 1] ?? []).entries()) {
        lab.signal.throwIfAborted()
        const name = `${setup.experiment}: ${variantOf(setup)}`
        lab.step(`${session}  ${name}`)
        const ramp = await measureRamp(setup, { session, turn: turn + 1, seed }, lab.signal).catch(
          (cause) => {
            throw new Error(`${name}: ${cause instanceof Error ? cause.message : cause}`, { cause })
          },
        )
        lab.say(lineOf(ramp))
        measured.push({ setup, ramp })
      }
    })
    return {
      ...lab.circumstances({
        browser: 'none',
        server: 'processes of its own on this machine, over loopback',
        parameters: {
          ...{ rate, seconds, hold, period, clients, sessions, seed },
          experiments: experiments.join(', '),
        },
      }),
      ...{ seed, sessions },
      // In the table's order, not in that of the turns.
      ramps: setups.flatMap((setup) => measured.flatMap((one) => (one.setup === setup ? [one.ramp] : []))),
    }
  },

  analyse,

  report: (run, summary) => ({
    sections: [
      answersSection(summary),
      ...comparisonSections(summary),
      ...speedUpSections(summary),
      costSection(summary),
      ...timeSections(run),
      thesisSection(summary),
      doubtsSection(summary),
    ],
    method: [
      `Each ramp started a server and ${summary.parameters.clients} load processes anew, with the settings of npm start but for limits that fit the ramp. Windows opened at fixed times, whether or not earlier ones were open yet; each drew one period, uniform from 0.2 to 1.8 times the mean, and pinged at its multiples without waiting for answers.`,
      'A ping is the smallest exchange of each: over WebSocket and streamed bodies Crosswind’s question for the time, in the other modes GET /api/clock on the window’s connection; with ws and Engine.IO a message and a message, with Socket.IO and SocketCluster an event and an event.',
      ...(summary.ramps.some(({ experiment }) => experiment === 'size')
        ? [
            'In the experiment “size” a peer answers with a buffer of that size. No frame of Crosswind asks for stored content, so that its windows read a page that holds one message of that size: over HTTP/2 on the window’s session, beside a WebSocket over a second connection, which is kept. That reading is a request with its checks, and costs more than an answer in the stream would.',
          ]
        : []),
      `${count(Math.max(...summary.ramps.map(({ perPage }) => perPage)))} windows shared a page: each hears who else is there. CPU and memory are the kernel’s, from /proc, in steps of 10 ms and once a second; between two samples CPU counts in proportion.`,
    ],
    data: {
      'ramps.csv': rampsCsv(run.ramps),
      'seconds.csv': secondsCsv(run.ramps),
      'processes.csv': processesCsv(run.ramps),
    },
    isFailure: summary.failures.length > 0,
  }),
})

function lineOf(ramp: RampRecord): string {
  const { session, counts, windows, server, endMs, roundTripMs } = ramp
  const cpuMs = server.reduce((sum, process) => sum + cpuBetween(process, 0, endMs), 0)
  const name = `${session}  ${ramp.experiment}: ${variantOf(ramp)}`.padEnd(52)
  const lost = counts.failed + counts.dropped + counts.missing
  const trouble =
    lost === 0 ? '' : `, ${counts.failed} failed, ${counts.dropped} dropped, ${counts.missing} pings missing`
  return `${name} ${count(counts.opened)} of ${count(windows)} open, server CPU ${figure(cpuMs / 1000)} s, round trip ${figure(roundTripMs.p50)} ms${trouble}`
}
