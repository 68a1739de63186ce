// `bench fanout` and `bench message`: one window writes, all receive; modes and peers take turns.

import { z } from 'zod'
import { connections, type HttpVersion, modes } from '../../server/wire/modes.ts'
import { readFlags, whole, words } from '../lab/flags.ts'
import { requireMode } from '../lab/mode-names.ts'
import { median, significant } from '../lab/statistics.ts'
import { textTable } from '../lab/terminal-output.ts'
import { type PeerName, peerHttp, peerNames } from '../load/load-client.ts'
import { type LoadProcess, split, startLoadProcess } from '../load/load-process.ts'
import { count, figure } from '../report/section.ts'
import { type BenchServer, startMode, startPeer } from './bench-server.ts'
import { figuresOf, takeTurn, type tallied, turnsOf } from './bench-turn.ts'

/** In each session, before the first round. */
const warmUpDeliveries = 3000

interface Defaults {
  readonly modes: readonly string[]
  readonly peers: readonly PeerName[]
  readonly windows: number
  readonly rates: readonly number[]
  readonly perBrowser: readonly number[]
}

const numbers = (least: number, most: number) =>
  words.pipe(
    z
      .array(z.string().transform(Number).pipe(z.number().int().min(least).max(most)))
      .min(1, 'names no number'),
  )

const schemaWith = (defaults: Defaults) =>
  z.object({
    modes: words.default([...defaults.modes]),
    windows: whole(1, 20_000).default(defaults.windows),
    rate: numbers(1, 10_000).default([...defaults.rates]),
    seconds: whole(1, 600).default(4),
    'per-browser': numbers(1, 1000).default([...defaults.perBrowser]),
    peers: words
      .pipe(z.array(z.enum(peerNames, `there are ${new Intl.ListFormat('en-GB').format(peerNames)}`)))
      .default([...defaults.peers]),
    sessions: whole(1, 100).default(5),
    rounds: whole(1, 100).default(2),
    warmup: whole(0, 60_000).default(500),
    json: z.string().min(1).optional(),
  })

const helpOf = (name: string, what: string, { modes, peers, windows, rates, perBrowser }: Defaults) => {
  const flags = [
    ['--modes LIST', 'modes of Crosswind, or all', modes],
    ['--peers LIST', `${peerNames.join(', ')}, or nothing ("")`, peers],
    ['--windows N', 'windows that receive', windows],
    ['--rate LIST', 'messages a second', rates],
    ['--sessions N', 'fresh server processes for all', 5],
    ['--rounds N', 'turns of each in a session', 2],
    ['--seconds N', 'measured time of each in a session', 4],
    ['--warmup MS', 'uncounted time before each turn', 500],
    ['--per-browser LIST', 'windows that share an HTTP/2 session', perBrowser],
    ['--json FILE', 'also writes the figures to a file', ''],
  ] as const
  return `npm run bench -- ${name} [flags]

${what}
  Each mode and peer has its own server process, anew in each session; they take turns in an order that changes.

${flags.map(([flag, meaning, value]) => `  ${flag.padEnd(20)} ${meaning.padEnd(38)} ${value}`.trimEnd()).join('\n')}

  CPU is the server process's time per message and window, after ${warmUpDeliveries} deliveries that are not counted: in each
  session the median of the rounds, over the sessions the median and the range. Latency counts from the time when the
  message was due. Ratios are to the bare relays of e2e/peers, on \`ws\` and on \`http2\`; those of CPU are computed in
  each round. A busy machine widens the ranges.
`
}

type FanoutOptions = ReturnType<typeof readOptions>

function readOptions(argv: readonly string[], defaults: Defaults) {
  const { modes: names, 'per-browser': perBrowser, rate, ...rest } = readFlags(schemaWith(defaults), argv)
  const chosen = names.includes('all') ? modes : names.map(requireMode)
  const options = { ...rest, perBrowser, rates: rate, modes: chosen }
  const messages = Math.min(...rate) * options.seconds
  if (messages < options.rounds)
    throw new Error(`--rounds is ${options.rounds}: there are only ${messages} messages to split.`)
  return options
}

