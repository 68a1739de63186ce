// Responses to refused requests: JSON for programs, a page for people.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse, IncomingHttpHeaders } from 'node:http2'
import type Koa from 'koa'
import { escapeHtml } from '../document/html.ts'
import { output } from '../output.ts'
import {
  askedFor,
  isPlain,
  type OriginRules,
  originFields,
  refuseForeign,
  securityFields,
} from '../security/middleware.ts'
import { cutText } from '../wire/graphemes.ts'
import { Refusal } from '../wire/refusal.ts'
import { trace } from '../wire/trace.ts'
import { plainHeaders, plainPage, sourceOf } from './plain-page.ts'

/** Refusals sent by this process since its start, by code. */
export const refusals = new Map<string, number>()

/** Counts a refusal, over any transport. */
export function counted(refusal: Refusal): Refusal {
  refusals.set(refusal.code, (refusals.get(refusal.code) ?? 0) + 1)
  trace.uplink?.(`${refusal.id ?? 'a request or stream'} refused: ${refusal.code}`)
  return refusal
}

/** Turns a `Refusal` into its response, and any other error into 500 `internal`. */
export const answerErrors: Koa.Middleware = async (ctx, next) => {
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
    if (isForPerson) ctx.set(refusal.code === 'other-session' ? confirmingHeaders : pageHeaders)
    ctx.type = isForPerson ? 'html' : 'json'
    ctx.body = isForPerson ? pageFor(refusal) : refusal
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

/** Prints a failure, unless the connection was lost. */
export function reportFailure(error: unknown): void {
  const isLost = error instanceof Error && 'code' in error && lostCodes.has(error.code)
  if (!isLost) output.incident('request-failed', 'A request failed', error)
}

const lostCodes: ReadonlySet<unknown> = new Set([
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

const headings: Readonly<Record<string, string>> = {
  'no-session': 'This page is by invitation',
  'session-expired': 'Your session has ended',
  'invitation-invalid': 'This link does not work',
  'invitation-expired': 'This link has ended',
  'not-invited-there': 'Your invitation is for another page',
  'other-session': 'You have a session here already',
  'too-costly': 'This document takes too long to read',
  'not-found': 'There is no page here',
  'bad-channel': 'No page can have this name',
}

function pageFor({ code, status, message }: Refusal): string {
  const other = status >= 500 ? 'The server cannot show this page' : 'This address does not work'
  const heading = headings[code] ?? other
  const sentence = escapeHtml(message).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
  const main = `<p class="mark">${mark}Crosswind</p>
<h1>${heading}</h1>
<p>${sentence}</p>
${code === 'other-session' ? '<form method="post"><button>Open this link instead</button></form>\n' : ''}${status === 401 ? '' : '<p><a href="/">Go to the start page</a></p>\n'}`
  return plainPage(heading, style, main)
}

/** As in web/page/favicon.svg. */
const mark = `<svg viewBox="0 0 32 32" width="32" height="32" fill="none" stroke-linecap="round" stroke-width="3" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#0b6763"/><path stroke="#ffffff" d="M6 12.5h13.5a3.25 3.25 0 1 0-3.1-4.2"/><path stroke="#9fe0d8" d="M6 18h17.2a3.4 3.4 0 1 1-3.2 4.5"/><path stroke="#ffffff" d="M6 23.5h7.5"/></svg>`

/** The colours of web/styles/page.css, which this page's policy blocks. */
const style = `
:root { color-scheme: light dark; --desk: #edf1f0; --ink: #17211f; --ink-soft: #50605c; --accent: #0b6763; --on-accent: #ffffff }
@media (prefers-color-scheme: dark) {
  :root { --desk: #0e1413; --ink: #e2eae8; --ink-soft: #a0b0ac; --accent: #74cbc1; --on-accent: #06201d }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--desk); color: var(--ink); font: 1.0625rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif }
main { max-width: 36rem; margin: 0 auto; padding: max(2rem, 16vh) 1.5rem 2rem; overflow-wrap: anywhere }
p { margin: 0 0 1.5rem }
.mark { display: flex; align-items: center; gap: 0.625rem; margin-bottom: 2.5rem; color: var(--ink-soft); font-weight: 600 }
h1 { margin: 0 0 0.75rem; font-size: 1.75rem; line-height: 1.25; font-weight: 600; text-wrap: balance }
code { font-size: 0.9375em }
form { margin-bottom: 1rem }
a, button { display: inline-block; padding: 0.5rem 1rem; border: 0; border-radius: 10px; background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 500; text-decoration: none }
a:hover, button:hover { text-decoration: underline }
a:focus-visible, button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
`

const pageHeaders = plainHeaders(sourceOf(style))
const confirmingHeaders = {
  ...plainHeaders(sourceOf(style), "'self'"),
  // Under `no-referrer` browsers send the form with the origin `null` (Fetch, 3.2), which is refused.
  'Referrer-Policy': 'same-origin',
}
