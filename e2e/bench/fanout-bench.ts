// `fanout` and `message`: one window writes, all receive; modes and relays take turns.

import { connections, type HttpVersion, type Mode } from '../../client/wire.ts'
import { openFilesAllowed } from '../../scripts/process.ts'
import { flag, names, numbers, whole } from '../lab/flags.ts'
import { labelOf, spokenName } from '../lab/mode-names.ts'
import type { Lab } from '../lab/run-sessions.ts'
import { significant } from '../lab/statistics.ts'
import type { Analysis, Design, Factor, Level, Measure } from '../lab/study.ts'
import { defineStudy, type StudyRun } from '../lab/study-experiment.ts'
import { hasLost } from '../lab/study-parts.ts'
import { turnsOf } from '../lab/turns.ts'
import { type RelayName, relayClients, relayNames } from '../load/load-client.ts'
import { type LoadProcess, split, startLoadProcess } from '../load/load-process.ts'
import {
  figuresOf,
  type LoadServer,
  modesFlag,
  overLoopback,
  startMode,
  startRelayFor,
  takeTurn,
} from '../load/load-server.ts'
import { count, listed } from '../report/section.ts'

/** Deliveries per session, before the first round. */
const warmUpDeliveries = 3000
const graceMs = (windows: number) => 5000 + windows
/** Presence is announced up to this long after the last join, plus a poll. */
const settleMs = (windows: number) => 300 + windows * 1.2

/** A mode or relay; `sse/2 x10`: ten windows share a connection. */
const system: Factor = {
  name: 'mode',
  title: 'System',
  label: (level) => withSharing(level, labelOf, ', '),
  spoken: (level) => withSharing(level, spokenSystem, ' with '),
}

const levelOf = (name: string, sharing: number | null) => (sharing === null ? name : `${name} x${sharing}`)

function withSharing(level: Level, nameOf: (name: string) => string, joint: string): string {
  const [name = '', sharing] = String(level).split(' x')
  return sharing === undefined ? nameOf(name) : `${nameOf(name)}${joint}${sharing} to a browser`
}

const spokenSystem = (name: string) => (name in relayClients ? `the relay ${name}` : spokenName(name))

const load: Factor = { name: 'rate', title: 'Messages a second', spoken: (rate) => `at ${rate} a second` }

const ofRound = { better: 'less', by: 'median' } as const
const serverShare: Measure = {
  name: 'serverPercent',
  title: 'Load of the server',
  unit: '% of a core',
  better: 'less',
  isCompared: false,
}
const clientShare: Measure = {
  ...serverShare,
  name: 'clientPercent',
  title: 'Load of the busiest load process',
}

export const fanoutDesign: Design = {
  question: 'What does a delivery cost the server?',
  factors: [system, load],
  measures: [
    { ...ofRound, name: 'cpuMicros', title: 'Processor time of a delivery', unit: 'µs' },
    { ...ofRound, name: 'p50Ms', title: 'Median latency', unit: 'ms' },
    { ...ofRound, name: 'p99Ms', title: 'Latency, 99th percentile', unit: 'ms' },
    serverShare,
    clientShare,
    {
      name: 'kilobytesPerWindow',
      title: 'Memory of a window',
      unit: 'kB',
      better: 'less',
      isCompared: false,
    },
  ],
  pairs: againstRelays,
  notes: () => [
    'A sample is one delivery, a message at one window, but for figures it is one round: the server’s processor time in it, over the deliveries, and the quantiles of its latencies. Latency counts from the time when the message was due. Memory is resident, at the first joining of all windows, over their number, if they are a hundred or more.',
  ],
  remarks: (found) => [
    ...saturated(found, serverShare, 'The server was saturated'),
    ...saturated(found, clientShare, 'The load clients were saturated, so that the latency is theirs,'),
  ],
}

