// Report of a resilience run: its sections, tables and files.

import * as Plot from '@observablehq/plot'
import { formatCsv } from '../lab/csv.ts'
import { labelOf } from '../lab/mode-names.ts'
import { panelName, svg } from '../report/charts.ts'
import {
  count,
  figure,
  megabytes,
  nothing,
  type Section,
  type Table,
  table,
  text,
} from '../report/section.ts'
import {
  accountsOf,
  type FaultKind,
  type FaultRecord,
  flatCriterion,
  isInTime,
  type MemorySample,
  minForMedian,
  promisedReturnMs,
  type ResilienceRecord,
  type ResilienceSummary,
  type ReturnFigures,
  returnsIn,
} from './resilience-summary.ts'

export function sectionsOf(record: ResilienceRecord, summary: ResilienceSummary): readonly Section[] {
  return [
    returnsSection(summary),
    outcomeSection(summary),
    timelineSection(record, summary),
    faultsSection(record, summary),
    ...(record.memory.length > 0 ? [memorySection(record, summary)] : []),
    doubtsSection(record, summary),
  ]
}

/** Without a unit, for columns. */
const inSeconds = (ms: number | null) => figure(ms === null ? null : ms / 1000)

export function returnsTable({ returns: { modes, browsers, all } }: ResilienceSummary): Table {
  const row = (name: string, figures: ReturnFigures) => [
    name,
    figures.n === 0 ? nothing : isInTime(figures) ? 'yes' : 'NO',
    ...[figures.medianMs, figures.worstMs].map(inSeconds),
    ...[figures.n, figures.hit, figures.cutShort].map(count),
  ]
  const { median, worst } = promisedReturnMs
  return table(
    `Required of every row: at most ${median / 1000} s in the median and ${worst / 1000} s at worst`,
    [
      'Mode',
      text('In time'),
      'Median, s',
      'Worst, s',
      'Returns',
      'Excluded: cut or stalled',
      'Excluded: server away',
    ],
    [
      ...modes.map((figures) => row(labelOf(figures.mode), figures)),
      ...browsers.map((figures) => row(`Chromium, ${labelOf(figures.mode)}`, figures)),
      row('All', all),
    ],
  )
}

function returnsSection(summary: ResilienceSummary): Section {
  return {
    title: 'How soon windows are back after the server’s return',
    tables: [returnsTable(summary)],
    paragraphs: [
      `Counted for each window from the moment at which the server listens again, after a restart or a kill, to the window’s first frame, including the window’s own pauses. Excluded are windows whose own connection was cut or stalled before they were back, and those whose server went away again within their five seconds. A row of fewer than ${minForMedian} must meet only the worst. Each return is a row in returns.csv.`,
    ],
  }
}

export function outcomeTables({ modes, browsers }: ResilienceSummary): readonly Table[] {
  const tables = [
    table(
      'Messages',
      ['Mode', 'Windows', 'Accepted', 'Expected', 'Delivered', 'Lost', 'Dup.', 'Reord.', 'Not ackn.'],
      modes.map((mode) => [
        labelOf(mode.mode),
        ...[mode.windows, mode.accepted, mode.expected, mode.n].map(count),
        ...[mode.lost, mode.duplicated, mode.reordered, mode.unacknowledged].map(count),
      ]),
    ),
    table(
      'Connections; an outage includes the server’s own time away',
      [
        'Mode',
        'Longest outage, s',
        'Outages',
        'Cuts',
        'Stalls',
        'Recovered',
        'Snapshots',
        'Repairs',
        'Held back',
        'Mode changes',
      ],
      modes.map((mode) => [
        labelOf(mode.mode),
        inSeconds(mode.longestOutageMs),
        ...[mode.outages, mode.cuts, mode.stalls, mode.recovered, mode.snapshots].map(count),
        ...[mode.repairs, mode.heldBack, mode.modeChanges].map(count),
      ]),
    ),
    table(
      'Windows of a real Chromium, on their own channel',
      ['Mode', 'Typed', 'Expected', 'Delivered', 'Lost', 'Dup.', 'Reord.', text('Shows what the log says')],
      browsers.map(({ mode, typed, expected, n, lost, duplicated, reordered, isEqual }) => [
        labelOf(mode),
        ...[typed, expected, n, lost, duplicated, reordered].map(count),
        isEqual ? 'yes' : 'NO',
      ]),
    ),
  ]
  return tables.filter(({ rows }) => rows.length > 0)
}

