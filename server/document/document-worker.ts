// A thread for reading and writing documents, with limits of processor time and memory.

import { Worker } from 'node:worker_threads'
import { Refusal } from '../../protocol/refusal.ts'
import { type Cancel, nothingPlanned, type Timers } from '../../protocol/time.ts'
import { upsert } from '../../protocol/upsert.ts'
import type { Answer, Order, Tasks, UpdateTasks } from './update-tasks.ts'

/** Limits of one task. */
export interface TaskLimits {
  /** Processor time. */
  readonly documentSeconds: number
  readonly documentMegabytes: number
}

/**
 * A task exceeded a limit and was ended. Its message continues a sentence: "Reading it takes more
 * than …".
 */
export class TooCostly extends Error {
  override readonly name = 'TooCostly'
}

interface WorkerParts {
  /** The thread's module. */
  readonly tasks: URL
  readonly limits: TaskLimits
  readonly timers: Timers
  /** Called when a document exceeds a limit for the first time in a while. */
  readonly onQuarantined: (channel: string, error: TooCostly) => void
}

/**
 * Delay before a document that exceeded a limit is tried again: it may have become smaller, and the
 * machine faster.
 */
const quarantineMs = 600_000

interface Quarantine {
  readonly error: TooCostly
  readonly until: number
}

/** Everything that identifies a client, such as its connection and its name. */
type Client = readonly unknown[]

/** Client of the server's own tasks, such as folding. */
const server: Client = ['server']

interface Terms {
  readonly client: Client
  /** Share of the time that a task may take. */
  readonly share: number
}

const usual: Terms = { client: server, share: 1 }

interface Job extends PromiseWithResolvers<unknown> {
  readonly client: Client
  readonly order: Order
  /** Processor time. */
  readonly seconds: number
  /** Null while the task is queued. */
  startedAt: number | null
}

/** Maximum number of queued tasks; each may be as large as a document. */
const maxQueued = 100

/** Maximum number of queued tasks of one client. */
const maxPerClient = 20

/** Clients whose last turn is known; another has had none. */
const maxTurns = 1000

/** Beside a share of the usual time. */
const minSeconds = 0.5

/** A thread keeps its last document, tens of megabytes; starting one takes a fraction of a second. */
const idleMs = 5000

/** Minimum interval between checks of a task's processor time. */
const lookMs = 50

/** A thread that performs tasks; `Own` are those of its module. */
export interface Documents<Own extends Tasks> {
  /**
   * Runs tasks one after the other. Rejects with `TooCostly`, with a `Refusal` (429 `too-fast`)
   * when too many are queued, or with the task's own error.
   */
  run<Name extends keyof Own & string>(
    name: Name,
    ...input: Parameters<Own[Name]>
  ): Promise<ReturnType<Own[Name]>>
  /**
   * Like `run`, for a document's content: a document that exceeds a limit is quarantined, and not
   * tried again for ten minutes. Rejects with a `Refusal` (422 `too-costly`).
   */
  read<Name extends keyof Own & string>(
    channel: string,
    name: Name,
    ...input: Parameters<Own[Name]>
  ): Promise<ReturnType<Own[Name]>>
  /** Throws a `Refusal` (422 `too-costly`) for a document in quarantine. */
  mustBeReadable(channel: string): void
  isQuarantined(channel: string): boolean
  /** The same for one client. Clients take turns; those with a connection or a name in common share one. */
  for(...client: Client): Documents<Own>
  /** The same with a share of `limits.documentSeconds`, above half a second: for what a client sends. */
  within(share: number): Documents<Own>
}

/** The thread starts with the first task, and again after a task was ended. */
export class DocumentWorker<Own extends Tasks = UpdateTasks> implements Documents<Own> {
  readonly #parts: WorkerParts
  readonly #quarantined = new Map<string, Quarantine>()
  readonly #waiting: Job[] = []
  /** By part of a client, the number of its last turn; the oldest first. */
  readonly #turns = new Map<unknown, number>()
  #turn = 0
  #thread: Worker | null = null
  #isReady = false
  #ending: Promise<unknown> | null = null
  #failed = 0
  readonly #durations = new Map<string, { count: number; ms: number }>()
  #current: Job | null = null
  #cancelLook: Cancel = nothingPlanned

  constructor(parts: WorkerParts) {
    this.#parts = parts
  }

