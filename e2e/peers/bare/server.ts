// The least that relays: Node's http2 and https and `ws`, no framework, no checks, no log. A measure, not a product.

import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { join } from 'node:path'
import { WebSocketServer } from 'ws'
import { ensureCertificate } from '../../../certs/certificate.ts'
import { readFigures } from '../../../server/monitor/figures.ts'

const here = import.meta.dirname
const tls = await ensureCertificate({ directory: join(here, '../../../certs'), now: new Date() })
// The isolation headers give the page the same fine clock that Crosswind's has.
const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}
const files = new Map([
  ['/', { type: 'text/html; charset=utf-8', body: readFileSync(join(here, 'page.html')) }],
  ['/page.js', { type: 'text/javascript; charset=utf-8', body: readFileSync(join(here, 'page.js')) }],
])
const streams = new Set<ServerResponse>()
const sockets = new WebSocketServer({ noServer: true })

/** Puts its stamp into the message, so that the report can tell the way up from the way down. */
function relay(draft: string): void {
  const text = draft.replace('{', `{"acceptedAt":${performance.timeOrigin + performance.now()},`)
  for (const stream of streams) stream.write(`data: ${text}\n\n`)
  for (const socket of sockets.clients) socket.send(text)
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
  const file = files.get(path)
  if (file) response.writeHead(200, { 'Content-Type': file.type, ...isolation }).end(file.body)
  else if (path === '/stream') listen(response)
  else if (path === '/messages') receive(request, response)
  else if (path === '/api/figures')
    response.end(JSON.stringify(readFigures(streams.size + sockets.clients.size)))
  else response.writeHead(404).end()
}

function listen(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
  response.flushHeaders()
  streams.add(response)
  response.on('close', () => streams.delete(response))
}

function receive(request: IncomingMessage, response: ServerResponse): void {
  let text = ''
  request.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  request.on('end', () => {
    relay(text)
    response.end('{}')
  })
}

async function open(server: Server): Promise<number> {
  server.on('connection', (socket: Socket) => socket.setNoDelay(true))
  server.on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (client) =>
      client.on('message', (data) => relay(String(data))),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const { cert, key } = tls
// `http2` hands its compatible request and response, which this uses as HTTP/1.1's.
const compatible = answer as unknown as (
  request: http2.Http2ServerRequest,
  response: http2.Http2ServerResponse,
) => void
const ports = {
  '2': await open(http2.createSecureServer({ cert, key, allowHTTP1: true }, compatible)),
  '1.1': await open(https.createServer({ cert, key, keepAliveTimeout: 75_000 }, answer)),
}
process.send?.({ type: 'ready', ports })
process.once('SIGTERM', () => process.exit(0))
process.once('disconnect', () => process.exit(0))
