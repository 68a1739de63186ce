// The Koa application: middleware, service endpoints, the built web app, and every transport.

import { existsSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import Router from '@koa/router'
import Koa, { type Middleware, type ParameterizedContext } from 'koa'
import serve from 'koa-static'
import websockify from 'koa-websocket'
import type { Config } from './config/config.ts'
import type { Directory } from './document/directory.ts'
import type { Documents } from './document/document-worker.ts'
import { mountDocuments, mustWait } from './document/endpoints.ts'
import type { Health } from './health.ts'
import { admitChannel, bytesPerToken, createRateLimit } from './hub/admission.ts'
import type { Log } from './log/log.ts'
import { type Monitor, mountMonitor } from './monitor.ts'
import { output } from './output.ts'
import { readFigures } from './process.ts'
import { answerErrors } from './refusal.ts'
import { mountReports } from './reports.ts'
import { type Access, firstChannel, type Grant, refuseReading, refuseWriting } from './security/access.ts'
import {
  checkHost,
  crossOrigin,
  grantOf,
  mountSession,
  type OriginRules,
  originFields,
  pageHeaders,
  refuseForeign,
  requireSession,
  securityFields,
  securityHeaders,
  workerHeaders,
} from './security/middleware.ts'
import { answerParts, chargeAnswers, jsonPieces } from './transports/answers.ts'
import { Bodies, connectionOf } from './transports/bodies.ts'
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
import { messagesPath, mountUplink } from './transports/uplink.ts'
import { websocket } from './transports/websocket.ts'
import { mountWindHistory, type WindRecorder } from './wind-recorder.ts'
import { documentPath, documentsPath } from './wire/document-api.ts'
import {
  estimateLength,
  formatCursor,
  mainChannel,
  overviewChannel,
  type PageSettings,
  type PageStart,
  windChannel,
} from './wire/messages.ts'

/** A new transport: a row in `wire/modes.ts`, a file here and in `client/transports`, its name in this list. */
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

/** Throws when the web app is not built. */
export function createApp(parts: AppParts) {
  const { windRecorder, access, origins, settings, webFolder } = parts
  const app = websockify(new Koa())
  const router = new Router()
  const socketHandlers = new Map<string, SocketHandler>()
  const grants = new WeakMap<IncomingMessage, Grant>()
  let webSockets = 0

  const onSocket = (path: string, handler: SocketHandler) => void socketHandlers.set(path, handler)
  const budget = new Budget(parts.limits, parts.timers)
  /** What refused requests cost their connection, to protect others. */
  const penalties = createRateLimit(parts.limits.messagesPerSecond, parts.timers.now)
  const bodies = new Bodies({ ...parts, budget, penalties })
  const mounting = { ...parts, router, onSocket, budget, bodies, holdMs: settings().polling.holdMs }
  const takePosted = mountUplink(mounting)
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
  app.use(checkHost)
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
  app.on('error', (error) => {
    const isLost = error instanceof Error && 'code' in error && lostCodes.has(error.code)
    if (!isLost) output.incident('request-failed', 'A request failed', error)
  })
  return {
    koa: app,
    messagesPath,
    penalties,
    budget,
    socketPaths: new Set(socketHandlers.keys()),
    /** Open ones, over both versions of HTTP. */
    webSockets: () => webSockets,
    /**
     * A message over HTTP/2, by far the most frequent request, without what Koa does for any. Rejects where Koa has to answer,
     * which then refuses it likewise.
     */
    async takeMessage(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
      const { origin, cookie, authorization, host, ':authority': authority = host } = headers
      const refusal = refuseForeign(origin, authority, origins)
      if (refusal) throw refusal
      const grant = access.grantOfAll ?? (await access.grantFor(cookie, authorization))
      const json = await takePosted(stream, headers, grant)
      if (stream.destroyed) return
      // Node adds to the list.
      stream.respond([...answerFields, ...(origin ? listOf(originFields(origin)) : [])])
      stream.end(json)
    },
    /** Rejects with a `Refusal` (401) without a session. */
    async authorizeSocket(request: IncomingMessage): Promise<void> {
      grants.set(request, await access.grantFor(request.headers.cookie, request.headers.authorization))
    },
  }
}

const listOf = (fields: Readonly<Record<string, string>>) =>
  Object.entries(fields).flatMap(([name, value]) => [name.toLowerCase(), value])

/** Of the answer to a message over HTTP/2, as a list, which Node does not have to make. END_STREAM ends the body: it needs no length. */
const answerFields: readonly string[] = [
  ...[':status', '200'],
  ...listOf(securityFields),
  ...['content-type', 'application/json; charset=utf-8'],
]

/** Of connections that were lost, which is no error. */
const lostCodes: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECANCELED',
  'ERR_STREAM_PREMATURE_CLOSE',
  // Repeated for each stream of a session ended for a violation.
  'ERR_HTTP2_SESSION_ERROR',
  'ERR_HTTP2_STREAM_CANCEL',
  'ERR_HTTP2_STREAM_ERROR',
  // The listener reports these once per session.
  'ERR_HTTP2_ERROR',
  'ERR_HTTP2_TOO_MANY_INVALID_FRAMES',
])

function mountService(router: Router, { hub, timers, settings, health }: AppParts): void {
  /** Whether the process is alive: one that is not is restarted. */
  router.get('/healthz', (ctx) => {
    ctx.status = hub.isDraining() ? 503 : 200
    ctx.body = { status: hub.isDraining() ? 'draining' : 'ok', windows: hub.windowCount() }
  })
  /** Whether it may take windows. */
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

const placeholder = /(<script type="application\/json" id="settings">)null(<\/script>)/

/** Needed by these views only; written by the build. */
const preload = /<link rel="modulepreload"[^>]* data-views="([^"]*)">\s*/g

