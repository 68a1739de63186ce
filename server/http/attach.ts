// Attaches to an application's server: takes what is below a path, and leaves the rest to its other listeners.

import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { AnyRequest } from '../transports/bodies.ts'
import type { TakeRequest } from './requests.ts'
import type { TakeConnect, TakeUpgrade } from './websockets.ts'

/** Node's servers: `http`, `https` and `http2`, secure or not. */
export type AnyServer = EventEmitter

export interface Takers {
  readonly takeRequest: TakeRequest
  readonly takeUpgrade: TakeUpgrade
  readonly takeConnect: TakeConnect
}

/** What the transports' own paths begin with. */
const ownPath = '/api/'

/** Whether a request is below the path; if so, gives it the address that the transports know. */
export function takesOver(request: AnyRequest, path: string): boolean {
  const { url = '' } = request
  if (!url.startsWith(`${path}/`)) return false
  request.url = ownPath + url.slice(path.length + 1)
  return true
}

/** Listeners that the application adds later also receive what is below the path. */
export function attach(
  server: AnyServer,
  path: string,
  { takeRequest, takeUpgrade, takeConnect }: Takers,
  { requests = true }: { readonly requests?: boolean } = {},
): void {
  if (requests) takeFrom(server, 'request', path, takeRequest as Taker)
  const isAlone = server.listenerCount('upgrade') === 0
  takeFrom(server, 'upgrade', path, takeUpgrade as Taker, (_request, socket: Duplex) => {
    socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  })
  // Node treats other upgrades as requests if no listener takes them.
  if (isAlone && 'shouldUpgradeCallback' in server)
    server.shouldUpgradeCallback = ({ url = '' }: IncomingMessage) => url.startsWith(`${path}/`)
  takeFrom(server, 'connect', path, takeConnect as Taker, refuseConnect as Taker)
}

// biome-ignore lint/suspicious/noExplicitAny: each event has its own parameters.
type Taker = (request: AnyRequest, ...rest: any[]) => void

function takeFrom(
  server: AnyServer,
  event: 'request' | 'upgrade' | 'connect',
  path: string,
  take: Taker,
  otherwise?: Taker,
): void {
  const others = server.rawListeners(event)
  server.removeAllListeners(event)
  server.on(event, (request: AnyRequest, ...rest) => {
    if (takesOver(request, path)) take(request, ...rest)
    else if (others.length === 0) otherwise?.(request, ...rest)
    else for (const other of others) Reflect.apply(other, server, [request, ...rest])
  })
}

/** As Node does without a listener. */
function refuseConnect(request: Http2ServerRequest, response: Http2ServerResponse | Duplex): void {
  if (!('stream' in request)) return void (response as Duplex).destroy()
  const http2Response = response as Http2ServerResponse
  http2Response.statusCode = 405
  http2Response.end()
}
