// A Redis server for tests, on a free port, with its own data.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { freePort } from './open-port.ts'

export interface TestRedis {
  readonly url: string
  readonly port: number
  readonly pid: () => number
  /** Without a clean shutdown, like a crash. */
  readonly kill: () => Promise<void>
  /** Call after `kill`: keeps the port and the stored data. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Set by the test suite. */
const program = process.env.CROSSWIND_REDIS_PROGRAM ?? 'redis-server'

/** As docs/cluster.md advises; `more` are further settings. Rejects if the program is not installed or does not start. */
export async function startRedisServer(more: Readonly<Record<string, string>> = {}): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-redis-'))
  const port = await freePort()
  const settings = {
    bind: '127.0.0.1',
    port: String(port),
    dir: folder,
    save: '',
    appendonly: 'yes',
    appendfsync: 'always',
    ...more,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')])
  let child: ChildProcess | null = null

  async function start(): Promise<void> {
    child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const failed = once(child, 'error').then(([cause]) => {
      throw new Error('redis-server does not run here; Debian has it as the package redis-server.', { cause })
    })
    await Promise.race([untilReady(child), failed])
  }

  async function kill(): Promise<void> {
    if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  async function stop(): Promise<void> {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  }

  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid: () => child?.pid ?? 0,
    kill,
    restart: start,
    stop,
  }
}

async function untilReady(child: ChildProcess): Promise<void> {
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout as Readable })) {
    lines.push(line)
    if (!line.includes('Ready to accept connections')) continue
    // Nothing may block it.
    child.stdout?.resume()
    return
  }
  throw new Error(`redis-server did not start: ${lines.join('\n')}`)
}
