// The page, with its settings and a snapshot from which its stream resumes.

import type Router from '@koa/router'
import type { ParameterizedContext } from 'koa'
import type { Documents } from '../document/document-worker.ts'
import type { Hub } from '../hub/hub.ts'
import { documentPath, documentsPath } from '../page/document-api.ts'
import { mainChannel, type PageSettings, type PageStart, windChannel } from '../page/page-messages.ts'
import { offlinePath } from '../page/page-paths.ts'
import { admitChannel } from '../page-channels.ts'
import { type Grant, refuseReading, refuseWriting } from '../security/grants.ts'
import { grantOf, type OriginRules, pageHeaders } from '../security/middleware.ts'
import { answerParts, jsonPieces, type ReadingRate } from '../transports/answers.ts'
import { connectionOf } from '../transports/bodies.ts'
import type { Budget } from '../transports/budget.ts'
import { queryOf } from '../transports/transport.ts'
import { estimateLength, formatCursor } from '../wire/messages.ts'
import type { PageFiles } from './page-files.ts'

const placeholder = /(<script type="application\/json" id="settings">)null(<\/script>)/

/** Needed only by these views; written by the build. */
const preload = /<link rel="(?:module)?preload"[^>]* data-views="([^"]*)">\s*/g

interface PageParts {
  readonly hub: Hub
  readonly documents: Documents
  readonly budget: Budget
  readonly readingRate: ReadingRate
  readonly origins: OriginRules
  readonly settings: () => PageSettings
  readonly files: Pick<PageFiles, 'page'>
}

export function mountPage(router: Router, parts: PageParts): void {
  const { files, settings, origins, hub, documents, budget, readingRate } = parts

  /** One snapshot: the stream resumes exactly after the content. */
  async function startFor(channel: string, grant: Grant): Promise<PageStart> {
    const { messages, head } = await hub.snapshot(new Set([channel, windChannel]))
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
    if (asked === null) return answer(ctx, firstPage(grantOf(ctx)))
    const channel = admitChannel(asked)
    const path = documentPath(channel)
    if (!path.startsWith(documentsPath)) return answer(ctx, channel)
    const rest = queryOf(ctx)
    rest.delete('channel')
    ctx.set('Cache-Control', 'no-store')
    ctx.redirect(path + (rest.size > 0 ? `?${rest}` : ''))
  })
  // Nothing in it is private: the service worker keeps it.
  router.get(offlinePath, async (ctx) => {
    const { html, sources } = await files.page()
    ctx.type = 'html'
    ctx.set({ ...pageHeaders(ctx.hostname, origins.ports(), sources), 'Cache-Control': 'no-store' })
    ctx.body = html.replaceAll(preload, '')
  })
  router.get(`${documentsPath}:channel`, (ctx) => answer(ctx, admitChannel(ctx.params.channel ?? '')))

  async function answer(ctx: ParameterizedContext, channel: string): Promise<void> {
    const grant = grantOf(ctx)
    const refusal = refuseReading(grant, [channel])
    if (refusal) throw refusal
    // A browser would take even longer.
    if (!queryOf(ctx).has('open')) documents.mustBeReadable(channel)
    const connection = connectionOf(ctx.req)
    readingRate.mustWait(connection, 'Pages were requested faster than the server creates them')
    const [start, { html, sources }] = await Promise.all([startFor(channel, grant), files.page()])
    const characters = start.messages.reduce((sum, { body }) => sum + estimateLength(body), html.length)
    readingRate.charge(connection, characters)
    ctx.type = 'html'
    ctx.set({ ...pageHeaders(ctx.hostname, origins.ports(), sources), 'Cache-Control': 'no-store' })
    const view = queryOf(ctx).get('view') ?? ''
    const shown = html.replaceAll(preload, (link, views: string) =>
      views.split(',').includes(view) ? link : '',
    )
    answerParts(ctx, budget, characters, () => partsOf(shown, start))
  }
}

const firstPage = ({ read, mayReadAll }: Grant) => (mayReadAll ? mainChannel : (read[0] ?? mainChannel))

function* partsOf(page: string, start: PageStart): Generator<string> {
  const [whole = '', open = '', close = ''] = placeholder.exec(page) ?? []
  const place = whole ? page.indexOf(whole) : page.length
  yield page.slice(0, place) + open
  // "<" in a setting or content could close the script element.
  if (whole) for (const piece of jsonPieces(start)) yield piece.replaceAll('<', '\\u003c')
  yield close + page.slice(place + whole.length)
}
