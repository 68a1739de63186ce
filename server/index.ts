// The server's library: windows in step on an application's own HTTP server.

import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import type { Doc } from 'yjs'
import { openFilesAllowed, processTimers } from '../scripts/process.ts'
import { refuseOthers } from '../scripts/suggestion.ts'
import { createApp } from './app.ts'
import { checkEngine, type EngineSettings } from './config/engine-settings.ts'
import { Health } from './health.ts'
import { type AnyServer, attach, handlersBelow, type Takers } from './http/attach.ts'
import { GuestConnections, mostHeaderBytes } from './http/connections.ts'
import { fittingConnections, mostSockets } from './http/open-files.ts'
import { requestTaker } from './http/requests.ts'
import { connectTaker, upgradeTaker } from './http/websockets.ts'
import { applicationName } from './hub/admission.ts'
import { Hub, silentMeter } from './hub/hub.ts'
import type { Who } from './hub/subscriber.ts'
import { numberIn, pageAfter, pageBefore, pagesAfter, wholeOf } from './library/channel-pages.ts'
import { acceptRepeats, type ChannelRule, Channels } from './library/channels.ts'
import { jsonOf } from './library/validation.ts'
import { erasureOf } from './log/expiries.ts'
import { messageText, parsed, writerOf } from './log/kept-json.ts'
import { type Log, newEpoch } from './log/log.ts'
import { openLog } from './log/open-log.ts'
import type { Durability } from './log/sqlite-log.ts'
import { output } from './output.ts'
import { renewing } from './renewing.ts'
import { fingerprintFor, mustLast, openGrant, refuseReading } from './security/grants.ts'
import { grantOf } from './security/middleware.ts'
import { type Authorize, checkUser } from './security/permits.ts'
import { Revocations, revocationsChannel } from './security/revocations.ts'
import { sessionPath, TicketGate } from './security/tickets.ts'
import { type Mounting, queryOf } from './transports/transport.ts'
import { parseJson } from './transports/uplink.ts'
import {
  type Cursor,
  type Draft,
  formatCursor,
  isChannelName,
  isKind,
  type JsonMessage,
  type Kind,
  type Message,
} from './wire/messages.ts'
import { Refusal } from './wire/refusal.ts'

export type {
  ChannelType,
  Content,
  Expiry,
  Fold,
  Gate,
  Keep,
  KindRules,
  Prepare,
  Store,
} from './channels/channel-type.ts'
export type { Check, Misfit } from './channels/shapes.ts'
export { serverOptions } from './http/server-options.ts'
export type { ChannelRule, JsonRule, YjsRule } from './library/channels.ts'
export type { StandardSchema } from './library/standard-schema.ts'
export type { Authorize, Permit } from './security/permits.ts'
// A star: an application adds the kinds of its types to `Bodies` by declaration merging.
export type * from './wire/bodies.ts'
export { Refusal } from './wire/refusal.ts'

export type Storage =
  | 'memory'
  /** A file `log.db` of a folder: survives a killed process, with `machine` also a power cut. */
  | { readonly kind: 'sqlite'; readonly folder: string; readonly durability?: Durability }
  /** A stream of NATS JetStream, shared by several servers. */
  | {
      readonly kind: 'nats'
      /** `host:port` of any servers of the cluster. */
      readonly servers: readonly string[]
      /** Its name; default `crosswind`. */
      readonly stream?: string
      /** Copies of a new stream. Default: three in a cluster of at least three, otherwise one. */
      readonly replicas?: number
      /** Credentials of a NATS user (.creds). */
      readonly credentialsFile?: string
    }
  /** A queue of Amazon SQS, which each message passes before it is stored in a folder as above. */
  | {
      readonly kind: 'sqs'
      readonly folder: string
      readonly durability?: Durability
      /** Created if missing, as is one with the suffix `-dead`; default `crosswind`. */
      readonly queue?: string
      readonly region?: string
      /** Another server with SQS's API. */
      readonly endpoint?: string
    }

