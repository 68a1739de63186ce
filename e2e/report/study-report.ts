// The report of any study: its finding, tables, plots and counts, from what it declares.

import type { Interval } from '../../client/statistics.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { atOthers, totals } from '../lab/samples.ts'
import {
  type Design,
  type Factor,
  type FigureRow,
  type Found,
  type Measure,
  type Measured,
  type Row,
  type StudyComparison,
  sessionsNeeded,
} from '../lab/study.ts'
import { distribution, intervals, isLogarithmic } from './charts.ts'
import { lines } from './line-charts.ts'
import {
  count,
  type Figure,
  figure,
  interval,
  lostSection,
  lowered,
  megabytes,
  nothing,
  probability,
  ratioWords,
  type Section,
  spread,
  type Table,
  table,
  text,
} from './section.ts'
import { labelAt, mattersWords, spokenAt } from './study-finding.ts'

/** For the terminal. */
export const briefTable = (design: Design, found: Found): Table =>
  figuresTable(design, found, design.measures[0])

interface Shown extends Found {
  readonly matters?: Measured['matters'] | undefined
  readonly until?: Measured['until'] | undefined
  readonly stopped?: Circumstances['stopped'] | undefined
}

/** `all`: the samples of every window. */
export function studySections(design: Design, found: Shown, all: readonly Row[]): readonly Section[] {
  const samples = atOthers(all as readonly (Row & { readonly receiver: number })[])
  const { notes, measures, factors } = design
  const naming = factors.map((factor) => [factor.title, ({ at }: FigureRow) => labelAt(factor, at)] as const)
  const [first] = measures
  const counted = found.figures
    .filter(({ measure }) => measure === first.name)
    .map((row) => {
      const echo = found.echoes.find(({ measure, mode }) => measure === row.measure && mode === row.mode)
      return echo ? { ...row, ...totals([row, echo]) } : row
    })
  return [
    ...measures.map((measure, place) => ({
      title: measure.title,
      ...figureFor(design, found, measure, samples),
      tables: tablesOf(design, found, measure),
      paragraphs: place === 0 ? notes(found) : [],
    })),
    ...comparisonSections(design, found),
    ...echoSections(design, found),
    lostSection(counted, naming, {
      caption: 'Samples that did not arrive once and in order, at all windows',
    }),
    everySection(design, found),
    ...costSections(design, found),
  ]
}

/** Every sample if there are few cells, lines over a number, else the ratios. */
function figureFor(
  design: Design,
  found: Found,
  measure: Measure,
  samples: readonly Row[],
): { readonly figure?: Figure } {
  const [subject, ...others] = design.factors
  const rows = found.figures.filter((row) => row.measure === measure.name)
  const [other] = others
  const levels = found.levels[other?.name ?? ''] ?? []
  if (other && others.length === 1 && levels.length > 1 && levels.every((level) => typeof level === 'number'))
    return { figure: linesOver(subject, other, measure, rows, levels as readonly number[]) }
  if (rows.every(({ n }) => n === 0)) return {}
  if (rows.length <= mostClouds) return { figure: clouds(design, measure, rows, samples) }
  const compared = found.comparisons.filter((one) => one.measure === measure.name && one.ratioCi95)
  return compared.length === 0 ? {} : { figure: ratiosOf(design, measure, compared) }
}

/** More rows of samples are no figure to look at. */
const mostClouds = 12

function linesOver(
  subject: Factor,
  other: Factor,
  measure: Measure,
  rows: readonly FigureRow[],
  levels: readonly number[],
): Figure {
  const by = measure.by === 'median' ? 'p50' : 'mean'
  const subjects = [...new Set(rows.map(({ at }) => at[subject.name] ?? ''))]
  const series = subjects.map((level, colour) => ({
    label: (subject.label ?? String)(level),
    isDashed: false,
    colour,
    points: rows
      .filter(({ at }) => at[subject.name] === level)
      .map(({ at, [by]: y, n }) => ({
        x: Number(at[other.name]),
        y,
        mark: n === 0 ? ('failed' as const) : ('filled' as const),
      })),
  }))
  const figureOf = by === 'p50' ? 'Median' : 'Mean'
  const failed = rows.some(({ n }) => n === 0)
    ? ' A cross at the top, and a gap in the line: nothing arrived.'
    : ''
  return {
    caption: `${figureOf} ${lowered(measure.title)} in ${measure.unit} by ${lowered(other.title)}; both axes are logarithmic.${failed}`,
    description: `${figureOf} ${lowered(measure.title)} by ${lowered(other.title)} for ${series.map(({ label }) => label).join('; ')}. The table below gives the same in figures.`,
    draw: (width) =>
      lines([{ title: '', series }], {
        width,
        axis: lowered(other.title),
        ticks: levels,
        tickFormat: other.label ?? String,
      }),
  }
}

