// One connection, from socket to HTTP/2 session; ends it when it is dead, stuck or idle.

import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../protocol/time.ts'
import type { EngineSettings } from '../config/engine-settings.ts'
import { beatsMissed } from '../hub/heartbeats.ts'
import type { RequestQueue } from './request-queue.ts'
import { keepAliveMs } from './server-options.ts'

/** Limit of unread uploads per session. */
const sessionWindowBytes = 1024 * 1024

/** Deadline for the answer to a PING; PINGs are sent every heartbeat interval. */
const beatsForAnswer = 1.5
/** For a stream without progress while others flow. */
const beatsForStream = 10
/** Clients send few PINGs, and SETTINGS once. */
const controlFramesPerCheck = 100
/**
 * Fewer bytes can only be PINGs and acknowledgements; content comes in records of up to 16 KiB (RFC
 * 8446, 5.1).
 */
const noiseBytes = 4096

/** `bodySeconds` also limits a handshake and a first request. */
export type ConnectionLimits = Pick<
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
  readonly foreignStreams = new WeakSet<ServerHttp2Stream>()
  /**
   * Whether it is the application's: the session has requested nothing from this server, or the socket
   * may also carry other traffic than requests.
   */
  isForeign = false
  /** End of its last stream; null before the first. */
  idleSince: number | null = null
  /** Over `maxConnections`: it gets only a 503. */
  isOverLimit = false
  /** HTTP/1.1; null before the first request. */
  requestQueue: RequestQueue | null = null

  readonly #limits: ConnectionLimits
  readonly #openedAt: number
  #controlFrames = 0
  #resets = 0
  /** When `check` first found that this side has closed; null before. */
  #closedSince: number | null = null
  #pingedAt: number
  /** Bytes read when the PING was sent; null once answered. */
  #bytesReadAtPing: number | null = null
  /** Unsent bytes of each stream that has some, and when they last became fewer. */
  readonly #unsent = new Map<ServerHttp2Stream, { bytes: number; progressAt: number }>()
  /** Last progress, or last time without unsent bytes. */
  #progressAt: number
  #sentBytes: number
  #windowBytes: number | undefined

  constructor(socket: Socket, limits: ConnectionLimits, now: number) {
    this.socket = socket
    this.#limits = limits
    this.#openedAt = now
    this.#pingedAt = now
    this.#progressAt = now
    this.#sentBytes = socket.bytesWritten
  }

  watchSession(session: ServerHttp2Session, now: Clock): void {
    this.session = session
    session.setLocalWindowSize(sessionWindowBytes)
    // Before the listeners that answer it.
    session.prependListener('stream', (stream) => this.watchStream(stream, now))
    session.on('ping', () => this.countControlFrame())
    session.on('remoteSettings', () => this.countControlFrame())
  }

  watchStream(stream: ServerHttp2Stream, now: Clock): void {
    this.streams.add(stream)
    stream.once('aborted', () => this.countReset())
    stream.once('close', () => {
      this.streams.delete(stream)
      this.idleSince = now()
    })
  }

  /** Frames that require an answer and carry no data: PING, SETTINGS. */
  countControlFrame(): void {
    this.#controlFrames += 1
    if (this.#controlFrames > controlFramesPerCheck) this.#endExcessive()
  }

  /** Needed because nghttp2 applies its own limit only after processing a whole read, 64 KiB. */
  countReset(): void {
    this.#resets += 1
    if (this.#resets > this.#limits.streamsPerSession) this.#endExcessive()
  }

  /** Ends an HTTP/2 session that makes too many demands. */
  #endExcessive(): void {
    if (!this.session || this.session.destroyed) return
    this.session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    this.session.destroy()
  }

  /** Ends a dead, stuck or idle connection. Called four times per heartbeat interval. */
  check(now: number): void {
    const { session } = this
    this.#controlFrames = 0
    this.#resets = 0
    this.#noteUnsent(now)
    // Between our requests, HTTP/1.1 traffic is the application's own.
    if (this.isForeign && !session && !this.requestQueue?.isBusy) {
      this.#progressAt = now
      return
    }
    if (this.#hasProgressed() || !this.#hasUnsent) this.#progressAt = now
    // Destroys the socket: the layers above would wait for the peer to read.
    if (this.#isOverdue(now) || this.#isStuck(now) || this.#isAbandoned(now)) this.socket.destroy()
    else if (session && !this.isForeign && !session.closed && !session.destroyed)
      this.#checkSession(session, now)
  }

  #noteUnsent(now: number): void {
    for (const stream of this.#unsent.keys()) if (!this.streams.has(stream)) this.#unsent.delete(stream)
    for (const stream of this.streams) {
      if (this.foreignStreams.has(stream)) continue
      const bytes = stream.bufferSize
      const known = this.#unsent.get(stream)
      if (bytes === 0) this.#unsent.delete(stream)
      else if (!known || bytes < known.bytes) this.#unsent.set(stream, { bytes, progressAt: now })
      else known.bytes = bytes
    }
  }

  get #hasUnsent(): boolean {
    return this.session ? this.#unsent.size > 0 : (this.secure?.writableLength ?? 0) > 0
  }

  /** Whether, since the last call, the kernel accepted bytes or the flow-control window changed. */
  #hasProgressed(): boolean {
    const { bytesWritten } = this.socket
    const windowBytes = this.session?.state.remoteWindowSize
    const hasProgressed = bytesWritten - this.#sentBytes > noiseBytes || windowBytes !== this.#windowBytes
    this.#sentBytes = bytesWritten
    this.#windowBytes = windowBytes
    return hasProgressed
  }

  /** The handshake or the first request has not come in time. */
  #isOverdue(now: number): boolean {
    const { secure, session, streams, idleSince } = this
    const hasBegun = secure && (!session || streams.size > 0 || idleSince !== null)
    return !hasBegun && now - this.#openedAt > this.#limits.bodySeconds * 1000
  }

  #isStuck(now: number): boolean {
    return now - this.#progressAt > this.#limits.heartbeatMs * beatsMissed
  }

  /** This side has closed, and the peer has not followed within one heartbeat interval. */
  #isAbandoned(now: number): boolean {
    const { secure, session, streams } = this
    const hasClosed = session
      ? session.destroyed || (session.closed && streams.size === 0)
      : secure?.writableEnded
    this.#closedSince = hasClosed ? (this.#closedSince ?? now) : null
    return this.#closedSince !== null && now - this.#closedSince > this.#limits.heartbeatMs
  }

  #checkSession(session: ServerHttp2Session, now: number): void {
    const { heartbeatMs } = this.#limits
    for (const [stream, { progressAt }] of this.#unsent)
      if (now - progressAt > heartbeatMs * beatsForStream) stream.close(constants.NGHTTP2_CANCEL)
    const isIdle = this.streams.size === 0 && this.idleSince !== null && now - this.idleSince > keepAliveMs
    if (isIdle) session.close()
    else this.#checkPing(session, now)
  }

  #checkPing(session: ServerHttp2Session, now: number): void {
    const { heartbeatMs } = this.#limits
    const { bytesRead } = this.socket
    const sinceMs = now - this.#pingedAt
    // Any bytes count as an answer.
    if (this.#bytesReadAtPing !== null && bytesRead > this.#bytesReadAtPing) this.#bytesReadAtPing = null
    if (this.#bytesReadAtPing === null) {
      if (sinceMs < heartbeatMs) return
      this.#pingedAt = now
      this.#bytesReadAtPing = bytesRead
      session.ping(() => undefined)
    }
    // Unsent bytes delay the PING: then their progress counts.
    else if (sinceMs > heartbeatMs * beatsForAnswer && !this.#hasUnsent) this.socket.destroy()
  }
}
