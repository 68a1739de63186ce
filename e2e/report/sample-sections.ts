// Sections that reports of samples share: what was lost, and every figure of every session.

import { type Counts, isFaulty, type summariseSamples, totals } from '../lab/samples.ts'
import { count, figure, type Section, spread, table } from './section.ts'

/** Title and cell of the columns that name a row. */
type Naming<Row> = readonly (readonly [title: string, cell: (row: Row) => string])[]

/** Of all samples one sentence where nothing went wrong, else a row for each that is faulty. */
export function lostSection<Row extends Counts>(
  rows: readonly Row[],
  naming: Naming<Row>,
  { caption, paragraphs = [] }: { readonly caption: string; readonly paragraphs?: readonly string[] },
): Section {
  const title = 'Lost, duplicated, reordered'
  const faulty = rows.filter(isFaulty)
  if (faulty.length === 0) {
    const clean = `Of ${count(totals(rows).expected)} samples none was lost, none came twice and none came out of order.`
    return { title, paragraphs: [clean, ...paragraphs] }
  }
  const columns = ['Expected', 'Lost', 'Lost, %', 'Duplicated', 'Reordered']
  const cells = faulty.map((row) => [
    ...naming.map(([, cell]) => cell(row)),
    ...[count(row.expected), count(row.lost), figure((100 * row.lost) / row.expected)],
    ...[count(row.duplicated), count(row.reordered)],
  ])
  return { title, tables: [table(caption, [...naming.map(([name]) => name), ...columns], cells)], paragraphs }
}

type Timed = Pick<
  ReturnType<typeof summariseSamples>,
  'n' | 'expected' | 'meanMs' | 'sdMs' | 'p50Ms' | 'p95Ms' | 'maxMs'
> & { readonly sessionP50sMs: readonly (number | null)[] }

export function everySessionSection<Row extends Timed>(
  rows: readonly Row[],
  naming: Naming<Row>,
  sessions: number,
): Section {
  const names = naming.map(([name]) => name)
  const labels = (row: Row) => naming.map(([, cell]) => cell(row))
  const figures = table(
    'Over all sessions and windows; times in milliseconds',
    [...names, 'Mean ± sd', 'Median', 'p95', 'Max.', 'Received', 'Expected'],
    rows.map((row) => [
      ...[...labels(row), spread(row.meanMs, row.sdMs), row.p50Ms, row.p95Ms, row.maxMs],
      ...[count(row.n), count(row.expected)],
    ]),
  )
  const numbered = Array.from({ length: sessions }, (_, place) => `Session ${place + 1}`)
  const each = table(
    'Median in each session, in milliseconds',
    [...names, ...numbered],
    rows.map((row) => [...labels(row), ...numbered.map((_, place) => row.sessionP50sMs[place])]),
  )
  return {
    title: 'Every figure, and every session',
    tables: sessions > 1 ? [figures, each] : [figures],
    paragraphs: ['Figures are of samples that arrived, also where others were lost.'],
  }
}
