// One running server: log, hub, sensor source, application, listeners; or the part of it that one of several processes has.

import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import type { Duplex } from 'node:stream'
import { createApp } from './app.ts'
import type { Config } from './config/config.ts'
import { Directory } from './document/directory.ts'
import { DocumentWorker } from './document/document-worker.ts'
import { keepForm } from './document/document-writes.ts'
import { Ledger } from './document/ledger.ts'
import { Health } from './health.ts'
import { type ListenerSettings, listen } from './http/listeners.ts'
import { Hub } from './hub/hub.ts'
import { newEpoch, type OpenedLog, type Outage } from './log/log.ts'
import { openLog } from './log/open-log.ts'
import { Monitor } from './monitor.ts'
import { type OutputCode, output } from './output.ts'
import { startOverview } from './overview/overview-publisher.ts'
import { endsWithin, processTimers } from './process.ts'
import { Access, isOpenTo, loadKey } from './security/access.ts'
import type { OriginRules } from './security/middleware.ts'
import { publishReadings, startSource } from './sensor/source.ts'
import { WindRecorder } from './wind-recorder.ts'
import { joinVersions, type PageSettings } from './wire/messages.ts'
import type { HttpVersion } from './wire/modes.ts'
import { hostLog, joinLog } from './workers/shared-log.ts'
import type { Siblings } from './workers/workers.ts'

interface ServerParts {
  readonly config: Config
  readonly tls: Pick<ListenerSettings, 'cert' | 'key'>
  readonly webFolder: string
  readonly root: string
  /** Ends a start that waits for its broker: it then rejects. */
  readonly signal?: AbortSignal | undefined
}

export interface Server {
  /** Actual ones; 0 in the settings takes a free one. */
  readonly ports: Readonly<Record<HttpVersion, number>>
  /** Drains, lets requests end, cuts the rest after `config.drainMs`. Resolves at most 2 s later. Idempotent. */
  readonly close: () => Promise<void>
  /** Resolves to the reason when the log was replaced by another one, and the server did not start anew: it is of no use. */
  readonly lost: Promise<string>
}

type Ports = Server['ports']

/** Extra time, ms, for a part to close. */
const graceMs = 400

/** NATS 2.9 goes on erasing a deleted stream, and loses messages of one that is made at once. */
const renewAfterMs = 1000

const [timers, random] = [processTimers, Math.random]
const onFailure = (code: OutputCode, what: string) => (error: unknown) => output.incident(code, what, error)

/** Rejects with one sentence when a port cannot be taken or the web app is not built. */
export async function startServer(parts: ServerParts): Promise<Server> {
  return renewing(async (signal, ports) => {
    const again = ports ? { ...parts, config: withPorts(parts.config, ports) } : parts
    const threads = threadsOf(again)
    const ending = AbortSignal.any([signal, ...(parts.signal ? [parts.signal] : [])])
    return start(again, threads, await openGuarded(again, threads, ending), { leads: true, serves: true })
  })
}

/** The same server on ports that it has had before. */
export const withPorts = (config: Config, ports: Ports): Config => ({
  ...config,
  ...{ port: ports['2'], http1Port: ports['1.1'] },
})

/** Begins again, on the same ports, whenever the log was replaced: nothing of the former one is left in memory. */
async function renewing(
  begin: (signal: AbortSignal, ports: Ports | null) => Promise<Server>,
): Promise<Server> {
  const closing = new AbortController()
  const { signal } = closing
  let current = await begin(signal, null)
  const { ports } = current
  const lost = Promise.withResolvers<string>()

  async function renew(): Promise<void> {
    output.say(
      'log-replaced',
      `The log is lost: ${await current.lost}. The server starts anew, and its windows come back.`,
    )
    await current.close()
    await new Promise<void>((resolve) => timers.later(resolve, renewAfterMs))
    if (signal.aborted) return
    current = await begin(signal, ports)
    if (signal.aborted) await current.close()
    else await renew()
  }
  renew().catch((error) => {
    if (signal.aborted) return
    onFailure('restart-failed', 'The server did not start anew')(error)
    lost.resolve('it did not start anew')
  })

  return {
    ports,
    lost: lost.promise,
    close() {
      closing.abort()
      return current.close()
    },
  }
}

