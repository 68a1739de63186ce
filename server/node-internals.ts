// Code that relies on more than Node documents. On a new Node run the tests beside this file first.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerOptions } from 'node:http'
import {
  createSecureServer,
  type Http2SecureServer,
  type SecureServerOptions,
  type ServerHttp2Session,
} from 'node:http2'
import type { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { getPriority, setPriority } from 'node:os'
import type { TLSSocket } from 'node:tls'

export type PortServer = Http2SecureServer | HttpsServer

/**
 * Begins TLS on sockets that another server accepted, and tells which socket carries a TLS socket.
 *
 * Injection by 'connection' is documented. That 'secureConnection' is then emitted in the
 * asynchronous context of the injection is not: Node's documentation promises contexts for
 * asynchronous operations in general. Nothing documented leads from a TLS socket to the socket below
 * it, and the peer's address does not identify it: ports are reused while Node still holds the former
 * socket.
 *
 * If a new Node loses the context, `finished` returns null, and no connection is served.
 */
export class Handshakes<Carrier extends object> {
  readonly #contexts = new AsyncLocalStorage<{ carrier: Carrier | null }>()

  /** `carrier` stands for the socket. */
  begin(server: PortServer, socket: Socket, carrier: Carrier): void {
    this.#contexts.run({ carrier }, () => void server.emit('connection', socket))
  }

  /** In a listener of 'secureConnection', once: null if the handshake was not begun here. */
  finished(): Carrier | null {
    const context = this.#contexts.getStore()
    const carrier = context?.carrier ?? null
    // Later operations inherit the context: do not retain the carrier.
    if (context) context.carrier = null
    return carrier
  }
}

type Times = Pick<ServerOptions, 'headersTimeout' | 'requestTimeout' | 'connectionsCheckingInterval'>

/**
 * Creates a server for HTTP/2 that applies these times to its HTTP/1.1 connections too.
 *
 * Node 24.21 takes them as options, Node 22 has its own (60 s, 300 s, checked every 30 s) and reads
 * them as properties, which only `http.Server` documents.
 *
 * On a Node that does neither, silent HTTP/1.1 connections to the port for HTTP/2 stay open for minutes.
 */
export function createHttp2Server(options: SecureServerOptions & Required<Times>): Http2SecureServer {
  const { headersTimeout, requestTimeout, connectionsCheckingInterval } = options
  const times = { headersTimeout, requestTimeout, connectionsCheckingInterval }
  return Object.assign(createSecureServer(options), times)
}

/**
 * Applies `headersTimeout`, `requestTimeout` and `closeIdleConnections` to a server that does not
 * listen itself.
 *
 * Node starts to track HTTP/1.1 connections in a listener of its own to 'listening'
 * (`setupConnectionsTracking`). Nothing documented starts it for a server whose connections are
 * injected.
 *
 * If a new Node starts it elsewhere, connections stay open on which no request begins, or one never
 * ends.
 */
export function trackRequests(server: PortServer): void {
  server.emit('listening')
}

/**
 * The socket of a session, before it is destroyed.
 *
 * `session.socket` is a proxy that refuses what would disturb HTTP/2 and is documented to route all
 * else directly to the socket, and `off` is documented to return what it was called on. That both
 * together return the socket, and not the proxy, is written nowhere. A session whose peer does not
 * read can be ended only by destroying its socket, and nothing documented returns it.
 *
 * If a new Node returns the proxy, no HTTP/2 connection of our own ports is served; on an
 * application's server, sessions whose peer does not read stay open.
 */
export function socketOf(session: ServerHttp2Session): Socket | TLSSocket {
  return session.socket.off('close', ignore)
}

const ignore = () => undefined

/**
 * Makes an existing server emit 'upgrade' only for requests that `isUpgrade` accepts; others are
 * requests, as on a server without a listener for upgrades.
 *
 * `shouldUpgradeCallback` is documented as an option of `http.createServer`, not as a property of
 * the server, and an application has created its server before.
 *
 * On a Node that ignores the property, other upgrades get 404.
 */
export function limitUpgrades(server: EventEmitter, isUpgrade: (request: IncomingMessage) => boolean): void {
  if ('shouldUpgradeCallback' in server) server.shouldUpgradeCallback = isUpgrade
}

/**
 * Prints warnings in Node's stead.
 *
 * Node prints them in a listener of its own to 'warning', which is removed. Documented is only the
 * flag `--no-warnings`, which a program cannot give itself.
 *
 * If a new Node prints elsewhere, warnings appear twice, once not as JSON.
 */
export function replaceWarnings(print: (warning: Error) => void): void {
  process.removeAllListeners('warning').on('warning', print)
}

/** The lowest priority that Linux knows (setpriority(2)). */
const minPriority = 19

/**
 * Lowers the priority of the calling thread; the process keeps its own. Only on Linux.
 *
 * Without a process id, `setPriority` is documented to change the process. Linux changes the thread
 * that calls (setpriority(2), "C library/kernel differences"), and libuv passes the call on. Node
 * documents no priority of threads.
 *
 * If a new Node changes the whole process, the event loop has no precedence over its threads.
 */
export function lowerThreadPriority(by: number): void {
  if (process.platform === 'linux') setPriority(Math.min(minPriority, getPriority() + by))
}
