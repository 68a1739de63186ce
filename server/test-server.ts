// The library's door for an application's tests: a server in memory, whose clock can be put forward.

import { once } from 'node:events'
import { createServer, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import type { Clock } from '../protocol/time.ts'
import { processTimers } from '../scripts/process.ts'
import type { Crosswind, CrosswindOptions } from './index.ts'
import { create } from './library/create.ts'
import { movableTimers } from './movable-timers.ts'

export interface TestOptions extends Omit<CrosswindOptions, 'path' | 'authorize' | 'storage' | 'workers'> {
  /** Default: `/realtime`. */
  readonly path?: string
  /** Default: `everyone`. */
  readonly authorize?: CrosswindOptions['authorize']
  /**
   * Makes the application's server as in production, with Crosswind attached to it, but does not let it listen.
   * `now` is the server's clock. Default: a server of Crosswind alone.
   */
  readonly application?: (crosswind: Crosswind, now: Clock) => Server | Promise<Server>
}

export interface TestCrosswind extends AsyncDisposable {
  readonly crosswind: Crosswind
  /** For `connect`: on a free port of 127.0.0.1. */
  readonly url: string
  /** The server's clock: ms since the epoch. */
  now(): number
  /** Puts the server's clock forward: what is due by then happens before this returns. */
  advance(byMs: number): void
  /** Returns the client, or anything else, which `close` closes before the server. */
  use<Closable extends { close(): unknown }>(closable: Closable): Closable
  /** Ends what it was given by `use`, the last first, then the server and its connections. */
  close(): Promise<void>
}

/**
 * Starts a server over HTTP/1.1 whose log is in memory, in this process. Rejects as `createCrosswind`, and with
 * an `Error` if `application` does not return a server.
 */
export async function createTestCrosswind({
  path = '/realtime',
  authorize = 'everyone',
  application = crosswindAlone,
  ...options
}: TestOptions): Promise<TestCrosswind> {
  const { now, later, advance } = movableTimers(processTimers)
  const own = { path, authorize, storage: 'memory', workers: 1 } as const
  const crosswind = await create({ ...options, ...own }, { now, later }, now)
  const used: { close(): unknown }[] = []
  try {
    const server = checkServer(await application(crosswind, now))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const close = async () => {
      try {
        for (const one of used.splice(0).reverse()) await one.close()
      } finally {
        await crosswind.close({ drainMs: 0 })
        server.close()
        server.closeAllConnections()
      }
    }
    return {
      crosswind,
      url: `http://127.0.0.1:${port}${path}`,
      now,
      advance,
      use(closable) {
        used.push(closable)
        return closable
      },
      close,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await crosswind.close({ drainMs: 0 })
    throw error
  }
}

function crosswindAlone(crosswind: Crosswind): Server {
  const server = createServer((_request, response) => void response.writeHead(404).end())
  crosswind.attach(server)
  return server
}

function checkServer(made: unknown): Server {
  if (made instanceof Server && !made.listening) return made
  const what = made instanceof Server ? 'a server that listens' : inspect(made, { depth: 0 })
  throw new Error(
    `createTestCrosswind: application returned ${what}; it must return a server of node:http that does not listen yet, such as createServer(app).`,
  )
}
