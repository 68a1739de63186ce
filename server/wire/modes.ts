// The table of modes. Server, web, tests and lab read it; nothing else decides by a mode's name.

export type TransportName = 'sse' | 'websocket'
export type HttpVersion = '2' | '1.1'

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
}

export const modes: readonly Mode[] = [
  {
    name: 'sse/2',
    transport: 'sse',
    http: '2',
    label: 'SSE + XHR, HTTP/2',
    explanation: 'Server-sent events down, XHR up, all windows of a browser in one connection',
    windowsPerBrowser: null,
  },
  {
    name: 'sse/1.1',
    transport: 'sse',
    http: '1.1',
    label: 'SSE + XHR, HTTP/1.1',
    explanation: 'Server-sent events down, XHR up, a connection for each window and each request',
    // Six connections to a host (Chromium, Firefox, Safari): five streams leave one for the uplinks.
    windowsPerBrowser: 5,
  },
  {
    name: 'websocket/1.1',
    transport: 'websocket',
    http: '1.1',
    label: 'WebSocket',
    explanation: 'One WebSocket for each window, both ways',
    windowsPerBrowser: null,
  },
]

export const transportNames: readonly TransportName[] = ['sse', 'websocket']
export const httpVersions: readonly HttpVersion[] = ['2', '1.1']

/** The mode of that name, `sse/2`; undefined when there is none. */
export function modeNamed(name: string): Mode | undefined {
  return modes.find((mode) => mode.name === name)
}

/**
 * The mode for a wished transport and HTTP version. A transport that does not exist over that version is
 * taken over the one it has (`websocket` with `2` is `websocket/1.1`), so that changing one word of the
 * config is enough; undefined only for an unknown transport.
 */
export function modeFor(transport: string, http: string): Mode | undefined {
  const candidates = modes.filter((mode) => mode.transport === transport)
  return candidates.find((mode) => mode.http === http) ?? candidates[0]
}
