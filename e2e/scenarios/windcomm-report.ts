// Report of a WindComm run: its sections, tables and what they find.

import { totals } from '../lab/samples.ts'
import { wireSections } from '../lab/wire-bytes.ts'
import {
  type Columns,
  capital,
  count,
  figure,
  formatRatio,
  interval,
  listed,
  lowered,
  nothing,
  packetsSection,
  probability,
  range,
  type Section,
  signed,
  spread,
  table,
  tableOf,
} from '../report/section.ts'
import { meansFigure } from './windcomm-figures.ts'
import {
  clocksSection,
  doubtsSection,
  lossyNetworks,
  machinesSection,
  networksSection,
} from './windcomm-method.ts'
import { baseline, cellLabel, formatMode, methodOf, modeOf, paperTests, span } from './windcomm-paper.ts'
import { siteSections } from './windcomm-sites.ts'
import {
  atSites,
  type CellSummary,
  type Check,
  formatPoints,
  formulaWithin,
  modelRuns,
  overSessions,
  ratioWithin,
  simulatedIn,
  type TestSummary,
  type WindRun,
  type WindSummary,
} from './windcomm-summary.ts'

export function sectionsOf(run: WindRun, summary: WindSummary): readonly Section[] {
  const [means, ...beside] = tableOneSections(summary)
  const cells = { ...cellsSection(summary) }
  const lossy = lossyNetworks(summary)
  return [
    ...(lossy.length > 0 ? [packetsSection(lossy)] : []),
    means ?? cells,
    checksSection(summary),
    ...beside,
    ...sessionsSections(summary),
    predictionsSection(summary),
    ...run.sites.flatMap((site) => siteSections(run, site)),
    ...(means ? [cells] : []),
    differencesSection(summary),
    ...wireSections(
      summary.bytes,
      'Counted at the simulated networks during the first session, where the windows are of a browser if any are: all that passed while the readings were measured, per reading. It includes every poll, and heartbeats and comparisons of clocks, of which each window has about four a minute. A mode for which a connection was opened meanwhile is left out.',
      [['Site', ({ site }) => capital(site)]],
    ),
    simulatedIn(summary.sites).length > 0 ? networksSection(summary) : machinesSection(summary),
    clocksSection(summary),
    doubtsSection(summary),
  ]
}

const outcomes: Readonly<Record<Check['outcome'], string>> = {
  holds: 'holds',
  weaker: 'only wider',
  fails: 'does NOT hold',
}

const pointColumns = [
  ['Point', ({ site, what }: Check) => (site === null ? what : `${capital(site)}: ${lowered(what)}`)],
  ['Verdict', ({ outcome }: Check) => outcomes[outcome], 'text'],
  ['Found', checkFound],
] as const

function checksSection({ checks, faster, sites }: WindSummary): Section {
  const scaled = `The run was ${faster} times as fast as requested (see its parameters): rate, hold, interval and the networks’ delays were scaled together. The few milliseconds of machine and browser were not scaled and weigh ${faster} times as much, so this run does not replace one at full length.`
  const of = (wanted: Check['kind']) => checks.filter(({ kind }) => kind === wanted)
  const points = tableOf<Check>(
    formatPoints(checks),
    [
      ...pointColumns,
      ['Paper', ({ wanted }) => wanted, 'text'],
      ['Wider bound', ({ wider }) => wider ?? nothing, 'text'],
    ],
    of('paper'),
  )
  const conditions = tableOf<Check>(
    'Conditions of a valid run, which are not points of the paper',
    [
      ['Condition', ({ what }) => what],
      ['Met', ({ outcome }) => (outcome === 'holds' ? 'yes' : 'NO'), 'text'],
      ['Found', checkFound],
      ['Wanted', ({ wanted }) => wanted, 'text'],
    ],
    of('condition'),
  )
  const tables = [points, conditions].filter(({ rows }) => rows.length > 0)
  if (simulatedIn(sites).length === 0)
    return {
      title: 'Is the run valid?',
      tables,
      paragraphs: [
        'The methods are those of Pimentel and Nickerson (IEEE Internet Computing 16(4), 2012), here all at once over the same readings. These are not the paper’s machines, so its figures are not points to meet; its formulas are below.',
      ],
    }
  return {
    title: 'Does the paper hold here?',
    tables,
    paragraphs: [
      ...(faster === 1 ? [] : [scaled]),
      `A ratio holds if it is, to two decimals, within the range of the paper’s own tests at that place. The formula holds if polling is no further from it than the paper’s own tests there were, and at most ${100 * formulaWithin} %. What only meets the wider bound, ${100 * ratioWithin} % beyond the paper’s range or ${100 * formulaWithin} % from the formula, does not count as holding.`,
      'The experiment is that of Pimentel and Nickerson (IEEE Internet Computing 16(4), 2012): a wind sensor’s readings, timed one way from the server to distant windows, over WebSocket, long polling and polling. There the methods ran one after the other; here all ran at once over the same readings and the same course of the network.',
    ],
  }
}

