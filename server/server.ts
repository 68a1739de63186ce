// A running server, or one of its processes: log, hub, sensor source, application, listeners.

import type { KeyObject } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import type { Duplex } from 'node:stream'
import { endsWithin, processTimers } from '../scripts/process.ts'
import type { Config } from './config/config.ts'
import { Directory } from './document/directory.ts'
import { closeThreads, type DocumentThreads, openLedger, openThreads } from './document/document-threads.ts'
import { keepToEditor } from './document/document-writes.ts'
import { pageSchema, pageTasks } from './document/page-schema.ts'
import { Health } from './health.ts'
import { type ListenerSettings, listen } from './http/listeners.ts'
import { Hub } from './hub/hub.ts'
import { type Log, newEpoch, type OpenedLog, type Outage } from './log/log.ts'
import { openLog } from './log/open-log.ts'
import { Monitor } from './monitor.ts'
import { type OutputCode, output } from './output.ts'
import type { PageSettings } from './page/page-messages.ts'
import { createPageApp } from './page-app.ts'
import { pageGrantRules, pageTypeOf, pageTypes } from './page-channels.ts'
import { renewing } from './renewing.ts'
import { Access, isOpenTo, loadKey } from './security/access.ts'
import type { OriginRules } from './security/middleware.ts'
import { publishReadings, startSource } from './sensor/source.ts'
import { WindRecorder } from './wind-recorder.ts'
import type { ByHttp, HttpVersion, WindowHttp } from './wire/modes.ts'
import { hostLog, joinLog } from './workers/shared-log.ts'
import type { Siblings } from './workers/workers.ts'

interface ServerParts {
  readonly config: Config
  readonly tls: Pick<ListenerSettings, 'cert' | 'key'>
  /** Of the built page; during development the address of Vite's server. */
  readonly webFolder: string | URL
  readonly root: string
  /** Of a front on the same hosts, which serves HTTP/3. */
  readonly frontPort?: number | null
  /** Ends a start that waits for its broker: it then rejects. */
  readonly signal?: AbortSignal | undefined
}

export interface Server {
  /** The actual ports; 0 in the settings selects a free one. */
  readonly ports: ByHttp<number>
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

type Ports = Server['ports']

/** Extra time, ms, for a part to close. */
const graceMs = 400

const timers = processTimers
const random = Math.random
const onFailure = (code: OutputCode, what: string) => (error: unknown) => output.incident(code, what, error)

/**
 * Starts a single process that does everything. Rejects with one sentence if a port is unavailable
 * or the web app is not built.
 */
export async function startServer(parts: ServerParts): Promise<Server> {
  const { current, lost, close } = await renewing<Server>(async (signal, former) => {
    const again = former ? { ...parts, config: withPorts(parts.config, former.ports) } : parts
    const threads = threadsOf(again)
    const ending = AbortSignal.any([signal, ...(parts.signal ? [parts.signal] : [])])
    const log = await openGuarded(again, threads, ending)
    const server = await ServerProcess.create(again, { threads, log, leads: true })
    return server.lead().serve()
  })
  return { ports: current().ports, lost, close }
}

/** Starts the process with the log and the sensor, which serves no windows. */
export async function startLog(parts: ServerParts, siblings: Siblings) {
  let attach: ReturnType<typeof hostLog>['attach'] | undefined
  const { close, lost } = await renewing<Server>(async (signal) => {
    const threads = threadsOf(parts)
    const opened = await openGuarded(parts, threads, signal)
    const host = opened.bus ? null : hostLog(opened.log, opened.mostBytes)
    attach = host?.attach
    const log = { bus: host?.bus, ...opened }
    const server = await ServerProcess.create(parts, {
      threads,
      log,
      siblings,
      leads: true,
      onOutage: host?.tellOutage,
    })
    return server.lead()
  })
  return { attach, close, lost }
}

/**
 * Starts a process that serves windows. `link` leads to its log; null if the log is on the broker.
 */
export async function startWorker(
  parts: ServerParts,
  link: Duplex | null,
  siblings: Siblings,
): Promise<Server> {
  const threads = threadsOf(parts)
  const log = link
    ? await joinLog(link, onFailure('log-failed', 'The log failed'))
    : await openGuarded(parts, threads)
  const server = await ServerProcess.create(parts, { threads, log, siblings, leads: false })
  return server.serve()
}

/** Selects the ports that a server has had before. */
export const withPorts = (config: Config, ports: Ports): Config => ({
  ...config,
  port: ports['2'],
  http1Port: ports['1.1'],
})

const threadsOf = ({ config }: ServerParts) => openThreads(config.limits, pageTasks)

/** Updates of shared documents are checked before they are stored. */
async function openGuarded(
  { config, root }: ServerParts,
  threads: DocumentThreads,
  signal?: AbortSignal,
): Promise<OpenedLog> {
  const ledger = openLedger(threads, config.limits, { schema: pageSchema })
  const opened = await openLog(config, {
    typeOf: pageTypes({
      foldUpdates: ledger.fold,
      gate: ledger,
      editing: keepToEditor(config.editor, threads.documents, timers.now),
    }),
    onOpened: (log) => ledger.open(log),
    roomMaking: 'delete one, which makes room a day later',
    dataFolder: resolve(root, config.dataFolder),
    now: timers.now,
    random,
    onFailure: onFailure('log-failed', 'The log failed'),
    onLoss: (sentence) => output.incident('log-lost-messages', sentence),
    print: (sentence) => output.say('log-awaited', sentence),
    ...(signal && { signal }),
  })
  // The count continues when the server restarts.
  return { ...opened, losses: () => output.incidents()['log-lost-messages'] ?? 0 }
}

interface Opened {
  readonly threads: DocumentThreads
  readonly log: OpenedLog
  /** Absent if there is only one process. */
  readonly siblings?: Siblings
  /** Whether it has the sensor. */
  readonly leads: boolean
  readonly onOutage?: ((outage: Outage | null) => void) | undefined
}

/**
 * The part common to all processes of a server: log, hub, health and figures. It leads, serves
 * windows, or both.
 */
class ServerProcess implements Server {
  readonly ports: Record<HttpVersion, number> & Partial<Record<WindowHttp, number>>
  readonly lost: Promise<string>
  readonly #parts: ServerParts
  readonly #opened: Opened
  readonly #log: Log
  readonly #hub: Hub
  readonly #health: Health
  readonly #monitor: Monitor
  readonly #access: Access
  readonly #limits: Config['limits']
  #listeners: Awaited<ReturnType<typeof listen>> | null = null
  /** Called before the hub drains. */
  readonly #stops: (() => void)[] = []
  #source: ReturnType<typeof startSource> | null = null
  #closed: Promise<void> | null = null

