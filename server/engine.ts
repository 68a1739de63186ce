// A server of channels, on its own ports or an application's server; restarts on a new log.

import cluster from 'node:cluster'
import type { Duplex } from 'node:stream'
import { openFilesAllowed, processTimers } from '../scripts/process.ts'
import { type AnyServer, attach, type EndpointHandlers, type ServerHandlers } from './http/attach.ts'
import { type Connections, GuestConnections } from './http/connections.ts'
import { type ListenerSettings, listen, type Ports } from './http/listeners.ts'
import { fittingConnections, maxSockets } from './http/open-files.ts'
import type { OpenedLog } from './log/log.ts'
import { output } from './output.ts'
import type { OriginRules } from './security/middleware.ts'
import { describeLog, endPart, type HostedLog, type LogHook, Serving, type ServingParts } from './serving.ts'
import { hostLog, joinLog } from './workers/shared-log.ts'
import {
  type HostedSiblings,
  hostSiblings,
  isWorker,
  joinSiblings,
  openLink,
  portsOpened,
  type Siblings,
  startWorkers,
  tellPrimary,
  whenStopped,
} from './workers/workers.ts'

/** Parts of a serving that the engine itself provides. */
type OfEngine =
  | 'connections'
  | 'countConnections'
  | 'onCutOff'
  | 'siblings'
  | 'leads'
  | 'joinLog'
  | 'hostLog'
  | 'origins'

export interface EngineParts extends Omit<ServingParts, OfEngine> {
  /** Where its endpoints are, such as `/realtime`. */
  readonly path: string
  /** Processes that serve; several need one more, which has the log and forks them. */
  readonly workers: number
  /** Time to drain before another log replaces the one in use, and in a worker that is signalled. */
  readonly drainMs: number
  /** Ends a start that waits for its broker; the start then rejects. */
  readonly signal?: AbortSignal | undefined
  /** Ports whose pages on the same hosts may use it, besides the pages on its own ports. */
  readonly allowedPorts: readonly number[]
}

type Listening = Pick<ListenerSettings, 'host' | 'port' | 'http1Port' | 'cert' | 'key'>

/** Role of this process among those of its server. */
type Role =
  | { readonly name: 'alone' }
  | { readonly name: 'primary'; readonly siblings: HostedSiblings }
  | { readonly name: 'worker'; readonly siblings: Siblings }

function roleAmong(workers: number): Role {
  if (workers === 1) return { name: 'alone' }
  if (isWorker()) return { name: 'worker', siblings: joinSiblings(workers) }
  if (cluster.isWorker)
    throw new Error(
      'workers: this process is a worker of the application; let one process serve, or fork none.',
    )
  return { name: 'primary', siblings: hostSiblings(workers) }
}

/**
 * NATS 2.9 continues erasing a deleted stream, and loses messages of one that is created at once.
 */
const renewAfterMs = 1000

/** Extra time, ms, for connections to end. */
const graceMs = 800

