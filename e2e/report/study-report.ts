// The report of any study: its finding, tables, plots and counts, from what it declares.

import { totals } from '../lab/samples.ts'
import {
  comparedOf,
  type Design,
  type Factor,
  type FigureRow,
  type Found,
  isTime,
  type Measure,
  type Row,
  type StudyComparison,
} from '../lab/study.ts'
import { distribution, intervals } from './charts.ts'
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
  range,
  ratioWords,
  type Section,
  spread,
  type Table,
  table,
  text,
} from './section.ts'
import { labelAt, othersVaried, spokenAt } from './study-finding.ts'

/** For the terminal. */
export const briefTables = (design: Design, found: Found): readonly Table[] => [
  figuresTable(design, found, design.measures[0]),
  ...(design.measures.length > 1 ? [measuresTable(design, found, design.measures.slice(1))] : []),
]

export function studySections(design: Design, found: Found, samples: readonly Row[]): readonly Section[] {
  const { notes, factors, areMessages = true } = design
  const naming = factors.map((factor) => [factor.title, ({ at }: FigureRow) => labelAt(factor, at)] as const)
  const [first] = design.measures
  const all = found.figures
    .filter(({ measure }) => measure === first.name)
    .map((row) => {
      const echo = found.echoes.find(({ measure, mode }) => measure === row.measure && mode === row.mode)
      return echo ? { ...row, ...totals([row, echo]) } : row
    })
  return [
    ...inFull(design, found).map((measure, place) => ({
      title: measure.title,
      ...figureFor(design, found, measure, samples),
      tables: tablesOf(design, found, measure),
      paragraphs: place === 0 ? notes(found) : [],
    })),
    ...comparisonSections(design, found),
    ...describedSections(design, found),
    ...echoSections(design, found),
    ...(areMessages
      ? [
          lostSection(all, naming, {
            caption: 'Samples that did not arrive once and in order, at all windows',
          }),
        ]
      : []),
    everySection(design, found),
    ...costSections(design, found),
  ]
}

/** The first, and the other compared ones that were measured. */
const inFull = (design: Design, found: Found) =>
  comparedOf(design).filter((measure, place) => place === 0 || figuresIn(design, found, measure).length > 0)

/** Of what is no message only what was measured. */
const figuresIn = ({ areMessages = true }: Design, { figures }: Found, { name }: Measure) =>
  figures.filter(({ measure, n }) => measure === name && (areMessages || n > 0))

/** Every sample if there are few cells, lines over a number, else the ratios. */
function figureFor(
  design: Design,
  found: Found,
  measure: Measure,
  samples: readonly Row[],
): { readonly figure?: Figure } {
  const rows = figuresIn(design, found, measure)
  const [other, third, ...more] = othersVaried(design, found)
  const levels = found.levels[other?.name ?? ''] ?? []
  if (other && more.length === 0 && levels.every((level) => typeof level === 'number')) {
    const panels = partsOf(found, third, rows)
    return { figure: linesOver(design.factors[0], other, measure, panels, levels as readonly number[]) }
  }
  const compared = found.comparisons.filter((one) => one.measure === measure.name && one.ratioCi95)
  // A few values of each cell are no cloud.
  const hasClouds = rows.length <= mostClouds && (design.areMessages !== false || compared.length === 0)
  if (hasClouds) return { figure: clouds(design, measure, rows, samples) }
  return compared.length === 0 ? {} : { figure: ratiosOf(design, measure, compared) }
}

/** A part for each level of the factor; without one, a part without a title. */
function partsOf<Cell extends Pick<FigureRow, 'at'>>(
  { levels }: Found,
  factor: Factor | undefined,
  cells: readonly Cell[],
) {
  if (!factor) return [{ title: '', cells }]
  return (levels[factor.name] ?? []).flatMap((level) => {
    const own = cells.filter(({ at }) => at[factor.name] === level)
    return own.length === 0 ? [] : [{ title: (factor.label ?? String)(level), cells: own }]
  })
}

/** More rows of samples are no figure to look at. */
const mostClouds = 12

