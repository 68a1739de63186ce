// Looks at the server's memory again and again.

import type { MemorySample } from './record.ts'
import type { RestartingServer } from './restarting-server.ts'

const everyMs = 500

export interface Sampling {
  readonly samples: readonly MemorySample[]
  readonly sampleNow: () => Promise<void>
  readonly stop: () => void
}

/** What falls into a time in which the server is down is left out. */
export function startSampling(server: RestartingServer, elapsed: () => number): Sampling {
  const samples: MemorySample[] = []
  async function sampleNow(): Promise<void> {
    const life = server.life()
    const figures = await server.figures()
    if (!figures || life !== server.life()) return
    const { rssBytes, heapUsedBytes, windows } = figures
    samples.push({ atMs: elapsed(), life, rssBytes, heapUsedBytes, windows })
  }
  const timer = setInterval(sampleNow, everyMs)
  return { samples, sampleNow, stop: () => clearInterval(timer) }
}
