// The report of any study: its finding, tables, plots and counts, from its declaration.

import type { Interval } from '../../client/statistics.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { atAllWindows, atOthers } from '../lab/samples.ts'
import {
  type Analysis,
  axesOf,
  comparedOf,
  type Design,
  type Factor,
  type FigureRow,
  isTime,
  type Level,
  type Measure,
  type Measured,
  type Place,
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
  formatRatio,
  interval,
  lostSection,
  lowered,
  megabytes,
  nothing,
  probability,
  range,
  type Section,
  spread,
  type Table,
  table,
  text,
} from './section.ts'
import { formatMatters, labelAt, spokenAt } from './study-finding.ts'

/** For the terminal. */
export const briefTables = (design: Design, found: Analysis): readonly Table[] => [
  figuresTable(design, found, design.measures[0]),
  ...(design.measures.length > 1 ? [measuresTable(design, found, design.measures.slice(1))] : []),
]

interface Shown extends Analysis {
  readonly matters?: Measured['matters'] | undefined
  readonly until?: Measured['until'] | undefined
  readonly stopped?: Circumstances['stopped'] | undefined
}

/** `all`: the samples of every window. */
export function studySections(design: Design, found: Shown, all: readonly Row[]): readonly Section[] {
  const { notes, areMessages = true } = design
  const [first] = design.measures
  const samples = atOthers(all as readonly (Row & { readonly receiver: number })[])
  const naming = namingOf(design, found).map(
    (factor) => [factor.title, ({ at }: FigureRow) => inColumn(factor, at)] as const,
  )
  const counts = atAllWindows(found.figures, found.echoes).filter(({ measure }) => measure === first.name)
  return [
    ...inFull(design, found).map((measure, index) => ({
      title: measure.title,
      ...figureFor(design, found, measure, samples),
      tables: tablesOf(design, found, measure),
      paragraphs: [...(index === 0 ? notes(found) : []), ...formatMissing(design, found, measure)],
    })),
    ...comparisonSections(design, found),
    ...describedSections(design, found),
    ...echoSections(design, found),
    ...(areMessages
      ? [
          lostSection(counts, naming, {
            caption: 'Samples that did not arrive once and in order, at all windows',
          }),
        ]
      : []),
    everySection(design, found),
    ...costSections(design, found),
  ]
}

/** The first, and the other compared ones that were measured. */
const inFull = (design: Design, found: Analysis) =>
  comparedOf(design).filter((measure, index) => index === 0 || figuresIn(design, found, measure).length > 0)

/** The rows of a measure; for a measure that is no message's, only rows with values. */
const figuresIn = ({ areMessages = true }: Design, { figures }: Analysis, { name }: Measure) =>
  figures.filter(({ measure, n }) => measure === name && (areMessages || n > 0))

/** The factors that rows differ by. */
const namingOf = (design: Design, found: Analysis) => [design.factors[0], ...axesOf(design, found).varied]

/** Beside the factor's title. */
const inColumn = ({ name, label = String, short = label }: Factor, place: Place) => short(place[name] ?? '')

/** Adds the levels that all rows have in common. */
function captionWith({ factors }: Design, { levels }: Analysis, caption: string): string {
  const common = factors.slice(1).flatMap(({ name, label = String }) => {
    const [level, ...more] = levels[name] ?? []
    return level === undefined || more.length > 0 ? [] : [label(level)]
  })
  return [caption, ...common].join(', ')
}

/** Whether so little arrived that a row has no figure. */
function missingIn(
  { areMessages = true }: Design,
  { figures, echoes }: Analysis,
  measure: Measure,
): (row: FigureRow) => boolean {
  if (!areMessages) return () => false
  const lost = new Map(atAllWindows(figures, echoes).map((row) => [row.mode, row.lost]))
  return ({ mode, n, expected }) => (measure.needsAll ? (lost.get(mode) ?? 0) > 0 : n === 0 && expected > 0)
}

const missing = '✗'

function formatMissing(design: Design, found: Analysis, measure: Measure): readonly string[] {
  const isMissing = missingIn(design, found, measure)
  if (!found.figures.some((row) => row.measure === measure.name && isMissing(row))) return []
  return [`${missing} Samples were lost; those that arrived are in “Every figure, and every session”.`]
}