function outcomeSection(summary: ResilienceSummary): Section {
  const { messages, lost, duplicated, reordered, renumbered } = summary.log
  const verdict =
    lost + duplicated + reordered + renumbered === 0
      ? 'every acknowledged message is in it once, under the acknowledged number, and every sender’s are in the sender’s order'
      : `${lost} acknowledged messages are missing, ${duplicated} are there again, ${reordered} are out of order, ${renumbered} have another number`
  return {
    title: 'Results',
    tables: outcomeTables(summary),
    paragraphs: [
      'Accepted is what was acknowledged to its author; every accepted message is expected once in every window of its mode, including the author’s own. Lost is what had not arrived after the faults, when every window had been given time; duplicated and reordered are counted by the message’s id, its number in the log, and its sender’s own counter.',
      `After the run, the log was read back, ${count(messages)} messages: ${verdict}.`,
      ...summary.failures,
      ...summary.traces.slice(0, 20),
    ],
  }
}

function timelineSection(record: ResilienceRecord, { modes }: ResilienceSummary): Section {
  const names = modes.map(({ mode }) => mode)
  return {
    title: 'The run, window by window',
    figure: {
      caption:
        'A row per window. Bars: not open, as the window saw it. Dots: its connection was cut. Vertical lines: the server was restarted (dashed) or killed (solid).',
      description: `Outages of ${record.windows.length} windows over ${Math.round(record.lastedMs / 1000)} seconds; all are listed in outages.csv.`,
      draw: (width) => windowsFigure(record, names, width),
    },
  }
}

/** Pixels. */
const windowHeight = 7
const panelHead = 26

/** One panel per mode, one row per window. */
function windowsFigure(record: ResilienceRecord, names: readonly string[], width: number): string {
  const { windows, faults, lastedMs, settledAfterMs } = record
  const endsAt = (lastedMs + (settledAfterMs ?? 0)) / 1000
  const byMode = Map.groupBy(windows, ({ mode }) => mode)
  const placed = names.flatMap((name) =>
    (byMode.get(name) ?? []).map((window, place) => ({ window, mode: labelOf(name), place })),
  )
  const rows = Math.max(1, ...placed.map(({ place }) => place + 1))
  const outages = placed.flatMap(({ window, ...row }) =>
    window.outages.map(({ fromMs, toMs }) => ({
      ...row,
      from: fromMs / 1000,
      to: Math.min(endsAt, toMs === null ? endsAt : toMs / 1000),
    })),
  )
  const cuts = placed.flatMap(({ window, ...row }) =>
    faults
      .filter(({ kind, target }) => kind === 'cut' && target === window.name)
      .map(({ atMs, lastedMs }) => ({ ...row, at: (atMs + lastedMs) / 1000 })),
  )
  const ends = (kind: 'restart' | 'kill') =>
    faults.filter((fault) => fault.kind === kind).map(({ atMs }) => atMs / 1000)
  const upright = { stroke: 'var(--ink)', strokeWidth: 1.2 }
  const labels = names.map(labelOf)
  return svg({
    width,
    height: names.length * (rows * windowHeight + panelHead) + 50,
    marginLeft: 4,
    marginRight: 8,
    marginTop: 24,
    marginBottom: 40,
    x: { label: 's', labelAnchor: 'right', domain: [0, endsAt], grid: true, ticks: width < 500 ? 5 : 10 },
    y: { axis: null, domain: [rows, 0] },
    fy: { axis: null, domain: labels, padding: 0.24 },
    marks: [
      Plot.rect(
        outages.filter(({ from, to }) => to > from),
        {
          fy: 'mode',
          x1: 'from',
          x2: 'to',
          y1: ({ place }) => place + 0.12,
          y2: ({ place }) => place + 0.88,
          fill: 'var(--accent)',
          fillOpacity: 0.75,
        },
      ),
      Plot.ruleX(ends('kill'), upright),
      Plot.ruleX(ends('restart'), { ...upright, strokeDasharray: '4 3' }),
      Plot.dot(cuts, { fy: 'mode', x: 'at', y: ({ place }) => place + 0.5, r: 1.8, fill: 'var(--ink)' }),
      Plot.text(labels, { fy: labels, dy: -2, ...panelName }),
    ],
  })
}

