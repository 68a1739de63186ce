// A load process: its parent's handle, and the program that it runs.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type Fleet, type FleetPlan, openFleet } from './load-fleet.ts'
import {
  createTallying,
  type Interval,
  markedDraft,
  startAuthor,
  type Tally,
  type Tallying,
} from './marked-messages.ts'
import { type Ramp, type RampPlan, type RampTally, rampMs, startRamp } from './ramp.ts'

interface Measuring extends Interval {
  /** Wait for missing messages after the last one is due. */
  readonly graceMs: number
}

/** Each window publishes one message, as one after another as the process can, from `startAt` on, and waits for it. */
type Burst = Pick<Measuring, 'startAt' | 'graceMs'> & {
  /** Of all these messages. */
  readonly mark: number
}

export interface Measured extends Tally {
  /** Of the load process, from the start on. */
  readonly cpuMs: number
  readonly wallMs: number
  /** By its connections, TLS included. */
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

/** One at a time, each answered by one `Reply`. */
type Order =
  | { readonly type: 'open'; readonly plan: FleetPlan }
  /** The process of window 0 also publishes. */
  | { readonly type: 'measure'; readonly measuring: Measuring }
  | { readonly type: 'burst'; readonly burst: Burst }
  | { readonly type: 'ramp'; readonly plan: RampPlan }
  | { readonly type: 'close' }

interface Reply {
  /** Of `measure` and `burst`. */
  readonly measured?: Measured | null
  readonly ramp?: RampResult
  readonly failure?: string
}

/** A measurement may exceed its plan by `spareMs`. */
const openWithinMs = { least: 20_000, perWindow: 20 }
const spareMs = 10_000
/** Of a process with some ten thousand connections. */
const rampSpareMs = 60_000

export type LoadProcess = ReturnType<typeof startLoadProcess>

/** Pending orders reject when `stopping` aborts. `opened` ends it. */
export function startLoadProcess(stopping: AbortSignal, opened: AsyncDisposableStack) {
  const child = fork(import.meta.filename, [], {
    // For typed arrays.
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  opened.defer(() => void child.kill())
  const ended = new AbortController()
  child.once('exit', (code, signal) =>
    ended.abort(new Error(`A load process ended by itself (${signal ?? code}).`)),
  )

  async function ask(order: Order, withinMs: number): Promise<Reply> {
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
    if (reply.failure !== undefined) throw new Error(reply.failure)
    return reply
  }

  return {
    pid: child.pid ?? 0,
    /** Its connections stay open until `closeWindows`. */
    async ramp(plan: RampPlan): Promise<RampResult> {
      const { ramp } = await ask(
        { type: 'ramp', plan },
        rampMs(plan) + plan.holdMs + plan.patienceMs + rampSpareMs,
      )
      if (!ramp) throw new Error('A load process answered without a ramp.')
      return ramp
    },
    async open(plan: FleetPlan): Promise<void> {
      await ask({ type: 'open', plan }, openWithinMs.least + openWithinMs.perWindow * plan.windows)
    },
    async measure(measuring: Measuring): Promise<Measured> {
      const { count, intervalMs, graceMs } = measuring
      const { measured } = await ask({ type: 'measure', measuring }, count * intervalMs + graceMs + spareMs)
      if (!measured) throw new Error('A load process answered without a measurement.')
      return measured
    },
    /** The windows must have channels of their own. Latencies count from when each message was handed to its connection. */
    async burst(burst: Burst): Promise<Measured> {
      const { measured } = await ask({ type: 'burst', burst }, burst.graceMs + spareMs)
      if (!measured) throw new Error('A load process answered without a measurement.')
      return measured
    },
    async closeWindows(): Promise<void> {
      await ask({ type: 'close' }, spareMs)
    },
  }
}

/** Opens the plan's windows in all of these processes; each gets whole browsers. */
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

/** Whole parts that differ by 1 at most, the larger ones first. */
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

const mostFailureWords = 3

/** Messages of a burst between two reads. */
const sentInTurn = 20

/** Executes its parent's orders and exits with it. */
function serveOrders(): void {
  const clock = createSharedClock()
  let fleet: Fleet | null = null
  let ramp: Ramp | null = null
  let windows = 0
  let tallying: Tallying | null = null
  let failures: string[] = []

  async function obey(order: Order): Promise<Reply> {
    if (order.type === 'open') await open(order.plan)
    else if (order.type === 'measure') return { measured: await measure(order.measuring) }
    else if (order.type === 'burst') return { measured: await burst(order.burst) }
    else if (order.type === 'ramp') return { ramp: await climb(order.plan) }
    else close()
    return {}
  }

  async function open(plan: FleetPlan): Promise<void> {
    failures = []
    windows = plan.windows
    fleet = await openFleet(plan, {
      onMark: (window, mark) => tallying?.take(window, mark, clock()),
      onFailure: (why) => failures.push(why),
    })
  }

  function close(): void {
    tallying = null
    fleet?.close()
    fleet = null
    ramp?.close()
    ramp = null
  }

  async function climb(plan: RampPlan): Promise<RampResult> {
    ramp = startRamp(plan, clock)
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const tally = await ramp.tally
    delay.disable()
    return { ...tally, loopDelayP99Ms: delay.percentile(99) / 1e6, receivedBytes: ramp.receivedBytes() }
  }

  const noWindows = () => new Error('A load process was told to measure before its windows were open.')

  async function measure(measuring: Measuring): Promise<Measured> {
    if (!fleet) throw noWindows()
    const { startAt, count, intervalMs, graceMs } = measuring
    const complete = Promise.withResolvers<void>()
    tallying = createTallying(windows, measuring, complete.resolve)
    const stopAuthor = fleet.author && startAuthor(fleet.author, measuring, clock)
    const timer = setTimeout(complete.resolve, startAt + count * intervalMs + graceMs - clock())
    const measured = await observed(fleet, startAt, tallying, complete.promise)
    clearTimeout(timer)
    stopAuthor?.()
    return measured
  }

  async function burst({ startAt, mark, graceMs }: Burst): Promise<Measured> {
    if (!fleet) throw noWindows()
    const { authorAt } = fleet
    const complete = Promise.withResolvers<void>()
    const sentAt = new Float64Array(windows)
    const interval = { first: mark, count: 1, startAt, intervalMs: 0 }
    tallying = createTallying(windows, interval, complete.resolve, (window) => sentAt[window] ?? startAt)
    let sent = 0
    function send(): void {
      for (const turnEnds = Math.min(windows, sent + sentInTurn); sent < turnEnds; sent += 1) {
        const author = authorAt(sent)
        const draft = markedDraft(author, mark)
        sentAt[sent] = clock()
        author.publish(draft)
      }
      // Reads what has come, as users do who are not one process.
      if (sent < windows) setImmediate(send)
    }
    const timers = [
      setTimeout(send, startAt - clock()),
      setTimeout(complete.resolve, startAt + graceMs - clock()),
    ]
    const measured = await observed(fleet, startAt, tallying, complete.promise)
    for (const timer of timers) clearTimeout(timer)
    return { ...measured, sendingMs: (sentAt.at(-1) ?? startAt) - startAt }
  }

  async function observed(
    { receivedBytes }: Fleet,
    startAt: number,
    { result }: Tallying,
    ended: Promise<void>,
  ): Promise<Measured> {
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const cpuBefore = process.cpuUsage()
    const bytesBefore = receivedBytes()
    const startedAt = Math.max(startAt, clock())
    await ended
    const { user, system } = process.cpuUsage(cpuBefore)
    const wallMs = clock() - startedAt
    delay.disable()
    return {
      ...result(),
      cpuMs: (user + system) / 1000,
      wallMs,
      receivedBytes: receivedBytes() - bytesBefore,
      sendingMs: 0,
      loopDelayP99Ms: delay.percentile(99) / 1e6,
      loopDelayMaxMs: delay.max / 1e6,
      failures: failures.length,
      failureWords: failures.slice(0, mostFailureWords),
    }
  }

  const reply = (message: Reply) => void process.send?.(message)
  process.on('message', (order: Order) =>
    obey(order).then(reply, (error) =>
      reply({ failure: error instanceof Error ? error.message : String(error) }),
    ),
  )
  process.once('disconnect', () => process.exit(0))
  // Ctrl-C reaches the group too, but the parent ends this process in order.
  process.on('SIGINT', () => undefined)
}

if (import.meta.main) serveOrders()