function checkFound({ found, unit }: Check): string {
  return found === null ? nothing : checkFormats[unit](found)
}

const checkFormats: Readonly<Record<Check['unit'], (found: number) => string>> = {
  '%': (found) => `${signed(found)} %`,
  readings: count,
  times: figure,
  ms: (found) => `${figure(found)} ms`,
}

/** Empty if there is one. */
function sessionsSections({ cells, sessions }: WindSummary): readonly Section[] {
  if (sessions < 2) return []
  const papers = ({ site, mode }: CellSummary, name: 'meanMs' | 'sdMs' | 'ratio') => {
    const method = methodOf(mode)
    const values = method ? paperTests(site, method).map((test) => test[name]) : []
    return values.length === 0 ? nothing : range(values)
  }
  return [
    {
      title: 'Session by session, beside the paper',
      tables: [
        tableOf<CellSummary>(
          'Geometric mean of the sessions with its 95 % interval, and the range of the paper’s three tests; in milliseconds, and the ratio to WebSocket’s mean',
          [
            ['Site, method', ({ site, mode }) => cellLabel(site, mode)],
            ['Mean', ({ sessions }) => overSessions(sessions.map(({ meanMs }) => meanMs))],
            ['Paper', (cell) => papers(cell, 'meanMs')],
            ['Standard deviation', ({ sessions }) => overSessions(sessions.map(({ sdMs }) => sdMs))],
            ['Paper', (cell) => papers(cell, 'sdMs')],
            ['Ratio', (cell) => formatRatio(cell.ratioToWebsocket, cell.ratioToWebsocketCi95)],
            ['Paper', (cell) => papers(cell, 'ratio')],
          ],
          cells,
        ),
        table(
          'Mean ± standard deviation in each session, in milliseconds',
          ['Site, method', ...Array.from({ length: sessions }, (_, place) => `Session ${place + 1}`)],
          cells.map((cell) => [
            cellLabel(cell.site, cell.mode),
            ...cell.sessions.map(({ meanMs, sdMs }) => spread(meanMs, sdMs)),
          ]),
        ),
      ],
      paragraphs: ['Each session has its own server, windows, queues, stalls and losses.'],
    },
  ]
}

