// The parts of a report (sections, tables, figures) and the formatting of numbers.

import type { Circumstances, Network, Packets } from '../lab/run-environment.ts'
import { type Counts, isFaulty, totals } from '../lab/samples.ts'
import type { Middle } from '../lab/statistics.ts'
import { shortened, textTable } from '../lab/terminal-output.ts'

export interface Report {
  readonly title: string
  readonly subtitle: string
  readonly finding: string
  readonly remarks?: readonly string[]
  /**
   * The first is the answer. One figure follows the finding, then the answer’s first table;
   * everything else is folded.
   */
  readonly sections: readonly Section[]
}

/** Plain text; the renderer escapes it. */
export interface Section {
  readonly title: string
  /** Above the tables; `figure` before `figures`. */
  readonly figure?: Figure
  readonly figures?: readonly Figure[]
  readonly tables?: readonly Table[]
  readonly paragraphs?: readonly string[]
  readonly command?: string
  /** Its figure follows the finding; default: the report’s first one. */
  readonly isLead?: boolean
  /** How the run was made and what is doubtful about it. */
  readonly isMethod?: boolean
}

export interface Figure {
  readonly caption: string
  /** Text alternative. */
  readonly description: string
  /** Returns an SVG element; `width` in CSS pixels. */
  readonly draw: (width: number) => string
}

/** Plain-text cells, one per column; the first is the row's header. */
export interface Table {
  readonly caption: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
}

/** Numbers are right-aligned. */
export type Column = ReturnType<typeof text | typeof number>

export const text = (title: string) => ({ title, kind: 'text' }) as const
export const number = (title: string) => ({ title, kind: 'number' }) as const

type Cell = string | number | null | undefined

/**
 * The first column is text; others are numbers unless marked as text. Numbers are formatted by
 * `figure`.
 */
export function table(
  caption: string,
  columns: readonly (string | Column)[],
  rows: readonly (readonly Cell[])[],
): Table {
  const columnOf = (title: string | Column, index: number) =>
    typeof title === 'string' ? (index === 0 ? text(title) : number(title)) : title
  const cellOf = (cell: Cell) => (typeof cell === 'string' ? cell : figure(cell))
  return { caption, columns: columns.map(columnOf), rows: rows.map((row) => row.map(cellOf)) }
}

/** Titles with their cells. */
export type Columns<Item> = readonly (readonly [
  title: string,
  cell: (item: Item) => string | number | null | undefined,
  kind?: 'text',
])[]

/** As in a CSV table; the first column is text. */
export function tableOf<Item>(caption: string, columns: Columns<Item>, items: readonly Item[]): Table {
  const titles = columns.map(([title, , kind]) => (kind ? text(title) : title))
  return table(
    caption,
    titles,
    items.map((item) => columns.map(([, cell]) => cell(item))),
  )
}

/** For a terminal. */
export function tableText({ caption, columns, rows }: Table): string {
  const left = columns.findIndex(({ kind }) => kind === 'number')
  const cells = columns.map(
    ({ title }, index) => [title, (row: readonly string[]) => row[index] ?? ''] as const,
  )
  return `  ${caption}\n${textTable(cells, rows, left < 0 ? columns.length : left)}`
}

/** Between two columns, in characters. */
const columnGap = 2

/**
 * Without the last columns that do not fit into `characters`. The first two stay; if they do not
 * fit, the names in the first are shortened.
 */
export function fitted({ caption, columns, rows }: Table, characters: number): Table {
  const widths = columns.map(({ title }, index) =>
    rows.reduce((most, row) => Math.max(most, row[index]?.length ?? 0), title.length),
  )
  const [first = 0, second = 0] = widths
  let used = first
  const room = widths.findIndex((width, index) => {
    if (index > 0) used += columnGap + width
    return index > 1 && used > characters
  })
  const kept = room < 0 ? columns.length : room
  const longest = Math.max(1, kept > 2 ? first : characters - columnGap - second)
  return {
    caption,
    columns: columns.slice(0, kept),
    rows: rows.map(([name = '', ...cells]) => [shortened(name, longest), ...cells.slice(0, kept - 1)]),
  }
}

/** Such as `1.2 to 1.6`; one figure if both ends are the same. */
export function range(values: readonly number[], inWords: (value: number) => string = figure): string {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(inWords)
  return least === most ? `${least}` : `${least} to ${most}`
}

