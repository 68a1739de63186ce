// A load process: its parent's handle, and the program that it runs.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { nameOf, newKey } from '../clients/client.ts'
import { type Browser, openBrowser, sourceAddress } from './lean-http.ts'
import { type LoadClient, openClient, type Target } from './load-client.ts'
import {
  type Author,
  createMarkReader,
  createTallying,
  type Interval,
  markedDraft,
  startAuthor,
  type Tally,
  type Tallying,
} from './marked-messages.ts'
import { type Ramp, type RampPlan, type RampTally, rampMs, startRamp } from './ramp.ts'

interface FleetPlan {
  readonly target: Target
  /** First of its window numbers. */
  readonly firstWindow: number
  readonly windows: number
  /** Over HTTP/2 the windows of a browser share its session. */
  readonly perBrowser: number
  readonly channel: string
  /**
   * Each window reads and writes its own channel, `channel` plus its number, instead of a shared
   * one.
   */
  readonly hasOwnChannels?: boolean
  readonly openingAtOnce: number
}

interface FleetListener {
  /** `window` counts from 0 in this fleet. */
  readonly onMark: (window: number, mark: number) => void
  readonly onFailure: (why: string) => void
}

interface Measuring extends Interval {
  /** Wait for missing messages after the last one is due. */
  readonly graceMs: number
}

/**
 * Each window publishes one message, as fast in succession as the process can, from `startAt` on,
 * and waits for it.
 */
type Burst = Pick<Measuring, 'startAt' | 'graceMs'> & {
  /** The mark of all these messages. */
  readonly mark: number
}

export interface Measured extends Tally {
  /** Processor time of the load process since its start. */
  readonly cpuMs: number
  readonly wallMs: number
  /** Over its connections, including TLS. */
  readonly receivedBytes: number
  /** Until the last message of a burst was handed to its connection. */
  readonly sendingMs: number
  /** Event loop delay, which adds to measured latencies. */
  readonly loopDelayP99Ms: number
  readonly loopDelayMaxMs: number
  /** The first few failures as sentences. */
  readonly failures: number
  readonly failureWords: readonly string[]
}

interface RampResult extends RampTally {
  readonly loopDelayP99Ms: number
  readonly receivedBytes: number
}

/** One at a time, each answered by a reply. */
type Order =
  | { readonly type: 'open'; readonly plan: FleetPlan }
  /** The process of window 0 also publishes. */
  | { readonly type: 'measure'; readonly measuring: Measuring }
  | { readonly type: 'burst'; readonly burst: Burst }
  | { readonly type: 'ramp'; readonly plan: RampPlan }
  | { readonly type: 'close' }

/** `result`: the return value of the worker's method. */
type Reply = { readonly result: unknown } | { readonly failure: string }

/** A measurement may exceed its plan by `spareMs`. */
const openWithinMs = { least: 20_000, perWindow: 20 }
const spareMs = 10_000
/** For a process with some ten thousand connections. */
const rampSpareMs = 60_000

export type LoadProcess = ReturnType<typeof startLoadProcess>

