// One running server, put together from its parts: log, hub, source, application, listeners.

import { createApp } from './app.ts'
import { createMemoryLog } from './broker/memory.ts'
import type { Config } from './config.ts'
import { createHub } from './hub/hub.ts'
import type { Later } from './hub/presence.ts'
import { type Listeners, listen } from './listeners.ts'
import type { OriginRules } from './security/origins.ts'
import { publishReadings } from './sources/publish.ts'
import { type Sensor, startSource } from './sources/source.ts'
import type { PageSettings } from './wire/settings.ts'

export interface ServerParts {
  readonly config: Config
  /** PEM texts. */
  readonly tls: { readonly cert: string; readonly key: string }
  /** Where the built web app is. */
  readonly webFolder: string
  /** Ms since the epoch, with fractions; steady while the process lives. */
  readonly clock?: () => number
  readonly random?: () => number
}

export interface Server {
  readonly ports: Listeners['ports']
  /** Sends windows away, lets what is under way end, cuts the rest after `config.drainMs`. */
  readonly close: () => Promise<void>
}

const steadyClock = () => performance.timeOrigin + performance.now()

const later: Later = (run, delayMs) => {
  const timer = setTimeout(run, delayMs)
  return () => clearTimeout(timer)
}

/** Rejects with one sentence when a port cannot be taken or the web app is not built. */
export async function startServer({ config, tls, webFolder, ...given }: ServerParts): Promise<Server> {
  const clock = given.clock ?? steadyClock
  const random = given.random ?? Math.random
  const log = createMemoryLog(newEpoch(random), config.limits)
  const hub = createHub({
    log,
    clock,
    later,
    random,
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

  const app = createApp({ hub, clock, origins, settings, webFolder })
  const listeners = await listen(app, { ...config, ...config.limits, ...tls }, origins)
  Object.assign(ports, listeners.ports)
  const source = startSource({ sensor: sensorIn(config), publish: publishReadings(hub), clock, random })

  return {
    ports: listeners.ports,
    async close() {
      await source.stop()
      hub.drain()
      await listeners.close(config.drainMs)
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
