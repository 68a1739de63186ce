// Shared by the programs of this folder: certificate, HTTPS servers, figures, and readiness.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import https from 'node:https'
import type { Server, Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { ensureCertificate } from '../../certs/certificate.ts'
import { openPort } from '../../scripts/open-port.ts'
import { readFigures } from '../../scripts/process.ts'

export const certificates = join(import.meta.dirname, '../../certs')
export const { cert, key } = await ensureCertificate({ directory: certificates, now: new Date() })

export function httpsServer(answer?: RequestListener): https.Server {
  return https.createServer({ cert, key, keepAliveTimeout: 75_000 }, answer)
}

export function answerFigures(request: IncomingMessage, response: ServerResponse, windows: number): void {
  if (request.url === '/api/figures') response.end(JSON.stringify(readFigures(windows)))
  else response.writeHead(404).end()
}

export const pathOf = ({ url = '/' }: Pick<IncomingMessage, 'url'>) => url.split('?', 1)[0] ?? '/'

/** Ignores a request that was cut. */
export function whenRead(request: Readable, run: (body: string) => void): void {
  text(request)
    .then(run)
    .catch(() => undefined)
}

/** Resolves to its port. */
export function open(server: Server, host = '127.0.0.1'): Promise<number> {
  server.on('connection', (socket: Socket) => socket.setNoDelay(true))
  return openPort(server, host)
}

/** Tells the lab, and ends when the lab does. `first` speaks HTTP/2, if one of both does. */
export function sayReady(first: number, second = first, more?: object): void {
  process.send?.({ type: 'ready', ports: { '2': first, '1.1': second }, more })
  process.once('SIGTERM', () => process.exit(0))
  process.once('disconnect', () => process.exit(0))
}
