// What this process has used so far: the lab reads it before and after each block.

export interface Figures {
  /** User and system time of the process since it started, ms. */
  readonly cpuMs: number
  readonly rssBytes: number
  readonly heapUsedBytes: number
  readonly uptimeMs: number
  readonly windows: number
  readonly node: string
}

export function readFigures(windows: number): Figures {
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
