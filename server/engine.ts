// A server of channels: serves on ports of its own or on an application's server, and begins anew with a new log.

import { openFilesAllowed, processTimers } from '../scripts/process.ts'
import { type AnyServer, attach, type Takers } from './http/attach.ts'
import { type Connections, GuestConnections } from './http/connections.ts'
import { type ListenerSettings, listen, type Ports } from './http/listeners.ts'
import { fittingConnections, mostSockets } from './http/open-files.ts'
import { output } from './output.ts'
import { endPart, Serving, type ServingParts } from './serving.ts'

interface EngineParts extends Omit<ServingParts, 'connections' | 'countConnections' | 'onCutOff'> {
  /** Time to drain before another log replaces the one in use. */
  readonly drainMs: number
  /** Ends a start that waits for its broker: it then rejects. */
  readonly signal?: AbortSignal | undefined
}

type Listening = Pick<ListenerSettings, 'host' | 'port' | 'http1Port' | 'cert' | 'key' | 'sharing'>

/**
 * NATS 2.9 continues erasing a deleted stream, and loses messages of one that is created at once.
 */
const renewAfterMs = 1000

/** Extra time, ms, for connections to end. */
const graceMs = 800

export class Engine {
  readonly #parts: EngineParts
  readonly #guests: GuestConnections
  readonly #ending = new AbortController()
  readonly #lost = Promise.withResolvers<string>()
  #listeners: Awaited<ReturnType<typeof listen>> | null = null
  /** Those of the ports; null before they are open. */
  #own: Connections | null = null
  #isAttached = false
  #serving!: Serving
  #closed: Promise<void> | null = null

  /** Rejects as the log does that cannot be opened. */
  static async start(parts: EngineParts): Promise<Engine> {
    const engine = new Engine(parts)
    try {
      engine.#serving = await engine.#open()
    } catch (error) {
      engine.#guests.stopWatching()
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
    this.#guests = new GuestConnections(
      { ...limits, heartbeatMs: settings.heartbeatMs, mostSockets: mostSockets(openFiles) },
      processTimers,
    )
  }

  /** With the log in use, which may be replaced. */
  get current(): Serving {
    return this.#serving
  }

  /** Resolves to the reason when another log has replaced the one in use, and could not be opened. */
  get lost(): Promise<string> {
    return this.#lost.promise
  }

  /** Of the log in use. */
  readonly takers: Takers = {
    takeRequest: (...given) => this.#serving.takers.takeRequest(...given),
    takeUpgrade: (...given) => this.#serving.takers.takeUpgrade(...given),
    takeConnect: (...given) => this.#serving.takers.takeConnect(...given),
  }

  /** Opens both ports. If that fails, closes everything and rejects with one sentence. */
  async listen(listening: Listening): Promise<Ports> {
    if (this.#isAttached) throw new Error('listen: this server is attached to one of the application.')
    const { settings } = this.#parts
    try {
      const { limits, heartbeatMs } = settings
      this.#listeners = await listen(this.#takersFor, { ...limits, heartbeatMs, ...listening })
      return this.#listeners.ports
    } catch (error) {
      // Otherwise the parts would keep the process alive or the log's file open.
      await this.close(0)
      throw error
    }
  }

  readonly #takersFor = (connections: Connections): Takers => {
    this.#own = connections
    return this.takers
  }

  /** Takes what is below the path from an application's server. */
  attach(server: AnyServer, path: string, how: { readonly requests?: boolean }): void {
    if (this.#listeners) throw new Error('attach: this server listens on ports of its own.')
    this.#isAttached = true
    this.#guests.watch(server)
    attach(server, path, this.takers, how)
  }

  /**
   * Drains, lets requests end, cuts the rest after `drainMs`. Resolves at most 2 s later. Idempotent.
   */
  close(drainMs: number): Promise<void> {
    this.#closed ??= this.#close(drainMs)
    return this.#closed
  }

  async #close(drainMs: number): Promise<void> {
    this.#ending.abort()
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
    const ending = AbortSignal.any([this.#ending.signal, ...(signal ? [signal] : [])])
    return Serving.open(
      {
        ...this.#parts,
        connections: { of: (request) => (this.#own ?? this.#guests).of(request) },
        countConnections: () => this.#listeners?.connections() ?? {},
        onCutOff: () => this.#listeners?.shed(),
      },
      ending,
    )
  }

  /** Builds anew what depends on a log, whenever another log has replaced it. Never rejects. */
  async #renew(): Promise<void> {
    const { signal } = this.#ending
    try {
      for (;;) {
        output.say(
          'log-replaced',
          `The log is lost: ${await this.#serving.lost}. The server restarts, and its windows reconnect.`,
        )
        await this.#serving.close(this.#parts.drainMs / 2)
        await new Promise<void>((resolve) => processTimers.later(resolve, renewAfterMs))
        if (signal.aborted) return
        const serving = await this.#open()
        if (signal.aborted) return void (await serving.close(0))
        this.#serving = serving
      }
    } catch (error) {
      if (signal.aborted) return
      output.incident('restart-failed', 'The server did not restart', error)
      this.#lost.resolve('it did not restart')
    }
  }
}
