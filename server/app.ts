// The Koa application: errors caught once, headers, pages, and every transport mounted from the table.

import type { IncomingMessage } from 'node:http'
import Router from '@koa/router'
import Koa from 'koa'
import websockify from 'koa-websocket'
import type { Hub } from './hub/hub.ts'
import { readFigures } from './monitor/figures.ts'
import { mountPage, serveAssets } from './page.ts'
import { Refusal } from './refusal.ts'
import type { Access } from './security/access.ts'
import { crossOrigin } from './security/cors.ts'
import { type Grant, refuseReading } from './security/grant.ts'
import { securityHeaders } from './security/headers.ts'
import { grantOf, letIn } from './security/let-in.ts'
import type { OriginRules } from './security/origins.ts'
import { mountWelcome } from './security/welcome.ts'
import { transports } from './transports/index.ts'
import type { SocketHandler, TransportLimits } from './transports/transport.ts'
import { mountUplink } from './transports/uplink.ts'
import { mountWindHistory } from './wind-history/mount.ts'
import type { RunningAnemograph } from './wind-history/running-anemograph.ts'
import type { PageSettings } from './wire/settings.ts'
import type { Timers } from './wire/time.ts'

export interface AppParts {
  readonly hub: Hub
  readonly anemograph: Pick<RunningAnemograph, 'anemogram'>
  readonly timers: Timers
  readonly access: Access
  readonly origins: OriginRules
  readonly settings: () => PageSettings
  readonly limits: TransportLimits
  readonly heartbeatMs: number
  /** Where the built web app is. */
  readonly webFolder: string
}

export interface App {
  readonly koa: websockify.App
  /** Where a WebSocket may be opened. */
  readonly socketPaths: ReadonlySet<string>
  /** Rejects with a `Refusal` when who asks for a WebSocket has no session. */
  readonly letSocketIn: (request: IncomingMessage) => Promise<void>
}

export function createApp(parts: AppParts): App {
  const { hub, anemograph, timers, access, origins, settings, webFolder } = parts
  const app = websockify(new Koa())
  const router = new Router()
  const socketHandlers = new Map<string, SocketHandler>()
  const grants = new WeakMap<IncomingMessage, Grant>()

  const { holdMs } = settings().polling
  const onSocket = (path: string, handler: SocketHandler) => void socketHandlers.set(path, handler)
  const mounting = { ...parts, router, onSocket, holdMs }
  mountUplink(mounting)
  for (const transport of transports) transport.mount(mounting)
  mountService(router, hub, timers.now, settings)
  mountWindHistory(router, anemograph)
  mountWelcome(router, access)
  mountPage(router, { folder: webFolder, settings, ports: origins.ports, hub })

  app.use(answerErrors)
  app.use(securityHeaders)
  app.use(crossOrigin(origins))
  app.use(letIn(access))
  app.use(router.routes())
  app.use(router.allowedMethods())
  app.use(serveAssets(webFolder, origins.ports))
  app.ws.use((ctx) => {
    const grant = grants.get(ctx.req)
    if (!grant) return ctx.websocket.terminate()
    const http = ctx.req.httpVersionMajor === 2 ? '2' : '1.1'
    socketHandlers.get(ctx.path)?.(ctx.websocket, { query: ctx.URL.searchParams, http, grant })
  })
  // The stack of an unexpected failure goes to the terminal; that a window went away is no failure.
  app.on('error', (error) => {
    if (!isLostConnection(error)) console.error(error)
  })
  return {
    koa: app,
    socketPaths: new Set(socketHandlers.keys()),
    async letSocketIn(request) {
      grants.set(request, await access.grantFor(request.headers.cookie))
    },
  }
}

function mountService(router: Router, hub: Hub, clock: () => number, settings: () => PageSettings): void {
  router.get('/healthz', (ctx) => {
    ctx.status = hub.isDraining() ? 503 : 200
    ctx.body = { status: hub.isDraining() ? 'draining' : 'ok', windows: hub.windowCount() }
  })
  router.get('/api/settings', (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    ctx.body = settings()
  })
  router.get('/api/clock', (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    ctx.body = { at: clock() }
  })
  router.get('/api/figures', (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    ctx.body = readFigures(hub.windowCount())
  })
  router.get('/api/windows', (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    const grant = grantOf(ctx)
    // Who else is where is for those who may be there too.
    const windows = hub.windows().filter(({ channels }) => refuseReading(grant, channels) === null)
    ctx.body = { windows }
  })
}

function wrongMethod(): Refusal {
  return new Refusal(
    405,
    'wrong-method',
    'That path does not take this method; the Allow header names those it takes.',
  )
}

const wrongMethodStatuses: ReadonlySet<number> = new Set([405, 501])

const answerErrors: Koa.Middleware = async (ctx, next) => {
  try {
    await next()
    // The Allow header stands there already.
    if (wrongMethodStatuses.has(ctx.status) && ctx.body === undefined) throw wrongMethod()
    if (ctx.status === 404 && ctx.respond !== false) throw notFound(ctx.path)
  } catch (error) {
    const refusal = error instanceof Refusal ? error : fromUnknown(error, ctx)
    ctx.status = refusal.status
    if (refusal.retryAfterMs !== null) ctx.set('Retry-After', String(Math.ceil(refusal.retryAfterMs / 1000)))
    ctx.body = refusal
  }
}

const lostCodes: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECANCELED',
  'ERR_STREAM_PREMATURE_CLOSE',
  // What a session that was ended for what it did gives to each of its streams.
  'ERR_HTTP2_SESSION_ERROR',
  'ERR_HTTP2_STREAM_CANCEL',
  'ERR_HTTP2_STREAM_ERROR',
  'ERR_HTTP2_TOO_MANY_INVALID_FRAMES',
])

function isLostConnection(error: unknown): boolean {
  return error instanceof Error && 'code' in error && lostCodes.has(error.code)
}

function notFound(path: string): Refusal {
  return new Refusal(404, 'not-found', `There is nothing at ${path.slice(0, 200)}.`)
}

function fromUnknown(error: unknown, ctx: Koa.ParameterizedContext): Refusal {
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 500
  // koa-static forbids paths that leave its folder: for who asks there is nothing.
  if (status === 403 || status === 404) return notFound(ctx.path)
  if (status >= 400 && status < 500)
    return new Refusal(status, 'bad-request', 'The request could not be understood.')
  ctx.app.emit('error', error, ctx)
  return new Refusal(500, 'internal', 'The server failed on this request; its terminal says why.')
}