/** Empty without one of the paper's sites. */
function tableOneSections({ cells, faster }: WindSummary): readonly Section[] {
  const rows = cells.flatMap((cell) => {
    const { site, mode, meanMs, ratioToWebsocket, ratioToWebsocketCi95 } = cell
    const method = methodOf(mode)
    const tests = method ? paperTests(site, method) : []
    if (tests.length === 0) return []
    const ratios = tests.map(({ ratio }) => ratio)
    const papers = span(ratios).replace(' to ', '–')
    return {
      label: cellLabel(site, mode),
      note: ratioToWebsocketCi95 ? `${ratioToWebsocket?.toFixed(2)} × (${papers})` : '',
      measured: meanMs === null ? null : meanMs * faster,
      others: tests.map((test) => test.meanMs),
      ratios: mode === baseline ? nothing : ratios.map((ratio) => ratio.toFixed(2)).join(', '),
      cell,
      tests,
    }
  })
  if (rows.length === 0) return []
  type Row = (typeof rows)[number]
  // With at least one decimal.
  const digits = (value = 0) => (Number.isInteger(value) ? value.toFixed(1) : String(value))
  const printed = (test: Row['tests'][number] | undefined) =>
    `${digits(test?.meanMs)} ± ${digits(test?.sdMs)}`
  const meansTable = tableOf<Row>(
    'Mean ± standard deviation in milliseconds, and the ratio to WebSocket’s mean',
    [
      ['Site, method', ({ label }) => label],
      ['Here', ({ cell }) => spread(cell.meanMs, cell.sdMs)],
      ['Ratio', ({ cell }) => cell.ratioToWebsocket],
      ['Paper, 1st', ({ tests }) => printed(tests[0])],
      ['2nd', ({ tests }) => printed(tests[1])],
      ['3rd', ({ tests }) => printed(tests[2])],
      ['Ratios', ({ ratios }) => ratios],
    ],
    rows,
  )
  return [
    {
      title: 'Mean times, here and in the paper',
      tables: [meansTable],
      paragraphs: [
        'The cities are simulated: each is a network on this machine, set so that WebSocket’s mean is that of the paper’s three tests there; the other two methods’ means follow. That WebSocket agrees is not a finding. A network that loses packets has no stalls, and agrees only if its loss fits.',
        'The paper’s columns are its tests in the order of its table, n = 1,200 each.',
      ],
    },
    {
      title: 'Table 1, side by side',
      figure: {
        caption: `Means in milliseconds (logarithmic). Filled: this run; hollow: the paper’s three tests. After the name: ratio to WebSocket’s mean, here and in the paper.${faster === 1 ? '' : ` This run’s means are taken ${faster} times.`}`,
        description: rows.map(({ label, note }) => `${label}: ${note}`).join('; '),
        draw: (width) => meansFigure(rows, width),
      },
    },
  ]
}

function predictionsSection(summary: WindSummary): Section {
  const { predictions, rateHz, intervalMs, sites } = summary
  const isModelled = simulatedIn(sites).length > 0
  const rows = predictions.flatMap(({ site, methods }) =>
    methods.map(({ method, measuredMs, formulaMs, formulaWorstMs, deviation, ...models }) => ({
      label: cellLabel(site, modeOf[method]),
      measured: measuredMs,
      // WebSocket's mean is the formulas' ν.
      formula: modeOf[method] === baseline ? null : formulaMs,
      // Polling's would compress the axis.
      worst: modeOf[method] === modeOf['long-polling'] ? formulaWorstMs : null,
      ...(models.model && { range: models.model.rangeMs }),
      deviation,
      ...models,
    })),
  )
  return {
    title: 'Expected and measured',
    figure: {
      caption: `Means in milliseconds (logarithmic). Dot: measured. Solid vertical line: the paper’s formula, with ν the measured mean of WebSocket; dotted: its worst case for long polling.${isModelled ? ` Box: the means of ${modelRuns} runs of the model.` : ''}`,
      description: rows
        .map(
          ({ label, measured, formula, model }) =>
            `${label}: measured ${figure(measured)}, formula ${figure(formula)}${model ? `, model ${figure(model.meanMs)}` : ''} ms`,
        )
        .join('; '),
      draw: (width) => meansFigure(rows, width),
    },
    tables: [
      tableOf<(typeof rows)[number]>(
        'Means, in milliseconds',
        [
          ['Site, method', ({ label }) => label],
          ['Measured', ({ measured }) => measured],
          ['Formula', ({ formula }) => formula],
          ['Deviation', ({ deviation }) => (deviation === null ? nothing : `${signed(100 * deviation)} %`)],
          ...(isModelled
            ? ([
                ['Model', ({ model }) => model?.meanMs],
                ['Least to most', ({ range }) => (range ? interval(range) : nothing)],
                ['Without stalls', ({ modelWithoutStalls }) => modelWithoutStalls?.meanMs],
              ] satisfies Columns<(typeof rows)[number]>)
            : []),
        ],
        rows,
      ),
    ],
    paragraphs: [
      `ν is WebSocket’s mean at the site; M = ${figure(1000 / rateHz)} ms from reading to reading; Δ = ${intervalMs} ms from a response to the next request. Polling: 2ν + Δ/2. Long polling: ν while ν < M/2 = ${figure(500 / rateHz)} ms, beyond that 3ν/2 expected and 2ν at worst.`,
      'Below M/2 a request is usually back before the next reading. Above it, readings wait for requests, and long polling is polling without a pause: 2ν, and 3ν for a reading that has just missed a request.',
      ...formatPolling(summary),
      isModelled
        ? `The model sends this run’s readings over the site’s profile without a machine, ${modelRuns} times with different queues and stalls. Differences between its means and the measured ones are due to chance, the machine, the server, TLS and the browser.`
        : 'Differences between the formulas and the measured means are due to chance, to clocks that are off, and to machines, server, TLS and browsers, which take a time of their own.',
    ],
  }
}

