// The crowd's figures for people.

import type { CrowdRow } from './crowd.ts'
import { textTable } from './table.ts'

const mb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`
const kb = (bytes: number) => `${(bytes / 1e3).toFixed(1)} kB`
const ms = (value: number) => `${value.toFixed(1)} ms`
const percent = (share: number) => `${(share * 100).toFixed(0)} %`

export function crowdText(row: CrowdRow): string {
  const counts = textTable(
    ['mode', 'windows', 'n', 'lost', 'p50', 'p99', 'max', 'CPU µs'],
    [
      [
        row.mode,
        String(row.windows),
        String(row.n),
        String(row.lost),
        ms(row.p50Ms),
        ms(row.p99Ms),
        ms(row.maxMs),
        row.cpuMicrosPerDelivery.toFixed(2),
      ],
    ],
  )
  const memory = textTable(
    ['server memory', 'before', 'joined', 'after', 'a window'],
    [
      [
        'resident',
        mb(row.rssBytes.before),
        mb(row.rssBytes.joined),
        mb(row.rssBytes.after),
        kb(row.rssBytesPerWindow),
      ],
      [
        'heap',
        mb(row.heapBytes.before),
        mb(row.heapBytes.joined),
        mb(row.heapBytes.after),
        kb(row.heapBytesPerWindow),
      ],
    ],
  )
  const clients = `Load clients: ${row.clientCpuShares.map(percent).join(', ')} of a core; their event loops were late by ${ms(row.clientLoopDelayP99Ms)} (p99), ${ms(row.clientLoopDelayMaxMs)} at most.`
  return `${counts}\n${memory}\n  ${row.bottleneck}\n  ${clients}\n  All windows were there after ${(row.joinedInMs / 1000).toFixed(1)} s.\n`
}