/** The process with the log, which serves nobody: it has the sensor and publishes overviews. */
export async function startLog(parts: ServerParts, siblings: Siblings) {
  let attach: ReturnType<typeof hostLog>['attach'] | undefined
  const { close, lost } = await renewing(async (signal) => {
    const threads = threadsOf(parts)
    const opened = await openGuarded(parts, threads, signal)
    const host = opened.bus ? null : hostLog(opened.log, opened.mostBytes)
    attach = host?.attach
    const role = { leads: true, serves: false, siblings, onOutage: host?.tellOutage }
    return start(parts, threads, { bus: host?.bus, ...opened }, role)
  })
  return { attach, close, lost }
}

/** A process that serves windows, and has its log from the other end of the stream; null: from the broker. */
export async function startWorker(
  parts: ServerParts,
  link: Duplex | null,
  siblings: Siblings,
): Promise<Server> {
  const threads = threadsOf(parts)
  const opened = link
    ? await joinLog(link, onFailure('log-failed', 'The log failed'))
    : await openGuarded(parts, threads)
  return start(parts, threads, opened, { leads: false, serves: true, siblings })
}

/** One for documents, and one for what clients send: none of it holds up the documents. */
function threadsOf({ config: { limits } }: ServerParts) {
  const onQuarantined = (channel: string, error: Error) =>
    output.incident(
      'document-quarantined',
      `The document "${channel}" is only relayed: to read it ${error.message}`,
    )
  const open = () => new DocumentWorker({ limits, timers, onQuarantined })
  return { documents: open(), sent: open() }
}

/** Updates of shared documents are checked before they are stored. */
async function openGuarded(
  { config, root }: ServerParts,
  { documents, sent }: Threads,
  signal?: AbortSignal,
): Promise<OpenedLog> {
  const ledger = new Ledger({
    documents,
    trials: sent,
    documentBytes: config.limits.documentBytes,
    documentSeconds: config.limits.documentSeconds,
    now: timers.now,
    onFailure: onFailure('document-failed', 'A shared document was not joined'),
  })
  const opened = await openLog(config, {
    folds: { update: ledger.fold, versions: (named) => joinVersions(named.map(({ body }) => body)) },
    dataFolder: resolve(root, config.dataFolder),
    now: timers.now,
    random,
    onFailure: onFailure('log-failed', 'The log failed'),
    onLoss: (sentence) => output.incident('log-lost-messages', sentence),
    print: (sentence) => output.say('log-awaited', sentence),
    ...(signal && { signal }),
    guard: (log) => ledger.guard(keepForm(log, config.editor, documents, timers.now)),
  })
  // It stays when the server starts anew.
  return { ...opened, losses: () => output.incidents()['log-lost-messages'] ?? 0 }
}

type Threads = ReturnType<typeof threadsOf>

interface Role {
  /** Has the sensor, and publishes overviews. */
  readonly leads: boolean
  /** Listens on the ports. */
  readonly serves: boolean
  /** Where there are several processes. */
  readonly siblings?: Siblings
  readonly onOutage?: ((outage: Outage | null) => void) | undefined
}

