// The endpoints beside the transports: tickets, the clock, and a channel's past.

import { formatCursor } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { rulesFor } from '../channels/channel-type.ts'
import type { EngineSettings } from '../config/engine-settings.ts'
import type { Health } from '../health.ts'
import { maxHeaderBytes } from '../http/server-options.ts'
import { seriesOf } from '../hub/delivery.ts'
import { messageText } from '../log/kept-json.ts'
import type { Log } from '../log/log.ts'
import { fingerprintFor, refuseReading } from '../security/grants.ts'
import { grantOf } from '../security/middleware.ts'
import { sessionPath, type TicketAuthorizer } from '../security/tickets.ts'
import { answerParts } from '../transports/answers.ts'
import { connectionOf } from '../transports/body-reader.ts'
import { parseJson } from '../transports/intake.ts'
import { type Mounting, queryOf } from '../transports/transport.ts'
import { charactersOf, type EarlierPage, type Page, pageAfter, pageBefore, wholeOf } from './channel-pages.ts'
import type { Channels } from './channels.ts'

/** Equal to the limit of a request's headers, which can also carry a token. */
const maxSessionBytes = maxHeaderBytes

interface RouteParts {
  readonly log: Log
  readonly health: Pick<Health, 'mustBeCurrent'>
  /** Null if everyone is served. */
  readonly tickets: TicketAuthorizer | null
  readonly limits: Pick<EngineSettings['limits'], 'channelsPerWindow'>
}

export function mountRoutes(
  { router, bodies, budget, readingRate, timers }: Mounting,
  { log, health, tickets, limits }: RouteParts,
  channels: Channels,
): void {
  router.post(sessionPath, async (ctx) => {
    const { token = null } = sessionBody(await bodies.text(ctx.req, grantOf(ctx), maxSessionBytes))
    ctx.set('Cache-Control', 'no-store')
    ctx.body = tickets
      ? await tickets.ticketFor(ctx.req, token, fingerprintFor(queryOf(ctx)))
      : { ticket: null, expiresAt: null }
  })
  router.get('/api/clock', (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    ctx.body = { at: timers.now() }
  })
  /**
   * A channel's messages after a cursor, in portions; for `newest` only a cursor. For a document,
   * always all messages, the older ones perhaps folded.
   */
  router.get('/api/channels/:name', async (ctx) => {
    const { name = '' } = ctx.params
    const after = String(ctx.query.after ?? 'newest')
    const refusal = refuseReading(grantOf(ctx), [name])
    if (refusal) throw refusal
    const isDocument = channels.isDocument(name)
    health.mustBeCurrent()
    const connection = connectionOf(ctx.req)
    readingRate.mustWait(connection, 'Messages were asked for faster than the server reads them')
    const { before, limit, kind } = ctx.query
    if (before !== undefined) channels.mustHaveMessages(name)
    const page =
      before !== undefined
        ? await pageBefore(log, name, { before, limit, kind: channels.kindNamed(name, kind) })
        : await (isDocument && after !== 'newest'
            ? wholeOf(log, name)
            : pageAfter(log, name, after, {
                isWhole: channels.isWhole(name),
                seriesOf: (message) => seriesOf(message, rulesFor(channels.typeOf, name, message.kind)),
              }))
    const characters = charactersOf(page.messages)
    const superseded = 'superseded' in page ? (page.superseded ?? 0) : 0
    readingRate.charge(connection, characters + superseded)
    grantOf(ctx).mustLast(timers.now())
    ctx.set('Cache-Control', 'no-store')
    ctx.type = 'json'
    answerParts(ctx, budget, characters, () => textOf(page, limits.channelsPerWindow))
  })
}

/** As JSON, in pieces. */
function* textOf(page: Page | EarlierPage, channelsPerStream: number): Generator<string> {
  yield '{"messages":['
  for (const [place, message] of page.messages.entries())
    yield (place === 0 ? '' : ',') + messageText(message)
  const rest =
    'hasEarlier' in page
      ? `"hasEarlier":${page.hasEarlier}`
      : `"recovered":${page.recovered},"channelsPerStream":${channelsPerStream}`
  yield `],"cursor":"${formatCursor(page.cursor)}",${rest}}`
}

/** Throws a `Refusal`: 400 `not-json` or `bad-shape`. */
function sessionBody(text: string): { readonly token?: string | null } {
  const given: unknown = text === '' ? {} : parseJson(text)
  const token = given instanceof Object && 'token' in given ? given.token : null
  if (token === null || typeof token === 'string') return { token }
  throw new Refusal(
    'bad-shape',
    'Send {"token": "…"}, or no body if the application’s cookie identifies you.',
  )
}
