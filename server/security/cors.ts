// Lets a page of one of the server's two ports use the other port, and turns foreign pages away.

import type { Middleware } from 'koa'
import { isOwnOrigin, type OriginRules, refuseForeign } from './origins.ts'

/** How long a browser may remember a preflight's answer; two hours is the most that Chromium keeps. */
const preflightSeconds = 7200

export function crossOrigin(rules: OriginRules): Middleware {
  return async (ctx, next) => {
    const origin = ctx.get('Origin')
    if (!origin) return next()
    if (!isOwnOrigin(origin, ctx.host, rules)) throw refuseForeign(origin)
    ctx.vary('Origin')
    ctx.set('Access-Control-Allow-Origin', origin)
    // So that the session's cookie goes along to the other port, which is another origin.
    ctx.set('Access-Control-Allow-Credentials', 'true')
    // Shows the window which protocol its request truly ran over (Resource Timing, nextHopProtocol).
    ctx.set('Timing-Allow-Origin', origin)
    if (ctx.method !== 'OPTIONS') return next()
    ctx.set({
      'Access-Control-Allow-Methods': 'GET, POST',
      'Access-Control-Allow-Headers': 'content-type',
      'Access-Control-Max-Age': String(preflightSeconds),
    })
    ctx.status = 204
  }
}