/** About the machine that clients and server share, for the limitations. */
export function formatLoad({
  environment: { loadBefore, loadAfter },
}: Pick<Circumstances, 'environment'>): string {
  return `its load average (1 min) was ${figure(loadBefore)} before and ${figure(loadAfter)} after`
}

/** Whether sessions show how far runs differ, for the limitations. */
export function formatSessions(sessions: number): string {
  return sessions < 2
    ? 'One session does not show how far sessions differ: another session’s figures may be different.'
    : `${count(sessions)} sessions ran one after the other on this machine; another machine, or another day, may differ by more than their intervals say.`
}

/** Empty without one. */
export function formatNetworks(networks: readonly Network[]): readonly string[] {
  const packets = networks.find((network) => network.packets)?.packets
  const how = packets
    ? `the server was on a host of its own, in a network namespace, and a relay delays and loses IP packets of at most 1,500 bytes in both directions. Both hosts' TCP is Linux's, with ${packets.congestion}`
    : 'a relay on this machine that delays every byte in both directions'
  return networks.map(({ profile, source, lateMs }, index) => {
    const opening =
      index === 0
        ? `Between windows and server was a simulated network, “${profile}”: ${how}`
        : `Or “${profile}”`
    return `${opening}. ${source} The relay itself added ${figure(lateMs)} ms in each direction on average.`
  })
}

/** Describes each network as planted and as it behaved. */
export function packetsSection(networks: readonly (Packets & { readonly name: string })[]): Section {
  const ways = networks.flatMap(({ name, up, down, ...planted }) => [
    { ...planted, ...up, way: `${name}, to the server` },
    { ...planted, ...down, way: `${name}, to the windows` },
  ])
  const percent = (share: number) => figure(100 * share)
  const missed = ways.filter(
    ({ plantedShare, lostShareCi95 }) =>
      lostShareCi95 !== null && (plantedShare < lostShareCi95[0] || plantedShare > lostShareCi95[1]),
  )
  return {
    title: 'What the network did',
    tables: [
      table(
        'IP packets, by the relay’s count',
        [
          'Network',
          'Sent',
          'Lost',
          'Lost, %',
          text('95 % interval'),
          'Planted, %',
          'Mean burst',
          'Queue was full',
        ],
        ways.map(({ way, sent, lost, overflowed, lostShare, lostShareCi95, plantedShare, burst }) => [
          way,
          count(sent),
          count(lost),
          lostShare === null ? null : percent(lostShare),
          lostShareCi95 === null ? nothing : lostShareCi95.map(percent).join(' to '),
          percent(plantedShare),
          burst,
          count(overflowed),
        ]),
      ),
    ],
    paragraphs: [
      `${missed.length === 0 ? 'The planted loss is within every interval.' : `The planted loss is outside the interval of ${missed.map(({ way }) => way).join('; ')}; by chance one in twenty is.`} The intervals are Wilson’s, widened for bursts and for paths that lose the same packets.`,
    ],
  }
}

/** Enough to repeat a run. */
export function runAgainSection(
  { command, environment, parameters, startedAt, finishedAt }: Circumstances,
  paragraphs: readonly string[] = [],
): Section {
  const { machine, cpu, cores, memoryBytes, os, node, browser, server, commit } = environment
  const circumstances = {
    Machine: machine,
    Processor: `${cpu}, ${cores} cores`,
    Memory: megabytes(memoryBytes),
    System: os,
    Node: node,
    Browser: browser,
    Server: server,
    Commit: commit,
    'Load average (1 min)': `${figure(environment.loadBefore)} before, ${figure(environment.loadAfter)} after`,
    Started: moment(startedAt),
    Finished: moment(finishedAt),
  }
  const pairs = (caption: string, first: string, values: Circumstances['parameters']): Table => ({
    caption,
    columns: [text(first), text('Value')],
    rows: Object.entries(values).map((row) => row.map(String)),
  })
  const tables = [pairs('Parameters', 'Parameter', parameters), pairs('Environment', 'What', circumstances)]
  return { title: 'Run it again', isMethod: true, command, tables, paragraphs }
}

/** Title and cell of the columns that name a row. */
export type Naming<Row> = readonly (readonly [title: string, cell: (row: Row) => string])[]