  /** Number of documents in quarantine. */
  get quarantined(): number {
    return this.#quarantined.size
  }

  /** Tasks that exceeded a limit or ended in an error. */
  get failed(): number {
    return this.#failed
  }

  /** Count and duration of finished tasks, including failed ones. */
  get durations(): ReadonlyMap<string, { readonly count: number; readonly ms: number }> {
    return this.#durations
  }

  run<Name extends keyof Own & string>(name: Name, ...input: Parameters<Own[Name]>) {
    return this.#run(usual, name, input) as Promise<ReturnType<Own[Name]>>
  }

  read<Name extends keyof Own & string>(channel: string, name: Name, ...input: Parameters<Own[Name]>) {
    return this.#read(usual, channel, name, input) as Promise<ReturnType<Own[Name]>>
  }

  mustBeReadable(channel: string): void {
    const known = this.#quarantined.get(channel)
    if (known && this.isQuarantined(channel)) throw tooCostly(channel, known.error)
  }

  isQuarantined(channel: string): boolean {
    return this.#parts.timers.now() < (this.#quarantined.get(channel)?.until ?? 0)
  }

  for(...client: Client): Documents<Own> {
    return this.#as({ ...usual, client })
  }

  within(share: number): Documents<Own> {
    return this.#as({ ...usual, share })
  }

