// Where guests arrive: a link becomes a session, and a session is looked at or renewed.

import type Router from '@koa/router'
import type { ParameterizedContext } from 'koa'
import type { Access, Entry } from './access.ts'
import type { Grant } from './grant.ts'
import { joinPath } from './invitation.ts'
import { answerUninvited, grantOf } from './let-in.ts'

export const sessionPath = '/api/session'

/** `sessionPath` needs `letIn` before it, and the check of origins: it is what keeps foreign pages from renewing. */
export function mountWelcome(router: Router, access: Access): void {
  router.get(joinPath, async (ctx) => {
    ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
    try {
      arrive(ctx, await access.redeem(oneOf(ctx.query.invitation)))
    } catch (error) {
      answerUninvited(ctx, error)
    }
  })
  router.get(sessionPath, (ctx) => answerGrant(ctx, grantOf(ctx)))
  router.post(sessionPath, async (ctx) => {
    const { grant, setCookie } = await access.renew(ctx.req.headers.cookie)
    if (setCookie !== null) ctx.set('Set-Cookie', setCookie)
    answerGrant(ctx, grant)
  })
}

/** Away from the link at once, so that the invitation does not stay in the address bar. */
function arrive(ctx: ParameterizedContext, { grant, setCookie }: Entry): void {
  if (setCookie !== null) ctx.set('Set-Cookie', setCookie)
  const [first] = grant.channels === 'all' ? [] : grant.channels
  ctx.status = 303
  ctx.redirect(first === undefined ? '/' : `/?channel=${first}`)
}

function answerGrant(ctx: ParameterizedContext, { may, channels, expiresAt }: Grant): void {
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { may, channels: channels === 'all' ? channels : [...channels], expiresAt }
}

function oneOf(parameter: string | readonly string[] | undefined): string {
  return (typeof parameter === 'string' ? parameter : parameter?.[0]) ?? ''
}
