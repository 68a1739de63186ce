// A NATS server with JetStream for tests and the lab, on a free port, with its own folder.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { NatsConnection } from '@nats-io/transport-node'

export interface TestNats {
  readonly address: () => string
  /** 0 while not running. */
  readonly pid: () => number
  readonly connect: () => Promise<NatsConnection>
  /** Without a clean shutdown, like a crash. */
  readonly kill: () => Promise<void>
  /** Call after `kill`: keeps the port and the stored data. */
  readonly restart: () => Promise<void>
  /** Call after `kill`: `save` copies a stream's stored data, `setBack` restores the copy. */
  readonly save: (stream: string) => void
  readonly setBack: (stream: string) => void
  readonly stop: () => Promise<void>
}

const startWithinMs = 20_000

/** Set by the test suite. */
const program = process.env.CROSSWIND_NATS_PROGRAM ?? 'nats-server'

/** As docs/cluster.md advises: messages and documents may exceed NATS' default limit. */
const settings = (port: number, folder: string, more: string) => `
host: 127.0.0.1
port: ${port}
max_payload: 8MB
ports_file_dir: "${folder}"
jetstream { store_dir: "${join(folder, 'data')}" }
${more}
`

/** Returns `nats-server 2.9.10`. Throws if the program is not installed. */
export function natsServerVersion(): string {
  return execFileSync(program, ['-v'], { encoding: 'utf8' }).trim().replace(': v', ' ')
}

/**
 * `more` is added to the configuration. Rejects if the program is not installed or does not start.
 */
export async function startNatsServer(more = ''): Promise<TestNats> {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-nats-'))
  let child: ChildProcess | null = null
  let port = -1

  async function start(): Promise<void> {
    const file = join(folder, 'nats.conf')
    writeFileSync(file, settings(port, folder, more))
    child = spawn(program, ['-c', file], { stdio: 'ignore' })
    port = await portOf(child, folder)
  }

  async function kill(): Promise<void> {
    if (!child?.pid) return
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null
    child.kill('SIGKILL')
    await exited
  }

  async function stop(): Promise<void> {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  }

  const storeOf = (stream: string) => join(folder, 'data/jetstream/$G/streams', stream)
  const copyOf = (stream: string) => join(folder, `${stream}-copy`)

  function setBack(stream: string): void {
    rmSync(storeOf(stream), { recursive: true })
    cpSync(copyOf(stream), storeOf(stream), { recursive: true })
  }

  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  const address = () => `127.0.0.1:${port}`
  async function connect(): Promise<NatsConnection> {
    const nats = await import('@nats-io/transport-node')
    return nats.connect({ servers: address(), maxReconnectAttempts: -1, reconnectTimeWait: 50 })
  }
  const pid = () => child?.pid ?? 0
  const save = (stream: string) => cpSync(storeOf(stream), copyOf(stream), { recursive: true })
  return { address, pid, connect, kill, restart: start, save, setBack, stop }
}

/** Reads the file that the server writes when it listens. */
async function portOf(child: ChildProcess, folder: string): Promise<number> {
  const failed = once(child, 'error').then(([error]) => {
    throw new Error('nats-server does not run here; Debian has it as the package nats-server.', {
      cause: error,
    })
  })
  const file = join(folder, `nats-server_${child.pid}.ports`)
  const listening = async () => {
    const end = performance.now() + startWithinMs
    while (performance.now() < end) {
      try {
        const { nats } = JSON.parse(readFileSync(file, 'utf8')) as { nats: string[] }
        if (nats[0]) return Number(new URL(nats[0]).port)
      } catch {
        // Missing or incomplete so far.
      }
      await pause(20)
    }
    throw new Error(`nats-server did not listen within ${startWithinMs / 1000} s.`)
  }
  return Promise.race([listening(), failed])
}
