// HTTP for clients without a browser: one connection of either version, with whole answers and open streams.

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import type { Readable } from 'node:stream'
import type { HttpVersion } from '../../server/wire/modes.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readable
}

export interface Asking {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Text, or a stream for a body that goes on. */
  readonly body?: string | Buffer | Readable
}

export interface HttpClient {
  /** Resolves when the headers are there; rejects when the connection ends before. */
  readonly ask: (asking: Asking) => Promise<Answer>
  readonly close: () => void
}

export function connectHttp(version: HttpVersion, origin: string, ca: string, cookie?: string): HttpClient {
  const own = cookie === undefined ? {} : { cookie }
  return version === '2' ? connectHttp2(origin, ca, own) : connectHttp1(origin, ca, own)
}

type Headers = Readonly<Record<string, string>>

function connectHttp2(origin: string, ca: string, own: Headers): HttpClient {
  const session = http2.connect(origin, { ca })
  session.on('error', () => undefined)
  return {
    async ask({ method = 'GET', path, headers, body }) {
      const stream = session.request(
        { ':method': method, ':path': path, ...own, ...headers },
        { endStream: body === undefined },
      )
      // A stream cut short shows in its end; without a listener it would end the process.
      stream.on('error', () => undefined)
      sendBody(stream, body)
      const answered = await headersOf(stream)
      return { status: Number(answered[':status']), headers: answered, body: stream }
    },
    close: () => session.destroy(),
  }
}

/** A session that ends takes its streams with it, without an error to each. */
function headersOf(stream: http2.ClientHttp2Stream): Promise<http2.IncomingHttpHeaders> {
  return new Promise((resolve, reject) => {
    stream.once('response', resolve)
    stream.once('close', () => reject(new Error('The connection ended before the answer came.')))
  })
}

function connectHttp1(origin: string, ca: string, own: Headers): HttpClient {
  const agent = new https.Agent({ ca, keepAlive: true })
  let isClosed = false
  return {
    async ask({ method = 'GET', path, headers = {}, body }) {
      // An agent that was destroyed connects anew all the same: what waited behind a lost message would overtake it.
      if (isClosed) throw new Error('The connection was closed.')
      const request = https.request(`${origin}${path}`, { method, headers: { ...own, ...headers }, agent })
      sendBody(request, body)
      if (body === undefined) request.end()
      const [response]: [IncomingMessage] = (await once(request, 'response')) as [IncomingMessage]
      // After the answer began, a cut connection shows in the answer's end.
      request.on('error', () => undefined)
      response.on('error', () => undefined)
      return { status: response.statusCode ?? 0, headers: response.headers, body: response }
    },
    close() {
      isClosed = true
      for (const socket of Object.values(agent.sockets).flatMap((list) => list ?? [])) socket.destroy()
      agent.destroy()
    },
  }
}

function sendBody(to: NodeJS.WritableStream, body: Asking['body']): void {
  if (body === undefined) return
  if (typeof body === 'string' || Buffer.isBuffer(body)) to.end(body)
  else body.pipe(to)
}

export async function textOf(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += chunk
  return text
}
