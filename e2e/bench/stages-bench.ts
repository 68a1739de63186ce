// `stages`: the cost of stamps in latency and server time, measured with and without them in turn.

import { fork } from 'node:child_process'
import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { pathToFileURL } from 'node:url'
import { flag, whole } from '../lab/flags.ts'
import { spokenName } from '../lab/mode-names.ts'
import { programs } from '../lab/programs.ts'
import { type Middle, median, middleOf, significant } from '../lab/statistics.ts'
import type { Analysis, Design, Measure } from '../lab/study.ts'
import { defineStudy, type StudyRun } from '../lab/study-experiment.ts'
import { hasLost, modeFactor } from '../lab/study-parts.ts'
import { turnsOf } from '../lab/turns.ts'
import { startLoadProcess } from '../load/load-process.ts'
import { type LoadServer, modesFlag, overLoopback, startMode, takeTurn } from '../load/load-server.ts'
import { figure, formatMiddle, interval, listed } from '../report/section.ts'

const openingAtOnce = 32

const latency: Measure = { name: 'medianMicros', title: 'Median latency', unit: 'µs', better: 'less' }
const processorTime: Measure = {
  name: 'cpuMicros',
  title: 'Processor time of the server for a message',
  unit: 'µs',
  better: 'less',
}

export const stagesDesign: Design = {
  question: 'What do the lab’s stamps add to a message?',
  factors: [
    { name: 'stamps', title: 'Server', spoken: (level) => `the ${level} server` },
    { ...modeFactor, spoken: (mode) => `in ${spokenName(String(mode))}` },
  ],
  measures: [latency, processorTime],
  notes: () => [
    'A sample is one delivery, a message at one window, but for figures it is one turn: the median of its latencies, and the server’s processor time over its messages. The clients run in Node, so that the time includes no browser.',
  ],
  remarks: formatAdded,
}

/** In microseconds, a sentence for each mode. */
function formatAdded({ comparisons }: Analysis): readonly string[] {
  const added = Map.groupBy(
    comparisons.filter(({ differenceCi95 }) => differenceCi95),
    ({ at }) => String(at.mode),
  )
  return Array.from(added, ([mode, own]) => {
    const words = own.map(({ measure, difference, differenceCi95 }) => {
      const to = measure === latency.name ? 'median latency' : 'server’s processor time'
      return `${figure(difference)} µs (${differenceCi95 && interval(differenceCi95)}) to the ${to}`
    })
    return `In ${spokenName(mode)}, stamps add ${listed(words)}.`
  })
}

export const stages = defineStudy({
  name: 'stages',
  about: `One window writes and all receive, over a server that stamps the stages of every message, as the lab's do, and over one\n    that does not. The two take turns; each session has fresh ones and gives one ratio and one difference of the medians, and\n    of the server’s processor time for a message.`,
  isBench: true,
  flags: {
    modes: modesFlag('all'),
    windows: flag(whole(1, 1000).default(5), 'N', 'windows that receive'),
    rate: flag(whole(1, 1000).default(50), 'N', 'messages a second'),
    seconds: flag(whole(1, 600).default(2), 'N', 'measured time per turn'),
    sessions: flag(whole(2, 100).default(7), 'N', 'turns of each, with fresh servers'),
  },
  options: (given) => given,

  design: stagesDesign,
  isFailure: hasLost,

  async measure({ modes, ...options }, lab): Promise<StudyRun> {
    const { windows, rate, seconds, sessions } = options
    const subjects = modes.flatMap((mode) => [
      { mode, stamps: 'plain' },
      { mode, stamps: 'stamped' },
    ])
    const orders = turnsOf(subjects, sessions)
    const taken = await lab.sessions(sessions, async (session, opened) => {
      const load = startLoadProcess(lab.signal, opened)
      const order = orders[session - 1] ?? []
      const step = (words: string) => lab.progress.step(`session ${session} of ${sessions}  ${words}`)
      const take = (server: LoadServer, turn: string) =>
        takeTurn(
          server,
          [load],
          {
            windows,
            rate,
            channel: `stages-${turn}`,
            openingAtOnce,
            perBrowser: windows,
            warmupMessages: rate,
            messages: rate * seconds,
            settleMs: 500,
            graceMs: 5000,
          },
          lab.signal,
        )
      // The first turns warm up the servers, and the clients, which all have in common.
      const servers = []
      for (const { mode, stamps } of order) {
        step(`warming up  ${mode.name}, ${stamps}`)
        const most = { ...options, perBrowser: windows }
        const server = await startMode(mode, most, opened, {}, stamps === 'stamped')
        await take(server, 'first')
        servers.push({ mode, stamps, server })
      }
      const rows = []
      for (const { mode, stamps, server } of servers) {
        step(`${mode.name}, ${stamps}`)
        const { n, lost, duplicated, reordered, latenciesMs, cpuMs } = await take(server, 'second')
        rows.push({
          stamps,
          mode: mode.name,
          session,
          expected: n + lost,
          lost,
          duplicated,
          reordered,
          medianMicros: n === 0 ? null : significant(1000 * median(latenciesMs)),
          cpuMicros: significant((1000 * cpuMs) / (rate * seconds)),
        })
      }
      return rows
    })
    const names = modes.map(({ name }) => name)
    return {
      ...lab.circumstances({ ...overLoopback, parameters: { modes: names.join(', '), ...options } }),
      levels: { stamps: ['plain', 'stamped'], mode: names },
      baseline: 'plain',
      samples: taken.flat(),
      observations: [
        `In a loop, a message's stamps take ${formatMiddle(await measureLoop())} µs of processor time.`,
      ],
    }
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

/**
 * Publishes the stages of messages in a loop; returns the processor time per message in each run,
 * µs.
 */
function timeStages(): number[] {
  const names = ['arrived', 'admitted', 'committing', 'stored', 'told']
  const [arrived, admitted, committing, stored, told] = names.map((name) => channel(`crosswind:${name}`))

  /** As the server does for messages of its log, each in a group of its own. */
  function publish(first: number, count: number): void {
    for (let index = first; index < first + count; index += 1) {
      const source = {}
      const draft = { id: `window-${index}` }
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
