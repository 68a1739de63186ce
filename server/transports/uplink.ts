// Posted messages: checked, stored and acknowledged; also heartbeats, states and departures.

import { channel } from 'node:diagnostics_channel'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { maxJsonDepth, measureJson } from '../../protocol/json-depth.ts'
import type { Draft, Refused, Stored } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { trace } from '../../protocol/trace.ts'
import { counted } from '../http/refusals.ts'
import { admitBeat, idOf } from '../hub/admission.ts'
import { fingerprintFor, type Grant, refuseName, refuseWriting } from '../security/grants.ts'
import { grantOf } from '../security/middleware.ts'
import { type AnyRequest, connectionOf } from './bodies.ts'
import { admitOwner, type Mounting, queryOf } from './transport.ts'

/**
 * Published when a frame arrives, with its stream; and when a draft is admitted, with its request
 * or stream.
 */
export const diagnostics = { arrived: channel('crosswind:arrived'), admitted: channel('crosswind:admitted') }

const maxBeatBytes = 16_384
/** Maximum size of a report without its state. */
const maxReportBytes = 1024

type UplinkParts = Pick<Mounting, 'router' | 'hub' | 'bodies' | 'admission' | 'timers' | 'limits'>

export const messagesPath = '/api/messages'

/** Newline-delimited JSON. */
const linesType = 'application/x-ndjson'

/** To one of several drafts. */
export type Answer = Stored | Refused

interface Posted {
  readonly request: AnyRequest
  readonly connection: object
  readonly fingerprint: string | null
  readonly grant: Grant
}

/** Returns the handler for posted messages, for both HTTP versions. */
export function mountUplink({ router, hub, bodies, admission, timers, limits }: UplinkParts) {
  /**
   * The last query of each connection, and the fingerprint of its key: a window sends the same
   * query with each message.
   */
  const proofs = new WeakMap<object, { readonly query: string; readonly fingerprint: string | null }>()

  function fingerprintIn(query: string, connection: object): string | null {
    const known = proofs.get(connection)
    if (known?.query === query) return known.fingerprint
    const fingerprint = fingerprintFor(new URLSearchParams(query))
    proofs.set(connection, { query, fingerprint })
    return fingerprint
  }

  /** Rejects with a `Refusal`. */
  async function handleMessage(request: AnyRequest, grant: Grant): Promise<Stored | readonly Answer[]> {
    const connection = connectionOf(request)
    const fingerprint = fingerprintIn(request.url?.split('?', 2)[1] ?? '', connection)
    const areLines = typeOf(request) === linesType
    if (!areLines) mustBeOfType(request, 'Messages', 'application/json')
    const text = await bodies.text(request, grant)
    const posted: Posted = { request, connection, fingerprint, grant }
    const answer = areLines ? await takeLines(text, posted) : await take(text, posted)
    // Node flushes at the end of a turn: let the subscribers' bytes go first.
    await nextTurn()
    return answer
  }

  /** A refusal with a retry delay ends the list: a later draft must not overtake an earlier one. */
  async function takeLines(text: string, posted: Posted): Promise<readonly Answer[]> {
    const { connection, grant } = posted
    const answers: Answer[] = []
    for (const line of text.split('\n')) {
      if (line.trim() === '') continue
      try {
        grant.mustLast(timers.now())
        // Refused lines count, too.
        refuseHaste(hub.waitMs(connection), null)
        answers.push(await take(line, posted))
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        hub.refused(connection, line.length)
        answers.push(counted(error).toJSON())
        if (error.retryAfterMs !== null || error.status === 401) break
      }
    }
    return answers
  }

  async function take(text: string, posted: Posted): Promise<Stored> {
    const { connection, grant } = posted
    let completed = admitMessage(text, posted)
    if (completed instanceof Promise) {
      completed = await completed
      grant.mustLast(timers.now())
    }
    const stored = await hub.publish(completed, { connection, account: grant.account })
    trace.uplink?.(`${stored.id} answered: stored as ${stored.seq}`)
    return stored
  }

  /**
   * Throws or rejects with a `Refusal`. A separate function, so that the parsed value is not held while
   * the log stores the message.
   */
  function admitMessage(
    text: string,
    { request, connection, fingerprint, grant }: Posted,
  ): Draft | Promise<Draft> {
    const draft = admission.draft(parseJson(text, levelsAround.body))
    trace.uplink?.(
      `${draft.id} received: ${Buffer.byteLength(text)} bytes by POST over HTTP/${request.httpVersion}, from ${draft.from}`,
    )
    mayPublish(draft, fingerprint, grant)
    refuseHaste(hub.waitMs(connection, draft.from), draft.id)
    if (diagnostics.admitted.hasSubscribers) diagnostics.admitted.publish({ id: draft.id, source: request })
    trace.uplink?.(`${draft.id} admitted to ${draft.channel}`)
    return admission.complete?.(draft, grant, connection) ?? draft
  }

  router.post(messagesPath, async (ctx) => {
    ctx.body = await handleMessage(ctx.req, grantOf(ctx))
  })

  router.post('/api/heartbeat', async (ctx) => {
    const { window } = admitOwner(queryOf(ctx))
    const text = await bodies.text(ctx.req, grantOf(ctx), maxBeatBytes)
    hub.heard(window, text === '' ? undefined : admitBeat(parseJson(text)))
    ctx.status = 204
  })

  router.post('/api/awareness', async (ctx) => {
    const { window, opening } = admitOwner(queryOf(ctx))
    mustBeOfType(ctx.req, 'States', 'application/json')
    const text = await bodies.text(ctx.req, grantOf(ctx), limits.stateBytes + maxReportBytes)
    const waitMs = hub.stateWaitMs(connectionOf(ctx.req), window)
    refuseHaste(waitMs, null, 'showing itself too fast (limits.statesPerSecond)')
    const report = admission.awareness(parseJson(text))
    hub.show(window, report, opening)
    ctx.status = 204
  })

  router.post('/api/leave', (ctx) => {
    const query = queryOf(ctx)
    const { window, opening } = admitOwner(query)
    hub.left(window, opening, query.has('gone'))
    ctx.status = 204
  })

  return handleMessage
}