/** Pending orders reject when `stopping` aborts. `opened` ends it. */
export function startLoadProcess(stopping: AbortSignal, opened: AsyncDisposableStack) {
  const child = fork(import.meta.filename, [], {
    // Needed for typed arrays.
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  opened.defer(() => void child.kill())
  const ended = new AbortController()
  child.once('exit', (code, signal) =>
    ended.abort(new Error(`A load process ended unexpectedly (${signal ?? code}).`)),
  )

  async function ask<Result = void>(order: Order, withinMs: number): Promise<Result> {
    const late = AbortSignal.timeout(Math.ceil(withinMs))
    const signal = AbortSignal.any([ended.signal, stopping, late])
    signal.throwIfAborted()
    const replied = once(child, 'message', { signal })
    child.send(order)
    const [reply] = (await replied.catch(() => {
      throw late.aborted
        ? new Error(`The load process did not ${order.type} within ${withinMs / 1000} s.`)
        : signal.reason
    })) as [Reply]
    if ('failure' in reply) throw new Error(reply.failure)
    return reply.result as Result
  }

  return {
    pid: child.pid ?? 0,
    /** Its connections stay open until `closeWindows`. */
    ramp: (plan: RampPlan) =>
      ask<RampResult>({ type: 'ramp', plan }, rampMs(plan) + plan.holdMs + plan.patienceMs + rampSpareMs),
    open: (plan: FleetPlan) =>
      ask({ type: 'open', plan }, openWithinMs.least + openWithinMs.perWindow * plan.windows),
    measure(measuring: Measuring): Promise<Measured> {
      const { count, intervalMs, graceMs } = measuring
      return ask({ type: 'measure', measuring }, count * intervalMs + graceMs + spareMs)
    },
    /**
     * The windows must have channels of their own. Latencies count from when each message was
     * handed to its connection.
     */
    burst: (burst: Burst) => ask<Measured>({ type: 'burst', burst }, burst.graceMs + spareMs),
    closeWindows: () => ask({ type: 'close' }, spareMs),
  }
}

/** Opens the plan's windows across all of these processes; each gets whole browsers. */
export async function openAcross(
  loads: readonly LoadProcess[],
  { windows, perBrowser, openingAtOnce, ...plan }: Omit<FleetPlan, 'firstWindow'>,
): Promise<void> {
  const browsers = split(Math.ceil(windows / perBrowser), loads.length)
  let firstWindow = 0
  const openings = loads.map((load, place) => {
    const share = Math.min((browsers[place] ?? 0) * perBrowser, windows - firstWindow)
    const atOnce = Math.max(1, Math.floor(openingAtOnce / loads.length))
    const opening = load.open({ ...plan, firstWindow, windows: share, perBrowser, openingAtOnce: atOnce })
    firstWindow += share
    return opening
  })
  await Promise.all(openings)
}

/** Whole parts that differ by at most 1, the larger ones first. */
export function split(total: number, parts: number): readonly number[] {
  return Array.from({ length: parts }, (_, part) => Math.ceil((total - part) / parts))
}

/**
 * Fractional ms of a clock that all processes share (CLOCK_MONOTONIC on Linux), since latencies combine stamps of
 * two. `performance.timeOrigin` is each process's wall clock at its start.
 */
export function createSharedClock(): () => number {
  const originMs = Number(process.hrtime.bigint()) / 1e6 - performance.now()
  return () => originMs + performance.now()
}

type Fleet = Awaited<ReturnType<typeof openFleet>>

/** Rejects if a client is refused. */
export async function openFleet(plan: FleetPlan, listener: FleetListener) {
  const { target, firstWindow, windows, perBrowser, openingAtOnce, channel, hasOwnChannels = false } = plan
  const browsers: Browser[] = []
  const clients: LoadClient[] = []
  // The windows of a browser share a key, as pages do.
  const keys = Array.from({ length: Math.ceil(windows / perBrowser) }, newKey)
  const nameAt = (window: number) =>
    nameOf(keys[Math.floor(window / perBrowser)] ?? '', `w${firstWindow + window}`)
  const channelAt = (window: number) => (hasOwnChannels ? `${channel}-${firstWindow + window}` : channel)

  async function openClientAt(browser: Browser, key: string, window: number): Promise<void> {
    clients[window] = await openClient(target, {
      browser,
      query: new URLSearchParams({ window: nameAt(window), key, channels: channelAt(window) }),
      onBytes: createMarkReader((mark) => listener.onMark(window, mark)),
      onEnd: (why) => listener.onFailure(`Window ${firstWindow + window}: ${why}.`),
    })
  }

  // Shared by all lanes: an idle one opens the next browser.
  const waiting = keys.entries()
  async function lane(): Promise<void> {
    for (const [place, key] of waiting) {
      const first = place * perBrowser
      const address = sourceAddress(firstWindow + first, target.origin)
      const browser = await openBrowser(target.origin, target.http, address)
      browsers.push(browser)
      // Sequential: over HTTP/1.1 each window opens a connection, which counts against the bound.
      for (let window = first; window < Math.min(first + perBrowser, windows); window += 1)
        await openClientAt(browser, key, window)
    }
  }
  await Promise.all(Array.from({ length: Math.min(openingAtOnce, keys.length) }, lane))

  /**
   * The author that publishes in the window's name. Throws for a window that is not in this fleet.
   */
  function authorAt(window: number): Author {
    const client = clients[window]
    if (!client) throw new RangeError(`There is no window ${window} among ${windows}.`)
    return { name: nameAt(window), channel: channelAt(window), publish: client.publish }
  }

  return {
    /** Window 0, which publishes; null in other processes. */
    author: firstWindow === 0 && windows > 0 ? authorAt(0) : null,
    authorAt,
    receivedBytes: () => browsers.reduce((sum, browser) => sum + browser.receivedBytes(), 0),
    close(): void {
      for (const client of clients) client.close()
      for (const browser of browsers) browser.close()
    },
  }
}

const maxFailureWords = 3

/** Messages of a burst between two reads. */
const sentInTurn = 20

/** Carries out its parent's orders, in the clients' process. */
class Worker {
  readonly #clock = createSharedClock()
  #fleet: Fleet | null = null
  #ramp: Ramp | null = null
  #windows = 0
  #tallying: Tallying | null = null
  #failures: string[] = []

  async obey(order: Order): Promise<unknown> {
    if (order.type === 'open') return this.#open(order.plan)
    if (order.type === 'measure') return this.#measure(order.measuring)
    if (order.type === 'burst') return this.#burst(order.burst)
    if (order.type === 'ramp') return this.#climb(order.plan)
    this.#close()
  }

  async #open(plan: FleetPlan): Promise<void> {
    this.#failures = []
    this.#windows = plan.windows
    this.#fleet = await openFleet(plan, {
      onMark: (window, mark) => this.#tallying?.take(window, mark, this.#clock()),
      onFailure: (why) => this.#failures.push(why),
    })
  }

  #close(): void {
    this.#tallying = null
    this.#fleet?.close()
    this.#fleet = null
    this.#ramp?.close()
    this.#ramp = null
  }

  async #climb(plan: RampPlan): Promise<RampResult> {
    const ramp = startRamp(plan, this.#clock)
    this.#ramp = ramp
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const tally = await ramp.tally
    delay.disable()
    return { ...tally, loopDelayP99Ms: delay.percentile(99) / 1e6, receivedBytes: ramp.receivedBytes() }
  }

  async #measure(measuring: Measuring): Promise<Measured> {
    const fleet = this.#opened()
    const { startAt, count, intervalMs, graceMs } = measuring
    const complete = Promise.withResolvers<void>()
    const tallying = createTallying(this.#windows, measuring, complete.resolve)
    this.#tallying = tallying
    const stopAuthor = fleet.author && startAuthor(fleet.author, measuring, this.#clock)
    const timer = setTimeout(complete.resolve, startAt + count * intervalMs + graceMs - this.#clock())
    const measured = await this.#observed(startAt, tallying, complete.promise)
    clearTimeout(timer)
    stopAuthor?.()
    return measured
  }

  async #burst({ startAt, mark, graceMs }: Burst): Promise<Measured> {
    const { authorAt } = this.#opened()
    const windows = this.#windows
    const clock = this.#clock
    const complete = Promise.withResolvers<void>()
    const sentAt = new Float64Array(windows)
    const interval = { first: mark, count: 1, startAt, intervalMs: 0 }
    const begunAt = (window: number) => sentAt[window] ?? startAt
    const tallying = createTallying(windows, interval, complete.resolve, begunAt)
    this.#tallying = tallying
    let sent = 0
    function send(): void {
      for (const turnEnds = Math.min(windows, sent + sentInTurn); sent < turnEnds; sent += 1) {
        const author = authorAt(sent)
        const draft = markedDraft(author, mark)
        sentAt[sent] = clock()
        author.publish(draft)
      }
      // Reads what has arrived, as users in separate processes would.
      if (sent < windows) setImmediate(send)
    }
    const timers = [
      setTimeout(send, startAt - clock()),
      setTimeout(complete.resolve, startAt + graceMs - clock()),
    ]
    const measured = await this.#observed(startAt, tallying, complete.promise)
    for (const timer of timers) clearTimeout(timer)
    return { ...measured, sendingMs: (sentAt.at(-1) ?? startAt) - startAt }
  }

  async #observed(startAt: number, { result }: Tallying, ended: Promise<void>): Promise<Measured> {
    const { receivedBytes } = this.#opened()
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const cpuBefore = process.cpuUsage()
    const bytesBefore = receivedBytes()
    const startedAt = Math.max(startAt, this.#clock())
    await ended
    const { user, system } = process.cpuUsage(cpuBefore)
    const wallMs = this.#clock() - startedAt
    delay.disable()
    return {
      ...result(),
      cpuMs: (user + system) / 1000,
      wallMs,
      receivedBytes: receivedBytes() - bytesBefore,
      sendingMs: 0,
      loopDelayP99Ms: delay.percentile(99) / 1e6,
      loopDelayMaxMs: delay.max / 1e6,
      failures: this.#failures.length,
      failureWords: this.#failures.slice(0, maxFailureWords),
    }
  }

  #opened(): Fleet {
    if (this.#fleet) return this.#fleet
    throw new Error('A load process was told to measure before its windows were open.')
  }
}

if (import.meta.main) {
  const worker = new Worker()
  const reply = (message: Reply) => void process.send?.(message)
  process.on('message', (order: Order) =>
    worker.obey(order).then(
      (result) => reply({ result }),
      (error) => reply({ failure: error instanceof Error ? error.message : String(error) }),
    ),
  )
  process.once('disconnect', () => process.exit(0))
  // Ctrl-C reaches the whole group, but the parent ends this process in order.
  process.on('SIGINT', () => undefined)
}
