// Access checks over HTTP: security headers, origins, sessions.

import type { IncomingHttpHeaders } from 'node:http2'
import { isIPv4, type Socket } from 'node:net'
import { hostname as machineName } from 'node:os'
import { posix } from 'node:path'
import type { Middleware, ParameterizedContext } from 'koa'
import { cutText } from '../../protocol/graphemes.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { isLoopback } from '../../scripts/addresses.ts'
import type { Authorizer, Grant } from './grants.ts'
import { sessionPath, stranger } from './tickets.ts'

/**
 * Sent with every response. No Strict-Transport-Security: on localhost it would affect all servers
 * of this machine.
 */
export const securityFields = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-site',
} as const

export const securityHeaders: Middleware = async (ctx, next) => {
  ctx.set(securityFields)
  await next()
}

/** Host and optional port (RFC 9112, section 3.2); rejects user information and paths. */
export const authorityPattern = /^([a-z0-9_][a-z0-9_.-]*|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i

export interface OriginRules {
  /** Where the server's endpoints are, such as `/api`. */
  readonly path: string
  /** Ports of the server's own pages. */
  readonly ports: () => readonly number[]
  /** `https://wind.example.org` */
  readonly allowedOrigins: readonly string[]
  /** `wind.example.org`, or `*` for any. */
  readonly allowedHosts: readonly string[]
}

/**
 * Null if allowed; else 403 `foreign-origin`. Requests without Origin pass; see
 * `refuseForeignFetch`.
 */
export function refuseForeign(
  origin: string | undefined,
  host: string | undefined,
  { ports, allowedOrigins }: OriginRules,
  isPlain = false,
) {
  if (origin === undefined || origin === `https://${host}` || allowedOrigins.includes(origin)) return null
  if (isPlain && origin === `http://${host}`) return null
  const from = URL.parse(origin)
  const to = host ? URL.parse(`https://${host}`) : null
  const isSameHost = from?.protocol === 'https:' && from.hostname === to?.hostname
  if (isSameHost && (from.host === to.host || ports().includes(Number(from.port || 443)))) return null
  const sentence = `Pages of ${origin} may not use this server; name that origin in allowedOrigins to allow them.`
  return new Refusal('foreign-origin', sentence)
}

interface Asked extends Addressed {
  readonly headers: IncomingHttpHeaders
  readonly socket?: object | undefined
}

interface Addressed {
  readonly url?: string | undefined
  /** Kept there by frameworks that change `url`, and by `attach`. */
  readonly originalUrl?: string | undefined
}

/** The path and query that a client asked for. It may send the whole address (RFC 9112, 3.2.2). */
export function askedFor({ url = '', originalUrl = url }: Addressed): string {
  return originalUrl.startsWith('/') ? originalUrl : originalUrl.replace(/^https?:\/\/[^/]*/i, '')
}

/**
 * A page can make its own name lead to this machine (DNS rebinding), and then has the same origin as
 * the server. So on a loopback address, or if hosts are named, clients must use a name of the server's;
 * an address leads nowhere else.
 */
function refuseHost(
  authority: string,
  socket: object | undefined,
  { allowedHosts, allowedOrigins }: OriginRules,
): Refusal | null {
  // Over HTTP/2 a proxy object, which has no such property until it is asked.
  const { localAddress = '' }: Partial<Pick<Socket, 'localAddress'>> = socket ?? {}
  if (allowedHosts.length === 0 && !isLoopback(localAddress.replace(/^::ffff:/, ''))) return null
  const name = URL.parse(`https://${authority}`)?.hostname.replace(/\.$/, '') ?? authority
  const isOwn = name === 'localhost' || name.endsWith('.localhost') || name === machineName().toLowerCase()
  if (isOwn || isIPv4(name) || name.startsWith('[')) return null
  if (allowedHosts.some((host) => host === '*' || host.toLowerCase() === name)) return null
  if (allowedOrigins.some((origin) => URL.parse(origin)?.hostname === name)) return null
  const sentence = `This server is not known as ${cutText(name, 80)}; name that host in allowedHosts to allow it.`
  return new Refusal('foreign-host', sentence)
}

/**
 * Addresses and policies contain the Host, which health checks over HTTP/1.0 do not send. Throws a
 * `Refusal`: 400 `bad-request`, 403 `foreign-host` or `foreign-origin`.
 */
export function mustBeAllowed(request: Asked, rules: OriginRules): void {
  const { host, ':authority': authority = host, origin } = request.headers
  if (authority && !authorityPattern.test(authority)) {
    const sentence = `"${cutText(authority, 80)}" is not a valid host: the Host header, :authority in HTTP/2, must be HOST or HOST:PORT.`
    throw new Refusal('bad-request', sentence)
  }
  const foreignHost = authority ? refuseHost(authority, request.socket, rules) : null
  if (foreignHost) throw foreignHost
  const refusal = origin
    ? refuseForeign(origin, authority, rules, isPlain(request))
    : refuseForeignFetch(request, rules)
  if (refusal) throw refusal
}

/** Without TLS, as on an application's server, perhaps behind a proxy. */
export const isPlain = ({ socket }: Pick<Asked, 'socket'>) =>
  socket !== undefined && !('encrypted' in socket && socket.encrypted)

/**
 * Browsers send no Origin for what a page loads without CORS, such as images, but say whether the
 * page is foreign (W3C Fetch Metadata Request Headers); programs say nothing. A foreign page may
 * only link to pages.
 */
function refuseForeignFetch(request: Asked, { path }: OriginRules): Refusal | null {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest } = request.headers
  if (site !== 'cross-site' && site !== 'same-site') return null
  // Empty if a service worker of the page's own passes it on.
  const isOfWindow = dest === 'document' || dest === 'empty'
  if (mode === 'navigate' && isOfWindow && !askedFor(request).startsWith(`${path}/`)) return null
  const sentence =
    'A page of another site requested this; open the address itself, or name that origin in allowedOrigins.'
  return new Refusal('foreign-origin', sentence)
}

