// This process: clock, timers, exit, use of CPU and memory, and how failures are printed.

import { inspect } from 'node:util'
import type { Timers } from './wire/time.ts'

const originMs = performance.timeOrigin

/** Monotonic: setting the machine's clock has no effect. */
export const processTimers: Timers = {
  now: () => originMs + performance.now(),
  later(run, delayMs) {
    // Overdue tasks have a negative delay; Node warns of it.
    const timer = setTimeout(run, Math.max(0, delayMs))
    return () => clearTimeout(timer)
  },
}

/** Resolves to whether `work` ended within `ms`. Rejects as `work` does. */
export async function endsWithin(
  work: Promise<unknown>,
  ms: number,
  timers: Pick<Timers, 'later'> = processTimers,
): Promise<boolean> {
  const { promise: over, resolve } = Promise.withResolvers<boolean>()
  const stop = timers.later(() => resolve(false), ms)
  try {
    return await Promise.race([work.then(() => true), over])
  } finally {
    stop()
  }
}

/**
 * For programs with sockets. On exit, Node 26.10 waits for every request of every socket
 * (`Environment::CleanupHandles`), misses one whose socket is gone, and spins forever.
 */
export function leaveWhenDone(): void {
  process.once('beforeExit', () => process.exit())
}

export type Figures = Readonly<ReturnType<typeof readFigures>>

/** The lab reads them before and after each block. */
export function readFigures(windows: number) {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  return {
    cpuMs: (user + system) / 1000,
    rssBytes: rss,
    heapUsedBytes: heapUsed,
    uptimeMs: process.uptime() * 1000,
    windows,
    node: process.version,
  }
}

const quietMs = 10_000
/** More than the reporting sites; beyond it all others are one kind. */
const mostKinds = 100

/** Prints each kind of failure once in ten seconds, so that clients cannot flood the terminal. */
export class Incidents {
  readonly #repeats = new Map<string, number>()
  readonly #write: (text: string) => void
  readonly #later: (run: () => void, delayMs: number) => void

  constructor(
    write = (text: string): void => console.error(text),
    later = (run: () => void, delayMs: number): void => void setTimeout(run, delayMs).unref(),
  ) {
    this.#write = write
    this.#later = later
  }

  /** Incidents with the same words and origin are one kind; repeats are counted and printed after ten seconds. */
  report(what: string, cause?: unknown): void {
    const known = `${what} ${placeOf(cause)}`
    const isRoom = this.#repeats.has(known) || this.#repeats.size < mostKinds
    const [kind, sentence] = isRoom ? [known, what] : ['others', 'Many different failures']
    const repeats = this.#repeats.get(kind)
    this.#repeats.set(kind, (repeats ?? -1) + 1)
    if (repeats !== undefined) return
    this.#write(isRoom && cause !== undefined ? `${what}: ${inspect(cause)}` : sentence)
    this.#later(() => {
      const count = this.#repeats.get(kind) ?? 0
      this.#repeats.delete(kind)
      if (count > 0) this.#write(`${sentence}: ${count} more within ${quietMs / 1000} s.`)
    }, quietMs)
  }
}

/** The error's origin, not its message, which may contain client input. */
function placeOf(cause: unknown): string {
  return (cause instanceof Error && /\n {4}at (.*)/.exec(cause.stack ?? '')?.[1]) || typeof cause
}

export const incidents = new Incidents()
