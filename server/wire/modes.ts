// The table of modes. Server, web, tests and lab read it; nothing else decides by a mode's name.

export const transportNames = ['sse', 'websocket', 'long-polling', 'polling', 'streaming'] as const
export type TransportName = (typeof transportNames)[number]
export const httpVersions = ['2', '1.1'] as const
export type HttpVersion = (typeof httpVersions)[number]

/** What a connection is called in TLS, and whether many requests share it (RFC 7301; RFC 9113, 5). */
export const connections: Readonly<
  Record<HttpVersion, { readonly alpn: string; readonly isShared: boolean }>
> = {
  '2': { alpn: 'h2', isShared: true },
  '1.1': { alpn: 'http/1.1', isShared: false },
}

export interface Mode {
  /** `transport/http`, as in `--modes sse/2`. */
  readonly name: string
  readonly transport: TransportName
  readonly http: HttpVersion
  /** For people: what goes down and what goes up. */
  readonly label: string
  readonly explanation: string
  /** How many windows of one browser it carries before requests hang without an error; null for no such limit. */
  readonly windowsPerBrowser: number | null
  /** Whether the server says things as they happen; false where it waits to be asked. */
  readonly isPush: boolean
  /** How a draft goes up: a POST for each, or in what is open already. */
  readonly uplink: 'xhr' | 'streamed' | 'socket'
  /** A connection has to be there before: this mode makes none of its own. */
  readonly joinsConnection: boolean
  /** The mode to fall to when this one cannot open, or opens and dies again and again; null at the ladder's foot. */
  readonly fallback: string | null
}

// Six connections to a host (Chromium, Firefox, Safari): five that are held leave one for the uplinks.
const heldOverHttp1 = 5

export const modes: readonly Mode[] = [
  {
    name: 'sse/2',
    transport: 'sse',
    http: '2',
    label: 'SSE + XHR, HTTP/2',
    explanation: 'Server-sent events down, XHR up, all windows of a browser in one connection',
    windowsPerBrowser: null,
    isPush: true,
    uplink: 'xhr',
    joinsConnection: false,
    fallback: 'sse/1.1',
  },
  {
    name: 'sse/1.1',
    transport: 'sse',
    http: '1.1',
    label: 'SSE + XHR, HTTP/1.1',
    explanation: 'Server-sent events down, XHR up, a connection for each window and each request',
    windowsPerBrowser: heldOverHttp1,
    isPush: true,
    uplink: 'xhr',
    joinsConnection: false,
    fallback: 'long-polling/1.1',
  },
  {
    name: 'websocket/1.1',
    transport: 'websocket',
    http: '1.1',
    label: 'WebSocket',
    explanation: 'One WebSocket for each window, both ways',
    windowsPerBrowser: null,
    isPush: true,
    uplink: 'socket',
    joinsConnection: false,
    fallback: 'sse/2',
  },
  {
    name: 'websocket/2',
    transport: 'websocket',
    http: '2',
    label: 'WebSocket, HTTP/2',
    explanation: 'WebSockets as streams of one HTTP/2 connection (RFC 8441)',
    windowsPerBrowser: null,
    isPush: true,
    uplink: 'socket',
    joinsConnection: true,
    fallback: 'websocket/1.1',
  },
  {
    name: 'streaming/2',
    transport: 'streaming',
    http: '2',
    label: 'SSE + streamed uplink, HTTP/2',
    explanation: 'Server-sent events down, one long request up; Chromium only',
    windowsPerBrowser: null,
    isPush: true,
    uplink: 'streamed',
    joinsConnection: false,
    fallback: 'sse/2',
  },
  {
    name: 'long-polling/2',
    transport: 'long-polling',
    http: '2',
    label: 'Long polling, HTTP/2',
    explanation: 'A request that the server holds until there is something to say, XHR up',
    windowsPerBrowser: null,
    isPush: false,
    uplink: 'xhr',
    joinsConnection: false,
    fallback: 'long-polling/1.1',
  },
  {
    name: 'long-polling/1.1',
    transport: 'long-polling',
    http: '1.1',
    label: 'Long polling, HTTP/1.1',
    explanation: 'The same with a connection for each held request',
    windowsPerBrowser: heldOverHttp1,
    isPush: false,
    uplink: 'xhr',
    joinsConnection: false,
    fallback: 'polling/1.1',
  },
  {
    name: 'polling/2',
    transport: 'polling',
    http: '2',
    label: 'Polling, HTTP/2',
    explanation: 'A request every now and then, XHR up',
    windowsPerBrowser: null,
    isPush: false,
    uplink: 'xhr',
    joinsConnection: false,
    fallback: 'polling/1.1',
  },
  {
    name: 'polling/1.1',
    transport: 'polling',
    http: '1.1',
    label: 'Polling, HTTP/1.1',
    explanation: 'The same over connections that are used in turns',
    windowsPerBrowser: null,
    isPush: false,
    uplink: 'xhr',
    joinsConnection: false,
    fallback: null,
  },
]

/** The mode of that name, `sse/2`; undefined when there is none. */
export function modeNamed(name: string): Mode | undefined {
  return modes.find((mode) => mode.name === name)
}

/**
 * The mode for a wished transport and HTTP version. A transport that does not exist over that version is
 * taken over the one it has (`streaming` with `1.1` is `streaming/2`), so that changing one word of the
 * config is enough; undefined only for an unknown transport.
 */
export function modeFor(transport: string, http: string): Mode | undefined {
  const candidates = modes.filter((mode) => mode.transport === transport)
  return candidates.find((mode) => mode.http === http) ?? candidates[0]
}