function mountPage(
  router: Router,
  { webFolder, settings, origins, hub, documents, timers, budget }: AppParts & Pick<Mounting, 'budget'>,
): void {
  const file = join(webFolder, 'index.html')
  if (!existsSync(file))
    throw new Error(`The web app is not built: ${file} is missing; \`npm run build\` makes it.`)
  const page = readFileSync(file, 'utf8')
  const limit = createRateLimit(pageTokensPerSecond, timers.now)

  /** One snapshot: the stream resumes exactly after the content. */
  async function startFor(channel: string, grant: Grant): Promise<PageStart> {
    const shown = [channel, windChannel, overviewChannel(channel) ?? windChannel]
    const { messages, head } = await hub.snapshot(new Set(shown))
    const mayWrite = refuseWriting(grant, channel) === null
    const cursor = formatCursor(head)
    return { ...settings(), channel, cursor, messages, mayWrite, sessionEndsAt: grant.expiresAt }
  }

  // The static file lacks the settings.
  router.get('/index.html', (ctx) => {
    ctx.status = 301
    ctx.redirect(`/${ctx.search}`)
  })
  router.get('/', async (ctx) => {
    const asked = queryOf(ctx).get('channel')
    if (asked === null) return answer(ctx, firstChannel(grantOf(ctx)) ?? mainChannel)
    const channel = admitChannel(asked)
    const path = documentPath(channel)
    if (!path.startsWith(documentsPath)) return answer(ctx, channel)
    const rest = queryOf(ctx)
    rest.delete('channel')
    ctx.set('Cache-Control', 'no-store')
    ctx.redirect(path + (rest.size > 0 ? `?${rest}` : ''))
  })
  router.get(`${documentsPath}:channel`, (ctx) => answer(ctx, admitChannel(ctx.params.channel ?? '')))

  async function answer(ctx: ParameterizedContext, channel: string): Promise<void> {
    const grant = grantOf(ctx)
    const refusal = refuseReading(grant, [channel])
    if (refusal) throw refusal
    // It would take a browser longer still.
    if (!queryOf(ctx).has('open')) documents.mustBeReadable(channel)
    const connection = connectionOf(ctx.req)
    mustWait('Pages were read faster than the server makes them', limit.take(connection, ''))
    const start = await startFor(channel, grant)
    const characters = start.messages.reduce((sum, { body }) => sum + estimateLength(body), page.length)
    limit.charge(connection, '', characters / bytesPerToken)
    ctx.type = 'html'
    ctx.set({ ...pageHeaders(ctx.hostname, origins.ports()), 'Cache-Control': 'no-store' })
    const view = queryOf(ctx).get('view') ?? ''
    const shown = page.replaceAll(preload, (link, views: string) =>
      views.split(',').includes(view) ? link : '',
    )
    answerParts(ctx, budget, characters, () => partsOf(shown, start))
  }
}

/** Of a connection, by the bytes of its pages: 16 MB a second, and as much at once, or one larger. */
const pageTokensPerSecond = 1000

function* partsOf(page: string, start: PageStart): Generator<string> {
  const [whole = '', open = '', close = ''] = placeholder.exec(page) ?? []
  const place = whole ? page.indexOf(whole) : page.length
  yield page.slice(0, place) + open
  // "<" in a setting or content could close the script element.
  if (whole) for (const piece of jsonPieces(start)) yield piece.replaceAll('<', '\\u003c')
  yield close + page.slice(place + whole.length)
}

/** Excludes the build's compressed variants. */
const assetPath = /^\/assets\/[\w-]+(?:\.[\w-]+)+$/
const isAsset = (path: string) => assetPath.test(path) && !path.endsWith('.br') && !path.endsWith('.gz')

/**
 * Serves hashed, precompressed files. Only they and the wind history are compressed: compression delays streams, and a
 * compressed length leaks the text (BREACH).
 */
function serveAssets(folder: string, ports: () => readonly number[]): Middleware {
  const setHeaders = (response: ServerResponse, path: string) => {
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
    response.setHeader('Accept-Ranges', 'none')
    response.setHeader('ETag', `"${basename(path)}"`)
  }
  const files = (brotli: boolean, gzip: boolean) => serve(folder, { index: false, setHeaders, brotli, gzip })
  const filesIn = { br: files(true, false), gzip: files(false, true), identity: files(false, false) }
  return async (ctx, next) => {
    if (!isAsset(ctx.path)) return next()
    // A worker runs under the policy of its script's response.
    if (ctx.path.endsWith('.js')) ctx.set(workerHeaders(ctx.hostname, ports()))
    ctx.vary('Accept-Encoding')
    await filesIn[encodingFor(ctx.get('Accept-Encoding'))](ctx, next)
    if (ctx.fresh) ctx.status = 304
  }
}

function encodingFor(accepted: string): 'br' | 'gzip' | 'identity' {
  const weights = new Map<string, number>()
  for (const [, coding = '', weight = '1'] of accepted
    .toLowerCase()
    .matchAll(/([\w*-]+)\s*(?:;\s*q\s*=\s*([^\s,;]*))?/g))
    weights.set(coding, Number(weight))
  const weightOf = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0
  // Identity ranks last unless it is named.
  const plain = weights.get('identity') ?? 0
  const [br, gzip] = [weightOf('br'), weightOf('gzip')]
  if (br > 0 && br >= gzip && br >= plain) return 'br'
  return gzip > 0 && gzip >= plain ? 'gzip' : 'identity'
}
