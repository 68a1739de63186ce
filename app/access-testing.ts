// For tests of access to the page: a key, a day, invitations, an application with real sockets.

import { createSecretKey } from 'node:crypto'
import { createServer } from 'node:http'
import type { TestContext } from 'node:test'
import Router from '@koa/router'
import Koa from 'koa'
import { openPort } from '../scripts/open-port.ts'
import { answerErrors } from '../server/http/refusals.ts'
import { crossOrigin, needsSession, securityHeaders } from '../server/security/middleware.ts'
import { grantWith } from '../server/security/testing.ts'
import { TicketAuthorizer } from '../server/security/tickets.ts'
import { type Access, makeInvitation, type Permission } from './access.ts'
import { showRefusal } from './routes/refusal-page.ts'
import { isOpenPath, mountSession } from './routes/session.ts'

export const key = createSecretKey(Buffer.alloc(32, 'a'))
export const otherKey = createSecretKey(Buffer.alloc(32, 'b'))

/** Ms since the epoch. */
export const noon = Date.parse('2026-11-21T12:00:00Z')
export const hourMs = 3_600_000

export const toWrite: Permission = { channels: ['main', 'notes'], may: 'write' }

/** As the page's server has it; nobody is revoked. */
export function authorizerOf(access: Access, now: () => number = Date.now): TicketAuthorizer {
  return new TicketAuthorizer({
    authorize: ({ headers, token }) => access.permitFor({ cookie: headers.cookie, token }),
    secret: 's'.repeat(32),
    now,
    clock: now,
    revocations: {
      position: { epoch: 'life1', seq: 0 },
      reachBack: async () => true,
      isRevoked: () => false,
    },
    onFailure: (error) => {
      throw error
    },
  })
}

/** Rights that a permission grants, without channels of the page's own. */
export const plainRights = ({ channels, may }: Permission) => {
  const read = channels === 'all' ? ['*'] : [...channels]
  return { read, write: may === 'write' ? read : [] }
}

/** The session cookie among a response's cookies. */
export function cookieIn([setCookie]: readonly string[]): string {
  return setCookie?.split(';', 1)[0] ?? ''
}

export async function cookieAfter(access: Access, permission = toWrite, expiresAt = noon + 24 * hourMs) {
  const { setCookies } = await access.redeem(await makeInvitation({ ...permission, expiresAt }, key))
  return cookieIn(setCookies)
}

/** Returns a `fetch` for the application's paths. */
export async function startTestApp(test: TestContext, access: Access, now: () => number) {
  const router = new Router()
  mountSession(router, access)
  const app = new Koa()
  const ports = () => [8443, 8444]
  app
    .use(answerErrors(showRefusal))
    .use(securityHeaders)
    .use(crossOrigin({ path: '/api', ports, allowedOrigins: [], allowedHosts: [] }))
  const authorizer = access.isOpen ? { grantFor: async () => grantWith({}) } : authorizerOf(access, now)
  app.use(async (ctx, next) => {
    if (needsSession(ctx.path, isOpenPath)) await authorizer.grantFor(ctx.req)
    return next()
  })
  app.use(router.routes())
  app.use((ctx) => {
    ctx.body = `behind the door: ${ctx.path}`
  })
  const server = createServer(app.callback())
  const origin = `http://127.0.0.1:${await openPort(server)}`
  test.after(() => server.close())
  return (path: string, init: RequestInit = {}) => fetch(origin + path, { redirect: 'manual', ...init })
}