function clouds(
  { factors, isSubject = () => true }: Design,
  measure: Measure,
  rows: readonly FigureRow[],
  samples: readonly Row[],
): Figure {
  const label = ({ at }: FigureRow) => factors.map((factor) => labelAt(factor, at)).join('; ')
  const drawn = rows.map((row) => ({
    label: label(row),
    colour: isSubject(row.at[factors[0].name] ?? '') ? 'var(--accent)' : 'var(--peer)',
    values: samples.flatMap((sample) => {
      const value = sample[measure.name]
      const isOwn = Object.entries(row.at).every(([name, level]) => sample[name] === level)
      return isOwn && typeof value === 'number' ? [{ ms: value }] : []
    }),
  }))
  const isLog = isLogarithmic(drawn.flatMap(({ values }) => values.map(({ ms }) => ms)))
  const axis = isLog ? 'The axis is logarithmic' : 'The axis is linear, as some values are not above 0'
  return {
    caption: `${measure.title} of every sample, in ${measure.unit}. ${axis} and not truncated. A dot is one sample; its height only separates it from others. Below the dots: the middle half (thick), the 5th to the 95th percentile (thin) and the median (vertical line, with its figure).`,
    description: `Distribution of ${lowered(measure.title)} for ${rows.map(label).join('; ')}. The table below gives the same in figures.`,
    draw: (width) => distribution(drawn, width, measure.unit),
  }
}

function ratiosOf({ factors }: Design, measure: Measure, compared: readonly StudyComparison[]): Figure {
  const [subject] = factors
  const rows = compared.flatMap(({ at, baseline, ratio, ratioCi95, verdict, sessions }) =>
    ratioCi95 === null
      ? []
      : [
          {
            label: `${factors.map((factor) => labelAt(factor, at)).join('; ')} / ${(subject.label ?? String)(baseline)}`,
            point: ratio,
            interval: ratioCi95,
            isDecided: verdict !== 'undecided',
            outcome: verdict,
            sessions: sessions.map((one) => one.ratio),
          },
        ],
  )
  const caption =
    'Ratio to the other, with the 95 % interval. Filled: decided; hollow: undecided. Small ticks: the ratio in each session.'
  const axis = `← less   ratio of ${lowered(measure.title)}   more →`
  return ratiosFigure(rows, { caption, axis, references: [1] })
}

type RatioRow = Parameters<typeof intervals>[0][number] & {
  readonly interval: Interval
  readonly outcome?: string
}

/** Each ratio with its interval and the sessions' ratios. `references`: vertical lines. */
export function ratiosFigure(
  rows: readonly RatioRow[],
  look: { readonly caption: string; readonly axis: string; readonly references: readonly number[] },
): Figure {
  const words = rows.map(
    ({ label, point, interval: ends, outcome }) =>
      `${label}: ${figure(point)}, ${interval(ends)}${outcome ? `, ${outcome}` : ''}`,
  )
  const { caption, ...others } = look
  return { caption, description: words.join('; '), draw: (width) => intervals(rows, { width, ...others }) }
}

/** With one other factor, a row for each subject and a column for each of its levels. */
function tablesOf(design: Design, found: Found, measure: Measure): readonly Table[] {
  const [, ...others] = design.factors
  const [other] = others
  if (!other || others.length > 1 || (found.levels[other.name] ?? []).length < 2)
    return [figuresTable(design, found, measure)]
  const by = measure.by === 'median' ? 'p50' : 'mean'
  const caption = `${by === 'p50' ? 'Median' : 'Mean'} in ${measure.unit}`
  const own = found.figures.filter((row) => row.measure === measure.name)
  const compared = found.comparisons.filter((row) => row.measure === measure.name)
  const against = [...new Set(compared.map(({ baseline }) => baseline))]
  return [
    grid(design, found, other, caption, own, (row) => row[by]),
    ...against.map((baseline) =>
      grid(
        design,
        found,
        other,
        `Times that of ${spokenAt(design.factors[0], baseline)}${compared.some(({ ratioCi95 }) => ratioCi95) ? ', with the 95 % interval' : ''}`,
        compared.filter((row) => row.baseline === baseline),
        ({ ratio, ratioCi95 }) => ratioWords(ratio, ratioCi95),
      ),
    ),
  ]
}

