// The 2021 paper's comparison under one condition after another: which of them gives its order?

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { createSeededRandom, shuffled } from '../../client/wire.ts'
import { startBrowser } from '../browser/browser.ts'
import { openWindows, showPages, stampsOf, textBetween, typeKeys, warmUp } from '../browser/typing.ts'
import { flag, headed, seed, whole, wordsOnce } from '../lab/flags.ts'
import { requireMode, requireModes, requireRoom, usualBaseline } from '../lab/mode-names.ts'
import { pin } from '../lab/process-recorder.ts'
import { serverConditions } from '../lab/programs.ts'
import { atOthers, formatOutcome } from '../lab/samples.ts'
import { turnOf } from '../lab/standings.ts'
import type { Analysis, Design, Level } from '../lab/study.ts'
import { defineStudy, type StudyRun } from '../lab/study-experiment.ts'
import { modeFactor, transmission, transmissionRow } from '../lab/study-parts.ts'
import { recordingAddress, Testbed } from '../lab/testbed.ts'
import { timeTurn } from '../lab/turns.ts'
import { figure, interval, listed, lowered, several } from '../report/section.ts'
import { publishedMeansMs } from './keystrokes-report.ts'

interface Condition {
  readonly label: string
  /** In a sentence, after what was measured. */
  readonly spoken: string
  /** The server is on another host, behind this network. */
  readonly profile?: string
  /** Condition of the server's connections; see server-conditions.ts. */
  readonly connections?: string
  /** The side whose processor core is shared with busy processes. */
  readonly slow?: 'server' | 'browsers'
}

/** Several apply together as `hosts+nagle`. */
const known: Readonly<Record<string, Condition>> = {
  usual: { label: 'As usual', spoken: 'as usual' },
  // A switched network between two hosts; it loses no packet.
  hosts: { label: 'Two hosts', spoken: 'with the server on another host', profile: 'lan+0%' },
  nagle: { label: 'Nagle', spoken: 'with Nagle’s algorithm', connections: 'nagle' },
  'no-keep-alive': { label: 'No keep-alive', spoken: 'without keep-alive', connections: 'closing=1.1' },
  'post-connections': {
    label: 'A connection for each POST',
    spoken: 'with a new TLS connection for each POST',
    connections: 'closing=both',
  },
  'slow-server': { label: 'Slow server', spoken: 'with a slow server', slow: 'server' },
  'slow-browsers': { label: 'Slow browsers', spoken: 'with slow browsers', slow: 'browsers' },
}

const usualConditions = [
  ...Object.keys(known),
  'hosts+nagle',
  'hosts+no-keep-alive',
  'slow-server+no-keep-alive',
  'slow-browsers+no-keep-alive',
]

/** Throws one sentence for an unknown name. */
function conditionOf(name: Level): Condition {
  const parts = String(name)
    .split('+')
    .map((part) => known[part])
  if (parts.some((part) => part === undefined))
    throw new Error(
      `--conditions names "${name}"; there are ${Object.keys(known).join(', ')}, and several together as hosts+nagle.`,
    )
  const all = parts.filter((part) => part !== undefined)
  const connections = all.flatMap((part) => part.connections ?? []).join('&')
  return {
    ...Object.assign({}, ...all),
    label: all.map(({ label }, place) => (place === 0 ? label : lowered(label))).join(', '),
    spoken: listed(all.map(({ spoken }) => spoken)),
    ...(connections && { connections }),
  }
}

/** Busy processes that share a core with the slowed program. */
const rivals = 3
const cores = { server: '0', browsers: '1' } as const

const areAlike = (one: Level, other: Level) =>
  requireMode(String(one)).transport === requireMode(String(other)).transport

