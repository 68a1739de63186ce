// samples.csv: every sample as it was measured, a row for each message and receiving window.

import type { Run, Sample } from '../lab/samples.ts'
import { hasArrived, transmissionMs } from '../lab/stats/messages.ts'
import { escapeCsv } from './escape.ts'

/** Columns in their order. Times are ms since the epoch, three decimals; empty is "never". */
const columns: readonly (readonly [name: string, cell: (sample: Sample) => string])[] = [
  ['mode', ({ mode }) => mode],
  ['block', ({ block }) => String(block)],
  ['key', ({ key }) => String(key)],
  ['id', ({ id }) => id],
  ['receiver', ({ receiver }) => String(receiver)],
  ['own', ({ own }) => String(own)],
  ['sent_at', ({ sentAt }) => time(sentAt)],
  ['received_at', ({ receivedAt }) => time(receivedAt)],
  ['transmission_ms', (sample) => time(hasArrived(sample) ? transmissionMs(sample) : null)],
  ['input_at', ({ inputAt }) => time(inputAt)],
  ['accepted_at', ({ acceptedAt }) => time(acceptedAt)],
  ['applied_at', ({ appliedAt }) => time(appliedAt)],
  ['painted_at', ({ paintedAt }) => time(paintedAt)],
  ['copies', ({ copies }) => String(copies)],
  ['reordered', ({ reordered }) => String(reordered)],
]

/** Comma-separated with a header and LF line ends; lost samples are rows too. */
export function csv(run: Pick<Run, 'samples'>): string {
  const header = columns.map(([name]) => name)
  const rows = run.samples.map((sample) => columns.map(([, cell]) => escapeCsv(cell(sample))))
  return `${[header, ...rows].map((row) => row.join(',')).join('\n')}\n`
}

function time(value: number | null): string {
  return value === null ? '' : value.toFixed(3)
}