  #as(terms: Terms): Documents<Own> {
    return {
      run: (name, ...input) => this.#run(terms, name, input) as never,
      read: (channel, name, ...input) => this.#read(terms, channel, name, input) as never,
      mustBeReadable: (channel) => this.mustBeReadable(channel),
      isQuarantined: (channel) => this.isQuarantined(channel),
      for: (...client) => this.#as({ ...terms, client }),
      within: (share) => this.#as({ ...terms, share }),
    }
  }

  async #read(terms: Terms, channel: string, name: string, input: readonly unknown[]): Promise<unknown> {
    this.mustBeReadable(channel)
    try {
      const output = await this.#run(terms, name, input)
      this.#quarantined.delete(channel)
      return output
    } catch (error) {
      if (!(error instanceof TooCostly)) throw error
      const isKnown = this.#quarantined.has(channel)
      this.#quarantined.set(channel, { error, until: this.#parts.timers.now() + quarantineMs })
      if (!isKnown) this.#parts.onQuarantined(channel, error)
      throw tooCostly(channel, error)
    }
  }

  #run({ client, share }: Terms, name: string, input: readonly unknown[]): Promise<unknown> {
    const isOfClient = (job: Job) => client !== server && job.client.some((part) => client.includes(part))
    const isFull = this.#waiting.length >= maxQueued
    if (isFull || this.#waiting.filter(isOfClient).length >= maxPerClient) return Promise.reject(tooMany())
    const job: Job = {
      client,
      order: { name, input },
      seconds: secondsFor(share, this.#parts.limits),
      startedAt: null,
      ...Promise.withResolvers<unknown>(),
    }
    this.#waiting.push(job)
    this.#next()
    return job.promise
  }

  /** Rejects all unfinished tasks. */
  async close(): Promise<void> {
    const jobs = [this.#current, ...this.#waiting.splice(0)]
    this.#current = null
    for (const job of jobs) job?.reject(new Error('The server is shutting down.'))
    await this.#end()
  }

  #next(): void {
    if (this.#current || this.#ending || this.#waiting.length === 0) return
    this.#thread ??= this.#start()
    if (!this.#isReady) return
    const job = this.#takeJob()
    if (!job) return
    this.#cancelLook()
    this.#current = job
    job.startedAt = this.#parts.timers.now()
    try {
      this.#thread.postMessage(job.order)
    } catch (error) {
      // The input cannot be copied to the thread.
      this.#current = null
      job.reject(error)
      this.#next()
      return
    }
    void this.#watch(this.#thread, job)
  }

  /** Takes the first job of the client whose last turn was longest ago. */
  #takeJob(): Job | undefined {
    const lastTurn = ({ client }: Job) => Math.max(...client.map((part) => this.#turns.get(part) ?? 0))
    const [job] = this.#waiting.toSorted((one, other) => lastTurn(one) - lastTurn(other))
    if (!job) return undefined
    this.#waiting.splice(this.#waiting.indexOf(job), 1)
    this.#turn += 1
    for (const part of job.client) {
      this.#turns.delete(part)
      this.#turns.set(part, this.#turn)
    }
    for (const part of this.#turns.keys()) {
      if (this.#turns.size <= maxTurns) break
      this.#turns.delete(part)
    }
    return job
  }

  #start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: this.#parts.limits.documentMegabytes }
    const thread = new Worker(this.#parts.tasks, { resourceLimits, workerData: { answersOrders: true } })
    thread.on('message', (answer: Answer | 'ready') => {
      if (answer === 'ready') this.#isReady = true
      else this.#settle(thread, answer)
      this.#next()
    })
    thread.on('error', (error: unknown) => {
      const isMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      const { documentMegabytes } = this.#parts.limits
      const most = `takes more than ${documentMegabytes} MB of memory (limits.documentMegabytes)`
      this.#fail(thread, isMemory ? new TooCostly(most) : error)
    })
    thread.on('exit', () => {
      const sentence =
        'The thread of documents ended by itself: its module must call performTasks, and not exit.'
      this.#fail(thread, new Error(sentence))
    })
    return thread
  }

  #settle(thread: Worker, answer: Answer): void {
    if (thread !== this.#thread) return
    this.#cancelLook()
    this.#count(this.#current)
    if ('output' in answer) this.#current?.resolve(answer.output)
    else {
      this.#failed += 1
      this.#current?.reject(answer.error)
    }
    this.#current = null
    if (this.#waiting.length > 0) return
    // An idle thread must not keep the process alive.
    thread.unref()
    this.#cancelLook = this.#parts.timers.later(() => void this.#end(), idleMs)
  }

  /** Ends a task that takes too much processor time; time used by others does not count. */
  async #watch(thread: Worker, job: Job): Promise<void> {
    const { limits, timers } = this.#parts
    const { seconds } = job
    const maxMs = seconds * 1000
    thread.ref()
    try {
      const before = await thread.cpuUsage()
      for (let leftMs = maxMs; leftMs > 0; ) {
        if (this.#current !== job) return
        await new Promise<void>((resolve) => {
          this.#cancelLook = timers.later(resolve, Math.max(lookMs, leftMs))
        })
        const { user, system } = await thread.cpuUsage(before)
        leftMs = maxMs - (user + system) / 1000
      }
    } catch {
      // The thread has ended; its `error` event says why.
      return
    }
    if (this.#current !== job) return
    const which = seconds < limits.documentSeconds ? ', as much as a text of its length may take' : ''
    const most = `takes more than ${seconds} s of processor time${which} (limits.documentSeconds)`
    this.#fail(thread, new TooCostly(most))
  }

  /** Fails the current task, or the first queued one if the thread does not start. */
  #fail(thread: Worker, error: unknown): void {
    if (thread !== this.#thread) return
    const job = this.#current ?? this.#waiting.shift()
    this.#count(job)
    this.#failed += 1
    this.#current = null
    job?.reject(error)
    void this.#end()
  }

  #count(job: Job | null = null): void {
    if (!job || job.startedAt === null) return
    const known = upsert(this.#durations, job.order.name, () => ({ count: 0, ms: 0 }))
    known.count += 1
    known.ms += this.#parts.timers.now() - job.startedAt
  }

  /** The next thread starts only after this one has released its memory. */
  async #end(): Promise<void> {
    const thread = this.#thread
    this.#cancelLook()
    this.#thread = null
    this.#isReady = false
    if (thread) this.#ending = thread.terminate()
    await this.#ending
    this.#ending = null
    this.#next()
  }
}

/** In tenths of a second. */
function secondsFor(share: number, { documentSeconds }: TaskLimits): number {
  if (share >= 1) return documentSeconds
  return Math.min(documentSeconds, minSeconds + Math.round(documentSeconds * share * 10) / 10)
}

export const isTooCostly = (error: unknown) => error instanceof Refusal && error.code === 'too-costly'

function tooCostly(channel: string, error: TooCostly): Refusal {
  const sentence = `Reading the document "${channel}" ${error.message}: the server only relays it. Create another one, or raise the limit.`
  return new Refusal('too-costly', sentence)
}

function tooMany(): Refusal {
  const sentence = 'The server is busy with many documents; try again in a second.'
  return new Refusal('too-fast', sentence, null, 1000)
}
