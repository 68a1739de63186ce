// Messages from clients: one per POST, or frames in a stream; checked, stored and acknowledged.

import { channel } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ParameterizedContext } from 'koa'
import { z } from 'zod'
import { admitAwareness, admitDraft, idOf } from '../hub/admission.ts'
import type { Hub } from '../hub/hub.ts'
import { Delivery, type Subscriber } from '../hub/subscriber.ts'
import { output } from '../output.ts'
import { counted, Refusal } from '../refusal.ts'
import { fingerprintFor, type Grant, hasEnded, refuseName, refuseWriting } from '../security/access.ts'
import { grantOf } from '../security/middleware.ts'
import type { DownFrame, Draft, UpFrame } from '../wire/messages.ts'
import type { Timers } from '../wire/time.ts'
import { type Body, connectionOf, mostBytesFor, tooLargeFor } from './bodies.ts'
import type { Source } from './budget.ts'
import { admitOwner, type Mounting, queryOf, type TransportLimits } from './transport.ts'

/** A frame has arrived, with its stream; a draft was admitted, with the request or stream it came by. */
const diagnostics = { arrived: channel('crosswind:arrived'), admitted: channel('crosswind:admitted') }

const mostBeatBytes = 16_384
const mostAwarenessBytes = 1024

type UplinkParts = Pick<Mounting, 'router' | 'hub' | 'bodies'>

export const messagesPath = '/api/messages'

/** A message by POST, over either version of HTTP. */
interface Posted {
  readonly query: string
  readonly contentType: string
  readonly length: string | undefined
  /** Its body; also what the lab's stamps know it by. */
  readonly source: Body
  readonly connection: object
  readonly grant: Grant
}

/** Returns what takes a message from a stream of HTTP/2. */
export function mountUplink({ router, hub, bodies }: UplinkParts) {
  const failures = new WeakMap<object, unknown>()
  /** The last query of each connection, and what its key proves: a window sends the same with each message. */
  const proofs = new WeakMap<object, { readonly query: string; readonly fingerprint: string | null }>()

  function fingerprintIn(query: string, connection: object): string | null {
    const known = proofs.get(connection)
    if (known?.query === query) return known.fingerprint
    const fingerprint = fingerprintFor(new URLSearchParams(query))
    proofs.set(connection, { query, fingerprint })
    return fingerprint
  }

  async function takePosted({
    query,
    contentType,
    length,
    source,
    connection,
    grant,
  }: Posted): Promise<string> {
    const fingerprint = fingerprintIn(query, connection)
    mustBeType(contentType, 'Messages', 'application/json')
    const draft = admitDraft(parseJson(await bodies.text(source, grant, { length })))
    mayPublish(draft, fingerprint, grant)
    refuseHaste(hub.waitMs(connection, draft.from), draft.id)
    if (diagnostics.admitted.hasSubscribers) diagnostics.admitted.publish({ id: draft.id, source })
    const stored = await hub.publish(draft, { connection, invitation: grant.invitation })
    // Node flushes at the end of a turn: the subscribers' bytes go first.
    await nextTurn()
    return JSON.stringify(stored)
  }

  router.post(messagesPath, async (ctx) => {
    const failure = 'stream' in ctx.req && failures.get(ctx.req.stream as object)
    if (failure) throw failure
    const json = await takePosted({
      query: ctx.querystring,
      contentType: ctx.get('Content-Type'),
      length: ctx.req.headers['content-length'],
      source: ctx.req,
      connection: connectionOf(ctx.req),
      grant: grantOf(ctx),
    })
    answer(ctx, json)
  })

  router.post('/api/heartbeat', async (ctx) => {
    const { window } = admitOwner(queryOf(ctx))
    const text = await bodies.text(ctx.req, grantOf(ctx), { mostBytes: mostBeatBytes })
    hub.heard(window, text === '' ? undefined : admitBeat(parseJson(text)))
    ctx.status = 204
  })

  router.post('/api/awareness', async (ctx) => {
    const { window, opening } = admitOwner(queryOf(ctx))
    mustBeOfType(ctx, 'States', 'application/json')
    const text = await bodies.text(ctx.req, grantOf(ctx), { mostBytes: mostAwarenessBytes })
    const report = admitAwareness(parseJson(text))
    refuseHaste(hub.waitMs(connectionOf(ctx.req), window), null)
    hub.show(window, report, opening)
    ctx.status = 204
  })

  router.post('/api/leave', (ctx) => {
    const { window, opening } = admitOwner(queryOf(ctx))
    hub.left(window, opening)
    ctx.status = 204
  })

  /** As the route does, with its answer as JSON. If it rejects, the route refuses that stream's request with the reason. */
  return async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, grant: Grant): Promise<string> => {
    try {
      const { ':path': path = '', 'content-type': contentType = '', 'content-length': length } = headers
      const query = path.slice(messagesPath.length)
      return await takePosted({
        query,
        contentType,
        length,
        source: stream,
        connection: connectionOf(stream),
        grant,
      })
    } catch (error) {
      failures.set(stream, error)
      throw error
    }
  }
}

