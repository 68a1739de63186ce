// What the windows of one browser share: over HTTP/2 one session, over HTTP/1.1 nothing.

import { once } from 'node:events'
import http2 from 'node:http2'
import { connections, type HttpVersion } from '../../server/wire/modes.ts'
import { type Answered, createHttp1Client, type Http1Client } from './http1-client.ts'
import { connectTls } from './tls-line.ts'

export interface Browser {
  readonly origin: string
  /** The session that its windows share; null over HTTP/1.1. */
  readonly session: http2.ClientHttp2Session | null
  readonly get: Http1Client['get']
  readonly post: Http1Client['post']
  readonly close: () => void
}

/** What Chromium grants a stream and a session (net/http/http_network_session.cc): flow control must not be what is measured. */
const streamWindowBytes = 6 * 1024 * 1024
const sessionWindowBytes = 15 * 1024 * 1024

export async function openBrowser(origin: string, http: HttpVersion): Promise<Browser> {
  if (!connections[http].isShared) return { origin, session: null, ...createHttp1Client(origin) }
  const socket = await connectTls(origin, 'h2')
  const session = http2.connect(origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: streamWindowBytes },
  })
  session.on('error', () => undefined)
  // Whether it takes WebSockets stands in the server's first SETTINGS.
  await Promise.all([once(session, 'connect'), once(session, 'remoteSettings')])
  session.setLocalWindowSize(sessionWindowBytes)
  return {
    origin,
    session,
    get: (path) => exchange(session, { ':path': path }),
    post: (path, type, body) =>
      exchange(session, { ':method': 'POST', ':path': path, 'content-type': type }, body),
    close: () => session.destroy(),
  }
}

function exchange(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  body?: string,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined })
    const chunks: Buffer[] = []
    let status = 0
    if (body !== undefined) stream.end(body)
    stream.on('response', (answer) => {
      status = Number(answer[':status'])
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.once('error', reject)
    stream.once('end', () => resolve({ status, body: Buffer.concat(chunks) }))
    stream.once('close', () => reject(new Error('The stream closed before the answer was there.')))
  })
}