function faultsSection(
  { faults }: ResilienceRecord,
  { promised, crashes, seed }: ResilienceSummary,
): Section {
  const done = faults.filter(({ isDone }) => isDone)
  const least = new Map([
    ['cut', promised.cuts],
    ['restart', promised.restarts],
    ['kill', promised.kills],
  ])
  const isSent = ({ kind }: FaultRecord) => kind === 'flood' || kind === 'broken input'
  const kinds = Map.groupBy(done, (fault) => (isSent(fault) ? fault.kind : `${fault.kind}: ${fault.how}`))
  const counts = table(
    'How many of each',
    ['Fault', 'Number', 'Promised of its kind'],
    [...kinds].sort().map(([name, all]) => {
      const wanted = least.get(all[0]?.kind ?? '')
      return [name, count(all.length), wanted === undefined ? nothing : count(wanted)]
    }),
  )
  const outages = table(
    'The server’s own outages',
    ['At, s', text('What'), 'Until it was up again, s'],
    done
      .filter(({ kind }) => kind in outageWords)
      .map(({ atMs, kind, lastedMs }) => [inSeconds(atMs), outageWords[kind] ?? kind, inSeconds(lastedMs)]),
  )
  const answers = table(
    'Floods and broken input, and their outcomes',
    ['Fault', text('At, s'), text('Outcome')],
    done
      .filter(isSent)
      .map(({ kind, how, atMs, outcome }) => [
        kind === 'flood' ? `flood over ${how}` : how,
        inSeconds(atMs),
        outcome,
      ]),
  )
  return {
    title: 'The faults',
    tables: [counts, outages, answers],
    paragraphs: [
      `Drawn from seed ${seed}: the same seed plans the same faults; which windows they hit depends on which are open then. Each fault, with its time and its target, is in faults.csv.`,
      crashes === 0 ? 'The server did not crash.' : `Server crashes: ${crashes}.`,
    ],
  }
}

/** Faults that end a process. */
const outageWords: Readonly<Partial<Record<FaultKind, string>>> = {
  restart: 'graceful restart',
  kill: 'kill -9',
  broker: 'kill -9 of NATS',
  worker: 'kill -9 of a worker; others continue',
}

function memorySection(
  { memory }: ResilienceRecord,
  { memory: { atFirst, last } }: ResilienceSummary,
): Section {
  const row = (name: string, { atMs, rssBytes, heapUsedBytes }: MemorySample) => [
    name,
    inSeconds(atMs),
    megabytes(rssBytes),
    megabytes(heapUsedBytes),
  ]
  const ends = table(
    'Start and end',
    ['When', 'At, s', 'Resident set', 'Heap in use'],
    [
      ...(atFirst ? [row('First process, all windows joined', atFirst)] : []),
      ...(last ? [row('Last process, first third after warm-up', last.start)] : []),
      ...(last ? [row('Last process, last third', last.end)] : []),
    ],
  )
  const short = 'The last process did not live long enough to judge it.'
  const verdict = last ? `By this criterion it is ${last.isFlat ? 'flat' : 'NOT flat'}.` : short
  return {
    title: 'The server’s memory',
    figure: {
      caption:
        'Resident set (upper lines) and heap in use (lower lines), a pair for each of the server’s processes: every restart starts a new one.',
      description: `Memory of the server over the run; the table below gives its start and end. ${verdict}`,
      draw: (width) => memoryFigure(memory, width),
    },
    tables: [ends],
    paragraphs: [flatCriterion, verdict],
  }
}

