// The page's sessions over HTTP: redeems an invitation, shows a session and renews it.

import type { IncomingHttpHeaders } from 'node:http'
import type Router from '@koa/router'
import type { ParameterizedContext } from 'koa'
import { Refusal } from '../../protocol/refusal.ts'
import { bearerIn } from '../../server/index.ts'
import { type Access, type Entry, includes, joinPath, type Session } from '../access.ts'
import { documentPath } from '../shared/document-api.ts'
import { mainChannel } from '../shared/page-messages.ts'
import { offlinePath, serviceWorkerPath } from '../shared/page-paths.ts'

/** Path of the session; posts of JSON to it ask for a ticket, and are Crosswind's. */
const sessionPath = '/api/session'

const openPaths: readonly string[] = [
  '/healthz',
  '/readyz',
  joinPath,
  '/favicon.ico',
  '/favicon.svg',
  serviceWorkerPath,
  offlinePath,
  // Judges by the session itself, which may have ended.
  sessionPath,
]

/** Whether a path needs no session. */
export const isOpenPath = (path: string) => openPaths.includes(path) || path.startsWith('/assets/')

/** The session's cookie, or an invitation as a bearer token. */
export const credentialsIn = ({ headers }: { readonly headers: IncomingHttpHeaders }) => ({
  cookie: headers.cookie,
  token: bearerIn(headers),
})

/**
 * Redeems an invitation; shows and renews a session, by a request without a body. Requires Crosswind's
 * `guard` before it, also against foreign renewals.
 */
export function mountSession(router: Router, access: Access): void {
  const join = async (ctx: ParameterizedContext, isConfirmed: boolean) => {
    ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
    const [invitation = ''] = [ctx.query.invitation ?? []].flat()
    const entry = await access.redeem(invitation)
    const held = isConfirmed ? null : await access.heldIn(ctx.req.headers.cookie)
    if (held && !includes(entry.session, held)) throw new Refusal('other-session', otherSession)
    const { channels } = enter(ctx, entry)
    // Keeps the invitation out of the address bar.
    ctx.status = 303
    ctx.redirect(channels === 'all' ? '/' : documentPath(channels[0] ?? mainChannel))
  }
  router.get(joinPath, (ctx) => join(ctx, false))
  // Only from a page of this server: others are refused because of their Origin.
  router.post(joinPath, (ctx) => join(ctx, true))
  router.get(sessionPath, async (ctx) => answerSession(ctx, await access.sessionFor(credentialsIn(ctx.req))))
  router.post(sessionPath, async (ctx) =>
    answerSession(ctx, enter(ctx, await access.renew(ctx.req.headers.cookie))),
  )
}

const otherSession =
  'This browser already has a session here, which allows something that this link does not; confirm that the link replaces it, or keep it.'

function enter(ctx: ParameterizedContext, { session, setCookies }: Entry): Session {
  if (setCookies.length > 0) ctx.set('Set-Cookie', [...setCookies])
  return session
}

function answerSession(ctx: ParameterizedContext, { may, channels, expiresAt }: Session): void {
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { may, channels, expiresAt }
}
