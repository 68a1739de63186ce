// Passes requests to the application, within limits; over one HTTP/1.1 connection, one at a time.

import { channel } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import type { Duplex } from 'node:stream'
import { Refusal } from '../../protocol/refusal.ts'
import { processTimers } from '../../scripts/process.ts'
import type { EngineSettings } from '../config/engine-settings.ts'
import { costOfRefusal } from '../hub/rate-limit.ts'
import type { App } from '../koa-app.ts'
import type { PortServer } from '../node-internals.ts'
import type { AnyRequest } from '../security/grants.ts'
import { type OriginRules, originFields } from '../security/middleware.ts'
import { connectionOf } from '../transports/body-reader.ts'
import { maxUnreadBytes } from '../transports/budget.ts'
import { messagesPath } from '../transports/uplink.ts'
import type { Connections } from './connections.ts'
import { FairStart } from './fair-start.ts'
import type { Connection } from './http-connection.ts'
import { formatBare, refuse, respond } from './refusals.ts'
import { type QueueTotal, RequestQueue } from './request-queue.ts'
import { maxHeaderBytes } from './server-options.ts'

interface RequestParts {
  readonly app: Pick<App, 'koa' | 'penalties' | 'budget' | 'handleMessage'>
  readonly connections: Pick<Connections, 'of'>
  readonly settings: Pick<EngineSettings['limits'], 'maxConnections' | 'maxMessageBytes'>
  readonly origins: OriginRules
}

/** Answered on connections beyond the limit too: a full server must not be restarted. */
export const healthPath = '/healthz'

/** Pages, the most expensive requests, take about 0.5 ms each. */
const requestsInTurn = 10

/** Published with the request when its headers have arrived. */
const arrived = channel('crosswind:arrived')

/** Of the process: queues outlive a log. */
const queueTotal: QueueTotal = { requests: 0 }

/** Answers requests: the transports, and on ports of our own also an application. */
export type Answer = (request: AnyRequest, response: ServerResponse | Http2ServerResponse) => void

/** `beside`: an application on ports of our own, which answers instead of the transports, within the same limits. */
export type RequestHandler = (...given: [...Parameters<Answer>, beside?: Answer]) => void

/**
 * The listener for requests. Each waits for the responses before it on an HTTP/1.1 connection, then until
 * its connection has paid for what was refused, then for a turn of the event loop in which few others start.
 */
export function createRequestHandler(parts: RequestParts): RequestHandler {
  const { app, connections, settings, origins } = parts
  const { penalties } = app
  const fair = new FairStart(requestsInTurn)
  const answerAsKoa = app.koa.callback() as unknown as Answer

  return (request, response, beside) => {
    const connection = connections.of(request)
    // A destroyed session can still emit requests already read.
    if (!connection || connection.session?.destroyed) return
    arrived.publish(request)
    const key = connectionOf(request)
    const bytesBefore = connection.socket.bytesRead
    const begin = () => {
      if (isOver(request)) return
      response.once('finish', () => {
        // Includes the data that other requests of the connection have sent meanwhile.
        const bytes = Math.min(connection.socket.bytesRead - bytesBefore, settings.maxMessageBytes)
        if (response.statusCode >= 400) penalties.charge(key, costOfRefusal(bytes))
      })
      answer(connection, request, response, beside)
    }
    const beginFairly = () => fair.run(connection, begin)
    const beginWhenAllowed = () => {
      const waitMs = penalties.debtMs(key)
      if (waitMs === 0) beginFairly()
      else delay(request, response, waitMs, app, beginFairly)
    }
    if ('stream' in request) beginWhenAllowed()
    else if (!queueOf(connection).run(response as ServerResponse, beginWhenAllowed)) request.destroy()
  }

  function queueOf(connection: Connection): RequestQueue {
    if (connection.requestQueue) return connection.requestQueue
    const queue = new RequestQueue(connection.secure, queueTotal)
    connection.requestQueue = queue
    connection.socket.once('close', () => queue.close())
    return queue
  }

  function answer(
    connection: Connection,
    request: AnyRequest,
    response: ServerResponse | Http2ServerResponse,
    beside: Answer | undefined,
  ): void {
    if ('stream' in request) endStream(request)
    else endLeftover(request, response as ServerResponse)
    if (connection.isOverLimit && request.url !== healthPath) {
      response.once('finish', () => connection.session?.close())
      refuse(request, response, tooManyConnections(settings.maxConnections), origins)
    } else if ('stream' in request && headerBytes(request) > maxHeaderBytes)
      refuse(request, response, headersTooLarge(), origins, isSmallEnoughToExplain(request))
    else if (beside) beside(request, response)
    else if (isMessage(request)) handleMessage(request, response)
    else answerAsKoa(request, response)
  }

  async function handleMessage(
    request: AnyRequest,
    response: ServerResponse | Http2ServerResponse,
  ): Promise<void> {
    try {
      const json = JSON.stringify(await app.handleMessage(request))
      const { origin } = request.headers
      respond(response, 200, origin ? originFields(origin) : {}, json)
    } catch (error) {
      refuse(request, response, error, origins)
    }
  }
}

