// The page, with its settings and a snapshot from which its stream resumes.

import type Router from '@koa/router'
import type { ParameterizedContext } from 'koa'
import { estimateLength, formatCursor, isKind, type Message } from '../../protocol/messages.ts'
import { isLoopback } from '../../scripts/addresses.ts'
import { type Caller, type Crosswind, jsonPieces, type ReadableLog } from '../../server/index.ts'
import type { PageTasks } from '../document/document-tasks.ts'
import type { Readings } from '../document/readings.ts'
import { admitChannel } from '../page-channels.ts'
import { documentPath, documentsPath } from '../shared/document-api.ts'
import { mainChannel, type PageSettings, type PageStart, windChannel } from '../shared/page-messages.ts'
import { offlinePath } from '../shared/page-paths.ts'
import { type ViewName, viewAsked, viewNamed } from '../shared/views.ts'
import { firstView } from './first-view.ts'
import type { PageFiles } from './page-files.ts'
import { pageHeaders } from './page-headers.ts'

// Filled by the server.
const emptyRoot = '<div id="crosswind"></div>'
const emptySettings = '<script type="application/json" id="settings">null</script>'

/** Needed only by these views; written by the build. */
const preload = /<link rel="(?:module)?preload"[^>]* data-views="([^"]*)">\s*/g

/** The page's own script shows the text about as soon. */
const maxWaitMs = 500

interface Opened {
  readonly start: PageStart
  /** The document's messages. */
  readonly own: readonly Message[]
}

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
  readonly readings: () => Readings
}

export function mountPage(
  router: Router,
  { crosswind, log, ports, settings, networkOrigin, files, readings }: PageParts,
): void {
  /** One snapshot: the stream resumes exactly after the content. */
  async function startFor(channel: string, caller: Caller, hostname: string): Promise<Opened> {
    crosswind.mustBeCurrent()
    const { messages, head } = await log().snapshot(new Set([channel, windChannel]))
    const mayWrite = caller.mayWrite(channel)
    const cursor = formatCursor(head)
    const start: PageStart = {
      ...settings(),
      channel,
      cursor,
      messages,
      mayWrite,
      sessionEndsAt: caller.expiresAt,
      networkOrigin: isLoopback(hostname) ? networkOrigin() : null,
    }
    const own = messages.filter((message) => message.channel === channel)
    return { start, own }
  }

  /** Everything that does not depend on the document goes first: the browser loads the page's files meanwhile. */
  async function* partsOf(
    html: string,
    view: ViewName,
    ctx: ParameterizedContext,
    caller: Caller,
    opened: Opened,
  ) {
    const { start, own } = opened
    const { channel } = start
    const [top, rest] = split(html, emptyRoot)
    if (rest !== null) {
      yield top
      const { stored } = crosswind.documentThreads<PageTasks>()
      const [main, ...beside] = viewNamed(view).parts
      const isDocument = main === 'document'
      const reading = isDocument
        ? await readings().ofMessages(channel, own, stored.for(caller.connection), maxWaitMs)
        : null
      const title = own.findLast((message) => isKind(message, 'title'))?.body.title
      const first = firstView({
        title: title || reading?.heading || channel,
        mayWrite: start.mayWrite && !queryOf(ctx).has('read'),
        view,
        lines: isDocument ? (reading?.firstLines ?? '') : null,
        hasWind: start.hasSensor && beside.includes('wind'),
      })
      yield emptyRoot.replace('><', () => `>${first}<`)
    }
    const [middle, end] = split(rest ?? top, emptySettings)
    yield middle
    if (end === null) return
    yield emptySettings.replace('null</script>', '')
    // "<" in a setting or content could close the script element.
    for (const piece of jsonPieces(start)) yield piece.replaceAll('<', '\\u003c')
    yield `</script>${end}`
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
    const [opened, { html, sources }] = await Promise.all([
      startFor(channel, caller, ctx.hostname),
      files.page(),
    ])
    const characters = opened.start.messages.reduce(
      (sum, { body }) => sum + estimateLength(body),
      html.length,
    )
    ctx.type = 'html'
    ctx.set({ ...pageHeaders(ctx.hostname, ports(), sources), 'Cache-Control': 'no-store' })
    const view = viewAsked(ctx.search).name
    const shown = html.replaceAll(preload, (link, views: string) =>
      views.split(',').includes(view) ? link.replace(` data-views="${views}"`, '') : '',
    )
    crosswind.answer(ctx, characters, () => partsOf(shown, view, ctx, caller, opened))
  }
}

const firstPage = ({ read }: Caller) => (read.includes('*') ? mainChannel : (read[0] ?? mainChannel))

const queryOf = ({ querystring }: Pick<ParameterizedContext, 'querystring'>) =>
  new URLSearchParams(querystring)

/** The text before and after the first `part`; all of it and null if there is none. */
function split(text: string, part: string): readonly [before: string, after: string | null] {
  const place = text.indexOf(part)
  return place < 0 ? [text, null] : [text.slice(0, place), text.slice(place + part.length)]
}