function grid<Cell extends Pick<FigureRow, 'at'>>(
  { factors: [subject] }: Design,
  { levels }: Found,
  other: Factor,
  caption: string,
  cells: readonly Cell[],
  cellOf: (cell: Cell) => string | number | null,
): Table {
  const across = levels[other.name] ?? []
  const down = (levels[subject.name] ?? []).filter((level) =>
    cells.some(({ at }) => at[subject.name] === level),
  )
  return table(
    caption,
    [subject.title, ...across.map((level) => (other.label ?? String)(level))],
    down.map((level) => [
      (subject.label ?? String)(level),
      ...across.map((column) => {
        const cell = cells.find(({ at }) => at[subject.name] === level && at[other.name] === column)
        return cell ? cellOf(cell) : nothing
      }),
    ]),
  )
}

/** A row for each cell. */
function figuresTable({ factors, isSubject = () => true }: Design, found: Found, measure: Measure): Table {
  const [subject, ...others] = factors
  const compared = found.comparisons.filter((row) => row.measure === measure.name && isSubject(row.baseline))
  const ratioAt = (row: FigureRow) =>
    compared
      .filter(({ at }) => factors.every(({ name }) => at[name] === row.at[name]))
      .map(({ ratio, ratioCi95, baseline }) => {
        const isUsual = baseline === String(found.baseline)
        return `${ratioWords(ratio, ratioCi95)}${isUsual ? '' : ` / ${(subject.label ?? String)(baseline)}`}`
      })
      .join('; ')
  return table(
    `${measure.title} in ${measure.unit}`,
    [
      text(subject.title),
      ...others.map(({ title }) => text(title)),
      ...['Mean ± sd', 'Median', 'p95'],
      ...(compared.length > 0 ? ['Ratio'] : []),
      'Received',
    ],
    found.figures
      .filter((row) => row.measure === measure.name)
      .map((row) => [
        row.at[subject.name] === found.baseline
          ? `${labelAt(subject, row.at)} (baseline)`
          : labelAt(subject, row.at),
        ...others.map((factor) => labelAt(factor, row.at)),
        ...[spread(row.mean, row.sd), row.p50, row.p95],
        ...(compared.length > 0 ? [ratioAt(row) || nothing] : []),
        `${count(row.n)} of ${count(row.expected)}`,
      ]),
  )
}

function comparisonSections(design: Design, found: Shown): readonly Section[] {
  const { factors, measures } = design
  const { comparisons, notCompared, sessions } = found
  const [subject, ...others] = factors
  const title = 'Comparisons'
  const missing = notCompared.map(
    ({ at, baseline }) =>
      `${factors.map((factor) => labelAt(factor, at)).join(', ')} could not be compared with ${(subject.label ?? String)(baseline)}: no session has values of both, or clock errors put a mean below 0.`,
  )
  if (comparisons.length === 0)
    return missing.length === 0 ? [] : [{ title, paragraphs: ['Nothing was compared.', ...missing] }]
  const drawn = comparisons.filter((one) => one.measure === measures[0].name && one.ratioCi95)
  const p = (value: number | null) => (value === null ? nothing : probability(value))
  const tables = measures.flatMap((measure) => {
    const own = comparisons.filter((one) => one.measure === measure.name)
    if (own.length === 0) return []
    return [
      table(
        `${measure.title}: ratio and difference in ${measure.unit}, over sessions`,
        [
          text(`${subject.title} / against`),
          ...others.map(({ title }) => text(title)),
          ...['Ratio', '95 % interval', 'Difference', text('Verdict'), 'p', 'p corrected', 'Sessions'],
        ],
        own.map((one) => [
          `${labelAt(subject, one.at)} / ${(subject.label ?? String)(one.baseline)}`,
          ...others.map((factor) => labelAt(factor, one.at)),
          ...[one.ratio, one.ratioCi95 ? interval(one.ratioCi95) : nothing],
          ratioWords(one.difference, one.differenceCi95),
          ...[verdictIn(measure, one), p(one.p), p(one.pCorrected), count(one.sessions.length)],
        ]),
      ),
    ]
  })
  const how =
    sessions < 2
      ? 'One session gives no interval: how far sessions differ is unknown.'
      : 'Each session starts everything afresh and gives one ratio. Student’s t, two-sided, over the logarithms of the ratios; p is corrected for all comparisons of the run (Holm), each interval is for its comparison alone. Undecided: the corrected p is above 0.05, the interval contains 1, or the difference is within the clocks’ error.'
  const cells = found.figures.filter(({ measure }) => measure === measures[0].name)
  // Else the first measure's own figure shows where ratios differ.
  const isDrawn = others.length === 0 && drawn.length > 0 && cells.length <= mostClouds
  const shown = isDrawn ? { figure: ratiosOf(design, measures[0], drawn) } : {}
  return [{ title, ...shown, tables, paragraphs: [how, ...untilWords(design, found), ...missing] }]
}

