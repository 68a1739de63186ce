// Connections of both ports, or of an application's servers, and how many may be open.

import type { EventEmitter } from 'node:events'
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { createServer, type Server as NetServer, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { HttpVersion } from '../../protocol/modes.ts'
import { repeat, type Timers } from '../../protocol/time.ts'
import { Handshakes, type PortServer, socketOf, trackRequests } from '../node-internals.ts'
import { output } from '../output.ts'
import type { AnyRequest } from '../security/grants.ts'
import { FairStart } from './fair-start.ts'
import { Connection, type ConnectionLimits } from './http-connection.ts'
import { reserve } from './open-files.ts'
import { createTlsDetector, type TlsDetector } from './plain-http.ts'

/** Each takes 1 to 2 ms of processor time. */
const handshakesInTurn = 2

interface ConnectionSettings extends ConnectionLimits {
  readonly maxConnections: number
  readonly handshakeMs: number
}

/** Connections of our own ports. */
export class Connections {
  readonly #settings: ConnectionSettings
  readonly #timers: Timers
  readonly #open = new Set<Connection>()
  /** Those whose handshake is not complete, or that are over `maxConnections`; the oldest first. */
  readonly #unadmitted = new Set<Connection>()
  readonly #carriers = new WeakMap<object, Connection>()
  readonly #handshakes = new Handshakes<Connection>()
  readonly #fair = new FairStart(handshakesInTurn)
  readonly #detectTls: TlsDetector
  #admitted = 0
  readonly stopWatching: () => void

  constructor(settings: ConnectionSettings, timers: Timers) {
    this.#settings = settings
    this.#timers = timers
    this.#detectTls = createTlsDetector(settings.handshakeMs)
    const checkMs = Math.min(settings.heartbeatMs, settings.bodySeconds * 1000) / 4
    const checkAll = () => this.all().forEach((connection) => void connection.check(timers.now()))
    this.stopWatching = repeat(timers, checkAll, checkMs)
  }

  /**
   * Returns the server that listens in place of `server`, and passes on the connections that begin TLS.
   * Close both; it emits 'close' after its last connection.
   */
  acceptFor(server: PortServer): NetServer {
    trackRequests(server)
    server.prependListener('secureConnection', (secure: TLSSocket) => this.#onSecure(secure))
    server.on('session', (session: ServerHttp2Session) => this.#onSession(session))
    // Keystrokes must not wait for acknowledgements (Nagle's algorithm).
    return createServer({ noDelay: true }, (socket) => this.#accept(socket, server))
  }

  all(): readonly Connection[] {
    return [...this.#open]
  }

  of(request: AnyRequest): Connection | undefined {
    return this.at('stream' in request ? request.stream.session : request.socket)
  }

  /** The connection of a TLS socket or session whose handshake is complete. */
  at(carrier: object | undefined): Connection | undefined {
    return carrier && this.#carriers.get(carrier)
  }

  /** Counts connections whose handshake is complete, by HTTP version. */
  count(): Readonly<Record<HttpVersion, number>> {
    const secure = this.all().filter((connection) => connection.secure)
    const http2 = secure.filter(({ session }) => session).length
    return { '2': http2, '1.1': secure.length - http2 }
  }

  #accept(socket: Socket, server: PortServer): void {
    const connection = new Connection(socket, this.#settings, this.#timers.now())
    this.#makeRoom()
    this.#open.add(connection)
    this.#unadmitted.add(connection)
    socket.once('close', () => {
      this.#open.delete(connection)
      this.#unadmitted.delete(connection)
    })
    const handshake = () => this.#handshakes.begin(server, socket, connection)
    this.#detectTls(socket, () => this.#fair.run(connection, handshake))
  }

  /** Ends the oldest unadmitted connection: the newest may be a request for the server's health. */
  #makeRoom(): void {
    if (this.#open.size < this.#settings.maxConnections + reserve) return
    const [oldest] = this.#unadmitted
    if (!oldest) return
    this.#open.delete(oldest)
    this.#unadmitted.delete(oldest)
    oldest.socket.destroy()
    output.incident('connection-failed', 'A connection was cut: too many are open (limits.maxConnections)')
  }

  #onSecure(secure: TLSSocket): void {
    const connection = this.#handshakes.finished()
    if (!connection || !this.#open.has(connection)) return void secure.destroy()
    this.#admit(connection)
    connection.secure = secure
    this.#carriers.set(secure, connection)
  }

  /** Counted after TLS: unfinished handshakes take no slots. */
  #admit(connection: Connection): void {
    connection.isOverLimit = this.#admitted >= this.#settings.maxConnections
    if (connection.isOverLimit) return
    this.#unadmitted.delete(connection)
    this.#admitted += 1
    connection.socket.once('close', () => {
      this.#admitted -= 1
    })
  }

  #onSession(session: ServerHttp2Session): void {
    const connection = this.at(socketOf(session))
    if (!connection) return void session.destroy()
    this.#carriers.set(session, connection)
    connection.watchSession(session, this.#timers.now)
  }
}

interface GuestSettings extends ConnectionLimits {
  readonly maxConnections: number
  /** Connections to the watched servers; more are reported. */
  readonly maxSockets: number
}

/**
 * Connections of a server that belongs to an application. If the server is watched, an HTTP/2 session
 * is known from its beginning; any other connection from its first request to this path.
 */
export class GuestConnections {
  readonly #settings: GuestSettings
  readonly #timers: Timers
  readonly #open = new Set<Connection>()
  /** Connections counted among `maxConnections`: they have sent a request for something below this path. */
  readonly #admitted = new Set<Connection>()
  #sockets = 0
  readonly #carriers = new WeakMap<object, Connection>()
  readonly #stopChecking: () => void
  #isOver = false

  constructor(settings: GuestSettings, timers: Timers) {
    this.#settings = settings
    this.#timers = timers
    const checkAll = () => this.all().forEach((connection) => void connection.check(timers.now()))
    this.#stopChecking = repeat(timers, checkAll, settings.heartbeatMs / 4)
  }

  /** From now on, all connections are the application's. */
  stopWatching(): void {
    this.#isOver = true
    this.#stopChecking()
    for (const connection of this.#open) connection.session = null
  }

  watch(server: EventEmitter): void {
    server.on('connection', (socket: Socket) => this.#countSocket(socket))
    server.on('session', (session: ServerHttp2Session) => this.#takeSession(session))
  }

  /** Accepts the connection nevertheless: the other open ones belong to the application. */
  #countSocket(socket: Socket): void {
    this.#sockets += 1
    socket.once('close', () => {
      this.#sockets -= 1
    })
    const { maxSockets } = this.#settings
    if (this.#sockets > maxSockets && !this.#isOver)
      output.incident(
        'connection-failed',
        `More than ${maxSockets} connections are open, so many that the system may soon reset others without a word: raise its limit (ulimit -n, or LimitNOFILE of systemd), or set maxConnections of your servers`,
      )
  }

  all(): readonly Connection[] {
    return [...this.#open]
  }

  /** Undefined if the connection has ended meanwhile: the application may have let the request wait. */
  of(request: AnyRequest): Connection | undefined {
    if (!('stream' in request)) {
      if (request.socket.destroyed) return undefined
      const connection = this.at(request.socket) ?? this.#take(request.socket, request.socket)
      // A WebSocket keeps the socket.
      connection.isForeign = request.headers.upgrade === undefined
      this.#admit(connection)
      return connection
    }
    const { session } = request.stream
    if (!session || session.destroyed) return undefined
    const connection = this.at(session) ?? this.#takeSession(session as ServerHttp2Session, request.stream)
    connection.foreignStreams.delete(request.stream)
    connection.isForeign = false
    this.#admit(connection)
    return connection
  }

  /** Checks again at each request: another connection may have made room. */
  #admit(connection: Connection): void {
    if (this.#admitted.has(connection)) return
    connection.isOverLimit = this.#admitted.size >= this.#settings.maxConnections
    if (!connection.isOverLimit) this.#admitted.add(connection)
  }

  at(carrier: object): Connection | undefined {
    return this.#carriers.get(carrier)
  }

  #take(carrier: EventEmitter, socket: Socket): Connection {
    const connection = new Connection(socket, this.#settings, this.#timers.now())
    connection.secure = socket as TLSSocket
    this.#open.add(connection)
    this.#carriers.set(carrier, connection)
    carrier.once('close', () => {
      this.#open.delete(connection)
      this.#admitted.delete(connection)
    })
    return connection
  }

  #takeSession(session: ServerHttp2Session, first?: ServerHttp2Stream): Connection {
    const connection = this.#take(session, socketOf(session))
    connection.isForeign = first === undefined
    if (this.#isOver) return connection
    connection.watchSession(session, this.#timers.now)
    session.prependListener('stream', (stream) => connection.foreignStreams.add(stream))
    if (first) connection.watchStream(first, this.#timers.now)
    return connection
  }
}