/** Every sample if there are few places, lines over a number, else the ratios. */
function figureFor(
  design: Design,
  found: Analysis,
  measure: Measure,
  samples: readonly Row[],
): { readonly figure?: Figure } {
  const rows = figuresIn(design, found, measure)
  const { over, panel } = axesOf(design, found)
  if (over) return { figure: linesOver(design, found, measure, over, panel) }
  if (rows.every(({ n }) => n === 0)) return {}
  const compared = found.comparisons.filter((one) => one.measure === measure.name && one.ratioCi95)
  // A few values of each place form no cloud.
  const hasClouds = rows.length <= maxClouds && (design.areMessages !== false || compared.length === 0)
  if (hasClouds) return { figure: clouds(design, measure, rows, samples) }
  return compared.length === 0 ? {} : { figure: ratiosOf(design, measure, compared) }
}

/** With more rows of samples, a figure cannot be read. */
const maxClouds = 12

/** With a panel for each level of `panel`. */
function linesOver(
  design: Design,
  found: Analysis,
  measure: Measure,
  over: Factor,
  panel: Factor | null,
): Figure {
  const by = measure.by === 'median' ? 'p50' : 'mean'
  const isMissing = missingIn(design, found, measure)
  // None where only the sender receives.
  const rows = found.figures.filter(
    (row) => row.measure === measure.name && (row[by] !== null || isMissing(row)),
  )
  const [subject] = design.factors
  const { label = String, family = (level: Level) => level } = subject
  const subjects = [...new Set(rows.map(({ at }) => at[subject.name] ?? ''))]
  const families = [...new Set(subjects.map(family))]
  const seriesIn = (own: readonly FigureRow[]) =>
    subjects
      .map((level, index) => ({
        label: label(level),
        isDashed: subjects.findIndex((one) => family(one) === family(level)) < index,
        colour: families.indexOf(family(level)),
        points: own
          .filter(({ at }) => at[subject.name] === level)
          .map((row) => ({
            x: Number(row.at[over.name]),
            y: row[by],
            mark: isMissing(row) ? ('failed' as const) : ('filled' as const),
          })),
      }))
      .filter(({ points }) => points.length > 0)
  const panels = (panel ? (found.levels[panel.name] ?? []) : ['']).map((level) => ({
    title: panel ? (panel.label ?? String)(level) : '',
    series: seriesIn(panel ? rows.filter(({ at }) => at[panel.name] === level) : rows),
  }))
  const figureOf = by === 'p50' ? 'Median' : 'Mean'
  const failed = rows.some(isMissing) ? ' A cross at the top, and a gap in the line: samples were lost.' : ''
  return {
    caption: `${figureOf} ${lowered(measure.title)} in ${measure.unit} by ${lowered(over.title)}; both axes are logarithmic.${failed}`,
    description: `${figureOf} ${lowered(measure.title)} by ${lowered(over.title)} for ${subjects.map(label).join('; ')}. The table below gives the same in figures.`,
    draw: (width) =>
      lines(panels, {
        width,
        axis: lowered(over.title),
        ticks: (found.levels[over.name] ?? []).map(Number),
        tickFormat: over.short ?? over.label ?? String,
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
  const rows = ratioRows(
    compared,
    ({ at, baseline }) =>
      `${factors.map((factor) => labelAt(factor, at)).join('; ')} / ${(subject.label ?? String)(baseline)}`,
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

/** Those that have an interval. */
export const ratioRows = <One extends StudyComparison>(
  compared: readonly One[],
  labelOf: (one: One) => string,
): readonly RatioRow[] =>
  compared.flatMap((one) =>
    one.ratioCi95 === null
      ? []
      : [
          {
            label: labelOf(one),
            point: one.ratio,
            interval: one.ratioCi95,
            isDecided: one.verdict !== 'undecided',
            outcome: one.verdict,
            sessions: one.sessions.map(({ ratio }) => ratio),
          },
        ],
  )

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
  return {
    caption,
    description: words.join('; '),
    draw: (width) =>
      intervals(
        rows.map((row) => (width < 500 ? { ...row, label: inTwoLines(row.label) } : row)),
        { width, ...others },
      ),
  }
}

/** Longer than a narrow figure is wide. */
const inTwoLines = (label: string) => (label.length > 40 ? label.replace(' / ', ' /\n') : label)

/** Over a number, or with one other factor: a row for each subject, and a column for each level. */
function tablesOf(design: Design, found: Analysis, measure: Measure): readonly Table[] {
  const { varied, over, panel } = axesOf(design, found)
  const across = over ?? (varied.length === 1 ? varied[0] : undefined)
  if (!across) return [figuresTable(design, found, measure)]
  const by = measure.by === 'median' ? 'p50' : 'mean'
  const caption = `${by === 'p50' ? 'Median' : 'Mean'} in ${measure.unit}`
  const own = found.figures.filter((row) => row.measure === measure.name)
  const compared = found.comparisons.filter((row) => row.measure === measure.name)
  const against = [...new Set(compared.map(({ baseline }) => baseline))]
  const isMissing = missingIn(design, found, measure)
  const axes = { across, panel }
  return [
    grid(design, found, axes, caption, own, (row) => (isMissing(row) ? missing : row[by])),
    ...against.map((baseline) =>
      grid(
        design,
        found,
        axes,
        `Times that of ${spokenAt(design.factors[0], baseline)}${compared.some(({ ratioCi95 }) => ratioCi95) ? ', with the 95 % interval' : ''}`,
        compared.filter((row) => row.baseline === baseline),
        ({ ratio, ratioCi95 }) => formatRatio(ratio, ratioCi95),
      ),
    ),
  ]
}

/** A row for each subject and panel that was measured. */
function grid<Item extends Pick<FigureRow, 'at'>>(
  design: Design,
  found: Analysis,
  { across, panel }: { readonly across: Factor; readonly panel: Factor | null },
  caption: string,
  items: readonly Item[],
  cellOf: (item: Item) => string | number | null,
): Table {
  const [subject] = design.factors
  const naming = panel ? [subject, panel] : [subject]
  const levelsOf = (factor: Factor) => found.levels[factor.name] ?? []
  const columns = levelsOf(across)
  const rows = levelsOf(subject).flatMap((level) => {
    const own = items.filter(({ at }) => at[subject.name] === level)
    return panel ? levelsOf(panel).map((one) => own.filter(({ at }) => at[panel.name] === one)) : [own]
  })
  return table(
    captionWith(design, found, caption),
    [...naming.map(({ title }) => text(title)), ...columns.map((level) => (across.label ?? String)(level))],
    rows.flatMap((row) => {
      const [first] = row
      if (!first) return []
      const cells = columns.map((level) => {
        const item = row.find(({ at }) => at[across.name] === level)
        return item ? cellOf(item) : nothing
      })
      return [[...naming.map((factor) => inColumn(factor, first.at)), ...cells]]
    }),
  )
}

/** Maximum number of ratio columns; with more, ratios are only in the table of comparisons. */
const maxRatios = 2

/** A row for each place. */
function figuresTable(design: Design, found: Analysis, measure: Measure): Table {
  const { factors, areMessages = true, isSubject = () => true } = design
  const [subject] = factors
  const { varied } = axesOf(design, found)
  const compared = found.comparisons.filter((row) => row.measure === measure.name && isSubject(row.baseline))
  const comparedAt = (row: FigureRow) =>
    compared.filter(({ at }) => factors.every(({ name }) => at[name] === row.at[name]))
  const rows = figuresIn(design, found, measure)
  const hasRatios = compared.length > 0 && rows.every((row) => comparedAt(row).length <= maxRatios)
  const ratioAt = (row: FigureRow) =>
    comparedAt(row)
      .map(({ ratio, ratioCi95, baseline }) => {
        const isUsual = baseline === String(found.baseline)
        return `${formatRatio(ratio, ratioCi95)}${isUsual ? '' : ` / ${(subject.label ?? String)(baseline)}`}`
      })
      .join('; ')
  return table(
    captionWith(design, found, `${measure.title} in ${measure.unit}`),
    [
      text(subject.title),
      ...varied.map(({ title }) => text(title)),
      'Mean ± sd',
      'Median',
      areMessages ? 'p95' : 'Range',
      ...(hasRatios ? ['Ratio'] : []),
      areMessages ? 'Received' : 'Samples',
    ],
    rows.map((row) => [
      row.at[subject.name] === found.baseline
        ? `${labelAt(subject, row.at)} (baseline)`
        : labelAt(subject, row.at),
      ...varied.map((factor) => inColumn(factor, row.at)),
      spread(row.mean, row.sd),
      row.p50,
      areMessages ? row.p95 : range([row.min ?? 0, row.max ?? 0]),
      ...(hasRatios ? [ratioAt(row) || nothing] : []),
      areMessages ? `${count(row.n)} of ${count(row.expected)}` : count(row.n),
    ]),
  )
}

/** A row for each place, a column for each measure. */
function measuresTable(design: Design, found: Analysis, measures: readonly Measure[]): Table {
  const { factors } = design
  const naming = namingOf(design, found)
  const names = measures.map(({ name }) => name)
  const by = measures.every((measure) => measure.by === 'mean') ? 'mean' : 'p50'
  const own = found.figures.filter(({ measure }) => names.includes(measure))
  const places = [
    ...Map.groupBy(own, ({ at }) => JSON.stringify(factors.map(({ name }) => at[name]))).values(),
  ]
  return table(
    `${by === 'mean' ? 'Means' : 'Medians'} over all sessions`,
    [...naming.map(({ title }) => text(title)), ...measures.map(({ title, unit }) => `${title}, ${unit}`)],
    places.map((rows) => [
      ...naming.map((factor) => inColumn(factor, rows[0]?.at ?? {})),
      ...measures.map(({ name }) => rows.find(({ measure }) => measure === name)?.[by]),
    ]),
  )
}

/** Sections of the measures that are not compared. */
function describedSections(design: Design, found: Analysis): readonly Section[] {
  const described = design.measures.filter(
    (measure) =>
      measure.isCompared === false && found.figures.some((row) => row.measure === measure.name && row.n > 0),
  )
  if (described.length === 0) return []
  return [{ title: 'Also measured', tables: [measuresTable(design, found, described)] }]
}

function comparisonSections(design: Design, found: Shown): readonly Section[] {
  const { factors, measures } = design
  const { comparisons, notCompared, sessions } = found
  const [subject] = factors
  const { varied } = axesOf(design, found)
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
          ...varied.map(({ title }) => text(title)),
          'Ratio',
          '95 % interval',
          'Difference',
          text('Verdict'),
          'p',
          'p corrected',
          'Sessions',
        ],
        own.map((one) => [
          `${labelAt(subject, one.at)} / ${(subject.label ?? String)(one.baseline)}`,
          ...varied.map((factor) => inColumn(factor, one.at)),
          one.ratio,
          one.ratioCi95 ? interval(one.ratioCi95) : nothing,
          formatRatio(one.difference, one.differenceCi95),
          verdictIn(measure, one),
          p(one.p),
          p(one.pCorrected),
          count(one.sessions.length),
        ]),
      ),
    ]
  })
  const how =
    sessions < 2
      ? 'One session gives no interval: how far sessions differ is unknown.'
      : 'Each session starts everything afresh and gives one ratio. Student’s t, two-sided, over the logarithms of the ratios; p is corrected for all comparisons of the run (Holm), each interval is for its comparison alone. Undecided: the corrected p is above 0.05, the interval contains 1, or the difference is within the clocks’ error.'
  const rows = found.figures.filter(({ measure }) => measure === measures[0].name)
  // Else the first measure's own figure shows where ratios differ.
  const isDrawn = varied.length === 0 && drawn.length > 0 && rows.length <= maxClouds
  const shown = isDrawn ? { figure: ratiosOf(design, measures[0], drawn) } : {}
  return [{ title, ...shown, tables, paragraphs: [how, ...formatEnd(design, found), ...missing] }]
}

