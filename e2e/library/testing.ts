// The library's two doors for tests: a server on a free port, and its clients.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { type ConnectOptions, connect, type Room } from '../../client/index.ts'
import { type CrosswindOptions, createCrosswind } from '../../server/index.ts'
import { createNodePlatform } from '../clients/client.ts'

export interface Said {
  readonly text: string
}

interface Setting extends Partial<CrosswindOptions> {
  /** Cuts the connections of requests for these addresses. */
  readonly cuts?: (url: string) => boolean
}

export async function start(t: TestContext, { cuts = () => false, ...options }: Setting = {}) {
  const server = createServer()
  const crosswind = await createCrosswind({
    ...{ path: '/realtime', channels: { 'room.*': { kind: 'json' } }, authorize: 'everyone' },
    ...options,
  })
  crosswind.attach(server)
  const take = server.listeners('request')[0] as (...given: unknown[]) => void
  server.removeAllListeners('request').on('request', (request, response) => {
    if (!cuts(request.url ?? '')) return take(request, response)
    request.socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  t.after(async () => {
    await crosswind.close({ drainMs: 0 })
    server.closeAllConnections()
    server.close()
  })
  const open = (options: Partial<ConnectOptions> = {}) => {
    const platform = createNodePlatform('1.1', origin, null)
    const opened = connect(`${origin}/realtime`, { platform, ...options })
    t.after(() => {
      opened.close()
      platform.close()
    })
    return opened
  }
  return { crosswind, open, origin, cut: () => server.closeAllConnections() }
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
