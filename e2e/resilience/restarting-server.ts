// The server under test: a process of its own that is stopped, killed and started again, with the same ports and the same log.

import { join } from 'node:path'
import type { Figures } from '../../server/monitor/figures.ts'
import type { HttpVersion } from '../../server/wire/modes.ts'
import { type Ports, type StartedServer, startServerProcess } from '../lab/server-process.ts'

const program = join(import.meta.dirname, '../../server/main.ts')

export interface RestartingServer {
  readonly origin: Readonly<Record<HttpVersion, string>>
  readonly ports: Ports
  /** Asked to stop as an operator would (SIGTERM), then started again. Resolves when it is up. */
  readonly restart: () => Promise<void>
  /** Ended without a word (SIGKILL), and started again at once. */
  readonly kill: () => Promise<void>
  /** Null while it is down. */
  readonly figures: () => Promise<Figures | null>
  /** Started, and not told to end since. */
  readonly isUp: () => boolean
  /** Which process it is, counted from 1. */
  readonly life: () => number
  /** What it wrote when it ended though nobody had asked it to. */
  readonly crashes: () => readonly string[]
  /** All that its processes wrote to their standard error. */
  readonly errors: () => string
  readonly close: () => Promise<void>
}

export async function startRestartingServer(
  ports: Ports,
  flags: readonly string[],
): Promise<RestartingServer> {
  const args = ['--port', String(ports['2']), '--http1-port', String(ports['1.1']), ...flags]
  const crashes: string[] = []
  const written: string[] = []
  let life = 0
  let isUp = true
  let server = await start()
  let turn: Promise<unknown> = Promise.resolve()

  async function start(): Promise<StartedServer> {
    const started = await startServerProcess(program, args)
    life += 1
    isUp = true
    started.exited.then(() => {
      if (!isUp || server !== started) return
      isUp = false
      return inTurn(comeBack)
    })
    return started
  }

  async function comeBack(): Promise<void> {
    crashes.push(server.errors())
    await replace(server.exited)
  }

  /** One at a time: a restart that comes while another is under way waits for it. */
  function inTurn(act: () => Promise<void>): Promise<void> {
    const done = turn.then(act)
    turn = done.catch(() => undefined)
    return done
  }

  async function replace(ended: Promise<void>): Promise<void> {
    await ended
    written.push(server.errors())
    server = await start()
  }

  function endBy(end: () => Promise<void>): Promise<void> {
    isUp = false
    return replace(end())
  }

  return {
    origin: server.origin,
    ports,
    restart: () => inTurn(() => endBy(server.close)),
    kill: () => inTurn(() => endBy(server.kill)),
    figures: () => server.figures().catch(() => null),
    isUp: () => isUp,
    life: () => life,
    crashes: () => crashes,
    errors: () => [...written, server.errors()].join(''),
    close: () =>
      inTurn(async () => {
        isUp = false
        await server.close()
      }),
  }
}
