// Terminal output of a run: progress and tables.

import { wrapped } from './flags.ts'

const eraseToTheRight = '\x1b[K'
const eraseBelow = '\x1b[J'

export interface Output {
  readonly isTTY?: boolean
  /** Width of the terminal, in characters. */
  readonly columns?: number
  readonly rows?: number
  readonly write: (text: string) => unknown
}

/** Permanent lines and, on a terminal, changing lines below them, whose end has the cursor. */
export class Progress {
  readonly isTerminal: boolean
  readonly #output: Output
  #shown: readonly string[] = []

  constructor(output: Output) {
    this.isTerminal = output.isTTY === true
    this.#output = output
  }

  get columns(): number {
    return this.#output.columns || 80
  }

  get rows(): number {
    return this.#output.rows || 24
  }

  /** Above the changing lines. */
  say(sentence: string): void {
    const lines = wrapped(sentence, this.columns - 3).map((line) => `  ${line}\n`)
    if (this.isTerminal) this.#draw(this.#shown, `${eraseBelow}${lines.join('')}`)
    else this.#output.write(`  ${sentence}\n`)
  }

  /** Replaces the changing lines; without a terminal, adds a permanent one. */
  update(line: string): void {
    if (this.isTerminal) this.show([`  ${line}`])
    else this.#output.write(`  ${line}\n`)
  }

  /** Replaces the changing lines; only on a terminal. Cuts lines that are too wide or too many for it. */
  show(lines: readonly string[]): void {
    this.#draw(lines.slice(1 - this.rows))
  }

  clear(): void {
    if (this.isTerminal) this.#draw([])
  }

  /** The changing lines become permanent. */
  leave(): void {
    if (this.#shown.length === 0) return
    this.#draw(this.#shown)
    this.#output.write('\n')
    this.#shown = []
  }

  /** In one write, and without erasing text that is then written again: nothing flickers. */
  #draw(lines: readonly string[], above = ''): void {
    const { columns } = this
    // A terminal that became narrower has wrapped them.
    const height = this.#shown.reduce((sum, { length }) => sum + Math.max(1, Math.ceil(length / columns)), 0)
    const up = height > 1 ? `\x1b[${height - 1}A` : ''
    // A character in the last column would be erased with what is to its right.
    this.#shown = lines.map((line) => shortened(line, columns - 1))
    const text = this.#shown.map((line) => `${line}${eraseToTheRight}`).join('\n')
    this.#output.write(`\r${up}${above}${text}${eraseBelow}`)
  }
}

/** At most `characters` long. */
export function shortened(words: string, characters: number): string {
  return words.length <= characters ? words : `${words.slice(0, characters - 1)}…`
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
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)))
  const aligned = (cell: string, index: number) =>
    index < leftColumns ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)
  return rows.map((row) => `  ${row.map(aligned).join('  ')}`).join('\n')
}
