// Several processes on the same ports: starts them, replaces those that end, and stops them.

import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { endsWithin } from '../process.ts'
import type { Server } from '../server.ts'
import type { Timers } from '../wire/time.ts'

/** The processes of one server, to each of them: what one posts, all others get. */
export interface Siblings {
  /** Of this process: `log`, `worker-1` …; that of one that ended passes to the one that takes its place. */
  readonly name: string
  /** All, this one included. */
  readonly count: number
  /** Plain data. */
  readonly post: (note: object) => void
  readonly follow: (onNote: (note: unknown) => void) => void
}

/** Of a worker's file descriptors, after the terminal's three and Node's own channel. */
const linkDescriptor = 4

/** One that ended sooner than this, ms, is replaced after as long: its reason may still be there. */
const shortLifeMs = 2000

/** Beyond the time to drain, ms. */
const graceMs = 3000

interface WorkersParts {
  readonly count: number
  readonly siblings: ReturnType<typeof hostSiblings>
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

/** Between processes of a server, any number of times. */
interface Noted {
  readonly type: 'note'
  readonly note: object
}

/** To a worker. */
export const stopWord = 'stop'

/** In a worker's environment: its number. */
const numberVariable = 'WORKER_NUMBER'

/** In the first process, which passes on what workers post. */
export function hostSiblings(count: number) {
  const followers = new Set<(note: unknown) => void>()
  function spread(note: object, from?: Worker): void {
    for (const worker of Object.values(cluster.workers ?? {}))
      if (worker && worker !== from && worker.isConnected()) send(worker, note)
  }
  return {
    name: 'log',
    count: count + 1,
    post: (note: object) => spread(note),
    follow: (onNote) => void followers.add(onNote),
    take(said: unknown, from: Worker): void {
      if (!isNoted(said)) return
      spread(said.note, from)
      for (const onNote of followers) onNote(said.note)
    },
  } satisfies Siblings & { take: (said: unknown, from: Worker) => void }
}

/** In a worker. */
export function joinSiblings(count: number): Siblings {
  return {
    name: `worker-${process.env[numberVariable]}`,
    count: count + 1,
    post: (note) => void (process.connected && process.send?.({ type: 'note', note } satisfies Noted)),
    follow: (onNote) => void process.on('message', (said) => isNoted(said) && onNote(said.note)),
  }
}

// A worker that has just ended takes nothing: its replacement asks anew.
const send = (worker: Worker, note: object) =>
  void worker.send({ type: 'note', note } satisfies Noted, () => undefined)

const isNoted = (said: unknown): said is Noted =>
  typeof said === 'object' && said !== null && 'type' in said && said.type === 'note'

/** Resolves when all serve. Rejects with the reason of the first that cannot. Each takes connections as it has time. */
export async function startWorkers(parts: WorkersParts): Promise<Server> {
  const { count, siblings, attach, drainMs, timers, print } = parts
  // Workers accept for themselves. A connection that the first process hands on costs both of them, and is lost with a
  // worker that was about to end.
  if (process.env.NODE_CLUSTER_SCHED_POLICY === undefined) cluster.schedulingPolicy = cluster.SCHED_NONE
  cluster.setupPrimary({ stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'] })
  const workers = new Set<Worker>()
  let isStopping = false

  async function begin(number: number): Promise<Ports> {
    const worker = cluster.fork({ [numberVariable]: number })
    const startedAt = timers.now()
    workers.add(worker)
    const link = worker.process.stdio[linkDescriptor] as Duplex
    if (attach) attach(link)
    else link.on('error', () => undefined)
    worker.once('exit', () => workers.delete(worker))
    worker.on('message', (said) => siblings.take(said, worker))
    const [said] = (await Promise.race([once(worker, 'message'), once(worker, 'exit')])) as [unknown]
    if (!isSaid(said)) throw new Error('A worker ended before it served.')
    if (said.type === 'failed') throw new Error(said.why)
    worker.once('exit', (code, signal) => replace(number, timers.now() - startedAt, signal ?? `code ${code}`))
    return said.ports
  }

  function replace(number: number, livedMs: number, how: string): void {
    if (isStopping) return
    print(`A worker ended (${how}); another one takes its place.`)
    timers.later(() => void beginAgain(number), livedMs < shortLifeMs ? shortLifeMs : 0)
  }

  async function beginAgain(number: number): Promise<void> {
    if (isStopping) return
    try {
      await begin(number)
    } catch (error) {
      replace(number, 0, error instanceof Error ? error.message : String(error))
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
    for (const worker of all) if (worker.isConnected()) worker.send(stopWord, () => undefined)
    if (await endsWithin(ended, drainMs + graceMs, timers)) return
    for (const worker of workers) worker.process.kill('SIGKILL')
    await ended
  }

  try {
    const [ports] = await Promise.all(Array.from({ length: count }, (_, place) => begin(place + 1)))
    if (!ports) throw new Error('There are no workers.')
    return { ports, close }
  } catch (error) {
    await close()
    throw error
  }
}

const isSaid = (said: unknown): said is Said => typeof said === 'object' && said !== null && !isNoted(said)

/** In a worker: the stream to the log. */
export function openLink(): Duplex {
  return new Socket({ fd: linkDescriptor, readable: true, writable: true })
}
