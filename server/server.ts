// One running server, put together from its parts: log, hub, source, application, listeners.

import { resolve } from 'node:path'
import { createApp } from './app.ts'
import { newEpoch } from './broker/epoch.ts'
import type { Config } from './config/config.ts'
import { createHub } from './hub/hub.ts'
import { type Listeners, listen } from './listeners.ts'
import { openLog } from './open-log.ts'
import { startOverview } from './overview/overview.ts'
import { createAccess } from './security/access.ts'
import { loadKey } from './security/key.ts'
import { isOpenTo } from './security/openness.ts'
import type { OriginRules } from './security/origins.ts'
import { publishReadings } from './sources/publish.ts'
import { sensorIn } from './sources/sensor.ts'
import { startSource } from './sources/source.ts'
import { processTimers } from './timers.ts'
import { startAnemograph } from './wind-history/running-anemograph.ts'
import type { Random } from './wire/random.ts'
import type { PageSettings } from './wire/settings.ts'
import type { Timers } from './wire/time.ts'

export interface ServerParts {
  readonly config: Config
  /** PEM texts. */
  readonly tls: { readonly cert: string; readonly key: string }
  /** Where the built web app is. */
  readonly webFolder: string
  /** What paths in the configuration are relative to. */
  readonly root: string
  readonly timers?: Timers
  readonly random?: Random
}

export interface Server {
  readonly ports: Listeners['ports']
  /** Sends windows away, lets what is under way end, cuts the rest after `config.drainMs`. Again is the same. */
  readonly close: () => Promise<void>
}

/** Rejects with one sentence when a port cannot be taken or the web app is not built. */
export async function startServer({
  config,
  tls,
  webFolder,
  root,
  timers = processTimers,
  random = Math.random,
}: ServerParts): Promise<Server> {
  const dataFolder = resolve(root, config.dataFolder)
  const access = createAccess({
    isOpen: isOpenTo(config),
    key: await loadKey(config, root),
    sessionMs: config.sessionMinutes * 60_000,
    now: timers.now,
  })
  const log = openLog(config, { dataFolder, now: timers.now, random })
  const hub = createHub({
    log,
    timers,
    random,
    onFailure: (error) => console.error('A window lost its stream:', error),
    onJoined: (channels) => overview.joined(channels),
    settings: { ...config.limits, heartbeatMs: config.heartbeatMs },
  })
  const overview = startOverview({
    log,
    hub,
    timers,
    run: newEpoch(random),
    maxChannels: config.limits.maxChannels,
    onFailure: (error) => console.error('An overview was not told:', error),
  })
  const anemograph = startAnemograph({
    log,
    timers,
    onFailure: (error) => console.error('The last hour of wind could not be read from the log:', error),
  })
  const ports = { '2': config.port, '1.1': config.http1Port }
  const origins: OriginRules = { ports: () => Object.values(ports), allowedOrigins: config.allowedOrigins }
  const settings = (): PageSettings => ({
    transport: config.transport,
    http: config.http,
    ports,
    polling: config.polling,
    share: config.share,
    limits: {
      maxMessageBytes: config.limits.maxMessageBytes,
      outboxMessages: config.limits.outboxMessages,
      outboxBytes: config.limits.outboxBytes,
    },
  })

  const { limits, heartbeatMs } = config
  const openListeners = async () => {
    const parts = { hub, anemograph, timers, access, origins, settings, limits, heartbeatMs, webFolder }
    const app = createApp(parts)
    return listen(app, { ...config, ...config.limits, ...tls }, origins, timers)
  }
  const listeners = await openListeners().catch(async (error) => {
    // Nothing may be left that keeps the process, or the log's file.
    overview.stop()
    anemograph.stop()
    await hub.drain(0)
    await log.close()
    throw error
  })
  Object.assign(ports, listeners.ports)
  const source = startSource({
    sensor: sensorIn(config, root),
    publish: publishReadings(hub, newEpoch(random)),
    timers,
    random,
  })

  async function closeAll(): Promise<void> {
    await source.stop()
    overview.stop()
    anemograph.stop()
    const startedAt = timers.now()
    // Windows go in the first half; what they had under way has the rest.
    await hub.drain(config.drainMs / 2)
    await listeners.close(Math.max(0, config.drainMs - (timers.now() - startedAt)))
    await log.close()
  }

  let closed: Promise<void> | null = null
  return {
    ports: listeners.ports,
    close() {
      closed ??= closeAll()
      return closed
    },
  }
}
