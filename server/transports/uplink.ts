// Posted messages: checked, stored and acknowledged; also heartbeats, states and departures.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Draft, Refused, Stored } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { trace } from '../../protocol/trace.ts'
import { counted } from '../http/refusals.ts'
import { admitBeat } from '../hub/admission.ts'
import { type AnyRequest, fingerprintFor, type Grant } from '../security/grants.ts'
import { grantOf } from '../security/middleware.ts'
import { connectionOf } from './body-reader.ts'
import { asStored, type DraftSender, levelsAround, parseJson, takeDraft } from './intake.ts'
import { admitOwner, type Mounting, queryOf } from './transport.ts'

const maxBeatBytes = 16_384
/** Maximum size of a report without its state. */
const maxReportBytes = 1024

type UplinkParts = Pick<Mounting, 'router' | 'hub' | 'bodies' | 'admission' | 'timers' | 'limits'>

export const messagesPath = '/api/messages'

/** Newline-delimited JSON. */
const linesType = 'application/x-ndjson'

/** The answer to one of several drafts. */
export type Answer = Stored | Refused

/** The sender of a request. */
interface Poster extends DraftSender {
  /** The HTTP/2 session or the socket. */
  readonly connection: object
}

/** Who a request says has sent it. */
interface Claim {
  readonly query: string
  /** Of its key. */
  readonly fingerprint: string | null
  readonly user: string | null
}

/** Returns the handler for posted messages, for both HTTP versions. */
export function mountUplink({ router, hub, bodies, admission, timers, limits }: UplinkParts) {
  /** The last query of each connection: a window sends the same query with each message. */
  const claims = new WeakMap<object, Claim>()

  function claimIn(query: string, connection: object): Claim {
    const known = claims.get(connection)
    if (known?.query === query) return known
    const fields = new URLSearchParams(query)
    const claim = { query, fingerprint: fingerprintFor(fields), user: fields.get('user') }
    claims.set(connection, claim)
    return claim
  }

  /** Rejects with a `Refusal`. */
  async function handleMessage(request: AnyRequest, grant: Grant): Promise<Stored | readonly Answer[]> {
    const connection = connectionOf(request)
    const { fingerprint, user } = claimIn(request.url?.split('?', 2)[1] ?? '', connection)
    grant.mustBeOf(user)
    const areLines = typeOf(request) === linesType
    if (!areLines) mustBeOfType(request, 'Messages', 'application/json')
    const text = await bodies.text(request, grant)
    const poster: Poster = {
      how: `POST over HTTP/${request.httpVersion}`,
      source: request,
      connection,
      fingerprint,
      grant,
      mustWait: ({ id, from }) => refuseHaste(hub.waitMs(connection, from), id),
    }
    const answer = areLines ? await takeLines(text, poster) : await take(text, poster)
    // Node flushes at the end of a turn: let the subscribers' bytes go first.
    await nextTurn()
    return answer
  }

  /** A refusal with a retry delay ends the list: a later draft must not overtake an earlier one. */
  async function takeLines(text: string, poster: Poster): Promise<readonly Answer[]> {
    const { connection, grant } = poster
    const answers: Answer[] = []
    for (const line of text.split('\n')) {
      if (line.trim() === '') continue
      try {
        grant.mustLast(timers.now())
        // Refused lines count, too.
        refuseHaste(hub.waitMs(connection), null)
        answers.push(await take(line, poster))
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        hub.refused(connection, Buffer.byteLength(line))
        answers.push(counted(error).toJSON())
        if (error.retryAfterMs !== null || error.status === 401) break
      }
    }
    return answers
  }

  async function take(text: string, poster: Poster): Promise<Stored> {
    const { connection, grant } = poster
    let completed = admitMessage(text, poster)
    if (completed instanceof Promise) {
      completed = await completed
      grant.mustLast(timers.now())
    }
    const stored = await hub.take(completed, { connection, account: grant.account })
    trace.uplink?.(`${stored.id} answered: ${asStored(stored)}`)
    return stored
  }

  /**
   * Throws or rejects with a `Refusal`. A separate function, so that the parsed value is not held while
   * the log stores the message.
   */
  function admitMessage(text: string, poster: Poster): Draft | Promise<Draft> {
    const size = () => Buffer.byteLength(text)
    const draft = takeDraft(parseJson(text, levelsAround.body), size, poster, admission)
    return admission.complete?.(draft, poster.grant, poster.connection) ?? draft
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
