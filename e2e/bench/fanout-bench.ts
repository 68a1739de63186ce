// `fanout` and `message`: one window writes, all receive; modes and relays take turns.

import { connections, type HttpVersion } from '../../client/wire.ts'
import { defineExperiment, type Lab, turnsOf } from '../lab/experiment.ts'
import { flag, names, numbers, whole } from '../lab/flags.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { median, middleOf, significant } from '../lab/statistics.ts'
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
  type tallied,
} from '../load/load-server.ts'
import { count, middleWords, table, text } from '../report/section.ts'

/** Deliveries per session, before the first round. */
const warmUpDeliveries = 3000
const openingAtOnce = 32
const graceMs = 5000
/** Presence is announced up to this long after the last join, plus a poll. */
const settleMs = (windows: number) => 300 + windows * 1.2

interface Defaults {
  readonly name: string
  readonly about: string
  readonly modes: string
  readonly peers: RelayName[]
  readonly windows: number
  readonly rates: string
  readonly perBrowser: string
}

interface Run extends Circumstances {
  readonly measured: readonly Measured[]
}

export const fanout = experimentOf({
  name: 'fanout',
  about:
    'One window writes and all receive. Measures the processor time per delivered message, and the latency.',
  modes: 'all',
  peers: ['ws', 'socket.io', 'http2'],
  windows: 200,
  rates: '50',
  perBrowser: '1,10',
})

export const message = experimentOf({
  name: 'message',
  about: `One window writes and receives. Measures what one message costs the server, compared with bare relays, and with relays that\n    also store and answer.`,
  modes: 'sse/2,websocket/1.1',
  peers: ['ws', 'ws-stored', 'http2', 'http2-stored'],
  windows: 1,
  rates: '50,300',
  perBrowser: '1',
})

function experimentOf({ name, about, ...defaults }: Defaults) {
  return defineExperiment({
    name,
    about: `${about}\n\n      Each mode and relay has its own server process, a fresh one in each session; they take turns in changing order.`,
    notes: `CPU is the server process’s time per message and window, after ${count(warmUpDeliveries)} deliveries that are not counted: in\n      each session the median of the rounds, over the sessions the median and the range. Latency counts from the time when the\n      message was due. Ratios are to the bare relays of e2e/peers, on ws and on http2; those of CPU are computed in each round. A\n      busy machine widens the ranges.`,
    isBench: true,
    flags: {
      modes: modesFlag(defaults.modes),
      peers: flag(
        names(relayNames).default(defaults.peers),
        'LIST',
        `${relayNames.join(', ')}, or nothing ("")`,
      ),
      windows: flag(whole(1, 20_000).default(defaults.windows), 'N', 'windows that receive'),
      rate: flag(numbers(defaults.rates, 1, 10_000), 'LIST', 'messages a second'),
      sessions: flag(whole(1, 100).default(5), 'N', 'sessions with fresh server processes'),
      rounds: flag(whole(1, 100).default(2), 'N', 'turns each per session'),
      seconds: flag(whole(1, 600).default(4), 'N', 'measured time per turn'),
      warmup: flag(whole(0, 60_000).default(500), 'MS', 'uncounted time before each turn'),
      'per-browser': flag(
        numbers(defaults.perBrowser, 1, 1000),
        'LIST',
        'windows that share an HTTP/2 session',
      ),
    },
    options({ 'per-browser': perBrowser, rate: rates, ...given }) {
      const messages = Math.min(...rates) * given.seconds
      if (messages < given.rounds)
        throw new Error(`--rounds is ${given.rounds}: there are only ${messages} messages to split.`)
      return { ...given, rates, perBrowser }
    },

    async measure(options, lab): Promise<Run> {
      const measured: Measured[] = []
      await lab.sessions(options.sessions, async (session, opened) => {
        const step = (words: string) => lab.step(`session ${session} of ${options.sessions}  ${words}`)
        for (const { rounds, ...subject } of await measureSession(options, step, opened, lab.signal)) {
          const known = measured.find((one) => isSame(one, subject))
          if (known) known.sessions.push(rounds)
          else measured.push({ ...subject, sessions: [rounds] })
        }
      })
      const { modes, peers, rates, perBrowser, ...others } = options
      const lists = { modes: modes.map(({ name }) => name), peers, rates, perBrowser }
      const parameters = Object.fromEntries(
        Object.entries(lists).map(([name, list]) => [name, list.join(', ')]),
      )
      return { ...lab.circumstances({ ...overLoopback, parameters: { ...parameters, ...others } }), measured }
    },

    analyse({ measured, ...circumstances }) {
      const rows = fanoutRows(measured)
      const lost = rows.reduce((total, row) => total + row.lost, 0)
      const failures = measured.flatMap((one) =>
        one.sessions.flat().flatMap((round) => round.failures.map((why) => `${titleOf(one)}: ${why}`)),
      )
      const arrived = rows.reduce((total, { n }) => total + n, 0)
      const finding = `${lost === 0 ? 'None' : count(lost)} of ${count(arrived + lost)} deliveries ${lost === 0 ? 'was' : 'were'} lost.`
      return { scenario: name, ...circumstances, rows, finding: [finding, ...failures].join(' ') }
    },

    report(_, { rows }) {
      const tables = [rowsTable(rows)]
      return {
        sections: [{ title: 'What a delivery costs', tables }],
        tables,
        isFailure: rows.some(({ lost }) => lost > 0),
      }
    },
  })
}

