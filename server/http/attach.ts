// Which requests are Crosswind's: on its own ports, and on an application's server, which keeps the others.

import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Duplex } from 'node:stream'
import { limitUpgrades } from '../node-internals.ts'
import type { AnyRequest } from '../security/grants.ts'
import { askedFor } from '../security/middleware.ts'
import type { Answer, RequestHandler } from './requests.ts'
import type { ConnectHandler, UpgradeHandler } from './websockets.ts'

/** Node's servers: `http`, `https` and `http2`, secure or not. */
export type AnyServer = EventEmitter

export interface ServerHandlers {
  readonly handleRequest: RequestHandler
  readonly handleUpgrade: UpgradeHandler
  readonly handleConnect: ConnectHandler
}

export interface EndpointHandlers extends ServerHandlers {
  /** Whether a request, with the address that the transports know, is for one of the endpoints. */
  readonly takes: (request: AnyRequest) => boolean
}

/** Prefix of the transports' own paths. */
const ownPath = '/api/'

/** Whether a request is below the path; if so, gives it the address that the transports know. */
function takesOver(request: AnyRequest & { originalUrl?: string }, path: string): boolean {
  const asked = askedFor(request)
  if (!asked.startsWith(`${path}/`)) return false
  // Frameworks keep the address there when they change `url`, and read it for their logs.
  request.originalUrl ??= request.url ?? ''
  request.url = ownPath + asked.slice(path.length + 1)
  return true
}

type RequestsOf = Pick<EndpointHandlers, 'handleRequest' | 'takes'>

/**
 * Answers a request for one of the endpoints, and returns whether it does. With `isLast`, nothing else
 * answers what is below the path, so that this one does.
 */
function answers(
  path: string,
  { handleRequest, takes }: RequestsOf,
  isLast: boolean,
  ...[request, response]: Parameters<Answer>
): boolean {
  const { url } = request
  if (!takesOver(request, path)) return false
  if (isLast || takes(request)) {
    handleRequest(request, response)
    return true
  }
  // With the address that the client asked for, or that the application's framework gave it.
  request.url = url
  return false
}

/** Listeners that the application adds later also receive what is below the path. */
export function attach(
  server: AnyServer,
  path: string,
  handlers: EndpointHandlers,
  { requests = true }: { readonly requests?: boolean } = {},
): void {
  const { handleUpgrade, handleConnect } = handlers
  const isLast = server.listenerCount('request') === 0
  if (requests)
    takeFrom(server, 'request', (request, response) => answers(path, handlers, isLast, request, response))
  const isAlone = server.listenerCount('upgrade') === 0
  const below =
    (take: Handler): Take =>
    (request, ...rest) => {
      const isBelow = takesOver(request, path)
      if (isBelow) take(request, ...rest)
      return isBelow
    }
  takeFrom(server, 'upgrade', below(handleUpgrade), refuseUpgrade)
  if (isAlone) limitUpgrades(server, ({ url = '' }) => url.startsWith(`${path}/`))
  takeFrom(server, 'connect', below(handleConnect), refuseConnect)
}

/**
 * On ports of our own: the application gets all other requests, also those below the path that no route
 * takes, within the same limits. WebSockets and CONNECT of other paths are refused.
 */
export function handlersBeside(path: string, handlers: EndpointHandlers, answer?: Answer): ServerHandlers {
  /** Other paths must not lead to the transports' own. */
  const leads = (request: AnyRequest) => takesOver(request, path) || !request.url?.startsWith(ownPath)
  return {
    handleRequest(request, response) {
      if (!answers(path, handlers, answer === undefined, request, response))
        handlers.handleRequest(request, response, answer ?? answerNotFound)
    },
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

function refuseUpgrade(_request: AnyRequest, socket: Duplex): void {
  socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
}

// biome-ignore lint/suspicious/noExplicitAny: each event has its own parameters.
type Handler = (request: any, ...rest: any[]) => void

/** Returns whether it takes the request. */
type Take = (...given: Parameters<Handler>) => boolean

/**
 * Replaces the server's listeners by one, which calls them for requests that it does not take. An event
 * reaches all listeners: beside an application's own, each request below the path would be answered
 * twice. Engine.IO does the same. Listeners that are
 * added later stay the server's, and can be removed; the earlier ones cannot.
 */
function takeFrom(
  server: AnyServer,
  event: 'request' | 'upgrade' | 'connect',
  take: Take,
  otherwise?: Handler,
): void {
  const others = server.rawListeners(event)
  server.removeAllListeners(event)
  server.on(event, (request: AnyRequest, ...rest) => {
    if (take(request, ...rest)) return
    if (others.length === 0) otherwise?.(request, ...rest)
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
 * Middleware for the application's own chain: takes requests for the endpoints, and leaves others to the
 * middleware after it. Where nothing follows, others get 404.
 */
export function handlersBelow(path: string, { handleRequest, takes }: RequestsOf) {
  const unlessLate: RequestsOf = {
    takes,
    handleRequest(request, response) {
      if (hasLeft(response)) return
      if (request.readableEnded)
        throw new Error(
          `The body of a ${request.method} request below ${path} was read before Crosswind could; mount Crosswind before the body parser.`,
        )
      handleRequest(request, response)
    },
  }
  const take = (request: AnyRequest, response: AnyResponse, isLast = false) =>
    answers(path, unlessLate, isLast, request, response)

  function handler(request: AnyRequest, response: AnyResponse, next?: () => void): void {
    if (take(request, response, next === undefined)) return
    if (next) next()
    else answerNotFound(request, response)
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
        // Routes that the application has there come before this one, and none after it.
        if (take(raw, reply.raw, true)) reply.hijack()
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
