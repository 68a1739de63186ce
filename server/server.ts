// The page's server, or one of its processes: an application of the engine, with the sensor's source.

import { createHmac } from 'node:crypto'
import { resolve } from 'node:path'
import { processTimers } from '../scripts/process.ts'
import type { Config } from './config/config.ts'
import { DocumentThreads } from './document/document-threads.ts'
import type { Documents } from './document/document-worker.ts'
import { keepToEditor } from './document/document-writes.ts'
import { pageSchema, pageTasks } from './document/page-schema.ts'
import { Engine } from './engine.ts'
import type { ListenerSettings } from './http/listeners.ts'
import { Channels } from './library/channels.ts'
import { workersOf } from './library/options.ts'
import { limitsOf } from './log/open-log.ts'
import { type OutputCode, output } from './output.ts'
import { startPage } from './page-app.ts'
import { pageChannels, pageRights, pageSenders } from './page-channels.ts'
import { isOpenPath } from './routes/session.ts'
import { Access, isOpenTo, loadKey } from './security/access.ts'
import type { HttpVersion, WindowHttp } from './wire/modes.ts'

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
  readonly ports: Ports
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
const onFailure = (code: OutputCode, what: string, error?: unknown) => output.incident(code, what, error)

/**
 * Starts a server, or in one of its workers what serves. Rejects with one sentence if a port is
 * unavailable or the web app is not built.
 */
export async function startServer(parts: ServerParts): Promise<Server> {
  return (await PageServer.start(parts)).serve()
}

class PageServer implements Server {
  readonly ports: Ports
  readonly #parts: ServerParts
  readonly #engine: Engine

  static async start(parts: ServerParts): Promise<PageServer> {
    const { config, root, webFolder, frontPort = null, signal } = parts
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
    const origins = {
      ports: () => Object.values(ports),
      allowedOrigins: config.allowedOrigins,
      allowedHosts: config.allowedHosts,
    }
    let threads: DocumentThreads | null = null
    const documents: Pick<Documents, 'read'> = {
      read(...given) {
        if (!threads) throw new Error('A document was read before there was a log.')
        return threads.documents.read(...given)
      },
    }
    const channels = new Channels({
      rules: pageChannels(keepToEditor(config.editor, documents, timers.now), limitsOf(config)),
      settings: config,
      timers,
      onFailure: (error) => onFailure('stream-failed', 'A type of the page failed', error),
      reserved: pageSenders,
    })
    const engine = await Engine.start({
      settings: config,
      workers: workersOf(config),
      channels,
      openDocuments() {
        threads = new DocumentThreads({ limits: config.limits, schema: pageSchema, tasks: pageTasks })
        return threads
      },
      dataFolder: resolve(root, config.dataFolder),
      roomMaking: 'delete one, which makes room a day later',
      authorize: access.isOpen
        ? 'everyone'
        : ({ headers, token }) => access.permitFor({ cookie: headers.cookie, token }),
      secret: createHmac('sha256', key).update('tickets').digest('base64url'),
      isOpenPath,
      allowedPorts: frontPort === null ? [] : [frontPort],
      holdMs: config.polling.holdMs,
      drainMs: config.drainMs,
      signal,
      onFailure,
      application: (serving) =>
        startPage({ serving, channels, config, root, webFolder, access, ports, origins }),
    })
    return new PageServer(parts, engine, ports)
  }

  private constructor(parts: ServerParts, engine: Engine, ports: Ports) {
    this.#parts = parts
    this.#engine = engine
    this.ports = ports
  }

  get lost(): Promise<string> {
    return this.#engine.lost
  }

  /** Listens on the ports. If that fails, closes everything and rejects with one sentence. */
  async serve(): Promise<this> {
    const { config, tls } = this.#parts
    const opened = await this.#engine.listen({
      host: config.host,
      port: config.port,
      http1Port: config.http1Port,
      cert: tls.cert,
      key: tls.key,
    })
    Object.assign(this.ports, opened)
    return this
  }

  close(): Promise<void> {
    return this.#engine.close(this.#parts.config.drainMs)
  }
}
