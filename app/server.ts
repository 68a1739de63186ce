// The page's server, or one of its processes: an application of the library, with a sensor.

import { createHmac } from 'node:crypto'
import { resolve } from 'node:path'
import Router from '@koa/router'
import Koa from 'koa'
import type { HttpVersion, WindowHttp } from '../protocol/modes.ts'
import { networkOrigin } from '../scripts/addresses.ts'
import { processTimers } from '../scripts/process.ts'
import {
  type Crosswind,
  createCrosswind,
  type Listening,
  type ReadableLog,
  type SharedStorage,
  type Storage,
} from '../server/index.ts'
import { Access, isOpenTo, loadKey } from './access.ts'
import type { Config } from './config/config.ts'
import { Directory } from './document/directory.ts'
import type { PageTasks } from './document/document-tasks.ts'
import { convertEdits } from './document/document-writes.ts'
import { pageSchema, pageTasks } from './document/page-schema.ts'
import { Readings } from './document/readings.ts'
import { output } from './output.ts'
import { pageChannels, pageRights, pageSenders } from './page-channels.ts'
import { mountDocuments } from './routes/documents.ts'
import { mountPage } from './routes/page.ts'
import { type PageFiles, pageFiles } from './routes/page-files.ts'
import { showRefusal } from './routes/refusal-page.ts'
import { mountReports } from './routes/reports.ts'
import { mountService } from './routes/service.ts'
import { isOpenPath, mountSession } from './routes/session.ts'
import type { PageSettings } from './shared/page-messages.ts'
import { mountWindHistory, WindRecorder } from './wind-recorder.ts'
import { publishReadings, startSource } from './wind-source.ts'

interface ServerParts {
  readonly config: Config
  readonly tls: Pick<Listening, 'cert' | 'key'>
  /** Folder of the built page; during development the address of Vite's server. */
  readonly webFolder: string | URL
  readonly root: string
  /** Port of a front on the same hosts, which serves HTTP/3. */
  readonly frontPort?: number | null
  /** Where messages are stored, instead of where the settings say. */
  readonly sharedStorage?: SharedStorage | undefined
  /** Ends a start that waits for its broker: it then rejects. */
  readonly signal?: AbortSignal | undefined
}

export interface Server {
  /** The actual ports; 0 in the settings selects a free one. */
  readonly ports: Ports
  /** Such as `SQLite` or `NATS JetStream`. */
  readonly log: string
  /** Number of processes that serve windows. */
  readonly workers: number
  /**
   * Drains, lets requests end, cuts the rest after `config.drainMs`. Resolves at most 2 s later.
   * Idempotent.
   */
  readonly close: () => Promise<void>
  /**
   * Resolves to the reason when another log has replaced this one and the server did not restart:
   * it is unusable.
   */
  readonly lost: Promise<string>
}

type Ports = Record<HttpVersion, number> & Partial<Record<WindowHttp, number>>

const timers = processTimers

/**
 * Starts a server or, in a worker, its serving part. Rejects with one sentence if a port is
 * unavailable or the web app is not built.
 */
export async function startServer(parts: ServerParts): Promise<Server> {
  const { config, tls, root, webFolder, frontPort = null, sharedStorage, signal } = parts
  const ports: Ports = { '2': config.port, '1.1': config.http1Port }
  if (frontPort !== null) ports['3'] = frontPort
  const key = await loadKey(config, root)
  const access = new Access({
    isOpen: isOpenTo(config),
    key,
    rightsOf: pageRights,
    sessionMs: config.sessionMinutes * 60_000,
    now: timers.now,
    clock: () => Date.now(),
  })
  const files = pageFiles(webFolder, () => Object.values(ports))
  const crosswind = await createCrosswind({
    path: '/api',
    channels: pageChannels(
      convertEdits(
        { read: (...given) => crosswind.documentThreads<PageTasks>().stored.read(...given) },
        timers.now,
      ),
      mostKept(config),
    ),
    documents: { schema: pageSchema, tasks: pageTasks },
    reservedNames: pageSenders,
    authorize: access.isOpen
      ? 'everyone'
      : ({ headers, token }) => access.permitFor({ cookie: headers.cookie, token }),
    secret: createHmac('sha256', key).update('tickets').digest('base64url'),
    storage: sharedStorage ?? storageOf(config, root),
    workers: config.workers,
    limits: config.limits,
    heartbeatMs: config.heartbeatMs,
    holdMs: config.polling.holdMs,
    drainMs: config.drainMs,
    allowedOrigins: config.allowedOrigins,
    allowedHosts: config.allowedHosts,
    allowedPorts: frontPort === null ? [] : [frontPort],
    roomMaking: 'delete one, which makes room a day later',
    showRefusal,
    signal,
  })
  const page = createPage({ crosswind, config, root, files, access, ports })
  const { host, port, http1Port } = config
  const place = { host, port, http1Port, cert: tls.cert, key: tls.key }
  Object.assign(ports, await crosswind.listen(place, page.callback()))
  return {
    ports,
    log: crosswind.storage,
    workers: crosswind.workers,
    lost: crosswind.lost,
    close: () => crosswind.close(),
  }
}

