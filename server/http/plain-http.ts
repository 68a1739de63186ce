// Sockets that may not begin TLS: HTTP/1.1 requests are redirected to https, silent sockets cut.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal } from '../../protocol/refusal.ts'
import { authorityPattern } from '../security/middleware.ts'
import { counted } from './refusals.ts'
import { maxHeaderBytes } from './server-options.ts'

/** The first byte of TLS: a handshake record's type (RFC 8446, section 5.1). */
const handshakeRecord = 22

export type TlsDetector = (socket: Socket, beginTls: () => void) => void

/**
 * Calls `beginTls` when the first byte starts a TLS handshake; otherwise parses HTTP/1.1 and
 * redirects to https. Silent connections are cut after `silenceMs`, incomplete requests like
 * incomplete handshakes.
 */
export function createTlsDetector(silenceMs: number): TlsDetector {
  const plain = createServer({ maxHeaderSize: maxHeaderBytes }, redirect)

  return (socket, beginTls) => {
    const cut = () => void socket.destroy()
    socket.on('error', cut)
    socket.once('end', cut)
    socket.setTimeout(silenceMs, cut)
    socket.on('readable', look)

    function look(): void {
      const bytes: Buffer | null = socket.read()
      if (bytes === null) return
      socket.off('readable', look).off('end', cut).setTimeout(0, cut)
      socket.unshift(bytes)
      if (bytes[0] === handshakeRecord) beginTls()
      else plain.emit('connection', socket)
    }
  }
}

const noAddressSentence =
  'This port speaks HTTPS. A redirect needs a Host header, HOST or HOST:PORT, and a path that begins with a slash.'

/**
 * 308 keeps method and body (RFC 9110, section 15.4.9). Not cacheable: another program may use this
 * port later.
 */
function redirect(request: IncomingMessage, response: ServerResponse): void {
  const location = secureAddress(request)
  const body = location
    ? `This port speaks HTTPS: ${location}\n`
    : JSON.stringify(counted(new Refusal('bad-request', noAddressSentence)))
  response.writeHead(location ? 308 : 400, {
    ...(location && { Location: location }),
    'Cache-Control': 'no-store',
    Connection: 'close',
    'Content-Type': `${location ? 'text/plain' : 'application/json'}; charset=utf-8`,
    'Content-Length': Buffer.byteLength(body),
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(body)
}

function secureAddress({ headersDistinct, url = '' }: IncomingMessage): string | null {
  const [given = '', ...more] = headersDistinct.host ?? []
  const [, host, port = '80'] = (more.length === 0 && authorityPattern.exec(given)) || []
  return host && url.startsWith('/') ? `https://${host}:${port}${url}` : null
}
