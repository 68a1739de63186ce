// One running server: log, hub, sensor source, application, listeners.

import { resolve } from 'node:path'
import { createApp } from './app.ts'
import type { Config } from './config/config.ts'
import { Directory } from './document/directory.ts'
import { Ledger } from './document/ledger.ts'
import { type ListenerSettings, listen } from './http/listeners.ts'
import { createHub } from './hub/hub.ts'
import { newEpoch, openLog } from './log/log.ts'
import { Monitor } from './monitor.ts'
import { startOverview } from './overview/overview-publisher.ts'
import { endsWithin, incidents, processTimers } from './process.ts'
import { Access, isOpenTo, loadKey } from './security/access.ts'
import type { OriginRules } from './security/middleware.ts'
import { publishReadings, startSource } from './sensor/source.ts'
import { WindRecorder } from './wind-recorder.ts'
import type { PageSettings } from './wire/messages.ts'

interface ServerParts {
  readonly config: Config
  readonly tls: Pick<ListenerSettings, 'cert' | 'key'>
  readonly webFolder: string
  readonly root: string
}

export type Server = Awaited<ReturnType<typeof startServer>>

/** Extra time, ms, for a part to close. */
const graceMs = 400

/** Rejects with one sentence when a port cannot be taken or the web app is not built. */
export async function startServer({ config, tls, webFolder, root }: ServerParts) {
  const { heartbeatMs } = config
  const [timers, random] = [processTimers, Math.random]
  const onFailure = (what: string) => (error: unknown) => incidents.report(what, error)
  const access = new Access({
    isOpen: isOpenTo(config),
    key: await loadKey(config, root),
    sessionMs: config.sessionMinutes * 60_000,
    now: timers.now,
  })
  const ledger = new Ledger({
    documentBytes: config.limits.documentBytes,
    now: timers.now,
    onFailure: onFailure('A shared document was not joined'),
  })
  const {
    log: stored,
    bus,
    mostBytes = Number.POSITIVE_INFINITY,
    isUp = () => true,
  } = await openLog(config, {
    folds: { update: ledger.fold },
    dataFolder: resolve(root, config.dataFolder),
    now: timers.now,
    random,
    onFailure: onFailure('A follower of the log failed'),
  })
  const limits = { ...config.limits, maxMessageBytes: Math.min(config.limits.maxMessageBytes, mostBytes) }
  const { maxMessageBytes, outboxMessages, outboxBytes } = limits
  if (maxMessageBytes < config.limits.maxMessageBytes)
    console.log(
      `  Messages may have ${maxMessageBytes} bytes: NATS takes no larger ones (max_payload in its configuration).`,
    )
  const log = ledger.guard(stored)
  const monitor = new Monitor({ timers, windows: () => hub.windows(), log: logWords(config), isLogUp: isUp })
  const hub = createHub({
    log,
    timers,
    random,
    onFailure: onFailure('A window lost its stream'),
    onJoined: (channels) => overview.joined(channels),
    bus,
    meter: monitor,
    settings: { ...limits, heartbeatMs },
  })
  const overview = startOverview({
    log,
    hub,
    timers,
    run: newEpoch(random),
    maxChannels: limits.maxChannels,
    onFailure: onFailure('An overview was not told'),
  })
  const windRecorder = new WindRecorder({
    log,
    timers,
    onFailure: onFailure('The last hour of wind could not be read from the log'),
  })
  const directory = new Directory(log)
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

  async function open() {
    const parts = {
      hub,
      windRecorder,
      directory,
      log,
      monitor,
      timers,
      access,
      origins,
      settings,
      limits,
      heartbeatMs,
      webFolder,
      reportsFolder: resolve(root, config.reportsFolder),
    }
    return listen(createApp(parts), { ...config, ...limits, ...tls }, origins)
  }
  const listeners = await open().catch(async (error) => {
    // These would keep the process alive or the log's file open.
    overview.stop()
    windRecorder.stop()
    directory.stop()
    await hub.drain(0)
    await log.close()
    throw error
  })
  Object.assign(ports, listeners.ports)
  const source = startSource({
    sensor: config.sensor,
    root,
    publish: publishReadings(hub, newEpoch(random)),
    print: (line) => console.error(line),
    timers,
    random,
  })

  async function closeAll(): Promise<void> {
    const endsAt = timers.now() + config.drainMs
    const leftMs = () => Math.max(0, endsAt - timers.now())
    // A part that hangs or fails must not block the others.
    const end = async (part: string, work: Promise<void>, withinMs = leftMs() + graceMs) => {
      const failed = (error: unknown) => console.error(`While the server stopped, the ${part} failed:`, error)
      const hasEnded = await endsWithin(work.catch(failed), withinMs)
      if (!hasEnded) console.error(`The server stopped without its ${part}, which did not end in time.`)
    }
    const sensor = source.stop()
    overview.stop()
    windRecorder.stop()
    directory.stop()
    monitor.stop()
    // Clients get the first half of the time, their open requests the rest.
    await end('hub', hub.drain(config.drainMs / 2))
    await end('listeners', listeners.close(leftMs()), leftMs() + 2 * graceMs)
    await end('sensor', sensor, graceMs)
    await end('log', log.close(), graceMs)
  }

  let closed: Promise<void> | null = null
  return {
    /** Actual ones; 0 in the settings takes a free one. */
    ports: listeners.ports,
    /** Drains, lets requests end, cuts the rest after `config.drainMs`. Resolves at most 2 s later. Idempotent. */
    close(): Promise<void> {
      closed ??= closeAll()
      return closed
    },
  }
}

function logWords({ broker, storage }: Pick<Config, 'broker' | 'storage'>): string {
  if (broker === 'nats') return 'NATS JetStream'
  return storage === 'sqlite' ? 'SQLite' : 'memory'
}
