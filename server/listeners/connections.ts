// Every connection of the two ports, from its first packet on: the bare socket, then TLS, then perhaps an HTTP/2 session.

import type { IncomingMessage } from 'node:http'
import type { Http2SecureServer, Http2ServerRequest, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../wire/time.ts'
import { sessionWindowBytes } from './settings.ts'

export type PortServer = Http2SecureServer | HttpsServer
export type AnyRequest = IncomingMessage | Http2ServerRequest

export interface Connection {
  /** Counts what truly went through the kernel, and can be cut when TLS above it is stuck. */
  readonly socket: Socket
  readonly openedAt: number
  /** Null until the handshake is done. */
  secure: TLSSocket | null
  /** Null over HTTP/1.1. */
  session: ServerHttp2Session | null
  readonly streams: Set<ServerHttp2Stream>
  /** When its last stream ended, ms since the epoch; null before the first. */
  idleSince: number | null
  /** Above the limit: it lives to be told so. */
  isOverfull: boolean
}

export interface Connections {
  readonly all: () => Iterable<Connection>
  /** The one that a request came on; undefined when it has gone. */
  readonly of: (request: AnyRequest) => Connection | undefined
  /** Whether TLS is up on that socket. */
  readonly isSecure: (socket: object) => boolean
}

export interface Tracking {
  readonly maxConnections: number
  readonly now: Clock
  readonly onSession: (session: ServerHttp2Session, connection: Connection) => void
  /** The other side took a stream back. */
  readonly onReset: (connection: Connection) => void
}

export function trackConnections(servers: readonly PortServer[], tracking: Tracking): Connections {
  const { maxConnections, now, onSession, onReset } = tracking
  const open = new Map<string, Connection>()
  const carriers = new WeakMap<object, Connection>()
  let admitted = 0

  /** Counted when TLS is up: who only pretends to come takes nobody's place. */
  function admit(connection: Connection): void {
    if (connection.secure) return
    connection.isOverfull = admitted >= maxConnections
    if (connection.isOverfull) return
    admitted += 1
    connection.socket.once('close', () => {
      admitted -= 1
    })
  }

  function onConnection(socket: Socket): void {
    // A keystroke is a small packet that must not wait for the one before it to be acknowledged.
    socket.setNoDelay(true)
    const peer = peerOf(socket)
    const connection: Connection = {
      socket,
      openedAt: now(),
      secure: null,
      session: null,
      streams: new Set(),
      idleSince: null,
      isOverfull: false,
    }
    open.set(peer, connection)
    socket.once('close', () => {
      if (open.get(peer) === connection) open.delete(peer)
    })
  }

  function onSecure(secure: TLSSocket): void {
    const connection = open.get(peerOf(secure))
    if (!connection) return void secure.destroy()
    admit(connection)
    connection.secure = secure
    carriers.set(secure, connection)
  }

  function onNewSession(session: ServerHttp2Session): void {
    const connection = open.get(peerOf(session.socket))
    if (!connection) {
      session.destroy()
      return
    }
    connection.session = session
    carriers.set(session, connection)
    session.setLocalWindowSize(sessionWindowBytes)
    session.on('stream', (stream) => {
      connection.streams.add(stream)
      stream.once('aborted', () => onReset(connection))
      stream.once('close', () => {
        connection.streams.delete(stream)
        connection.idleSince = now()
      })
    })
    onSession(session, connection)
  }

  for (const server of servers) {
    server.on('connection', onConnection)
    server.prependListener('secureConnection', onSecure)
    server.on('session', onNewSession)
  }
  return {
    all: () => open.values(),
    of(request) {
      const carrier = 'stream' in request ? request.stream.session : request.socket
      return carrier && carriers.get(carrier)
    },
    isSecure: (socket) => carriers.has(socket),
  }
}

/** A TLS server hands out the bare socket and the encrypted one apart: both know who is at the other end. */
function peerOf({ localPort, remoteAddress, remotePort }: Socket | TLSSocket): string {
  return `${localPort}|${remoteAddress}|${remotePort}`
}