export interface CrosswindOptions {
  /** Where its endpoints are, such as `/realtime`. */
  readonly path: string
  readonly channels: Readonly<Record<string, ChannelRule>>
  /**
   * Returns what a client may read and write, or null to refuse it. A client with a ticket is asked
   * about when it begins and when its permit ends, one without at each request, of which a stream is
   * one. Required: nothing is open by omission.
   */
  readonly authorize: 'everyone' | Authorize
  /**
   * Signs tickets, at least 32 characters. Servers behind one address need the same; by default each
   * process makes its own.
   */
  readonly secret?: string
  /** Where messages are stored. Default: in memory. */
  readonly storage?: Storage
  /** As in docs/settings.md, such as `{ messagesPerSecond: 100 }`. */
  readonly limits?: Partial<EngineSettings['limits']>
  /** Interval of heartbeats, ms; a client that misses two has left. */
  readonly heartbeatMs?: number
  /** Origins of pages on other hosts that may use it, such as `https://wind.example.org`. */
  readonly allowedOrigins?: readonly string[]
  /**
   * Names by which clients may reach it, such as `wind.example.org`; `*` for any. Addresses,
   * `localhost`, the name of the machine and the hosts of `allowedOrigins` are always allowed. Default:
   * no others on a loopback address, elsewhere any.
   */
  readonly allowedHosts?: readonly string[]
  /** Receives errors of the log and of streams, of `validate` and `authorize`, and answers of theirs that cannot be used. */
  readonly onFailure?: (error: unknown) => void
}

export interface Stored {
  readonly seq: number
}

export interface Received<Data = unknown> extends JsonMessage<Data> {
  /** `json`, or a kind of the channel's type: `data` is then its body. */
  readonly kind: Kind
}

/** A channel that has messages. */
export interface ChannelInfo {
  readonly name: string
  /** The number of its newest message. */
  readonly newest: number
  /** How many are kept, and the size of what was published, as JSON. */
  readonly messages: number
  readonly bytes: number
}

const leastSecret = 32

/** Of a long poll: its client asks for less if it wants less. Many proxies cut an answer after 30 s. */
const longestHoldMs = 25_000

const report = (error: unknown) =>
  output.incident('stream-failed', 'A stream, the log, a schema or `authorize` failed', error)

/**
 * Rejects with an `Error` that names the option that does not fit, the file that cannot be used, or
 * what NATS denies. Waits for NATS, and prints that it does.
 */