/** Why the run ended when it did; empty if the number of sessions was fixed. */
function formatEnd(
  design: Design,
  { until, matters, stopped, comparisons, sessions }: Shown,
): readonly string[] {
  if (!until || !matters) return []
  const least = `${formatMatters(design, matters)}${matters.isPercent ? ' of what is compared with' : ''}`
  const alike = `A difference of less than ${least} does not matter; if the whole interval of the ratio is within it, the two are called alike.`
  const end =
    until === 'decided'
      ? `The run continued until every interval was at most that wide, for ${count(sessions)} sessions.`
      : `${stopped ? 'It was stopped' : 'The time limit ended it'} after ${count(sessions)} sessions; about ${count(sessionsNeeded(comparisons, sessions))} would have made every interval that narrow.`
  return [`${alike} ${end}`]
}

/** `faster` for less time. */
function verdictIn(measure: Measure, { verdict, difference, boundMs }: StudyComparison): string {
  if (verdict === 'undecided' && boundMs > 0 && Math.abs(difference) <= boundMs) return 'undecided (clock)'
  if (!isTime(measure)) return verdict
  return { lower: 'faster', higher: 'slower', alike: 'alike', undecided: 'undecided' }[verdict]
}

function echoSections(design: Design, found: Analysis): readonly Section[] {
  const { echoes } = found
  if (echoes.length === 0) return []
  const naming = namingOf(design, found)
  const tables = design.measures.map((measure) =>
    table(
      `${measure.title} to the window that sends, in ${measure.unit}`,
      [...naming.map(({ title }) => text(title)), 'Mean ± sd', 'Median', 'p95', 'Received', 'Expected'],
      echoes
        .filter((row) => row.measure === measure.name)
        .map((row) => [
          ...naming.map((factor) => inColumn(factor, row.at)),
          spread(row.mean, row.sd),
          row.p50,
          row.p95,
          count(row.n),
          count(row.expected),
        ]),
    ),
  )
  const what =
    'The server sends a message to the window that it came from, too, as the confirmation that it is stored. Every other figure of this report is of the other windows.'
  return [{ title: 'The sender’s own echo', tables, paragraphs: [what] }]
}

