// The server that is flooded and who floods it, each a process of its own.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { HttpVersion } from '../../../server/wire/modes.ts'
import type { FloodName, Ports } from './floods.ts'

export interface Memory {
  readonly rss: number
  readonly heapUsed: number
  readonly external: number
}

export interface FloodedServer {
  readonly ports: Ports
  readonly origin: Readonly<Record<HttpVersion, string>>
  readonly ca: string
  /** In bytes, after a collection. */
  readonly memory: () => Promise<Memory>
  /** What it wrote to its terminal. */
  readonly written: () => string
  /** Resolves to its exit code, when nothing keeps it any more. */
  readonly close: () => Promise<number | null>
}

/** `config` is any part of the configuration. */
export async function startFloodedServer(config: unknown): Promise<FloodedServer> {
  const child = start('flooded-server.ts', [JSON.stringify(config)])
  const { ports, ca } = await child.hears<Pick<FloodedServer, 'ports' | 'ca'>>()
  return {
    ports,
    ca,
    origin: { '2': `https://localhost:${ports['2']}`, '1.1': `https://localhost:${ports['1.1']}` },
    memory: () => child.ask<Memory>('memory'),
    written: child.written,
    close: child.close,
  }
}

export interface Attacker {
  /** Resolves to how the server ended it. */
  readonly flood: (name: FloodName, ports: Ports) => Promise<unknown>
  readonly close: () => Promise<number | null>
}

export async function startAttacker(): Promise<Attacker> {
  const child = start('attacker.ts', [])
  await child.hears()
  return {
    flood: async (name, ports) => (await child.ask<{ ending: unknown }>({ name, ports })).ending,
    close: child.close,
  }
}

function start(file: string, args: readonly string[]) {
  const child = fork(join(import.meta.dirname, file), args, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      output += chunk
    })
  const written = () => output
  return {
    written,
    hears: <Message>() => messageFrom(child, written) as Promise<Message>,
    ask<Message>(question: string | object): Promise<Message> {
      const answer = messageFrom(child, written)
      child.send(question)
      return answer as Promise<Message>
    },
    async close(): Promise<number | null> {
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
  const { signal } = ending
  const exited = once(child, 'exit', { signal }).then(() => {
    throw new Error(`A process of the floods ended:\n${written()}`)
  })
  exited.catch(() => undefined)
  try {
    const [message] = await Promise.race([once(child, 'message', { signal }), exited])
    return message
  } finally {
    ending.abort()
  }
}