/** With the bare relays, on ws and on http2 with as many windows to a browser. */
function againstRelays(levels: readonly Level[]) {
  return levels.flatMap((level) => {
    const [, sharing] = String(level).split(' x')
    const http2 = sharing === undefined ? [] : [`http2 x${sharing}`]
    return ['ws', ...http2]
      .filter((relay) => relay !== level && levels.includes(relay))
      .map((relay) => [level, relay] as const)
  })
}

/** One sentence, or none. */
function saturated({ figures }: Analysis, { name }: Measure, what: string): readonly string[] {
  const busy = figures.filter(({ measure, max }) => measure === name && (max ?? 0) >= busyPercent)
  const where = new Set(busy.map(({ at }) => withSharing(at[system.name] ?? '', spokenSystem, ' with ')))
  return busy.length === 0 ? [] : [`${what} in ${listed([...where])}.`]
}

/** Above this share of a core, a process adds to the latency. */
const busyPercent = 90

interface FanoutOptions
  extends Readonly<
    Record<'windows' | 'sessions' | 'rounds' | 'seconds' | 'warmup' | 'opening' | 'clients', number>
  > {
  readonly modes: readonly Mode[]
  readonly peers: readonly RelayName[]
  /** Messages a second. */
  readonly rates: readonly number[]
  readonly perBrowser: readonly number[]
}

interface Defaults {
  readonly name: string
  readonly about: string
  readonly modes: string
  readonly peers: RelayName[]
  readonly windows: number
  readonly rates: string
  readonly perBrowser: string
}

export const fanout = studyOf({
  name: 'fanout',
  about: `One window writes and all receive. Measures the server’s processor time per delivered message, its memory per window, and\n    the latency.`,
  modes: 'all',
  peers: ['ws', 'socket.io', 'http2'],
  windows: 200,
  rates: '50',
  perBrowser: '1,10',
})

export const message = studyOf({
  name: 'message',
  about: `One window writes and receives. Measures what one message costs the server, compared with bare relays, and with relays that\n    also store and answer.`,
  modes: 'sse/2,websocket/1.1',
  peers: ['ws', 'ws-stored', 'http2', 'http2-stored'],
  windows: 1,
  rates: '50,300',
  perBrowser: '1',
})

function studyOf({ name, about, ...defaults }: Defaults) {
  return defineStudy({
    name,
    about: `${about}\n\n      Each mode and relay has its own server process, a fresh one in each session; they take turns in changing order.`,
    notes: `CPU is the server process’s time per message and window, after ${count(warmUpDeliveries)} deliveries that are not counted. A\n      session counts with the median of its rounds. Ratios are to the bare relays of e2e/peers: to ws, and to http2 with as many\n      windows to a browser.`,
    isBench: true,
    flags: {
      modes: modesFlag(defaults.modes),
      peers: flag(
        names(relayNames).default(defaults.peers),
        'LIST',
        `${relayNames.join(', ')}, or nothing ("")`,
      ),
      windows: flag(whole(1, 50_000).default(defaults.windows), 'N', 'windows that receive'),
      rate: flag(numbers(defaults.rates, 1, 10_000), 'LIST', 'messages a second'),
      sessions: flag(whole(1, 100).default(5), 'N', 'sessions with fresh server processes'),
      rounds: flag(whole(1, 100).default(2), 'N', 'turns each per session'),
      seconds: flag(whole(1, 600).default(4), 'N', 'measured time per session'),
      warmup: flag(whole(0, 60_000).default(500), 'MS', 'uncounted time before each turn'),
      'per-browser': flag(
        numbers(defaults.perBrowser, 1, 1000),
        'LIST',
        'windows that share an HTTP/2 session',
      ),
      opening: flag(whole(1, 1000).default(32), 'N', 'simultaneous handshakes'),
      clients: flag(whole(1, 8).default(1), 'N', 'client processes'),
    },
    options({ 'per-browser': perBrowser, rate: rates, ...given }): FanoutOptions {
      const messages = Math.min(...rates) * given.seconds
      if (messages < given.rounds)
        throw new Error(`--rounds is ${given.rounds}: there are only ${messages} messages to split.`)
      const options = { ...given, rates, perBrowser }
      requireConnections(options, openFilesAllowed())
      return options
    },

    design: fanoutDesign,
    isFailure: hasLost,

    async measure(options, lab): Promise<StudyRun> {
      const measured = await lab.sessions(options.sessions, (session, opened) =>
        measureSession(options, session, lab, opened),
      )
      const { modes, peers, rates, perBrowser, ...others } = options
      const lists = { modes: modes.map(({ name }) => name), peers, rates, perBrowser }
      const parameters = Object.fromEntries(
        Object.entries(lists).map(([name, list]) => [name, list.join(', ')]),
      )
      const rounds = measured.flat()
      const levels = [...new Set(rounds.map(({ row }) => row.mode))]
      return {
        ...lab.circumstances({ ...overLoopback, parameters: { ...parameters, ...others } }),
        levels: { mode: levels, rate: rates },
        baseline:
          levels.find((level) => level === 'ws') ??
          levels.find((level) => level.startsWith('http2 x')) ??
          null,
        samples: rounds.map(({ row }) => row),
        observations: [...new Set(rounds.flatMap(({ failures }) => failures))],
      }
    },
  })
}

