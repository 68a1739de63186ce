// Endpoints for whoever operates the page's server: health, readiness, settings, windows, load.

import type Router from '@koa/router'
import { Refusal } from '../../protocol/refusal.ts'
import { readFigures } from '../../scripts/process.ts'
import type { Caller, Crosswind } from '../../server/index.ts'
import type { PageSettings } from '../shared/page-messages.ts'

interface ServiceParts {
  readonly crosswind: Pick<Crosswind, 'caller' | 'clients' | 'clientCount' | 'ready' | 'monitor' | 'metrics'>
  readonly settings: () => PageSettings
}

export function mountService(router: Router, { crosswind, settings }: ServiceParts): void {
  /** Whether the process is alive: if not, it should be restarted. */
  router.get('/healthz', (ctx) => {
    const { isDraining } = crosswind.ready()
    ctx.status = isDraining ? 503 : 200
    ctx.body = { status: isDraining ? 'draining' : 'ok', windows: crosswind.clientCount() }
  })
  /** Whether it may accept windows. */
  router.get('/readyz', (ctx) => {
    const { isReady, isDraining, reason } = crosswind.ready()
    ctx.status = isReady ? 200 : 503
    ctx.set('Cache-Control', 'no-store')
    if (isReady) ctx.body = { status: 'ok' }
    else ctx.body = isDraining ? { status: 'draining' } : { status: 'log-unavailable', reason }
  })

  const answer = (path: string, body: (caller: Caller, after: number) => unknown) =>
    router.get(path, async (ctx) => {
      const caller = await crosswind.caller(ctx.req)
      ctx.set('Cache-Control', 'no-store')
      ctx.body = await body(caller, Number(ctx.query.after ?? 0) || 0)
    })
  answer('/api/settings', settings)
  answer('/api/figures', () => readFigures(crosswind.clientCount()))
  answer('/api/windows', (caller) => ({
    windows: crosswind.clients().filter(({ channels }) => channels.every((one) => caller.mayRead(one))),
  }))
  answer('/api/monitor', (caller, after) => {
    mustSeeAll(caller)
    return crosswind.monitor({ after })
  })
  router.get('/metrics', async (ctx) => {
    mustSeeAll(await crosswind.caller(ctx.req))
    ctx.set('Cache-Control', 'no-store')
    ctx.type = 'text/plain; version=0.0.4; charset=utf-8'
    ctx.body = await crosswind.metrics()
  })
}

/** The figures cover all pages. Throws a `Refusal` (403 `not-invited-there`). */
function mustSeeAll({ read }: Caller): void {
  if (read.includes('*')) return
  const sentence = 'The figures cover the whole server; ask for an invitation to all of its pages.'
  throw new Refusal('not-invited-there', sentence)
}
