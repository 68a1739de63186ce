// `stages`: what stamping message stages adds to latency and server time, with and without in turn.

import { fork } from 'node:child_process'
import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { pathToFileURL } from 'node:url'
import { meanOfClusters } from '../../client/statistics.ts'
import { defineExperiment, turnsOf } from '../lab/experiment.ts'
import { flag, whole } from '../lab/flags.ts'
import { programs } from '../lab/programs.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { type Middle, median, middleOf, roundedInterval, significant } from '../lab/statistics.ts'
import { startLoadProcess } from '../load/load-process.ts'
import { modesFlag, overLoopback, startMode, takeTurn } from '../load/load-server.ts'
import { count, interval, middleWords, table, text } from '../report/section.ts'

const openingAtOnce = 32

interface Taken {
  readonly mode: string
  readonly isStamped: boolean
  readonly medianMs: number
  /** Server time per message. */
  readonly cpuMs: number
}

interface Run extends Circumstances {
  readonly modes: readonly string[]
  readonly turns: readonly Taken[]
  readonly lost: number
  readonly loopMicros: Middle
}

export const stages = defineExperiment({
  name: 'stages',
  about: `One window writes and all receive, over a server that stamps the stages of every message, as the lab's do, and over one\n    that does not. The two take turns; each round gives one difference of the medians, and one of the server’s processor time per\n    message.`,
  notes:
    'The interval is Student’s over the rounds. The clients run in Node, so that the time includes no browser.',
  isBench: true,
  flags: {
    modes: modesFlag('all'),
    windows: flag(whole(1, 1000).default(5), 'N', 'windows that receive'),
    rate: flag(whole(1, 1000).default(50), 'N', 'messages a second'),
    seconds: flag(whole(1, 600).default(2), 'N', 'measured time per turn'),
    rounds: flag(whole(2, 100).default(7), 'N', 'turns of each'),
  },
  options: (given) => given,

  async measure({ modes, ...options }, lab): Promise<Run> {
    const { windows, rate, seconds, rounds } = options
    await using opened = new AsyncDisposableStack()
    const load = startLoadProcess(lab.signal, opened)
    const subjects = []
    for (const mode of modes)
      for (const isStamped of [false, true]) {
        const server = await startMode(mode, { ...options, perBrowser: windows }, opened, {}, isStamped)
        subjects.push({ mode: mode.name, isStamped, server })
      }
    const turns: Taken[] = []
    let lost = 0
    // The first round warms up every server.
    for (const [round, order] of turnsOf(subjects, rounds + 1).entries()) {
      for (const { mode, isStamped, server } of order) {
        lab.step(`round ${round} of ${rounds}  ${mode}${isStamped ? ', stamped' : ''}`)
        const plan = {
          windows,
          rate,
          channel: `stages-r${round}`,
          openingAtOnce,
          perBrowser: windows,
          warmupMessages: rate,
          messages: rate * seconds,
          settleMs: 500,
          graceMs: 5000,
        }
        const turn = await takeTurn(server, [load], plan, lab.signal)
        if (round === 0) continue
        lost += turn.lost
        const cpuMs = turn.cpuMs / (rate * seconds)
        turns.push({ mode, isStamped, medianMs: median(turn.latenciesMs), cpuMs })
      }
    }
    const names = modes.map(({ name }) => name)
    const parameters = { modes: names.join(', '), ...options }
    const circumstances = lab.circumstances({ ...overLoopback, parameters })
    return { ...circumstances, modes: names, turns, lost, loopMicros: await measureLoop() }
  },

  analyse({ modes, turns, lost, loopMicros, ...circumstances }) {
    const finding = `In a loop, a message's stamps take ${middleWords(loopMicros)} µs of processor time.`
    const losses = lost > 0 ? ` ${count(lost)} messages were lost.` : ''
    const rows = modes.map((mode) => rowOf(mode, turns))
    return { scenario: 'stages', ...circumstances, rows, lost, loopMicros, finding: finding + losses }
  },

  report(_, { rows, lost }) {
    const tables = [
      table(
        'What stamps add per message',
        [
          ...['Mode', 'Median, ms', 'Stamps add, µs', text('95 % interval')],
          ...['To the CPU, µs', text('95 % interval'), 'Rounds'],
        ],
        rows.map((row) => [
          ...[row.mode, row.p50Ms, row.addedMicros, interval(row.addedMicrosCi95)],
          ...[row.cpuAddedMicros, interval(row.cpuAddedMicrosCi95), count(row.rounds)],
        ]),
      ),
    ]
    return { sections: [{ title: 'What stamps add', tables }], tables, isFailure: lost > 0 }
  },
})

/** The stamps alone, without a server, so that nothing else varies. */
async function measureLoop(): Promise<Middle> {
  const stamps = pathToFileURL(programs.stageStamps).href
  const child = fork(import.meta.filename, [], {
    execArgv: [...process.execArgv, '--import', stamps],
  })
  const [micros] = (await once(child, 'message')) as [number[]]
  return middleOf(micros)
}

function rowOf(mode: string, turns: readonly Taken[]) {
  const roundsOf = (isStamped: boolean) =>
    turns.filter((turn) => turn.mode === mode && turn.isStamped === isStamped)
  const plain = roundsOf(false)
  const stamped = roundsOf(true)
  const addedTo = (figure: 'medianMs' | 'cpuMs') =>
    meanOfClusters(stamped.map((one, round) => 1000 * (one[figure] - (plain[round]?.[figure] ?? Number.NaN))))
  const added = addedTo('medianMs')
  const cpuAdded = addedTo('cpuMs')
  return {
    mode,
    p50Ms: significant(median(plain.map(({ medianMs }) => medianMs))),
    addedMicros: significant(added.difference),
    addedMicrosCi95: roundedInterval(added.interval),
    cpuAddedMicros: significant(cpuAdded.difference),
    cpuAddedMicrosCi95: roundedInterval(cpuAdded.interval),
    rounds: plain.length,
  }
}

/**
 * Publishes the stages of messages in a loop; returns the processor time per message in each run,
 * µs.
 */
function timeStages(): number[] {
  const names = ['arrived', 'admitted', 'committing', 'stored', 'told']
  const [arrived, admitted, committing, stored, told] = names.map((name) => channel(`crosswind:${name}`))

  /** As the server does for messages of its log, one in each group. */
  function publish(first: number, count: number): void {
    for (let place = first; place < first + count; place += 1) {
      const source = {}
      const draft = { id: `window-${place}` }
      const group = [{ draft }]
      arrived?.publish(source)
      if (admitted?.hasSubscribers) admitted.publish({ id: draft.id, source })
      committing?.publish(group)
      stored?.publish(group)
      told?.publish(group)
    }
  }

  const messages = 9000
  const runs = 15
  // Compiles the code first.
  publish(0, 2 * messages)
  return Array.from({ length: runs }, (_, run) => {
    const before = process.cpuUsage()
    publish((run + 2) * messages, messages)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / messages
  })
}

if (import.meta.main) {
  process.send?.(timeStages())
  process.disconnect?.()
}
