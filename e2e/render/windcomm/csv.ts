// samples.csv and readings.csv: every reading at every window, and every reading as the log has it.

import { hasArrived, latencyMs, type WindRun } from '../../lab/windcomm/run.ts'
import { escapeCsv } from '../escape.ts'

type Cell = string | number | boolean | null

/** Times are ms since the epoch, three decimals; empty is "never". Lost readings are rows too. */
export function samplesCsv({ samples }: Pick<WindRun, 'samples'>): string {
  const rows = samples.map((sample) => [
    sample.site,
    sample.mode,
    sample.place,
    sample.seq,
    sample.id,
    time(sample.acceptedAt),
    time(sample.receivedAt),
    time(hasArrived(sample) ? latencyMs(sample) : null),
    sample.copies,
    sample.reordered,
  ])
  const times = ['accepted_at', 'received_at', 'latency_ms']
  return table(['site', 'mode', 'reading', 'seq', 'id', ...times, 'copies', 'reordered'], rows)
}

/** `at` is the frame's first byte at the host; `serial_ms` is what lies between that and the server's having the reading. */
export function readingsCsv({ readings }: Pick<WindRun, 'readings'>): string {
  const rows = readings.map(({ id, seq, at, acceptedAt }, place) => [
    place + 1,
    seq,
    id,
    time(at),
    time(acceptedAt),
    time(acceptedAt - at),
  ])
  return table(['reading', 'seq', 'id', 'at', 'accepted_at', 'serial_ms'], rows)
}

function time(value: number | null): string {
  return value === null ? '' : value.toFixed(3)
}

function table(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = [
    header,
    ...rows.map((row) => row.map((cell) => escapeCsv(cell === null ? '' : String(cell)))),
  ]
  return `${lines.map((line) => line.join(',')).join('\n')}\n`
}