export async function createCrosswind(options: CrosswindOptions) {
  checkOptions(options)
  output.trace(process.env.CROSSWIND_DEBUG)
  const { path } = options
  const openFiles = openFilesAllowed()
  const settings = fittingTo(openFiles, settingsOf(options))
  const channels = new Channels(options.channels, settings, processTimers, options.onFailure ?? report)
  const watched = { ...settings.limits, ...settings, mostSockets: mostSockets(openFiles) }
  const connections = new GuestConnections(watched, processTimers)
  const { secret = randomBytes(32).toString('base64url') } = options
  const yjs = channels.haveDocuments ? await import('./document/application-documents.ts') : null
  const { current, close, lost } = await renewing((signal) =>
    serve(options, { settings, connections, channels, secret, yjs, signal }),
  )
  const failed = 'The log was replaced, and the new one could not be opened; restart the server.'
  void lost.then(() => options.onFailure?.(new Error(failed)))
  const takers = takersOf(() => current().takers)
  const nextId = createIds()
  const mustNotBeDocument = (channel: string) => {
    if (channels.isDocument(channel))
      throw new Refusal('bad-channel', `"${channel}" is a document: read it by document().`)
  }

  return {
    ...handlersBelow(path, takers.takeRequest),
    /**
     * Serves what is below `path`: requests, WebSockets and, over HTTP/2, extended CONNECT. All else
     * goes to the listeners that the server has; those added later receive everything. With
     * `requests: false`, requests reach it by `handler`, `express`, `koa` or `fastify`.
     */
    attach(server: AnyServer, how: { readonly requests?: boolean } = {}): void {
      connections.watch(server)
      attach(server, path, takers, how)
    },
    /**
     * Resolves once it is stored and sent; rejects if it does not fit the channel. `id`: the same one with the same data is stored once.
     * `user`: on whose behalf. `kind`: on a channel with a type of the application, by default the first that the type declares;
     * `data` is its body.
     */
    async publish(
      channel: string,
      data: unknown,
      {
        id,
        user,
        kind = channels.usualKind(channel),
      }: { readonly id?: string; readonly user?: string; readonly kind?: Kind } = {},
    ): Promise<Stored> {
      if (user !== undefined) checkUser('publish: user', user)
      // A copy: the application may change its own.
      const copy = JSON.parse(jsonOf(data, 'publish'))
      const draft: Draft = {
        id: id === undefined ? nextId() : `${applicationName}-${id}`,
        channel,
        kind,
        from: applicationName,
        at: processTimers.now(),
        body: kind === 'json' ? { data: copy } : copy,
      }
      const completed = await channels.complete(draft, { invitation: user ?? null }, null)
      const { seq } = await current().hub.publish(completed)
      return { seq }
    },
    /** What is stored after a number, in order; ends at the newest. */
    async *read(channel: string, { after = 0 }: { readonly after?: number } = {}): AsyncGenerator<Received> {
      mustNotBeDocument(channel)
      const { log, health } = current()
      for await (const { messages, cursor } of pagesAfter(log, channel, {
        after: numberIn('after', after, 0),
        isWhole: channels.isWhole(channel),
        mayRead: () => health.mustBeCurrent(),
      }))
        yield* received(messages, cursor)
    },
    /**
     * The newest that is stored before a number, in order: 50 of them, or `limit`, which is at most 500, and
     * fewer if they have more than a megabyte. `hasEarlier` says whether to ask for those before them.
     */
    async readBack(
      channel: string,
      options: { readonly before?: number; readonly limit?: number } = {},
    ): Promise<{ readonly messages: readonly Received[]; readonly hasEarlier: boolean }> {
      refuseOthers('readBack', options, ['before', 'limit'])
      mustNotBeDocument(channel)
      mustHaveMessages(channels, channel)
      const { log, health } = current()
      health.mustBeCurrent()
      const { messages, cursor, hasEarlier } = await pageBefore(log, channel, options)
      return { messages: received(messages, cursor), hasEarlier }
    },
    /**
     * The channels that have messages and whose names begin with `prefix`, those with the newest message
     * first: 100 of them, or `limit`. For the next ones, `before` is the `newest` of the last.
     */
    async channels(
      options: { readonly prefix?: string; readonly before?: number; readonly limit?: number } = {},
    ): Promise<readonly ChannelInfo[]> {
      refuseOthers('channels', options, ['prefix', 'before', 'limit'])
      const { prefix = '', before = Number.MAX_SAFE_INTEGER, limit = 100 } = options
      const count = numberIn('limit', limit, 1)
      const found = await current().log.channels(prefix, numberIn('before', before, 0), count)
      return found.flatMap(({ name, head, messages, bytes }) =>
        isChannelName(name) ? { name, newest: head, messages, bytes } : [],
      )
    },
    /**
     * A copy of what is stored; empty if nothing is. Rejects with a `Refusal` (400 `bad-channel`, 422
     * `too-costly`) if it is no document, or one that takes too much to read.
     */
    async document(channel: string): Promise<Doc> {
      const { log, documents, health } = current()
      if (!documents || !channels.isDocument(channel))
        throw new Refusal('bad-channel', `"${channel}" is not of the kind yjs.`)
      health.mustBeCurrent()
      return documents.read(log, channel)
    },
    /**
     * Erases what is stored on a channel, and makes room for another. Clients that follow it go on; what one of them
     * publishes begins it anew. Resolves to false if there was nothing, or something was published meanwhile.
     */
    async deleteChannel(channel: string): Promise<boolean> {
      channels.ruleFor(channel)
      const { log } = current()
      const head = log.heads().get(channel)
      if (head === undefined) return false
      await log.append(erasureOf(channel, head, processTimers.now()), processTimers.now())
      return !log.heads().has(channel)
    },
    /**
     * Ends what the user was allowed so far, at every server of the log: streams and polls end, and
     * earlier tickets are refused, also by a server that starts later. What the user is allowed from
     * now on, `authorize` says. Resolves once it is stored; rejects if the log cannot store it.
     */
    async revoke(user: string): Promise<void> {
      if (options.authorize === 'everyone')
        throw new Error("revoke: there are no users, since everyone is served (authorize: 'everyone').")
      const revoked = [{ user: checkUser('revoke: user', user) }]
      const now = processTimers.now()
      await current().hub.publish({
        id: nextId(),
        channel: revocationsChannel,
        kind: 'revocation',
        from: applicationName,
        at: now,
        body: { revoked },
      })
    },
    /**
     * Ends the streams and polls of a user, or of the client with this name (`from` in its messages),
     * at every server of the log. They come back if `authorize`, or a ticket that they have, allows it.
     */
    disconnect(who: Who): void {
      current().hub.end(checkWho(who), true)
    },
    async close({ drainMs = 5000 } = {}): Promise<void> {
      await current().hub.drain(drainMs)
      connections.stopWatching()
      await close()
    },
  }
}

