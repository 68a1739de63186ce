// Passes requests to the application, within limits; HTTP/1.1 one at a time.

import { channel } from 'node:diagnostics_channel'
import { type IncomingMessage, type RequestListener, type ServerResponse, STATUS_CODES } from 'node:http'
import type {
  Http2ServerRequest,
  Http2ServerResponse,
  IncomingHttpHeaders,
  ServerHttp2Stream,
} from 'node:http2'
import type { Duplex } from 'node:stream'
import Koa from 'koa'
import type { App } from '../app.ts'
import { bytesPerToken } from '../hub/admission.ts'
import { processTimers } from '../process.ts'
import { counted, Refusal } from '../refusal.ts'
import { crossOrigin, type OriginRules, securityHeaders } from '../security/middleware.ts'
import {
  type AnyRequest,
  type Connection,
  type Connections,
  mostHeaderBytes,
  type PortServer,
} from './connections.ts'
import type { ListenerSettings } from './listeners.ts'

interface RequestParts {
  readonly app: App
  readonly connections: Connections
  readonly settings: ListenerSettings
  readonly origins: OriginRules
}

/** With the request, when its headers have arrived. */
const arrived = channel('crosswind:arrived')

/** Beyond so many refusals' worth of time, requests of a connection are delayed. */
const burstMs = 1000

/** Of the connection, when a stream began that is left to Koa with its body read. */
const bytesAtStart = new WeakMap<object, number>()

export function takeRequests(servers: readonly PortServer[], parts: RequestParts): void {
  const { app, connections, settings, origins } = parts
  const answer = app.koa.callback()
  const answerOverfull = createRefusing(origins, () => tooManyConnections(settings.maxConnections))
  const answerTooLarge = createRefusing(origins, headersTooLarge, isSmallEnoughToExplain)

  const onRequest = (request: AnyRequest, response: ServerResponse | Http2ServerResponse): void => {
    const connection = connections.of(request)
    // A destroyed session can still emit requests already read.
    if (!connection || connection.session?.destroyed) return
    arrived.publish(request)
    const bytesBefore =
      ('stream' in request && bytesAtStart.get(request.stream)) || connection.socket.bytesRead
    const start = () => {
      if (request.destroyed) return
      response.once('finish', () => {
        if (response.statusCode >= 400) countRefusal(connection, connection.socket.bytesRead - bytesBefore)
      })
      take(connection, request, response)
    }
    const startWhenAllowed = () => {
      const waitMs = connection.refusedUntil - burstMs - processTimers.now()
      if (waitMs <= 0) start()
      else if (connection.delayed < mostWaiting) delay(connection, response, waitMs, start)
      else connection.calm()
    }
    if ('stream' in request) startWhenAllowed()
    else if (!takeInTurn(connection, response as ServerResponse, startWhenAllowed)) request.destroy()
  }

  /**
   * To protect other clients (generic cell rate algorithm, ITU-T I.371). `bytes` have come since the request: what other
   * requests of the connection sent meanwhile is included.
   */
  function countRefusal(connection: Connection, bytes: number): void {
    const tokens = 1 + Math.min(bytes, settings.maxMessageBytes) / bytesPerToken
    const costMs = (tokens * 1000) / settings.messagesPerSecond
    connection.refusedUntil = Math.max(processTimers.now(), connection.refusedUntil) + costMs
  }

  function take(
    connection: Connection,
    request: AnyRequest,
    response: ServerResponse | Http2ServerResponse,
  ): void {
    const [koaRequest, koaResponse] = [request as never, response as never]
    if ('stream' in request) endStream(request)
    else endLeftover(request, response as ServerResponse)
    if (connection.isOverfull) {
      response.once('finish', () => connection.session?.close())
      answerOverfull(koaRequest, koaResponse)
    } else if ('stream' in request && headerBytes(request) > mostHeaderBytes)
      answerTooLarge(koaRequest, koaResponse)
    else answer(koaRequest, koaResponse)
  }

  for (const server of servers) {
    server.on('request', onRequest as RequestListener)
    takeMessages(server, parts)
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex & { bytesRead?: number }) => {
      const connection = connections.at(socket)
      // Before TLS nothing was read; during a response no second one may start.
      if (connection && !connection.turns && socket.writable && socket.bytesRead)
        socket.end(formatBare(refusalFor(error, settings.bodySeconds)))
      else socket.destroy()
    })
  }
}

/** Of HTTP/2, before Node makes a request and a response of the stream. */
function takeMessages(server: PortServer, { app, connections }: RequestParts): void {
  const [makeRequest] = server.listeners('stream')
  if (!makeRequest) return
  const isOrdinary = (stream: ServerHttp2Stream, rawHeaders: readonly string[]) => {
    const connection = connections.at(stream.session)
    const isPunished = connection && connection.refusedUntil - burstMs > processTimers.now()
    return (
      connection && !isPunished && !connection.isOverfull && headerBytes({ rawHeaders }) <= mostHeaderBytes
    )
  }
  server.removeListener('stream', makeRequest as () => void)
  server.on(
    'stream',
    (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: string[]) => {
      const leaveToKoa = () => void makeRequest.call(server, stream, headers, flags, rawHeaders)
      if (!isMessage(headers, app.messagesPath) || !isOrdinary(stream, rawHeaders)) return leaveToKoa()
      arrived.publish(stream)
      bytesAtStart.set(stream, connections.at(stream.session)?.socket.bytesRead ?? 0)
      stream.on('error', () => undefined)
      app.takeMessage(stream, headers).catch(() => stream.destroyed || leaveToKoa())
    },
  )
}

