// What stands between a client and a server, from trials of the modes: one sentence for each question.

import type { Closing } from '../../client/index.ts'
import type { ClockReading } from '../../server/wire/clock-estimate.ts'
import { connections, type HttpVersion, type Mode } from '../../server/wire/modes.ts'

export interface Trial {
  readonly mode: Mode
  /** From the request to the welcome; null if none came. */
  readonly openMs: number | null
  /** The version that the server sees, which differs behind some proxies. */
  readonly serverHttp: HttpVersion | null
  /** Fastest of some exchanges over the mode itself; null if none was answered. */
  readonly roundTripMs: number | null
  /** How it ended by itself, while it was opened or held. */
  readonly closing: Closing | null
  /** From the last byte either way to that end; null if it did not end, or is no stream. */
  readonly cutAfterMs: number | null
}

/** In both directions. */
export const getsThrough = ({ openMs, roundTripMs }: Pick<Trial, 'openMs' | 'roundTripMs'>) =>
  openMs !== null && roundTripMs !== null

/**
 * Those that get through, the mode to choose first: a stream that stays open, for any browser and any number of windows;
 * then in the table's order.
 */
export function choices<Of extends Trial>(trials: readonly Of[]): Of[] {
  return trials.filter(getsThrough).toSorted((one, other) => rankOf(one) - rankOf(other))
}

/** Lower is better. */
function rankOf({ mode, cutAfterMs }: Trial): number {
  const isLimited = mode.isPush && mode.windowsPerBrowser !== null
  return [!isForAll(mode), !mode.isPush, cutAfterMs !== null, isLimited].reduce(
    (rank, isWorse) => rank * 2 + Number(isWorse),
    0,
  )
}

const isForAll = ({ uplink, joinsConnection }: Mode) => uplink !== 'streamed' && !joinsConnection

/** Why it is the first of the choices: a clause without a full stop. */
export function choiceReason({ mode, cutAfterMs }: Trial): string {
  const { isPush, http, windowsPerBrowser } = mode
  if (!isForAll(mode)) return 'nothing that every browser opens gets through'
  if (!isPush) return 'no stream gets through, so windows have to ask for what is new'
  if (cutAfterMs !== null) return 'it delivers at once, though idle connections are cut'
  if (windowsPerBrowser !== null)
    return 'it delivers at once, and nothing with room for more windows gets through'
  const room = connections[http].isShared
    ? 'all windows of a browser share one connection'
    : 'a browser may open any number of windows'
  return `every browser opens it, it delivers at once, and ${room}`
}

/** What speaks against a mode that may be faster: a clause about "it"; null for nothing. */
export function drawback(mode: Mode): string | null {
  if (!isForAll(mode)) return 'not every browser opens it'
  if (!mode.isPush) return 'it costs the server a request for each message'
  if (mode.windowsPerBrowser !== null) return 'a browser has few connections of its kind'
  return connections[mode.http].isShared ? null : 'it takes a connection for each window'
}

/** `alpn`: what TLS agreed on when both versions were offered (RFC 7301). */
export function http2Words(alpn: string | null, trials: readonly Trial[]): string {
  const overHttp2 = trials.filter((trial) => connections[trial.mode.http].isShared && getsThrough(trial))
  if (alpn !== connections['2'].alpn)
    return 'HTTP/2 does not arrive: what answers there speaks HTTP/1.1 only.'
  if (overHttp2.length === 0) return 'HTTP/2 is agreed on, but no mode gets through over it.'
  if (overHttp2.every(({ mode, serverHttp }) => serverHttp !== mode.http))
    return 'HTTP/2 arrives at a proxy, which speaks HTTP/1.1 to the server; windows have its advantages all the same.'
  return 'HTTP/2 arrives.'
}

export function streamWords(trials: readonly Trial[]): string {
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

export function socketWords(trials: readonly Trial[]): string {
  const sockets = trials.filter(({ mode }) => mode.uplink === 'socket')
  const open = sockets.filter(getsThrough)
  const closed = sockets.filter((trial) => !getsThrough(trial))
  if (open.length === 0) return 'No WebSocket gets through.'
  if (closed.length === 0) return `WebSockets get through: ${names(open)}.`
  return `A WebSocket gets through over ${names(open)}, not over ${names(closed)}.`
}

/** Null while unknown. */
export function clockWords(clock: ClockReading | null): string | null {
  if (!clock) return null
  const { offsetMs, boundMs } = clock
  const [offset, bound] = [Math.abs(offsetMs), boundMs].map((ms) => ms.toFixed(ms < 10 ? 1 : 0))
  if (Math.abs(offsetMs) <= boundMs) return `The clocks agree within ${bound} ms.`
  return `The server's clock is ${offset} ms ${offsetMs > 0 ? 'ahead of' : 'behind'} this machine's (±${bound} ms); Crosswind allows for it.`
}

export const names = (trials: readonly Pick<Trial, 'mode'>[]) =>
  trials.map(({ mode }) => mode.name).join(', ')