  static async create(parts: ServerParts, opened: Opened): Promise<ServerProcess> {
    return new ServerProcess(parts, opened, await loadKey(parts.config, parts.root))
  }

  private constructor(parts: ServerParts, opened: Opened, key: KeyObject) {
    const { config, frontPort = null } = parts
    const { siblings, leads, onOutage, threads } = opened
    const {
      outage = () => null,
      lost = new Promise<string>(() => undefined),
      mostBytes,
      figures,
    } = opened.log
    this.#parts = parts
    this.#opened = opened
    this.ports = { '2': config.port, '1.1': config.http1Port, ...(frontPort !== null && { '3': frontPort }) }
    this.lost = lost
    this.#access = new Access({
      isOpen: isOpenTo(config),
      key,
      rules: pageGrantRules,
      sessionMs: config.sessionMinutes * 60_000,
      now: timers.now,
      clock: () => Date.now(),
    })
    const maxMessageBytes = Math.min(config.limits.maxMessageBytes, mostBytes ?? Number.POSITIVE_INFINITY)
    this.#limits = { ...config.limits, maxMessageBytes }
    this.#health = new Health({
      timers,
      outage,
      onChanged: onOutage,
      print(code, sentence) {
        if (leads) output.say(code, sentence)
      },
      onCutOff: (sentence) => {
        this.#hub.sendAway(sentence)
        this.#listeners?.shed()
      },
    })
    this.#log = opened.log.log
    this.#monitor = new Monitor({
      timers,
      siblings,
      health: this.#health,
      losses: opened.log.losses,
      log: logWords(config),
      heads: this.#log.heads,
      threads: Object.values(threads),
      windows: () => this.#hub.windows(),
      logFigures: async () => (await figures?.()) ?? {},
      connections: () => this.#listeners?.connections() ?? {},
    })
    this.#hub = new Hub({
      log: this.#log,
      typeOf: pageTypeOf,
      bus: opened.log.bus,
      timers,
      random,
      meter: this.#monitor,
      onFailure: onFailure('stream-failed', 'A window lost its stream'),
      refusal: () => this.#health.refusal(),
      settings: { ...this.#limits, heartbeatMs: config.heartbeatMs },
    })
  }

  /** Takes the sensor. */
  lead(): this {
    const { config, root } = this.#parts
    const { maxMessageBytes } = this.#limits
    if (maxMessageBytes < config.limits.maxMessageBytes)
      output.say(
        'message-limit-lowered',
        `Messages may have ${maxMessageBytes} bytes: ${config.broker === 'sqs' ? 'SQS accepts no larger ones' : 'NATS accepts no larger ones (max_payload in its configuration)'}.`,
      )
    this.#source = startSource({
      sensor: config.sensor,
      root,
      timers,
      random,
      publish: publishReadings(this.#hub, newEpoch(random)),
      print: (code, sentence) => output.say(code, sentence),
    })
    return this
  }

  /** Listens on the ports. If that fails, closes everything and rejects with one sentence. */
  async serve(): Promise<this> {
    const { config, tls, webFolder, root } = this.#parts
    const { documents, sent } = this.#opened.threads
    const windRecorder = new WindRecorder({
      log: this.#log,
      timers,
      onFailure: onFailure('part-failed', 'The last hour of wind could not be read from the log'),
    })
    const directory = new Directory(this.#log)
    this.#stops.push(
      () => windRecorder.stop(),
      () => directory.stop(),
    )
    const { ports } = this
    const { allowedOrigins, allowedHosts } = config
    const origins: OriginRules = { ports: () => Object.values(ports), allowedOrigins, allowedHosts }
    const app = () =>
      createPageApp({
        windRecorder,
        directory,
        documents,
        texts: sent,
        timers,
        origins,
        webFolder,
        hub: this.#hub,
        log: this.#log,
        monitor: this.#monitor,
        health: this.#health,
        access: this.#access,
        limits: this.#limits,
        heartbeatMs: config.heartbeatMs,
        settings: () => this.#settings(),
        reportsFolder: resolve(root, config.reportsFolder),
      })
    const sharing = this.#opened.siblings?.sharing ?? null
    try {
      this.#listeners = await listen(app(), { ...config, ...this.#limits, ...tls, sharing }, origins)
    } catch (error) {
      // Otherwise the parts would keep the process alive or the log's file open.
      await this.#closeWithin(0)
      throw error
    }
    Object.assign(ports, this.#listeners.ports)
    return this
  }

  close(): Promise<void> {
    this.#closed ??= this.#closeWithin(this.#parts.config.drainMs)
    return this.#closed
  }

  #settings(): PageSettings {
    const { transport, http, polling, editor, mergeMs, share, sensor } = this.#parts.config
    const { maxMessageBytes, outboxMessages, outboxBytes } = this.#limits
    return {
      transport,
      http,
      ports: this.ports,
      polling,
      editor,
      mergeMs,
      share,
      hasSensor: sensor.source !== 'none',
      limits: { maxMessageBytes, outboxMessages, outboxBytes },
    }
  }

  async #closeWithin(drainMs: number): Promise<void> {
    const endsAt = timers.now() + drainMs
    const leftMs = () => Math.max(0, endsAt - timers.now())
    // A part that hangs or fails must not block the others.
    const end = async (part: string, work: Promise<void>, withinMs = leftMs() + graceMs) => {
      const failed = onFailure('part-not-closed', `While the server stopped, the ${part} failed`)
      const hasEnded = await endsWithin(work.catch(failed), withinMs)
      if (!hasEnded)
        output.say('part-not-closed', `The server stopped without its ${part}, which did not end in time.`)
    }
    const sensor = this.#source?.stop()
    for (const stop of this.#stops) stop()
    this.#monitor.close()
    this.#health.stop()
    // Clients get the first half of the time, their open requests the rest.
    await end('hub', this.#hub.drain(drainMs / 2))
    const listeners = this.#listeners
    if (listeners) await end('listeners', listeners.close(leftMs()), leftMs() + 2 * graceMs)
    if (sensor) await end('sensor', sensor, graceMs)
    await end('log', this.#log.close(), graceMs)
    await closeThreads(this.#opened.threads)
  }
}

/** Number of processes that serve windows. */
export function workersOf({ workers }: Pick<Config, 'workers'>): number {
  return workers === 'auto' ? availableParallelism() : workers
}

export function logWords({ broker, storage }: Pick<Config, 'broker' | 'storage'>): string {
  if (broker === 'nats') return 'NATS JetStream'
  const own = storage === 'sqlite' ? 'SQLite' : 'memory'
  return broker === 'sqs' ? `SQS, ${own}` : own
}