interface Subject {
  readonly level: string
  readonly rate: number
  readonly perBrowser: number
  readonly server: LoadServer
}

/** Fewer need less memory than the server’s first messages. */
const minForMemory = 100

async function measureSession(
  options: FanoutOptions,
  session: number,
  lab: Lab,
  opened: AsyncDisposableStack,
) {
  const { windows, rounds } = options
  const step = (words: string) => lab.progress.step(`session ${session} of ${options.sessions}  ${words}`)
  const subjects = await openSubjects(options, step, opened, lab.signal)
  const loads = Array.from({ length: options.clients }, () => startLoadProcess(lab.signal, opened))
  // Runs an uncounted turn: the first messages run uncompiled code, and servers outlive a session.
  const isFirst = ({ server, perBrowser }: Subject, index: number) =>
    subjects.findIndex((one) => one.server === server && one.perBrowser === perBrowser) === index
  const memories = new Map<LoadServer, Subject & { readonly kilobytes: number | null }>()
  for (const subject of subjects.filter(isFirst)) {
    step(`warming up  ${subject.level}`)
    const { server } = subject
    const rate = Math.max(subject.rate, Math.min(1000, 10_000 / windows))
    const messages = Math.max(subject.rate, Math.ceil(warmUpDeliveries / windows))
    const empty = await server.figures()
    const turn = await takeRound({ ...subject, rate }, loads, options, 'warmup', messages, lab.signal)
    const kilobytes = significant((turn.before.rssBytes - empty.rssBytes) / windows / 1000)
    // A later session inherits memory that the first has used.
    if (windows >= minForMemory && !memories.has(server)) memories.set(server, { ...subject, kilobytes })
  }
  const taken = []
  for (const [round, order] of turnsOf(subjects, rounds).entries())
    for (const subject of order) {
      const { level, rate, server, perBrowser } = subject
      step(`round ${round + 1} of ${rounds}  ${level}, ${rate} a second`)
      const messages = split(rate * options.seconds, rounds)[round] ?? 0
      const turn = await takeRound(subject, loads, options, `r${round}`, messages, lab.signal)
      const memory = memories.get(server)
      const isOwn = round === 0 && memory?.perBrowser === perBrowser && memory.rate === rate
      taken.push({
        failures: turn.failures.map((why) => `${level}, ${rate} a second: ${why}`),
        row: {
          mode: level,
          rate,
          session,
          round: round + 1,
          ...figuresOfRound(turn),
          kilobytesPerWindow: isOwn ? memory.kilobytes : null,
        },
      })
    }
  return taken
}

