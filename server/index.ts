// The server's library: windows in step on an application's own HTTP server.

import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createApp } from './app.ts'
import { defaultConfig } from './config/schema.ts'
import { type AnyServer, attach } from './http/attach.ts'
import { GuestConnections } from './http/connections.ts'
import { requestTaker } from './http/requests.ts'
import { connectTaker, upgradeTaker } from './http/websockets.ts'
import { admitJson, applicationName } from './hub/admission.ts'
import { Hub, silentMeter } from './hub/hub.ts'
import { type Log, type LogLimits, newEpoch } from './log/log.ts'
import { createMemoryLog } from './log/memory-log.ts'
import { type Durability, openSqliteLog } from './log/sqlite-log.ts'
import { output } from './output.ts'
import { processTimers } from './process.ts'
import { fingerprintFor, openGrant, refuseReading } from './security/grants.ts'
import { grantOf } from './security/middleware.ts'
import { type Authorize, matches, sessionPath, TicketGate } from './security/tickets.ts'
import { type Mounting, queryOf } from './transports/transport.ts'
import { parseJson } from './transports/uplink.ts'
import {
  type Draft,
  formatCursor,
  isChannelName,
  isKind,
  pageOfOverview,
  probesChannel,
  windChannel,
} from './wire/messages.ts'
import { Refusal } from './wire/refusal.ts'

export { serverOptions } from './http/server-options.ts'
export type { Authorize, Permit } from './security/tickets.ts'

/** Of a channel, or of all whose names begin with what stands before a final `*`. */
export interface ChannelRule {
  readonly kind: 'json'
  /** Throws, or returns a sentence, if a client may not publish this. */
  readonly check?: (data: unknown) => string | undefined
}

export interface CrosswindOptions {
  /** Where its endpoints are, such as `/realtime`. */
  readonly path: string
  readonly channels: Readonly<Record<string, ChannelRule>>
  /**
   * Whom it serves, and with what; null refuses. Asked when a client begins, and before its permit
   * ends. Required: nothing is open by omission.
   */
  readonly authorize: 'everyone' | Authorize
  /**
   * Signs tickets, at least 32 characters. Servers behind one address need the same; by default each
   * process makes its own.
   */
  readonly secret?: string
  /**
   * Where messages are stored: in memory, the default, or in a file `log.db` of a folder, where they
   * survive a killed process. With `durability: 'machine'` also a power cut.
   */
  readonly storage?:
    | 'memory'
    | { readonly kind: 'sqlite'; readonly folder: string; readonly durability?: Durability }
  /** Interval of heartbeats, ms; a client that misses two has left. */
  readonly heartbeatMs?: number
  /** Origins of pages on other hosts that may use it, such as `https://wind.example.org`. */
  readonly allowedOrigins?: readonly string[]
  readonly onFailure?: (error: unknown) => void
}

export interface Stored {
  readonly seq: number
}

export interface Received<Data = unknown> {
  readonly id: string
  readonly channel: string
  readonly seq: number
  /** The sender's name. */
  readonly from: string
  readonly data: Data
}

const hourMs = 3_600_000
const leastSecret = 32

const report = (error: unknown) => output.incident('stream-failed', 'A stream or the log failed', error)

/** Throws an `Error` that names the option that does not fit. */
export async function createCrosswind(options: CrosswindOptions) {
  const { path, allowedOrigins = [], heartbeatMs = defaultConfig.heartbeatMs, onFailure = report } = options
  checkOptions(options)
  const rules = Object.entries(options.channels)
  const { limits, polling } = defaultConfig
  const timers = processTimers
  const logLimits: LogLimits = {
    messages: limits.logMessages,
    bytes: limits.logBytes,
    ageMs: limits.logHours * hourMs,
    maxChannels: limits.maxChannels,
  }
  const logParts = { limits: logLimits, now: timers.now, random: Math.random, onFailure }
  const log = openLog(options.storage ?? 'memory', logParts)
  const hub = new Hub({
    ...{ log, timers, random: Math.random, onFailure, mayLead: true, meter: silentMeter },
    settings: { ...limits, heartbeatMs },
  })
  const gate =
    options.authorize === 'everyone'
      ? null
      : new TicketGate({
          ...{ authorize: options.authorize, now: timers.now },
          secret: options.secret ?? randomBytes(32).toString('base64url'),
        })
  const origins = { ports: () => [], allowedOrigins }
  let published = 0

  function ruleOf(channel: string): ChannelRule | undefined {
    return rules.find(([pattern]) => matches(pattern, channel))?.[1]
  }

  function admitDraft(given: unknown): Draft<'json'> {
    const draft = admitJson(given)
    const rule = ruleOf(draft.channel)
    if (!rule) throw unknownChannel(draft)
    const fault = rule.check?.(draft.body.data)
    if (fault !== undefined) throw new Refusal('bad-shape', fault, draft.id)
    return draft
  }

  const app = createApp({
    ...{ hub, timers, heartbeatMs, holdMs: polling.holdMs, limits, admitDraft },
    access: gate ?? { grantFor: async () => openGrant },
    origins,
    mount: (mounting) => mountRoutes(mounting, { log, gate }),
  })
  const connections = new GuestConnections({ ...limits, heartbeatMs }, timers)
  const parts = { app, connections, settings: limits, origins }
  const takers = {
    takeRequest: requestTaker(parts),
    takeUpgrade: upgradeTaker(parts),
    takeConnect: connectTaker(parts),
  }

  return {
    /**
     * Serves what is below `path`: requests, WebSockets and, over HTTP/2, extended CONNECT. All else
     * goes to the listeners that the server has; those added later receive everything.
     */
    attach(server: AnyServer, how: { readonly requests?: boolean } = {}): void {
      attach(server, path, takers, how)
    },
    /** Resolves once it is stored and sent. `id`: the same one with the same data is stored once. */
    async publish(channel: string, data: unknown, { id }: { readonly id?: string } = {}): Promise<Stored> {
      published += 1
      const name = `${applicationName}-${id ?? `${newEpoch(Math.random)}.${published}`}`
      const draft = {
        id: name,
        channel,
        kind: 'json',
        from: applicationName,
        at: timers.now(),
        body: { data },
      } as const
      if (!ruleOf(channel)) throw unknownChannel(draft)
      const { seq } = await hub.publish(draft)
      return { seq }
    },
    /** What is stored after a number, in order; ends at the newest. */
    async *read(channel: string, { after = 0 } = {}): AsyncGenerator<Received> {
      const channels = new Set([channel])
      const { head } = await log.snapshot(channels)
      for (let cursor = { ...head, seq: after }; cursor.seq < head.seq; ) {
        const { messages, reached } = await log.read(cursor, channels)
        for (const message of messages)
          if (isKind(message, 'json')) {
            const { id, seq, from, body } = message
            yield { id, channel, seq, from, data: body.data }
          }
        if (reached.seq <= cursor.seq) return
        cursor = reached
      }
    },
    async close({ drainMs = 5000 } = {}): Promise<void> {
      await hub.drain(drainMs)
      connections.stopWatching()
      await log.close()
    },
  }
}

