// Starts the server that is flooded, as a process of its own, and asks it for its memory.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { HttpVersion } from '../../../server/wire/modes.ts'

export interface Memory {
  readonly rss: number
  readonly heapUsed: number
  readonly external: number
}

export interface ServerApart {
  readonly ports: Readonly<Record<HttpVersion, number>>
  readonly origin: Readonly<Record<HttpVersion, string>>
  readonly ca: string
  /** In bytes, after a collection. */
  readonly memory: () => Promise<Memory>
  /** What it wrote to its terminal. */
  readonly written: () => string
  /** Resolves to its exit code. */
  readonly close: () => Promise<number | null>
}

/** `config` is any part of the configuration. */
export async function startServerApart(config: unknown): Promise<ServerApart> {
  const program = join(import.meta.dirname, 'flooded-server.ts')
  const child = fork(program, [JSON.stringify(config)], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  let written = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      written += chunk
    })
  const ready = await messageFrom(child, () => written)
  const { ports, ca } = ready as Pick<ServerApart, 'ports' | 'ca'>
  return {
    ports,
    ca,
    origin: { '2': `https://localhost:${ports['2']}`, '1.1': `https://localhost:${ports['1.1']}` },
    memory() {
      child.send('memory')
      return messageFrom(child, () => written) as Promise<Memory>
    },
    written: () => written,
    async close() {
      if (child.exitCode !== null) return child.exitCode
      const exited = once(child, 'exit')
      child.disconnect()
      const [code] = await exited
      return code
    },
  }
}

/** Rejects with what it wrote when the process ends first. */
async function messageFrom(child: ChildProcess, written: () => string): Promise<unknown> {
  const ending = new AbortController()
  const exited = once(child, 'exit', { signal: ending.signal }).then(() => {
    throw new Error(`The flooded server ended:\n${written()}`)
  })
  exited.catch(() => undefined)
  try {
    const [message] = await Promise.race([once(child, 'message'), exited])
    return message
  } finally {
    ending.abort()
  }
}