type FanoutOptions = ReturnType<(typeof fanout)['options']>

/** The subject of a measurement, and its message rate. */
export interface SubjectName {
  readonly name: string
  /** Windows per connection; null if each has its own. */
  readonly sharing: number | null
  /** Messages per second. */
  readonly rate: number
}

export interface Measured extends SubjectName {
  /** Rounds by session. */
  readonly sessions: (readonly Round[])[]
}

function isSame(one: SubjectName, other: SubjectName): boolean {
  return one.name === other.name && one.sharing === other.sharing && one.rate === other.rate
}

function titleOf({ name, sharing, rate }: SubjectName): string {
  return `${name}${sharing === null ? '' : `, ${sharing} to a browser`}, ${rate} a second`
}

async function measureSession(
  options: FanoutOptions,
  step: (words: string) => void,
  opened: AsyncDisposableStack,
  signal: Lab['signal'],
): Promise<readonly (SubjectName & { readonly rounds: readonly Round[] })[]> {
  const subjects = await openSubjects(options, step, opened, signal)
  const load = startLoadProcess(signal, opened)
  const measured = new Map(subjects.map((subject) => [subject, [] as Round[]]))
  // Runs an uncounted turn: the first messages run uncompiled code, and servers outlive a session.
  const isFirst = ({ server, perBrowser }: Subject, place: number) =>
    subjects.findIndex((one) => one.server === server && one.perBrowser === perBrowser) === place
  for (const subject of subjects.filter(isFirst)) {
    step(`warming up  ${subject.name}`)
    const rate = Math.max(subject.rate, Math.min(1000, 10_000 / options.windows))
    const messages = Math.max(subject.rate, Math.ceil(warmUpDeliveries / options.windows))
    await measureRound({ ...subject, rate }, load, options, 'warmup', messages, signal)
  }
  for (const [round, order] of turnsOf(subjects, options.rounds).entries()) {
    for (const subject of order) {
      step(`round ${round + 1} of ${options.rounds}  ${titleOf(subject)}`)
      const messages = split(subject.rate * options.seconds, options.rounds)[round] ?? 0
      measured.get(subject)?.push(await measureRound(subject, load, options, `r${round}`, messages, signal))
    }
  }
  return Array.from(measured, ([{ name, sharing, rate }, rounds]) => ({ name, sharing, rate, rounds }))
}

interface Subject extends SubjectName {
  readonly perBrowser: number
  readonly server: LoadServer
}

