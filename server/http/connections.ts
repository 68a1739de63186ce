// Connections of both ports, from socket to HTTP/2 session; ends dead, stuck and idle ones.

import type { EventEmitter } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { createServer, type Server as NetServer, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { HttpVersion } from '../../protocol/modes.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { type Clock, repeat, type Timers } from '../../protocol/time.ts'
import type { EngineSettings } from '../config/engine-settings.ts'
import { beatsMissed } from '../hub/heartbeats.ts'
import { Handshakes, type PortServer, socketOf, trackRequests } from '../node-internals.ts'
import { output } from '../output.ts'
import { authorityPattern } from '../security/middleware.ts'
import type { AnyRequest } from '../transports/body-reader.ts'
import { FairStart } from './fair-start.ts'
import { reserve } from './open-files.ts'
import { counted } from './refusals.ts'
import type { RequestTurns } from './request-turns.ts'

/** Node's limit for HTTP/1.1; mostly cookies. */
export const maxHeaderBytes = 16 * 1024

/** A pause in typing must not cost a TLS handshake; Node's default is 5 s. */
export const keepAliveMs = 75_000

/** Limit of unread uploads per session. */
const sessionWindowBytes = 1024 * 1024

/** Deadline for the answer to a PING; PINGs are sent every heartbeat interval. */
const beatsForAnswer = 1.5
/** For a stream without progress while others flow. */
const beatsForStream = 10
/** Clients send few PINGs, and SETTINGS once. */
const controlFramesPerLook = 100
/**
 * Fewer bytes can only be PINGs and acknowledgements; content comes in records of up to 16 KiB (RFC
 * 8446, 5.1).
 */
const noiseBytes = 4096

/** Each takes 1 to 2 ms of processor time. */
const handshakesInTurn = 2

/** `bodySeconds` also limits a handshake and a first request. */
type Limits = Pick<
  EngineSettings & EngineSettings['limits'],
  'heartbeatMs' | 'bodySeconds' | 'streamsPerSession'
>

/** All times are in ms since the epoch. */
export class Connection {
  /** Counts bytes through the kernel, and can be destroyed when TLS above it is stuck. */
  readonly socket: Socket
  secure: TLSSocket | null = null
  session: ServerHttp2Session | null = null
  readonly streams = new Set<ServerHttp2Stream>()
  /** Streams of the application's own, which decides how long they may wait. */
  readonly foreign = new WeakSet<ServerHttp2Stream>()
  /**
   * The application's: nothing was requested from this server over the session, or more than requests
   * came over the socket.
   */
  isForeign = false
  /** End of its last stream; null before the first. */
  idleSince: number | null = null
  /** Over `maxConnections`: it gets only a 503. */
  isOverfull = false
  /** HTTP/1.1; null before the first request. */
  turns: RequestTurns | null = null

  readonly #limits: Limits
  readonly #openedAt: number
  #controlFrames = 0
  #resets = 0
  #leavingSince: number | null = null
  /** When the newest PING was sent. */
  #askedAt: number
  /** Bytes read when the PING was sent; null once answered. */
  #bytesWhenAsked: number | null = null
  readonly #waiting = new Map<ServerHttp2Stream, { bytes: number; movedAt: number }>()
  /** Last progress, or last time without unsent bytes. */
  #movedAt: number
  #sentBytes: number
  #windowBytes: number | undefined

  constructor(socket: Socket, limits: Limits, now: number) {
    this.socket = socket
    this.#limits = limits
    this.#openedAt = now
    this.#askedAt = now
    this.#movedAt = now
    this.#sentBytes = socket.bytesWritten
  }

  /** Frames that require an answer and carry no data: PING, SETTINGS. */
  countControlFrame(): void {
    this.#controlFrames += 1
    if (this.#controlFrames > controlFramesPerLook) this.calm()
  }

  /** Needed because nghttp2 applies its own limit only after processing a whole read, 64 KiB. */
  countReset(): void {
    this.#resets += 1
    if (this.#resets > this.#limits.streamsPerSession) this.calm()
  }

  /** Ends an HTTP/2 session that makes too many demands. */
  calm(): void {
    if (!this.session || this.session.destroyed) return
    this.session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    this.session.destroy()
  }

  /** Ends a dead, stuck or idle connection. Called four times per heartbeat interval. */
  look(now: number): void {
    const { heartbeatMs, bodySeconds } = this.#limits
    this.#controlFrames = 0
    this.#resets = 0
    this.#lookAtStreams(now)
    // Between our requests, HTTP/1.1 traffic is the application's own.
    if (this.isForeign && !this.session && !this.turns?.isBusy) {
      this.#movedAt = now
      return
    }
    const waits = this.session ? this.#waiting.size > 0 : (this.secure?.writableLength ?? 0) > 0
    if (this.#hasMoved() || !waits) this.#movedAt = now
    const isStuck = now - this.#movedAt > heartbeatMs * beatsMissed
    const hasBegun = this.secure && (!this.session || this.streams.size > 0 || this.idleSince !== null)
    const isOverdue = !hasBegun && now - this.#openedAt > bodySeconds * 1000
    // Destroys the socket: the layers above would wait for the peer to read.
    if (isOverdue || isStuck || this.#hasLeft(now)) this.socket.destroy()
    else if (!this.isForeign && this.session && !this.session.closed && !this.session.destroyed)
      this.#lookAtSession(this.session, now, waits)
  }

  #lookAtStreams(now: number): void {
    for (const stream of this.#waiting.keys()) if (!this.streams.has(stream)) this.#waiting.delete(stream)
    for (const stream of this.streams) {
      if (this.foreign.has(stream)) continue
      const bytes = stream.bufferSize
      const known = this.#waiting.get(stream)
      if (bytes === 0) this.#waiting.delete(stream)
      else if (!known || bytes < known.bytes) this.#waiting.set(stream, { bytes, movedAt: now })
      else known.bytes = bytes
    }
  }

  /** Whether the kernel accepted bytes, or the flow-control window changed. */
  #hasMoved(): boolean {
    const { bytesWritten } = this.socket
    const windowBytes = this.session?.state.remoteWindowSize
    const moved = bytesWritten - this.#sentBytes > noiseBytes || windowBytes !== this.#windowBytes
    this.#sentBytes = bytesWritten
    this.#windowBytes = windowBytes
    return moved
  }

  /** This side has closed; the peer has one heartbeat interval to follow. */
  #hasLeft(now: number): boolean {
    const { secure, session, streams } = this
    const isLeaving = session
      ? session.destroyed || (session.closed && streams.size === 0)
      : secure?.writableEnded
    this.#leavingSince = isLeaving ? (this.#leavingSince ?? now) : null
    return this.#leavingSince !== null && now - this.#leavingSince > this.#limits.heartbeatMs
  }

  #lookAtSession(session: ServerHttp2Session, now: number, waits: boolean): void {
    const { heartbeatMs } = this.#limits
    for (const [stream, { movedAt }] of this.#waiting)
      if (now - movedAt > heartbeatMs * beatsForStream) stream.close(constants.NGHTTP2_CANCEL)
    if (this.streams.size === 0 && this.idleSince !== null && now - this.idleSince > keepAliveMs)
      return void session.close()
    const { bytesRead } = this.socket
    // Any bytes count as an answer.
    if (this.#bytesWhenAsked !== null && bytesRead > this.#bytesWhenAsked) this.#bytesWhenAsked = null
    const sinceMs = now - this.#askedAt
    if (this.#bytesWhenAsked === null) {
      if (sinceMs < heartbeatMs) return
      this.#askedAt = now
      this.#bytesWhenAsked = bytesRead
      session.ping(() => undefined)
    }
    // Unsent bytes delay the PING: then their progress counts.
    else if (sinceMs > heartbeatMs * beatsForAnswer && !waits) this.socket.destroy()
  }
}

interface ConnectionSettings extends Limits {
  readonly maxConnections: number
  readonly handshakeMs: number
}

/** Connections of our own ports. */
export class Connections {
  readonly #settings: ConnectionSettings
  readonly #timers: Timers
  readonly #open = new Set<Connection>()
  /** Connections beyond `maxConnections`, the oldest first. */
  readonly #further = new Set<Connection>()
  readonly #carriers = new WeakMap<object, Connection>()
  readonly #handshakes = new Handshakes<Connection>()
  readonly #fair = new FairStart(handshakesInTurn)
  readonly #splitPlainHttp: ReturnType<typeof createPlainHttp>
  #admitted = 0
  readonly stopWatching: () => void

  constructor(settings: ConnectionSettings, timers: Timers) {
    this.#settings = settings
    this.#timers = timers
    this.#splitPlainHttp = createPlainHttp(settings.handshakeMs)
    const lookMs = Math.min(settings.heartbeatMs, settings.bodySeconds * 1000) / 4
    const lookAround = () => this.all().forEach((connection) => void connection.look(timers.now()))
    this.stopWatching = repeat(timers, lookAround, lookMs)
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
    this.#further.add(connection)
    socket.once('close', () => {
      this.#open.delete(connection)
      this.#further.delete(connection)
    })
    const handshake = () => this.#handshakes.begin(server, socket, connection)
    this.#splitPlainHttp(socket, () => this.#fair.run(connection, handshake))
  }

  /** Ends the oldest further connection: the newest may be a request for the server's health. */
  #makeRoom(): void {
    if (this.#open.size < this.#settings.maxConnections + reserve) return
    const [oldest] = this.#further
    if (!oldest) return
    this.#open.delete(oldest)
    this.#further.delete(oldest)
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
    connection.isOverfull = this.#admitted >= this.#settings.maxConnections
    if (connection.isOverfull) return
    this.#further.delete(connection)
    this.#admitted += 1
    connection.socket.once('close', () => {
      this.#admitted -= 1
    })
  }

  #onSession(session: ServerHttp2Session): void {
    const connection = this.at(socketOf(session))
    if (!connection) return void session.destroy()
    this.#carriers.set(session, connection)
    watchSession(connection, session, this.#timers.now)
  }
}

interface GuestSettings extends Limits {
  readonly maxConnections: number
  /** Connections to the watched servers; more are reported. */
  readonly maxSockets: number
}

/**
 * Connections of a server that belongs to an application. HTTP/2 sessions from their beginning, if
 * the server is watched; otherwise from the first request to this path.
 */
export class GuestConnections {
  readonly #settings: GuestSettings
  readonly #timers: Timers
  readonly #open = new Set<Connection>()
  /** Connections counted among `maxConnections`: they have sent a request for something below this path. */
  readonly #admitted = new Set<Connection>()
  #sockets = 0
  readonly #carriers = new WeakMap<object, Connection>()
  readonly #stopLooking: () => void
  #isOver = false

  constructor(settings: GuestSettings, timers: Timers) {
    this.#settings = settings
    this.#timers = timers
    const lookAround = () => this.all().forEach((connection) => void connection.look(timers.now()))
    this.#stopLooking = repeat(timers, lookAround, settings.heartbeatMs / 4)
  }

  /** From now on, all connections are the application's. */
  stopWatching(): void {
    this.#isOver = true
    this.#stopLooking()
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
    connection.foreign.delete(request.stream)
    connection.isForeign = false
    this.#admit(connection)
    return connection
  }

  /** Checks again at each request: another connection may have made room. */
  #admit(connection: Connection): void {
    if (this.#admitted.has(connection)) return
    connection.isOverfull = this.#admitted.size >= this.#settings.maxConnections
    if (!connection.isOverfull) this.#admitted.add(connection)
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
    watchSession(connection, session, this.#timers.now)
    session.prependListener('stream', (stream) => connection.foreign.add(stream))
    if (first) watchStream(connection, first, this.#timers.now)
    return connection
  }
}

function watchSession(connection: Connection, session: ServerHttp2Session, now: Clock): void {
  connection.session = session
  session.setLocalWindowSize(sessionWindowBytes)
  // Before the listeners that answer it.
  session.prependListener('stream', (stream) => watchStream(connection, stream, now))
  session.on('ping', () => connection.countControlFrame())
  session.on('remoteSettings', () => connection.countControlFrame())
}

function watchStream(connection: Connection, stream: ServerHttp2Stream, now: Clock): void {
  connection.streams.add(stream)
  stream.once('aborted', () => connection.countReset())
  stream.once('close', () => {
    connection.streams.delete(stream)
    connection.idleSince = now()
  })
}

const handshakeRecord = 22

/**
 * Calls `beginTls` when the first byte starts a TLS handshake; otherwise parses HTTP/1.1 and
 * redirects to https. Silent connections are cut after `silenceMs`, incomplete requests like
 * incomplete handshakes.
 */
function createPlainHttp(silenceMs: number): (socket: Socket, beginTls: () => void) => void {
  const plain = createHttpServer({ maxHeaderSize: maxHeaderBytes }, redirect)

  return (socket, beginTls) => {
    const cut = () => void socket.destroy()
    socket.on('error', cut)
    socket.once('end', cut)
    socket.setTimeout(silenceMs, cut)
    socket.on('readable', look)

    function look(): void {
      const bytes: Buffer | null = socket.read()
      if (bytes === null) return
      socket.off('readable', look).off('end', cut).setTimeout(0, cut)
      socket.unshift(bytes)
      if (bytes[0] === handshakeRecord) beginTls()
      else plain.emit('connection', socket)
    }
  }
}

const noAddressSentence =
  'This port speaks HTTPS. A redirect needs a Host header, HOST or HOST:PORT, and a path that begins with a slash.'

/**
 * 308 keeps method and body (RFC 9110, section 15.4.9). Not cacheable: another program may use this
 * port later.
 */
function redirect(request: IncomingMessage, response: ServerResponse): void {
  const location = secureAddress(request)
  const body = location
    ? `This port speaks HTTPS: ${location}\n`
    : JSON.stringify(counted(new Refusal('bad-request', noAddressSentence)))
  response.writeHead(location ? 308 : 400, {
    ...(location && { Location: location }),
    'Cache-Control': 'no-store',
    Connection: 'close',
    'Content-Type': `${location ? 'text/plain' : 'application/json'}; charset=utf-8`,
    'Content-Length': Buffer.byteLength(body),
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(body)
}

function secureAddress({ headersDistinct, url = '' }: IncomingMessage): string | null {
  const [given = '', ...more] = headersDistinct.host ?? []
  const [, host, port = '80'] = (more.length === 0 && authorityPattern.exec(given)) || []
  return host && url.startsWith('/') ? `https://${host}:${port}${url}` : null
}
