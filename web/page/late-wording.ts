// The words of the connection panel and of the Lab, which load when they are opened.

import { nameInUse, windowModeNamed } from '../../protocol/modes.ts'
import type { ShownLink } from '../store.ts'
import { formatMode, usedMode } from './wording.ts'

/** When a lost connection is tried again; empty while it is not. `now`: ms since the epoch. */
export function formatRetry({ state, retryAt }: Pick<ShownLink, 'state' | 'retryAt'>, now: number): string {
  if (state !== 'waiting' || retryAt === null) return ''
  const seconds = Math.ceil((retryAt - now) / 1000)
  return seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again…'
}

/** Description of each mode, for its menu. */
export const explanations: Readonly<Record<string, string>> = {
  'sse/3': 'Server-sent events down, XHR up, over QUIC: a lost packet holds up one window, not all',
  'sse/2': 'Server-sent events down, XHR up, all windows of a browser in one connection',
  'sse/1.1': 'Server-sent events down, XHR up, one connection for each stream and each request',
  'websocket/1.1': 'One WebSocket for each window, both ways',
  'websocket/2': 'WebSockets as streams of one HTTP/2 connection (RFC 8441)',
  'streaming/3': 'Server-sent events down, one long request up, over QUIC; Chromium only',
  'streaming/2': 'Server-sent events down, one long request up; Chromium only',
  'long-polling/3': 'A request that the server holds until it has messages, over QUIC',
  'long-polling/2': 'A request that the server holds until it has messages, XHR up',
  'long-polling/1.1': 'The same with a connection for each held request',
  'polling/3': 'Periodic requests over QUIC',
  'polling/2': 'Periodic requests, XHR up',
  'polling/1.1': 'The same over a limited set of connections',
}

/** The requested mode, while another mode or HTTP version is in use; else null. */
export function formatInstead(link: ShownLink): string | null {
  const { state, preferred, spokenHttp } = link
  const mode = windowModeNamed(preferred)
  if (state !== 'open' || !mode) return null
  const used = usedMode(link)
  // HTTP/3 carries all windows in one connection, as HTTP/2 does.
  const isAlike =
    mode.windowsPerBrowser === null && used !== preferred && used === nameInUse(mode, spokenHttp)
  const isAsked = used === preferred && (spokenHttp === null || spokenHttp === mode.http)
  return isAlike || isAsked ? null : `instead of ${formatMode(preferred)}`
}

/** `0.42 ms`, `4.2 ms`, `42 ms`. */
export function formatMs(ms: number): string {
  return `${ms.toFixed(ms < 0.995 ? 2 : ms < 9.95 ? 1 : 0)} ms`
}
