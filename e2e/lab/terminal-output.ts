// Terminal output of a run: progress and tables.

const clearLine = '\r\x1b[2K'

/** Permanent lines and, on a terminal, one changing line below them. */
export class Progress {
  readonly isTerminal: boolean
  readonly #output: { readonly write: (text: string) => unknown }

  constructor(output: { readonly isTTY?: boolean; readonly write: (text: string) => unknown }) {
    this.isTerminal = output.isTTY === true
    this.#output = output
  }

  say(sentence: string): void {
    this.clear()
    this.#output.write(`  ${sentence}\n`)
  }

  /** Replaces the changing line; without a terminal, adds a permanent one. */
  update(line: string): void {
    this.#output.write(this.isTerminal ? `${clearLine}  ${line}` : `  ${line}\n`)
  }

  clear(): void {
    if (this.isTerminal) this.#output.write(clearLine)
  }
}

/** The first `leftColumns` columns are left-aligned, the others right-aligned. */
export function textTable<Item>(
  columns: readonly (readonly [title: string, cell: (item: Item) => string])[],
  items: readonly Item[],
  leftColumns = 1,
): string {
  const rows = [
    columns.map(([title]) => title),
    ...items.map((item) => columns.map(([, cell]) => cell(item))),
  ]
  const widths = columns.map((_, place) => Math.max(...rows.map((row) => row[place]?.length ?? 0)))
  const aligned = (cell: string, place: number) =>
    place < leftColumns ? cell.padEnd(widths[place] ?? 0) : cell.padStart(widths[place] ?? 0)
  return rows.map((row) => `  ${row.map(aligned).join('  ')}`).join('\n')
}
