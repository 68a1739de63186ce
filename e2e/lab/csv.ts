// CSV files of reports, written and read back: RFC 4180, but with LF line ends.

type Cell = string | number | boolean | null | undefined

/** A key, whose column is named after it (`sentAt`: `sent_at`), or a name and a cell. */
type Column<Row> = (keyof Row & string) | readonly [name: string, cell: (row: Row, index: number) => Cell]

/** Null is an empty cell. Times, by keys that end in `At` or `Ms`, have this many decimals. */
export function formatCsv<Row>(columns: readonly Column<Row>[], rows: readonly Row[], decimals = 3): string {
  const named = columns.map((column) => {
    if (typeof column !== 'string') return column
    const isTime = /(?:At|Ms)$/.test(column)
    const cell = (row: Row) => {
      const value = row[column] as Cell
      return isTime && typeof value === 'number' ? value.toFixed(decimals) : value
    }
    return [columnOf(column), cell] as const
  })
  const lines = [
    named.map(([name]) => name),
    ...rows.map((row, index) => named.map(([, cell]) => quoted(String(cell(row, index) ?? '')))),
  ]
  return `${lines.map((line) => line.join(',')).join('\n')}\n`
}

/** With a column for each key of the first row. */
export function formatRows<Row extends object>(rows: readonly Row[]): string {
  return formatCsv<Row>(Object.keys(rows[0] ?? {}) as (keyof Row & string)[], rows)
}

export function csvTime(ms: number | null): string | null {
  return ms === null ? null : ms.toFixed(3)
}

/** The column of a key: `sent_at` of `sentAt`. */
export const columnOf = (key: string) => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const keyOf = (column: string) => column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

const quoted = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** Excludes the header. */
export function countCsvRows(text: string): number {
  return Math.max(0, text.replaceAll(/"[^"]*"/g, '').split('\n').length - 2)
}

/** The cells of each row after the header, by key (`sent_at`: `sentAt`). A short row lacks its last keys. */
export function parseCsv(text: string): readonly Readonly<Record<string, string>>[] {
  const [header = [], ...rows] = linesOf(text.trimEnd())
  const keys = header.map(keyOf)
  return rows.map((cells) =>
    Object.fromEntries(keys.slice(0, cells.length).map((key, index) => [key, cells[index] ?? ''])),
  )
}

function linesOf(text: string): readonly (readonly string[])[] {
  if (!text.includes('"')) return text.split('\n').map((line) => line.split(','))
  const lines: string[][] = [[]]
  for (const [, inQuotes, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\n]*))(,|\n|$)/g)) {
    lines.at(-1)?.push(inQuotes === undefined ? plain : inQuotes.replaceAll('""', '"'))
    if (end === '') break
    if (end === '\n') lines.push([])
  }
  return lines
}
