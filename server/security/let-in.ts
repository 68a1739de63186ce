// The door of the HTTP side: gives each request its grant, or answers that an invitation is needed.

import type { Middleware, ParameterizedContext } from 'koa'
import { Refusal } from '../refusal.ts'
import type { Access } from './access.ts'
import type { Grant } from './grant.ts'
import { joinPath } from './invitation.ts'
import { uninvitedPage, uninvitedPageHeaders } from './uninvited-page.ts'

/** What anybody may ask for. What ends with a slash stands for all that is below it. */
export const pathsForAll: readonly string[] = [
  '/healthz',
  joinPath,
  '/assets/',
  '/favicon.ico',
  '/favicon.svg',
]

/** Puts the grant where `grantOf` finds it. Without one a program gets the 401, a person a page that says what to do. */
export function letIn(access: Access, openPaths: readonly string[] = pathsForAll): Middleware {
  const isForAll = (path: string) =>
    openPaths.some((open) => (open.endsWith('/') ? path.startsWith(open) : path === open))
  return async (ctx, next) => {
    if (isForAll(ctx.path)) return next()
    try {
      ctx.state.grant = await access.grantFor(ctx.req.headers.cookie)
    } catch (error) {
      return answerUninvited(ctx, error)
    }
    return next()
  }
}

/** The grant of a request that `letIn` let in. Throws on a path that is open to all, for nobody is known there. */
export function grantOf({ path, state }: Pick<ParameterizedContext, 'path' | 'state'>): Grant {
  const grant: Grant | undefined = state.grant
  if (grant === undefined) throw new Error(`${path} asks for a grant, but nothing let this request in`)
  return grant
}

/** Answers a refused person with a page; throws for programs, and whatever is no Refusal. */
export function answerUninvited(ctx: ParameterizedContext, error: unknown): void {
  ctx.set('Cache-Control', 'no-store')
  ctx.vary('Accept')
  // A program that takes anything gets JSON; browsers ask for a page by name.
  if (!(error instanceof Refusal) || ctx.accepts('json', 'html') !== 'html') throw error
  ctx.status = error.status
  ctx.type = 'html'
  ctx.set(uninvitedPageHeaders)
  ctx.body = uninvitedPage(error)
}