/** Answers input that is not an HTTP/1.1 request. */
export function answerBrokenInput(
  server: PortServer,
  connections: Pick<Connections, 'at'>,
  bodySeconds: number,
): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex & { bytesRead?: number }) => {
    const connection = connections.at(socket)
    // Before TLS nothing was read; during a response no other may start.
    if (connection && !connection.requestQueue?.isBusy && socket.writable && socket.bytesRead)
      socket.end(formatBare(refusalFor(error, bodySeconds)))
    else socket.destroy()
  })
}

/** An HTTP/2 request is not destroyed together with its stream. */
function isOver(request: AnyRequest): boolean {
  if ('stream' in request) return request.stream.destroyed || request.stream.closed
  return request.destroyed
}

function isMessage({ method, url = '' }: AnyRequest): boolean {
  return method === 'POST' && (url === messagesPath || url.startsWith(`${messagesPath}?`))
}

/** Delays a request; data that arrives is held until it starts or is abandoned. */
function delay(
  request: AnyRequest,
  response: ServerResponse | Http2ServerResponse,
  ms: number,
  { budget, penalties }: Pick<App, 'budget' | 'penalties'>,
  start: () => void,
): void {
  const connection = connectionOf(request)
  const charge = budget.open(connection, () => {
    penalties.charge(connection, costOfRefusal(maxUnreadBytes))
    if ('stream' in request) request.stream.close(constants.NGHTTP2_REFUSED_STREAM)
    else request.destroy()
  })
  const stop = processTimers.later(() => {
    response.off('close', giveUp)
    charge.end()
    start()
  }, ms)
  const giveUp = () => {
    stop()
    charge.end()
  }
  response.once('close', giveUp)
  if (request.method !== 'GET' && request.method !== 'HEAD') charge.set(maxUnreadBytes)
}

/** In ms. An HTTP/1.1 client reads the response only after sending the request. */
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
 * Resets a stream whose request body still arrives after the response: NO_ERROR asks the client to
 * stop (RFC 9113, section 8.1). A complete request must not be reset: Firefox treats a response
 * without END_STREAM as a partial transfer.
 */
function endStream({ method, stream }: Http2ServerRequest): void {
  // Node closes a stream with an unread request after the response (Http2Stream, kMaybeDestroy). If
  // the client's window is exhausted, that reset overtakes END_STREAM.
  if (method === 'GET' || method === 'HEAD') stream.resume()
  // The response's 'finish' waits for both sides. END_STREAM is sent after this event loop turn.
  stream.once('finish', () => {
    setImmediate(() => {
      if (stream.state.remoteClose === 0) stream.close()
    })
  })
}

export function tooManyConnections(most: number): Refusal {
  const sentence = `The server holds ${most} connections, as many as it can; try again in a moment.`
  return new Refusal('too-many-connections', sentence, null, 5000)
}

function headersTooLarge(): Refusal {
  const sentence = `Headers may have at most ${maxHeaderBytes} bytes in total, including cookies.`
  return new Refusal('headers-too-large', sentence)
}

/**
 * A response body would wait for a client that may never open its window (RFC 9113, section 5.2).
 */
const isSmallEnoughToExplain = (request: AnyRequest) => headerBytes(request) <= maxHeaderBytes * 2

/** HTTP/2 adds 32 per field (RFC 9113, section 6.5.2). */
function headerBytes({ rawHeaders }: { readonly rawHeaders: readonly string[] }): number {
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length + 16
  return bytes
}

/** For HTTP/1.1 input that is not a request: too slow, too large, or malformed. */
function refusalFor({ code }: NodeJS.ErrnoException, bodySeconds: number): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge()
  if (code !== 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Refusal('bad-request', 'The input is not an HTTP/1.1 request (RFC 9112).')
  const sentence = `A request's headers must be complete within ${bodySeconds} s (limits.bodySeconds).`
  return new Refusal('too-slow', sentence)
}