function linesOver(
  subject: Factor,
  other: Factor,
  measure: Measure,
  parts: ReturnType<typeof partsOf<FigureRow>>,
  levels: readonly number[],
): Figure {
  const by = measure.by === 'median' ? 'p50' : 'mean'
  const rows = parts.flatMap(({ cells }) => cells)
  const subjects = [...new Set(rows.map(({ at }) => at[subject.name] ?? ''))]
  const labels = subjects.map(subject.label ?? String)
  const panels = parts.map(({ title, cells }) => ({
    title,
    series: subjects.map((level, colour) => ({
      label: labels[colour] ?? '',
      isDashed: false,
      colour,
      points: cells
        .filter(({ at }) => at[subject.name] === level)
        .map(({ at, [by]: y, n }) => ({
          x: Number(at[other.name]),
          y,
          mark: n === 0 ? ('failed' as const) : ('filled' as const),
        })),
    })),
  }))
  const figureOf = by === 'p50' ? 'Median' : 'Mean'
  const failed = rows.some(({ n }) => n === 0)
    ? ' A cross at the top, and a gap in the line: nothing arrived.'
    : ''
  return {
    caption: `${figureOf} ${lowered(measure.title)} in ${measure.unit} by ${lowered(other.title)}; both axes are logarithmic.${failed}`,
    description: `${figureOf} ${lowered(measure.title)} by ${lowered(other.title)} for ${labels.join('; ')}. The table below gives the same in figures.`,
    draw: (width) =>
      lines(panels, {
        width,
        axis: lowered(other.title),
        ticks: levels,
        tickFormat: other.label ?? String,
      }),
  }
}

function clouds(
  { factors }: Design,
  measure: Measure,
  rows: readonly FigureRow[],
  samples: readonly Row[],
): Figure {
  const label = ({ at }: FigureRow) => factors.map((factor) => labelAt(factor, at)).join('; ')
  const drawn = rows.map((row) => ({
    label: label(row),
    colour: 'var(--accent)',
    values: samples.flatMap((sample) => {
      const value = sample[measure.name]
      const isOwn = Object.entries(row.at).every(([name, level]) => sample[name] === level)
      return isOwn && typeof value === 'number' ? [{ ms: value }] : []
    }),
  }))
  return {
    caption: `${measure.title} of every sample, in ${measure.unit}, not truncated. A dot is one sample; its height only separates it from others. Below the dots: the middle half (thick), the 5th to the 95th percentile (thin) and the median (vertical line, with its figure).`,
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
  return {
    caption:
      'Ratio to the other, with the 95 % interval. Filled: decided; hollow: undecided. Small ticks: the ratio in each session.',
    description: rows
      .map((row) => `${row.label}: ${figure(row.point)}, ${interval(row.interval)}, ${row.outcome}`)
      .join('; '),
    draw: (width) =>
      intervals(
        rows.map((row) => (width < 500 ? { ...row, label: inTwoLines(row.label) } : row)),
        {
          width,
          axis: `← less   ratio of ${lowered(measure.title)}   more →`,
          references: [1],
        },
      ),
  }
}

/** Longer than a narrow figure is wide. */
const inTwoLines = (label: string) => (label.length > 40 ? label.replace(' / ', ' /\n') : label)

/**
 * A row for each subject, a column for each level of another factor, and of a third a table for each
 * level.
 */
function tablesOf(design: Design, found: Found, measure: Measure): readonly Table[] {
  const [other, third, ...more] = othersVaried(design, found)
  if (!other || more.length > 0) return [figuresTable(design, found, measure)]
  const by = measure.by === 'median' ? 'p50' : 'mean'
  const caption = `${by === 'p50' ? 'Median' : 'Mean'} in ${measure.unit}`
  const own = found.figures.filter((row) => row.measure === measure.name)
  const compared = found.comparisons.filter((row) => row.measure === measure.name)
  const against = [...new Set(compared.map(({ baseline }) => baseline))]
  const withInterval = compared.some(({ ratioCi95 }) => ratioCi95) ? ', with the 95 % interval' : ''
  return [
    ...grids(design, found, [other, third], caption, own, (row) => row[by]),
    ...against.flatMap((baseline) =>
      grids(
        design,
        found,
        [other, third],
        `Times that of ${spokenAt(design.factors[0], baseline)}${withInterval}`,
        compared.filter((row) => row.baseline === baseline),
        ({ ratio, ratioCi95 }) => ratioWords(ratio, ratioCi95),
      ),
    ),
  ]
}

function grids<Cell extends Pick<FigureRow, 'at'>>(
  design: Design,
  found: Found,
  [other, third]: readonly [Factor, Factor | undefined],
  caption: string,
  cells: readonly Cell[],
  cellOf: (cell: Cell) => string | number | null,
): readonly Table[] {
  return partsOf(found, third, cells).map(({ title, cells: own }) =>
    grid(design, found, other, title ? `${title}: ${lowered(caption)}` : caption, own, cellOf),
  )
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

/** Of more comparisons of one level the table would be too wide; all are in that of the comparisons. */
const mostRatios = 2

/** A row for each cell. */
function figuresTable(design: Design, found: Found, measure: Measure): Table {
  const { factors, areMessages = true } = design
  const [subject, ...others] = factors
  const compared = found.comparisons.filter((row) => row.measure === measure.name)
  const comparedAt = (row: FigureRow) =>
    compared.filter(({ at }) => factors.every(({ name }) => at[name] === row.at[name]))
  const rows = figuresIn(design, found, measure)
  const hasRatios = compared.length > 0 && rows.every((row) => comparedAt(row).length <= mostRatios)
  const ratioAt = (row: FigureRow) =>
    comparedAt(row)
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
      ...['Mean ± sd', 'Median', areMessages ? 'p95' : 'Range'],
      ...(hasRatios ? ['Ratio'] : []),
      areMessages ? 'Received' : 'Samples',
    ],
    rows.map((row) => [
      row.at[subject.name] === found.baseline
        ? `${labelAt(subject, row.at)} (baseline)`
        : labelAt(subject, row.at),
      ...others.map((factor) => labelAt(factor, row.at)),
      ...[spread(row.mean, row.sd), row.p50, areMessages ? row.p95 : range([row.min ?? 0, row.max ?? 0])],
      ...(hasRatios ? [ratioAt(row) || nothing] : []),
      areMessages ? `${count(row.n)} of ${count(row.expected)}` : count(row.n),
    ]),
  )
}

