// Report of a resilience run: sections, files, and the terminal's table.

import * as Plot from '@observablehq/plot'
import { labelOf } from '../lab/mode-names.ts'
import { textTable } from '../lab/terminal-output.ts'
import { panelName, svg } from '../report/charts.ts'
import { csv, reportFiles } from '../report/render.ts'
import {
  count,
  figure,
  megabytes,
  moment,
  nothing,
  number,
  runAgainSection,
  type Section,
  type Table,
  text,
} from '../report/section.ts'
import {
  accountsOf,
  type FaultKind,
  type FaultRecord,
  flatCriterion,
  isInTime,
  leastForMedian,
  type MemorySample,
  promisedReturnMs,
  type ResilienceRecord,
  type ResilienceSummary,
  type ReturnFigures,
  returnsIn,
} from './resilience-analysis.ts'

export function resilienceFiles(
  record: ResilienceRecord,
  summary: ResilienceSummary,
  data: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const report = {
    title: 'Crosswind lab: resilience',
    subtitle: `${moment(summary.startedAt)}, commit ${summary.environment.commit}, seed ${summary.seed}`,
    finding: summary.finding,
    sections: [
      returnsSection(summary),
      outcomeSection(summary),
      timelineSection(record, summary),
      faultsSection(record, summary),
      ...(record.memory.length > 0 ? [memorySection(record, summary)] : []),
      doubtsSection(record, summary),
      circumstancesSection(summary),
    ],
  }
  return reportFiles(report, summary, { ...csvFiles(record), ...data })
}

/** The report's first tables, for the terminal. */
export function resilienceTable(summary: ResilienceSummary): string {
  return [returnsTable(summary), ...outcomeTables(summary)].map(tableText).join('\n\n')
}

export function tableText({ caption, columns, rows }: Table): string {
  const cells = columns.map(
    ({ title }, place) => [title, (row: readonly string[]) => row[place] ?? ''] as const,
  )
  return `  ${caption}\n${textTable(cells, rows)}`
}

/** Without a unit, for columns. */
const inSeconds = (ms: number | null) => figure(ms === null ? null : ms / 1000)

function returnsTable({ returns: { modes, browsers, all } }: ResilienceSummary): Table {
  const row = (name: string, figures: ReturnFigures) => [
    name,
    figures.n === 0 ? nothing : isInTime(figures) ? 'yes' : 'NO',
    ...[figures.medianMs, figures.worstMs].map(inSeconds),
    ...[figures.n, figures.hit, figures.cutShort].map(count),
  ]
  const numbers = ['Median, s', 'Worst, s', 'Returns', 'Left out: cut or stalled', 'Left out: server away']
  const { median, worst } = promisedReturnMs
  return {
    caption: `Wanted of every row: at most ${median / 1000} s in the median and ${worst / 1000} s at worst`,
    columns: [text('Mode'), text('In time'), ...numbers.map(number)],
    rows: [
      ...modes.map((figures) => row(labelOf(figures.mode), figures)),
      ...browsers.map((figures) => row(`Chromium, ${labelOf(figures.mode)}`, figures)),
      row('All', all),
    ],
  }
}

function returnsSection(summary: ResilienceSummary): Section {
  return {
    title: 'How soon windows are back after the server’s return',
    tables: [returnsTable(summary)],
    paragraphs: [
      `Counted for each window from the moment at which the server listens again, after a restart or a kill, to the window’s first frame, with the window’s own pauses. Left out are windows whose own connection was cut or stalled before they were back, and those whose server went away again within the five seconds that they had. A row of fewer than ${leastForMedian} is held to the worst alone. Each return is a row in returns.csv.`,
    ],
  }
}

function outcomeTables({ modes, browsers }: ResilienceSummary): readonly Table[] {
  const deliveries = ['Windows', 'Accepted', 'Expected', 'Delivered', 'Lost', 'Dup.', 'Reord.', 'Not ackn.']
  const events = [
    'Outages',
    'Cuts',
    'Stalls',
    'Recovered',
    'Snapshots',
    'Repairs',
    'Held back',
    'Mode changes',
  ]
  const typing = ['Typed', 'Expected', 'Delivered', 'Lost', 'Dup.', 'Reord.']
  const tables: Table[] = [
    {
      caption: 'Messages',
      columns: [text('Mode'), ...deliveries.map(number)],
      rows: modes.map((mode) => [
        labelOf(mode.mode),
        ...[mode.windows, mode.accepted, mode.expected, mode.n].map(count),
        ...[mode.lost, mode.duplicated, mode.reordered, mode.unacknowledged].map(count),
      ]),
    },
    {
      caption: 'Connections; an outage has the server’s own time away in it',
      columns: [text('Mode'), number('Longest outage, s'), ...events.map(number)],
      rows: modes.map((mode) => [
        labelOf(mode.mode),
        inSeconds(mode.longestOutageMs),
        ...[mode.outages, mode.cuts, mode.stalls, mode.recovered, mode.snapshots].map(count),
        ...[mode.repairs, mode.heldBack, mode.modeChanges].map(count),
      ]),
    },
    {
      caption: 'Windows of a real Chromium, on a channel of their own',
      columns: [text('Mode'), ...typing.map(number), text('Shows what the log says')],
      rows: browsers.map(({ mode, typed, expected, n, lost, duplicated, reordered, isEqual }) => [
        labelOf(mode),
        ...[typed, expected, n, lost, duplicated, reordered].map(count),
        isEqual ? 'yes' : 'NO',
      ]),
    },
  ]
  return tables.filter(({ rows }) => rows.length > 0)
}

