// Several processes on the same ports: starts them, replaces those that end, and stops them.

import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { endsWithin } from '../process.ts'
import type { Server } from '../server.ts'
import type { Timers } from '../wire/time.ts'

/** Of a worker's file descriptors, after the terminal's three and Node's own channel. */
const linkDescriptor = 4

/** One that ended sooner than this, ms, is replaced after as long: its reason may still be there. */
const shortLifeMs = 2000

/** Beyond the time to drain, ms. */
const graceMs = 3000

interface WorkersParts {
  readonly count: number
  /** Serves the log over the stream; absent where workers have it from a broker. */
  readonly attach: ((link: Duplex) => void) | undefined
  readonly drainMs: number
  readonly timers: Timers
  readonly print: (line: string) => void
}

type Ports = Server['ports']

/** From a worker, once. */
type Said =
  | { readonly type: 'ready'; readonly ports: Ports }
  | { readonly type: 'failed'; readonly why: string }

/** Resolves when all serve. Rejects with the reason of the first that cannot. Connections go to them in turn. */
export async function startWorkers({ count, attach, drainMs, timers, print }: WorkersParts): Promise<Server> {
  cluster.setupPrimary({ stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'] })
  const workers = new Set<Worker>()
  let isStopping = false

  async function begin(): Promise<Ports> {
    const worker = cluster.fork()
    const startedAt = timers.now()
    workers.add(worker)
    const link = worker.process.stdio[linkDescriptor] as Duplex
    if (attach) attach(link)
    else link.on('error', () => undefined)
    worker.once('exit', () => workers.delete(worker))
    const [said] = (await Promise.race([once(worker, 'message'), once(worker, 'exit')])) as [unknown]
    if (!isSaid(said)) throw new Error('A worker ended before it served.')
    if (said.type === 'failed') throw new Error(said.why)
    worker.once('exit', (code, signal) => replace(timers.now() - startedAt, signal ?? `code ${code}`))
    return said.ports
  }

  function replace(livedMs: number, how: string): void {
    if (isStopping) return
    print(`A worker ended (${how}); another one takes its place.`)
    timers.later(() => void beginAgain(), livedMs < shortLifeMs ? shortLifeMs : 0)
  }

  async function beginAgain(): Promise<void> {
    if (isStopping) return
    try {
      await begin()
    } catch (error) {
      replace(0, error instanceof Error ? error.message : String(error))
    }
  }

  let closed: Promise<void> | null = null
  function close(): Promise<void> {
    isStopping = true
    closed ??= stopAll()
    return closed
  }

  async function stopAll(): Promise<void> {
    const all = [...workers]
    const ended = Promise.all(all.map((worker) => worker.isDead() || once(worker, 'exit')))
    for (const worker of all) if (worker.isConnected()) worker.send('stop', () => undefined)
    if (await endsWithin(ended, drainMs + graceMs, timers)) return
    for (const worker of workers) worker.process.kill('SIGKILL')
    await ended
  }

  try {
    const [ports] = await Promise.all(Array.from({ length: count }, begin))
    if (!ports) throw new Error('There are no workers.')
    return { ports, close }
  } catch (error) {
    await close()
    throw error
  }
}

const isSaid = (said: unknown): said is Said => typeof said === 'object' && said !== null

/** In a worker: the stream to the log. */
export function openLink(): Duplex {
  return new Socket({ fd: linkDescriptor, readable: true, writable: true })
}
