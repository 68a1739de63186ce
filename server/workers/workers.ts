// Several processes on the same ports: starts, replaces and stops them, and forwards their notes.

import cluster, { type Worker } from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ByHttp } from '../../protocol/modes.ts'
import type { Timers } from '../../protocol/time.ts'
import { endsWithin } from '../../scripts/process.ts'
import { output } from '../output.ts'

/**
 * Several processes of one server, each with its own listening sockets on the same ports
 * (SO_REUSEPORT).
 */
export interface PortSharing {
  /** Whether it ensures that no other program uses the ports. */
  readonly isFirst: boolean
  /** Shared by all, so that TLS sessions resume at any of them. */
  readonly ticketKeys: Buffer
}

/** The processes of one server: what one posts, all others receive. */
export interface Siblings {
  /**
   * This process's name: `log`, `worker-1` …; a replacement takes over the name of the process that
   * ended.
   */
  readonly name: string
  /** Number of processes, including this one. */
  readonly count: number
  /** Plain data. */
  readonly post: (note: object) => void
  /** Returns the unsubscribe function. */
  readonly follow: (onNote: (note: unknown) => void) => () => void
  /** Null if `node:cluster` opens the ports, or if there are none. */
  readonly sharing: PortSharing | null
}

/** Sent between processes of a server, any number of times. */
interface Noted {
  readonly type: 'note'
  readonly note: object
}

/**
 * A worker's environment variables: its number, whether it waits to be told the ports, the keys of TLS
 * tickets, and the secret that signs the server's own.
 */
const numberVariable = 'WORKER_NUMBER'
const waitsVariable = 'WORKER_WAITS'
const ticketKeysVariable = 'WORKER_TICKET_KEYS'
const secretVariable = 'WORKER_SECRET'

export interface HostedSiblings extends Siblings {
  /** Handles a worker's note. */
  readonly take: (said: unknown, from: Worker) => void
}

/** For the first process, which forwards workers' notes. */
export function hostSiblings(count: number): HostedSiblings {
  const followers = new Set<(note: unknown) => void>()
  function spread(note: object, from?: Worker): void {
    for (const worker of Object.values(cluster.workers ?? {}))
      if (worker && worker !== from && worker.isConnected())
        worker.send({ type: 'note', note } satisfies Noted, ignoreEnd)
  }
  return {
    name: 'log',
    count: count + 1,
    post: (note: object) => spread(note),
    follow(onNote) {
      followers.add(onNote)
      return () => void followers.delete(onNote)
    },
    sharing: null,
    take(said: unknown, from: Worker): void {
      if (!isNoted(said)) return
      spread(said.note, from)
      for (const onNote of followers) onNote(said.note)
    },
  }
}

/** Call in a worker. */
export const workerName = () => `worker-${process.env[numberVariable]}`

/** Whether another process forked this one by `startWorkers`. */
export const isWorker = () => cluster.isWorker && process.env[numberVariable] !== undefined

// A worker's own child processes must not inherit them.
const { [secretVariable]: inheritedSecret, [ticketKeysVariable]: inheritedKeys } = process.env
delete process.env[secretVariable]
delete process.env[ticketKeysVariable]

/** In a worker: the secret of the process that forked it. */
export const secretOfServer = () => (isWorker() ? inheritedSecret : undefined)

/** Call in a worker. */
export function joinSiblings(count: number): Siblings {
  const { [waitsVariable]: waits } = process.env
  return {
    sharing:
      inheritedKeys === undefined
        ? null
        : { isFirst: waits === undefined, ticketKeys: Buffer.from(inheritedKeys, 'hex') },
    name: workerName(),
    count: count + 1,
    post: (note) => void (process.connected && process.send?.({ type: 'note', note } satisfies Noted)),
    follow(onNote) {
      const onMessage = (said: unknown) => isNoted(said) && onNote(said.note)
      process.on('message', onMessage)
      return () => void process.off('message', onMessage)
    },
  }
}

const isNoted = (said: unknown): said is Noted => typeIn(said) === 'note'

