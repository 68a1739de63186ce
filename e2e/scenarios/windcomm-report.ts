// Report of a WindComm run: its sections, figures and tables.

import * as Plot from '@observablehq/plot'
import { paperBoundMs } from '../lab/clock.ts'
import { labelOf } from '../lab/mode-names.ts'
import { hasArrived, totals } from '../lab/samples.ts'
import { median } from '../lab/statistics.ts'
import { describePackets } from '../lab/testbed.ts'
import {
  asOnePath,
  cumulative,
  distribution,
  inRows,
  panelName,
  rowName,
  svg,
  timeAxis,
} from '../report/charts.ts'
import { lineColour } from '../report/figure-file.ts'
import {
  count,
  figure,
  interval,
  nothing,
  packetsSection,
  probability,
  range,
  ratioWords,
  type Section,
  signed,
  spread,
  type Table,
  table,
  text,
} from '../report/section.ts'
import {
  baseline,
  capital,
  lowered,
  methodOf,
  methodWords,
  modeOf,
  paperTests,
  span,
} from './windcomm-paper.ts'
import {
  type CellSummary,
  type Check,
  cellOf,
  formulaWithin,
  latencyMs,
  modelRuns,
  overSessions,
  pointsWords,
  ratioWithin,
  type TestSummary,
  type WindRun,
  type WindSummary,
} from './windcomm-summary.ts'
import type { LinkUse, Site, WindSample } from './windcomm-testbed.ts'

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
    networksSection(summary),
    clocksSection(summary),
    doubtsSection(summary),
  ]
}

/** The paper's word for its methods, otherwise the mode's label. */
function modeWords(mode: string): string {
  const method = methodOf(mode)
  return method ? methodWords[method] : labelOf(mode)
}

function cellLabel(site: string, mode: string): string {
  return `${capital(site)}, ${modeWords(mode)}`
}

