// Responses to refused requests: JSON, or a page of the application's for people.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse, IncomingHttpHeaders } from 'node:http2'
import type Koa from 'koa'
import { cutText } from '../../protocol/graphemes.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { trace } from '../../protocol/trace.ts'
import { output } from '../output.ts'
import {
  askedFor,
  isPlain,
  type OriginRules,
  originFields,
  refuseForeign,
  securityFields,
} from '../security/middleware.ts'

/** Refusals sent by this process since its start, by code. */
export const refusals = new Map<string, number>()

/** Counts a refusal, over any transport. */
export function counted(refusal: Refusal): Refusal {
  refusals.set(refusal.code, (refusals.get(refusal.code) ?? 0) + 1)
  trace.uplink?.(`${refusal.id ?? 'a request or stream'} refused: ${refusal.code}`)
  return refusal
}

/** A page that shows a refusal to a person, and its headers. */
interface ShownRefusal {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

export type ShowRefusal = (refusal: Refusal) => ShownRefusal

/** Turns a `Refusal` into its response, and any other error into 500 `internal`. Without `show` all is JSON. */
export function answerErrors(show?: ShowRefusal): Koa.Middleware {
  return async (ctx, next) => {
    try {
      await next()
      const isWrongMethod = (ctx.status === 405 || ctx.status === 501) && ctx.body === undefined
      if (isWrongMethod) throw new Refusal('wrong-method', wrongMethodSentence)
      if (ctx.status === 404 && ctx.respond !== false) throw notFound(ctx)
    } catch (error) {
      const refusal = counted(error instanceof Refusal ? error : fromUnknown(error, ctx))
      ctx.status = refusal.status
      ctx.set(fieldsFor(refusal, ctx.req))
      ctx.vary('Accept')
      // Browsers name HTML in Accept when they navigate; `*/*` gets JSON.
      const isForPerson = ['GET', 'HEAD'].includes(ctx.method) && ctx.accepts('json', 'html') === 'html'
      const page = isForPerson ? show?.(refusal) : undefined
      if (page) ctx.set({ ...page.headers })
      ctx.type = page ? 'html' : 'json'
      ctx.body = page?.html ?? refusal
    }
  }
}

/** Refuses a request before Koa sees it. */
export function refuse(
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  error: unknown,
  rules: OriginRules,
  hasBody = true,
): void {
  if (!(error instanceof Refusal)) reportFailure(error)
  const refusal = counted(error instanceof Refusal ? error : internal)
  const { origin, host, ':authority': authority = host } = request.headers as IncomingHttpHeaders
  const isOwn = origin !== undefined && refuseForeign(origin, authority, rules, isPlain(request)) === null
  const fields = { ...fieldsFor(refusal, request), ...(isOwn && originFields(origin)) }
  respond(response, refusal.status, fields, hasBody ? JSON.stringify(refusal) : '')
}

/** Sends a response without Koa, with JSON or, if `body` is empty, without a body. */
export function respond(
  response: ServerResponse | Http2ServerResponse,
  status: number,
  fields: Readonly<Record<string, string>>,
  body: string,
): void {
  const all = {
    ...securityFields,
    ...fields,
    ...(body !== '' && { 'Content-Type': contentType }),
    'Content-Length': Buffer.byteLength(body),
  }
  if (!('stream' in response)) return void response.writeHead(status, all).end(body)
  const { stream } = response
  response.statusCode = status
  if (stream.destroyed || stream.closed) return
  const isEmpty = body === '' || response.req.method === 'HEAD'
  // Headers that an application's middleware has set.
  const others = response.getHeaders()
  if (response.getHeaderNames().length > 0)
    for (const name of Object.keys(all)) delete others[name.toLowerCase()]
  // Node's response would leave the stream open for trailers, and close it by another frame.
  stream.respond({ ':status': status, ...others, ...all }, { endStream: isEmpty })
  if (!isEmpty) stream.end(body)
}

const contentType = 'application/json; charset=utf-8'

/** On a new connection the next request may reach another server, or find room here. */
const endsConnection = new Set(['draining', 'too-many-connections', 'headers-too-large'])

function fieldsFor(
  { code, retryAfterMs }: Refusal,
  { httpVersionMajor }: Pick<IncomingMessage, 'httpVersionMajor'>,
): Record<string, string> {
  return {
    'Cache-Control': 'no-store',
    ...(retryAfterMs !== null && { 'Retry-After': String(Math.ceil(retryAfterMs / 1000)) }),
    ...(httpVersionMajor === 1 && endsConnection.has(code) && { Connection: 'close' }),
  }
}

/** Returns a whole HTTP/1.1 response, for input that is not a request. */
export function formatBare(refusal: Refusal): string {
  const body = JSON.stringify(counted(refusal))
  const lines = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'Connection: close',
    `Content-Type: ${contentType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

const internal = new Refusal(
  'internal',
  "The server failed on this request; the server's terminal shows why.",
)

/** Prints a failure, unless the connection was lost, or the client did not speak HTTP. */
export function reportFailure(error: unknown): void {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  // Those of Node's parser: an application's own server passes them on, also when a client ends within a request.
  const isOfClient = lostCodes.has(code) || code.startsWith('HPE_')
  if (!isOfClient) output.incident('request-failed', 'A request failed', error)
}

const lostCodes: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECANCELED',
  'ERR_STREAM_PREMATURE_CLOSE',
  // Repeated for each stream when a session ends because of a violation.
  'ERR_HTTP2_SESSION_ERROR',
  'ERR_HTTP2_STREAM_CANCEL',
  'ERR_HTTP2_STREAM_ERROR',
  // The listener reports these once per session.
  'ERR_HTTP2_ERROR',
  'ERR_HTTP2_TOO_MANY_INVALID_FRAMES',
])

const wrongMethodSentence = 'That path does not accept this method; the Allow header names those it accepts.'

function notFound(ctx: Koa.ParameterizedContext): Refusal {
  const path = askedFor(ctx.req).replace(/\?.*$/s, '')
  return new Refusal('not-found', `There is nothing at ${cutText(path, 200)}.`)
}

function fromUnknown(error: unknown, ctx: Koa.ParameterizedContext): Refusal {
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 500
  // koa-static gives 403 for paths outside its folder.
  if (status === 403 || status === 404) return notFound(ctx)
  if (status >= 400 && status < 500) return new Refusal('bad-request', 'The request could not be understood.')
  ctx.app.emit('error', error, ctx)
  return internal
}
