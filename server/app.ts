// The Koa application: middleware, service endpoints, the built web app, and every transport.

import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import Router from '@koa/router'
import Koa from 'koa'
import websockify from 'koa-websocket'
import type { Config } from './config/config.ts'
import type { Directory } from './document/directory.ts'
import type { Documents } from './document/document-worker.ts'
import type { Health } from './health.ts'
import { answerErrors, reportFailure } from './http/refusals.ts'
import { RateLimit } from './hub/rate-limit.ts'
import type { Log } from './log/log.ts'
import { type Monitor, mountMonitor } from './monitor.ts'
import { readFigures } from './process.ts'
import { mountDocuments } from './routes/documents.ts'
import { mountPage, serveAssets } from './routes/page.ts'
import { mountReports } from './routes/reports.ts'
import { type Access, type Grant, refuseReading } from './security/access.ts'
import {
  crossOrigin,
  grantOf,
  mountSession,
  mustBeAllowed,
  type OriginRules,
  requireSession,
  securityHeaders,
} from './security/middleware.ts'
import { chargeAnswers } from './transports/answers.ts'
import { type AnyRequest, Bodies, connectionOf } from './transports/bodies.ts'
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
import { mountUplink } from './transports/uplink.ts'
import { websocket } from './transports/websocket.ts'
import { mountWindHistory, type WindRecorder } from './wind-recorder.ts'
import type { PageSettings, Stored } from './wire/messages.ts'

/**
 * A new transport needs a row in `wire/modes.ts`, a file here and in `client/transports`, and its
 * name in this list.
 */
const transports: readonly ServerTransport[] = [sse, websocket, longPolling, polling, streaming]

interface AppParts extends Pick<Mounting, 'hub' | 'timers' | 'heartbeatMs'> {
  readonly limits: Mounting['limits'] & BudgetLimits & Pick<Config['limits'], 'messagesPerSecond'>
  readonly windRecorder: WindRecorder
  readonly directory: Directory
  readonly documents: Documents
  readonly texts: Documents
  readonly log: Log
  readonly monitor: Monitor
  readonly health: Pick<Health, 'whyUnready'>
  readonly access: Access
  readonly origins: OriginRules
  readonly settings: () => PageSettings
  readonly webFolder: string
  readonly reportsFolder: string
}

export type App = ReturnType<typeof createApp>

/** Throws if the web app is not built. */
export function createApp(parts: AppParts) {
  const { windRecorder, access, origins, settings, webFolder } = parts
  const app = websockify(new Koa())
  const router = new Router()
  const socketHandlers = new Map<string, SocketHandler>()
  const grants = new WeakMap<IncomingMessage, Grant>()
  let webSockets = 0

  const onSocket = (path: string, handler: SocketHandler) => void socketHandlers.set(path, handler)
  const budget = new Budget(parts.limits, parts.timers)
  /** Charges connections for refused requests, to protect others. */
  const penalties = new RateLimit(parts.limits.messagesPerSecond, parts.timers.now)
  const bodies = new Bodies({ ...parts, budget, penalties })
  const mounting = { ...parts, router, onSocket, budget, bodies, holdMs: settings().polling.holdMs }
  const takeMessage = mountUplink(mounting)
  for (const mount of transports) mount(mounting)
  mountService(router, parts)
  mountWindHistory(router, windRecorder)
  mountSession(router, access)
  mountDocuments(router, mounting)
  mountReports(router, parts)
  mountMonitor(router, parts.monitor)
  mountPage(router, mounting)

  app.use(answerErrors)
  app.use(securityHeaders)
  app.use(crossOrigin(origins))
  app.use(requireSession(access))
  app.use(chargeAnswers(budget))
  app.use(router.routes())
  app.use(router.allowedMethods())
  app.use(serveAssets(webFolder, origins.ports))
  app.ws.use((ctx) => {
    const grant = grants.get(ctx.req)
    if (!grant) return ctx.websocket.terminate()
    webSockets += 1
    ctx.websocket.once('close', () => {
      webSockets -= 1
    })
    const source = 'stream' in ctx.req ? (ctx.req.stream as Readable) : ctx.req.socket
    const connection = connectionOf(ctx.req)
    const opening = { query: queryOf(ctx), http: httpVersionOf(ctx), grant, connection, source }
    socketHandlers.get(ctx.path)?.(ctx.websocket, opening)
  })
  app.on('error', reportFailure)
  return {
    koa: app,
    penalties,
    budget,
    socketPaths: new Set(socketHandlers.keys()),
    /** Open WebSockets, over both HTTP versions. */
    webSockets: () => webSockets,
    /**
     * Same as the route, without Koa's overhead: this is by far the most frequent request. Rejects
     * with a `Refusal`.
     */
    async takeMessage(request: AnyRequest): Promise<Stored> {
      mustBeAllowed(request, origins)
      const { cookie, authorization } = request.headers
      return takeMessage(request, await access.grantFor(cookie, authorization))
    },
    /** Rejects with a `Refusal` (401) without a session. */
    async authorizeSocket(request: IncomingMessage): Promise<void> {
      grants.set(request, await access.grantFor(request.headers.cookie, request.headers.authorization))
    },
  }
}

function mountService(router: Router, { hub, timers, settings, health }: AppParts): void {
  /** Whether the process is alive: if not, it should be restarted. */
  router.get('/healthz', (ctx) => {
    ctx.status = hub.isDraining() ? 503 : 200
    ctx.body = { status: hub.isDraining() ? 'draining' : 'ok', windows: hub.windowCount() }
  })
  /** Whether it may accept windows. */
  router.get('/readyz', (ctx) => {
    const reason = health.whyUnready()
    const isReady = !hub.isDraining() && reason === null
    ctx.status = isReady ? 200 : 503
    ctx.set('Cache-Control', 'no-store')
    ctx.body = {
      status: hub.isDraining() ? 'draining' : isReady ? 'ok' : 'log-unavailable',
      ...(reason !== null && { reason }),
    }
  })
  const answer = (path: string, body: (grant: Grant) => unknown) =>
    router.get(path, (ctx) => {
      ctx.set('Cache-Control', 'no-store')
      ctx.body = body(grantOf(ctx))
    })
  answer('/api/settings', settings)
  answer('/api/clock', () => ({ at: timers.now() }))
  answer('/api/figures', () => readFigures(hub.windowCount()))
  answer('/api/windows', (grant) => ({
    windows: hub.windows().filter(({ channels }) => refuseReading(grant, channels) === null),
  }))
}