function isMessage(
  { ':method': method, ':path': path = '', expect }: IncomingHttpHeaders,
  messagesPath: string,
): boolean {
  const isThere = path === messagesPath || path.startsWith(`${messagesPath}?`)
  return isThere && method === 'POST' && expect === undefined
}

/** Requests of one connection. Browsers do not pipeline. */
const mostWaiting = 100

/** What has arrived of a request is held until it starts, or is given up. */
function delay(
  connection: Connection,
  response: ServerResponse | Http2ServerResponse,
  ms: number,
  start: () => void,
): void {
  connection.delayed += 1
  const end = () => {
    connection.delayed -= 1
    response.off('close', giveUp)
  }
  const stop = processTimers.later(() => {
    end()
    start()
  }, ms)
  const giveUp = () => {
    stop()
    end()
  }
  response.once('close', giveUp)
}

/**
 * Serializes pipelined requests (RFC 9112, section 9.3.2): responses would accumulate behind unread ones. False if too
 * many wait.
 */
function takeInTurn(connection: Connection, response: ServerResponse, start: () => void): boolean {
  const run = () => {
    response.once('close', () => {
      const next = connection.turns?.shift()
      // In a new turn: pipelining must not block other connections.
      if (next) setImmediate(next)
      else connection.turns = null
    })
    start()
  }
  if (connection.turns) return connection.turns.length < mostWaiting && connection.turns.push(run) > 0
  connection.turns = []
  run()
  return true
}

/** Ms. An HTTP/1.1 client reads the response only after sending. */
const lingerMs = 1000

/** Stops reading the request body after an early response. */
function endLeftover(request: IncomingMessage, response: ServerResponse): void {
  response.once('finish', () => {
    if (request.complete) return
    const stop = processTimers.later(() => !request.complete && request.socket.destroy(), lingerMs)
    request.once('close', stop)
  })
}

/**
 * Resets a stream whose request body still arrives after the response: NO_ERROR asks the client to stop (RFC 9113,
 * section 8.1). A complete request must not be reset: Firefox treats a response without END_STREAM as a partial
 * transfer.
 */
function endStream({ method, stream }: Http2ServerRequest): void {
  // Node closes a stream with an unread request after the response (Http2Stream, kMaybeDestroy). If the client's window
  // is exhausted, that reset overtakes END_STREAM.
  if (method === 'GET' || method === 'HEAD') stream.resume()
  // The response's 'finish' waits for both sides. END_STREAM is sent after this event loop turn.
  stream.once('finish', () => {
    setImmediate(() => {
      if (stream.state.remoteClose === 0) stream.close()
    })
  })
}

export function tooManyConnections(most: number): Refusal {
  const sentence = `The server holds ${most} connections, its limit (limits.maxConnections); try again in a moment.`
  return new Refusal(503, 'too-many-connections', sentence, null, 5000)
}

function headersTooLarge(): Refusal {
  const sentence = `Headers may have ${mostHeaderBytes} bytes together, cookies included.`
  return new Refusal(431, 'headers-too-large', sentence)
}

/**
 * Without a body the request's memory is freed at once; a body waits for a client that may never open its window (RFC
 * 9113, section 5.2).
 */
const isSmallEnoughToExplain = (request: AnyRequest) => headerBytes(request) <= mostHeaderBytes * 2

/** HTTP/2 adds 32 per field (RFC 9113, section 6.5.2). */
function headerBytes({ rawHeaders }: { readonly rawHeaders: readonly string[] }): number {
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length + 16
  return bytes
}

/** Refuses every request, with CORS headers for pages of the other port. */
function createRefusing(
  origins: OriginRules,
  refuse: () => Refusal,
  hasBody: (request: AnyRequest) => boolean = () => true,
) {
  const app = new Koa()
  app.use(async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if (error.retryAfterMs !== null) ctx.set('Retry-After', String(Math.ceil(error.retryAfterMs / 1000)))
      // A new connection may succeed; a kept-alive one never does.
      if (ctx.req.httpVersionMajor === 1) ctx.set('Connection', 'close')
      counted(error)
      ctx.body = hasBody(ctx.req) ? error : null
      // Koa sets 204 for a null body.
      ctx.status = error.status
    }
  })
  app.use(securityHeaders)
  app.use(crossOrigin(origins))
  app.use(() => {
    throw refuse()
  })
  return app.callback()
}

/** HTTP/1.1 input that is no request: too slow, too large, or malformed. */
function refusalFor({ code }: NodeJS.ErrnoException, bodySeconds: number): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge()
  if (code !== 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Refusal(400, 'bad-request', 'The input is not an HTTP/1.1 request (RFC 9112).')
  const sentence = `A request's headers have to be complete within ${bodySeconds} s (limits.bodySeconds).`
  return new Refusal(408, 'too-slow', sentence)
}

function formatBare(refusal: Refusal): string {
  const body = JSON.stringify(counted(refusal))
  const lines = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
