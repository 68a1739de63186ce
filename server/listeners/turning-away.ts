// Answers before the application sees a request: the server holds too many connections, or its headers are too large.

import Koa from 'koa'
import { Refusal } from '../refusal.ts'
import { crossOrigin } from '../security/cors.ts'
import { securityHeaders } from '../security/headers.ts'
import type { OriginRules } from '../security/origins.ts'
import type { AnyRequest } from './connections.ts'

const comeBackMs = 5000

export function tooManyConnections(most: number): Refusal {
  const sentence = `The server holds ${most} connections, its limit (limits.maxConnections); try again in a moment.`
  return new Refusal(503, 'too-many-connections', sentence, null, comeBackMs)
}

/** An application that says one thing, in a way that pages of the other port can read too. */
export function createTurningAway(origins: OriginRules, refuse: () => Refusal) {
  const app = new Koa()
  app.use(async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      ctx.status = error.status
      if (error.retryAfterMs !== null) ctx.set('Retry-After', String(Math.ceil(error.retryAfterMs / 1000)))
      // The one that is asked for the next time may have room; a connection that is kept has none.
      if (ctx.req.httpVersionMajor === 1) ctx.set('Connection', 'close')
      ctx.body = error
    }
  })
  app.use(securityHeaders)
  app.use(crossOrigin(origins))
  app.use(() => {
    throw refuse()
  })
  return app.callback()
}

/** As HTTP/2 counts them: 32 more for each field (RFC 9113, section 6.5.2). */
export function headerBytes({ rawHeaders }: Pick<AnyRequest, 'rawHeaders'>): number {
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length + 16
  return bytes
}
