// The web app as it was built: its page with the server's settings put in, and its assets, cached for good.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type Router from '@koa/router'
import type { Middleware } from 'koa'
import serve from 'koa-static'
import { admitChannel } from './hub/admission.ts'
import type { Hub } from './hub/hub.ts'
import { type Grant, refuseReading, refuseWriting } from './security/grant.ts'
import { pageHeaders, workerHeaders } from './security/headers.ts'
import { answerUninvited, grantOf } from './security/let-in.ts'
import { formatCursor } from './wire/cursor.ts'
import { overviewChannel } from './wire/overview.ts'
import type { PageSettings, PageStart } from './wire/settings.ts'

const placeholder = /(<script type="application\/json" id="settings">)null(<\/script>)/

export interface PageParts {
  readonly folder: string
  readonly settings: () => PageSettings
  readonly ports: () => readonly number[]
  readonly hub: Pick<Hub, 'snapshot'>
}

/** The channel that every page shows besides its own and its overview's. */
const windChannel = 'wind'

/** Serves `/`. Throws at once, naming the folder, when the web app is not there. */
export function mountPage(router: Router, { folder, settings, ports, hub }: PageParts): void {
  const file = join(folder, 'index.html')
  if (!existsSync(file))
    throw new Error(`The web app is not built: ${file} is missing; \`npm run build\` makes it.`)
  const page = readFileSync(file, 'utf8')

  /** Content and cursor in one: what comes after the page was made is what its stream brings. */
  async function startFor(channel: string, grant: Grant): Promise<PageStart> {
    const shown = [channel, windChannel, overviewChannel(channel) ?? windChannel]
    const { messages, head } = await hub.snapshot(new Set(shown))
    const mayWrite = refuseWriting(grant, channel) === null
    return {
      ...settings(),
      channel,
      cursor: formatCursor(head),
      messages,
      mayWrite,
      sessionEndsAt: grant.expiresAt,
    }
  }

  router.get('/', async (ctx) => {
    const grant = grantOf(ctx)
    const channel = admitChannel(ctx.URL.searchParams.get('channel') ?? firstChannel(grant))
    const refusal = refuseReading(grant, [channel])
    if (refusal) return answerUninvited(ctx, refusal)
    const start = await startFor(channel, grant)
    // "<" would let a setting, or somebody's text, close the script element.
    const json = JSON.stringify(start).replaceAll('<', '\\u003c')
    ctx.type = 'html'
    // It holds the content as of now: the next one is to be asked for.
    ctx.set({ ...pageHeaders(ctx.hostname, ports()), 'Cache-Control': 'no-store' })
    ctx.body = page.replace(placeholder, (_whole, open: string, close: string) => `${open}${json}${close}`)
  })
}

/** Where somebody goes who names no page: to what the invitation is for. */
function firstChannel({ channels }: Grant): string {
  const [first] = channels === 'all' ? [] : channels
  return first ?? 'main'
}

/** Files with a hash in their name never change; the rest are asked for again each time. */
export function serveAssets(folder: string, ports: () => readonly number[]): Middleware {
  const files = serve(folder, {
    index: false,
    setHeaders(response, path) {
      const isHashed = path.includes(`${join(folder, 'assets')}`)
      response.setHeader('Cache-Control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
    },
  })
  return (ctx, next) => {
    // A worker's script brings the policy that the worker lives under.
    if (ctx.path.endsWith('.js')) ctx.set(workerHeaders(ctx.hostname, ports()))
    return files(ctx, next)
  }
}