/** Backwards. Throws a `Refusal` (400 `bad-query`) if older messages are joined. */
function mustHaveMessages(channels: Channels, name: string): void {
  if (!channels.isWhole(name)) return
  throw new Refusal(
    'bad-query',
    `"${name}" is read as a whole, as documents are: it cannot be read backwards.`,
  )
}

/** As an application gets them, without the log's own. */
function received(messages: readonly Message[], head: Cursor): Received[] {
  return messages.flatMap((message) => {
    const { id, channel, kind, seq, from } = message
    if (kind === 'erasure') return []
    // A copy: the application may change it.
    const body = isKind(message, 'json') ? parsed(message.body) : { data: structuredClone(message.body) }
    const user = writerOf(message) ?? undefined
    return [{ id, channel, kind, seq, cursor: formatCursor({ ...head, seq }), from, user, data: body.data }]
  })
}

/** Throws an `Error` unless it is one user or one client. */
function checkWho(who: Who): Who {
  const [name, ...others] = Object.keys(Object(who))
  if ((name !== 'user' && name !== 'client') || others.length > 0)
    throw new Error(`disconnect: it takes { user } or { client }, not ${JSON.stringify(who)}.`)
  checkUser(`disconnect: ${name}`, 'user' in who ? who.user : who.client)
  return who
}

const isFile = (storage: Storage | undefined): storage is Extract<Storage, { readonly folder: string }> =>
  storage instanceof Object && storage.kind !== 'nats'

/** Throws a `ConfigError` that names the option, its value and what is allowed. */
function settingsOf(options: CrosswindOptions): EngineSettings {
  const { limits = {}, heartbeatMs, allowedOrigins, allowedHosts, storage } = options
  const given = {
    limits,
    heartbeatMs,
    allowedOrigins: allowedOrigins && [...allowedOrigins],
    allowedHosts: allowedHosts && [...allowedHosts],
    storage: isFile(storage) ? 'sqlite' : 'memory',
  }
  if (!(storage instanceof Object)) return checkEngine(given, 'createCrosswind')
  if (storage.kind === 'nats') {
    const { kind: broker, ...nats } = storage
    return checkEngine({ ...given, broker, nats }, 'createCrosswind')
  }
  const { kind, folder: _, durability, ...sqs } = storage
  const queue = kind === 'sqs' && { broker: kind, sqs }
  return checkEngine({ ...given, durability, ...queue }, 'createCrosswind')
}

/** Those of the log in use, which may be replaced. */
function takersOf(current: () => Takers): Takers {
  return {
    takeRequest: (...given) => current().takeRequest(...given),
    takeUpgrade: (...given) => current().takeUpgrade(...given),
    takeConnect: (...given) => current().takeConnect(...given),
  }
}

/** For messages that the application publishes without an id of their own. */
function createIds(): () => string {
  let numbers = 0
  return () => {
    numbers += 1
    return `${applicationName}-${newEpoch(Math.random)}.${numbers}`
  }
}