/** Modes, then relays; each with every `perBrowser` that makes a difference, at every rate. */
async function openSubjects(
  { modes, peers, windows, rates, perBrowser }: FanoutOptions,
  step: (words: string) => void,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Subject[]> {
  const subjects: Subject[] = []
  const most = { windows, perBrowser: Math.max(...perBrowser), rate: Math.max(...rates) }

  async function add(name: string, http: HttpVersion, start: () => Promise<LoadServer>): Promise<void> {
    step(`starting  ${name}`)
    const server = await start()
    signal.throwIfAborted()
    // One measurement covers all: windows share no connection.
    for (const sharing of connections[http].isShared ? perBrowser : [null])
      for (const rate of rates)
        subjects.push({
          level: levelOf(name, sharing),
          rate,
          perBrowser: sharing ?? perBrowser[0] ?? 1,
          server,
        })
  }

  for (const mode of modes) await add(mode.name, mode.http, () => startMode(mode, most, opened))
  for (const peer of peers)
    await add(peer, relayClients[peer].http, () => startRelayFor([peer], relayClients[peer], opened))
  return subjects
}

async function takeRound(
  { level, perBrowser, rate, server }: Subject,
  loads: readonly LoadProcess[],
  { windows, warmup, opening }: FanoutOptions,
  round: string,
  messages: number,
  signal: AbortSignal,
) {
  const plan = {
    windows,
    perBrowser,
    rate,
    messages,
    openingAtOnce: opening,
    graceMs: graceMs(windows),
    warmupMessages: Math.ceil((warmup * rate) / 1000),
    settleMs: settleMs(windows),
    channel: `bench-${perBrowser}-${rate}-${round}`,
  }
  try {
    return await takeTurn(server, loads, plan, signal)
  } catch (cause) {
    throw new Error(`${level}, ${rate} a second: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    })
  }
}

type Turn = Awaited<ReturnType<typeof takeTurn>>

/** Null if nothing was delivered. */
export function figuresOfRound({
  n,
  lost,
  duplicated,
  reordered,
  cpuMs,
  latenciesMs,
  before,
  after,
  measured,
}: Turn) {
  const { p50, p99 } = figuresOf(latenciesMs)
  return {
    expected: n + lost,
    lost,
    duplicated,
    reordered,
    cpuMicros: significant((1000 * cpuMs) / n),
    p50Ms: significant(p50),
    p99Ms: significant(p99),
    serverPercent: significant((100 * cpuMs) / (after.uptimeMs - before.uptimeMs)),
    clientPercent: significant(Math.max(...measured.map(({ cpuMs: own, wallMs }) => (100 * own) / wallMs))),
  }
}

/** Linux, net.ipv4.ip_local_port_range: 32768 to 60999. All connections have one destination. */
const ephemeralPorts = 28_000
/** In addition to the windows' connections. */
const spareFiles = 200

/** Throws if the limit of open files is too low, and says how to raise it. */
export function requireConnections(
  { modes, peers, windows, perBrowser }: Pick<FanoutOptions, 'modes' | 'peers' | 'windows' | 'perBrowser'>,
  openFiles: number,
): void {
  const versions = [...modes.map(({ http }) => http), ...peers.map((peer) => relayClients[peer].http)]
  const isShared = versions.every((http) => connections[http].isShared)
  const needed = isShared ? Math.ceil(windows / Math.min(...perBrowser)) : windows
  const files = needed + spareFiles
  if (files > openFiles) {
    throw new Error(
      `${windows} windows need ${files} open files in a process, but this system allows ${openFiles}: raise the limit first with \`ulimit -n ${files}\` (as root, or in /etc/security/limits.conf).`,
    )
  }
  if (needed > ephemeralPorts) {
    throw new Error(
      `${needed} connections are more than the ${ephemeralPorts} that one machine can open to one address: use fewer windows, or more per browser.`,
    )
  }
}
