// This process: clock, timers, exit, CPU and memory usage.

import type { Timers } from '../protocol/time.ts'

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

/**
 * `| head` closes the pipe that a program writes to. Then `gone` runs, at each write; without it the
 * program ends, with the status that a shell gives for SIGPIPE.
 */
export function whenReaderIsGone(gone: () => void = () => process.exit(128 + 13)): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      gone()
    })
}

/** Neither a closed terminal nor a full disk, to which its output is written, may end a server. */
export function goOnWithoutOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

/** The system's hard limit, which Node raises its own to; infinite where there is none, or it is unknown. */
export function openFilesAllowed(): number {
  const report = process.report.getReport() as { userLimits?: { open_files?: { hard: unknown } } }
  const allowed = Number(report.userLimits?.open_files?.hard)
  return Number.isFinite(allowed) ? allowed : Number.POSITIVE_INFINITY
}

export type Figures = Readonly<ReturnType<typeof readFigures>>

/** The lab reads these before and after each block. */
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
