// What a transport is on the server's side: it turns requests or sockets into windows of the hub, and nothing else.

import type Router from '@koa/router'
import type { Hub } from '../hub/hub.ts'
import type { Grant } from '../security/grant.ts'
import type { HttpVersion, TransportName } from '../wire/modes.ts'
import type { Timers } from '../wire/time.ts'

/** What a WebSocket came with. */
export interface SocketOpening {
  readonly query: URLSearchParams
  readonly http: HttpVersion
  readonly grant: Grant
}

export type SocketHandler = (socket: import('ws').WebSocket, opening: SocketOpening) => void

export interface TransportLimits {
  readonly maxMessageBytes: number
  readonly channelsPerWindow: number
  readonly bodySeconds: number
}

export interface Mounting {
  readonly router: Router
  /** Takes the WebSockets that arrive at a path. */
  readonly onSocket: (path: string, handler: SocketHandler) => void
  readonly hub: Hub
  readonly timers: Timers
  readonly limits: TransportLimits
  /** A long poll is held for this long unless it asks for less, ms. */
  readonly holdMs: number
  readonly heartbeatMs: number
}

export interface ServerTransport {
  readonly name: TransportName
  readonly mount: (mounting: Mounting) => void
}
