// The table of modes for server, web, tests and lab; no other code branches on a mode's name.

export const transportNames = ['sse', 'websocket', 'long-polling', 'polling', 'streaming'] as const
export type TransportName = (typeof transportNames)[number]
/** Versions that the server speaks itself. */
export const httpVersions = ['2', '1.1'] as const
export type HttpVersion = (typeof httpVersions)[number]

/** Versions that windows use: HTTP/3 (RFC 9114) is spoken by a front, since Node has none. */
export const windowHttpVersions = ['3', '2', '1.1'] as const
export type WindowHttp = (typeof windowHttpVersions)[number]

/** Where each version is served: ports or origins. HTTP/3 is only where a front serves it. */
export type ByHttp<Place> = Readonly<Record<HttpVersion, Place> & Partial<Record<WindowHttp, Place>>>

/** Whether browsers speak it over TLS alone. */
export const needsTls: Readonly<Record<WindowHttp, boolean>> = { '3': true, '2': true, '1.1': false }

/** ALPN name (RFC 7301; RFC 9114, 3.1), and whether requests share a connection (RFC 9113, 5). */
export const connections = {
  '3': { alpn: 'h3', isShared: true },
  '2': { alpn: 'h2', isShared: true },
  '1.1': { alpn: 'http/1.1', isShared: false },
} as const

/** A mode, as a transport declares it. */
export interface TransportMode {
  readonly name: string
  readonly transport: TransportName
  readonly http: WindowHttp
  /** Over UDP, which some networks do not let through; the browser may use HTTP/2 instead. */
  readonly isOverUdp: boolean
  /** Windows that one browser can open before requests hang without an error; null for no limit. */
  readonly windowsPerBrowser: number | null
  readonly whenFull: string | null
  /** False if the server only responds to requests. */
  readonly isPush: boolean
  /**
   * Maximum number of a window's drafts in flight: a POST waits for the one before anyway, and
   * queued drafts can be merged.
   */
  readonly maxInFlight: number
  /** Requires an existing HTTP/2 connection; opens none itself. */
  readonly joinsConnection: boolean
}

/** A mode in a chain. */
export interface LinkMode extends TransportMode {
  /** The mode to use if this one fails to open or keeps failing; null for the last. */
  readonly fallback: string | null
}

/** A mode of the table, which the page and the lab choose from. */
export interface WindowMode extends LinkMode {
  readonly label: string
  /** How drafts are sent: one POST each, or over the open connection. */
  readonly uplink: 'xhr' | 'streamed' | 'socket'
}

/** A mode that needs no front. */
export interface Mode extends WindowMode {
  readonly http: HttpVersion
}

/** A window may use HTTP/3 without having requested it, through a proxy that speaks it. */
export function nameInUse({ name, transport }: TransportMode, spoken: string | null): string {
  return spoken === '3' ? `${transport}/${spoken}` : name
}

export const shareNames = ['auto', 'browser', 'none'] as const
export type Share = (typeof shareNames)[number]

/**
 * Whether the windows of a browser share a connection in this mode; `auto` shares where their
 * number is limited.
 */
export function isShared(
  { windowsPerBrowser }: Pick<WindowMode, 'windowsPerBrowser'>,
  share: Share,
): boolean {
  return share === 'browser' || (share === 'auto' && windowsPerBrowser !== null)
}

/** A long outbox must not flood a server that has just restarted. */
const maxInFlight = 32

// Browsers allow six connections to a host (Chromium, Firefox, Safari): five held leave one for the
// uplink.
const heldOverHttp1 = 5

const usual = {
  windowsPerBrowser: null,
  whenFull: null,
  isPush: true,
  maxInFlight: 1,
  joinsConnection: false,
} as const

type Row = Pick<TransportMode, 'http'> & Partial<TransportMode>

function modesOf(transport: TransportName, rows: readonly Row[]): readonly TransportMode[] {
  return rows.map((row) => ({
    name: `${transport}/${row.http}`,
    transport,
    isOverUdp: row.http === '3',
    ...usual,
    ...row,
  }))
}

