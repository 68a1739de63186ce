// The two ports: HTTP/2 (with HTTP/1.1 as fallback) and HTTP/1.1 alone, both over TLS.

import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Server as NetServer } from 'node:net'
import type { ByHttp } from '../../protocol/modes.ts'
import { occupy } from '../../scripts/open-port.ts'
import { endsWithin, processTimers } from '../../scripts/process.ts'
import type { EngineSettings } from '../config/engine-settings.ts'
import { createHttp2Server } from '../node-internals.ts'
import { output } from '../output.ts'
import type { PortSharing } from '../workers/workers.ts'
import type { ServerHandlers } from './attach.ts'
import { Connections } from './connections.ts'
import type { Connection } from './http-connection.ts'
import { answerBrokenInput } from './requests.ts'
import { http1Options, http2Options } from './server-options.ts'

export type ListenerSettings = Pick<EngineSettings, 'heartbeatMs'> &
  EngineSettings['limits'] & {
    readonly host: string
    /** 0 selects a free one. */
    readonly port: number
    readonly http1Port: number
    readonly cert: string
    readonly key: string
    readonly sharing?: PortSharing | null
  }

/** The actual ports. */
export type Ports = ByHttp<number>

/** If one port cannot be opened, closes both and rejects, naming the port. */
export async function listen(
  handlersFor: (connections: Connections) => ServerHandlers,
  settings: ListenerSettings,
) {
  const { cert, key, host, bodySeconds, sharing = null } = settings
  const options = {
    cert,
    key,
    minVersion: 'TLSv1.2' as const,
    ...http1Options(bodySeconds),
    ...(sharing && { ticketKeys: sharing.ticketKeys }),
  }
  const secure = createHttp2Server({ ...options, ...http2Options(settings) })
  const plain = https.createServer(options)
  const connections = new Connections({ ...settings, handshakeMs: options.handshakeTimeout }, processTimers)
  const acceptors = { '2': connections.acceptFor(secure), '1.1': connections.acceptFor(plain) }
  const servers = [secure, plain, ...Object.values(acceptors)]
  const { handleRequest, handleUpgrade, handleConnect } = handlersFor(connections)
  for (const server of [secure, plain]) {
    server.on('request', handleRequest as RequestListener)
    server.on('upgrade', handleUpgrade)
    answerBrokenInput(server, connections, bodySeconds)
  }
  // Accept failures; `open` reports errors before listening.
  for (const acceptor of Object.values(acceptors))
    acceptor.on(
      'error',
      (error) =>
        acceptor.listening && output.incident('connection-failed', 'A connection was not accepted', error),
    )
  secure.on('sessionError', reportBrokenSession)
  secure.on('connect', handleConnect)
  try {
    const ports = {
      '2': await open(acceptors['2'], settings.port, '--port', host, sharing),
      '1.1': await open(acceptors['1.1'], settings.http1Port, '--http1-port', host, sharing),
    }
    return {
      ports,
      close,
      shed,
      connections: () => connections.count(),
    }
  } catch (error) {
    for (const server of servers) server.close()
    connections.stopWatching()
    throw error
  }

  /**
   * Makes clients open new connections for their next requests, perhaps to another server behind a
   * load balancer.
   */
  function shed(): void {
    plain.closeIdleConnections()
    for (const { session } of connections.all()) session?.close()
  }

  /**
   * Stops accepting, lets requests end, cuts the rest after `withinMs`. Resolves at most 0.5 s
   * later.
   */
  async function close(withinMs: number): Promise<void> {
    const closed = Promise.all(servers.map((server) => once(server, 'close')))
    // Sends GOAWAY: open streams may end, but no new ones begin.
    for (const server of servers) server.close()
    const cut = (connection: Connection) => connection.socket.destroy()
    for (const connection of connections.all()) if (!connection.secure) cut(connection)
    const stopDeadline = processTimers.later(() => connections.all().forEach(cut), withinMs)
    await endsWithin(closed, withinMs + cutMs)
    stopDeadline()
    connections.stopWatching()
  }
}

const cutMs = 500

/** An invalid frame ends the session and its streams with the same error. */
function reportBrokenSession({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'ERR_HTTP2_ERROR' || code === 'ERR_HTTP2_TOO_MANY_INVALID_FRAMES')
    output.incident('http2-violation', `A client broke HTTP/2, and its connection was ended: ${message}`)
}

/** Resolves to the port. Rejects with one sentence; `flag` names the port's flag. */
async function open(
  server: NetServer,
  port: number,
  flag: string,
  host: string,
  sharing: PortSharing | null,
): Promise<number> {
  const place = { port, host: host === 'localhost' ? '127.0.0.1' : host }
  try {
    // Another server of this user may share the port too; the kernel would distribute connections
    // among both.
    if (sharing?.isFirst && port !== 0) await occupy(place)
    server.listen({ ...place, reusePort: sharing !== null })
    await once(server, 'listening')
  } catch (cause) {
    throw new Error(whyNotOpen(port, flag, host, cause), { cause })
  }
  return (server.address() as AddressInfo).port
}

function whyNotOpen(port: number, flag: string, host: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  const addresses = 'localhost, 0.0.0.0 (every address) or an address of this machine'
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use on ${host}: stop the program that uses it, or choose another with ${flag} (0 selects a free one).`
    case 'EACCES':
      return `Port ${port} needs more rights than this user has: choose one above 1023 with ${flag}.`
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this machine, so port ${port} (${flag}) cannot be opened there: give --host ${addresses}.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The name ${host} has no address, so port ${port} (${flag}) cannot be opened there: give --host ${addresses}.`
    default:
      return `Port ${port} (${flag}) cannot be opened on ${host} (--host): ${cause instanceof Error ? cause.message : cause}.`
  }
}
