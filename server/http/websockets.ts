// WebSockets over both HTTP versions, with the same checks (RFC 6455; HTTP/2: RFC 8441).

import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import { Refusal } from '../../protocol/refusal.ts'
import type { EngineSettings } from '../config/engine-settings.ts'
import type { App } from '../koa-app.ts'
import { output } from '../output.ts'
import { mustBeAllowed, type OriginRules } from '../security/middleware.ts'
import { largestFrame } from '../transports/budget.ts'
import type { Connections } from './connections.ts'
import { counted } from './refusals.ts'
import { tooManyConnections } from './requests.ts'

interface WebSocketParts {
  readonly app: Pick<App, 'koa' | 'socketPaths' | 'authorizeSocket'>
  readonly connections: Pick<Connections, 'of'>
  readonly settings: Pick<EngineSettings['limits'], 'maxConnections' | 'maxMessageBytes'>
  readonly origins: OriginRules
}

/** Limits for misbehaving peers. */
function boundsFor({ maxMessageBytes }: WebSocketParts['settings']) {
  return {
    // The transport answers PINGs, under the rate limit.
    autoPong: false,
    // A larger frame closes the socket (1009).
    maxPayload: largestFrame(maxMessageBytes),
    maxFragments: 1024,
    maxBufferedChunks: 16 * 1024,
    // Time for the peer's Close frame, ms; its data is discarded meanwhile.
    closeTimeout: 5000,
  }
}

export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/** The listener for upgrades. Call once for an application. */
export function createUpgradeHandler(parts: WebSocketParts): UpgradeHandler {
  const { app, settings } = parts
  app.koa.ws.listen({
    noServer: true,
    ...boundsFor(settings),
    // Compression fragments memory and delays small frames.
    perMessageDeflate: false,
    verifyClient({ req }, decide) {
      check(req, parts).then(
        () => {
          // Sends the answer to the upgrade and the welcome in one write.
          req.socket.cork()
          setImmediate(() => req.socket.uncork())
          decide(true)
        },
        (error) => {
          const refusal = counted(refusalFor(error))
          decide(false, refusal.status, JSON.stringify(refusal), { 'Content-Type': contentType })
        },
      )
    },
  })
  return (request, socket, head) =>
    app.koa.ws.server?.handleUpgrade(request, socket, head, (opened) =>
      app.koa.ws.onConnection(opened, request),
    )
}

/** Over HTTP/1.1 the second is the socket. */
export type ConnectHandler = (request: Http2ServerRequest, response: Http2ServerResponse | Duplex) => void

/** The listener for extended CONNECT: each WebSocket is a stream. */
export function createConnectHandler(parts: WebSocketParts): ConnectHandler {
  return (request) => {
    // An HTTP/1.1 CONNECT is for proxies; Node passes its socket here.
    if (!('stream' in request)) return void (request as { socket: Duplex }).socket.destroy()
    const { stream } = request
    stream.on('error', () => undefined)
    accept(request, parts).catch((error) => {
      const refusal = counted(refusalFor(error))
      if (stream.destroyed || stream.headersSent) return void stream.destroy()
      const status = refusal.code === 'wrong-method' ? 501 : refusal.status
      stream.respond({ ':status': status, 'content-type': contentType })
      stream.end(JSON.stringify(refusal))
    })
  }
}

const contentType = 'application/json; charset=utf-8'

function refusalFor(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  output.incident('websocket-failed', 'A WebSocket could not be opened', error)
  return new Refusal('internal', 'The server failed.')
}

/** Rejects with a `Refusal`; otherwise stores the request's grant. */
async function check(request: IncomingMessage, parts: WebSocketParts): Promise<void> {
  const { app, connections, settings, origins } = parts
  if (connections.of(request)?.isOverLimit) throw tooManyConnections(settings.maxConnections)
  const path = (request.url ?? '').split('?', 1)[0] ?? ''
  if (!app.socketPaths.has(path)) throw new Refusal('not-found', `There is no WebSocket at ${path}.`)
  mustBeAllowed(request, origins)
  await app.authorizeSocket(request)
}

/**
 * A null address makes an unconnected WebSocket; missing in the types, like the options and
 * `setSocket`.
 */
const DetachedWebSocket = WebSocket as unknown as new (
  address: null,
  protocols: undefined,
  options: object,
) => WebSocket & { setSocket(stream: Duplex, head: Buffer, options: object): void }

async function accept(request: Http2ServerRequest, parts: WebSocketParts): Promise<void> {
  const { stream } = request
  if (request.headers[':protocol'] !== 'websocket')
    throw new Refusal('wrong-method', 'CONNECT is accepted only for WebSocket (RFC 8441).')
  if (request.headers['sec-websocket-version'] !== '13')
    throw new Refusal('bad-query', 'This server supports only version 13 of WebSocket (RFC 6455).')
  // Koa and the checks read the HTTP/1.1 fields; `host` is `:authority`.
  const http1Request = request as unknown as IncomingMessage
  http1Request.headers.host ??= String(request.headers[':authority'] ?? '')
  await check(http1Request, parts)
  if (stream.destroyed) return
  stream.respond({ ':status': 200 })
  // `ws` ends its side after both Close frames; Firefox keeps its own open and would count as
  // connected.
  stream.once('finish', () => {
    if (!stream.readableEnded) stream.close()
  })
  const bounds = boundsFor(parts.settings)
  const socket = new DetachedWebSocket(null, undefined, bounds)
  const options = { ...bounds, allowSynchronousEvents: true, skipUTF8Validation: false }
  socket.setSocket(stream, Buffer.alloc(0), options)
  parts.app.koa.ws.onConnection(socket, http1Request)
}