const design: Design = {
  question: 'Which condition gives the order of the modes that the 2021 paper found?',
  factors: [
    modeFactor,
    {
      name: 'condition',
      title: 'Condition',
      label: (name) => conditionOf(name).label,
      spoken: (name) => conditionOf(name).spoken,
    },
  ],
  measures: [transmission],
  pairs: (modes, baseline) => [
    ...modes.flatMap((mode) => (baseline === null || mode === baseline ? [] : [[mode, baseline] as const])),
    // The same transport over another version of HTTP.
    ...modes.flatMap((mode, place) =>
      modes
        .slice(place + 1)
        .filter((other) => other !== baseline && mode !== baseline && areAlike(mode, other))
        .map((other) => [mode, other] as const),
    ),
  ],
  notes: (found) => [
    'The mirror editor, an application of the library that sends the whole content at each key as the paper’s does, between windows of one browser. Each condition starts its server, browser and windows afresh; everything else is the same.',
    `Another host: a network namespace behind a switched network of 0.6 ms there and back (IP packets, Linux’s TCP); all windows are on the first host, where the paper had two on the server’s. Nagle: RFC 896 on HTTP/1.1’s connections, which Node turned off only in version 18, while HTTP/2 and WebSockets always had it off. Without keep-alive: each answer to a POST over HTTP/1.1 ends its connection. Slow: ${rivals} busy processes on the core of the server, or of the browser, which have one each.`,
    ...formatPaper(found),
  ],
}

/** Which conditions give a ratio of the paper. */
function formatPaper({ comparisons }: Analysis): readonly string[] {
  const published: Readonly<Record<string, number>> = publishedMeansMs
  const pairs = Map.groupBy(comparisons, ({ at, baseline }) => `${at.mode} ${baseline}`)
  return [...pairs.values()].flatMap((own) => {
    const [first] = own
    const above = published[String(first?.at.mode)]
    const below = published[first?.baseline ?? '']
    if (!first || above === undefined || below === undefined) return []
    const ratio = above / below
    const met = own.filter(({ ratioCi95 }) => ratioCi95 && ratioCi95[0] <= ratio && ratio <= ratioCi95[1])
    const where = met.map(
      ({ at, ratioCi95 }) =>
        `${conditionOf(at.condition ?? '').spoken} (${ratioCi95 ? interval(ratioCi95) : ''})`,
    )
    const spoken = (mode: Level) => modeFactor.spoken?.(mode) ?? mode
    return [
      `In the paper ${spoken(first.at.mode ?? '')} took ${figure(ratio)} times as long as ${spoken(first.baseline)}. ${where.length === 0 ? 'No condition gives that ratio.' : `The interval contains that ratio ${listed(where)}.`}`,
    ]
  })
}

