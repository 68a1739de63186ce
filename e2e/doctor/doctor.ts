// `npm run doctor`: says what stands between windows and a server, and which mode to choose.

import { writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { leaveWhenDone } from '../../server/process.ts'
import { connections, type Mode } from '../../server/wire/modes.ts'
import { readFlags, whole } from '../lab/flags.ts'
import { Progress, textTable } from '../lab/terminal-output.ts'
import { type Examination, examine, type Trial } from './examination.ts'

const help = `npm run doctor -- --url URL [flags]

  Tries every mode from this machine to a running server, through whatever stands between: does HTTP/2 arrive, are
  streams held back, is an idle connection cut, does a WebSocket get through, is the clock off. Names the mode to
  choose. Writes no message; it shows as a window on a page of its own.

  --url URL          the address that windows use, such as https://localhost:8443
  --invitation LINK  the whole link, if the server requires one
  --idle SECONDS     how long connections are left idle          40
  --patience SECONDS for a connection and its first bytes        5
  --json FILE        also writes what was found to a file

  Exits with 0 when some mode gets through, with 1 when none does or the server cannot be reached.
`

const schema = z.object({
  url: z.url({ protocol: /^https$/, error: 'must be an https address, https://localhost:8443' }),
  invitation: z.url({ error: 'must be the whole link of the invitation' }).optional(),
  idle: whole(1, 3600).default(40),
  patience: whole(1, 120).default(5),
  json: z.string().min(1).optional(),
})

export interface Diagnosis {
  /** One sentence for each question, in the order of the questions. */
  readonly findings: readonly string[]
  /** Null when nothing gets through. */
  readonly choice: Mode | null
  readonly reason: string
}

export function diagnose(examination: Examination): Diagnosis {
  const { trials } = examination
  const findings = [
    certificateWords(examination),
    http2Words(examination),
    streamWords(trials),
    socketWords(trials),
    idleWords(examination),
    parallelWords(examination),
    clockWords(trials),
  ].filter((sentence) => sentence !== null)
  const ranked = trials.filter(getsThrough).toSorted((one, other) => rankOf(one) - rankOf(other))
  const choice = ranked[0]?.mode ?? null
  return { findings, choice, reason: reasonFor(ranked[0], examination) }
}

/** In both directions. */
const getsThrough = ({ openMs, roundTripMs }: Trial) => openMs !== null && roundTripMs !== null

/** Lower is better: a stream that stays open, for any browser and any number of windows; then in the table's order. */
function rankOf({ mode, cutAfterMs }: Trial): number {
  const isForAll = mode.uplink !== 'streamed' && !mode.joinsConnection
  const isLimited = mode.isPush && mode.windowsPerBrowser !== null
  return [!isForAll, !mode.isPush, cutAfterMs !== null, isLimited].reduce(
    (rank, isWorse) => rank * 2 + Number(isWorse),
    0,
  )
}

function reasonFor(best: Trial | undefined, { idleMs }: Examination): string {
  if (!best) return 'no mode gets through'
  if (!best.mode.isPush) return 'no stream gets through'
  if (best.cutAfterMs !== null) return 'streams get through, though idle ones are cut'
  return `it gets through and stayed open for ${seconds(idleMs)} without a byte from here`
}

function certificateWords({ origin, distrust }: Examination): string {
  if (distrust === null) return `${origin} answers, with a certificate that this machine trusts.`
  return `${origin} answers; this machine does not trust its certificate (${distrust}), and browsers may warn.`
}

function http2Words({ alpn, trials }: Examination): string {
  const overHttp2 = trials.filter((trial) => connections[trial.mode.http].isShared && getsThrough(trial))
  if (alpn !== connections['2'].alpn)
    return 'HTTP/2 does not arrive: what answers there speaks HTTP/1.1 only.'
  if (overHttp2.length === 0) return 'HTTP/2 is agreed on, but no mode gets through over it.'
  if (overHttp2.every(({ mode, serverHttp }) => serverHttp !== mode.http))
    return 'HTTP/2 arrives at a proxy, which speaks HTTP/1.1 to the server; windows have its advantages all the same.'
  return 'HTTP/2 arrives.'
}

function streamWords(trials: readonly Trial[]): string {
  const streams = trials.filter(({ mode }) => mode.isPush && mode.uplink !== 'socket')
  const requests = trials.filter((trial) => !trial.mode.isPush && getsThrough(trial))
  const heldBack = streams.filter(
    ({ mode, openMs, closing }) =>
      openMs === null && closing === null && requests.some((one) => one.mode.http === mode.http),
  )
  if (heldBack.length > 0)
    return `Streams are held back (${names(heldBack)}): requests that end are answered, but of an answer that goes on nothing arrives. A proxy buffers it (in nginx: proxy_buffering off).`
  const open = streams.filter(getsThrough)
  const deaf = streams.filter((trial) => trial.openMs !== null && !getsThrough(trial))
  const words = open.length === 0 ? 'No stream (SSE) gets through.' : `Streams (SSE) flow: ${names(open)}.`
  if (deaf.length === 0) return words
  return `${words} What is sent over ${names(deaf)} does not arrive: a proxy holds requests back until they end (in nginx: proxy_request_buffering off).`
}

function socketWords(trials: readonly Trial[]): string {
  const sockets = trials.filter(({ mode }) => mode.uplink === 'socket')
  const open = sockets.filter(getsThrough)
  const closed = sockets.filter((trial) => !getsThrough(trial))
  if (open.length === 0) return 'No WebSocket gets through.'
  if (closed.length === 0) return `WebSockets get through: ${names(open)}.`
  return `A WebSocket gets through over ${names(open)}, not over ${names(closed)}.`
}

function idleWords({ trials, idleMs, heartbeatMs }: Examination): string | null {
  const streams = trials.filter((trial) => trial.mode.isPush && getsThrough(trial))
  if (streams.length === 0) return null
  const cut = streams.filter(({ cutAfterMs }) => cutAfterMs !== null)
  if (cut.length === 0) {
    const beats = heartbeatMs === null ? '' : ` The server sends a heartbeat every ${seconds(heartbeatMs)}`
    const tells =
      heartbeatMs !== null && idleMs < 2 * heartbeatMs
        ? '; a longer --idle, of two or more, would tell more.'
        : '.'
    return `Idle connections stay open: none was cut in ${seconds(idleMs)}.${beats && beats + tells}`
  }
  const shortest = Math.min(...cut.map(({ cutAfterMs }) => cutAfterMs ?? 0))
  const least = 1000
  const advice =
    shortest > 2 * least
      ? ` Heartbeats every ${seconds(heartbeatMs ?? 0)} come too late; start the server with --heartbeat-ms ${Math.max(least, Math.floor(shortest / 2000) * 1000)}, or let the proxy wait longer.`
      : ' Let the proxy wait longer.'
  return `Idle connections are cut after about ${seconds(shortest)} (${names(cut)}).${advice}`
}

function parallelWords({ parallel }: Examination): string | null {
  if (parallel === null) return null
  const { tried, opened } = parallel
  if (opened === tried)
    return `${tried} streams at once over HTTP/1.1 all open: six for each browser is the browser's own limit.`
  return `Of ${tried} streams at once over HTTP/1.1 ${opened} open: what stands between allows no more.`
}

function clockWords(trials: readonly Trial[]): string | null {
  const [best] = trials
    .flatMap(({ clock }) => (clock ? [clock] : []))
    .toSorted((one, other) => one.boundMs - other.boundMs)
  if (!best) return null
  const { offsetMs, boundMs } = best
  const [offset, bound] = [Math.abs(offsetMs), boundMs].map((ms) => ms.toFixed(1))
  if (Math.abs(offsetMs) <= boundMs) return `The clocks agree within ${bound} ms.`
  return `The server's clock is ${offset} ms ${offsetMs > 0 ? 'ahead of' : 'behind'} this machine's (±${bound} ms); Crosswind allows for it.`
}

const names = (trials: readonly Trial[]) => trials.map(({ mode }) => mode.name).join(', ')

const seconds = (ms: number) => `${Number((ms / 1000).toFixed(ms < 2000 ? 1 : 0))} s`

function trialTable(trials: readonly Trial[]): string {
  const figure = (ms: number | null) => (ms === null ? '–' : ms.toFixed(1))
  return textTable<Trial>(
    [
      ['mode', ({ mode }) => mode.name],
      ['', wordOf],
      ['opened in, ms', ({ openMs }) => figure(openMs)],
      ['round trip, ms', ({ roundTripMs }) => figure(roundTripMs)],
      [
        'idle, cut after',
        (trial) => (trial.cutAfterMs === null || !getsThrough(trial) ? '–' : seconds(trial.cutAfterMs)),
      ],
    ],
    trials,
    2,
  )
}

function wordOf({ openMs, roundTripMs, closing }: Trial): string {
  if (openMs !== null) return roundTripMs === null ? 'opens, sends nothing' : 'gets through'
  return closing ? `fails (${closing.code})` : 'nothing arrives'
}

if (import.meta.main) {
  leaveWhenDone()
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
  const progress = new Progress(process.stdout)
  try {
    process.exitCode = await run(process.argv.slice(2), progress, stopping.signal)
  } catch (error) {
    progress.clear()
    console.error(stopping.signal.aborted ? '\n  Stopped.' : `\n  ${(error as Error).message}`)
    process.exitCode = stopping.signal.aborted ? 130 : 1
  }
}

async function run(argv: readonly string[], progress: Progress, signal: AbortSignal): Promise<number> {
  const isAsked = argv.some((flag) => flag === '--help' || flag === '-h')
  if (isAsked || argv.length === 0) {
    process.stdout.write(help)
    return isAsked ? 0 : 1
  }
  const { url, invitation, idle, patience, json } = readFlags(schema, argv)
  const options = { url, invitation, idleMs: idle * 1000, patienceMs: patience * 1000 }
  const examination = await examine(options, (step) => progress.update(`${step} …`), signal)
  progress.clear()
  const { findings, choice, reason } = diagnose(examination)
  console.log(`\n${trialTable(examination.trials)}\n`)
  for (const finding of findings) console.log(`  ${finding}`)
  console.log(`\n  ${choice ? `Choose ${choice.name} (${choice.label})` : 'Choose none'}: ${reason}.\n`)
  if (json !== undefined) {
    const found = { ...examination, findings, choice: choice?.name ?? null, reason }
    const named = (key: string, value: unknown) => (key === 'mode' ? (value as Mode).name : value)
    await writeFile(json, `${JSON.stringify(found, named, 2)}\n`)
  }
  return choice ? 0 : 1
}
