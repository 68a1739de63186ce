// Loaded by a server before its own program: makes its connections behave as at other times and on
// other servers.

import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'

const { searchParams: asked } = new URL(import.meta.url)

/**
 * Nagle's algorithm (RFC 896) on HTTP/1.1's connections, as in Node before version 18; HTTP/2 and
 * WebSockets turn it off themselves.
 */
if (asked.has('nagle'))
  subscribe('net.server.socket', (message) => {
    const { socket } = message as { readonly socket: Socket }
    socket.setNoDelay(false)
  })

/** The answer to a POST ends its connection: that of HTTP/1.1, or of both versions; `every`: any answer over HTTP/1.1. */
const closing = asked.get('closing')

if (closing !== null)
  subscribe('http.server.request.start', (message) => {
    const { request, response } = message as {
      readonly request: IncomingMessage
      readonly response: ServerResponse
    }
    if (closing === 'every' || request.method === 'POST') response.setHeader('Connection', 'close')
  })

if (closing === 'both')
  subscribe('http2.server.stream.start', (message) => {
    const { stream, headers } = message as {
      readonly stream: ServerHttp2Stream
      readonly headers: Readonly<Record<string, string>>
    }
    const { session } = stream
    // Its other streams continue; the browser opens a new connection for the next request.
    if (headers[':method'] === 'POST') stream.once('close', () => session?.close())
  })
