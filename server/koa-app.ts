// The Koa application: middleware, every transport, and the routes beside them.

import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import Router from '@koa/router'
import Koa from 'koa'
import websockify from 'koa-websocket'
import type { Stored } from '../protocol/messages.ts'
import type { EngineSettings } from './config/engine-settings.ts'
import { answerErrors, reportFailure, type ShowRefusal } from './http/refusals.ts'
import { RateLimit } from './hub/rate-limit.ts'
import type { AnyRequest, Authorizer, Grant } from './security/grants.ts'
import {
  crossOrigin,
  mustBeAllowed,
  type OriginRules,
  requireSession,
  securityHeaders,
} from './security/middleware.ts'
import { sessionPath } from './security/tickets.ts'
import { chargeAnswers, ReadingRate } from './transports/answers.ts'
import { BodyReader, connectionOf } from './transports/body-reader.ts'
import { Budget, type BudgetLimits } from './transports/budget.ts'
import { longPolling, polling } from './transports/polling.ts'
import { sse } from './transports/sse.ts'
import { streaming } from './transports/streaming.ts'
import {
  httpVersionOf,
  type Mounting,
  queryOf,
  type ServerTransport,
  type SocketHandler,
} from './transports/transport.ts'
import { type Answer, isJson, mountUplink } from './transports/uplink.ts'
import { websocket } from './transports/websocket.ts'

/** CONTRIBUTING.md says what else a new transport needs. */
const transports: readonly ServerTransport[] = [sse, websocket, longPolling, polling, streaming]

interface AppParts extends Pick<Mounting, 'hub' | 'timers' | 'heartbeatMs' | 'holdMs' | 'admission'> {
  readonly limits: Mounting['limits'] & BudgetLimits & Pick<EngineSettings['limits'], 'messagesPerSecond'>
  readonly authorizer: Authorizer
  readonly origins: OriginRules
  readonly showRefusal: ShowRefusal | undefined
  /** The routes beside the transports. */
  readonly mount: (mounting: Mounting) => void
}

export type App = ReturnType<typeof createApp>

export function createApp(parts: AppParts) {
  const { authorizer, origins, mount } = parts
  const app = websockify(new Koa())
  const router = new Router()
  const socketHandlers = new Map<string, SocketHandler>()
  const grants = new WeakMap<IncomingMessage, Grant>()
  let webSockets = 0

  const onSocket = (path: string, handler: SocketHandler) => void socketHandlers.set(path, handler)
  const budget = new Budget(parts.limits, parts.timers)
  /** Charges connections for refused requests, to protect others. */
  const penalties = new RateLimit(parts.limits.messagesPerSecond, parts.timers.now)
  const bodies = new BodyReader({ ...parts, budget, penalties })
  const readingRate = new ReadingRate(parts.timers.now)
  const mounting = { ...parts, router, onSocket, budget, bodies, readingRate }
  const handleMessage = mountUplink(mounting)
  for (const transport of transports) transport(mounting)
  mount(mounting)

  app.use(answerErrors(parts.showRefusal))
  app.use(securityHeaders)
  app.use(crossOrigin(origins))
  app.use(requireSession(authorizer))
  app.use(chargeAnswers(budget))
  app.use(router.routes())
  app.use(router.allowedMethods())
  app.ws.use((ctx) => {
    const grant = grants.get(ctx.req)
    if (!grant) return ctx.websocket.terminate()
    webSockets += 1
    ctx.websocket.once('close', () => {
      webSockets -= 1
    })
    const source = 'stream' in ctx.req ? (ctx.req.stream as Readable) : ctx.req.socket
    const connection = connectionOf(ctx.req)
    const opening = { query: queryOf(ctx), http: httpVersionOf(ctx.req), grant, connection, source }
    socketHandlers.get(ctx.path)?.(ctx.websocket, opening)
  })
  app.on('error', reportFailure)
  return {
    koa: app,
    penalties,
    budget,
    bodies,
    readingRate,
    socketPaths: new Set(socketHandlers.keys()),
    /** Open WebSockets, over both HTTP versions. */
    webSockets: () => webSockets,
    /**
     * Same as the route, without Koa's overhead: this is by far the most frequent request. Rejects
     * with a `Refusal`.
     */
    async handleMessage(request: AnyRequest): Promise<Stored | readonly Answer[]> {
      mustBeAllowed(request, origins)
      return handleMessage(request, await authorizer.grantFor(request))
    },
    /**
     * Whether a route takes the request, whatever its method. Without JSON a POST to the session's path
     * does not ask for a ticket, and may be the application's.
     */
    takes({ method = '', url = '', headers }: AnyRequest): boolean {
      const [path = ''] = url.split('?', 1)
      if (path === sessionPath) return method === 'POST' && isJson({ headers })
      return router.match(path, method).path.length > 0
    },
    /** Rejects with a `Refusal` (401) without a session. */
    async authorizeSocket(request: IncomingMessage): Promise<void> {
      grants.set(request, await authorizer.grantFor(request))
    },
  }
}
