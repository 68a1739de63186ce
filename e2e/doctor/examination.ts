// Tries every mode from here to a server, through whatever stands between, and holds the connections idle.

import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import tls from 'node:tls'
import { z } from 'zod'
import { type Closing, now } from '../../client/index.ts'
import { type ClockReading, createClockEstimate, roundTripMs } from '../../server/wire/clock-estimate.ts'
import { connections, type HttpVersion, type Mode, modes } from '../../server/wire/modes.ts'
import type { Trial as ModeTrial } from '../../web/compare/diagnosis.ts'
import { type NodeTransport, nameOf, newKey, openTransport } from '../clients/client.ts'
import { connectHttp, type HttpClient, redeem, textOf } from '../clients/http-client.ts'

export interface ExaminationOptions {
  /** `https://host:port`, the address that windows use. */
  readonly url: string
  /** The whole link, if the server requires one. */
  readonly invitation?: string | undefined
  /** How long open connections are left without a byte of ours. */
  readonly idleMs: number
  /** For a connection, and for its first bytes. */
  readonly patienceMs: number
}

export interface Trial extends ModeTrial {
  readonly clock: ClockReading | null
}

export interface Examination {
  readonly origin: string
  /** What TLS agreed on when both versions were offered (RFC 7301). */
  readonly alpn: string | null
  /** Null if this machine trusts the certificate, or why it does not. */
  readonly distrust: string | null
  readonly heartbeatMs: number | null
  readonly idleMs: number
  readonly trials: readonly Trial[]
  /** Streams over HTTP/1.1 at the same time, and how many of them opened. */
  readonly parallel: { readonly tried: number; readonly opened: number } | null
}

/** A browser opens six to a host. */
const parallelStreams = 8
const exchanges = 10

const settingsSchema = z.object({
  polling: z.object({ intervalMs: z.number(), holdMs: z.number() }),
})
const sessionSchema = z.object({ channels: z.union([z.literal('all'), z.array(z.string()).min(1)]) })

/** Rejects with one sentence where no Crosswind answers at all. */
export async function examine(
  { url, invitation, idleMs, patienceMs }: ExaminationOptions,
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<Examination> {
  const { origin } = new URL(url)
  onStep(`connecting to ${origin}`)
  const handshake = await shakeHands(origin, patienceMs)
  const version: HttpVersion = handshake.alpn === connections['2'].alpn ? '2' : '1.1'
  const cookie = invitation === undefined ? undefined : await redeem(origin, null, invitation)
  const subject = await readSubject(connectHttp(version, origin, null, cookie), origin, patienceMs)
  const parts = { origin, cookie, patienceMs, ...subject }
  const held: Held[] = []
  try {
    for (const mode of modes) {
      signal.throwIfAborted()
      onStep(`trying ${mode.name}`)
      held.push(await tryMode(mode, parts))
    }
    signal.throwIfAborted()
    onStep('opening eight streams at once over HTTP/1.1')
    const parallel = await countParallel(held, parts)
    const streams = held.filter(({ mode, state }) => mode.isPush && state.openMs !== null)
    if (streams.length > 0) {
      onStep(`leaving ${streams.length} connections idle for ${Math.round(idleMs / 1000)} s`)
      await pause(idleMs, undefined, { signal })
    }
    const heartbeatMs = held.find(({ state }) => state.heartbeatMs !== null)?.state.heartbeatMs ?? null
    return { origin, ...handshake, heartbeatMs, idleMs, trials: held.map(trialOf), parallel }
  } finally {
    for (const { close } of held) close()
  }
}

function shakeHands(origin: string, patienceMs: number): Promise<Pick<Examination, 'alpn' | 'distrust'>> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    const socket = tls.connect({
      host: hostname,
      port: Number(port || 443),
      servername: /^[\d.:[\]]+$/.test(hostname) ? '' : hostname,
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

interface Subject {
  readonly origin: string
  readonly cookie: string | undefined
  readonly patienceMs: number
  readonly polling: z.output<typeof settingsSchema>['polling']
  readonly channel: string
}

/** A channel of our own where the server lets us, so that nobody counts another window. */
async function readSubject(http: HttpClient, origin: string, patienceMs: number) {
  const read = async (path: string): Promise<unknown> => {
    const { status, body } = await http.ask({ path, signal: AbortSignal.timeout(patienceMs) })
    const text = await textOf(body)
    if (status === 401)
      throw new Error(`${origin} asks for an invitation; give its whole link with --invitation.`)
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
    const why = cause instanceof z.ZodError ? 'it answers something else' : (cause as Error).message
    throw new Error(`There is no Crosswind at ${origin}: ${why}.`, { cause })
  } finally {
    http.close()
  }
}

interface Held {
  readonly mode: Mode
  readonly state: TrialState
  readonly close: () => void
}

interface TrialState {
  openMs: number | null
  serverHttp: HttpVersion | null
  heartbeatMs: number | null
  closing: Closing | null
  closedAt: number
  lastByteAt: number
  fastestMs: number | null
  clock: ClockReading | null
}

async function tryMode(mode: Mode, subject: Subject): Promise<Held> {
  const state: TrialState = {
    ...{ openMs: null, serverHttp: null, heartbeatMs: null, closing: null, fastestMs: null },
    ...{ closedAt: 0, lastByteAt: now(), clock: null },
  }
  const estimate = createClockEstimate()
  let transport: NodeTransport | null = null
  let onEvent: () => void = () => undefined
  const next = () =>
    new Promise<void>((resolve) => {
      const late = setTimeout(resolve, subject.patienceMs)
      onEvent = () => {
        clearTimeout(late)
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
        const exchange = {
          sentAt: frame.sent,
          receivedAt: frame.received,
          answeredAt: frame.at,
          returnedAt: receivedAt,
        }
        estimate.take(exchange)
        state.fastestMs = Math.min(state.fastestMs ?? Number.POSITIVE_INFINITY, roundTripMs(exchange))
        onEvent()
      }
    },
    onClose(closing) {
      state.closing = closing
      state.closedAt = now()
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
  // At once: its bound grows with time.
  state.clock = estimate.at(now()) ?? null
  const close = () => {
    if (!state.closing) transport?.close()
  }
  // Nothing more is to be learned from it, and it would count as traffic.
  if (state.openMs === null || !mode.isPush) close()
  return { mode, state, close }
}

/** Streams of a mode that limits its windows, more at once than a browser opens. */
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
    ...{ mode, openMs, serverHttp, closing },
    roundTripMs: fastestMs,
    clock,
    cutAfterMs: openMs !== null && closing && mode.isPush ? closedAt - lastByteAt : null,
  }
}
