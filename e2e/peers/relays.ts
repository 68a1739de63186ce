// `node relays.ts NAME`: minimal relays to measure beside Crosswind, without log or checks.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import http2, { type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import https from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { WebSocketServer } from 'ws'
import { ensureCertificate } from '../../certs/certificate.ts'
import { readFigures } from '../../server/process.ts'

const here = import.meta.dirname
const { cert, key } = await ensureCertificate({ directory: join(here, '../../certs'), now: new Date() })

/** Each starts a relay: its server for HTTP/2, and for HTTP/1.1 if another. */
const relays: Readonly<Record<string, () => readonly Server[] | Promise<readonly Server[]>>> = {
  ws() {
    const server = figuresServer(() => sockets.clients.size)
    const sockets = new WebSocketServer({ server, perMessageDeflate: false })
    sockets.on('connection', (socket) => {
      socket.on('error', () => undefined)
      socket.on('message', (message) => {
        const copy = String(message)
        for (const client of sockets.clients) client.send(copy)
      })
    })
    return [server]
  },

  /** Socket.IO 4: WebSocket only, otherwise defaults. */
  async 'socket.io'() {
    const socketIo = await import('socket.io')
    const server = figuresServer(() => io.engine.clientsCount)
    const io = new socketIo.Server(server, { transports: ['websocket'] })
    io.on('connection', (socket) => {
      socket.on('message', (message: string) => io.emit('message', message))
    })
    return [server]
  },

  /** Each POST goes to all event streams. */
  http2() {
    const streams = new Set<ServerHttp2Stream>()
    // Stream limit of the server under test.
    const server = http2.createSecureServer({ cert, key, settings: { maxConcurrentStreams: 250 } })
    server.on('stream', (stream: ServerHttp2Stream, { ':method': method }: IncomingHttpHeaders) => {
      stream.on('error', () => undefined)
      if (method === 'POST') {
        whenRead(stream, (message) => {
          const event = Buffer.from(`data: ${message}\n\n`)
          for (const listening of streams) listening.write(event)
          stream.respond({ ':status': 200, 'content-type': 'application/json' })
          stream.end('{}')
        })
      } else {
        stream.respond({ ':status': 200, 'content-type': 'text/event-stream' })
        streams.add(stream)
        stream.once('close', () => streams.delete(stream))
      }
    })
    return [server, figuresServer(() => streams.size)]
  },

  /** With pages, over event streams and WebSocket, for the keystrokes scenario. */
  bare() {
    const streams = new Set<ServerResponse>()
    const sockets = new WebSocketServer({ noServer: true })
    // Isolation headers give the page the same fine clock as Crosswind's.
    const isolation = {
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Embedder-Policy': 'require-corp',
    }
    const page = readFileSync(join(here, 'bare-page.html'))
    const script = readFileSync(join(here, 'bare-page.js'))

    /** Adds `acceptedAt`, so that the report separates uplink from downlink. */
    function relay(draft: string): void {
      const message = draft.replace('{', `{"acceptedAt":${performance.timeOrigin + performance.now()},`)
      for (const stream of streams) stream.write(`data: ${message}\n\n`)
      for (const socket of sockets.clients) socket.send(message)
    }

    function answer(request: IncomingMessage, response: ServerResponse): void {
      const [path] = (request.url ?? '/').split('?', 1)
      const send = (type: string, body: Buffer) =>
        response.writeHead(200, { 'Content-Type': `${type}; charset=utf-8`, ...isolation }).end(body)
      if (path === '/') send('text/html', page)
      else if (path === '/page.js') send('text/javascript', script)
      else if (path === '/stream') listen(response)
      else if (path === '/messages') receive(request, response)
      else answerFigures(request, response, streams.size + sockets.clients.size)
    }

    function listen(response: ServerResponse): void {
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
      response.flushHeaders()
      streams.add(response)
      response.on('close', () => streams.delete(response))
    }

    function receive(request: IncomingMessage, response: ServerResponse): void {
      whenRead(request, (draft) => {
        relay(draft)
        response.end('{}')
      })
    }

    // The compatibility API of `http2` mirrors HTTP/1.1's.
    const compatible = answer as unknown as (
      request: http2.Http2ServerRequest,
      response: http2.Http2ServerResponse,
    ) => void
    const servers = [
      http2.createSecureServer({ cert, key, allowHTTP1: true }, compatible),
      httpsServer(answer),
    ]
    for (const server of servers) {
      server.on('upgrade', (request, socket, head) => {
        sockets.handleUpgrade(request, socket, head, (client) =>
          client.on('message', (data) => relay(String(data))),
        )
      })
    }
    return servers
  },
}

function httpsServer(answer: RequestListener): https.Server {
  return https.createServer({ cert, key, keepAliveTimeout: 75_000 }, answer)
}

function figuresServer(windows: () => number): https.Server {
  return httpsServer((request, response) => answerFigures(request, response, windows()))
}

function answerFigures(request: IncomingMessage, response: ServerResponse, windows: number): void {
  if (request.url === '/api/figures') response.end(JSON.stringify(readFigures(windows)))
  else response.writeHead(404).end()
}

/** Ignores a request that was cut. */
function whenRead(request: Readable, run: (body: string) => void): void {
  text(request)
    .then(run)
    .catch(() => undefined)
}

async function open(server: Server): Promise<number> {
  server.on('connection', (socket: Socket) => socket.setNoDelay(true)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const [name = ''] = process.argv.slice(2)
const start = relays[name]
if (!start) throw new Error(`There is no relay "${name}"; there are ${Object.keys(relays).join(', ')}.`)
const [first, second = first] = await Promise.all((await start()).map(open))
process.send?.({ type: 'ready', ports: { '2': first, '1.1': second } })
process.once('SIGTERM', () => process.exit(0))
process.once('disconnect', () => process.exit(0))