const typeIn = (said: unknown) =>
  typeof said === 'object' && said !== null && 'type' in said ? said.type : undefined

/** A worker that has just ended receives nothing: its replacement asks again. */
const ignoreEnd = () => undefined

/** A worker's file descriptor after the terminal's three and Node's own channel. */
const linkDescriptor = 4

/**
 * A worker that ended sooner than this (ms) is replaced only after this delay: the cause may
 * persist.
 */
const shortLifeMs = 2000

/** A worker must call `listen` within this time, ms, in which the opening of its log does not count. */
const listensWithinMs = 120_000

/** Added to the time to drain, ms. */
const graceMs = 3000

interface WorkersParts {
  readonly count: number
  readonly siblings: HostedSiblings
  /** See `secretOfServer`. */
  readonly secret: string
  /** Serves the log over the stream; absent if workers get it from a broker. */
  readonly attach: ((link: Duplex) => void) | undefined
  readonly timers: Timers
  /** Ends the start. */
  readonly signal: AbortSignal
}

type Ports = ByHttp<number>

/**
 * Sent by a worker: `log` when it begins to open its log, which may wait for a broker, and when the log is open;
 * `waits` if it needs the ports from another worker; then `ready` or `failed`.
 */
type FromWorker =
  | { readonly type: 'log'; readonly isOpen: boolean }
  | { readonly type: 'waits' }
  | { readonly type: 'ready'; readonly ports: Ports }
  | { readonly type: 'failed'; readonly why: string }

const fromWorkerTypes: readonly unknown[] = ['log', 'waits', 'ready', 'failed'] satisfies FromWorker['type'][]

/** Sent to a worker. */
type ToWorker =
  /** Another one has opened the ports. */
  { readonly type: 'opened'; readonly ports: Ports } | { readonly type: 'stop'; readonly drainMs: number }

/** Length of Node's `ticketKeys`. */
const ticketKeysBytes = 48

/**
 * Each worker listens for itself, and the kernel distributes connections evenly (SO_REUSEPORT). On
 * other systems, or if Node's variable requests it, `node:cluster` opens the ports for all.
 */
const kernelDeals = process.platform === 'linux' && process.env.NODE_CLUSTER_SCHED_POLICY === undefined

/** In a worker: the ports that another one has opened; null for those of the settings. */
export function portsOpened(): Promise<Ports | null> {
  if (process.env[waitsVariable] === undefined) return Promise.resolve(null)
  return new Promise((resolve) => {
    onMessageToWorker((told) => told.type === 'opened' && resolve(told.ports))
    tellPrimary({ type: 'waits' })
  })
}

/**
 * In a worker: calls `stop` when the first process says so, or a terminal signals all its processes. An
 * application that listens for SIGTERM or SIGINT itself stops in its own way, and receives SIGTERM.
 */
export function whenStopped(stop: (drainMs: number) => void, usualDrainMs: number): void {
  let isTold = false
  const onSignal = (signal: NodeJS.Signals) => {
    const isOwn = process.listenerCount(signal) > 1
    isTold = true
    if (!isOwn) stop(usualDrainMs)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal)
  onMessageToWorker((told) => {
    if (told.type !== 'stop' || isTold) return
    if (process.listenerCount('SIGTERM') > 1) process.emit('SIGTERM', 'SIGTERM')
    else stop(told.drainMs)
  })
}

/** In a worker. Calls `onSent` also if the first process is gone. */
export function tellPrimary(said: FromWorker, onSent: () => void = ignoreEnd): void {
  if (process.connected) process.send?.(said, onSent)
  else onSent()
}

const toWorkerTypes: readonly unknown[] = ['opened', 'stop']

function onMessageToWorker(take: (told: ToWorker) => void): void {
  process.on('message', (told: ToWorker) => toWorkerTypes.includes(typeIn(told)) && take(told))
}