/** The paper's condition for polling, where it holds, beside what was measured; empty where it holds nowhere. */
function formatPolling({ predictions, cells, rateHz, intervalMs }: WindSummary): readonly string[] {
  const betweenReadingsMs = 1000 / rateHz
  const found = predictions.flatMap(({ site, pollReturnsMs }) => {
    const cell = cells.find((one) => one.site === site && one.mode === modeOf.polling)
    if (pollReturnsMs === null || pollReturnsMs >= betweenReadingsMs || !cell) return []
    const paper = paperTests(site, 'polling').map(({ ratio }) => ratio)
    const own = paper.length === 0 ? '' : `, in the paper’s own table ${range(paper)} times`
    return [
      `${atSites([site])} it was ${figure(pollReturnsMs)} ms, and polling took ${figure(cell.ratioToWebsocket)} times WebSocket’s mean${own}`,
    ]
  })
  if (found.length === 0) return []
  return [
    `The paper expects polling to do as well as WebSocket while 2ν + Δ < M. That does not follow from its formula, and is not so: M is ${figure(betweenReadingsMs)} ms, Δ ${intervalMs} ms; ${listed(found)}.`,
  ]
}

/** For the terminal. */
export const cellsTable = ({ cells }: WindSummary) =>
  tableOf<CellSummary>(
    'One way, in milliseconds',
    [
      ['Site', ({ site }) => capital(site)],
      ['Mode', ({ mode }) => mode, 'text'],
      ['Received', ({ n, expected }) => `${count(n)} of ${count(expected)}`],
      ['Mean ± sd', ({ meanMs, sdMs }) => spread(meanMs, sdMs)],
      ['Median', ({ medianMs }) => medianMs],
      ['p99', ({ p99Ms }) => p99Ms],
      ['Ratio', ({ ratioToWebsocket }) => ratioToWebsocket],
    ],
    cells,
  )

export const pointsTable = ({ checks }: WindSummary) =>
  tableOf<Check>(
    'Conditions, and points of the paper',
    [...pointColumns, ['Wanted', ({ wanted }) => wanted]],
    checks,
  )

