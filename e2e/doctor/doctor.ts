// `npm run doctor`: diagnoses the path between windows and a server, and chooses a mode.

import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import tls from 'node:tls'
import { urlToHttpOptions } from 'node:url'
import { z } from 'zod'
import type { Closing } from '../../client/transports.ts'
import { now } from '../../client/transports.ts'
import {
  type ClockReading,
  connections,
  createClockEstimate,
  type Mode,
  modes,
  roundTripMs,
  type Timers,
  type WindowHttp,
} from '../../client/wire.ts'
import { processTimers } from '../../scripts/process.ts'
import {
  choiceReason,
  choices,
  diagnoseClock,
  diagnoseHttp2,
  diagnoseSockets,
  diagnoseStreams,
  getsThrough,
  type Trial as ModeTrial,
  names,
} from '../../web/compare/diagnosis.ts'
import { type NodeTransport, nameOf, newKey, openTransport } from '../clients/client.ts'
import { connectHttp, type HttpClient, redeem, textOf } from '../clients/http-client.ts'
import { readFlags, whole } from '../lab/flags.ts'
import { commandOf } from '../lab/programs.ts'
import { Progress, textTable } from '../lab/terminal-output.ts'

const help = `${commandOf('doctor')} --url URL [flags]

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
  invitation: z.url({ error: 'must be the whole invitation link' }).optional(),
  idle: whole(1, 3600).default(40),
  patience: whole(1, 120).default(5),
  json: z.string().min(1).optional(),
})

/** One sentence per question, in order; `choice` is null if nothing gets through. */
export function diagnose(examination: Examination) {
  const { trials } = examination
  const findings = [
    diagnoseCertificate(examination),
    diagnoseHttp2(examination.alpn, trials),
    diagnoseStreams(trials),
    diagnoseSockets(trials),
    diagnoseIdle(examination),
    diagnoseParallel(examination),
    diagnoseClock(bestClock(trials)),
  ].filter((sentence) => sentence !== null)
  const [best] = choices(trials)
  return { findings, choice: best?.mode ?? null, reason: reasonFor(best, examination) }
}

function reasonFor(best: Trial | undefined, { idleMs }: Examination): string {
  if (!best) return 'no mode gets through'
  const stayed = `; it stayed open for ${seconds(idleMs)} without a byte from here`
  return choiceReason(best) + (best.mode.isPush && best.cutAfterMs === null ? stayed : '')
}

function diagnoseCertificate({ origin, distrust }: Examination): string {
  if (distrust === null) return `${origin} answers, with a certificate that this machine trusts.`
  return `${origin} answers; this machine does not trust its certificate (${distrust}), and browsers may warn.`
}

function diagnoseIdle({ trials, idleMs, heartbeatMs }: Examination): string | null {
  const streams = trials.filter((trial) => trial.mode.isPush && getsThrough(trial))
  if (streams.length === 0) return null
  const cut = streams.filter(({ cutAfterMs }) => cutAfterMs !== null)
  if (cut.length === 0) {
    const beats = heartbeatMs === null ? '' : ` The server sends a heartbeat every ${seconds(heartbeatMs)}`
    const tells =
      heartbeatMs !== null && idleMs < 2 * heartbeatMs
        ? '; a longer --idle, of at least two heartbeats, would say more.'
        : '.'
    return `Idle connections stay open: none was cut in ${seconds(idleMs)}.${beats && beats + tells}`
  }
  const shortest = Math.min(...cut.map(({ cutAfterMs }) => cutAfterMs ?? 0))
  const least = 1000
  const advice =
    shortest > 2 * least
      ? ` Heartbeats every ${seconds(heartbeatMs ?? 0)} come too late; start the server with --heartbeat-ms ${Math.max(least, Math.floor(shortest / 2000) * 1000)}, or raise the proxy's timeout.`
      : " Raise the proxy's timeout."
  return `Idle connections are cut after about ${seconds(shortest)} (${names(cut)}).${advice}`
}

function diagnoseParallel({ parallel }: Examination): string | null {
  if (parallel === null) return null
  const { tried, opened } = parallel
  if (opened === tried)
    return `All ${tried} simultaneous streams over HTTP/1.1 opened: six per browser is the browser's own limit.`
  return `Only ${opened} of ${tried} simultaneous streams over HTTP/1.1 opened: a proxy allows no more.`
}

/** The reading with the narrowest bound. */
const bestClock = (trials: readonly Trial[]) =>
  trials
    .flatMap(({ clock }) => (clock ? [clock] : []))
    .toSorted((one, other) => one.boundMs - other.boundMs)[0] ?? null

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

interface ExaminationOptions {
  /** `https://host:port`, the address that windows use. */
  readonly url: string
  /** The whole link, if the server requires one. */
  readonly invitation?: string | undefined
  /** How long open connections are left without traffic from here. */
  readonly idleMs: number
  /** Limit for a connection, and for its first bytes. */
  readonly patienceMs: number
}

