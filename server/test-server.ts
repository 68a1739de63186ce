// The library's door for an application's tests: a server in memory, whose clock can be put forward.

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { processTimers } from '../scripts/process.ts'
import { create } from './library/create.ts'
import type { Crosswind } from './library/crosswind.ts'
import type { CrosswindOptions } from './library/options.ts'
import { movableTimers } from './movable-timers.ts'

export interface TestOptions extends Omit<CrosswindOptions, 'path' | 'authorize' | 'storage' | 'workers'> {
  /** Default: `everyone`. */
  readonly authorize?: CrosswindOptions['authorize']
  /** The application beside it, such as an Express app. */
  readonly application?: RequestListener
}

export interface TestCrosswind extends AsyncDisposable {
  readonly crosswind: Crosswind
  /** For `connect`: on a free port of 127.0.0.1. */
  readonly url: string
  /** Puts the server's clock forward: what is due by then happens before this returns. */
  advance(byMs: number): void
  /** Ends the server and its connections. */
  close(): Promise<void>
}

/** Starts a server over HTTP/1.1 whose log is in memory. Rejects as `createCrosswind`. */
export async function createTestCrosswind({
  authorize = 'everyone',
  application = (_request, response) => void response.writeHead(404).end(),
  ...options
}: TestOptions): Promise<TestCrosswind> {
  const timers = movableTimers(processTimers)
  const crosswind = await create({ path: '/realtime', authorize, ...options }, timers)
  const server = createServer(application)
  crosswind.attach(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const close = async () => {
    await crosswind.close({ drainMs: 0 })
    server.close()
    server.closeAllConnections()
  }
  return {
    crosswind,
    url: `http://127.0.0.1:${port}/realtime`,
    advance: timers.advance,
    close,
    [Symbol.asyncDispose]: close,
  }
}
