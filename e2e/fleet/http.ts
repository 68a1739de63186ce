// HTTP for clients without a browser: one connection of either version, with whole answers and open streams.

import { once } from 'node:events'
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
  readonly body?: string | Buffer
}

export interface HttpClient {
  /** Resolves when the headers are there. */
  readonly ask: (asking: Asking) => Promise<Answer>
  readonly close: () => void
}

export function connectHttp(version: HttpVersion, origin: string, ca: string): HttpClient {
  return version === '2' ? connectHttp2(origin, ca) : connectHttp1(origin, ca)
}

function connectHttp2(origin: string, ca: string): HttpClient {
  const session = http2.connect(origin, { ca })
  session.on('error', () => undefined)
  return {
    async ask({ method = 'GET', path, headers, body }) {
      const stream = session.request(
        { ':method': method, ':path': path, ...headers },
        { endStream: body === undefined },
      )
      // A stream cut short shows in its end; without a listener it would end the process.
      stream.on('error', () => undefined)
      if (body !== undefined) stream.end(body)
      const [answered] = await once(stream, 'response')
      return { status: answered[':status'], headers: answered, body: stream }
    },
    close: () => session.destroy(),
  }
}

function connectHttp1(origin: string, ca: string): HttpClient {
  const agent = new https.Agent({ ca, keepAlive: true })
  return {
    async ask({ method = 'GET', path, headers = {}, body }) {
      const request = https.request(`${origin}${path}`, { method, headers, agent })
      request.end(body)
      const [response] = await once(request, 'response')
      // After the answer began, a cut connection shows in the answer's end.
      request.on('error', () => undefined)
      response.on('error', () => undefined)
      return { status: response.statusCode, headers: response.headers, body: response }
    },
    close: () => agent.destroy(),
  }
}

export async function textOf(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += chunk
  return text
}
