// Diagnoses the path from a client to a server by trials of the modes: one sentence per question.

import type { Closing } from '../../client/transports.ts'
import type { ClockReading } from '../../protocol/clock-estimate.ts'
import { connections, type WindowHttp, type WindowMode } from '../../protocol/modes.ts'

export interface Trial {
  readonly mode: WindowMode
  /** From the request to the welcome; null if none came. */
  readonly openMs: number | null
  /** The version seen by the server, which differs behind some proxies. */
  readonly serverHttp: WindowHttp | null
  /** Shortest of several exchanges over the mode itself; null if none was answered. */
  readonly roundTripMs: number | null
  /** How it ended by itself, while opening or while held open. */
  readonly closing: Closing | null
  /**
   * From the last byte in either direction to that end; null if it did not end, or is not a stream.
   */
  readonly cutAfterMs: number | null
}

/** In both directions. */
export const getsThrough = ({ openMs, roundTripMs }: Pick<Trial, 'openMs' | 'roundTripMs'>) =>
  openMs !== null && roundTripMs !== null

/**
 * The modes that get through, best choice first: a stream that stays open, works in every browser
 * and allows any number of windows; then in the table's order.
 */
export function choices<Of extends Trial>(trials: readonly Of[]): Of[] {
  return trials.filter(getsThrough).toSorted((one, other) => rankOf(one) - rankOf(other))
}

/** Lower is better. */
function rankOf({ mode, cutAfterMs }: Trial): number {
  const isLimited = mode.isPush && mode.windowsPerBrowser !== null
  return [!isForAll(mode), !mode.isPush, cutAfterMs !== null, isLimited, mode.isOverUdp].reduce(
    (rank, isWorse) => rank * 2 + Number(isWorse),
    0,
  )
}

const isForAll = ({ uplink, joinsConnection }: WindowMode) => uplink !== 'streamed' && !joinsConnection

/** Why this mode is the first choice: a clause without a full stop. */
export function choiceReason({ mode, cutAfterMs }: Trial): string {
  const { isPush, http, windowsPerBrowser } = mode
  if (!isForAll(mode)) return 'nothing that works in every browser gets through'
  if (!isPush) return 'no stream gets through, so windows have to poll'
  if (cutAfterMs !== null) return 'it delivers at once, even though idle connections are cut'
  if (windowsPerBrowser !== null)
    return 'it delivers at once, and nothing that allows more windows gets through'
  const room = connections[http].isShared
    ? 'all windows of a browser share one connection'
    : 'a browser may open any number of windows'
  return `it works in every browser, it delivers at once, and ${room}`
}

/** The drawback of a mode that may be faster: a clause about "it"; null for none. */
export function drawback(mode: WindowMode): string | null {
  if (!isForAll(mode)) return 'not every browser supports it'
  if (mode.isOverUdp) return 'not every network lets it through'
  if (!mode.isPush) return 'it costs the server a request per message'
  if (mode.windowsPerBrowser !== null) return 'a browser allows only a few connections of this kind'
  return connections[mode.http].isShared ? null : 'it needs a connection per window'
}

/** `alpn`: what TLS negotiated when both versions were offered (RFC 7301). */
export function diagnoseHttp2(alpn: string | null, trials: readonly Trial[]): string {
  const overHttp2 = trials.filter((trial) => connections[trial.mode.http].isShared && getsThrough(trial))
  if (alpn !== connections['2'].alpn)
    return 'HTTP/2 does not arrive: whatever answers there speaks only HTTP/1.1.'
  if (overHttp2.length === 0) return 'HTTP/2 is negotiated, but no mode gets through over it.'
  if (overHttp2.every(({ mode, serverHttp }) => serverHttp !== mode.http))
    return 'HTTP/2 arrives at a proxy, which speaks HTTP/1.1 to the server; windows still get its advantages.'
  return 'HTTP/2 arrives.'
}

export function diagnoseStreams(trials: readonly Trial[]): string {
  const streams = trials.filter(({ mode }) => mode.isPush && mode.uplink !== 'socket')
  const requests = trials.filter((trial) => !trial.mode.isPush && getsThrough(trial))
  const heldBack = streams.filter(
    ({ mode, openMs, closing }) =>
      openMs === null && closing === null && requests.some((one) => one.mode.http === mode.http),
  )
  if (heldBack.length > 0)
    return `Streams are held back (${names(heldBack)}): complete responses arrive, but nothing of a response that stays open. A proxy buffers it (in nginx: proxy_buffering off).`
  const open = streams.filter(getsThrough)
  const deaf = streams.filter((trial) => trial.openMs !== null && !getsThrough(trial))
  const words =
    open.length === 0 ? `No stream gets through (${names(streams)}).` : `Streams flow: ${names(open)}.`
  if (deaf.length === 0) return words
  return `${words} Nothing sent over ${names(deaf)} arrives: a proxy holds requests back until they end (in nginx: proxy_request_buffering off).`
}

export function diagnoseSockets(trials: readonly Trial[]): string {
  const sockets = trials.filter(({ mode }) => mode.uplink === 'socket')
  const open = sockets.filter(getsThrough)
  const closed = sockets.filter((trial) => !getsThrough(trial))
  if (open.length === 0) return 'No WebSocket gets through.'
  if (closed.length === 0) return `WebSockets get through: ${names(open)}.`
  return `WebSockets get through over ${names(open)}, but not over ${names(closed)}.`
}

/** Null while unknown. */
export function diagnoseClock(clock: ClockReading | null): string | null {
  if (!clock) return null
  const { offsetMs, boundMs } = clock
  const [offset, bound] = [Math.abs(offsetMs), boundMs].map((ms) => ms.toFixed(ms < 10 ? 1 : 0))
  if (Math.abs(offsetMs) <= boundMs) return `The clocks agree within ${bound} ms.`
  return `The server's clock is ${offset} ms ${offsetMs > 0 ? 'ahead of' : 'behind'} this machine's (±${bound} ms); Crosswind allows for it.`
}

export const names = (trials: readonly Pick<Trial, 'mode'>[]) =>
  trials.map(({ mode }) => mode.name).join(', ')