const openingAtOnce = 32
const graceMs = 5000
/** Presence is announced up to this long after the last join, plus a poll. */
const settleMs = (windows: number) => 300 + windows * 1.2

export const fanoutBench = createBench(
  'fanout',
  '  One window writes and all receive. Measures the processor time per delivered message, and the latency.',
  { modes: ['all'], peers: ['ws', 'socket.io', 'http2'], windows: 200, rates: [50], perBrowser: [1, 10] },
)

export const messageBench = createBench(
  'message',
  '  One window writes and receives. Measures what one message costs the server, beside bare relays, and relays that also store and answer.',
  {
    ...{ modes: ['sse/2', 'websocket/1.1'], peers: ['ws', 'ws-stored', 'http2', 'http2-stored'] },
    ...{ windows: 1, rates: [50, 300], perBrowser: [1] },
  },
)

function createBench(name: string, what: string, defaults: Defaults) {
  return {
    help: helpOf(name, what, defaults),
    async run(argv: readonly string[], onStep: (step: string) => void, signal: AbortSignal) {
      const options = readOptions(argv, defaults)
      const measured: Measured[] = []
      for (let session = 1; session <= options.sessions; session += 1) {
        const onSessionStep = (step: string) => onStep(`session ${session} of ${options.sessions}  ${step}`)
        const found = await measureSession(options, onSessionStep, signal)
        for (const { rounds, ...subject } of found) {
          const known = measured.find((one) => isSame(one, subject))
          if (known) known.sessions.push(rounds)
          else measured.push({ ...subject, sessions: [rounds] })
        }
      }
      const rows = fanoutRows(measured)
      return {
        text: fanoutTable(rows),
        failures: measured.flatMap((one) =>
          one.sessions.flat().flatMap(({ failures }) => failures.map((why) => `${titleOf(one)}: ${why}`)),
        ),
        rows,
        isComplete: rows.every(({ lost }) => lost === 0),
        json: options.json,
      }
    },
  }
}