// Pure, so that a bundle contains only the modes of its transports.

export const sseModes = /* @__PURE__ */ modesOf('sse', [
  { http: '3' },
  { http: '2' },
  { http: '1.1', windowsPerBrowser: heldOverHttp1, whenFull: 'sse/2' },
])

export const websocketModes = /* @__PURE__ */ modesOf('websocket', [
  { http: '1.1', maxInFlight },
  { http: '2', maxInFlight, joinsConnection: true },
])

export const streamingModes = /* @__PURE__ */ modesOf('streaming', [
  { http: '3', maxInFlight },
  { http: '2', maxInFlight },
])

export const longPollingModes = /* @__PURE__ */ modesOf('long-polling', [
  { http: '3', isPush: false },
  { http: '2', isPush: false },
  { http: '1.1', isPush: false, windowsPerBrowser: heldOverHttp1, whenFull: 'long-polling/2' },
])

export const pollingModes = /* @__PURE__ */ modesOf('polling', [
  { http: '3', isPush: false },
  { http: '2', isPush: false },
  { http: '1.1', isPush: false },
])

/** Further fields for the page and the lab. */
type Shown = Pick<WindowMode, 'label' | 'uplink' | 'fallback'>

const shown: Readonly<Record<string, Shown>> = {
  'sse/3': { label: 'SSE + XHR, HTTP/3', uplink: 'xhr', fallback: 'sse/2' },
  'sse/2': { label: 'SSE + XHR, HTTP/2', uplink: 'xhr', fallback: 'sse/1.1' },
  'sse/1.1': { label: 'SSE + XHR, HTTP/1.1', uplink: 'xhr', fallback: 'long-polling/1.1' },
  'websocket/1.1': { label: 'WebSocket', uplink: 'socket', fallback: 'sse/2' },
  'websocket/2': { label: 'WebSocket, HTTP/2', uplink: 'socket', fallback: 'websocket/1.1' },
  'streaming/3': { label: 'SSE + streamed uplink, HTTP/3', uplink: 'streamed', fallback: 'streaming/2' },
  'streaming/2': { label: 'SSE + streamed uplink, HTTP/2', uplink: 'streamed', fallback: 'sse/2' },
  'long-polling/3': { label: 'Long polling, HTTP/3', uplink: 'xhr', fallback: 'long-polling/2' },
  'long-polling/2': { label: 'Long polling, HTTP/2', uplink: 'xhr', fallback: 'long-polling/1.1' },
  'long-polling/1.1': { label: 'Long polling, HTTP/1.1', uplink: 'xhr', fallback: 'polling/1.1' },
  'polling/3': { label: 'Polling, HTTP/3', uplink: 'xhr', fallback: 'polling/2' },
  'polling/2': { label: 'Polling, HTTP/2', uplink: 'xhr', fallback: 'polling/1.1' },
  'polling/1.1': { label: 'Polling, HTTP/1.1', uplink: 'xhr', fallback: null },
}

/** All modes that a window may use. */
export const windowModes: readonly WindowMode[] = /* @__PURE__ */ [
  sseModes,
  websocketModes,
  streamingModes,
  longPollingModes,
  pollingModes,
].flatMap((ofTransport) => ofTransport.map((mode) => ({ ...mode, ...(shown[mode.name] as Shown) })))

/** Modes of a server without a front. */
export const modes: readonly Mode[] = /* @__PURE__ */ windowModes.filter(
  (mode): mode is Mode => !mode.isOverUdp,
)

export function modeNamed(name: string): Mode | undefined {
  return modes.find((mode) => mode.name === name)
}

export function windowModeNamed(name: string): WindowMode | undefined {
  return windowModes.find((mode) => mode.name === name)
}

/** If a transport lacks the version, uses the one it has. Undefined for an unknown transport. */
export function modeFor(transport: string, http: string): WindowMode | undefined {
  const candidates = windowModes.filter((mode) => mode.transport === transport)
  return candidates.find((mode) => mode.http === http) ?? candidates.find((mode) => !mode.isOverUdp)
}
