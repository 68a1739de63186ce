// The server for an application: serves clients, publishes, reads, deletes, ends sessions.

import type { ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { Doc } from 'yjs'
import type { DataOf, NameIn, SentOf } from '../../protocol/declared.ts'
import type { HistoryPortion, HistoryUpdate } from '../../protocol/document-history.ts'
import { contentOf, copyJson, dataIn } from '../../protocol/json-data.ts'
import {
  type Bodies,
  type Cursor,
  type Draft,
  formatCursor,
  isChannelName,
  isKind,
  type JsonMessage,
  type Kind,
  type Message,
  parseCursor,
} from '../../protocol/messages.ts'
import type { MonitorReply } from '../../protocol/monitor.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Clock } from '../../protocol/time.ts'
import { upsert } from '../../protocol/upsert.ts'
import { refuseOthers } from '../../scripts/suggestion.ts'
import type { Documents } from '../document/document-worker.ts'
import type { Tasks } from '../document/update-tasks.ts'
import type { Engine } from '../engine.ts'
import { type AnyServer, handlersBelow, handlersBeside } from '../http/attach.ts'
import type { Ports } from '../http/listeners.ts'
import { answerErrors, refuse, reportFailure, type ShowRefusal } from '../http/refusals.ts'
import type { Answer } from '../http/requests.ts'
import { applicationName } from '../hub/admission.ts'
import type { Movement } from '../hub/movements.ts'
import type { ConnectedClient } from '../hub/registry.ts'
import type { Who } from '../hub/subscriber.ts'
import { erasureOf } from '../log/expiries.ts'
import { KeptJson, writerOf } from '../log/kept-json.ts'
import { newEpoch } from '../log/log.ts'
import type { AnyRequest } from '../security/grants.ts'
import { crossOrigin, mustBeAllowed, needsSession, securityHeaders } from '../security/middleware.ts'
import { checkUser } from '../security/permits.ts'
import { revocationsChannel } from '../security/revocations.ts'
import type { LogHook } from '../serving.ts'
import { type Answering, type AnswerParts, answerParts, chargeAnswers } from '../transports/answers.ts'
import { connectionOf } from '../transports/body-reader.ts'
import { Caller, type Limiter, rateLimit } from './caller.ts'
import type { ChannelListeners } from './channel-listeners.ts'
import { numberIn, pageBefore, pagesAfter } from './channel-pages.ts'
import type { Channels } from './channels.ts'
import { readHistory } from './document-history.ts'
import { copyLog } from './log-copy.ts'

export interface Stored {
  readonly seq: number
}

export interface Received<Data = unknown> extends JsonMessage<Data> {
  /** `json`, or a kind of the channel's type: `data` is then its body. */
  readonly kind: Kind
}

/** Called for each message of a channel, after it is stored. What it throws or rejects with reaches `onFailure`. */
export type MessageListener<Data = unknown> = (message: Received<Data>) => unknown

/** A client of this process began to read a channel, or ceased to. */
export interface ClientMovement {
  readonly movement: Movement
  readonly channel: string
  readonly client: ConnectedClient
}

export type ClientListener = (moved: ClientMovement) => unknown
interface ReceivedPast<Data> {
  readonly messages: readonly Received<Data>[]
  /** The log's end. */
  readonly cursor: string
  readonly hasEarlier: boolean
}

/** The methods whose types follow the declaration. */
interface Declaring<Declared> {
  publish<Name extends NameIn<Declared>>(
    channel: Name,
    data: SentOf<Declared, Name>,
    options?: Publishing,
  ): Promise<Stored>
  sendVolatile<Name extends NameIn<Declared>>(
    channel: Name,
    data: SentOf<Declared, Name>,
    options?: Omit<Publishing, 'id'>,
  ): Promise<void>
  change<Name extends NameIn<Declared>>(
    channel: Name,
    seq: number,
    data: SentOf<Declared, Name>,
  ): Promise<Stored>
  read<Name extends NameIn<Declared>>(
    channel: Name,
    options?: { readonly after?: number },
  ): AsyncGenerator<Received<DataOf<Declared, Name>>>
  readBack<Name extends NameIn<Declared>>(
    channel: Name,
    options?: { readonly before?: number; readonly limit?: number },
  ): Promise<ReceivedPast<DataOf<Declared, Name>>>
}

/** A channel that has messages. */
export interface ChannelInfo<Name = string> {
  /** It may have been declared earlier, and no longer be. */
  readonly name: Name
  /** The number of its newest message. */
  readonly newest: number
  /** How many are kept, and the size of what was published, as JSON. */
  readonly messages: number
  readonly bytes: number
}

/** One change of a document. */
export interface DocumentUpdate {
  readonly seq: number
  /** Name of the sender. */
  readonly from: string
  /** The sender's user, as `authorize` names it. */
  readonly user: string | undefined
  /** When it was stored, ms since the epoch. */
  readonly at: number
  /** Update in Yjs' format. */
  readonly update: Uint8Array
}

const documentUpdate = ({ seq, from, user, acceptedAt, update }: HistoryUpdate): DocumentUpdate => ({
  seq,
  from,
  user,
  at: acceptedAt,
  update: Buffer.from(update, 'base64'),
})

interface Publishing {
  readonly id?: string
  readonly user?: string
  readonly kind?: Kind
  readonly from?: string
  readonly at?: number
}

/** Ports of the server's own. */
export interface Listening {
  /** Default: `localhost`, which is 127.0.0.1; 0.0.0.0 and :: accept other machines. */
  readonly host?: string
  /** Port for HTTP/2; 0 selects a free one. */
  readonly port: number
  /** Port for HTTP/1.1 alone; 0 selects a free one. */
  readonly http1Port: number
  /** In PEM. */
  readonly cert: string
  readonly key: string
}

interface CrosswindParts {
  readonly engine: Engine
  readonly path: string
  readonly channels: Channels
  /** Whether everyone is served: then there are no users. */
  readonly isOpen: boolean
  /** Folder of the log's file; empty if it has none. */
  readonly folder: string
  /** Default of `close`. */
  readonly drainMs: number
  readonly showRefusal: ShowRefusal | undefined
  readonly messageListeners: ChannelListeners<Received>
  readonly clientListeners: ChannelListeners<ClientMovement>
  readonly now: Clock
}

/** A client that is connected, or polls. */
export interface ClientInfo {
  /** Its name, as in the `from` of its messages. */
  readonly id: string
  readonly channels: readonly string[]
  /** Such as `sse/2`. */
  readonly mode: string
  /** Bytes that it has not read yet. */
  readonly backlogBytes: number
  /** Messages that it was not sent because it reads too slowly. */
  readonly droppedMessages: number
  /** When it last sent something, ms since the epoch; null for never. */
  readonly heardAt: number | null
}

/** Part of Koa's interface that is used. */
export interface KoaLike {
  // biome-ignore lint/suspicious/noExplicitAny: Koa's own types are those of the application.
  use(middleware: (ctx: any, next: () => Promise<any>) => any): unknown
  on(event: 'error', listener: (error: unknown) => void): unknown
}

interface DocumentThreads<Own extends Tasks> {
  /** For stored documents. */
  readonly stored: Documents<Own>
  /** For updates that clients send, so that they do not delay stored documents. */
  readonly sent: Documents<Own>
}

type Handlers = ReturnType<typeof handlersBelow>

/**
 * Its methods are bound: they may be passed on alone. `Declared`, the type of `channels`, gives what is
 * published and read its types.
 */
// biome-ignore lint/suspicious/noExplicitAny: without a declaration it may stand for one with any.
export class Crosswind<Declared = any> {
  /** A listener of Node's servers, and middleware of Connect and Express. */
  readonly handler: Handlers['handler']
  readonly express: Handlers['express']
  readonly koa: Handlers['koa']
  /** A plugin. */
  readonly fastify: Handlers['fastify']
  readonly #engine: Engine
  readonly #path: string
  readonly #channels: Channels
  readonly #isOpen: boolean
  readonly #folder: string
  readonly #drainMs: number
  readonly #showRefusal: ShowRefusal | undefined
  readonly #messageListeners: ChannelListeners<Received>
  readonly #clientListeners: ChannelListeners<ClientMovement>
  readonly #now: Clock
  readonly #callers = new WeakMap<AnyRequest, Promise<Caller>>()
  #ids = 0

  /** @internal */
  static over(parts: CrosswindParts): Crosswind {
    return new Crosswind(parts)
  }

  private constructor(parts: CrosswindParts) {
    const { engine, path, channels, isOpen, folder, drainMs, showRefusal } = parts
    this.#engine = engine
    this.#path = path
    this.#channels = channels
    this.#isOpen = isOpen
    this.#folder = folder
    this.#drainMs = drainMs
    this.#showRefusal = showRefusal
    this.#messageListeners = parts.messageListeners
    this.#clientListeners = parts.clientListeners
    this.#now = parts.now
    engine.onLog((log) => log.follow((message, cursor) => this.#tell(message, cursor)))
    const { handler, express, koa, fastify } = handlersBelow(path, engine.handlers)
    this.handler = handler
    this.express = express
    this.koa = koa
    this.fastify = fastify
  }

  /**
   * Serves what is below `path`: requests, WebSockets and, over HTTP/2, extended CONNECT. All else
   * goes to the listeners that the server has; those added later receive everything. With
   * `requests: false`, requests reach it by `handler`, `express`, `koa` or `fastify`.
   */
  readonly attach = (server: AnyServer, how: { readonly requests?: boolean } = {}): void => {
    this.#engine.attach(server, how)
  }

  /** Number of processes that serve clients; see `CrosswindOptions`. */
  get workers(): number {
    return this.#engine.workers
  }

  /** Where messages are stored: `memory`, `SQLite`, `NATS JetStream`, or `SQS, ` and one of the first two. */
  get storage(): string {
    return this.#engine.storage
  }

  /** Whether another process of the server has forked this one; see `workers`. */
  get isWorker(): boolean {
    return this.#engine.isWorker
  }

  /**
   * Opens two ports with TLS, on which no connection costs more than one client may: one with
   * HTTP/2 (HTTP/1.1 for clients without it), and one with HTTP/1.1 alone. Serves its endpoints below
   * `path`. All other requests go to `answer`, such as `app.callback()` of Koa, also those below `path`,
   * where an application may have routes; without `answer` they get 404. With
   * several workers, the first process opens no port, and waits until they serve. Rejects with one
   * sentence if a port cannot be opened, and closes everything.
   */
  readonly listen = (
    { host = 'localhost', port, http1Port, cert, key }: Listening,
    answer?: Answer,
  ): Promise<Ports> =>
    this.#engine.listen(
      { host, port, http1Port, cert, key },
      handlersBeside(this.#path, this.#engine.handlers, answer),
    )

  /** Whether it may accept clients, as load balancers ask. `reason` is a clause; null while it may. */
  readonly ready = (): {
    readonly isReady: boolean
    readonly isDraining: boolean
    readonly reason: string | null
  } => {
    const { hub, health } = this.#engine.current
    const isDraining = hub.isDraining()
    const reason = isDraining ? 'it is shutting down' : health.whyUnready()
    return { isReady: reason === null, isDraining, reason }
  }

  /**
   * Throws a `Refusal` (503 `draining`) while this server is cut off from its log, and its answers could
   * be old.
   */
  readonly mustBeCurrent = (): void => this.#engine.current.health.mustBeCurrent()

  /** Resolves to the reason when another log has replaced the one in use and could not be opened. */
  get lost(): Promise<string> {
    return this.#engine.lost
  }

  /** Limits in force: a broker may allow smaller messages than `maxMessageBytes` says. */
  get limits() {
    return this.#engine.current.limits
  }

  /** The clients of this process. */
  readonly clients = (): readonly ClientInfo[] => this.#engine.current.hub.windows()

  /**
   * Number of clients of this process; with `channel`, of those that name it as their first channel, at
   * all servers of the log, including those that share a connection.
   */
  readonly clientCount = (channel?: NameIn<Declared>): number => {
    const { hub } = this.#engine.current
    return channel === undefined ? hub.windowCount() : hub.windowsOn(channel)
  }

  /**
   * The clients that read a channel, at all servers of the log: a connection that windows share is one of
   * them. A server that does not answer within a second is left out.
   */
  readonly clientsOn = async (channel: NameIn<Declared>): Promise<readonly ConnectedClient[]> => {
    this.#channels.ruleFor(channel)
    return this.#engine.current.hub.clientsOn(channel)
  }

  /**
   * Calls `listener` when a client of this process joins or leaves one of the channels, which `pattern`
   * names: one, or a prefix and `*`. Returns the function that ends this.
   */
  readonly watchClients = (pattern: string, listener: ClientListener): (() => void) => {
    this.#channels.mustDeclare('watchClients', pattern)
    return this.#clientListeners.add(pattern, listener)
  }

  /** The load of each process in each second that ended after `after`, ms since the epoch. */
  readonly monitor = ({ after = 0 }: { readonly after?: number } = {}): MonitorReply =>
    this.#engine.current.monitor.reply(after)

  /**
   * Calls `begin` with the log: at once, and again whenever another log has replaced the one in use, as
   * when a stream of NATS was deleted. What `begin` returns is called before that log is closed.
   */
  readonly onLog = (begin: LogHook): void => this.#engine.onLog(begin)

  /**
   * Identifies the sender of a request of the application's own, by a ticket, a token or the application's
   * cookie. Rejects with a `Refusal`: 401 as `authorize` says, 403 `foreign-origin` or `foreign-host`.
   */
  readonly caller = (request: AnyRequest): Promise<Caller> =>
    upsert(this.#callers, request, () => this.#callerOf(request))

  async #callerOf(request: AnyRequest): Promise<Caller> {
    mustBeAllowed(request, this.#engine.origins)
    const { authorizer, app, hub } = this.#engine.current
    return new Caller({
      request,
      grant: await authorizer.grantFor(request),
      hub,
      channels: this.#channels,
      bodies: app.bodies,
      readingRate: app.readingRate,
      now: this.#now,
    })
  }

  /**
   * Guards the routes of a Koa application that are added afterwards, as Crosswind's own are: refusals and
   * other errors become answers, pages of other origins are refused, paths that are not open need a
   * `caller`, and answers that wait to be read count by their size (`limits.connectionBytes`).
   */
  readonly guard = (
    app: KoaLike,
    { isOpen = () => false }: { readonly isOpen?: (path: string) => boolean } = {},
  ): void => {
    app.on('error', reportFailure)
    app.use(answerErrors(this.#showRefusal))
    app.use(securityHeaders)
    app.use(crossOrigin(this.#engine.origins))
    app.use(async (ctx, next) => {
      if (needsSession(ctx.path, isOpen)) await this.caller(ctx.req)
      await chargeAnswers(this.#engine.current.app.budget)(ctx, next)
    })
  }

  /**
   * Answers a Koa context in parts that are made while they are read. `characters`, their approximate number,
   * counts towards the pace of reading (`Caller#mustPace`) and, until they are read, towards the
   * unread answers. Throws a `Refusal` (503 `too-much-begun`).
   */
  readonly answer = (ctx: Answering, characters: number, parts: () => AnswerParts): void => {
    const { readingRate, budget } = this.#engine.current.app
    readingRate.charge(connectionOf(ctx.req), characters)
    answerParts(ctx, budget, characters, parts)
  }

  /** Answers a request with an error, as JSON: a `Refusal` as it is, any other as 500 `internal`. */
  readonly refuse = (request: AnyRequest, response: ServerResponse | Http2ServerResponse, error: unknown) =>
    refuse(request, response, error, this.#engine.origins)

  /**
   * Limits requests of the application's own: returns a function that takes a caller, and throws a
   * `Refusal` (429 `too-fast`) with this sentence beyond the rate. Each connection is counted by itself.
   */
  readonly rateLimit = (perSecond: number, sentence: string): Limiter =>
    rateLimit(perSecond, sentence, this.#now)

  /**
   * Figures of this server, of all its workers, in Prometheus' text format; docs/operating.md explains
   * each. They cover all channels: do not show them to everyone.
   */
  readonly metrics = (): Promise<string> => this.#engine.current.monitor.metrics()

  /**
   * Resolves once it is stored and sent; rejects if it does not fit the channel. `id`: the same one with
   * the same data is stored once. `user`: the user on whose behalf it is published. `kind`: on a channel
   * with a type of the application, by default the first that the type declares; `data` is its body.
   * `from`: one of `reservedNames`, by default `server`. `at`: the message's time, ms since the epoch, by
   * default now.
   */
  readonly publish: Declaring<Declared>['publish'] = async (channel, data, options = {}) => {
    const { kind, body } = this.#dataFor('publish', channel, data, options)
    return this.#store(channel, kind, body, options)
  }

  /**
   * Sends a message to the clients that follow the channel now, at all servers of the log, without storing
   * it. Slow clients may miss it. Resolves once it is sent; rejects if it does not fit the channel.
   */
  readonly sendVolatile: Declaring<Declared>['sendVolatile'] = async (channel, data, options = {}) => {
    const { kind, body } = this.#dataFor('sendVolatile', channel, data, options)
    const draft = this.#draft('sendVolatile', channel, kind, body, options)
    this.#engine.current.hub.sendVolatile(await this.#completed({ ...draft, volatile: true }, options))
  }

  #dataFor(method: string, channel: string, data: unknown, options: Publishing) {
    const { kind = this.#channels.usualKind(channel) } = options
    const body = (kind === 'json' ? contentOf : copyJson)(data, `${method}: data`)
    return { kind, body: body as Bodies[Kind] }
  }

  async #store(channel: string, kind: Kind, body: Bodies[Kind], options: Publishing = {}): Promise<Stored> {
    const draft = this.#draft('publish', channel, kind, body, options)
    const { seq } = await this.#engine.current.hub.publish(await this.#completed(draft, options))
    return { seq }
  }

  /** Throws if it does not fit the channel. */
  #draft(
    method: string,
    channel: string,
    kind: Kind,
    body: Bodies[Kind],
    { id, user, from = applicationName, at = this.#now() }: Publishing,
  ): Draft {
    if (user !== undefined) checkUser(`${method}: user`, user)
    if (from !== applicationName && !this.#channels.isReserved(from))
      throw new Error(`${method}: from is ${JSON.stringify(from)}; it must be one of reservedNames.`)
    return {
      id: id === undefined ? this.#nextId(from) : `${from}-${id}`,
      channel,
      kind,
      from,
      at,
      body,
    }
  }

  async #completed(draft: Draft, { user = null }: { readonly user?: string | null }): Promise<Draft> {
    return this.#channels.complete(draft, { user }, null)
  }

  /**
   * Gives a stored message, by its number, other data; readers get the event `change`, and later ones the
   * new data. Rejects with a `Refusal`: 404 `not-found`, 400 `bad-shape`, 403 `not-your-message` if the channel does
   * not declare `changes`.
   */
  readonly change: Declaring<Declared>['change'] = (channel, seq, data) =>
    this.#store(channel, 'change', { seq, ...contentOf(data, 'change: data') })

  /** Erases a stored message's data, also what it was before it was changed. Rejects as `change`. */
  readonly erase = (channel: NameIn<Declared>, seq: number): Promise<Stored> =>
    this.#store(channel, 'change', { seq })

  /**
   * Calls `listener` with each message that is stored from now on, whoever sent it, on the channels that
   * `pattern` names: one, or a prefix and `*`. In the channel's order; a promise that it returns is not
   * waited for. Each server and worker of the log calls its own. Returns the function that ends this.
   */
  readonly on = <Data = unknown>(pattern: string, listener: MessageListener<Data>): (() => void) => {
    this.#channels.mustDeclare('on', pattern)
    return this.#messageListeners.add(pattern, listener as MessageListener)
  }

  #tell(message: Message, cursor: string): void {
    // The server's own channels, and the end of one, are no messages.
    if (!isChannelName(message.channel) || message.kind === 'erasure') return
    this.#messageListeners.tell(message.channel, () => receivedFrom(message, cursor))
  }

  /** Yields the messages stored after a number, in order; ends at the newest. */
  readonly read: Declaring<Declared>['read'] = (channel, { after = 0 } = {}) => this.#read(channel, after)

  async *#read<Data>(channel: string, after: number): AsyncGenerator<Received<Data>> {
    this.#mustNotBeDocument(channel)
    const { log, health } = this.#engine.current
    for await (const { messages, cursor } of pagesAfter(log, channel, {
      after: numberIn('after', after, 0),
      isWhole: this.#channels.isWhole(channel),
      mayRead: () => health.mustBeCurrent(),
    }))
      yield* received<Data>(messages, cursor)
  }

  /**
   * The newest messages stored before a number, in order: 50 of them, or `limit`, which is at most 500, and
   * fewer if they exceed a megabyte. `hasEarlier` says whether to ask for those before them; a client that was
   * sent the newest continues at `cursor`.
   */
  readonly readBack: Declaring<Declared>['readBack'] = async (channel, options = {}) => {
    refuseOthers('readBack', options, ['before', 'limit'])
    this.#mustNotBeDocument(channel)
    this.#channels.mustHaveMessages(channel)
    const { log, health } = this.#engine.current
    health.mustBeCurrent()
    const { messages, cursor, hasEarlier } = await pageBefore(log, channel, options)
    return { messages: received<never>(messages, cursor), cursor: formatCursor(cursor), hasEarlier }
  }

  /**
   * The channels that have messages and whose names begin with `prefix`, those with the newest message
   * first: 100 of them, or `limit`. For the next ones, `before` is the `newest` of the last.
   */
  readonly channels = async (
    options: { readonly prefix?: string; readonly before?: number; readonly limit?: number } = {},
  ): Promise<readonly ChannelInfo<NameIn<Declared>>[]> => {
    refuseOthers('channels', options, ['prefix', 'before', 'limit'])
    const { prefix = '', before = Number.MAX_SAFE_INTEGER, limit = 100 } = options
    const count = numberIn('limit', limit, 1)
    const { log } = this.#engine.current
    const found = await log.channels(prefix, numberIn('before', before, 0), count)
    return found.flatMap(({ name, head, messages, bytes }) =>
      isChannelName(name) ? { name: name as NameIn<Declared>, newest: head, messages, bytes } : [],
    )
  }

  /**
   * A copy of the stored document; empty if nothing is stored. Rejects with a `Refusal`: 400 `bad-channel` if
   * the channel is not a document, 422 `too-costly` if it takes too much to read.
   */
  readonly document = async (channel: NameIn<Declared>): Promise<Doc> => {
    this.#mustBeDocument(channel)
    const { log, documents, health } = this.#engine.current
    if (!documents) throw new Error('Documents are served without threads.')
    health.mustBeCurrent()
    return documents.read(log, channel)
  }

  /**
   * The updates that made a document, in order, from the oldest that is kept. Those folded before
   * come first, as one update. Rejects with a `Refusal`: 400 `bad-channel` if it is not a document,
   * 410 `history-erased` if the log has meanwhile folded updates that were not read yet.
   */
  readonly history = (channel: NameIn<Declared>): AsyncGenerator<DocumentUpdate> => this.#history(channel)

  async *#history(channel: string): AsyncGenerator<DocumentUpdate> {
    this.#mustBeDocument(channel)
    const { log, health } = this.#engine.current
    for (let after: Cursor | null = null, isFirst = true; isFirst || after; isFirst = false) {
      health.mustBeCurrent()
      const portion: HistoryPortion | null = await readHistory(log, channel, after)
      if (!portion)
        throw new Refusal(
          'history-erased',
          `The log has joined updates of "${channel}" meanwhile; begin again.`,
        )
      const { base, updates, next } = portion
      for (const update of base ? [base, ...updates] : updates) yield documentUpdate(update)
      after = next === null ? null : parseCursor(next)
    }
  }

  /**
   * A portion of the same, as JSON for a client: `base`, the updates folded before `updates`, or null; `next`,
   * to be given as `after` for the next portion, null at the end. Resolves to null if the log has folded
   * updates after `after`: begin again.
   */
  readonly readHistory = async (
    channel: NameIn<Declared>,
    { after = null }: { readonly after?: string | null } = {},
  ): Promise<HistoryPortion | null> => {
    this.#mustBeDocument(channel)
    const { log, health } = this.#engine.current
    health.mustBeCurrent()
    return readHistory(log, channel, parseCursor(after))
  }

  /**
   * The threads that read documents and sent updates, beside the event loop. `Own` are the tasks of
   * the module `documents.tasks`.
   */
  readonly documentThreads = <Own extends Tasks = Tasks>(): DocumentThreads<Own> => {
    const { documents } = this.#engine.current
    if (!documents) throw new Error('documentThreads: no channel is a document.')
    const { documents: stored, sent } = documents as unknown as Readonly<
      Record<'documents' | 'sent', Documents<Own>>
    >
    return { stored, sent }
  }

  /**
   * Copies the log into a new file while the server runs, in a thread of its own. Resolves to the number
   * of the newest message in it. Rejects if the log is not in a file, or the new file exists. To restore the copy,
   * put it as `log.db` into the empty folder of a stopped server.
   */
  readonly backup = async (file: string): Promise<number> => {
    if (this.#folder === '')
      throw new Error('backup: the log is not in a file; copy it by the means of its broker.')
    return copyLog(this.#folder, file)
  }

  /**
   * Erases what is stored on a channel, and makes room for another. Clients that follow it continue, and their next
   * message begins it anew. Resolves to false if there was nothing, or something was published meanwhile.
   */
  readonly deleteChannel = async (channel: NameIn<Declared>): Promise<boolean> => {
    this.#channels.ruleFor(channel)
    const { log } = this.#engine.current
    const head = log.heads().get(channel)
    if (head === undefined) return false
    await log.append(erasureOf(channel, head, this.#now()), this.#now())
    return !log.heads().has(channel)
  }

  /**
   * Ends all access that the user has so far, at every server of the log: streams and polls end, and
   * earlier tickets are refused, also by a server that starts later. From now on, `authorize` decides.
   * Resolves once the revocation is stored; rejects if the log cannot store it.
   */
  readonly revoke = async (user: string): Promise<void> => {
    if (this.#isOpen)
      throw new Error("revoke: there are no users, since everyone is served (authorize: 'everyone').")
    const revoked = [{ user: checkUser('revoke: user', user) }]
    await this.#engine.current.hub.publish({
      id: this.#nextId(),
      channel: revocationsChannel,
      kind: 'revocation',
      from: applicationName,
      at: this.#now(),
      body: { revoked },
    })
  }

  /**
   * Ends the streams and polls of a user, or of the client with this name (`from` in its messages),
   * at every server of the log. They reconnect if `authorize`, or a ticket that they have, allows it.
   */
  readonly disconnect = (who: Who): void => {
    this.#engine.current.hub.end(checkWho(who), true)
  }

  /** Asks clients to leave, within `drainMs`, and closes the log. Idempotent. */
  readonly close = async ({ drainMs = this.#drainMs }: { readonly drainMs?: number } = {}): Promise<void> => {
    await this.#engine.close(drainMs)
  }

  /** For messages that the application publishes without an id of their own. */
  #nextId(from = applicationName): string {
    this.#ids += 1
    return `${from}-${newEpoch(Math.random)}.${this.#ids}`
  }

  #mustBeDocument(channel: string): void {
    if (!this.#channels.isDocument(channel))
      throw new Refusal('bad-channel', `"${channel}" is not of the kind yjs.`)
  }

  #mustNotBeDocument(channel: string): void {
    if (this.#channels.isDocument(channel))
      throw new Refusal('bad-channel', `"${channel}" is a document: read it by document().`)
  }
}

/** Messages as an application gets them, without those of the log itself. */
/** The log does not know what the schema returned. */
function received<Data>(messages: readonly Message[], head: Cursor): Received<Data>[] {
  return messages.flatMap((message) =>
    // Changed messages come as they are now.
    message.kind === 'erasure' || message.kind === 'change'
      ? []
      : receivedFrom(message, formatCursor({ ...head, seq: message.seq })),
  )
}

function receivedFrom<Data>(message: Message, cursor: string): Received<Data> {
  const { id, channel, kind, seq, at, acceptedAt, from } = message
  const user = writerOf(message) ?? undefined
  const envelope = { id, channel, kind, seq, at, acceptedAt, cursor, from, user }
  // A copy: the application may change it.
  if (!isKind(message, 'json')) return { ...envelope, data: structuredClone(message.body) as Data }
  const body = message.body instanceof KeptJson ? message.body.parse() : structuredClone(message.body)
  const { changedAt } = body
  const data = dataIn(body) as Data
  return changedAt === undefined ? { ...envelope, data } : { ...envelope, data, changedAt }
}

/** Throws an `Error` unless it is one user or one client. */
function checkWho(who: Who): Who {
  const [name, ...others] = Object.keys(Object(who))
  if ((name !== 'user' && name !== 'client') || others.length > 0)
    throw new Error(`disconnect: it takes { user } or { client }, not ${JSON.stringify(who)}.`)
  checkUser(`disconnect: ${name}`, 'user' in who ? who.user : who.client)
  return who
}