export const conditions = defineStudy({
  name: 'conditions',
  about: `Types in the mirror editor, mode by mode, under one condition after another, to find which of them changes the order of\n    the modes. Needs two cores, taskset, and for a second host Linux and root.`,
  flags: {
    conditions: flag(
      wordsOnce.default(usualConditions),
      'LIST',
      `${Object.keys(known).join(', ')}; several together as hosts+nagle`,
      'each, and four of two together',
    ),
    modes: flag(wordsOnce.default(['sse/2', 'sse/1.1', 'websocket/1.1']), 'LIST', 'modes to compare'),
    windows: flag(whole(2, 50).default(5), 'N', 'simultaneously open windows'),
    sessions: flag(whole(1, 1000).default(5), 'N', 'at least 2 for intervals'),
    keys: flag(whole(1, 10_000).default(60), 'N', 'keys per mode, condition and session'),
    warmup: flag(whole(0, 200).default(20), 'N', 'uncounted keys before them'),
    interval: flag(whole(0, 10_000).default(50), 'MS', 'time between two keys'),
    seed,
    headed,
  },

  design,

  options(given) {
    requireRoom(requireModes(given.modes), given.windows, given.windows)
    if (given.conditions.length === 0) throw new Error('--conditions names no condition.')
    const slow = given.conditions.find((name) => conditionOf(name).slow)
    if (slow && availableParallelism() < 2)
      throw new Error(`The condition ${slow} needs two cores, and this machine has one.`)
    return { ...given, baseline: usualBaseline(given.modes) ?? given.modes[0] ?? '' }
  },

  plan: ({ modes, conditions: list, keys, warmup, interval: pause }) => ({
    sessionMs: list.length * (6000 + modes.length * (4000 + (keys + 2 * warmup) * pause)),
  }),

  networks: ({ conditions: list }) => list.flatMap((name) => conditionOf(name).profile ?? []),

  async measure(options, lab): Promise<StudyRun> {
    const {
      modes,
      conditions: list,
      sessions,
      windows,
      keys,
      warmup,
      interval: pause,
      headed: isHeaded,
    } = options
    lab.progress.say(
      `${several(list.length, 'condition')}, ${modes.join(', ')}: ${several(sessions, 'session')}, ${several(keys, 'key')} each, ${several(windows, 'window')}; --seed ${options.seed}.`,
    )
    const caption = 'Transmission time in milliseconds'
    lab.progress.compare({ caption, subjects: modes, baselineOf: () => options.baseline })
    const random = createSeededRandom(options.seed)
    const measured = await lab.sessions(sessions, async (session) => {
      const turns = []
      for (const condition of shuffled(list, random)) {
        lab.signal.throwIfAborted()
        turns.push(...(await measureCondition(condition, session)))
      }
      return turns
    })
    const turns = measured.flat()
    return {
      ...lab.circumstances({
        browser: turns[0]?.version ?? '',
        server: 'a process of its own on this machine, for each condition',
        parameters: {
          conditions: list.join(', '),
          editor: 'mirror',
          windows,
          sessions,
          keys,
          warmup,
          interval: pause,
          seed: options.seed,
          headed: isHeaded,
        },
      }),
      levels: { mode: modes, condition: list },
      baseline: options.baseline,
      samples: turns.flatMap(({ samples }) => samples),
      costs: turns.map(({ cost }) => cost),
      boundMs: Math.max(...turns.map(({ boundMs }) => boundMs)),
    }

    async function measureCondition(name: string, session: number) {
      const { profile, connections, slow } = conditionOf(name)
      await using opened = new AsyncDisposableStack()
      const network = { profile: profile === undefined ? [] : [profile], seed: options.seed }
      const testbed = new Testbed('conditions', network, session, opened)
      const [server] = await testbed.startMirror({
        imports: connections === undefined ? [] : [serverConditions(connections)],
        through: slow ? ['taskset', '-c', cores.server] : [],
      })
      const browser = await onCores(slow ? cores.browsers : null, () => startBrowser({ headed: isHeaded }))
      opened.defer(browser.quit)
      const shown = await openWindows([browser], windows)
      const turns = []
      for (const mode of shuffled(modes, random)) {
        lab.signal.throwIfAborted()
        const system = {
          name: mode,
          mode: requireMode(mode),
          server,
          editor: 'mirror',
          forgets: true,
        } as const
        const channel = `${name.replaceAll('+', '-')}-${randomUUID().slice(0, 8)}`
        await testbed.withoutLoss(() =>
          showPages(shown, recordingAddress(system, channel), { text: '', ...system }),
        )
        // Loading a page is not measured.
        await using _busy = slow ? keepBusy(cores[slow]) : null
        await warmUp(shown, warmup, pause, receivedWithinMs)
        const { samples, sent, use, boundMs } = await timeTurn(
          shown,
          system,
          { session, block: 1, firstKey: 1 },
          async () => {
            const text = [...textBetween(1, keys + 1)]
            const marks = await typeKeys(shown, text, pause, undefined, lab.signal)
            return stampsOf(shown, marks, receivedWithinMs)
          },
        )
        if (sent !== keys)
          throw new Error(`${mode}, ${name}: ${keys} keys were typed, the page sent ${sent} messages.`)
        const others = atOthers(samples)
        lab.progress.took(
          turnOf(mode, others, conditionOf(name).label),
          `${`${session}  ${name}`.padEnd(24)} ${mode.padEnd(14)} ${formatOutcome(others)}`,
        )
        turns.push({
          boundMs,
          version: browser.version,
          cost: { mode, condition: name, session, ...use },
          samples: samples.map((sample) => transmissionRow(sample, { condition: name })),
        })
      }
      return turns
    }
  },
})

const receivedWithinMs = 30_000

/** Keeps the processes that `start` starts on these cores. */
async function onCores<Started>(list: string | null, start: () => Promise<Started>): Promise<Started> {
  if (list === null) return start()
  await pin(process.pid, list)
  try {
    return await start()
  } finally {
    await pin(process.pid, `0-${availableParallelism() - 1}`)
  }
}

/** Until it is disposed of. */
function keepBusy(core: string): AsyncDisposable {
  const loops = Array.from({ length: rivals }, () =>
    spawn('taskset', ['-c', core, process.execPath, '-e', 'for (;;);'], { stdio: 'ignore' }),
  )
  return {
    async [Symbol.asyncDispose]() {
      const ended = loops.map((loop) => once(loop, 'exit'))
      for (const loop of loops) loop.kill('SIGKILL')
      await Promise.all(ended)
    },
  }
}