function cellsSection({ cells, readings, sessions }: WindSummary): Section {
  const { expected, lost, duplicated, reordered } = totals(cells)
  const ratio = ({ ratioToWebsocket, ratioToWebsocketCi95: ci }: CellSummary) =>
    `${figure(ratioToWebsocket)}${ci ? ` (${interval(ci).replace(' to ', '–')})` : ''}`
  return {
    title: 'Every method at every site',
    tables: [
      tableOf<CellSummary>(
        `One way, in milliseconds; ${count(readings)} readings for each`,
        [
          ['Site, method', ({ site, mode }) => cellLabel(site, mode)],
          ['Mean ± sd', ({ meanMs, sdMs }) => spread(meanMs, sdMs)],
          ['Ratio, 95 %', ratio],
          ['Median', ({ medianMs }) => medianMs],
          ['p95', ({ p95Ms }) => p95Ms],
          ['p99', ({ p99Ms }) => p99Ms],
          ['Max.', ({ maxMs }) => maxMs],
          ['Received', ({ n }) => count(n)],
          [
            'Lost, dup., reord.',
            (cell) => [cell.lost, cell.duplicated, cell.reordered].map(count).join(', '),
          ],
          ['Worth', ({ effectiveN }) => (effectiveN === null ? nothing : count(effectiveN))],
        ],
        cells,
      ),
    ],
    paragraphs: [
      `Of ${count(expected)} readings at all windows ${count(lost)} were lost, ${count(duplicated)} duplicated and ${count(reordered)} reordered.`,
      `Ratio: the mean over WebSocket’s at that site, over the readings that both received; its interval is ${sessions > 1 ? 'over sessions' : 'by the delta method on correlated pairs'}. Worth: the number of independent readings that would estimate the mean as precisely.`,
    ],
  }
}

function differencesSection({ tests, cells }: WindSummary): Section {
  const title = 'Which differences stand'
  if (tests.length === 0) return { title, paragraphs: ['Nothing was compared.'] }
  const worth = cells.flatMap(({ effectiveN, n }) => (effectiveN === null ? [] : [(100 * effectiveN) / n]))
  const isPapers = ({ welch }: TestSummary) => welch.pCorrected === null
  const tables = [
    testsTable(tests.filter(isPapers), 'The paper’s tests', 'p'),
    testsTable(
      tests.filter((test) => !isPapers(test)),
      'What the paper could not have',
      'p, Holm',
    ),
  ]
  return {
    title,
    tables: tables.filter(({ rows }) => rows.length > 0),
    paragraphs: [
      'Welch’s t-test at 99 %, two-sided, as in the paper, treats readings as independent. They are not: consecutive readings wait in the same queue and the same stall. “Correlated” uses the differences reading by reading, so that network effects on both cancel, and counts them by their effective number: n times their variance over their long-run variance, by a flat-top lag window (Politis and White, Econometric Reviews 23, 2004).',
      `By the same measure the readings of a cell are worth ${figure(Math.min(...worth))} to ${figure(Math.max(...worth))} % of their number.`,
      'As in the paper, its tests are not corrected for their number; the others are, by Holm. A difference stands if both methods find it and it is larger than the difference between the two windows’ clocks may be; clients at one site share a clock, so its error cancels.',
    ],
  }
}

const testsTable = (tests: readonly TestSummary[], caption: string, p: string) =>
  tableOf<TestSummary>(
    `${caption}: differences of the means in milliseconds, intervals at 99 %`,
    [
      [
        'Site, first − second',
        ({ site, mode, against }) => `${cellLabel(site, mode)} − ${formatMode(against)}`,
      ],
      ['Difference', ({ differenceMs }) => signed(differenceMs)],
      [
        'Verdict',
        ({ verdict, doubt }) => (doubt ? `open: ${doubt.replace('neighbours', 'correlated')}` : verdict),
        'text',
      ],
      ['Welch', ({ welch }) => interval(welch.ci99Ms)],
      [p, ({ welch }) => probability(welch.pCorrected ?? welch.p)],
      ['Correlated', ({ paired }) => interval(paired.ci99Ms)],
      ['Worth', ({ paired }) => count(paired.effectiveReadings)],
    ],
    tests,
  )