/** Throws an `Error` that names the file if it cannot be used. */
function openLog(
  storage: NonNullable<CrosswindOptions['storage']>,
  parts: Omit<Parameters<typeof openSqliteLog>[0], 'file' | 'durability'>,
): Log {
  if (storage === 'memory') return createMemoryLog({ ...parts, epoch: newEpoch(parts.random) })
  const { folder, durability = 'process' } = storage
  mkdirSync(folder, { recursive: true })
  return openSqliteLog({ ...parts, durability, file: join(folder, 'log.db') })
}

/** Throws a `Refusal`: 400 `not-json` or `bad-shape`. */
function sessionBody(text: string): { readonly token?: string | null } {
  const given: unknown = text === '' ? {} : parseJson(text)
  const token = given instanceof Object && 'token' in given ? given.token : null
  if (token === null || typeof token === 'string') return { token }
  throw new Refusal('bad-shape', 'A session is {"token": "…"}, or nothing for the application’s cookie.')
}

interface Served {
  readonly log: Log
  /** Null if everyone is served. */
  readonly gate: TicketGate | null
}

function mountRoutes({ router, bodies, timers }: Mounting, { log, gate }: Served): void {
  router.post(sessionPath, async (ctx) => {
    const { token = null } = sessionBody(await bodies.text(ctx.req, grantOf(ctx)))
    ctx.set('Cache-Control', 'no-store')
    ctx.body = gate
      ? await gate.ticketFor(ctx.req.headers, token, fingerprintFor(queryOf(ctx)))
      : { ticket: null, expiresAt: null }
  })
  router.get('/api/clock', (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    ctx.body = { at: timers.now() }
  })
  /** A channel's messages after a number, in portions; `newest` has none, and a cursor. */
  router.get('/api/channels/:name', async (ctx) => {
    const { name = '' } = ctx.params
    const after = String(ctx.query.after ?? 'newest')
    const channels = new Set([name])
    const refusal = refuseReading(grantOf(ctx), channels)
    if (refusal) throw refusal
    const { head } = await log.snapshot(channels)
    const isNewest = after === 'newest'
    const cursor = isNewest ? head : { ...head, seq: Number(after) || 0 }
    const { messages, reached } = isNewest
      ? { messages: [], reached: head }
      : await log.read(cursor, channels)
    ctx.set('Cache-Control', 'no-store')
    ctx.body = { messages, seq: reached.seq, cursor: formatCursor(reached) }
  })
}

function checkOptions({ path, channels, authorize, secret }: CrosswindOptions): void {
  if (!/^(\/[\w.~-]+)+$/.test(path))
    throw new Error(`createCrosswind: path is "${path}"; it must be like /realtime.`)
  if (authorize !== 'everyone' && typeof authorize !== 'function')
    throw new Error(`createCrosswind: authorize is missing; write authorize: 'everyone' for open access.`)
  if (secret !== undefined && secret.length < leastSecret)
    throw new Error(`createCrosswind: secret has ${secret.length} characters; it needs ${leastSecret}.`)
  for (const name of Object.keys(channels)) {
    const isReserved = [windChannel, probesChannel].includes(name) || pageOfOverview(name) !== null
    if (isReserved || !isChannelName(name.replace(/\*$/, 'x')))
      throw new Error(`createCrosswind: "${name}" in channels cannot name a channel.`)
  }
}

function unknownChannel({ id, channel }: Draft): Refusal {
  const sentence = `This server has no channel "${channel}"; declare it, or a prefix of it and *, in channels.`
  return new Refusal('bad-channel', sentence, id)
}