/** Throws a `Refusal` (429 `too-fast`) if there is anything to wait for. */
export function refuseHaste(waitMs: number, id: string | null): void {
  if (waitMs === 0) return
  const sentence = `This window sends faster than it may (limits.messagesPerSecond); try again in ${waitMs} ms.`
  throw new Refusal(429, 'too-fast', sentence, id, waitMs)
}

/** Throws a `Refusal` (415 `wrong-type`). Not ctx.is(): it treats an HTTP/2 body without a length as absent. */
export function mustBeOfType(ctx: ParameterizedContext, what: string, type: string): void {
  mustBeType(ctx.get('Content-Type'), what, type)
}

function mustBeType(given: string, what: string, type: string): void {
  if (given === type || given.split(';', 1)[0] === type) return
  throw new Refusal(415, 'wrong-type', `${what} are sent as ${type}, not as ${given || 'nothing named'}.`)
}

/** Throws a `Refusal` (403). */
export function mayPublish({ id, from, channel }: Draft, fingerprint: string | null, grant: Grant): void {
  const refusal = refuseName(from, fingerprint, id) ?? refuseWriting(grant, channel, id)
  if (refusal) throw refusal
}

/** Bypasses Koa's response, which costs as much as the rest of the request. */
function answer(ctx: ParameterizedContext, json: string): void {
  ctx.respond = false
  const response: ServerResponse = ctx.res
  response.statusCode = 200
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
  response.setHeader('Content-Length', Buffer.byteLength(json))
  response.end(json)
}

/** The largest `channelsPerWindow` that the settings allow. */
const mostChannels = 1000

/** zod's own record leaves out `__proto__`, which a page may be named. */
const countsSchema = z.custom<Readonly<Record<string, number>>>((given) => {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false
  const entries = Object.entries(given)
  const isCount = (value: unknown) =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 100_000
  return (
    entries.length <= mostChannels && entries.every(([page, count]) => page.length <= 64 && isCount(count))
  )
})

const beatSchema = z.object({ windows: countsSchema.optional() })

/** Undefined for a plain heartbeat. Throws a `Refusal` (400 `bad-shape`). */
function admitBeat(given: unknown): Readonly<Record<string, number>> | undefined {
  const parsed = beatSchema.safeParse(given)
  if (parsed.success) return parsed.data.windows
  throw new Refusal(400, 'bad-shape', 'A heartbeat may say "windows": how many, by their first channel.')
}

interface InboundParts {
  readonly hub: Pick<Hub, 'waitMs' | 'refused' | 'heard' | 'publish' | 'show'>
  readonly timers: Timers
  readonly limits: Pick<TransportLimits, 'maxMessageBytes' | 'bodySeconds'>
  readonly grant: Grant
  /** Counts as the sender, for the rate limit and heartbeats. */
  readonly window: Subscriber
  /** Of the stream's key. */
  readonly fingerprint: string | null
  /** Takes the answers; null when it has ended. */
  readonly stream: () => Pick<Subscriber, 'send' | 'isBehind' | 'isClosed'> | null
  /** Paused for backpressure, instead of a refusal. */
  readonly source: Source
}

/** A function answers a PING; null for a frame that nothing answers. */
type Received = string | Refusal | (() => void) | null

const lookAgainMs = 50

/** For a client to repeat what the log refused, beyond the time that it was told to wait. */
const repeatWithinMs = 5000

