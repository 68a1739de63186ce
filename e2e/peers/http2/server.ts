// The barest relay there is on `node:http2`: what one client posts goes to all event streams. No log, no checks, no
// framework: what HTTP/2 in Node costs before anything of ours is added.

import http2 from 'node:http2'
import https from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import { ensureCertificate } from '../../../certs/certificate.ts'
import { readFigures } from '../../../server/monitor/figures.ts'

const { cert, key } = await ensureCertificate({
  directory: join(import.meta.dirname, '../../../certs'),
  now: new Date(),
})
const streams = new Set<http2.ServerHttp2Stream>()

/** As many streams to a session as the server under test allows. */
const secure = http2.createSecureServer({ cert, key, settings: { maxConcurrentStreams: 250 } })
secure.on('stream', (stream: http2.ServerHttp2Stream, { ':method': method }: http2.IncomingHttpHeaders) => {
  stream.on('error', () => undefined)
  if (method === 'POST') receive(stream)
  else listen(stream)
})

function listen(stream: http2.ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': 'text/event-stream' })
  streams.add(stream)
  stream.once('close', () => streams.delete(stream))
}

function receive(stream: http2.ServerHttp2Stream): void {
  let text = ''
  stream.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  stream.once('end', () => {
    const event = Buffer.from(`data: ${text}\n\n`)
    for (const listening of streams) listening.write(event)
    stream.respond({ ':status': 200, 'content-type': 'application/json' })
    stream.end('{}')
  })
}

const figures = https.createServer({ cert, key, keepAliveTimeout: 75_000 }, (_request, response) => {
  response.end(JSON.stringify(readFigures(streams.size)))
})

function open(server: Server): Promise<number> {
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  )
}

secure.on('connection', (socket) => socket.setNoDelay(true))
const ports = { '2': await open(secure), '1.1': await open(figures) }
process.send?.({ type: 'ready', ports })
process.once('SIGTERM', () => process.exit(0))
process.once('disconnect', () => process.exit(0))