/** Fields of a response to an allowed origin. */
export function originFields(origin: string): Readonly<Record<string, string>> {
  return {
    Vary: 'Origin',
    'Access-Control-Allow-Origin': origin,
    // The other port is another origin, and needs the session cookie.
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Expose-Headers': 'ETag',
    // Exposes the protocol used (Resource Timing, nextHopProtocol).
    'Timing-Allow-Origin': origin,
  }
}

export function crossOrigin(rules: OriginRules): Middleware {
  return async (ctx, next) => {
    mustBeAllowed(ctx.req, rules)
    const origin = ctx.get('Origin')
    if (!origin) return next()
    ctx.set(originFields(origin))
    if (ctx.method !== 'OPTIONS') return next()
    ctx.set({
      'Access-Control-Allow-Methods': 'GET, POST, PUT, DELETE',
      'Access-Control-Allow-Headers': 'authorization, content-type, if-match',
      // Chromium's maximum, two hours.
      'Access-Control-Max-Age': '7200',
    })
    ctx.status = 204
  }
}

/** Throws a `Refusal` (401) without a session. */
export function requireSession(authorizer: Authorizer): Middleware {
  return async (ctx, next) => {
    // A request for a ticket has none yet.
    const isAsking = ctx.method === 'POST' && ctx.path === sessionPath
    ctx.state.grant = isAsking ? stranger : await authorizer.grantFor(ctx.req)
    return next()
  }
}

/** Whether a path is not open. Its decoded form must be open, too, since files are looked up by that. */
export const needsSession = (path: string, isOpenPath: (path: string) => boolean): boolean =>
  !isOpenPath(path) || !isOpenPath(servedPath(path))

/** As used for file lookup: decoded and normalized. Empty if it cannot be decoded. */
function servedPath(path: string): string {
  try {
    return posix.normalize(decodeURIComponent(path).replaceAll('\\', '/'))
  } catch {
    return ''
  }
}

/** Throws if `requireSession` did not run before. */
export function grantOf({ path, state }: Pick<ParameterizedContext, 'path' | 'state'>): Grant {
  const grant: Grant | undefined = state.grant
  if (grant === undefined) throw new Error(`No grant on ${path}: requireSession does not cover this path`)
  return grant
}
