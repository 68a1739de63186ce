// The web app as it was built: its page with the server's settings put in, and its assets, cached for good.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type Router from '@koa/router'
import type { Middleware } from 'koa'
import serve from 'koa-static'
import { pageHeaders } from './security/headers.ts'
import type { PageSettings } from './wire/settings.ts'

const placeholder = /(<script type="application\/json" id="settings">)null(<\/script>)/

/** Serves `/`. Throws at once, naming the folder, when the web app is not there. */
export function mountPage(
  router: Router,
  folder: string,
  settings: () => PageSettings,
  ports: () => readonly number[],
): void {
  const file = join(folder, 'index.html')
  if (!existsSync(file))
    throw new Error(`The web app is not built: ${file} is missing; \`npm run build\` makes it.`)
  const page = readFileSync(file, 'utf8')
  router.get('/', (ctx) => {
    // "<" would let a setting close the script element.
    const json = JSON.stringify(settings()).replaceAll('<', '\\u003c')
    ctx.type = 'html'
    ctx.set({ ...pageHeaders(ctx.hostname, ports()), 'Cache-Control': 'no-cache' })
    ctx.body = page.replace(placeholder, (_whole, open: string, close: string) => `${open}${json}${close}`)
  })
}

/** Files with a hash in their name never change; the rest are asked for again each time. */
export function serveAssets(folder: string): Middleware {
  return serve(folder, {
    index: false,
    setHeaders(response, path) {
      const isHashed = path.includes(`${join(folder, 'assets')}`)
      response.setHeader('Cache-Control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
    },
  })
}