/** Prints a warning if the system allows fewer connections. */
function fittingTo(openFiles: number, { limits, ...others }: EngineSettings): EngineSettings {
  const maxConnections = fittingConnections(limits.maxConnections, openFiles)
  return { ...others, limits: { ...limits, maxConnections } }
}

interface Lasting {
  readonly settings: EngineSettings
  readonly connections: GuestConnections
  readonly channels: Channels
  /** Signs tickets. */
  readonly secret: string
  /** Null if no channel is a document. */
  readonly yjs: typeof import('./document/application-documents.ts') | null
  readonly signal: AbortSignal
}

/** What depends on the log: replaced together with it. */
async function serve(
  { storage = 'memory', authorize, onFailure = report }: CrosswindOptions,
  { settings, connections, channels, secret, yjs, signal }: Lasting,
) {
  const { heartbeatMs, allowedOrigins, allowedHosts } = settings
  const timers = processTimers
  const random = Math.random
  const folder = isFile(storage) ? storage.folder : ''
  if (folder !== '') mkdirSync(folder, { recursive: true, mode: 0o700 })
  const documents = yjs?.openDocuments({
    limits: settings.limits,
    hasOwners: (channel) => channels.hasOwners(channel),
  })
  const opened = await openLog(settings, {
    typeOf: channels.typesWith(documents?.ledger),
    onOpened: (log) => documents?.ledger.open(log),
    now: timers.now,
    random,
    onFailure,
    signal,
    dataFolder: folder,
    roomMaking: 'erase one with crosswind.deleteChannel',
    print: (sentence) => output.say('log-awaited', sentence),
  })
  const { mostBytes = Number.POSITIVE_INFINITY, outage = () => null, lost = endless } = opened
  const limits = {
    ...settings.limits,
    maxMessageBytes: Math.min(settings.limits.maxMessageBytes, mostBytes),
  }
  const health = new Health({
    timers,
    outage,
    print: (code, sentence) => output.say(code, sentence),
    onCutOff: (sentence) => hub.sendAway(sentence),
  })
  const { log } = opened
  const hub = new Hub({
    log,
    typeOf: channels.typeOf,
    bus: opened.bus,
    timers,
    random,
    onFailure,
    meter: silentMeter,
    refusal: () => health.refusal(),
    steps: [acceptRepeats(log)],
    settings: { ...limits, heartbeatMs },
  })
  const gate =
    authorize === 'everyone'
      ? null
      : new TicketGate({
          authorize,
          secret,
          now: () => timers.now(),
          clock: () => Date.now(),
          revocations: await Revocations.follow(log, (user) => hub.end({ user })),
          onFailure,
        })
  const origins = { ports: () => [], allowedOrigins, allowedHosts }
  const app = createApp({
    hub,
    timers,
    heartbeatMs,
    holdMs: longestHoldMs,
    limits,
    admission: channels,
    access: gate ?? { grantFor: async () => openGrant },
    origins,
    mount: (mounting) => mountRoutes(mounting, { log, health, gate, channels }),
  })
  const parts = { app, connections, settings: limits, origins }
  return {
    log,
    health,
    hub,
    lost,
    documents,
    takers: {
      takeRequest: requestTaker(parts),
      takeUpgrade: upgradeTaker(parts),
      takeConnect: connectTaker(parts),
    },
    async close() {
      await hub.drain(0)
      health.stop()
      await log.close()
      await documents?.close()
    },
  }
}

const endless = new Promise<never>(() => undefined)

/** As much as the headers of a request may have, which can carry a token, too. */
const mostSessionBytes = mostHeaderBytes

/** Throws a `Refusal`: 400 `not-json` or `bad-shape`. */
function sessionBody(text: string): { readonly token?: string | null } {
  const given: unknown = text === '' ? {} : parseJson(text)
  const token = given instanceof Object && 'token' in given ? given.token : null
  if (token === null || typeof token === 'string') return { token }
  throw new Refusal('bad-shape', 'A session is {"token": "…"}, or nothing for the application’s cookie.')
}