function memoryFigure(memory: readonly MemorySample[], width: number): string {
  const line = (y: (sample: MemorySample) => number, stroke: string) =>
    Plot.line(memory, { x: ({ atMs }) => atMs / 1000, y, z: 'life', stroke, strokeWidth: 1.8 })
  return svg({
    width,
    height: 260,
    marginLeft: 46,
    marginRight: 8,
    marginBottom: 40,
    x: { label: 's', labelAnchor: 'right', ticks: width < 500 ? 5 : 10 },
    y: { label: 'MB', grid: true, zero: true },
    marks: [
      line(({ rssBytes }) => rssBytes / 1e6, 'var(--accent)'),
      line(({ heapUsedBytes }) => heapUsedBytes / 1e6, 'var(--peer)'),
    ],
  })
}

function doubtsSection(
  { faults, lastedMs }: ResilienceRecord,
  { modes, returns }: ResilienceSummary,
): Section {
  const outages = faults.filter(
    ({ kind, isDone }) => isDone && (kind === 'restart' || kind === 'kill'),
  ).length
  const unacknowledged = modes.reduce((sum, mode) => sum + mode.unacknowledged, 0)
  return {
    title: 'Doubts',
    isMethod: true,
    paragraphs: [
      'Clock: the fleet’s windows run in the lab’s own process, so that the server’s return and theirs are on one clock; Chromium’s windows use the same machine’s clock, in whole milliseconds.',
      `Drift: the faults lasted ${Math.round(lastedMs / 1000)} s. Effects that appear only after hours, such as a slow leak, are not tested here; for memory the best available evidence is the section above.`,
      `Dependence: windows that return after the same outage are not independent. The ${count(returns.all.n)} returns that count are from ${count(outages)} outages of one run, so median and worst have no interval; another run has different ones.`,
      `Lost: only messages that were acknowledged are expected in the windows. ${unacknowledged === 0 ? 'None was left without an acknowledgement.' : `${count(unacknowledged)} were not acknowledged by the end, and nothing was promised about them.`}`,
    ],
  }
}

/** Times are ms since the run began. */
export function dataOf(record: ResilienceRecord): Readonly<Record<string, string>> {
  const { windows, faults, memory } = record
  const { fleet, browsers } = returnsIn(record)
  const accounts = accountsOf(record).map((account) => ({ ...account.window, ...account }))
  const outages = windows.flatMap(({ name, mode, outages }) =>
    outages.map((outage) => ({ window: name, mode, ...outage })),
  )
  return {
    'windows.csv': formatCsv(
      [
        ['window', ({ name }) => name],
        'mode',
        ['writes', ({ isWriter }) => isWriter],
        ['published', ({ published }) => published.length],
        ['acknowledged', ({ window }) => window.accepted.size],
        ['expected', ({ accepted }) => accepted.size],
        'n',
        ['lost', ({ lost }) => lost.length],
        ['duplicated', ({ duplicated }) => duplicated.length],
        ['reordered', ({ reordered }) => reordered.length],
        'cuts',
        'stalls',
        ['outages', ({ outages }) => outages.length],
        'longestOutageMs',
        'recovered',
        ['snapshots', ({ snapshots }) => snapshots.length],
        'repairs',
        'modeChanges',
        ['reasons', ({ reasons }) => [...reasons].map(([why, times]) => `${times} x ${why}`).join(' | ')],
      ],
      accounts,
      0,
    ),
    'faults.csv': formatCsv(
      ['atMs', 'kind', 'how', 'target', 'lastedMs', ['done', ({ isDone }) => isDone], 'outcome'],
      faults,
      0,
    ),
    'outages.csv': formatCsv(['window', 'mode', 'fromMs', 'toMs'], outages, 0),
    // `after_ms`: to the window's first frame; `left_out`: why a return does not count.
    'returns.csv': formatCsv(
      ['window', 'mode', 'serverUpMs', 'afterMs', 'leftOut'],
      [...fleet, ...browsers],
      0,
    ),
    'memory.csv': formatCsv(['atMs', 'life', 'rssBytes', 'heapUsedBytes', 'windows'], memory, 0),
  }
}
