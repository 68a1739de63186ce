// Services on one log: the hub, documents, health, figures, and the Koa application.

import type { Clock, Timers } from '../protocol/time.ts'
import { endsWithin } from '../scripts/process.ts'
import type { TypeOf } from './channels/channel-type.ts'
import type { EngineSettings } from './config/engine-settings.ts'
import type { DocumentThreads } from './document/document-threads.ts'
import { Health } from './health.ts'
import type { EndpointHandlers } from './http/attach.ts'
import type { Connections } from './http/connections.ts'
import type { ShowRefusal } from './http/refusals.ts'
import { createRequestHandler } from './http/requests.ts'
import { createConnectHandler, createUpgradeHandler } from './http/websockets.ts'
import { Hub, type HubParts } from './hub/hub.ts'
import { type App, createApp } from './koa-app.ts'
import { acceptRepeats, type Channels } from './library/channels.ts'
import { mountRoutes } from './library/routes.ts'
import type { Log, OpenedLog, Outage, ReadableLog } from './log/log.ts'
import { openLog } from './log/open-log.ts'
import type { SharedStorage } from './log/store.ts'
import { Monitor } from './monitor.ts'
import { type OutputCode, output } from './output.ts'
import { type Authorizer, openGrant } from './security/grants.ts'
import type { OriginRules } from './security/middleware.ts'
import type { Authorize } from './security/permits.ts'
import { Revocations, revocationsChannel, revocationsType } from './security/revocations.ts'
import { TicketAuthorizer } from './security/tickets.ts'
import type { Siblings } from './workers/workers.ts'

/** Begins work with a log; returns the function that ends it, or nothing. */
export type LogHook = (log: ReadableLog) => End | undefined
export type End = () => void | Promise<void>

/** Parts that outlive a log. */
export interface ServingParts {
  readonly settings: EngineSettings
  readonly timers: Timers
  /** Clock of the application, by which permits end. */
  readonly clock: Clock
  readonly channels: Channels
  /** Null if no channel is a document. */
  readonly openDocuments: (() => DocumentThreads) | null
  readonly dataFolder: string
  /** Where the log is, instead of where the settings say. */
  readonly shared: SharedStorage | null
  /** How to make room for another channel, as refusals say it: a clause. */
  readonly roomMaking: string
  readonly connections: Pick<Connections, 'of'>
  /** Open connections, by protocol. */
  readonly countConnections: () => Readonly<Record<string, number>>
  readonly authorize: 'everyone' | Authorize
  /** Signs tickets. */
  readonly secret: string
  readonly origins: OriginRules
  readonly showRefusal: ShowRefusal | undefined
  /** Longest hold of a long poll, ms. */
  readonly holdMs: number
  /** Reports errors that the server survives; the log's, streams' and the application's. */
  readonly onFailure: (code: OutputCode, what: string, error?: unknown) => void
  readonly onMoved?: HubParts['onMoved']
  /** Called repeatedly while the server is cut off from its log. */
  readonly onCutOff: () => void
  /** The server's other processes; absent if there are none. */
  readonly siblings?: Siblings | undefined
  /** Whether it prints what concerns all processes, such as the state of the log. */
  readonly leads: boolean
  /** Joins another process's log, instead of opening one. */
  readonly joinLog?: (() => Promise<OpenedLog>) | undefined
  /** Lets the server's other processes join the log that was opened. */
  readonly hostLog?: ((opened: OpenedLog) => HostedLog | null) | undefined
}

export interface HostedLog {
  readonly bus: NonNullable<OpenedLog['bus']>
  readonly tellOutage: (outage: Outage | null) => void
}

const random = Math.random
const endless = new Promise<never>(() => undefined)

/** Extra time, ms, for a part to close. */
const graceMs = 400

export class Serving {
  readonly log: Log
  readonly hub: Hub
  readonly health: Health
  readonly monitor: Monitor
  readonly documents: DocumentThreads | null
  readonly limits: EngineSettings['limits']
  /** Resolves to the reason when another log has replaced this one. */
  readonly lost: Promise<string>
  /** Null if everyone is served. */
  #tickets: TicketAuthorizer | null = null
  #app: App | null = null
  #handlers: EndpointHandlers | null = null
  readonly #ends: (End | undefined)[] = []
  #closed: Promise<void> | null = null