function mountRoutes(
  { router, bodies, timers }: Mounting,
  {
    log,
    health,
    gate,
    channels,
  }: Pick<Lasting, 'channels'> & {
    readonly log: Log
    readonly health: Health
    readonly gate: TicketGate | null
  },
): void {
  router.post(sessionPath, async (ctx) => {
    const { token = null } = sessionBody(await bodies.text(ctx.req, grantOf(ctx), mostSessionBytes))
    ctx.set('Cache-Control', 'no-store')
    ctx.body = gate
      ? await gate.ticketFor(ctx.req.headers, token, fingerprintFor(queryOf(ctx)))
      : { ticket: null, expiresAt: null }
  })
  router.get('/api/clock', (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    ctx.body = { at: timers.now() }
  })
  /**
   * A channel's messages after a cursor, in portions; `newest` has none, and a cursor. A document's are
   * always all, of which the older ones may be joined.
   */
  router.get('/api/channels/:name', async (ctx) => {
    const { name = '' } = ctx.params
    const after = String(ctx.query.after ?? 'newest')
    const refusal = refuseReading(grantOf(ctx), [name])
    if (refusal) throw refusal
    const isDocument = channels.isDocument(name)
    health.mustBeCurrent()
    const { before } = ctx.query
    if (before !== undefined) mustHaveMessages(channels, name)
    const page =
      before !== undefined
        ? await pageBefore(log, name, { before, limit: ctx.query.limit })
        : await (isDocument && after !== 'newest'
            ? wholeOf(log, name)
            : pageAfter(log, name, after, channels.isWhole(name)))
    const messages = page.messages.map((message) => messageText(message)).join()
    const rest = 'hasEarlier' in page ? `"hasEarlier":${page.hasEarlier}` : `"recovered":${page.recovered}`
    mustLast(grantOf(ctx), timers.now())
    ctx.set('Cache-Control', 'no-store')
    ctx.type = 'json'
    ctx.body = `{"messages":[${messages}],"cursor":"${formatCursor(page.cursor)}",${rest}}`
  })
}

const optionNames: readonly (keyof CrosswindOptions)[] = [
  ...(['path', 'channels', 'authorize', 'secret', 'storage', 'limits'] as const),
  ...(['heartbeatMs', 'allowedOrigins', 'allowedHosts', 'onFailure'] as const),
]

const storageNames: Readonly<Record<string, readonly string[]>> = {
  sqlite: ['kind', 'folder', 'durability'],
  nats: ['kind', 'servers', 'stream', 'replicas', 'credentialsFile'],
  sqs: ['kind', 'folder', 'durability', 'queue', 'region', 'endpoint'],
}

function checkOptions(options: CrosswindOptions): void {
  const { path, authorize, secret, storage = 'memory' } = options
  refuseOthers('createCrosswind', options, optionNames)
  if (storage !== 'memory') checkStorage(storage)
  if (!/^(\/[\w.~-]+)+$/.test(path))
    throw new Error(`createCrosswind: path is "${path}"; it must be like /realtime.`)
  if (authorize !== 'everyone' && typeof authorize !== 'function')
    throw new Error(`createCrosswind: authorize is missing; write authorize: 'everyone' for open access.`)
  if (secret !== undefined && secret.length < leastSecret)
    throw new Error(`createCrosswind: secret has ${secret.length} characters; it needs ${leastSecret}.`)
}

function checkStorage(storage: Exclude<Storage, 'memory'>): void {
  const names = storageNames[storage?.kind]
  if (!names)
    throw new Error(
      `createCrosswind: storage is ${JSON.stringify(storage)}; it must be "memory", or have the kind "sqlite", "nats" or "sqs".`,
    )
  refuseOthers(`createCrosswind: storage, of the kind ${storage.kind},`, storage, names)
  if (storage.kind !== 'nats' && typeof storage.folder !== 'string')
    throw new Error(`createCrosswind: storage.folder is ${storage.folder}; it must be a path.`)
}
