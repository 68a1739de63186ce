// Flooded server and attacker, each in its own process; this file is the entry point of both.

import { type ChildProcess, fork } from 'node:child_process'
import { on, once } from 'node:events'
import type { Config } from '../../app/config/config.ts'
import type { HttpVersion } from '../../protocol/modes.ts'
import { serverEnvironment, serverFlags } from '../../scripts/child-process.mjs'
import { collectGarbage } from '../../scripts/garbage.ts'
import type { AttackName } from './attacks.ts'
import type { FloodName, Target } from './floods.ts'

/** Bytes, after a garbage collection. */
export interface Memory {
  /** In objects and buffers. */
  readonly used: number
  /** Resident, without the free part of the heap, which V8 trims at its own times. */
  readonly held: number
  /** Resident peak since the last call, sampled. */
  readonly peak: number
}

export type FloodedServer = Awaited<ReturnType<typeof startFloodedServer>>

/** `config` is that of our own server or, if it is an application's, of `createCrosswind`. */
export async function startFloodedServer(config: unknown, isApplication = false) {
  const child = new Child(isApplication ? 'application' : 'server', JSON.stringify(config))
  const { ports, ca } = await child.message<{ ports: Record<HttpVersion, number>; ca: string }>()
  const origin: Readonly<Record<HttpVersion, string>> = {
    '2': `https://localhost:${ports['2']}`,
    '1.1': `https://localhost:${ports['1.1']}`,
  }
  return {
    ports,
    target: { ...ports, isApplication },
    isApplication,
    ca,
    origin,
    memory: () => child.ask<Memory>({}),
    written: () => child.written,
    close: () => child.close(),
  }
}

export type Attacker = Awaited<ReturnType<typeof startAttacker>>

interface Order {
  readonly target: Target
  readonly flood?: FloodName
  readonly attack?: AttackName
  readonly forMs?: number
}

export async function startAttacker() {
  const child = new Child('attacker')
  await child.message()
  const run = async <Ending>(order: Order) => (await child.ask<{ ending: Ending }>(order)).ending
  return {
    flood: (flood: FloodName, target: Target) => run<unknown>({ flood, target }),
    /** Resolves after `forMs` to the number of connections used. */
    attack: (attack: AttackName, target: Target, forMs: number) => run<number>({ attack, target, forMs }),
    close: () => child.close(),
  }
}

class Child {
  written = ''
  #asked = 0
  readonly #process: ChildProcess

  constructor(...args: readonly string[]) {
    this.#process = fork(import.meta.filename, args, {
      execArgv: [...process.execArgv, ...serverFlags],
      env: { ...process.env, ...serverEnvironment },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#process.setMaxListeners(0)
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.on('data', (chunk) => {
        this.written += chunk
      })
  }

  ask<Message>(question: object): Promise<Message> {
    this.#asked += 1
    const number = this.#asked
    const answer = this.message<Message & { number: number }>((message) => message.number === number)
    this.#process.send({ ...question, number })
    return answer
  }

  /** Rejects with the process's output if it ends first. */
  async message<Message>(isAnswer: (message: Message) => boolean = () => true): Promise<Message> {
    for await (const [message] of on(this.#process, 'message', { close: ['exit'] }))
      if (isAnswer(message)) return message
    throw new Error(`A flood process ended:\n${this.written}`)
  }

  /** Disconnects; resolves to the exit code once nothing keeps the process alive. */
  async close(): Promise<number | null> {
    if (this.#process.exitCode !== null) return this.#process.exitCode
    const exited = once(this.#process, 'exit')
    this.#process.disconnect()
    const [code] = await exited
    return code
  }
}

if (import.meta.main) {
  const [, , role, config = '{}'] = process.argv
  await (role === 'attacker' ? attackOnDemand() : serve(role === 'application', JSON.parse(config)))
}

async function start(isApplication: boolean, config: Partial<Config>) {
  if (isApplication) return (await import('./application.ts')).startApplication(config as object)
  const { startTestServer, testConfig } = await import('../../app/testing.ts')
  const limits = { ...testConfig.limits, ...config.limits }
  return startTestServer({ ...config, limits })
}

async function serve(isApplication: boolean, config: Partial<Config>): Promise<void> {
  const server = await start(isApplication, config)

  let peak = 0
  const sampling = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 20)
  process.on('message', ({ number }: { number: number }) => {
    collectGarbage()
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
    const memory: Memory = { used: heapUsed + external, held: rss - heapTotal + heapUsed, peak }
    peak = 0
    process.send?.({ ...memory, number })
  })
  process.once('disconnect', () => {
    clearInterval(sampling)
    void server.close()
  })
  process.send?.({ ports: server.ports, ca: server.ca })
}

async function attackOnDemand(): Promise<void> {
  const { attack } = await import('./attacks.ts')
  const { floods } = await import('./floods.ts')
  process.on(
    'message',
    async ({ number, target, flood, attack: name, forMs = 0 }: Order & { number: number }) => {
      const ending = flood ? await floods[flood](target) : name && (await attack(name, target, forMs))
      process.send?.({ ending, number })
    },
  )
  process.once('disconnect', () => process.exit())
  process.send?.({})
}
