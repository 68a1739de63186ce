// What a transport is on the server's side: it turns requests or sockets into windows of the hub, and nothing else.

import type Router from '@koa/router'
import type { Hub } from '../hub/hub.ts'
import type { TransportName } from '../wire/modes.ts'

/** A WebSocket and the query that it came with. */
export type SocketHandler = (socket: import('ws').WebSocket, query: URLSearchParams) => void

export interface Mounting {
  readonly router: Router
  /** Takes the WebSockets that arrive at a path. */
  readonly onSocket: (path: string, handler: SocketHandler) => void
  readonly hub: Hub
  readonly limits: { readonly maxMessageBytes: number }
}

export interface ServerTransport {
  readonly name: TransportName
  readonly mount: (mounting: Mounting) => void
}