/** Modes, then relays; each with every `perBrowser` that makes a difference, at every rate. */
async function openSubjects(
  { modes, peers, windows, rates, perBrowser }: FanoutOptions,
  step: (words: string) => void,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Subject[]> {
  const subjects: Subject[] = []
  const load = { windows, perBrowser: Math.max(...perBrowser), rate: Math.max(...rates) }

  async function add(name: string, http: HttpVersion, start: () => Promise<LoadServer>): Promise<void> {
    step(`starting  ${name}`)
    const server = await start()
    signal.throwIfAborted()
    // One measurement covers all: windows share no connection.
    for (const sharing of connections[http].isShared ? perBrowser : [null])
      for (const rate of rates)
        subjects.push({ name, sharing, rate, perBrowser: sharing ?? perBrowser[0] ?? 1, server })
  }

  for (const mode of modes) await add(mode.name, mode.http, () => startMode(mode, load, opened))
  for (const peer of peers)
    await add(peer, relayClients[peer].http, () => startRelayFor([peer], relayClients[peer], opened))
  return subjects
}

async function measureRound(
  subject: Subject,
  load: LoadProcess,
  { windows, warmup }: FanoutOptions,
  round: string,
  messages: number,
  signal: AbortSignal,
): Promise<Round> {
  const { perBrowser, rate, server } = subject
  const plan = {
    windows,
    perBrowser,
    rate,
    messages,
    openingAtOnce,
    graceMs,
    warmupMessages: Math.ceil((warmup * rate) / 1000),
    settleMs: settleMs(windows),
    channel: `bench-${perBrowser}-${rate}-${round}`,
  }
  try {
    return await takeTurn(server, [load], plan, signal)
  } catch (cause) {
    throw new Error(`${titleOf(subject)}: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

type Round = ReturnType<typeof tallied> & { readonly cpuMs: number }

/**
 * CPU is the server process's; null if nothing was delivered. Ratios are to the bare relays at the
 * same rate, null without them: to `ws`, and to `http2` with as many windows per browser.
 */
export function fanoutRows(measured: readonly Measured[]) {
  const sessionsOf = (name: SubjectName) => measured.find((one) => isSame(one, name))?.sessions ?? []
  return measured.map(({ name, sharing, rate, sessions }) => {
    const ws = sessionsOf({ name: 'ws', sharing: null, rate })
    const http2 = sessionsOf({ name: 'http2', sharing, rate })
    const rounds = sessions.flat()
    const sumOf = (counted: 'n' | 'lost' | 'duplicated' | 'reordered') =>
      rounds.reduce((total, round) => total + round[counted], 0)
    const latencyOf = (of: readonly (readonly Round[])[]) =>
      figuresOf(of.flat().flatMap(({ latenciesMs }) => latenciesMs))
    const { p50, p99 } = latencyOf(sessions)
    return {
      mode: name,
      perBrowser: sharing,
      rate,
      n: sumOf('n'),
      lost: sumOf('lost'),
      duplicated: sumOf('duplicated'),
      reordered: sumOf('reordered'),
      cpuMicrosPerDelivery: overSessions(sessions.map((taken) => taken.map(microsOf))),
      ratioToWs: overSessions(ratios(sessions, ws)),
      ratioToHttp2: overSessions(ratios(sessions, http2)),
      p50Ms: significant(p50),
      p99Ms: significant(p99),
      p50RatioToWs: significant(p50 / latencyOf(ws).p50),
      p99RatioToWs: significant(p99 / latencyOf(ws).p99),
      sessions: sessions.length,
    }
  })
}

/** One ratio per round. */
function ratios(sessions: readonly (readonly Round[])[], relay: readonly (readonly Round[])[]) {
  return sessions.map((rounds, session) =>
    rounds.map((round, place) => microsOf(round) / microsOf(relay[session]?.[place])),
  )
}

/**
 * The median of the sessions' medians, which one disturbed round does not move, and the range over
 * the sessions.
 */
function overSessions(sessions: readonly (readonly number[])[]) {
  return middleOf(
    sessions.flatMap((rounds) => {
      const known = rounds.filter(Number.isFinite)
      return known.length === 0 ? [] : [median(known)]
    }),
  )
}

function microsOf(round: Round | undefined): number {
  return round === undefined || round.n === 0 ? Number.NaN : (round.cpuMs * 1000) / round.n
}

const rowsTable = (rows: ReturnType<typeof fanoutRows>) =>
  table(
    'Server processor time per delivery, and latency',
    [
      ...['Mode', text('Per browser'), 'Messages a second', 'n', 'Lost', 'CPU, µs', '× ws', '× http2'],
      ...['p50, ms', 'p99, ms'],
    ],
    rows.map((row) => [
      ...[row.mode, row.perBrowser === null ? 'any' : count(row.perBrowser), count(row.rate)],
      ...[count(row.n), count(row.lost), middleWords(row.cpuMicrosPerDelivery)],
      ...[middleWords(row.ratioToWs), middleWords(row.ratioToHttp2), row.p50Ms, row.p99Ms],
    ]),
  )
