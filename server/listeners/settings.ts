// What the two ports permit, each limit with its reason: the defaults of Node are generous or none at all.

export interface ListenerSettings {
  /** `localhost` listens on 127.0.0.1. */
  readonly host: string
  readonly port: number
  readonly http1Port: number
  readonly cert: string
  readonly key: string
  readonly heartbeatMs: number
  readonly maxConnections: number
  readonly streamsPerSession: number
  readonly maxMessageBytes: number
  readonly bodySeconds: number
}

/** Cookies are the large ones among headers; this is Node's own limit for HTTP/1.1. */
export const mostHeaderBytes = 16 * 1024

/** Connections above the limit that live just long enough to be told so; beyond them nothing is said. */
export const reserve = 64

/** A typing pause must not cost a new TLS handshake: longer than Node's 5 s. */
export const keepAliveMs = 75_000

/** A handshake takes two round trips; Node would wait for two minutes. */
const handshakeMs = 10_000

/** What one stream, and what one session, may have sent up that nobody read yet. */
const streamWindowBytes = 256 * 1024
export const sessionWindowBytes = 1024 * 1024

/** Options that both servers take. */
export function tlsOptions({ cert, key, bodySeconds }: ListenerSettings) {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2',
    handshakeTimeout: Math.min(handshakeMs, bodySeconds * 1000),
  } as const
}

/** Options of HTTP/1.1, on its own port and on the other for a client that cannot do more. */
export function http1Options({ bodySeconds }: ListenerSettings) {
  const bodyMs = bodySeconds * 1000
  return {
    maxHeaderSize: mostHeaderBytes,
    keepAliveTimeout: keepAliveMs,
    // From the connection's start, or from the answer before: who sends nothing at all is cut too.
    headersTimeout: bodyMs,
    // Headers and body have that time each. The body's is told by who reads it; this is for bodies that nobody reads.
    requestTimeout: bodyMs * 2,
    // Node looks every 30 s otherwise.
    connectionsCheckingInterval: Math.min(5000, bodyMs / 4),
  }
}

/** Options of HTTP/2. */
export function http2Options({ streamsPerSession }: ListenerSettings) {
  return {
    allowHTTP1: true,
    settings: {
      maxConcurrentStreams: streamsPerSession,
      // Four paused uploads fit into a session's window before they hold up its other windows.
      initialWindowSize: streamWindowBytes,
      // Twice what is taken, so that who sends somewhat too much gets an answer (431) and not a reset.
      maxHeaderListSize: mostHeaderBytes * 2,
      // The table of a session's header compression, in memory for as long as it lives; the protocol's own default.
      headerTableSize: 4096,
      enablePush: false,
      // WebSocket over HTTP/2 (RFC 8441): has to stand in the first SETTINGS.
      enableConnectProtocol: true,
    },
    maxDeflateDynamicTableSize: 4096,
    // Fields of one request. Browsers send about 25.
    maxHeaderListPairs: 128,
    // SETTINGS has seven known entries.
    maxSettings: 16,
    // Of this server's own PINGs one is under way at a time.
    maxOutstandingPings: 2,
    // In MB, counted for each stream apart though windows share the bytes: past it the session gets no new stream.
    maxSessionMemory: 64,
    // A client that knows the limits above opens none that are refused; a few cross with the first SETTINGS.
    maxSessionRejectedStreams: 100,
    maxSessionInvalidFrames: 100,
    // Each open stream may be taken back once: closed tabs, aborted requests. Every reset costs this server about 0.4 ms,
    // which others wait for: Node's burst of 1000 was a stall of 0.4 s, 2000 one of 0.8 s.
    streamResetBurst: streamsPerSession,
    streamResetRate: 100,
    unknownProtocolTimeout: handshakeMs,
    strictFieldWhitespaceValidation: true,
  } as const
}