  /** Rejects as `openLog` does. `signal` ends its waiting. */
  static async open(parts: ServingParts, signal: AbortSignal): Promise<Serving> {
    const documents = parts.openDocuments?.() ?? null
    let opened: OpenedLog | null = null
    let serving: Serving | null = null
    try {
      opened = await (parts.joinLog?.() ?? openOwnLog(parts, documents, signal))
      serving = new Serving(parts, opened, documents)
      await serving.#mount(parts)
      return serving
    } catch (error) {
      await serving?.close(0)
      await opened?.log.close()
      await documents?.close()
      throw error
    }
  }

  private constructor(parts: ServingParts, opened: OpenedLog, documents: DocumentThreads | null) {
    const { settings, timers, channels, siblings, leads, hostLog, onFailure, onCutOff } = parts
    const { log, lost = endless, outage = () => null, figures } = opened
    const { maxBytes = Number.POSITIVE_INFINITY } = opened
    const hosted = hostLog?.(opened)
    this.log = log
    this.lost = lost
    this.documents = documents
    const maxMessageBytes = Math.min(settings.limits.maxMessageBytes, maxBytes)
    this.limits = { ...settings.limits, maxMessageBytes }
    if (leads && maxBytes < settings.limits.maxMessageBytes)
      output.say(
        'message-limit-lowered',
        `Messages may have ${maxBytes} bytes: ${settings.broker === 'sqs' ? 'SQS accepts no larger ones' : 'NATS accepts no larger ones (max_payload in its configuration)'}.`,
      )
    this.health = new Health({
      timers,
      outage,
      onChanged: hosted?.tellOutage,
      print(code, sentence) {
        if (leads) output.say(code, sentence)
      },
      onCutOff: (sentence) => {
        this.hub.sendAway(sentence)
        onCutOff()
      },
    })
    this.monitor = new Monitor({
      timers,
      siblings,
      health: this.health,
      losses: parts.joinLog ? undefined : countLosses,
      log: describeLog(settings, parts.shared),
      heads: log.heads,
      threads: documents ? [documents.documents, documents.sent] : [],
      windows: () => this.hub.windows(),
      logFigures: async () => (await figures?.()) ?? {},
      connections: () => ({ ...parts.countConnections(), WebSocket: this.#app?.webSockets() ?? 0 }),
    })
    this.hub = new Hub({
      log,
      typeOf: withRevocations(channels.typeOf),
      bus: hosted?.bus ?? opened.bus,
      timers,
      random,
      meter: this.monitor,
      onFailure: (error) => onFailure('stream-failed', 'A window lost its stream', error),
      refusal: () => this.health.refusal(),
      onMoved: parts.onMoved,
      steps: [acceptRepeats(log)],
      settings: { ...this.limits, heartbeatMs: settings.heartbeatMs },
    })
  }

  /** Null if everyone is served. */
  get tickets(): TicketAuthorizer | null {
    return this.#tickets
  }

  /** Identifies the sender of a request. */
  get authorizer(): Authorizer {
    return this.#tickets ?? { grantFor: async () => openGrant }
  }

  /** Bodies, answers and their pace. */
  get app(): App {
    if (!this.#app) throw new Error('The application is not mounted.')
    return this.#app
  }

  /** Begins an application's work with this log; ends it before the hub drains. */
  begin(begin: LogHook): void {
    if (!this.#closed) this.#ends.push(begin(this.log))
  }

  async #ticketsFor({
    timers,
    clock,
    authorize,
    secret,
    onFailure,
  }: ServingParts): Promise<TicketAuthorizer | null> {
    if (authorize === 'everyone') return null
    return new TicketAuthorizer({
      authorize,
      secret,
      now: timers.now,
      clock,
      revocations: await Revocations.follow(this.log, (user) => this.hub.end({ user })),
      onFailure: (error) => onFailure('stream-failed', '`authorize` failed', error),
    })
  }

  /** Handlers of requests and sockets. */
  get handlers(): EndpointHandlers {
    if (!this.#handlers) throw new Error('The application is not mounted.')
    return this.#handlers
  }

  async #mount(parts: ServingParts): Promise<void> {
    const { settings, timers, channels, connections, origins } = parts
    const { limits } = this
    this.#tickets = await this.#ticketsFor(parts)
    const app = createApp({
      hub: this.hub,
      timers,
      heartbeatMs: settings.heartbeatMs,
      holdMs: parts.holdMs,
      limits,
      admission: channels,
      authorizer: this.authorizer,
      origins,
      showRefusal: parts.showRefusal,
      mount: (mounting) => mountRoutes(mounting, this, channels),
    })
    this.#app = app
    const taking = { app, connections, settings: limits, origins }
    this.#handlers = {
      takes: app.takes,
      handleRequest: createRequestHandler(taking),
      handleUpgrade: createUpgradeHandler(taking),
      handleConnect: createConnectHandler(taking),
    }
  }

  /**
   * Drains the hub within `drainMs`, then lets `closeConnections` end what is left, then closes the log.
   * A part that hangs or fails does not block the others. Idempotent.
   */
  close(drainMs: number, closeConnections: () => Promise<void> = async () => undefined): Promise<void> {
    this.#closed ??= this.#close(drainMs, closeConnections)
    return this.#closed
  }

  async #close(drainMs: number, closeConnections: () => Promise<void>): Promise<void> {
    const application = endPart('application', this.#endAll(), drainMs * 2 + graceMs)
    this.monitor.close()
    this.health.stop()
    await endPart('hub', this.hub.drain(drainMs), drainMs + graceMs)
    await closeConnections()
    await application
    await endPart('log', this.log.close(), graceMs)
    await this.documents?.close()
  }

  async #endAll(): Promise<void> {
    await Promise.all(this.#ends.map(async (end) => end?.()))
  }
}

/** With the server's own channel. */
const withRevocations =
  (typeOf: TypeOf): TypeOf =>
  (channel) =>
    channel === revocationsChannel ? revocationsType : typeOf(channel)

/** Resolves when the part has ended, failed, or taken longer. */
export async function endPart(part: string, work: Promise<void>, withinMs: number): Promise<void> {
  const report = (error: unknown) =>
    output.incident('part-not-closed', `While the server stopped, the ${part} failed`, error)
  if (await endsWithin(work.catch(report), withinMs)) return
  output.say('part-not-closed', `The server stopped without its ${part}, which did not end in time.`)
}

function openOwnLog(
  parts: ServingParts,
  documents: DocumentThreads | null,
  signal: AbortSignal,
): Promise<OpenedLog> {
  const { settings, timers, channels, dataFolder, shared, roomMaking, onFailure } = parts
  return openLog(settings, {
    typeOf: withRevocations(channels.typesWith(documents?.ledger ?? null)),
    onOpened: (log) => documents?.ledger.open(log),
    roomMaking,
    dataFolder,
    shared,
    now: timers.now,
    random,
    signal,
    onFailure: (error) => onFailure('log-failed', 'The log failed', error),
    onLoss: (sentence) => onFailure('log-lost-messages', sentence),
    print: (sentence) => output.say('log-awaited', sentence),
  })
}

/** The count continues when another log replaces the one in use. */
const countLosses = () => output.incidents()['log-lost-messages'] ?? 0

/** Such as `SQLite`, `memory`, `NATS JetStream`, `PostgreSQL` or `SQS, SQLite`. */
export function describeLog(
  { broker, storage }: Pick<EngineSettings, 'broker' | 'storage'>,
  shared: SharedStorage | null,
): string {
  if (shared) return shared.name
  if (broker === 'nats') return 'NATS JetStream'
  const own = storage === 'sqlite' ? 'SQLite' : 'memory'
  return broker === 'sqs' ? `SQS, ${own}` : own
}
