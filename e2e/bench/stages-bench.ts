// `bench stages`: what stamping the stages of messages adds to their time and to the server's, with and without it in turns.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { type Mode, modes } from '../../server/wire/modes.ts'
import { meanOfClusters } from '../../server/wire/t-test.ts'
import { readFlags, whole, words } from '../lab/flags.ts'
import { requireMode } from '../lab/mode-names.ts'
import { median, roundedInterval, significant } from '../lab/statistics.ts'
import { textTable } from '../lab/terminal-output.ts'
import { type LoadProcess, startLoadProcess } from '../load/load-process.ts'
import { count, figure, interval } from '../report/section.ts'
import { type BenchServer, startMode } from './bench-server.ts'
import { figuresOf, takeTurn, turnsOf } from './bench-turn.ts'

const schema = z.object({
  modes: words.default(['all']),
  windows: whole(1, 1000).default(5),
  rate: whole(1, 1000).default(50),
  seconds: whole(1, 600).default(2),
  rounds: whole(2, 100).default(7),
  json: z.string().min(1).optional(),
})

const help = `npm run bench -- stages [flags]

  One window writes and all receive, over a server that stamps the stages of every message, as those of the lab do, and
  over one that does not. The two take turns; each round gives one difference of the medians, and one of the server's
  processor time for a message.

  --modes LIST  modes of Crosswind, or all   all
  --windows N   windows that receive         5
  --rate N      messages a second            50
  --seconds N   measured time of each turn   2
  --rounds N    turns of each                7
  --json FILE   also writes the figures to a file

  The interval is Student's over the rounds. The clients run in Node, so that the time has no browser in it.
`

const openingAtOnce = 32

interface Subject {
  readonly mode: Mode
  readonly stages: boolean
  readonly server: BenchServer
}

export const stagesBench = {
  help,
  async run(argv: readonly string[], onStep: (step: string) => void, signal: AbortSignal) {
    const { modes: names, ...options } = readFlags(schema, argv)
    const measured = names.includes('all') ? modes : names.map(requireMode)
    await using opened = new AsyncDisposableStack()
    const load = startLoadProcess(signal)
    opened.defer(load.end)
    const subjects: Subject[] = []
    for (const mode of measured) {
      for (const stages of [false, true]) {
        const server = await startMode(mode, { ...options, perBrowser: options.windows }, stages)
        opened.defer(server.close)
        subjects.push({ mode, stages, server })
      }
    }
    const taken = new Map(subjects.map((subject) => [subject, [] as Taken[]]))
    let lost = 0
    // The first round is a warm-up of every server.
    for (const [round, order] of turnsOf(subjects, options.rounds + 1).entries()) {
      for (const subject of order) {
        onStep(
          `round ${round} of ${options.rounds}  ${subject.mode.name}${subject.stages ? ', stamped' : ''}`,
        )
        const turn = await takeOne(subject, load, options, `r${round}`, signal)
        if (round === 0) continue
        lost += turn.lost
        taken.get(subject)?.push({
          medianMs: median(turn.latenciesMs),
          cpuMs: turn.cpuMs / (options.rate * options.seconds),
        })
      }
    }
    const rows = measured.map((mode) => rowOf(mode, taken))
    return {
      text: `${tableOf(rows)}\n\n  ${await loopWords()}`,
      failures: lost > 0 ? [`${lost} messages were lost.`] : [],
      rows,
      isComplete: lost === 0,
      json: options.json,
    }
  },
}

function takeOne(
  { server }: Subject,
  load: LoadProcess,
  { windows, rate, seconds }: { windows: number; rate: number; seconds: number },
  channel: string,
  signal: AbortSignal,
) {
  const plan = {
    ...{ windows, rate, channel: `stages-${channel}`, openingAtOnce, perBrowser: windows },
    ...{ warmupMessages: rate, messages: rate * seconds, settleMs: 500, graceMs: 5000 },
  }
  return takeTurn(server, [load], plan, signal)
}

/** The stamps alone, without a server: nothing else varies. */
async function loopWords(): Promise<string> {
  const stamps = pathToFileURL(join(import.meta.dirname, '../lab/stage-stamps.ts')).href
  const child = fork(join(import.meta.dirname, 'stages-loop.ts'), [], {
    execArgv: [...process.execArgv, '--import', stamps],
  })
  const [micros] = (await once(child, 'message')) as [number[]]
  const { p50, min, max } = figuresOf(micros)
  return `In a loop, the stamps of a message take ${figure(p50)} µs of processor time (${figure(min)} to ${figure(max)}).`
}

interface Taken {
  readonly medianMs: number
  /** Of the server, for a message. */
  readonly cpuMs: number
}

function rowOf({ name }: Mode, taken: ReadonlyMap<Subject, readonly Taken[]>) {
  const roundsOf = (stages: boolean) =>
    [...taken].find(([subject]) => subject.mode.name === name && subject.stages === stages)?.[1] ?? []
  const [plain, stamped] = [roundsOf(false), roundsOf(true)]
  const addedTo = (figure: keyof Taken) =>
    meanOfClusters(stamped.map((one, round) => 1000 * (one[figure] - (plain[round]?.[figure] ?? Number.NaN))))
  const [added, cpuAdded] = [addedTo('medianMs'), addedTo('cpuMs')]
  return {
    mode: name,
    p50Ms: significant(median(plain.map(({ medianMs }) => medianMs))),
    addedMicros: significant(added.difference),
    addedMicrosCi95: roundedInterval(added.interval),
    cpuAddedMicros: significant(cpuAdded.difference),
    cpuAddedMicrosCi95: roundedInterval(cpuAdded.interval),
    rounds: plain.length,
  }
}

function tableOf(rows: readonly ReturnType<typeof rowOf>[]): string {
  return textTable<(typeof rows)[number]>(
    [
      ['mode', ({ mode }) => mode],
      ['median ms', ({ p50Ms }) => figure(p50Ms)],
      ['stamps add µs', ({ addedMicros }) => figure(addedMicros)],
      ['95 % interval', ({ addedMicrosCi95 }) => interval(addedMicrosCi95)],
      ['to the CPU µs', ({ cpuAddedMicros }) => figure(cpuAddedMicros)],
      ['95 % interval', ({ cpuAddedMicrosCi95 }) => interval(cpuAddedMicrosCi95)],
      ['rounds', ({ rounds }) => count(rounds)],
    ],
    rows,
  )
}