/** One sentence about all samples if nothing went wrong, else a row for each faulty group. */
export function lostSection<Row extends Counts>(
  rows: readonly Row[],
  naming: Naming<Row>,
  { caption, paragraphs = [] }: { readonly caption: string; readonly paragraphs?: readonly string[] },
): Section {
  const title = 'Lost, duplicated, reordered'
  const faulty = rows.filter(isFaulty)
  if (faulty.length === 0) {
    const clean = `Of ${count(totals(rows).expected)} samples none was lost, none arrived twice and none arrived out of order.`
    return { title, paragraphs: [clean, ...paragraphs] }
  }
  const columns = ['Expected', 'Lost', 'Lost, %', 'Duplicated', 'Reordered']
  const cells = faulty.map((row) => [
    ...naming.map(([, cell]) => cell(row)),
    count(row.expected),
    count(row.lost),
    figure((100 * row.lost) / row.expected),
    count(row.duplicated),
    count(row.reordered),
  ])
  return { title, tables: [table(caption, [...naming.map(([name]) => name), ...columns], cells)], paragraphs }
}

/** For a cell without a value. */
export const nothing = '–'

/**
 * Two decimals below 10, one below 100, none above, commas from a thousand on; a true minus sign; a
 * dash for no value.
 */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return nothing
  const size = Math.abs(value)
  const words =
    Math.round(size) < 1000 ? value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0) : count(Math.round(value))
  return words.replace('-', '−')
}

/** `1.4 s`. */
export function seconds(ms: number | null): string {
  return ms === null ? nothing : `${(ms / 1000).toFixed(1)} s`
}

const grouped = new Intl.NumberFormat('en-GB')

/** `1,200`. */
export function count(value: number): string {
  return grouped.format(value)
}

/** `1 session`, `1,200 sessions`. */
export function several(number: number, one: string, more = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : more}`
}

/** `a, b and c`. */
export function listed(
  words: readonly string[],
  type: 'conjunction' | 'disjunction' = 'conjunction',
): string {
  return new Intl.ListFormat('en-GB', { type }).format(words)
}

/** With a capital, as at the start of a sentence. */
export function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}

export function lowered(words: string): string {
  return words.charAt(0).toLowerCase() + words.slice(1)
}

/** `2.14 ± 0.61`, or the mean alone. */
export function spread(mean: number | null, sd: number | null): string {
  return sd === null ? figure(mean) : `${figure(mean)} ± ${figure(sd)}`
}

/** `−1.62 to −1.18`. */
export function interval([low, high]: readonly [number, number]): string {
  return `${figure(low)} to ${figure(high)}`
}

/** `1.3 (1.2–1.4)`: a median and its range. */
export function formatMiddle({ median, min, max }: Middle): string {
  return median === null ? nothing : `${figure(median)} (${figure(min)}–${figure(max)})`
}

/** `1.3 (1.2 to 1.4)`. */
export function formatRatio(ratio: number | null, ci95: readonly [number, number] | null): string {
  return `${figure(ratio)}${ci95 ? ` (${interval(ci95)})` : ''}`
}

export function signed(value: number): string {
  return value > 0 ? `+${figure(value)}` : figure(value)
}

/** Three decimals, or below 0.001 a power of ten: `2.2 × 10⁻⁷`. */
export function probability(p: number): string {
  if (p >= 0.001) return p.toFixed(3)
  if (p === 0) return '< 10⁻³⁰⁰'
  const [digits = '', exponent = '0'] = p.toExponential(1).split('e')
  return `${digits} × 10${exponent.replace(/./g, (character) => superscripts[character] ?? '')}`
}

const superscripts: Readonly<Record<string, string>> = {
  '-': '⁻',
  ...Object.fromEntries([...'⁰¹²³⁴⁵⁶⁷⁸⁹'].entries()),
}

/** `94 MB`, in powers of ten. */
export function megabytes(bytes: number | null): string {
  return bytes === null ? nothing : `${count(Math.round(bytes / 1e6))} MB`
}

/** `5.13 MB`, `12 kB`, in powers of ten. */
export function sizeOf(bytes: number): string {
  const power = Math.min(4, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${Number((bytes / 1000 ** power).toPrecision(3))} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`
}

/** `2026-05-12 09:30 UTC` from ISO 8601 in UTC. */
export function moment(iso: string): string {
  return `${iso.slice(0, 16).replace('T', ' ')} UTC`
}
