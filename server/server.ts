// One running server, put together from its parts: log, hub, source, application, listeners.

import { createApp } from './app.ts'
import { createMemoryLog } from './broker/memory.ts'
import type { Config } from './config/config.ts'
import { createHub } from './hub/hub.ts'
import { type Listeners, listen } from './listeners.ts'
import type { OriginRules } from './security/origins.ts'
import { publishReadings } from './sources/publish.ts'
import { type Sensor, startSource } from './sources/source.ts'
import { processTimers } from './timers.ts'
import type { Random } from './wire/random.ts'
import type { PageSettings } from './wire/settings.ts'
import type { Timers } from './wire/time.ts'

export interface ServerParts {
  readonly config: Config
  /** PEM texts. */
  readonly tls: { readonly cert: string; readonly key: string }
  /** Where the built web app is. */
  readonly webFolder: string
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
  timers = processTimers,
  random = Math.random,
}: ServerParts): Promise<Server> {
  const log = createMemoryLog(newEpoch(random), config.limits)
  const hub = createHub({
    log,
    timers,
    random,
    onFailure: (error) => console.error('A window lost its stream:', error),
    settings: { ...config.limits, heartbeatMs: config.heartbeatMs },
  })
  const ports = { '2': config.port, '1.1': config.http1Port }
  const origins: OriginRules = { ports: () => Object.values(ports), allowedOrigins: config.allowedOrigins }
  const settings = (): PageSettings => ({
    transport: config.transport,
    http: config.http,
    ports,
    limits: { maxMessageBytes: config.limits.maxMessageBytes },
  })

  const app = createApp({ hub, clock: timers.now, origins, settings, webFolder })
  const listeners = await listen(app, { ...config, ...config.limits, ...tls }, origins)
  Object.assign(ports, listeners.ports)
  const source = startSource({ sensor: sensorIn(config), publish: publishReadings(hub), timers, random })

  async function closeAll(): Promise<void> {
    await source.stop()
    hub.drain()
    await listeners.close(config.drainMs)
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

function newEpoch(random: () => number): string {
  return Math.floor(random() * 36 ** 8)
    .toString(36)
    .padStart(8, '0')
}

function sensorIn({ sensor }: Config): Sensor {
  const { source, path, baudRate, rateHz } = sensor
  if (source === 'serial') return { source, path: path ?? '', baudRate }
  return source === 'simulated' ? { source, rateHz } : { source }
}
