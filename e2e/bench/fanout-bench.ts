// `bench fanout`: one window writes, all receive; modes and peers take turns.

import { z } from 'zod'
import { connections, type HttpVersion, modes } from '../../server/wire/modes.ts'
import { readFlags, whole, words } from '../lab/flags.ts'
import { requireMode } from '../lab/mode-names.ts'
import { significant } from '../lab/statistics.ts'
import { textTable } from '../lab/terminal-output.ts'
import { peerHttp, peerNames } from '../load/load-client.ts'
import { type LoadProcess, startLoadProcess } from '../load/load-process.ts'
import { count, figure } from '../report/section.ts'
import { type BenchServer, startMode, startPeer } from './bench-server.ts'
import { figuresOf, split, takeTurn, type tallied, turnsOf } from './bench-turn.ts'

const schema = z.object({
  modes: words.default(['all']),
  windows: whole(1, 20_000).default(200),
  rate: whole(1, 10_000).default(50),
  seconds: whole(1, 600).default(5),
  'per-browser': words
    .pipe(
      z.array(z.string().transform(Number).pipe(z.number().int().min(1).max(1000))).min(1, 'names no number'),
    )
    .default([1, 10]),
  peers: words
    .pipe(z.array(z.enum(peerNames, `there are ${new Intl.ListFormat('en-GB').format(peerNames)}`)))
    .default(['ws', 'socket.io']),
  rounds: whole(1, 100).default(5),
  warmup: whole(0, 60_000).default(500),
  json: z.string().min(1).optional(),
})

const help = `npm run bench -- fanout [flags]

  One window writes and all receive. Measures the server's processor time per delivered message, and the latency.
  Each mode and peer has its own server process; they take turns in an order that changes with each round.

  --modes LIST         modes of Crosswind, or all           all
  --peers LIST         ws, socket.io, http2, or nothing ("")  ws,socket.io
  --windows N          windows that receive                 200
  --rate N             messages a second                    50
  --seconds N          measured time of each                5
  --rounds N           turns of each                        5
  --warmup MS          uncounted time before each turn      500
  --per-browser LIST   windows that share an HTTP/2 session 1,10
  --json FILE          also writes the figures to a file

  CPU is the server process's time per message and window, the median of the rounds. Latency counts from the time when
  the message was due. Ratios are to the bare \`ws\` relay of e2e/peers; that of CPU is computed in each round, and its
  median shown. A busy machine widens the ranges: use more rounds, or wait.
`

type FanoutOptions = ReturnType<typeof readOptions>

function readOptions(argv: readonly string[]) {
  const { modes: names, 'per-browser': perBrowser, ...rest } = readFlags(schema, argv)
  const options = { ...rest, perBrowser, modes: names.includes('all') ? modes : names.map(requireMode) }
  const messages = options.rate * options.seconds
  if (messages < options.rounds)
    throw new Error(`--rounds is ${options.rounds}: there are only ${messages} messages to split.`)
  return options
}

const openingAtOnce = 32
const graceMs = 5000
/** Presence is announced up to this long after the last join, plus a poll. */
const settleMs = (windows: number) => 300 + windows * 1.2

export const fanoutBench = {
  help,
  async run(argv: readonly string[], onStep: (step: string) => void, signal: AbortSignal) {
    const options = readOptions(argv)
    await using opened = new AsyncDisposableStack()
    const subjects = await openSubjects(options, opened, onStep, signal)
    const load = startLoadProcess(signal)
    opened.defer(load.end)
    const measured = new Map(subjects.map((subject) => [subject, [] as Round[]]))
    // Uncounted turn: the first messages run uncompiled code.
    for (const subject of subjects) {
      onStep(`warming up  ${titleOf(subject)}`)
      await measureRound(subject, load, options, 'warmup', options.rate, signal)
    }
    const messages = split(options.rate * options.seconds, options.rounds)
    for (const [round, order] of turnsOf(subjects, options.rounds).entries()) {
      for (const subject of order) {
        onStep(`round ${round + 1} of ${options.rounds}  ${titleOf(subject)}`)
        const taken = await measureRound(subject, load, options, `r${round}`, messages[round] ?? 0, signal)
        measured.get(subject)?.push(taken)
      }
    }
    const rows = fanoutRows(measured)
    return {
      text: fanoutTable(rows.map((row, place) => ({ ...row, sharing: subjects[place]?.sharing ?? null }))),
      failures: Array.from(measured, ([{ name }, rounds]) =>
        rounds.flatMap(({ failures }) => failures.map((why) => `${name}: ${why}`)),
      ).flat(),
      rows,
      isComplete: rows.every(({ lost }) => lost === 0),
      json: options.json,
    }
  },
}

interface Subject {
  readonly name: string
  readonly perBrowser: number
  /** Windows per connection; null if each has its own. */
  readonly sharing: number | null
  readonly server: BenchServer
}