/** Resolves when all serve. Rejects with the reason of the first that cannot. */
export async function startWorkers(
  parts: WorkersParts,
): Promise<{ readonly ports: Ports; readonly close: (drainMs: number) => Promise<void> }> {
  const { count, siblings, secret, attach, timers, signal } = parts
  // Without the kernel's help workers accept connections as they have time. A connection that the
  // first process passes on costs both processes, and is lost if the worker is about to end.
  if (process.env.NODE_CLUSTER_SCHED_POLICY === undefined) cluster.schedulingPolicy = cluster.SCHED_NONE
  cluster.setupPrimary({ stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'] })
  const workers = new Set<Worker>()
  const ticketKeys = randomBytes(ticketKeysBytes).toString('hex')
  const { promise: ports, resolve: setPorts } = Promise.withResolvers<Ports>()
  let isStopping = false

  async function begin(number: number, isFirst = false): Promise<Ports> {
    const waits = kernelDeals && !isFirst
    const worker = cluster.fork({
      [numberVariable]: number,
      [secretVariable]: secret,
      ...(kernelDeals && { [ticketKeysVariable]: ticketKeys }),
      ...(waits && { [waitsVariable]: true }),
    })
    const startedAt = timers.now()
    workers.add(worker)
    const link = worker.process.stdio[linkDescriptor] as Duplex
    if (attach) attach(link)
    else link.on('error', () => undefined)
    worker.once('exit', () => workers.delete(worker))
    const opened = await untilReady(worker)
    worker.once('exit', (code, signal) => replace(number, timers.now() - startedAt, signal ?? `code ${code}`))
    setPorts(opened)
    return opened
  }

  /** Resolves to its ports. Rejects with the reason why it cannot serve. */
  function untilReady(worker: Worker): Promise<Ports> {
    return new Promise((resolve, reject) => {
      let stopTimer = startTimer()
      function startTimer(): () => void {
        return timers.later(() => {
          const why = `A worker did not call listen within ${listensWithinMs / 1000} s; the program must create the server and call listen in each of its processes.`
          reject(new Error(why))
          worker.process.kill('SIGKILL')
        }, listensWithinMs)
      }
      worker.on('message', (said: FromWorker | Noted) => {
        // Applications send messages of their own.
        if (!fromWorkerTypes.includes(typeIn(said))) return siblings.take(said, worker)
        stopTimer()
        if (said.type === 'ready') resolve(said.ports)
        else if (said.type === 'failed') reject(new Error(said.why))
        else if (said.type === 'waits')
          void ports.then((opened) => tell(worker, { type: 'opened', ports: opened }))
        else if (said.type === 'log' && said.isOpen) stopTimer = startTimer()
      })
      worker.once('exit', () => {
        stopTimer()
        reject(new Error('A worker ended before it served.'))
      })
    })
  }

  function tell(worker: Worker, told: ToWorker): void {
    if (worker.isConnected()) worker.send(told, ignoreEnd)
  }

  function replace(number: number, livedMs: number, how: string): void {
    if (isStopping) return
    const fields = { worker: `worker-${number}`, reason: how }
    output.say('worker-ended', `A worker ended (${how}); another one replaces it.`, fields)
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
  function close(drainMs: number): Promise<void> {
    isStopping = true
    closed ??= stopAll(drainMs)
    return closed
  }

  async function stopAll(drainMs: number): Promise<void> {
    const all = [...workers]
    const ended = Promise.all(all.map((worker) => worker.isDead() || once(worker, 'exit')))
    for (const worker of all) tell(worker, { type: 'stop', drainMs })
    if (await endsWithin(ended, drainMs + graceMs, timers)) return
    for (const worker of workers) worker.process.kill('SIGKILL')
    await ended
  }

  const stopEarly = () => void close(0)
  signal.addEventListener('abort', stopEarly)
  try {
    // The first worker finds out whether the ports are free; meanwhile the others load.
    await Promise.all(Array.from({ length: count }, (_, index) => begin(index + 1, index === 0)))
    return { ports: await ports, close }
  } catch (error) {
    await close(0)
    throw error
  } finally {
    signal.removeEventListener('abort', stopEarly)
  }
}

/** In a worker: the stream to the log. */
export function openLink(): Duplex {
  return new Socket({ fd: linkDescriptor, readable: true, writable: true })
}
