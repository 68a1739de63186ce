// The page on one log: its routes, documents, reports and files, and in one process the sensor.

import { resolve } from 'node:path'
import type Router from '@koa/router'
import { processTimers, readFigures } from '../scripts/process.ts'
import type { Config } from './config/config.ts'
import { Directory } from './document/directory.ts'
import { healthPath } from './http/requests.ts'
import type { Channels } from './library/channels.ts'
import { mountRoutes } from './library/routes.ts'
import { newEpoch } from './log/log.ts'
import { mountMonitor } from './monitor.ts'
import { output } from './output.ts'
import type { PageSettings } from './page/page-messages.ts'
import { mountDocuments } from './routes/documents.ts'
import { mountPage } from './routes/page.ts'
import { pageFiles } from './routes/page-files.ts'
import { mountReports } from './routes/reports.ts'
import { mountSession } from './routes/session.ts'
import type { Access } from './security/access.ts'
import { type Grant, refuseReading } from './security/grants.ts'
import { grantOf, type OriginRules } from './security/middleware.ts'
import { publishReadings, startSource } from './sensor/source.ts'
import type { Application, Serving } from './serving.ts'
import { mountWindHistory, WindRecorder } from './wind-recorder.ts'
import type { ByHttp } from './wire/modes.ts'

const timers = processTimers
const random = Math.random

interface PageParts {
  readonly serving: Serving
  readonly channels: Channels
  readonly config: Config
  readonly root: string
  /** As for `pageFiles`. */
  readonly webFolder: string | URL
  readonly access: Access
  readonly ports: ByHttp<number>
  readonly origins: OriginRules
}

/** Throws if the web app is not built. */
export function startPage(parts: PageParts): Application {
  const { serving, channels, config, root, webFolder, access, ports, origins } = parts
  const { log, hub, health, monitor, limits, documents: threads } = serving
  if (!threads) throw new Error('The page needs documents.')
  const { documents, sent } = threads
  const files = pageFiles(webFolder, origins.ports)
  const directory = new Directory(log)
  const windRecorder = new WindRecorder({
    log,
    timers,
    onFailure: (error) =>
      output.incident('part-failed', 'The last hour of wind could not be read from the log', error),
  })
  const stopLeading = serving.leads ? lead(parts) : async () => undefined

  function settings(): PageSettings {
    const { transport, http, polling, mergeMs, share, sensor } = config
    const { maxMessageBytes, outboxMessages, outboxBytes } = limits
    return {
      transport,
      http,
      ports,
      polling,
      mergeMs,
      share,
      hasSensor: sensor.source !== 'none',
      limits: { maxMessageBytes, outboxMessages, outboxBytes },
    }
  }

  return {
    mount(mounting) {
      const { router, budget, bodies, readingRate } = mounting
      mountService(router, serving, settings)
      mountWindHistory(router, windRecorder)
      mountSession(router, access)
      mountDocuments(router, {
        hub,
        log,
        channels,
        directory,
        documents,
        texts: sent,
        access,
        bodies,
        limits,
        timers,
        mustBeCurrent: health.mustBeCurrent,
      })
      mountReports(router, { reportsFolder: resolve(root, config.reportsFolder) })
      mountMonitor(router, monitor)
      mountRoutes(mounting, serving, channels)
      mountPage(router, { hub, documents, budget, readingRate, origins, settings, files })
    },
    otherwise: files.serve,
    async stop() {
      windRecorder.stop()
      directory.stop()
      await stopLeading()
    },
  }
}

/** Takes the sensor. Returns what stops it. */
function lead({ serving, config, root }: PageParts): () => Promise<void> {
  const { hub, limits } = serving
  const { maxMessageBytes } = limits
  if (maxMessageBytes < config.limits.maxMessageBytes)
    output.say(
      'message-limit-lowered',
      `Messages may have ${maxMessageBytes} bytes: ${config.broker === 'sqs' ? 'SQS accepts no larger ones' : 'NATS accepts no larger ones (max_payload in its configuration)'}.`,
    )
  const source = startSource({
    sensor: config.sensor,
    root,
    timers,
    random,
    publish: publishReadings(hub, newEpoch(random)),
    print: (code, sentence) => output.say(code, sentence),
  })
  return () => source.stop()
}

function mountService(
  router: Router,
  { hub, health }: Pick<Serving, 'hub' | 'health'>,
  settings: () => PageSettings,
): void {
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
  answer('/api/figures', () => readFigures(hub.windowCount()))
  answer('/api/windows', (grant) => ({
    windows: hub.windows().filter(({ channels }) => refuseReading(grant, channels) === null),
  }))
}