async function start(
  parts: ServerParts,
  { documents, sent }: Threads,
  { log: opened, bus, mostBytes = Number.POSITIVE_INFINITY, losses, figures, ...fate }: OpenedLog,
  { leads, serves, siblings, onOutage }: Role,
): Promise<Server> {
  const { config, tls, webFolder, root } = parts
  const { outage = () => null, lost = new Promise<string>(() => undefined) } = fate
  const { heartbeatMs } = config
  const access = new Access({
    isOpen: isOpenTo(config),
    key: await loadKey(config, root),
    sessionMs: config.sessionMinutes * 60_000,
    now: timers.now,
  })
  const limits = { ...config.limits, maxMessageBytes: Math.min(config.limits.maxMessageBytes, mostBytes) }
  const { maxMessageBytes, outboxMessages, outboxBytes } = limits
  if (leads && maxMessageBytes < config.limits.maxMessageBytes)
    output.say(
      'message-limit-lowered',
      `Messages may have ${maxMessageBytes} bytes: ${config.broker === 'sqs' ? 'SQS takes no larger ones' : 'NATS takes no larger ones (max_payload in its configuration)'}.`,
    )
  let listeners: Awaited<ReturnType<typeof serve>> | null = null
  const health = new Health({
    timers,
    outage,
    print(code, sentence) {
      if (leads) output.say(code, sentence)
    },
    onChanged: (now) => onOutage?.(now),
    onCutOff(sentence) {
      hub.sendAway(sentence)
      listeners?.shed()
    },
  })
  const log = health.guard(opened)
  const monitor = new Monitor({
    timers,
    windows: () => hub.windows(),
    log: logWords(config),
    health,
    heads: log.heads,
    logFigures: async () => (await figures?.()) ?? {},
    connections: () => listeners?.connections() ?? {},
    threads: [documents, sent],
    losses,
    siblings,
  })
  const hub = new Hub({
    log,
    timers,
    random,
    onFailure: onFailure('stream-failed', 'A window lost its stream'),
    onJoined: (channels) => overview?.joined(channels),
    bus,
    mayLead: leads,
    meter: monitor,
    refusal: () => health.refusal(),
    settings: { ...limits, heartbeatMs },
  })
  const overview = leads
    ? startOverview({
        documents,
        log,
        hub,
        timers,
        run: newEpoch(random),
        maxChannels: limits.maxChannels,
        onFailure: onFailure('overview-failed', 'An overview was not told'),
      })
    : null
  const ports = { '2': config.port, '1.1': config.http1Port }
  const origins: OriginRules = { ports: () => Object.values(ports), allowedOrigins: config.allowedOrigins }
  const settings = (): PageSettings => ({
    transport: config.transport,
    http: config.http,
    ports,
    polling: config.polling,
    editor: config.editor,
    mergeMs: config.mergeMs,
    share: config.share,
    hasSensor: config.sensor.source !== 'none',
    limits: { maxMessageBytes, outboxMessages, outboxBytes },
  })

  async function serve() {
    const windRecorder = new WindRecorder({
      log,
      timers,
      onFailure: onFailure('wind-history-failed', 'The last hour of wind could not be read from the log'),
    })
    const directory = new Directory(log)
    const appParts = {
      documents,
      hub,
      windRecorder,
      directory,
      texts: sent,
      log,
      monitor,
      health,
      timers,
      access,
      origins,
      settings,
      limits,
      heartbeatMs,
      webFolder,
      reportsFolder: resolve(root, config.reportsFolder),
    }
    const stopFollowing = () => {
      windRecorder.stop()
      directory.stop()
    }
    try {
      const sharing = siblings?.sharing ?? null
      const opened = await listen(createApp(appParts), { ...config, ...limits, ...tls, sharing }, origins)
      return { ...opened, stopFollowing }
    } catch (error) {
      // These would keep the process alive or the log's file open.
      stopFollowing()
      overview?.stop()
      health.stop()
      await hub.drain(0)
      await log.close()
      throw error
    }
  }
  listeners = serves ? await serve() : null
  Object.assign(ports, listeners?.ports)
  const source = leads
    ? startSource({
        sensor: config.sensor,
        root,
        publish: publishReadings(hub, newEpoch(random)),
        print: (code, sentence) => output.say(code, sentence),
        timers,
        random,
      })
    : null

  async function closeAll(): Promise<void> {
    const endsAt = timers.now() + config.drainMs
    const leftMs = () => Math.max(0, endsAt - timers.now())
    // A part that hangs or fails must not block the others.
    const end = async (part: string, work: Promise<void>, withinMs = leftMs() + graceMs) => {
      const failed = onFailure('part-not-closed', `While the server stopped, the ${part} failed`)
      const hasEnded = await endsWithin(work.catch(failed), withinMs)
      if (!hasEnded)
        output.say('part-not-closed', `The server stopped without its ${part}, which did not end in time.`)
    }
    const sensor = source?.stop()
    overview?.stop()
    listeners?.stopFollowing()
    monitor.close()
    health.stop()
    // Clients get the first half of the time, their open requests the rest.
    await end('hub', hub.drain(config.drainMs / 2))
    if (listeners) await end('listeners', listeners.close(leftMs()), leftMs() + 2 * graceMs)
    if (sensor) await end('sensor', sensor, graceMs)
    await end('log', log.close(), graceMs)
    await Promise.all([documents.close(), sent.close()])
  }

  let closed: Promise<void> | null = null
  return {
    ports,
    lost,
    close(): Promise<void> {
      closed ??= closeAll()
      return closed
    },
  }
}

/** Processes that serve windows. */
export function workersOf({ workers }: Pick<Config, 'workers'>): number {
  return workers === 'auto' ? availableParallelism() : workers
}

export function logWords({ broker, storage }: Pick<Config, 'broker' | 'storage'>): string {
  if (broker === 'nats') return 'NATS JetStream'
  const own = storage === 'sqlite' ? 'SQLite' : 'memory'
  return broker === 'sqs' ? `SQS, ${own}` : own
}
