// The library's two doors for tests: a server on a free port, and its clients.

import { readdirSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { ensureCertificate } from '../../certs/certificate.ts'
import { type ConnectionState, type ConnectOptions, connect, type Room } from '../../client/connect.ts'
import { modeNamed } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { openPort } from '../../scripts/open-port.ts'
import { type CrosswindOptions, createCrosswind, serverOptions } from '../../server/index.ts'
import { createNodePlatform } from '../clients/client.ts'
import { connectHttp } from '../clients/http-client.ts'

export interface Said {
  readonly text: string
}

interface Setting extends Partial<CrosswindOptions> {
  /** Cuts the connections of requests for these addresses. */
  readonly cuts?: (url: string) => boolean
  /** Requests for these addresses wait for it. */
  readonly holds?: (url: string) => Promise<void> | null
  /** Answers instead of Crosswind, if it does. */
  readonly elsewhere?: (request: IncomingMessage, response: ServerResponse) => unknown
  /** The application beside it. */
  readonly application?: RequestListener
  /** Over TLS, with HTTP/2 and 1.1. */
  readonly isSecure?: boolean
  /** Default: a free one. */
  readonly port?: number
}

/** Over HTTP/2 and 1.1. */
export async function secureServer(t: TestContext) {
  const directory = temporaryFolder(t)
  const tls = await ensureCertificate({ directory, now: new Date() })
  return createSecureServer({ ...serverOptions(), ...tls })
}

export async function start(
  t: TestContext,
  { cuts = () => false, holds, elsewhere, isSecure = false, port = 0, application, ...options }: Setting = {},
) {
  const server = isSecure ? await secureServer(t) : createServer()
  // WebSockets too, which a server does not count among its connections.
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const crosswind = await createCrosswind({
    path: '/realtime',
    channels: { 'room.*': { kind: 'json' } },
    authorize: 'everyone',
    ...options,
  })
  if (application) server.on('request', application as (...given: unknown[]) => void)
  crosswind.attach(server)
  const take = server.listeners('request')[0] as (...given: unknown[]) => void
  server.removeAllListeners('request').on('request', async (request, response) => {
    await holds?.(request.url ?? '')
    if (cuts(request.url ?? '')) request.socket.destroy()
    else if (!elsewhere?.(request, response)) take(request, response)
  })
  const origin = `${isSecure ? 'https' : 'http'}://localhost:${await openPort(server, '127.0.0.1', port)}`
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  const stop = async () => {
    await crosswind.close({ drainMs: 0 })
    cut()
    server.close()
  }
  t.after(stop)
  const open = (options: Partial<ConnectOptions> = {}) => {
    const { http = '1.1' } = modeNamed(options.modes?.[0] ?? '') ?? {}
    const platform = createNodePlatform(connectHttp(http, origin, null))
    const opened = connect(`${origin}/realtime`, { platform, ...options })
    t.after(() => {
      opened.close()
      platform.close()
    })
    return opened
  }
  return { crosswind, open, origin, cut, stop }
}

/** Resolves to the first texts of a room. */
export function texts(room: Room<Said>, count: number): Promise<readonly string[]> {
  const heard: string[] = []
  return new Promise((resolve) => {
    room.on('message', ({ data }) => {
      heard.push(data.text)
      if (heard.length === count) resolve(heard)
    })
  })
}

/** Resolves once a connection is in such a state. */
export function untilState(
  opened: ReturnType<typeof connect>,
  is: (state: ConnectionState) => boolean,
): Promise<ConnectionState> {
  if (is(opened.state)) return Promise.resolve(opened.state)
  return new Promise((resolve) => {
    const off = opened.on('state', (state) => {
      if (!is(state)) return
      off()
      resolve(state)
    })
  })
}

/** Lists a folder's files, and those that users other than its owner may access. */
export function accessTo(folder: string) {
  const names = readdirSync(folder).sort()
  const isOpen = (name: string) => (statSync(join(folder, name)).mode & 0o077) !== 0
  return { names, openToOthers: names.filter(isOpen) }
}

/** Collects uncaught errors. */
export function uncaught(t: TestContext): readonly string[] {
  const thrown: string[] = []
  process.setUncaughtExceptionCaptureCallback((error) => thrown.push(String(error)))
  t.after(() => process.setUncaughtExceptionCaptureCallback(null))
  return thrown
}