/** Rejects when the server is closed. */
function closing(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(new Error('The server was closed before it served.'))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

export class Engine {
  readonly #parts: EngineParts
  readonly #role: Role
  readonly #guests: GuestConnections
  readonly #ending = new AbortController()
  readonly #lost = Promise.withResolvers<string>()
  #listeners: Awaited<ReturnType<typeof listen>> | null = null
  /** Connections of the ports; null before they are open. */
  #own: Connections | null = null
  #isAttached = false
  #listening: Promise<Ports> | null = null
  /** Serves the log to a worker; null if workers have it from a broker, or there are none. */
  #attachWorker: ((link: Duplex) => void) | null = null
  #workers: Awaited<ReturnType<typeof startWorkers>> | null = null
  /** Ports of this process; until they are open, the requested ones. */
  #ports: readonly number[] = []
  readonly #logHooks: LogHook[] = []
  /** The newest attempt to open a log. */
  #opening: Promise<Serving> | null = null
  #serving: Serving | null = null
  #closed: Promise<void> | null = null

  /** Rejects with the log's error if the log cannot be opened. */
  static async start(parts: EngineParts): Promise<Engine> {
    const engine = new Engine(parts)
    try {
      engine.#tellOfLog(false)
      engine.#serving = await engine.#open()
      engine.#tellOfLog(true)
    } catch (error) {
      engine.#guests.stopWatching()
      engine.#tellFailure(error)
      throw error
    }
    void engine.#renew()
    return engine
  }

  private constructor(parts: EngineParts) {
    const { settings } = parts
    const openFiles = openFilesAllowed()
    const maxConnections = fittingConnections(settings.limits.maxConnections, openFiles)
    const limits = { ...settings.limits, maxConnections }
    this.#parts = { ...parts, settings: { ...settings, limits } }
    this.origins = {
      path: parts.path,
      ports: () => [...parts.allowedPorts, ...this.#ports],
      allowedOrigins: settings.allowedOrigins,
      allowedHosts: settings.allowedHosts,
    }
    this.#role = roleAmong(parts.workers)
    if (this.#role.name !== 'alone') output.name(this.#role.siblings.name)
    this.#guests = new GuestConnections(
      { ...limits, heartbeatMs: settings.heartbeatMs, maxSockets: maxSockets(openFiles) },
      processTimers,
    )
    if (this.isWorker) this.#endWithServer()
  }

  /** In a worker: ends the process when the first one says so, or when this one can no longer serve. */
  #endWithServer(): void {
    whenStopped((drainMs) => void this.close(drainMs).then(() => process.exit()), this.#parts.drainMs)
    void this.lost.then(() => process.exit(1))
  }

  /** With the log in use, which may be replaced. */
  get current(): Serving {
    if (!this.#serving) throw new Error('The engine has not started.')
    return this.#serving
  }

  /** Resolves to the reason when another log has replaced the one in use, and could not be opened. */
  get lost(): Promise<string> {
    return this.#lost.promise
  }

  /** Number of processes that serve clients. */
  get workers(): number {
    return this.#parts.workers
  }

  /** Where messages are stored, such as `SQLite`, `NATS JetStream` or `SQS, memory`. */
  get storage(): string {
    return describeLog(this.#parts.settings, this.#parts.shared)
  }

  /** Whether another process of the server has forked this one, and has the log. */
  get isWorker(): boolean {
    return this.#role.name === 'worker'
  }

  /** Allowed origins of pages, and allowed host names. */
  readonly origins: OriginRules

  /** Calls `hook` with the log in use, and with each later one before clients can use it. */
  onLog(hook: LogHook): void {
    this.current.begin(hook)
    this.#logHooks.push(hook)
  }

  /** Handlers of the log in use. */
  readonly handlers: EndpointHandlers = {
    takes: (request) => this.current.handlers.takes(request),
    handleRequest: (...given) => this.current.handlers.handleRequest(...given),
    handleUpgrade: (...given) => this.current.handlers.handleUpgrade(...given),
    handleConnect: (...given) => this.current.handlers.handleConnect(...given),
  }

  /**
   * Opens both ports; if there are workers, they do. If that fails, closes everything and rejects with
   * one sentence. `handlers`: those of the engine, perhaps with an application's own.
   */
  async listen(listening: Listening, handlers: ServerHandlers = this.handlers): Promise<Ports> {
    if (this.#isAttached) throw new Error('listen: this server is attached to one of the application.')
    if (this.#listening) throw new Error('listen: this server listens already.')
    if (this.#closed) throw new Error('listen: this server is closed.')
    this.#listening = this.#startListening(listening, handlers)
    try {
      return await this.#listening
    } catch (error) {
      this.#tellFailure(error)
      // Otherwise the parts would keep the process alive or the log's file open.
      await this.close(0)
      throw error
    }
  }

  #startListening(listening: Listening, handlers: ServerHandlers): Promise<Ports> {
    switch (this.#role.name) {
      case 'alone':
        return this.#openPorts(listening, handlers)
      case 'worker':
        return this.#serveAsWorker(listening, handlers, this.#role.siblings)
      case 'primary':
        return this.#startWorkers(this.#role.siblings)
    }
  }

  async #openPorts(
    listening: Listening,
    handlers: ServerHandlers,
    sharing: Siblings['sharing'] = null,
  ): Promise<Ports> {
    const { limits, heartbeatMs } = this.#parts.settings
    const handlersFor = (connections: Connections) => {
      this.#own = connections
      return handlers
    }
    this.#ports = [listening.port, listening.http1Port]
    this.#listeners = await listen(handlersFor, { ...limits, heartbeatMs, sharing, ...listening })
    const { ports } = this.#listeners
    this.#ports = Object.values(ports)
    return ports
  }

  /** The process that has the log opens no ports. */
  async #startWorkers(siblings: HostedSiblings): Promise<Ports> {
    this.#workers = await startWorkers({
      count: this.#parts.workers,
      siblings,
      secret: this.#parts.secret,
      attach: this.#attachWorker ?? undefined,
      timers: processTimers,
      signal: this.#ending.signal,
    })
    return this.#workers.ports
  }

  /** On the ports that the first worker opened. */
  async #serveAsWorker(
    listening: Listening,
    handlers: ServerHandlers,
    { sharing }: Siblings,
  ): Promise<Ports> {
    const opened = await Promise.race([portsOpened(), closing(this.#ending.signal)])
    const places = opened ? { ...listening, port: opened['2'], http1Port: opened['1.1'] } : listening
    const ports = await this.#openPorts(places, handlers, sharing)
    tellPrimary({ type: 'ready', ports })
    return ports
  }

  /** The first process does not count a worker's wait for its log. */
  #tellOfLog(isOpen: boolean): void {
    if (this.isWorker) tellPrimary({ type: 'log', isOpen })
  }

  /** The first process prints why a worker cannot serve. */
  #tellFailure(error: unknown): void {
    if (!this.isWorker) return
    tellPrimary({ type: 'failed', why: error instanceof Error ? error.message : String(error) })
  }

  /** Takes over the requests for its endpoints from an application's server. */
  attach(server: AnyServer, how: { readonly requests?: boolean }): void {
    if (this.#listening) throw new Error('attach: this server listens on ports of its own.')
    if (this.#role.name !== 'alone')
      throw new Error('attach: several workers share ports of their own; use listen, or one process.')
    this.#isAttached = true
    this.#guests.watch(server)
    attach(server, this.#parts.path, this.handlers, how)
  }

  /**
   * Drains, lets requests end, cuts the rest after `drainMs`. Resolves at most 2 s later. Workers drain
   * first, in as much time and at most 3 s more. Idempotent.
   */
  close(drainMs: number): Promise<void> {
    this.#closed ??= this.#close(drainMs)
    return this.#closed
  }

  async #close(drainMs: number): Promise<void> {
    this.#ending.abort()
    // A renewal, or ports and workers, that are about to open are closed too.
    await Promise.allSettled([this.#opening, this.#listening])
    await this.#workers?.close(drainMs)
    const endsAt = processTimers.now() + drainMs
    const listeners = this.#listeners
    const closeConnections = async () => {
      this.#guests.stopWatching()
      const leftMs = Math.max(0, endsAt - processTimers.now())
      if (listeners) await endPart('listeners', listeners.close(leftMs), leftMs + graceMs)
    }
    // Clients get the first half of the time, their open requests the rest.
    await this.#serving?.close(listeners ? drainMs / 2 : drainMs, closeConnections)
  }

  #open(): Promise<Serving> {
    const { signal } = this.#parts
    const role = this.#role
    this.#opening = Serving.open(
      {
        ...this.#parts,
        origins: this.origins,
        connections: { of: (request) => (this.#own ?? this.#guests).of(request) },
        countConnections: () => this.#listeners?.connections() ?? {},
        onCutOff: () => this.#listeners?.shed(),
        siblings: role.name === 'alone' ? undefined : role.siblings,
        leads: role.name !== 'worker',
        joinLog: role.name === 'worker' ? this.#joiningLog() : undefined,
        hostLog: role.name === 'primary' ? (opened) => this.#hostLog(opened) : undefined,
      },
      AbortSignal.any(signal ? [this.#ending.signal, signal] : [this.#ending.signal]),
    )
    return this.#opening
  }

  /** Undefined if the log is on a broker. */
  #joiningLog(): ServingParts['joinLog'] {
    const { settings, shared, onFailure } = this.#parts
    if (shared || settings.broker === 'nats') return undefined
    return () => {
      const link = openLink()
      link.once('close', () => {
        if (!this.#ending.signal.aborted) process.exit(1)
      })
      return joinLog(link, (error) => onFailure('log-failed', 'The log failed', error))
    }
  }

  #hostLog({ log, bus, maxBytes }: OpenedLog): HostedLog | null {
    if (bus) return null
    const host = hostLog(log, maxBytes)
    this.#attachWorker = host.attach
    return host
  }

  /** An application's error must not end the server. */
  #callLogHook(serving: Serving, hook: LogHook): void {
    try {
      serving.begin(hook)
    } catch (error) {
      this.#parts.onFailure('part-failed', 'An application could not begin on a new log', error)
    }
  }

  /** Opens another serving whenever the log was replaced. Never rejects. */
  async #renew(): Promise<void> {
    const { signal } = this.#ending
    try {
      for (;;) {
        output.say(
          'log-replaced',
          `The log is lost: ${await this.current.lost}. The server restarts, and its windows reconnect.`,
        )
        await this.current.close(this.#parts.drainMs / 2)
        await new Promise<void>((resolve) => processTimers.later(resolve, renewAfterMs))
        if (signal.aborted) return
        const serving = await this.#open()
        this.#serving = serving
        if (signal.aborted) return
        for (const hook of [...this.#logHooks]) this.#callLogHook(serving, hook)
      }
    } catch (error) {
      if (signal.aborted) return
      output.incident('restart-failed', 'The server did not restart', error)
      this.#lost.resolve('it did not restart')
    }
  }
}
