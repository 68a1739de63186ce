// Options of Node's servers: limits on what one connection may hold.

import { defaultEngine } from '../config/engine-settings.ts'
import { maxUnreadBytes } from '../transports/budget.ts'

/** Node's limit for HTTP/1.1; mostly cookies. */
export const maxHeaderBytes = 16 * 1024

/** A pause in typing must not cost a TLS handshake; Node's default is 5 s. */
export const keepAliveMs = 75_000

/** For `http2.createSecureServer`, beside `cert` and `key`. */
export function serverOptions() {
  const { bodySeconds } = defaultEngine.limits
  return { ...http1Options(bodySeconds), ...http2Options(defaultEngine.limits) }
}

/** A handshake takes two round trips; Node's default is two minutes. */
const maxHandshakeMs = 10_000

/** Also for HTTP/1.1 clients on the HTTP/2 port. */
export function http1Options(bodySeconds: number) {
  const bodyMs = bodySeconds * 1000
  return {
    handshakeTimeout: Math.min(maxHandshakeMs, bodyMs),
    maxHeaderSize: maxHeaderBytes,
    keepAliveTimeout: keepAliveMs,
    // From connection start or the previous response: also cuts silent connections.
    headersTimeout: bodyMs,
    // Headers and body. Readers enforce the body's time; this covers unread bodies.
    requestTimeout: bodyMs * 2,
    connectionsCheckingInterval: Math.min(5000, bodyMs / 4),
  }
}

/** Where Node's default is too high or missing. */
export function http2Options({ streamsPerSession }: { readonly streamsPerSession: number }) {
  return {
    allowHTTP1: true,
    settings: {
      maxConcurrentStreams: streamsPerSession,
      // Limit of unread upload per stream. Node holds this much for each stream, whatever the
      // session's window.
      initialWindowSize: maxUnreadBytes,
      // Allows a 431 response instead of a reset. Compression may halve headers, and nghttp2 ends a
      // session at the ninth CONTINUATION frame, after 147 kB: beyond either limit there is no
      // response.
      maxHeaderListSize: 16 * maxHeaderBytes,
      enablePush: false,
      // WebSocket over HTTP/2 (RFC 8441): required in the first SETTINGS.
      enableConnectProtocol: true,
    },
    // SETTINGS has seven defined entries.
    maxSettings: 16,
    // This server sends one PING at a time.
    maxOutstandingPings: 2,
    // In MB. Node counts shared bytes once per stream; above the limit the session gets no new
    // streams.
    maxSessionMemory: 64,
    maxSessionInvalidFrames: 100,
    // One reset per open stream: closed tabs, aborted requests. A reset costs the server about 0.4
    // ms: Node's burst of 1000 stalls it for 0.4 s, 2000 for 0.8 s.
    streamResetBurst: streamsPerSession,
    streamResetRate: 100,
  } as const
}
