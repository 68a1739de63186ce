// Lines up texts under each other, for the terminal.

const gap = 3

/** Each column as wide as its widest cell, two blanks before the first, nothing after the last. */
export function inColumns(rows: readonly (readonly string[])[]): string[] {
  const count = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  return rows.map((row) => rowOf(row, widths))
}

/** One row of a table whose widths are known beforehand, because its rows come one by one. */
export function rowOf(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, column) => cell.padEnd(widths[column] ?? 0))
  return `  ${padded.join(' '.repeat(gap))}`.trimEnd()
}