/** Processes frames of one stream in order, with rate limit and backpressure. */
export function createInboundFrames(parts: InboundParts) {
  const { hub, timers, limits, grant, window, fingerprint, stream, source } = parts
  // Frames already read before the pause: at most one read.
  let held: Received[] = []
  let stopTimer: (() => void) | null = null
  let isPaused = false
  let hasBeaten = false
  /** The last answer that waits, for the log or for those before it. */
  let answered: Promise<void> | null = null
  /** Refused by the log, and to be repeated: until then what the client had sent after it must not overtake it. */
  let awaited: { readonly id: string; readonly refusal: Refusal; readonly endsAt: number } | null = null

  /** Every frame counts, since each is parsed and answered. */
  const waitMsOf = () => (stream()?.isBehind ? lookAgainMs : hub.waitMs(window))

  function hold(waitMs: number): void {
    stopTimer = timers.later(takeHeld, waitMs)
    if (!isPaused) source.pause()
    isPaused = true
  }

  function takeHeld(): void {
    stopTimer = null
    for (let frame = held[0]; frame !== undefined; frame = held[0]) {
      const waitMs = waitMsOf()
      if (waitMs > 0) return void hold(waitMs)
      held.shift()
      takeNow(frame)
    }
    if (isPaused) source.resume()
    isPaused = false
  }

  function takeNow(received: Received): void {
    // `ws` goes on reading after `bye` until its peer closes too. Nothing of that is acknowledged.
    if (stream()?.isClosed || hasEnded(grant, timers.now())) return
    // Its heartbeats wait in this queue: earlier frames count as signs of life.
    if (hasBeaten) hub.heard(window)
    if (received === null) return
    if (typeof received === 'function') return void received()
    try {
      if (received instanceof Refusal) throw received
      const frame = frameIn(received)
      if (frame.type === 'heartbeat') {
        hub.heard(window, admitBeat(frame))
        hasBeaten = true
      }
      // Immediately: it acknowledges nothing, and would age in the queue.
      else if (frame.type === 'clock') say(answerClock(frame, timers.now()))
      else if (frame.type === 'awareness') show(frame)
      else publish(frame.message, Buffer.byteLength(received))
    } catch (error) {
      if (typeof received === 'string') hub.refused(window, received.length)
      answerInTurn(refusalFor(error))
    }
  }

  function show({ type: _, ...report }: Extract<UpFrame, { type: 'awareness' }>): void {
    hub.show(window, admitAwareness(report))
  }

  function publish(message: unknown, bytes: number): void {
    if (bytes > mostBytesFor(grant, limits)) throw tooLargeFor(grant, limits, idOf(message))
    const draft = admitDraft(message)
    mayPublish(draft, fingerprint, grant)
    if (awaited && awaited.id !== draft.id && timers.now() < awaited.endsAt)
      throw awaited.refusal.about(draft.id)
    awaited = null
    if (diagnostics.admitted.hasSubscribers) diagnostics.admitted.publish({ id: draft.id, source })
    const stored = hub.publish(draft, window.identity.holder)
    const refused = (error: unknown) => {
      hub.refused(window, bytes)
      if (error instanceof Refusal && error.code.startsWith('log-'))
        awaited ??= {
          ...{ id: draft.id, refusal: error },
          endsAt: timers.now() + (error.retryAfterMs ?? 0) + repeatWithinMs,
        }
      return refusalFor(error, draft.id)
    }
    answerInTurn(stored instanceof Promise ? stored.catch(refused) : stored)
  }

  /** Keeps responses in order: storing may be slower than refusing. */
  function answerInTurn(said: DownFrame | Promise<DownFrame>): void {
    if (!answered && !(said instanceof Promise)) return void say(said)
    const turn = Promise.resolve(answered)
      .then(async () => say(await said))
      .catch((error) => output.incident('frame-failed', 'A frame could not be answered', error))
      .finally(() => {
        if (answered === turn) answered = null
      })
    answered = turn
  }

  function say(frame: DownFrame): void {
    stream()?.send(new Delivery(frame))
  }

  return {
    take(frame: Received): void {
      diagnostics.arrived.publish(source)
      const waitMs = held.length > 0 ? 0 : waitMsOf()
      if (held.length === 0 && waitMs === 0) return void takeNow(frame)
      held.push(frame)
      if (waitMs > 0) hold(waitMs)
    },
    stop(): void {
      stopTimer?.()
      stopTimer = null
      held = []
    },
  }
}

const againAfterMs = 1000

function refusalFor(error: unknown, id: string | null = null): DownFrame {
  if (error instanceof Refusal) return counted(error).toJSON()
  output.incident('frame-failed', 'A frame could not be taken', error)
  // A retry may succeed: the disk may have been full.
  const again = id === null ? null : againAfterMs
  return counted(new Refusal(500, 'internal', 'The server failed on that frame.', id, again)).toJSON()
}

/** Its type only; the rest is unchecked. */
function frameIn(text: string): UpFrame {
  const frame = parseJson(text)
  if (typeof frame === 'object' && frame !== null && 'type' in frame) {
    if (frame.type === 'heartbeat' || frame.type === 'clock' || frame.type === 'awareness')
      return frame as UpFrame
    if (frame.type === 'publish' && 'message' in frame) return frame as UpFrame
  }
  const forms =
    '{"type":"publish","message":{…}}, {"type":"heartbeat"}, {"type":"clock","at":…} or {"type":"awareness","state":…}'
  throw new Refusal(400, 'bad-frame', `A frame is ${forms}.`)
}

/** `now` is both receipt and response, ms since the epoch. */
function answerClock({ at }: { readonly at?: unknown }, now: number): DownFrame {
  if (Number.isFinite(at)) return { type: 'clock', sent: at as number, received: now, at: now }
  throw new Refusal(400, 'bad-shape', 'Who asks for the time says "at": its own, in ms since the epoch.')
}

/** Throws a `Refusal` (400 `not-json`). */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const why = String(cause).replace(/^SyntaxError: /, '')
    throw new Refusal(400, 'not-json', `The message is not JSON: ${why}.`)
  }
}
