// The page, with its settings and a snapshot from which its stream resumes.

import type Router from '@koa/router'
import type { ParameterizedContext } from 'koa'
import { estimateLength, formatCursor } from '../../protocol/messages.ts'
import { isLoopback } from '../../scripts/addresses.ts'
import { type Caller, type Crosswind, jsonPieces, type ReadableLog } from '../../server/index.ts'
import { admitChannel } from '../page-channels.ts'
import { documentPath, documentsPath } from '../shared/document-api.ts'
import { mainChannel, type PageSettings, type PageStart, windChannel } from '../shared/page-messages.ts'
import { offlinePath } from '../shared/page-paths.ts'
import type { PageFiles } from './page-files.ts'
import { pageHeaders } from './page-headers.ts'

const placeholder = /(<script type="application\/json" id="settings">)null(<\/script>)/

/** Needed only by these views; written by the build. */
const preload = /<link rel="(?:module)?preload"[^>]* data-views="([^"]*)">\s*/g

interface PageParts {
  readonly crosswind: Pick<Crosswind, 'caller' | 'answer' | 'mustBeCurrent' | 'documentThreads'>
  /** The one in use. */
  readonly log: () => Pick<ReadableLog, 'snapshot'>
  /** Ports of the page. */
  readonly ports: () => readonly number[]
  readonly settings: () => PageSettings
  /** Where other devices reach the server; null if they cannot. */
  readonly networkOrigin: () => string | null
  readonly files: Pick<PageFiles, 'page'>
}

export function mountPage(
  router: Router,
  { crosswind, log, ports, settings, networkOrigin, files }: PageParts,
): void {
  /** One snapshot: the stream resumes exactly after the content. */
  async function startFor(channel: string, caller: Caller, hostname: string): Promise<PageStart> {
    crosswind.mustBeCurrent()
    const { messages, head } = await log().snapshot(new Set([channel, windChannel]))
    const mayWrite = caller.mayWrite(channel)
    const cursor = formatCursor(head)
    return {
      ...settings(),
      channel,
      cursor,
      messages,
      mayWrite,
      sessionEndsAt: caller.expiresAt,
      networkOrigin: isLoopback(hostname) ? networkOrigin() : null,
    }
  }

  // The static file lacks the settings.
  router.get('/index.html', (ctx) => {
    ctx.status = 301
    ctx.redirect(`/${ctx.search}`)
  })
  router.get('/', async (ctx) => {
    const asked = queryOf(ctx).get('channel')
    if (asked === null) return answer(ctx, firstPage(await crosswind.caller(ctx.req)))
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
    ctx.set({ ...pageHeaders(ctx.hostname, ports(), sources), 'Cache-Control': 'no-store' })
    ctx.body = html.replaceAll(preload, '')
  })
  router.get(`${documentsPath}:channel`, (ctx) => answer(ctx, admitChannel(ctx.params.channel ?? '')))

  async function answer(ctx: ParameterizedContext, channel: string): Promise<void> {
    const caller = await crosswind.caller(ctx.req)
    caller.mustRead(channel)
    // A browser would take even longer.
    if (!queryOf(ctx).has('open')) crosswind.documentThreads().stored.mustBeReadable(channel)
    caller.mustPace('Pages were requested faster than the server creates them')
    const [start, { html, sources }] = await Promise.all([
      startFor(channel, caller, ctx.hostname),
      files.page(),
    ])
    const characters = start.messages.reduce((sum, { body }) => sum + estimateLength(body), html.length)
    ctx.type = 'html'
    ctx.set({ ...pageHeaders(ctx.hostname, ports(), sources), 'Cache-Control': 'no-store' })
    const view = queryOf(ctx).get('view') ?? ''
    const shown = html.replaceAll(preload, (link, views: string) =>
      views.split(',').includes(view) ? link : '',
    )
    crosswind.answer(ctx, characters, () => partsOf(shown, start))
  }
}

const firstPage = ({ read }: Caller) => (read.includes('*') ? mainChannel : (read[0] ?? mainChannel))

const queryOf = ({ querystring }: Pick<ParameterizedContext, 'querystring'>) =>
  new URLSearchParams(querystring)

function* partsOf(page: string, start: PageStart): Generator<string> {
  const [whole = '', open = '', close = ''] = placeholder.exec(page) ?? []
  const place = whole ? page.indexOf(whole) : page.length
  yield page.slice(0, place) + open
  // "<" in a setting or content could close the script element.
  if (whole) for (const piece of jsonPieces(start)) yield piece.replaceAll('<', '\\u003c')
  yield close + page.slice(place + whole.length)
}
