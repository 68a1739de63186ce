// What Crosswind's own page needs of the server beside the transports: routes, documents, reports, assets.

import type Router from '@koa/router'
import { readFigures } from '../scripts/process.ts'
import { createApp } from './app.ts'
import type { Directory } from './document/directory.ts'
import type { Documents } from './document/document-worker.ts'
import type { Health } from './health.ts'
import { healthPath } from './http/requests.ts'
import type { Log } from './log/log.ts'
import { type Monitor, mountMonitor } from './monitor.ts'
import type { PageSettings } from './page/page-messages.ts'
import { pageAdmission } from './page-channels.ts'
import { mountDocuments } from './routes/documents.ts'
import { mountPage } from './routes/page.ts'
import { pageFiles } from './routes/page-files.ts'
import { mountReports } from './routes/reports.ts'
import type { Access } from './security/access.ts'
import { type Grant, refuseReading } from './security/grants.ts'
import { grantOf, mountSession } from './security/middleware.ts'
import { mountWindHistory, type WindRecorder } from './wind-recorder.ts'

type AppParts = Parameters<typeof createApp>[0]

interface PageAppParts extends Pick<AppParts, 'hub' | 'timers' | 'heartbeatMs' | 'limits' | 'origins'> {
  readonly windRecorder: WindRecorder
  readonly directory: Directory
  readonly documents: Documents
  readonly texts: Documents
  readonly log: Log
  readonly monitor: Monitor
  readonly health: Pick<Health, 'whyUnready' | 'mustBeCurrent'>
  readonly access: Access
  readonly settings: () => PageSettings
  /** As for `pageFiles`. */
  readonly webFolder: string | URL
  readonly reportsFolder: string
}

/** Throws if the web app is not built. */
export function createPageApp(parts: PageAppParts) {
  const { windRecorder, access, origins, settings, webFolder, monitor } = parts
  const files = pageFiles(webFolder, origins.ports)
  return createApp({
    ...parts,
    holdMs: settings().polling.holdMs,
    admission: pageAdmission,
    mount(mounting) {
      const { router } = mounting
      mountService(router, parts)
      mountWindHistory(router, windRecorder)
      mountSession(router, access)
      mountDocuments(router, { ...parts, ...mounting, mustBeCurrent: parts.health.mustBeCurrent })
      mountReports(router, parts)
      mountMonitor(router, monitor)
      mountPage(router, { ...parts, ...mounting, files })
    },
    otherwise: files.serve,
  })
}

function mountService(router: Router, { hub, timers, settings, health }: PageAppParts): void {
  /** Whether the process is alive: if not, it should be restarted. */
  router.get(healthPath, (ctx) => {
    ctx.status = hub.isDraining() ? 503 : 200
    ctx.body = { status: hub.isDraining() ? 'draining' : 'ok', windows: hub.windowCount() }
  })
  /** Whether it may accept windows. */
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
