// The frames bench's figures for people.

import type { FramesRow } from './frames.ts'
import { decimals, textTable } from './table.ts'

/** What reading a frame may cost at most. */
const allowedMicros = 3

export function framesText(rows: readonly FramesRow[]): string {
  const table = textTable(
    ['format', 'damage', 'sent', 'read', 'µs a frame', 'min', 'max'],
    rows.map((row) => [
      row.format,
      row.damagePercent === 0 ? 'none' : `${row.damagePercent} %`,
      String(row.sent),
      String(row.read),
      decimals(row.microsPerFrame, 2),
      decimals(row.microsMin, 2),
      decimals(row.microsMax, 2),
    ]),
  )
  const slowest = Math.max(...rows.map(({ microsPerFrame }) => microsPerFrame))
  return `${table}\n  The slowest takes ${decimals(slowest, 2)} µs a frame; ${allowedMicros} are allowed.\n`
}