/** Why the run ended when it did; empty if the number of sessions was fixed. */
function untilWords(
  design: Design,
  { until, matters, stopped, comparisons, sessions }: Shown,
): readonly string[] {
  if (!until || !matters) return []
  const least = `${mattersWords(design, matters)}${matters.isPercent ? ' of what is compared with' : ''}`
  const alike = `A difference of less than ${least} does not matter; if the whole interval of the ratio is within it, the two are called alike.`
  const end =
    until === 'decided'
      ? `The run continued until every interval was at most that wide, for ${count(sessions)} sessions.`
      : `${stopped ? 'It was stopped' : 'The time limit ended it'} after ${count(sessions)} sessions; about ${count(sessionsNeeded(comparisons, sessions))} would have made every interval that narrow.`
  return [`${alike} ${end}`]
}

/** `faster` for less time. */
function verdictIn({ unit }: Measure, { verdict, difference, boundMs }: StudyComparison): string {
  if (verdict === 'undecided' && boundMs > 0 && Math.abs(difference) <= boundMs) return 'undecided (clock)'
  if (unit !== 'ms') return verdict
  return { lower: 'faster', higher: 'slower', alike: 'alike', undecided: 'undecided' }[verdict]
}

function echoSections({ factors, measures }: Design, { echoes }: Found): readonly Section[] {
  if (echoes.length === 0) return []
  const tables = measures.map((measure) =>
    table(
      `${measure.title} to the window that sends, in ${measure.unit}`,
      [...factors.map(({ title }) => text(title)), 'Mean ± sd', 'Median', 'p95', 'Received', 'Expected'],
      echoes
        .filter((row) => row.measure === measure.name)
        .map((row) => [
          ...factors.map((factor) => labelAt(factor, row.at)),
          ...[spread(row.mean, row.sd), row.p50, row.p95, count(row.n), count(row.expected)],
        ]),
    ),
  )
  const what =
    'The server sends a message to the window that it came from, too, as the confirmation that it is stored. Every other figure of this report is of the other windows.'
  return [{ title: 'The sender’s own echo', tables, paragraphs: [what] }]
}

function everySection({ factors, measures }: Design, { figures, sessions }: Found): Section {
  const names = factors.map(({ title }) => text(title))
  const labels = ({ at }: FigureRow) => factors.map((factor) => labelAt(factor, at))
  const numbered = Array.from({ length: sessions }, (_, place) => `Session ${place + 1}`)
  const tables = measures.flatMap((measure) => {
    const own = figures.filter((row) => row.measure === measure.name)
    const all = table(
      `${measure.title} over all sessions, in ${measure.unit}`,
      [...names, 'Mean ± sd', 'Median', 'p95', 'p99', 'Max.', 'Received', 'Expected'],
      own.map((row) => [
        ...[...labels(row), spread(row.mean, row.sd), row.p50, row.p95, row.p99, row.max],
        ...[count(row.n), count(row.expected)],
      ]),
    )
    const each = table(
      `${measure.by === 'median' ? 'Median' : 'Mean'} in each session, in ${measure.unit}`,
      [...names, ...numbered],
      own.map((row) => [...labels(row), ...numbered.map((_, place) => row.sessions[place])]),
    )
    return sessions > 1 ? [all, each] : [all]
  })
  return {
    title: 'Every figure, and every session',
    tables,
    paragraphs: ['Figures are of samples that arrived, even if others were lost.'],
  }
}

function costSections({ factors: all }: Design, { costs }: Found): readonly Section[] {
  const [first] = costs
  if (!first) return []
  const factors = all.filter(({ name }) => name in first.at)
  const columns = ['CPU, ms', 'CPU per message and window, µs', 'Memory']
  return [
    {
      title: 'Server use',
      tables: [
        table(
          'Processor time over all sessions, and the highest resident memory',
          [...factors.map(({ title }) => text(title)), ...columns],
          costs.map((cost) => [
            ...factors.map((factor) => labelAt(factor, cost.at)),
            ...[cost.serverCpuMs, cost.serverCpuMicrosPerSample, megabytes(cost.serverRssBytes)],
          ]),
        ),
      ],
      paragraphs: [
        'Memory is that of the whole server process: a later turn can inherit what an earlier one used.',
      ],
    },
  ]
}