/** Whose messages are measured, and how often. */
export interface SubjectName {
  readonly name: string
  /** Windows per connection; null if each has its own. */
  readonly sharing: number | null
  /** Messages a second. */
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
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<readonly (SubjectName & { readonly rounds: readonly Round[] })[]> {
  await using opened = new AsyncDisposableStack()
  const subjects = await openSubjects(options, opened, onStep, signal)
  const load = startLoadProcess(signal)
  opened.defer(load.end)
  const measured = new Map(subjects.map((subject) => [subject, [] as Round[]]))
  // Uncounted turn: the first messages run uncompiled code, and servers live longer than a session.
  const isFirst = ({ server, perBrowser }: Subject, place: number) =>
    subjects.findIndex((one) => one.server === server && one.perBrowser === perBrowser) === place
  for (const subject of subjects.filter(isFirst)) {
    onStep(`warming up  ${subject.name}`)
    const rate = Math.max(subject.rate, Math.min(1000, 10_000 / options.windows))
    const messages = Math.max(subject.rate, Math.ceil(warmUpDeliveries / options.windows))
    await measureRound({ ...subject, rate }, load, options, 'warmup', messages, signal)
  }
  for (const [round, order] of turnsOf(subjects, options.rounds).entries()) {
    for (const subject of order) {
      onStep(`round ${round + 1} of ${options.rounds}  ${titleOf(subject)}`)
      const messages = split(subject.rate * options.seconds, options.rounds)[round] ?? 0
      measured.get(subject)?.push(await measureRound(subject, load, options, `r${round}`, messages, signal))
    }
  }
  return Array.from(measured, ([{ name, sharing, rate }, rounds]) => ({ name, sharing, rate, rounds }))
}

interface Subject extends SubjectName {
  readonly perBrowser: number
  readonly server: BenchServer
}

/** Modes, then peers; each with every `perBrowser` that makes a difference, at every rate. */
async function openSubjects(
  { modes, peers, windows, rates, perBrowser }: FanoutOptions,
  opened: AsyncDisposableStack,
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<Subject[]> {
  const subjects: Subject[] = []
  const load = { windows, perBrowser: Math.max(...perBrowser), rate: Math.max(...rates) }

  async function add(name: string, http: HttpVersion, start: () => Promise<BenchServer>): Promise<void> {
    onStep(`starting  ${name}`)
    const server = await start()
    opened.defer(server.close)
    signal.throwIfAborted()
    // One measurement serves all: windows share no connection.
    for (const sharing of connections[http].isShared ? perBrowser : [null])
      for (const rate of rates) {
        subjects.push({ name, sharing, rate, perBrowser: sharing ?? perBrowser[0] ?? 1, server })
      }
  }

  for (const mode of modes) await add(mode.name, mode.http, () => startMode(mode, load))
  for (const peer of peers) await add(peer, peerHttp[peer], () => startPeer(peer))
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
    warmupMessages: Math.ceil((warmup * rate) / 1000),
    messages,
    openingAtOnce,
    settleMs: settleMs(windows),
    graceMs,
    channel: `bench-${perBrowser}-${rate}-${round}`,
  }
  try {
    return await takeTurn(server, [load], plan, signal)
  } catch (cause) {
    throw new Error(`${titleOf(subject)}: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

type Round = ReturnType<typeof tallied> & { readonly cpuMs: number }
type FanoutRow = ReturnType<typeof fanoutRows>[number]

/**
 * CPU is the server process's; null where nothing was delivered. Ratios are to the bare relays at the same rate, null
 * without them: to `ws`, and to `http2` with as many windows to a browser.
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

/** Round by round. */
function ratios(sessions: readonly (readonly Round[])[], relay: readonly (readonly Round[])[]) {
  return sessions.map((rounds, session) =>
    rounds.map((round, place) => microsOf(round) / microsOf(relay[session]?.[place])),
  )
}

/** The median of each session's median, which one disturbed round does not move, and the range over the sessions. */
function overSessions(sessions: readonly (readonly number[])[]) {
  const medians = sessions.flatMap((rounds) => {
    const known = rounds.filter(Number.isFinite)
    return known.length === 0 ? [] : [median(known)]
  })
  const { p50, min, max } = figuresOf(medians)
  return { median: significant(p50), min: significant(min), max: significant(max) }
}

function microsOf(round: Round | undefined): number {
  return round === undefined || round.n === 0 ? Number.NaN : (round.cpuMs * 1000) / round.n
}

function fanoutTable(rows: readonly FanoutRow[]): string {
  const range = ({ min, max }: FanoutRow['ratioToWs']) => `${figure(min)}–${figure(max)}`
  const hasRates = new Set(rows.map(({ rate }) => rate)).size > 1
  const rate = ['a second', (row: FanoutRow) => count(row.rate)] as const
  return textTable<FanoutRow>(
    [
      ['mode', ({ mode }) => mode],
      ['per browser', ({ perBrowser }) => (perBrowser === null ? 'any' : String(perBrowser))],
      ...(hasRates ? [rate] : []),
      ['n', ({ n }) => count(n)],
      ['lost', ({ lost }) => count(lost)],
      ['CPU µs', ({ cpuMicrosPerDelivery }) => figure(cpuMicrosPerDelivery.median)],
      ['range', ({ cpuMicrosPerDelivery }) => range(cpuMicrosPerDelivery)],
      ['× ws', ({ ratioToWs }) => figure(ratioToWs.median)],
      ['range', ({ ratioToWs }) => range(ratioToWs)],
      ['× http2', ({ ratioToHttp2 }) => figure(ratioToHttp2.median)],
      ['range', ({ ratioToHttp2 }) => range(ratioToHttp2)],
      ['p50 ms', ({ p50Ms }) => figure(p50Ms)],
      ['p99 ms', ({ p99Ms }) => figure(p99Ms)],
    ],
    rows,
  )
}
