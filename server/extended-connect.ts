// WebSocket as a stream of an HTTP/2 connection: the extended CONNECT of RFC 8441, in front of `ws`.

import type { IncomingMessage } from 'node:http'
import type { Http2SecureServer, Http2ServerRequest, ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import { Refusal } from './refusal.ts'

/** `ws` lends a WebSocket to any stream this way; its types name only what it does with sockets of its own. */
interface Lending {
  setSocket(stream: Duplex, head: Buffer, options: LendingOptions): void
}

/** Without an address it waits for a stream: a way in that the types leave out, options included. */
const Lent = WebSocket as unknown as new (address: null, protocols: undefined, options: object) => WebSocket

/** The bounds of one WebSocket; `ws` has defaults for those that it opens itself, and none here. */
export interface SocketBounds {
  readonly maxPayload: number
  readonly maxFragments: number
  readonly maxBufferedChunks: number
  readonly maxPendingAutoPongs: number
  /** Ms. */
  readonly closeTimeout: number
}

interface LendingOptions extends SocketBounds {
  readonly allowSynchronousEvents: boolean
  readonly skipUTF8Validation: boolean
}

export interface ExtendedConnect {
  readonly bounds: SocketBounds
  /** Throws, or rejects with, a `Refusal` when the request may not become a WebSocket. */
  readonly check: (request: IncomingMessage) => Promise<void>
  readonly onSocket: (socket: WebSocket, request: IncomingMessage) => void
}

/** Takes the CONNECT requests of that server. */
export function takeExtendedConnects(server: Http2SecureServer, parts: ExtendedConnect): void {
  server.on('connect', (request: Http2ServerRequest) => {
    // An HTTP/1.1 CONNECT asks for a proxy: its socket comes here, and is let go.
    if (!('stream' in request)) return void (request as { socket: Duplex }).socket.destroy()
    const { stream } = request
    stream.on('error', () => undefined)
    accept(stream, request, parts).catch((error) => refuse(stream, error))
  })
}

async function accept(
  stream: ServerHttp2Stream,
  request: Http2ServerRequest,
  { check, onSocket, bounds }: ExtendedConnect,
): Promise<void> {
  if (request.headers[':protocol'] !== 'websocket') {
    throw new Refusal(501, 'wrong-method', 'CONNECT is taken for WebSocket alone (RFC 8441).')
  }
  if (request.headers['sec-websocket-version'] !== '13') {
    throw new Refusal(400, 'bad-query', 'Only version 13 of WebSocket is spoken here (RFC 6455).')
  }
  // The request has what Koa and the checks read of an HTTP/1.1 one; `host` stands in `:authority`.
  const asked = request as unknown as IncomingMessage
  asked.headers.host ??= String(request.headers[':authority'] ?? '')
  await check(asked)
  if (stream.destroyed) return
  stream.respond({ ':status': 200 })
  const socket = new Lent(null, undefined, { autoPong: true, ...bounds })
  const lending = socket as unknown as Lending
  lending.setSocket(stream, Buffer.alloc(0), {
    ...bounds,
    allowSynchronousEvents: true,
    skipUTF8Validation: false,
  })
  onSocket(socket, asked)
}

function refuse(stream: ServerHttp2Stream, error: unknown): void {
  if (!(error instanceof Refusal)) console.error(error)
  const known = error instanceof Refusal ? error : new Refusal(500, 'internal', 'The server failed.')
  if (stream.destroyed || stream.headersSent) return void stream.destroy()
  stream.respond({ ':status': known.status, 'content-type': 'application/json; charset=utf-8' })
  stream.end(JSON.stringify(known))
}
