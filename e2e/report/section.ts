// The parts of a report (sections, tables, figures) and the formatting of numbers.

import type { Circumstances } from '../lab/run-environment.ts'

export interface Report {
  readonly title: string
  readonly subtitle: string
  readonly finding: string
  /** The first is the answer: its table follows the finding. */
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
}

export interface Figure {
  readonly caption: string
  /** Text alternative. */
  readonly description: string
  /** Returns an SVG element; `width` in CSS pixels. */
  readonly draw: (width: number) => string
}

/** Plain-text cells, one for each column; the first is the row's header. */
export interface Table {
  readonly caption: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
}

/** Numbers are right-aligned. */
export type Column = ReturnType<typeof text | typeof number>

export const text = (title: string) => ({ title, kind: 'text' }) as const
export const number = (title: string) => ({ title, kind: 'number' }) as const

/** Enough to repeat a run. */
export function runAgainSection(
  { environment, parameters, startedAt, finishedAt }: Omit<Circumstances, 'command'>,
  command: string,
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
  return { title: 'Run it again', command, tables, paragraphs }
}

/** For a cell without a value. */
export const nothing = '–'

/** Two decimals below 10, one below 100, none above, commas from a thousand on; a true minus sign; a dash for no value. */
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

/** `1,200`. */
export function count(value: number): string {
  return value.toLocaleString('en-GB')
}

/** `2.14 ± 0.61`, or the mean alone. */
export function spread(mean: number | null, sd: number | null): string {
  return sd === null ? figure(mean) : `${figure(mean)} ± ${figure(sd)}`
}

/** `−1.62 to −1.18`. */
export function interval([low, high]: readonly [number, number]): string {
  return `${figure(low)} to ${figure(high)}`
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

/** `5.1 MB`, `12 kB`, in powers of ten. */
export function fileSize(bytes: number): string {
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${count(Math.ceil(bytes / 1000))} kB`
}

/** `2026-05-12 09:30 UTC` from ISO 8601 in UTC. */
export function moment(iso: string): string {
  return `${iso.slice(0, 16).replace('T', ' ')} UTC`
}
