// Attaches to an application's server: takes requests below a path, and leaves the others to it.

import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Duplex } from 'node:stream'
import { limitUpgrades } from '../node-internals.ts'
import type { AnyRequest } from '../transports/bodies.ts'
import type { Answer, Beside, RequestHandler } from './requests.ts'
import type { ConnectHandler, UpgradeHandler } from './websockets.ts'

/** Node's servers: `http`, `https` and `http2`, secure or not. */
export type AnyServer = EventEmitter

export interface ServerHandlers {
  readonly handleRequest: RequestHandler
  readonly handleUpgrade: UpgradeHandler
  readonly handleConnect: ConnectHandler
}

/** Prefix of the transports' own paths. */
const ownPath = '/api/'

/** Whether a request is below the path; if so, gives it the address that the transports know. */
function takesOver(request: AnyRequest & { originalUrl?: string }, path: string): boolean {
  // Frameworks keep the address there when they change `url`, and read it for their logs.
  const { url = '', originalUrl = url } = request
  const asked = originalUrl.startsWith('/') ? originalUrl : withoutOrigin(originalUrl)
  if (!asked.startsWith(`${path}/`)) return false
  request.originalUrl = originalUrl
  request.url = ownPath + asked.slice(path.length + 1)
  return true
}

/** Clients may send the whole address (RFC 9112, 3.2.2). */
const withoutOrigin = (url: string) => url.replace(/^https?:\/\/[^/]*/i, '')

/** Listeners that the application adds later also receive what is below the path. */
export function attach(
  server: AnyServer,
  path: string,
  { handleRequest, handleUpgrade, handleConnect }: ServerHandlers,
  { requests = true }: { readonly requests?: boolean } = {},
): void {
  if (requests) takeFrom(server, 'request', path, handleRequest as Handler)
  const isAlone = server.listenerCount('upgrade') === 0
  takeFrom(server, 'upgrade', path, handleUpgrade as Handler, refuseUpgrade)
  if (isAlone) limitUpgrades(server, ({ url = '' }) => url.startsWith(`${path}/`))
  takeFrom(server, 'connect', path, handleConnect as Handler, refuseConnect as Handler)
}

/**
 * On ports of our own: the application gets all else, and below the path what no route takes, within the
 * same limits. WebSockets and CONNECT of other paths are refused.
 */
export function handlersBeside(path: string, handlers: ServerHandlers, answer?: Answer): ServerHandlers {
  /** Other paths must not lead to the transports' own. */
  const leads = (request: AnyRequest) => takesOver(request, path) || !request.url?.startsWith(ownPath)
  const elsewhere: Beside = { answer: answer ?? answerNotFound, isBelow: false }
  const below: Beside | undefined = answer && { answer: asAsked(answer), isBelow: true }
  return {
    handleRequest: (request, response) =>
      handlers.handleRequest(request, response, takesOver(request, path) ? below : elsewhere),
    handleUpgrade(request, socket, head) {
      if (leads(request)) handlers.handleUpgrade(request, socket, head)
      else refuseUpgrade(request, socket)
    },
    handleConnect(request, response) {
      if (leads(request)) handlers.handleConnect(request, response)
      else refuseConnect(request, response)
    },
  }
}

/** With the address that the client asked for. */
const asAsked =
  (answer: Answer): Answer =>
  (request: AnyRequest & { originalUrl?: string }, response) => {
    request.url = request.originalUrl ?? request.url
    answer(request, response)
  }

function refuseUpgrade(_request: AnyRequest, socket: Duplex): void {
  socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
}

// biome-ignore lint/suspicious/noExplicitAny: each event has its own parameters.
type Handler = (request: AnyRequest, ...rest: any[]) => void

/**
 * Puts one listener in the place of the server's, and calls those for requests that are not below the
 * path. An event reaches all listeners, and none can keep it from the others: beside an application's
 * own, each request below the path would be answered twice. Engine.IO does the same. Listeners that are
 * added later stay the server's, and can be removed; the earlier ones cannot.
 */
function takeFrom(
  server: AnyServer,
  event: 'request' | 'upgrade' | 'connect',
  path: string,
  take: Handler,
  otherwise?: Handler,
): void {
  const others = server.rawListeners(event)
  server.removeAllListeners(event)
  server.on(event, (request: AnyRequest, ...rest) => {
    if (takesOver(request, path)) take(request, ...rest)
    else if (others.length === 0) otherwise?.(request, ...rest)
    else for (const other of others) Reflect.apply(other, server, [request, ...rest])
  })
}

/** As Node does without a listener. */
function refuseConnect(request: Http2ServerRequest, response: Http2ServerResponse | Duplex): void {
  if (!('stream' in request)) return void (response as Duplex).destroy()
  const http2Response = response as Http2ServerResponse
  http2Response.statusCode = 405
  http2Response.end()
}

type AnyResponse = ServerResponse | Http2ServerResponse

/** The client may leave while an application's middleware waits; 'close' is not emitted again. */
function hasLeft(response: AnyResponse): boolean {
  return 'stream' in response ? response.stream.destroyed : response.destroyed
}

/** The part of Fastify's interface that is used. */
export interface FastifyLike {
  all(
    path: string,
    options: { onRequest: (request: { raw: AnyRequest }, reply: FastifyReplyLike) => void },
    handler: () => void,
  ): unknown
}

interface FastifyReplyLike {
  readonly raw: AnyResponse
  getHeaders(): Record<string, number | string | string[] | undefined>
  hijack(): unknown
  callNotFound(): unknown
}

/**
 * Middleware for the application's own chain: takes requests below the path, and leaves others to the
 * middleware after it. Where nothing follows, others get 404.
 */
export function handlersBelow(path: string, handleRequest: RequestHandler) {
  function take(request: AnyRequest, response: AnyResponse): boolean {
    if (!takesOver(request, path)) return false
    if (hasLeft(response)) return true
    if (request.readableEnded)
      throw new Error(
        `The body of a ${request.method} request below ${path} was read before Crosswind could; mount Crosswind before the body parser.`,
      )
    handleRequest(request, response)
    return true
  }

  function handler(
    request: AnyRequest,
    response: AnyResponse,
    next: () => void = () => answerNotFound(request, response),
  ): void {
    if (!take(request, response)) next()
  }

  return {
    /** A listener of Node's servers, and middleware of Connect and Express. */
    handler,
    express: () => handler,
    koa:
      () =>
      async (ctx: KoaContext, next: () => Promise<unknown>): Promise<void> => {
        const { req, res } = ctx
        if (!take(req, res)) return void (await next())
        ctx.respond = false
        if (hasLeft(res)) return
        // Middleware before this one sees the status, and cannot change it.
        await new Promise((resolve) => res.once('close', resolve))
      },
    /** A plugin. */
    async fastify(instance: FastifyLike): Promise<void> {
      const onRequest = ({ raw }: { raw: AnyRequest }, reply: FastifyReplyLike) => {
        for (const [name, value = ''] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value)
        if (take(raw, reply.raw)) reply.hijack()
        else reply.callNotFound()
      }
      instance.all(`${path}/*`, { onRequest }, () => undefined)
    },
  }
}

export interface KoaContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  respond?: boolean
}

function answerNotFound(_request: unknown, response: AnyResponse): void {
  response.statusCode = 404
  response.end()
}
