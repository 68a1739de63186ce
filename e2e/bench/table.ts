// Figures as a table for people: aligned, numbers to the right.

/** The first column is aligned to the left, all others to the right. */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '─'.repeat(width)).join('──')
  return [line(head), rule, ...rows.map(line)].map((text) => `  ${text}\n`).join('')
}

/** With that many decimals; a dash for what could not be measured. */
export function decimals(value: number | null, places: number): string {
  return value === null || !Number.isFinite(value) ? '–' : value.toFixed(places)
}