/** Modes, then peers; each with every `perBrowser` that makes a difference. */
async function openSubjects(
  { modes, peers, windows, rate, perBrowser }: FanoutOptions,
  opened: AsyncDisposableStack,
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<Subject[]> {
  const subjects: Subject[] = []
  const load = { windows, perBrowser: Math.max(...perBrowser), rate }

  async function add(name: string, http: HttpVersion, start: () => Promise<BenchServer>): Promise<void> {
    onStep(`starting  ${name}`)
    const server = await start()
    opened.defer(server.close)
    signal.throwIfAborted()
    // One measurement serves all: windows share no connection.
    for (const sharing of connections[http].isShared ? perBrowser : [null])
      subjects.push({ name, perBrowser: sharing ?? perBrowser[0] ?? 1, sharing, server })
  }

  for (const mode of modes) await add(mode.name, mode.http, () => startMode(mode, load))
  for (const peer of peers) await add(peer, peerHttp[peer], () => startPeer(peer))
  return subjects
}

function titleOf({ name, sharing }: Subject): string {
  return sharing === null ? name : `${name}, ${sharing} to a browser`
}

async function measureRound(
  { name, perBrowser, server }: Subject,
  load: LoadProcess,
  { windows, rate, warmup }: FanoutOptions,
  round: string,
  messages: number,
  signal: AbortSignal,
): Promise<Round> {
  const plan = {
    windows,
    perBrowser,
    rate,
    warmupMessages: Math.ceil((warmup * rate) / 1000),
    messages,
    openingAtOnce,
    settleMs: settleMs(windows),
    graceMs,
    channel: `bench-${perBrowser}-${round}`,
  }
  try {
    return await takeTurn(server, [load], plan, signal)
  } catch (cause) {
    throw new Error(`${name}: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

type Round = ReturnType<typeof tallied> & { readonly cpuMs: number }
type FanoutRow = ReturnType<typeof fanoutRows>[number]

/** Ratios are to the bare `ws` relay, null without it. CPU is the server process's. */
export function fanoutRows(measured: ReadonlyMap<Pick<Subject, 'name' | 'perBrowser'>, readonly Round[]>) {
  const wsRounds = [...measured].find(([{ name }]) => name === 'ws')?.[1] ?? []
  const ws = figuresOf(wsRounds.flatMap(({ latenciesMs }) => latenciesMs))
  return Array.from(measured, ([{ name, perBrowser }, rounds]) => {
    const sumOf = (counted: 'n' | 'lost' | 'duplicated' | 'reordered') =>
      rounds.reduce((total, round) => total + round[counted], 0)
    const { p50, p99 } = figuresOf(rounds.flatMap(({ latenciesMs }) => latenciesMs))
    // Medians are robust against one disturbed round; rounds without deliveries do not count.
    const cpu = figuresOf(rounds.map(microsOf).filter(Number.isFinite))
    const ratios = rounds.map((round, place) => microsOf(round) / microsOf(wsRounds[place]))
    const ratio = figuresOf(ratios.filter(Number.isFinite))
    return {
      mode: name,
      perBrowser,
      n: sumOf('n'),
      lost: sumOf('lost'),
      duplicated: sumOf('duplicated'),
      reordered: sumOf('reordered'),
      cpuMicrosPerDelivery: significant(cpu.p50),
      cpuMicrosMin: significant(cpu.min),
      cpuMicrosMax: significant(cpu.max),
      p50Ms: significant(p50),
      p99Ms: significant(p99),
      ratioToWs: significant(ratio.p50),
      ratioToWsMin: significant(ratio.min),
      ratioToWsMax: significant(ratio.max),
      p50RatioToWs: significant(p50 / ws.p50),
      p99RatioToWs: significant(p99 / ws.p99),
      rounds: rounds.length,
    }
  })
}

function microsOf(round: Round | undefined): number {
  return round === undefined ? Number.NaN : (round.cpuMs * 1000) / round.n
}

function fanoutTable(rows: readonly (FanoutRow & Pick<Subject, 'sharing'>)[]): string {
  return textTable<(typeof rows)[number]>(
    [
      ['mode', ({ mode }) => mode],
      ['per browser', ({ sharing }) => (sharing === null ? 'any' : String(sharing))],
      ['n', ({ n }) => count(n)],
      ['lost', ({ lost }) => count(lost)],
      ['CPU µs', ({ cpuMicrosPerDelivery }) => figure(cpuMicrosPerDelivery)],
      ['range', ({ cpuMicrosMin, cpuMicrosMax }) => `${figure(cpuMicrosMin)}–${figure(cpuMicrosMax)}`],
      ['× ws', ({ ratioToWs }) => figure(ratioToWs)],
      ['range', ({ ratioToWsMin, ratioToWsMax }) => `${figure(ratioToWsMin)}–${figure(ratioToWsMax)}`],
      ['p50 ms', ({ p50Ms }) => figure(p50Ms)],
      ['× ws', ({ p50RatioToWs }) => figure(p50RatioToWs)],
      ['p99 ms', ({ p99Ms }) => figure(p99Ms)],
      ['× ws', ({ p99RatioToWs }) => figure(p99RatioToWs)],
    ],
    rows,
  )
}
