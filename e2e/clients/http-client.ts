// HTTP client for Node: requests, WebSockets, clock exchanges and invitations over either version.

import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import type { Duplex, Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import type { ConnectionOptions } from 'node:tls'
import { WebSocket } from 'ws'
import { now } from '../../client/transports.ts'
import type { Exchange, HttpVersion } from '../../client/wire.ts'

export { textOf }

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readable
}

export interface HttpRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer | Readable | undefined
  readonly signal?: AbortSignal | undefined
}

export interface HttpClient {
  /** Resolves on the headers; rejects if the connection ends first. */
  readonly ask: (request: HttpRequest) => Promise<Answer>
  /**
   * Over HTTP/2, a stream of the same connection (RFC 8441). A failure is an `error` or `close`
   * event.
   */
  readonly openSocket: (path: string) => WebSocket
  /** Breaks all connections. */
  readonly close: () => void
}

/** `ca`: trusted certificate, PEM; null trusts any. `cookie`: `name=value`. */
export function connectHttp(
  version: HttpVersion,
  origin: string,
  ca: string | null,
  cookie?: string,
): HttpClient {
  const trust = ca === null ? { rejectUnauthorized: false } : { ca }
  const cookieHeader = cookie === undefined ? {} : { cookie }
  return version === '2'
    ? connectHttp2(origin, trust, cookieHeader)
    : connectHttp1(origin, trust, cookieHeader)
}

type Trust = Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized'>
type Headers = Readonly<Record<string, string>>

function connectHttp2(origin: string, trust: Trust, cookieHeader: Headers): HttpClient {
  const session = http2.connect(origin, trust)
  session.on('error', () => undefined)
  return {
    async ask({ method = 'GET', path, headers, body, signal }) {
      const stream = session.request(
        { ':method': method, ':path': path, ...cookieHeader, ...headers },
        { endStream: body === undefined, ...(signal && { signal }) },
      )
      // The body's end reports a cut stream; an unhandled 'error' would exit the process.
      stream.on('error', () => undefined)
      sendBody(stream, body)
      const answered = await headersOf(stream)
      return { status: Number(answered[':status']), headers: answered, body: stream }
    },
    openSocket: (path) => openSocketOver(session, path, cookieHeader),
    close: () => session.destroy(),
  }
}

/** Listens to 'close': a session that ends closes its streams without an error. */
function headersOf(stream: http2.ClientHttp2Stream): Promise<http2.IncomingHttpHeaders> {
  return new Promise((resolve, reject) => {
    stream.once('response', resolve)
    stream.once('close', () => reject(new Error('The connection ended before the response arrived.')))
  })
}

/** Untyped parts of `ws`: a WebSocket without an address, over any stream. */
interface StreamSocket extends WebSocket {
  _isServer: boolean
  /** The socket that `terminate` destroys before it opens. */
  _req: Duplex
  setSocket(stream: Duplex, head: Buffer, options: { maxPayload: number; skipUTF8Validation: boolean }): void
  emitClose(): void
}
const DetachedWebSocket = WebSocket as unknown as new (
  address: null,
  protocols: undefined,
  options: object,
) => StreamSocket

/** Bytes. */
const maxPayload = 64 * 1024 * 1024

function openSocketOver(session: http2.ClientHttp2Session, path: string, cookieHeader: Headers): WebSocket {
  const socket = new DetachedWebSocket(null, undefined, {})
  socket._isServer = false

  async function open(): Promise<void> {
    const stream = session.request({
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':path': path,
      'sec-websocket-version': '13',
      ...cookieHeader,
    })
    stream.on('error', () => undefined)
    socket._req = stream
    const headers = await headersOf(stream)
    const statusCode = Number(headers[':status'])
    if (statusCode !== 200) throw new Error(`The WebSocket was refused: ${statusCode}.`)
    // As `ws` does over HTTP/1.1.
    socket.emit('upgrade', { statusCode, headers } as IncomingMessage)
    socket.setSocket(stream, Buffer.alloc(0), { maxPayload, skipUTF8Validation: false })
  }

  open().catch(() => socket.readyState !== WebSocket.CLOSED && socket.emitClose())
  return socket
}

function connectHttp1(origin: string, trust: Trust, cookieHeader: Headers): HttpClient {
  const { Agent, request: begin } = origin.startsWith('https:') ? https : http
  const agent = new Agent({ ...trust, keepAlive: true })
  const sockets = new Set<WebSocket>()
  let isClosed = false
  return {
    async ask({ method = 'GET', path, headers, body, signal }) {
      // A destroyed agent still opens connections: a queued message would overtake a lost one.
      if (isClosed) throw new Error('The connection was closed.')
      // Passed as an option, the path is sent unchanged; a URL would resolve its dots.
      const options = { path, method, headers: { ...cookieHeader, ...headers }, agent }
      const request = begin(origin, { ...options, ...(signal && { signal }) })
      sendBody(request, body)
      if (body === undefined) request.end()
      const [response]: [IncomingMessage] = (await once(request, 'response')) as [IncomingMessage]
      // From here on, the body's end reports a cut connection.
      request.on('error', () => undefined)
      response.on('error', () => undefined)
      return { status: response.statusCode ?? 0, headers: response.headers, body: response }
    },
    openSocket(path) {
      const address = `${origin.replace(/^http/, 'ws')}${path}`
      const socket = new WebSocket(address, { ...trust, headers: cookieHeader })
      sockets.add(socket)
      return socket.once('close', () => sockets.delete(socket))
    },
    close() {
      isClosed = true
      for (const socket of sockets) socket.terminate()
      for (const socket of Object.values(agent.sockets).flatMap((list) => list ?? [])) socket.destroy()
      agent.destroy()
    },
  }
}

function sendBody(to: NodeJS.WritableStream, body: HttpRequest['body']): void {
  if (body === undefined) return
  if (typeof body === 'string' || Buffer.isBuffer(body)) to.end(body)
  else body.pipe(to)
}

/** `ca`: see `connectHttp`. Rejects if the connection ends or the server refuses. */
export async function exchangeWithServer(
  origin: string,
  ca: string | null,
  times: number,
): Promise<Exchange[]> {
  const http = connectHttp('1.1', origin, ca)

  async function exchange(): Promise<Exchange> {
    const sentAt = now()
    const { status, body } = await http.ask({ path: '/api/clock' })
    const text = await textOf(body)
    const returnedAt = now()
    if (status !== 200) throw new Error(`/api/clock answered ${status}: ${text.slice(0, 200)}`)
    const { at } = JSON.parse(text)
    return { sentAt, receivedAt: at, answeredAt: at, returnedAt }
  }

  try {
    // Includes the time to connect.
    await exchange()
    const exchanges: Exchange[] = []
    for (let count = 0; count < times; count += 1) exchanges.push(await exchange())
    return exchanges
  } finally {
    http.close()
  }
}

/** Resolves to the session cookie, `name=value`; rejects if refused. */
export async function redeem(origin: string, ca: string | null, invitation: string): Promise<string> {
  const http = connectHttp('2', origin, ca)
  const { pathname, search } = new URL(invitation)
  try {
    const { status, headers } = await http.ask({ path: `${pathname}${search}` })
    const [cookie] = [headers['set-cookie']].flat()
    if (status !== 303 || !cookie) throw new Error(`The invitation was not accepted: ${status}.`)
    return cookie.split(';', 1)[0] ?? ''
  } finally {
    http.close()
  }
}