function everySection(design: Design, found: Analysis): Section {
  const { areMessages = true } = design
  const { sessions } = found
  const naming = namingOf(design, found)
  const names = naming.map(({ title }) => text(title))
  const labels = ({ at }: FigureRow) => naming.map((factor) => inColumn(factor, at))
  const numbered = Array.from({ length: sessions }, (_, index) => `Session ${index + 1}`)
  const tables = inFull(design, found).flatMap((measure) => {
    const own = figuresIn(design, found, measure)
    const all = table(
      `${measure.title} over all sessions, in ${measure.unit}`,
      [...names, 'Mean ± sd', 'Median', 'p95', 'p99', 'Max.', 'Received', 'Expected'],
      own.map((row) => [
        ...labels(row),
        spread(row.mean, row.sd),
        row.p50,
        row.p95,
        row.p99,
        row.max,
        count(row.n),
        count(row.expected),
      ]),
    )
    const by = measure.by === 'median' ? 'Median' : 'Mean'
    const each = table(
      areMessages
        ? `${by} in each session, in ${measure.unit}`
        : `${measure.title} in each session, in ${measure.unit}`,
      [...names, ...numbered],
      own.map((row) => [...labels(row), ...numbered.map((_, index) => row.sessions[index])]),
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

function costSections(design: Design, found: Analysis): readonly Section[] {
  const { costs } = found
  const [first] = costs
  if (!first) return []
  const naming = namingOf(design, found).filter(({ name }) => name in first.at)
  const isBusyKnown = first.machineBusy !== undefined
  const busy = ({ machineBusy = null }: (typeof costs)[number]) => machineBusy && 100 * machineBusy
  const hasFront = first.frontCpuMs !== undefined
  const columns = ['CPU, ms', 'CPU per message and window, µs', 'Memory']
  const ofFront = ['Front’s CPU, ms', 'Front’s CPU per message and window, µs']
  return [
    {
      title: 'Server use',
      tables: [
        table(
          'Processor time over all sessions, and the highest resident memory',
          [
            ...naming.map(({ title }) => text(title)),
            ...columns,
            ...(hasFront ? ofFront : []),
            ...(isBusyKnown ? ['Machine busy, %'] : []),
          ],
          costs.map((cost) => [
            ...naming.map((factor) => inColumn(factor, cost.at)),
            cost.serverCpuMs,
            cost.serverCpuMicrosPerSample,
            megabytes(cost.serverRssBytes),
            ...(hasFront ? [cost.frontCpuMs ?? null, cost.frontCpuMicrosPerSample ?? null] : []),
            ...(isBusyKnown ? [busy(cost)] : []),
          ]),
        ),
      ],
      paragraphs: [
        'Memory is that of the whole server process: a later turn can inherit what an earlier one used.',
      ],
    },
  ]
}
