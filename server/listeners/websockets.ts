// WebSockets of both HTTP versions, let in by the same checks (RFC 6455, RFC 8441).

import type { IncomingMessage } from 'node:http'
import type { Http2SecureServer } from 'node:http2'
import type { Server as HttpsServer } from 'node:https'
import type { App } from '../app.ts'
import { takeExtendedConnects } from '../extended-connect.ts'
import { Refusal } from '../refusal.ts'
import { isOwnOrigin, type OriginRules, refuseForeign } from '../security/origins.ts'
import type { AnyRequest, PortServer } from './connections.ts'

/** A frame somewhat too large is refused by name; past twice the limit the socket is cut (1009). */
const frameAllowance = 64 * 1024
const payloadFor = ({ maxMessageBytes }: { maxMessageBytes: number }) => maxMessageBytes * 2 + frameAllowance

/** What `ws` keeps of a peer that does not play along. */
const bounds = {
  // Fragments of one message, and chunks of a frame that is not complete: each has its own overhead.
  maxFragments: 1024,
  maxBufferedChunks: 16 * 1024,
  // PINGs that came before their answers left.
  maxPendingAutoPongs: 60,
  // Time for the other side to close too, ms; meanwhile what it sends is read and let go.
  closeTimeout: 5000,
} as const

export interface WebSocketsTaken {
  readonly app: App
  readonly maxMessageBytes: number
  readonly origins: OriginRules
  /** Throws a `Refusal` when the request's connection is one too many. */
  readonly checkRoom: (request: AnyRequest) => void
}

export function takeWebSockets(server: PortServer, taken: WebSocketsTaken): void {
  const { app } = taken
  // koa-websocket keeps the last server it made in `ws.server`; each has its own upgrade listener.
  app.koa.ws.listen({
    // `ws` asks for an HTTP server's type and uses only its 'upgrade' event, which both kinds have.
    server: server as HttpsServer,
    maxPayload: payloadFor(taken),
    ...bounds,
    // Compression fragments memory and holds small frames back.
    perMessageDeflate: false,
    verifyClient({ origin, req }, decide) {
      check(origin || undefined, req, taken).then(
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

export function takeWebSocketsOverHttp2(server: Http2SecureServer, taken: WebSocketsTaken): void {
  takeExtendedConnects(server, {
    bounds: { ...bounds, maxPayload: payloadFor(taken) },
    check: (request) => check(request.headers.origin, request, taken),
    onSocket: (socket, request) => taken.app.koa.ws.onConnection(socket, request),
  })
}

/** Rejects with a `Refusal`; where it resolves, the app knows what the request's sender may do. */
async function check(
  origin: string | undefined,
  request: IncomingMessage,
  { app, origins, checkRoom }: WebSocketsTaken,
): Promise<void> {
  checkRoom(request)
  const path = (request.url ?? '').split('?', 1)[0] ?? ''
  if (!app.socketPaths.has(path)) throw new Refusal(404, 'not-found', `There is no WebSocket at ${path}.`)
  if (!isOwnOrigin(origin, request.headers.host, origins)) throw refuseForeign(origin ?? '')
  await app.letSocketIn(request)
}
