// Answers to what never became a request over HTTP/1.1: too slow, too large, or no HTTP at all.

import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { Refusal } from '../refusal.ts'
import type { PortServer } from './connections.ts'
import { mostHeaderBytes } from './settings.ts'

export const headersTooLarge = () =>
  new Refusal(
    431,
    'headers-too-large',
    `Headers may have ${mostHeaderBytes} bytes together, cookies included.`,
  )

export interface BareAnswering {
  readonly bodySeconds: number
  /** Whether TLS is up on that socket: before, nothing could be read. */
  readonly isSecure: (socket: object) => boolean
  /** Whether a request on that socket is being answered: then no second answer may begin. */
  readonly isAnswering: (socket: object) => boolean
}

export function answerBare(server: PortServer, parts: BareAnswering): void {
  const { bodySeconds, isSecure, isAnswering } = parts
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex & { bytesRead?: number }) => {
    const hasSaidNothing = !socket.bytesRead
    if (!socket.writable || !isSecure(socket) || isAnswering(socket) || hasSaidNothing) {
      return void socket.destroy()
    }
    socket.end(formatBare(refusalFor(error, bodySeconds)))
  })
}

function refusalFor({ code }: NodeJS.ErrnoException, bodySeconds: number): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge()
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return tooSlow(bodySeconds)
  return new Refusal(400, 'bad-request', 'What came is no HTTP/1.1 request (RFC 9112).')
}

function tooSlow(seconds: number): Refusal {
  const sentence = `A request's headers have to be complete within ${seconds} s (limits.bodySeconds).`
  return new Refusal(408, 'too-slow', sentence)
}

function formatBare(refusal: Refusal): string {
  const body = JSON.stringify(refusal)
  const lines = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