/** Throws a `Refusal` (429 `too-fast`) unless `waitMs` is 0. */
export function refuseHaste(
  waitMs: number,
  id: string | null,
  what = 'sending too fast (limits.messagesPerSecond)',
): void {
  if (waitMs === 0) return
  const sentence = `This window is ${what}; try again in ${waitMs} ms.`
  throw new Refusal('too-fast', sentence, id, waitMs)
}

const typeOf = ({ headers }: Pick<AnyRequest, 'headers'>) => headers['content-type']?.split(';', 1)[0]

export const isJson = (request: Pick<AnyRequest, 'headers'>) => typeOf(request) === 'application/json'

/**
 * Throws a `Refusal` (415 `wrong-type`). Not ctx.is(): it treats an HTTP/2 body without a length as
 * absent.
 */
export function mustBeOfType({ headers }: AnyRequest, what: string, type: string): void {
  if (typeOf({ headers }) === type) return
  const given = headers['content-type']
  throw new Refusal(
    'wrong-type',
    `${what} must be sent as ${type}; this request has ${given ? `Content-Type ${given}` : 'no Content-Type'}.`,
  )
}

/** Throws a `Refusal` (403). */
export function mayPublish({ id, from, channel }: Draft, fingerprint: string | null, grant: Grant): void {
  const refusal = refuseName(from, fingerprint, id) ?? refuseWriting(grant, channel, id)
  if (refusal) throw refusal
}

/** Levels of a draft, and of the frame around it, above the data that its sender chose. */
export const levelsAround = { body: 2, frame: 3 }

/**
 * Throws a `Refusal`: 400 `not-json`, or `bad-shape` for a value that is nested too deep below
 * `levels`. `idIn` finds the id of the draft, if it is one.
 */
export function parseJson(text: string, levels = 1, idIn: (given: unknown) => string | null = idOf): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const why = String(cause).replace(/^SyntaxError: /, '')
    throw new Refusal('not-json', `The message is not JSON: ${why}.`)
  }
  const depth = measureJson(text).depth - levels
  if (depth <= maxJsonDepth) return value
  const sentence = `The data is nested ${depth} levels deep; it may be ${maxJsonDepth}. Send it in a flatter form.`
  throw new Refusal('bad-shape', sentence, idIn(value))
}