/** A row for each cell, a column for each measure. */
function measuresTable({ factors }: Design, found: Found, measures: readonly Measure[]): Table {
  const names = measures.map(({ name }) => name)
  const by = measures.every((measure) => measure.by === 'mean') ? 'mean' : 'p50'
  const own = found.figures.filter(({ measure }) => names.includes(measure))
  const cells = [
    ...Map.groupBy(own, ({ at }) => JSON.stringify(factors.map(({ name }) => at[name]))).values(),
  ]
  return table(
    `${by === 'mean' ? 'Means' : 'Medians'} over all sessions`,
    [...factors.map(({ title }) => text(title)), ...measures.map(({ title, unit }) => `${title}, ${unit}`)],
    cells.map((rows) => [
      ...factors.map((factor) => labelAt(factor, rows[0]?.at ?? {})),
      ...measures.map(({ name }) => rows.find(({ measure }) => measure === name)?.[by]),
    ]),
  )
}

/** Those that are not compared. */
function describedSections(design: Design, found: Found): readonly Section[] {
  const described = design.measures.filter(
    (measure) =>
      measure.isCompared === false && found.figures.some((row) => row.measure === measure.name && row.n > 0),
  )
  if (described.length === 0) return []
  return [{ title: 'Also measured', tables: [measuresTable(design, found, described)] }]
}

function comparisonSections(
  { factors, measures }: Design,
  { comparisons, sessions }: Found,
): readonly Section[] {
  const [subject, ...others] = factors
  if (comparisons.length === 0) return []
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
          ...[one.ratio, one.ratioCi95 ? interval(one.ratioCi95) : nothing, one.difference],
          ...[verdictIn(measure, one), p(one.p), p(one.pCorrected), count(one.sessions.length)],
        ]),
      ),
    ]
  })
  const how =
    sessions < 2
      ? 'One session gives no interval: how far sessions differ is unknown.'
      : 'Each session starts everything afresh and gives one ratio. Student’s t, two-sided, over the logarithms of the ratios; p is corrected for all comparisons of the run (Holm), each interval is for its comparison alone. Undecided: the corrected p is above 0.05, the interval contains 1, or the difference is within the clocks’ error.'
  return [{ title: 'Comparisons', tables, paragraphs: [how] }]
}

/** `faster` for less time. */
function verdictIn(measure: Measure, { verdict }: StudyComparison): string {
  if (!isTime(measure)) return verdict
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

function everySection(design: Design, found: Found): Section {
  const { factors, areMessages = true } = design
  const { sessions } = found
  const names = factors.map(({ title }) => text(title))
  const labels = ({ at }: FigureRow) => factors.map((factor) => labelAt(factor, at))
  const numbered = Array.from({ length: sessions }, (_, place) => `Session ${place + 1}`)
  const tables = inFull(design, found).flatMap((measure) => {
    const own = figuresIn(design, found, measure)
    const all = table(
      `${measure.title} over all sessions, in ${measure.unit}`,
      [...names, 'Mean ± sd', 'Median', 'p95', 'p99', 'Max.', 'Received', 'Expected'],
      own.map((row) => [
        ...[...labels(row), spread(row.mean, row.sd), row.p50, row.p95, row.p99, row.max],
        ...[count(row.n), count(row.expected)],
      ]),
    )
    const by = measure.by === 'median' ? 'Median' : 'Mean'
    const each = table(
      areMessages
        ? `${by} in each session, in ${measure.unit}`
        : `${measure.title} in each session, in ${measure.unit}`,
      [...names, ...numbered],
      own.map((row) => [...labels(row), ...numbered.map((_, place) => row.sessions[place])]),
    )
    if (!areMessages) return [each]
    return sessions > 1 ? [all, each] : [all]
  })
  return {
    title: 'Every figure, and every session',
    tables,
    paragraphs: areMessages ? ['Figures are of samples that arrived, even if others were lost.'] : [],
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
