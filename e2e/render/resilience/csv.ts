// windows.csv, faults.csv, outages.csv and memory.csv: what was seen, a row each. Times are ms since the run began.

import { acceptedOf, accountFor } from '../../resilience/accounting.ts'
import type { ResilienceRecord } from '../../resilience/record.ts'
import { escapeCsv } from '../escape.ts'

type Cell = string | number | boolean | null

export function windowsCsv({ windows, lastedMs }: ResilienceRecord): string {
  const byChannel = Map.groupBy(windows, ({ channel }) => channel)
  const rows = windows.map((window) => {
    const accepted = acceptedOf(byChannel.get(window.channel) ?? [])
    const { n, lost, duplicated, reordered } = accountFor(window.seen, accepted)
    const { name, mode, isWriter, published, cuts, stalls, recovered, snapshots, repairs, modeChanges } =
      window
    const longest = Math.max(
      0,
      ...window.outages.slice(1).map(({ fromMs, toMs }) => (toMs ?? lastedMs) - fromMs),
    )
    const counts = [accepted.size, n, lost.length, duplicated.length, reordered.length]
    const reasons = [...window.reasons].map(([reason, count]) => `${count} x ${reason}`).join(' | ')
    const life = [cuts, stalls, window.outages.length - 1, Math.round(longest), recovered, snapshots, repairs]
    return [
      name,
      mode,
      isWriter,
      published.length,
      window.accepted.size,
      ...counts,
      ...life,
      modeChanges,
      reasons,
    ]
  })
  const counts = ['published', 'acknowledged', 'expected', 'n', 'lost', 'duplicated', 'reordered']
  const life = ['cuts', 'stalls', 'outages', 'longest_outage_ms', 'recovered', 'snapshots', 'repairs']
  return table(['window', 'mode', 'writes', ...counts, ...life, 'mode_changes', 'reasons'], rows)
}

export function faultsCsv({ faults }: ResilienceRecord): string {
  return table(
    ['at_ms', 'kind', 'how', 'target', 'lasted_ms', 'done', 'outcome'],
    faults.map(({ atMs, kind, how, target, lastedMs, isDone, outcome }) => [
      Math.round(atMs),
      kind,
      how,
      target,
      Math.round(lastedMs),
      isDone,
      outcome,
    ]),
  )
}

export function outagesCsv({ windows }: ResilienceRecord): string {
  const rows = windows.flatMap(({ name, mode, outages }) =>
    outages
      .slice(1)
      .map(({ fromMs, toMs }) => [name, mode, Math.round(fromMs), toMs === null ? null : Math.round(toMs)]),
  )
  return table(['window', 'mode', 'from_ms', 'to_ms'], rows)
}

export function memoryCsv({ memory }: ResilienceRecord): string {
  return table(
    ['at_ms', 'life', 'rss_bytes', 'heap_used_bytes', 'windows'],
    memory.map(({ atMs, life, rssBytes, heapUsedBytes, windows }) => [
      Math.round(atMs),
      life,
      rssBytes,
      heapUsedBytes,
      windows,
    ]),
  )
}

function table(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = [
    header,
    ...rows.map((row) => row.map((cell) => escapeCsv(cell === null ? '' : String(cell)))),
  ]
  return `${lines.map((line) => line.join(',')).join('\n')}\n`
}
