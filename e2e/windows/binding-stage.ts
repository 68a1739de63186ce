// Bundles and serves the page of bound editables.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build } from 'vite'
import type { BrowserName } from '../browser/browser.ts'
import { type EditingPage, openEditingPage } from '../browser/editing.ts'
import type { Door } from './binding-page.ts'

export interface BindingStage extends EditingPage {
  readonly close: () => Promise<void>
  /** Calls a function that the page exposes. */
  readonly call: <Name extends keyof Door>(
    action: Name,
    ...args: Parameters<Door[Name]>
  ) => Promise<Awaited<ReturnType<Door[Name]>>>
}

export async function openBindingStage(name: BrowserName): Promise<BindingStage> {
  const built = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      minify: false,
      lib: { entry: join(import.meta.dirname, 'binding-page.ts'), formats: ['es'] },
      // The page has one script.
      rolldownOptions: { output: { codeSplitting: false } },
    },
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  const [bundle] = Array.isArray(built) ? built : [built]
  const script = bundle && 'output' in bundle ? bundle.output[0].code : ''
  const html =
    '<!doctype html><html><head><meta charset="utf-8"><style>[contenteditable] { white-space: pre-wrap } li { text-align: start }</style></head>' +
    '<body><script>const clock = { now: 1e12 }; Date.now = () => clock.now</script><script type="module" src="/page.js"></script></body></html>'
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? script : request.url === '/' || request.url === '/frame' ? html : '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const page = await openEditingPage(name, `http://127.0.0.1:${port}/`)
  return {
    ...page,
    call: (action, ...args) =>
      page.run(
        (action, args) => {
          const { door } = globalThis as typeof globalThis & {
            door: Record<string, (...args: unknown[]) => unknown>
          }
          return door[action]?.(...args) as never
        },
        action as string,
        args as unknown[],
      ),
    async close() {
      await page.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
