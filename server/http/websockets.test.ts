// How a WebSocket over HTTP/2 ends (RFC 6455, 7.1.1; RFC 8441, 5), frame by frame.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http2 from 'node:http2'
import { test } from 'node:test'
import type { WebSocket } from 'ws'
import { openPort } from '../../scripts/open-port.ts'
import { createConnectHandler } from './websockets.ts'

/** Less than the 5 s after which the server gives up on a peer that does not close its side. */
const waitMs = 3000

/** A Close frame with code 1000, masked with zeros (RFC 6455, 5.5.1). */
const closeFrame = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8])
const closeAnswer = Buffer.from([0x88, 0x02, 0x03, 0xe8])

test('a stream ends with the closing handshake, even if the client leaves its side open, as Firefox does', async () => {
  await using opened = new AsyncDisposableStack()
  // Without a listener for requests, Node does not emit 'connect' either.
  const server = http2.createServer({ settings: { enableConnectProtocol: true } }, () => undefined)
  const sockets: WebSocket[] = []
  const koa = { ws: { onConnection: (socket: WebSocket) => sockets.push(socket) } }
  server.on(
    'connect',
    createConnectHandler({
      app: { koa: koa as never, socketPaths: new Set(['/']), authorizeSocket: () => Promise.resolve() },
      connections: { of: () => undefined },
      settings: { maxConnections: 1, maxMessageBytes: 1000 },
      origins: { path: '/api', ports: () => [], allowedOrigins: [], allowedHosts: [] },
    }),
  )
  const port = await openPort(server)
  opened.defer(() => void server.close())
  const client = http2.connect(`http://127.0.0.1:${port}`)
  opened.defer(() => client.destroy())
  await once(client, 'remoteSettings')

  const stream = client.request(
    {
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':scheme': 'http',
      ':path': '/',
      'sec-websocket-version': '13',
    },
    { endStream: false },
  )
  const received: Buffer[] = []
  stream.on('data', (chunk: Buffer) => received.push(chunk))
  await once(stream, 'response')
  const [socket] = sockets
  assert.ok(socket)
  const closed = once(socket, 'close', { signal: AbortSignal.timeout(waitMs) })
  stream.write(closeFrame)
  const [code] = await closed
  assert.equal(code, 1000)
  if (!stream.closed) await once(stream, 'close', { signal: AbortSignal.timeout(waitMs) })
  assert.deepEqual([Buffer.concat(received), stream.rstCode], [closeAnswer, http2.constants.NGHTTP2_NO_ERROR])
})