/** Titles with their cells, as in a CSV table; the first column is text. */
function tableOf<Item>(
  caption: string,
  columns: readonly (readonly [
    title: string,
    cell: (item: Item) => string | number | null | undefined,
    kind?: 'text',
  ])[],
  items: readonly Item[],
): Table {
  const titles = columns.map(([title, , kind]) => (kind ? text(title) : title))
  return table(
    caption,
    titles,
    items.map((item) => columns.map(([, cell]) => cell(item))),
  )
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

function checksSection({ checks, faster }: WindSummary): Section {
  const scaled = `The run was ${faster} times as fast as requested (see its parameters): rate, hold, interval and the networks’ delays were scaled together. The few milliseconds of machine and browser were not scaled and weigh ${faster} times as much, so this run does not replace one at full length.`
  const of = (wanted: Check['kind']) => checks.filter(({ kind }) => kind === wanted)
  const points = tableOf<Check>(
    pointsWords(checks),
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
  return {
    title: 'Does the paper hold here?',
    tables: [points, conditions].filter(({ rows }) => rows.length > 0),
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
            ['Ratio', (cell) => ratioWords(cell.ratioToWebsocket, cell.ratioToWebsocketCi95)],
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

function predictionsSection({ predictions, rateHz, intervalMs }: WindSummary): Section {
  const rows = predictions.flatMap(({ site, methods }) =>
    methods.map(({ method, measuredMs, formulaMs, formulaWorstMs, deviation, ...models }) => ({
      label: cellLabel(site, modeOf[method]),
      measured: measuredMs,
      // WebSocket's mean is the formulas' ν.
      formula: modeOf[method] === baseline ? null : formulaMs,
      // Polling's would compress the axis.
      worst: modeOf[method] === modeOf['long-polling'] ? formulaWorstMs : null,
      range: models.model.rangeMs,
      deviation,
      ...models,
    })),
  )
  return {
    title: 'Expected and measured',
    figure: {
      caption: `Means in milliseconds (logarithmic). Dot: measured. Solid vertical line: the paper’s formula, with ν the measured mean of WebSocket; dotted: its worst case for long polling. Box: the means of ${modelRuns} runs of the model.`,
      description: rows
        .map(
          ({ label, measured, formula, model }) =>
            `${label}: measured ${figure(measured)}, formula ${figure(formula)}, model ${figure(model.meanMs)} ms`,
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
          ['Model', ({ model }) => model.meanMs],
          ['Least to most', ({ range }) => interval(range)],
          ['Without stalls', ({ modelWithoutStalls }) => modelWithoutStalls.meanMs],
        ],
        rows,
      ),
    ],
    paragraphs: [
      `ν is WebSocket’s mean at the site; M = ${figure(1000 / rateHz)} ms from reading to reading; Δ = ${intervalMs} ms from a response to the next request. Polling: 2ν + Δ/2. Long polling: ν while ν < M/2 = ${figure(500 / rateHz)} ms, beyond that 3ν/2 expected and 2ν at worst.`,
      'Below M/2 a request is usually back before the next reading. Above it, readings wait for requests, and long polling is polling without a pause: 2ν, and 3ν for a reading that has just missed a request.',
      `The model sends this run’s readings over the site’s profile without a machine, ${modelRuns} times with different queues and stalls. Differences between its means and the measured ones are due to chance, the machine, the server, TLS and the browser.`,
    ],
  }
}

function siteSections(run: WindRun, { name, windows }: Site): readonly Section[] {
  const cells = run.modes.map((mode) => ({
    mode,
    label: capital(modeWords(mode)),
    colour: methodOf(mode) ? 'var(--accent)' : 'var(--peer)',
    samples: cellOf(run, name, mode).filter(hasArrived),
  }))
  const place = capital(name)
  if (cells.every(({ samples }) => samples.length === 0))
    return [{ title: place, paragraphs: ['Nothing arrived: there is nothing to draw.'] }]
  const startMs = run.readings[0]?.acceptedAt ?? 0
  const secondsAt = (ms: number) => (ms - startMs) / 1000
  const rows = cells.map(({ label, colour, samples }) => ({
    label,
    colour,
    values: samples.map((sample) => ({
      ms: latencyMs(sample),
      atSeconds: secondsAt(sample.acceptedAt),
      key: sample.place,
      block: 1,
    })),
  }))
  const curves = rows.map((row, order) => ({
    ...row,
    colour: lineColour(order),
    isDashed: false,
    expected: run.readings.length,
  }))
  const stalls = stallsIn(cells.find(({ mode }) => mode === baseline)?.samples ?? [], secondsAt)
  const shaded =
    stalls.length === 0
      ? `WebSocket never took ${stalledTimes} times its median.`
      : `Shaded: WebSocket took more than ${stalledTimes} times its median, ${stalls.length === 1 ? 'once' : `${stalls.length} times`}. There the way down stalled, or this machine, and every method is late. If only the polling methods are late, it was the way up.`
  return [
    {
      title: `${place}: how the times spread`,
      figure: {
        caption: `One way, in milliseconds (logarithmic), to ${windows === 'browser' ? 'windows of a real browser' : 'clients without a browser'}. A dot is one reading; its height only separates it from others. Below: the middle half (thick), the 5th to the 95th percentile (thin) and the median.`,
        description: `Distribution of latencies at ${place} for ${rows.map(({ label }) => label).join('; ')}. The table of all cells gives the same in figures.`,
        draw: (width) => distribution(rows, width),
      },
      figures: [
        {
          caption: `How many of all readings had arrived within a time, in milliseconds (logarithmic). A line crosses 50 % at its median. A steep line is a method that takes about as long each time; polling’s is slanted, as a reading waits for the next request. Where two cross, neither is faster for all readings.${curves.some(({ values, expected }) => values.length < expected) ? ' A line that ends below 100 % lost the rest.' : ''}`,
          description: `Cumulative distribution of latencies at ${place} for ${rows.map(({ label }) => label).join('; ')}.`,
          draw: (width) => cumulative(curves, width),
        },
      ],
    },
    {
      title: `${place}: all methods through the same minutes`,
      figure: {
        caption: `One way, in milliseconds (logarithmic), by the time at which the server had the reading. ${shaded}`,
        description: `Latency of each reading at ${place} over the run; ${stalls.length} stalls of the way down.`,
        draw: (width) => courseFigure(rows, stalls, width),
      },
    },
  ]
}

/** Multiple of WebSocket's median above which a reading counts as stalled. */
const stalledTimes = 2

/** From the first delayed reading to the last one's arrival. */
function stallsIn(
  samples: readonly (WindSample & { readonly receivedAt: number })[],
  secondsAt: (ms: number) => number,
): readonly Stretch[] {
  if (samples.length === 0) return []
  const most = stalledTimes * median(samples.map(latencyMs))
  const stalls: [number, number][] = []
  let wasStalled = false
  for (const sample of samples) {
    const isStalled = latencyMs(sample) > most
    const last = stalls.at(-1)
    const [from, to] = [secondsAt(sample.acceptedAt), secondsAt(sample.receivedAt)]
    if (isStalled && wasStalled && last) last[1] = Math.max(last[1], to)
    else if (isStalled) stalls.push([from, to])
    wasStalled = isStalled
  }
  return stalls
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
        ({ site, mode, against }) => `${cellLabel(site, mode)} − ${modeWords(against)}`,
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

/** What those that lose packets did, over all methods. */
const lossyNetworks = ({ sites, links, modes }: WindSummary) =>
  sites.flatMap(({ name, profile: { loss } }) => {
    if (!loss) return []
    const uses = links.filter(({ site }) => site === name).flatMap(({ packets }) => packets ?? [])
    // A site has one seed.
    return [{ name: capital(name), ...describePackets(loss, uses, 'cubic', modes.length) }]
  })

const packetWords =
  'A network with loss carries IP packets: the server is on a host of its own, in a network namespace, and each method at each site reaches it over a path of its own. Both hosts’ TCP is Linux’s, with CUBIC; --faster does not scale its timeouts. The model of the methods knows no loss.'

function networksSection(summary: WindSummary): Section {
  const { sites, links } = summary
  const ways = sites.flatMap(({ profile, ...site }) =>
    (['down', 'up'] as const).map((way) => ({ ...site, way, profile, ...profile[way] })),
  )
  const kilobytes = (bytes: number) => count(Math.round(bytes / 1000))
  return {
    title: 'The networks',
    tables: [
      tableOf<(typeof ways)[number]>(
        'Profiles as run, each direction; milliseconds',
        [
          ['Site', ({ name }) => capital(name)],
          ['Way', ({ way }) => way, 'text'],
          ['Floor', ({ floorMs }) => floorMs],
          ['Queue, mean', ({ queueMeanMs }) => queueMeanMs],
          ['Queue, sd', ({ queueSdMs }) => queueSdMs],
          ['Correlation', ({ correlationMs }) => correlationMs],
          ['Stalls a minute', ({ stalls }) => (stalls ? figure(60 * stalls.perSecond) : nothing)],
          ['Stall', ({ stalls }) => (stalls ? interval([stalls.leastMs, stalls.mostMs]) : nothing)],
          ['kbit/s', ({ profile: { kilobitsPerSecond: rate } }) => (rate === null ? nothing : count(rate))],
          ['Seed', ({ seed }) => String(seed)],
          ['Windows', ({ windows }) => (windows === 'browser' ? 'browser' : 'clients'), 'text'],
        ],
        ways,
      ),
      tableOf<LinkUse>(
        'Links, from their start to the end of the run; late in milliseconds',
        [
          [
            'Site, method',
            ({ site, mode, session }) => cellLabel(site, mode) + (session ? `, session ${session}` : ''),
          ],
          ['Connections', ({ opened }) => (opened === null ? nothing : count(opened))],
          ['Up, kB', ({ upBytes }) => kilobytes(upBytes)],
          ['Down, kB', ({ downBytes }) => kilobytes(downBytes)],
          ['Late, counting', ({ lateMs }) => lateMs],
          ['Down, mean', ({ down }) => down.meanMs],
          ['p99', ({ down }) => down.p99Ms],
          ['Max.', ({ down }) => down.maxMs],
          ['Up, mean', ({ up }) => up.meanMs],
          ['p99', ({ up }) => up.p99Ms],
          ['Max.', ({ up }) => up.maxMs],
        ],
        links,
      ),
    ],
    paragraphs: [
      'Each method at each site has its own link: a relay on this machine that delays every byte in each direction, in order, including handshakes. No two methods share a connection or a queue; one seed per site gives all of them the same course of queues and stalls.',
      'A queue is log-normal and correlated over the given time; a stall is a burst of loss that TCP waits out: what enters during it leaves at its end, in order. Late is the link’s own error: when it released something minus when it was due. “Counting” is the mean of both directions while readings counted; the other figures include the opening of the windows.',
      ...(lossyNetworks(summary).length > 0 ? [packetWords] : []),
      ...sites.map(({ name, profile }) => `${capital(name)}: ${profile.source}`),
    ],
  }
}

function clocksSection({ clock }: WindSummary): Section {
  type Clock = (typeof clock.before)[number]
  const afterOf = ({ name }: Clock) => clock.after.find((one) => one.name === name)
  const exchanged = (one: Clock | undefined) =>
    one ? `${signed(one.offsetMs)} ± ${figure(one.boundMs)}` : nothing
  return {
    title: 'Clocks',
    tables: [
      tableOf<Clock>(
        'Clocks against the server’s, in milliseconds',
        [
          ['Clock', ({ name }) => name],
          ['Before, by exchanges', exchanged],
          ['Off at most', ({ errorMs }) => errorMs],
          ['After, by exchanges', (before) => exchanged(afterOf(before))],
          ['Off at most', (before) => afterOf(before)?.errorMs],
        ],
        clock.before,
      ),
    ],
    paragraphs: [
      `One machine has one clock, and nothing was added to any stamp. Before and after, this process was compared with the server by exchanges over an undelayed path, and each page with this process by the machine’s clock. No stamp is off by more than ${figure(clock.largestErrorMs)} ms; above ${paperBoundMs} ms a run is rejected, as in the paper.`,
    ],
  }
}

export function method({ cells, warmUpReadings, readings, serverCpuMs, serialLine }: WindSummary) {
  return [
    'A latency runs from the server’s stamp when it accepts the reading (acceptedAt) to the moment at which a window has the bytes, before it parses them: the paper’s t4 − t0. It includes the time in which the log stores the reading.',
    `A real sensor’s serial line takes additional time before that, about 23 ms for 22 bytes at 9,600 baud, the same for every method. The simulated sensor’s frames took ${figure(serialLine.meanMs)} ms on average (p99 ${figure(serialLine.p99Ms)}) from their first byte until the server had the reading. Neither is part of a latency.`,
    `${count(warmUpReadings)} readings were excluded after every window was open and had one; the next ${count(readings)} count, the same for every window, by their ids in the log. Windows are real Chromium’s, which process the wind without drawing it, or clients in Node: the web app’s own link over the same transports.`,
    'The paper’s methods run over HTTP/1.1, as in 2012, each window with its own connections; the others over HTTP/2. Everything uses TLS, which the paper did not: it costs no round trip once a connection is established. The paper’s Δ also had to cover parsing and display.',
    `The server used ${figure(serverCpuMs / 1000)} s of processor time for ${count(readings * cells.length)} deliveries.`,
  ]
}

function doubtsSection(summary: WindSummary): Section {
  const { clock, drifts, cells, readings } = summary
  const drifted = drifts.filter(({ pCorrected }) => pCorrected <= 0.01)
  const drift = ({ site, mode, differenceMs, ci99Ms }: (typeof drifts)[number]) =>
    `${cellLabel(site, mode)} ${signed(differenceMs)} ms (${interval(ci99Ms)})`
  const trend = `from the first to the last third of the readings, at 99 %, corrected for ${drifts.length} cells`
  const worth = cells.flatMap(({ effectiveN }) => effectiveN ?? [])
  const { lost } = totals(cells)
  const all = count(readings * cells.length)
  return {
    title: 'Doubts',
    paragraphs: [
      lossyNetworks(summary).length > 0
        ? 'Simulation: no packet left this machine.'
        : 'Simulation: no packet left this machine. The links delay bytes in order; slow start, congestion windows, acknowledgements and the loss of single packets are not modelled, and a burst of loss is a stall of the whole path.',
      `Clock: no stamp is off by more than ${figure(clock.largestErrorMs)} ms; a difference that two windows’ clocks could cause is left open.`,
      drifts.length === 0
        ? 'Drift: too few readings arrived to look for a trend.'
        : `Drift: ${drifted.length === 0 ? `none was found ${trend}` : `${trend}, the mean changed: ${drifted.map(drift).join('; ')}`}. All methods ran at once, so a trend of network or machine affects all of them.`,
      worth.length === 0
        ? 'Dependence: nothing arrived.'
        : `Dependence: consecutive readings resemble each other; the ${count(readings)} readings of a cell are worth ${count(Math.min(...worth))} to ${count(Math.max(...worth))} independent ones. ${summary.sessions > 1 ? 'The intervals of ratios are over sessions.' : 'This is one session: another would draw other stalls, and its means may differ by more than these intervals say.'}`,
      lost === 0
        ? `Lost: none of ${all} deliveries was.`
        : `Lost: ${count(lost)} of ${all} deliveries were, and are in no mean; if the slow ones were lost, the means are too low.`,
    ],
  }
}

interface MeanRow {
  readonly label: string
  readonly note?: string
  /** Filled dot, ms; null without arrivals. */
  readonly measured: number | null
  /** Hollow dots. */
  readonly others?: readonly number[]
  /** Solid and dotted vertical line. */
  readonly formula?: number | null
  readonly worst?: number | null
  /** Box from the smallest to the largest. */
  readonly range?: readonly [number, number]
}

function meansFigure(rows: readonly MeanRow[], width: number): string {
  const half = 0.16
  const placed = rows.map((row, place) => ({ ...row, y: place + 0.7 }))
  const pointsOf = (pick: (row: MeanRow) => readonly (number | null | undefined)[]) =>
    placed.flatMap((row) =>
      pick(row)
        .filter((ms) => ms != null)
        .map((ms) => ({ ms, y: row.y, from: row.y - half, to: row.y + half })),
    )
  const drawn = pointsOf(({ measured, others = [], formula, worst, range = [] }) => {
    return [measured, ...others, formula, worst, ...range]
  })
  const upright = { x1: 'ms', x2: 'ms', y1: 'from', y2: 'to', stroke: 'var(--ink)', strokeWidth: 2 } as const
  const dot = { x: 'ms', y: 'y', r: 5 } as const
  return svg({
    width,
    ...inRows(rows.length, 44),
    x: { ...timeAxis(drawn.map(({ ms }) => ms)), grid: true, label: 'ms', labelAnchor: 'right' },
    marks: [
      Plot.rect(
        placed.filter(({ range }) => range),
        {
          x1: ({ range }) => range?.[0],
          x2: ({ range }) => range?.[1],
          y1: ({ y }) => y - half,
          y2: ({ y }) => y + half,
          fill: 'var(--shade)',
          stroke: 'var(--soft)',
          strokeWidth: 0.6,
        },
      ),
      Plot.link(
        pointsOf(({ formula }) => [formula]),
        upright,
      ),
      Plot.link(
        pointsOf(({ worst }) => [worst]),
        { ...upright, strokeDasharray: '2 3' },
      ),
      Plot.dot(
        pointsOf(({ others = [] }) => others),
        { ...dot, fill: 'var(--paper)', stroke: 'var(--peer)', strokeWidth: 1.8 },
      ),
      Plot.dot(
        pointsOf(({ measured }) => [measured]),
        { ...dot, fill: 'var(--accent)', stroke: 'var(--paper)', strokeWidth: 1 },
      ),
      Plot.text(placed, {
        y: ({ y }) => y - 0.4,
        text: ({ label, note = '' }) => `${label}   ${note}`.trimEnd(),
        ...rowName,
      }),
    ],
  })
}

interface CourseRow {
  readonly label: string
  readonly colour: string
  readonly values: readonly { readonly atSeconds: number; readonly ms: number }[]
}

type Stretch = readonly [fromSeconds: number, toSeconds: number]

/** One panel per mode, with the downstream stalls shaded. */
function courseFigure(rows: readonly CourseRow[], stalls: readonly Stretch[], width: number): string {
  const isNarrow = width < 500
  const labels = rows.map(({ label }) => ({ label }))
  const axis = timeAxis(rows.flatMap(({ values }) => values.map(({ ms }) => ms)))
  const lengthSeconds = Math.max(0, ...rows.map(({ values }) => values.at(-1)?.atSeconds ?? 0))
  const shaded = stalls.map((stall) => visible(stall, lengthSeconds / width))
  const shades = labels.flatMap(({ label }) => shaded.map(([from, to]) => ({ label, from, to })))
  return svg({
    width,
    height: rows.length * 92 + 60,
    marginLeft: 40,
    marginRight: 8,
    marginTop: 22,
    marginBottom: 40,
    fy: { axis: null, domain: labels.map(({ label }) => label), padding: 0.26 },
    x: { label: 's', labelAnchor: 'right', ticks: isNarrow ? 5 : 10 },
    y: { ...axis, label: null, grid: true },
    marks: [
      Plot.rectX(shades, { x1: 'from', x2: 'to', fy: 'label', fill: 'var(--line)', fillOpacity: 0.7 }),
      ...rows.map(({ label, colour, values }) =>
        Plot.dot(values, {
          x: 'atSeconds',
          y: 'ms',
          fy: () => label,
          render: asOnePath(colour, isNarrow ? 1.4 : 1.8, 0.85),
        }),
      ),
      Plot.text(labels, { fy: 'label', text: 'label', dy: -3, ...panelName }),
    ],
  })
}

/** At least three pixels wide. */
function visible([from, to]: Stretch, secondsPerPixel: number): Stretch {
  const missing = Math.max(0, 3 * secondsPerPixel - (to - from)) / 2
  return [from - missing, to + missing]
}
