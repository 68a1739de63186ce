// The two ports: HTTP/2 (with HTTP/1.1 for a client that cannot) and HTTP/1.1 alone, both over TLS.

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import type { App } from './app.ts'
import { takeExtendedConnects } from './extended-connect.ts'
import { Refusal } from './refusal.ts'
import { isOwnOrigin, type OriginRules, refuseForeign } from './security/origins.ts'

export interface ListenerSettings {
  /** `localhost` listens on 127.0.0.1. */
  readonly host: string
  readonly port: number
  readonly http1Port: number
  readonly cert: string
  readonly key: string
  readonly streamsPerSession: number
  readonly maxMessageBytes: number
}

export interface Listeners {
  /** The ports that were truly taken: 0 in the settings takes a free one. */
  readonly ports: { readonly '2': number; readonly '1.1': number }
  /** Takes no new connection, lets the open ones end, cuts what is left after `withinMs`. */
  readonly close: (withinMs: number) => Promise<void>
}

/** Node's own defaults are no limit at all, 64 KiB, and a reset budget that a person closing tabs can use up. */
const http2Settings = {
  initialWindowSize: 1024 * 1024,
  maxHeaderListSize: 16 * 1024,
  // WebSocket over HTTP/2 (RFC 8441): has to stand in the first SETTINGS.
  enableConnectProtocol: true,
} as const
const resets = { streamResetBurst: 2000, streamResetRate: 100 } as const

/** A typing pause must not cost a new TLS handshake: longer than Node's 5 s. */
const keepAliveMs = 75_000
const requestMs = 30_000

/** Rejects, naming the port, when one is taken or not permitted; then neither stays open. */
export async function listen(app: App, settings: ListenerSettings, origins: OriginRules): Promise<Listeners> {
  const tls = { cert: settings.cert, key: settings.key, minVersion: 'TLSv1.2' } as const
  const secure = http2.createSecureServer(
    {
      ...tls,
      ...resets,
      allowHTTP1: true,
      settings: { ...http2Settings, maxConcurrentStreams: settings.streamsPerSession },
    },
    app.koa.callback(),
  )
  const plain = https.createServer(
    { ...tls, keepAliveTimeout: keepAliveMs, requestTimeout: requestMs },
    app.koa.callback(),
  )
  const sessions = new Set<http2.ServerHttp2Session>()
  const sockets = new Set<Socket>()
  secure.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
  })
  for (const server of [secure, plain]) {
    track(server, sockets)
    takeWebSockets(app, server, settings.maxMessageBytes, origins)
  }
  takeExtendedConnects(secure, {
    maxPayload: payloadFor(settings.maxMessageBytes),
    check: (request) => checkWebSocket(app, request.headers.origin, request, origins),
    onSocket: (socket, request) => app.koa.ws.onConnection(socket, request),
  })
  await open(secure, settings.port, settings.host)
  try {
    await open(plain, settings.http1Port, settings.host)
  } catch (error) {
    secure.close()
    throw error
  }

  return {
    ports: { '2': portOf(secure), '1.1': portOf(plain) },
    async close(withinMs) {
      const closed = Promise.all([secure, plain].map((server) => once(server, 'close')))
      secure.close()
      plain.close()
      // GOAWAY: the open streams may end, no new one begins.
      for (const session of sessions) session.close()
      plain.closeIdleConnections()
      const deadline = setTimeout(() => {
        for (const session of sessions) session.destroy()
        for (const socket of sockets) socket.destroy()
      }, withinMs)
      await closed
      clearTimeout(deadline)
    },
  }
}

function track(server: NetServer, sockets: Set<Socket>): void {
  server.on('connection', (socket: Socket) => {
    // A keystroke is a small packet that must not wait for the one before it to be acknowledged.
    socket.setNoDelay(true)
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
}

/** A frame somewhat too large is refused by name; past twice the limit the socket is cut (1009). */
const frameAllowance = 64 * 1024
const payloadFor = (maxMessageBytes: number) => maxMessageBytes * 2 + frameAllowance

/** koa-websocket keeps the last server it made in `ws.server`; each has its own upgrade listener. */
function takeWebSockets(app: App, server: NetServer, maxMessageBytes: number, origins: OriginRules): void {
  app.koa.ws.listen({
    // `ws` asks for an HTTP server's type and uses only its 'upgrade' event, which both kinds have.
    server: server as https.Server,
    maxPayload: payloadFor(maxMessageBytes),
    // Compression fragments memory and holds small frames back.
    perMessageDeflate: false,
    verifyClient({ origin, req }, decide) {
      checkWebSocket(app, origin || undefined, req, origins).then(
        () => decide(true),
        (error) => {
          const refusal =
            error instanceof Refusal ? error : new Refusal(500, 'internal', 'The server failed.')
          decide(false, refusal.status, JSON.stringify(refusal), {
            'Content-Type': 'application/json; charset=utf-8',
          })
        },
      )
    },
  })
}

/** Rejects with a `Refusal`; where it resolves, the app knows what the request's sender may do. */
async function checkWebSocket(
  app: App,
  origin: string | undefined,
  request: IncomingMessage,
  rules: OriginRules,
): Promise<void> {
  const path = (request.url ?? '').split('?', 1)[0] ?? ''
  if (!app.socketPaths.has(path)) throw new Refusal(404, 'not-found', `There is no WebSocket at ${path}.`)
  if (!isOwnOrigin(origin, request.headers.host, rules)) throw refuseForeign(origin ?? '')
  await app.letSocketIn(request)
}

async function open(server: NetServer, port: number, host: string): Promise<void> {
  server.listen({ port, host: host === 'localhost' ? '127.0.0.1' : host })
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw new Error(whyNotOpen(port, host, cause), { cause })
  }
}

function whyNotOpen(port: number, host: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'EADDRINUSE')
    return `Port ${port} is taken on ${host}; stop what holds it, or choose another with --port and --http1-port (0 takes a free one).`
  if (code === 'EACCES') return `Port ${port} needs more rights than this user has; choose one above 1023.`
  return `Cannot listen on ${host}:${port}: ${cause instanceof Error ? cause.message : cause}.`
}

function portOf(server: NetServer): number {
  const address = server.address() as AddressInfo
  return address.port
}