interface Trial extends ModeTrial {
  readonly clock: ClockReading | null
}

export interface Examination {
  readonly origin: string
  /** The protocol that TLS negotiated when both versions were offered (RFC 7301). */
  readonly alpn: string | null
  /** Why this machine does not trust the certificate; null if it does. */
  readonly distrust: string | null
  readonly heartbeatMs: number | null
  readonly idleMs: number
  readonly trials: readonly Trial[]
  /** Simultaneous streams over HTTP/1.1, and how many of them opened. */
  readonly parallel: { readonly tried: number; readonly opened: number } | null
}

/** A browser opens six to a host. */
const parallelStreams = 8
const exchanges = 10

const settingsSchema = z.object({
  polling: z.object({ intervalMs: z.number(), holdMs: z.number() }),
})
const sessionSchema = z.object({ channels: z.union([z.literal('all'), z.array(z.string()).min(1)]) })

/** Rejects with one sentence if no Crosswind answers at all. */
export async function examine(
  { url, invitation, idleMs, patienceMs }: ExaminationOptions,
  onStep: (step: string) => void,
  signal: AbortSignal,
  timers: Pick<Timers, 'later'> = processTimers,
): Promise<Examination> {
  const { origin } = new URL(url)
  onStep(`connecting to ${origin}`)
  const handshake = await shakeHands(origin, patienceMs)
  const version: WindowHttp = handshake.alpn === connections['2'].alpn ? '2' : '1.1'
  const cookie = invitation === undefined ? undefined : await redeem(origin, null, invitation)
  const subject = await readSubject(connectHttp(version, origin, null, cookie), origin, patienceMs)
  const parts = { origin, cookie, patienceMs, timers, ...subject }
  const held: Held[] = []
  try {
    for (const mode of modes) {
      signal.throwIfAborted()
      onStep(`trying ${mode.name}`)
      held.push(await tryMode(mode, parts))
    }
    signal.throwIfAborted()
    onStep('opening eight simultaneous streams over HTTP/1.1')
    const parallel = await countParallel(held, parts)
    const streams = held.filter(({ mode, state }) => mode.isPush && state.openMs !== null)
    if (streams.length > 0) {
      onStep(`leaving ${streams.length} connections idle for ${Math.round(idleMs / 1000)} s`)
      const cut = new AbortController()
      void Promise.all(streams.map(({ closed }) => closed)).then(() => cut.abort())
      const options = { signal: AbortSignal.any([signal, cut.signal]) }
      await pause(idleMs, undefined, options).catch(() => signal.throwIfAborted())
    }
    const heartbeatMs = held.find(({ state }) => state.heartbeatMs !== null)?.state.heartbeatMs ?? null
    return { origin, ...handshake, heartbeatMs, idleMs, trials: held.map(trialOf), parallel }
  } finally {
    for (const { close } of held) close()
  }
}