/** Retention of any log, on a disk or in memory. */
function mostKept({ limits }: Config): Parameters<typeof pageChannels>[1] {
  const { logMessages, memoryMessages, logBytes, memoryBytes, logHours } = limits
  return {
    messages: Math.min(logMessages, memoryMessages),
    bytes: Math.min(logBytes, memoryBytes),
    ageMs: logHours * 3_600_000,
  }
}

/** Where the settings say that messages are stored. */
function storageOf(config: Config, root: string): Storage {
  const { broker, storage, durability, nats, sqs } = config
  const folder = resolve(root, config.dataFolder)
  if (broker === 'nats') {
    const { servers, stream, replicas, credentialsFile } = nats
    return { kind: 'nats', servers, stream, replicas, ...(credentialsFile !== null && { credentialsFile }) }
  }
  const file = storage === 'sqlite' && { folder, durability }
  if (broker === 'sqs') {
    const { endpoint, ...queue } = sqs
    return { kind: 'sqs', ...queue, ...file, ...(endpoint !== null && { endpoint }) }
  }
  return file ? { kind: 'sqlite', ...file } : 'memory'
}

interface PageParts {
  readonly crosswind: Crosswind
  readonly config: Config
  readonly root: string
  readonly files: PageFiles
  readonly access: Access
  readonly ports: Ports
}

/** A log as the page uses it. */
interface PageLog {
  readonly log: ReadableLog
  readonly directory: Directory
  readonly readings: Readings
  readonly wind: WindRecorder
}

/** The page's own routes: all but Crosswind's endpoints. */
function createPage({ crosswind, config, root, files, access, ports }: PageParts): Koa {
  const onLog = followLog(crosswind, config, root)
  const log = () => onLog().log

  function settings(): PageSettings {
    const { transport, http, polling, mergeMs, share, sensor } = config
    const { maxMessageBytes, outboxMessages, outboxBytes } = crosswind.limits
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

  const app = new Koa()
  const router = new Router()
  crosswind.guard(app, { isOpen: isOpenPath })
  mountService(router, { crosswind, settings })
  mountWindHistory(router, () => onLog().wind)
  mountSession(router, access)
  mountDocuments(router, { crosswind, onLog, timers, access })
  mountReports(router, { crosswind, reportsFolder: resolve(root, config.reportsFolder) })
  mountPage(router, {
    crosswind,
    log,
    ports: () => Object.values(ports),
    settings,
    networkOrigin: () => networkOrigin(config.host, ports[config.http] ?? ports['2']),
    files,
    readings: () => onLog().readings,
  })
  app.use(router.routes()).use(router.allowedMethods()).use(files.serve)
  return app
}

/** Follows the log in use for the list of documents and the last hour of wind, and feeds it in one process. */
function followLog(crosswind: Crosswind, config: Config, root: string): () => PageLog {
  let current: PageLog | null = null
  crosswind.onLog((log) => {
    const directory = new Directory(log)
    const wind = new WindRecorder({
      log,
      timers,
      onFailure: (error) => output.incident('part-failed', 'Past wind could not be read from the log', error),
    })
    const source = crosswind.isWorker ? null : takeSensor(crosswind, config, root)
    current = { log, directory, readings: new Readings(log, timers), wind }
    return async () => {
      wind.stop()
      directory.stop()
      await source?.stop()
    }
  })
  return () => {
    if (!current) throw new Error('There is no log yet.')
    return current
  }
}

function takeSensor(crosswind: Crosswind, config: Config, root: string) {
  return startSource({
    sensor: config.sensor,
    root,
    timers,
    random: Math.random,
    publish: publishReadings(crosswind),
    print: (code, sentence) => output.say(code, sentence),
  })
}
