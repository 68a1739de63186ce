// The page, with its settings and a snapshot from which its stream resumes; and its assets.

import { existsSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { basename, join } from 'node:path'
import type Router from '@koa/router'
import type { Middleware, ParameterizedContext } from 'koa'
import serve from 'koa-static'
import type { Documents } from '../document/document-worker.ts'
import { admitChannel } from '../hub/admission.ts'
import type { Hub } from '../hub/hub.ts'
import { bytesPerToken, RateLimit } from '../hub/rate-limit.ts'
import { firstChannel, type Grant, refuseReading, refuseWriting } from '../security/grants.ts'
import { grantOf, type OriginRules, pageHeaders, workerHeaders } from '../security/middleware.ts'
import { answerParts, jsonPieces } from '../transports/answers.ts'
import { connectionOf } from '../transports/bodies.ts'
import type { Budget } from '../transports/budget.ts'
import { queryOf } from '../transports/transport.ts'
import { documentPath, documentsPath } from '../wire/document-api.ts'
import {
  estimateLength,
  formatCursor,
  mainChannel,
  overviewChannel,
  type PageSettings,
  type PageStart,
  windChannel,
} from '../wire/messages.ts'
import type { Timers } from '../wire/time.ts'
import { mustWait } from './documents.ts'

const placeholder = /(<script type="application\/json" id="settings">)null(<\/script>)/

/** Needed only by these views; written by the build. */
const preload = /<link rel="(?:module)?preload"[^>]* data-views="([^"]*)">\s*/g

interface PageParts {
  readonly hub: Hub
  readonly documents: Documents
  readonly timers: Timers
  readonly budget: Budget
  readonly origins: OriginRules
  readonly settings: () => PageSettings
  readonly webFolder: string
}

/** Throws when the web app is not built. */
export function mountPage(router: Router, parts: PageParts): void {
  const { webFolder, settings, origins, hub, documents, timers, budget } = parts
  const file = join(webFolder, 'index.html')
  if (!existsSync(file))
    throw new Error(`The web app is not built: ${file} is missing; \`npm run build\` creates it.`)
  const page = readFileSync(file, 'utf8')
  const limit = new RateLimit(pageTokensPerSecond, timers.now)

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
    // A browser would take even longer.
    if (!queryOf(ctx).has('open')) documents.mustBeReadable(channel)
    const connection = connectionOf(ctx.req)
    mustWait('Pages were requested faster than the server creates them', limit.take(connection))
    const start = await startFor(channel, grant)
    const characters = start.messages.reduce((sum, { body }) => sum + estimateLength(body), page.length)
    limit.charge(connection, characters / bytesPerToken)
    ctx.type = 'html'
    ctx.set({ ...pageHeaders(ctx.hostname, origins.ports()), 'Cache-Control': 'no-store' })
    const view = queryOf(ctx).get('view') ?? ''
    const shown = page.replaceAll(preload, (link, views: string) =>
      views.split(',').includes(view) ? link : '',
    )
    answerParts(ctx, budget, characters, () => partsOf(shown, start))
  }
}

/**
 * Per connection, by the size of its pages: 16 MB a second and as much in a burst, or one larger
 * page.
 */
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
 * Only assets and wind history are compressed: compression delays streams, and the compressed length
 * leaks the text (BREACH).
 */
export function serveAssets(folder: string, ports: () => readonly number[]): Middleware {
  const setHeaders = (response: ServerResponse, path: string) => {
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
    response.setHeader('Accept-Ranges', 'none')
    response.setHeader('ETag', `"${basename(path)}"`)
  }
  const files = (brotli: boolean, gzip: boolean) => serve(folder, { index: false, setHeaders, brotli, gzip })
  const filesIn = { br: files(true, false), gzip: files(false, true), identity: files(false, false) }
  return async (ctx, next) => {
    if (!isAsset(ctx.path)) return next()
    // A worker is subject to the policy in its script's response.
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