function shakeHands(origin: string, patienceMs: number): Promise<Pick<Examination, 'alpn' | 'distrust'>> {
  const { hostname, port } = urlToHttpOptions(new URL(origin))
  const host = hostname ?? ''
  return new Promise((resolve, reject) => {
    const socket = tls.connect({
      host,
      port: Number(port || 443),
      servername: isIP(host) ? '' : host,
      ALPNProtocols: Object.values(connections).map(({ alpn }) => alpn),
      rejectUnauthorized: false,
    })
    const fail = (why: string) => {
      socket.destroy()
      reject(new Error(`Nothing answers over TLS at ${origin}: ${why}.`))
    }
    socket.setTimeout(patienceMs, () => fail(`no answer within ${patienceMs / 1000} s`))
    socket.once('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message))
    socket.once('secureConnect', () => {
      const { alpnProtocol, authorized, authorizationError } = socket
      const distrust = authorized ? null : String(authorizationError)
      resolve({ alpn: alpnProtocol || null, distrust })
      socket.destroy()
    })
  })
}

type Subject = Awaited<ReturnType<typeof readSubject>> &
  Pick<ExaminationOptions, 'patienceMs'> & {
    readonly origin: string
    readonly cookie: string | undefined
    readonly timers: Pick<Timers, 'later'>
  }

/** A separate channel if the server allows it, so that no one counts another window. */
async function readSubject(http: HttpClient, origin: string, patienceMs: number) {
  const read = async (path: string): Promise<unknown> => {
    const { status, body } = await http.ask({ path, signal: AbortSignal.timeout(patienceMs) })
    const text = await textOf(body)
    if (status === 401)
      throw new Error(`${origin} requires an invitation; give its whole link with --invitation.`)
    if (status !== 200) throw new Error(`${path} answered ${status}: ${text.slice(0, 100)}`)
    return JSON.parse(text)
  }
  try {
    const { polling } = settingsSchema.parse(await read('/api/settings'))
    const { channels } = sessionSchema.parse(await read('/api/session'))
    const channel = channels === 'all' ? `doctor-${randomBytes(4).toString('hex')}` : (channels[0] ?? '')
    return { polling, channel }
  } catch (cause) {
    if (cause instanceof Error && /invitation/.test(cause.message)) throw cause
    const why = cause instanceof z.ZodError ? 'something else answers' : (cause as Error).message
    throw new Error(`There is no Crosswind at ${origin}: ${why}.`, { cause })
  } finally {
    http.close()
  }
}

interface Held {
  readonly mode: Mode
  readonly state: TrialState
  /** Resolves if the connection is closed at the other end. */
  readonly closed: Promise<void>
  readonly close: () => void
}

interface TrialState {
  openMs: number | null
  serverHttp: WindowHttp | null
  heartbeatMs: number | null
  closing: Closing | null
  closedAt: number
  lastByteAt: number
  fastestMs: number | null
  clock: ClockReading | null
}

async function tryMode(mode: Mode, subject: Subject): Promise<Held> {
  const state: TrialState = {
    openMs: null,
    serverHttp: null,
    heartbeatMs: null,
    closing: null,
    fastestMs: null,
    closedAt: 0,
    lastByteAt: now(),
    clock: null,
  }
  const estimate = createClockEstimate()
  let transport: NodeTransport | null = null
  const closed = Promise.withResolvers<void>()
  let onEvent: () => void = () => undefined
  const next = () =>
    new Promise<void>((resolve) => {
      const cancel = subject.timers.later(resolve, subject.patienceMs)
      onEvent = () => {
        cancel()
        resolve()
      }
    })
  const startedAt = now()
  const key = newKey()
  const query = { window: nameOf(key, 'doctor'), key, opening: '1', channels: subject.channel }
  const opened = next()
  transport = openTransport({
    mode,
    ca: null,
    origin: subject.origin,
    cookie: subject.cookie,
    polling: subject.polling,
    query: new URLSearchParams(query),
    onFrame(frame, receivedAt) {
      state.lastByteAt = receivedAt
      if (frame.type === 'welcome') {
        state.openMs = receivedAt - startedAt
        state.serverHttp = frame.http
        state.heartbeatMs = frame.heartbeatMs
        onEvent()
      } else if (frame.type === 'clock') {
        const { sent: sentAt, received, at: answeredAt } = frame
        const exchange = { sentAt, receivedAt: received, answeredAt, returnedAt: receivedAt }
        estimate.take(exchange)
        state.fastestMs = Math.min(state.fastestMs ?? Number.POSITIVE_INFINITY, roundTripMs(exchange))
        onEvent()
      }
    },
    onClose(closing) {
      state.closing = closing
      state.closedAt = now()
      closed.resolve()
      onEvent()
    },
  })
  await opened
  for (let count = 0; count < exchanges && state.openMs !== null && !state.closing; count += 1) {
    const answered = next()
    state.lastByteAt = now()
    transport.askClock()
    await answered
  }
  // Read at once: its bound grows with time.
  state.clock = estimate.at(now()) ?? null
  const close = () => {
    if (!state.closing) transport?.close()
  }
  // The connection will reveal nothing more, and would count as traffic.
  if (state.openMs === null || !mode.isPush) close()
  return { mode, state, closed: closed.promise, close }
}

/** Simultaneous streams of a mode that limits its windows, more than a browser opens. */
async function countParallel(held: readonly Held[], subject: Subject): Promise<Examination['parallel']> {
  const limited = held.find(({ mode, state }) => mode.windowsPerBrowser !== null && state.openMs !== null)
  if (!limited) return null
  const trials = await Promise.all(
    Array.from({ length: parallelStreams }, () => tryMode(limited.mode, subject)),
  )
  for (const { close } of trials) close()
  return { tried: parallelStreams, opened: trials.filter(({ state }) => state.openMs !== null).length }
}

function trialOf({ mode, state }: Held): Trial {
  const { openMs, serverHttp, closing, closedAt, lastByteAt, fastestMs, clock } = state
  return {
    mode,
    openMs,
    serverHttp,
    closing,
    roundTripMs: fastestMs,
    clock,
    cutAfterMs: openMs !== null && closing && mode.isPush ? closedAt - lastByteAt : null,
  }
}

/** Prints its findings; resolves to the exit status. */
export async function doctor(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const isAsked = argv.some((flag) => flag === '--help' || flag === '-h')
  if (isAsked || argv.length === 0) {
    process.stdout.write(help)
    return isAsked ? 0 : 1
  }
  const { url, invitation, idle, patience, json } = readFlags(schema, argv)
  const options = { url, invitation, idleMs: idle * 1000, patienceMs: patience * 1000 }
  const progress = new Progress(process.stdout)
  const onStep = (step: string) => progress.update(`${step} …`)
  const examination = await examine(options, onStep, signal).finally(() => progress.clear())
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