function outcomeSection(summary: ResilienceSummary): Section {
  const { messages, lost, duplicated, reordered, renumbered } = summary.log
  const verdict =
    lost + duplicated + reordered + renumbered === 0
      ? 'every acknowledged message is in it once, under the number that was acknowledged, and every sender’s are in the sender’s order'
      : `${lost} acknowledged messages are missing, ${duplicated} are there again, ${reordered} are out of order, ${renumbered} have another number`
  return {
    title: 'What came of it',
    tables: outcomeTables(summary),
    paragraphs: [
      'Accepted is what was acknowledged to its author; every accepted message is expected once in every window of its mode, the author’s own included. Lost is what had not come after the faults, when every window had been given time; duplicated and reordered are counted by the message’s id, its number in the log, and its sender’s own counter.',
      `The log was read back when all was over, ${count(messages)} messages: ${verdict}.`,
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
        'A row for each window. Bars: not open, as the window saw it. Dots: its connection was cut. Uprights: the server was restarted (dashed) or killed (full).',
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
  const counts: Table = {
    caption: 'How many of each',
    columns: [text('Fault'), number('Number'), number('Promised of its kind')],
    rows: [...kinds].sort().map(([name, all]) => {
      const wanted = least.get(all[0]?.kind ?? '')
      return [name, count(all.length), wanted === undefined ? nothing : count(wanted)]
    }),
  }
  const outages: Table = {
    caption: 'The server’s own outages',
    columns: [text('At, s'), text('What'), number('Until it was up again, s')],
    rows: done
      .filter(({ kind }) => kind in outageWords)
      .map(({ atMs, kind, lastedMs }) => [inSeconds(atMs), outageWords[kind] ?? kind, inSeconds(lastedMs)]),
  }
  const answers: Table = {
    caption: 'Floods and broken input, and what became of them',
    columns: [text('Fault'), text('At, s'), text('Outcome')],
    rows: done
      .filter(isSent)
      .map(({ kind, how, atMs, outcome }) => [
        kind === 'flood' ? `flood over ${how}` : how,
        inSeconds(atMs),
        outcome,
      ]),
  }
  return {
    title: 'The faults',
    tables: [counts, outages, answers],
    paragraphs: [
      `Drawn from seed ${seed}: the same seed plans the same faults; whom they meet depends on who is open then. Each fault, with its time and its target, is in faults.csv.`,
      crashes === 0 ? 'The server did not crash.' : `Server crashes: ${crashes}.`,
    ],
  }
}

/** Faults that end a process. */
const outageWords: Readonly<Partial<Record<FaultKind, string>>> = {
  restart: 'graceful restart',
  kill: 'kill -9',
  broker: 'kill -9 of NATS',
  worker: 'kill -9 of a worker; others go on',
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
  const table: Table = {
    caption: 'Start and end',
    columns: [text('When'), number('At, s'), number('Resident set'), number('Heap in use')],
    rows: [
      ...(atFirst ? [row('First process, all windows joined', atFirst)] : []),
      ...(last ? [row('Last process, first third after warm-up', last.start)] : []),
      ...(last ? [row('Last process, last third', last.end)] : []),
    ],
  }
  const short = 'The last process lived too short to judge it.'
  const verdict = last ? `By this it is ${last.isFlat ? 'flat' : 'NOT flat'}.` : short
  return {
    title: 'The server’s memory',
    figure: {
      caption:
        'Resident set (upper lines) and heap in use (lower lines), a pair for each of the server’s processes: every restart begins anew.',
      description: `Memory of the server over the run; the table below gives its start and end. ${verdict}`,
      draw: (width) => memoryFigure(memory, width),
    },
    tables: [table],
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
    paragraphs: [
      'Clock: the fleet’s windows run in the lab’s own process, so that the server’s return and theirs are by one clock; Chromium’s windows use the same machine’s clock, in whole milliseconds.',
      `Drift: the faults went on for ${Math.round(lastedMs / 1000)} s. What shows only after hours, such as a slow leak, is not tested here; of the memory the next best evidence is the section above.`,
      `Dependence: windows that come back after the same outage are not independent. The ${count(returns.all.n)} returns that count are of ${count(outages)} outages of one run, so that median and worst have no interval; another run has other ones.`,
      `Lost: only messages that were acknowledged are expected in the windows. ${unacknowledged === 0 ? 'None was left without an acknowledgement.' : `${count(unacknowledged)} were not acknowledged by the end, and nothing was promised of them.`}`,
    ],
  }
}

function circumstancesSection(summary: ResilienceSummary): Section {
  const { command, seed } = summary
  const again = command.includes('--seed') ? command : `${command} --seed ${seed}`
  return runAgainSection(summary, again, [
    'All modes ran at the same time on one server, each mode on a channel of its own. A fleet window is the web app’s own link, run in Node over the same transports; two windows of each mode write, whether they are connected or not, and all of them receive.',
    'The windows stay in their modes (without --fallback). Connections are cut idle, right after a message was sent so that its acknowledgement is lost, and once more while the window comes back; its reading is stalled for a moment, until it counts as silent, and until its queue overflows. A cut waits until a window is connected; a window that has returned is spared until its link counts as steady.',
    'The server of the run notices silence within five seconds, and keeps a megabyte for a slow window; all else is as it is by default.',
  ])
}

/** Times are ms since the run began. */
function csvFiles(record: ResilienceRecord): Readonly<Record<string, string>> {
  const { windows, faults, memory } = record
  const { fleet, browsers } = returnsIn(record)
  const accounts = accountsOf(record).map((account) => ({ ...account.window, ...account }))
  const outages = windows.flatMap(({ name, mode, outages }) =>
    outages.map((outage) => ({ name, mode, ...outage })),
  )
  return {
    'windows.csv': csv(
      [
        ['window', ({ name }) => name],
        ['mode', ({ mode }) => mode],
        ['writes', ({ isWriter }) => isWriter],
        ['published', ({ published }) => published.length],
        ['acknowledged', ({ window }) => window.accepted.size],
        ['expected', ({ accepted }) => accepted.size],
        ['n', ({ n }) => n],
        ['lost', ({ lost }) => lost.length],
        ['duplicated', ({ duplicated }) => duplicated.length],
        ['reordered', ({ reordered }) => reordered.length],
        ['cuts', ({ cuts }) => cuts],
        ['stalls', ({ stalls }) => stalls],
        ['outages', ({ outages }) => outages.length],
        ['longest_outage_ms', ({ longestOutageMs }) => longestOutageMs],
        ['recovered', ({ recovered }) => recovered],
        ['snapshots', ({ snapshots }) => snapshots.length],
        ['repairs', ({ repairs }) => repairs],
        ['mode_changes', ({ modeChanges }) => modeChanges],
        ['reasons', ({ reasons }) => [...reasons].map(([why, times]) => `${times} x ${why}`).join(' | ')],
      ],
      accounts,
    ),
    'faults.csv': csv(
      [
        ['at_ms', ({ atMs }) => Math.round(atMs)],
        ['kind', ({ kind }) => kind],
        ['how', ({ how }) => how],
        ['target', ({ target }) => target],
        ['lasted_ms', ({ lastedMs }) => Math.round(lastedMs)],
        ['done', ({ isDone }) => isDone],
        ['outcome', ({ outcome }) => outcome],
      ],
      faults,
    ),
    'outages.csv': csv(
      [
        ['window', ({ name }) => name],
        ['mode', ({ mode }) => mode],
        ['from_ms', ({ fromMs }) => Math.round(fromMs)],
        ['to_ms', ({ toMs }) => (toMs === null ? null : Math.round(toMs))],
      ],
      outages,
    ),
    // `after_ms`: to the window's first frame; `left_out`: why a return does not count.
    'returns.csv': csv(
      [
        ['window', ({ window }) => window],
        ['mode', ({ mode }) => mode],
        ['server_up_ms', ({ serverUpMs }) => Math.round(serverUpMs)],
        ['after_ms', ({ afterMs }) => Math.round(afterMs)],
        ['left_out', ({ leftOut }) => leftOut],
      ],
      [...fleet, ...browsers],
    ),
    'memory.csv': csv(
      [
        ['at_ms', ({ atMs }) => Math.round(atMs)],
        ['life', ({ life }) => life],
        ['rss_bytes', ({ rssBytes }) => rssBytes],
        ['heap_used_bytes', ({ heapUsedBytes }) => heapUsedBytes],
        ['windows', ({ windows }) => windows],
      ],
      memory,
    ),
  }
}
