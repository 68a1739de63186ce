// The report of `windows`: sections and CSV.

import { modeNamed } from '../../server/wire/modes.ts'
import { editorOf, isPeer, labelOf, spokenName, withoutEditor } from '../lab/mode-names.ts'
import { hasArrived, transmissionMs } from '../lab/samples.ts'
import { type LinePoint, lines } from '../report/line-charts.ts'
import { csv, csvTime } from '../report/render.ts'
import {
  count,
  figure,
  loadWords,
  lostSection,
  nothing,
  range,
  ratioWords,
  type Section,
  sessionsWords,
  table,
  text,
} from '../report/section.ts'
import { publishedMeansMs } from './keystrokes-summary.ts'
import {
  browsersWords,
  type Cell,
  type CellSummary,
  distinct,
  hasFallen,
  isCarried,
  isLimited,
  modeOf,
  type Place,
  paperWindows,
  publishedRatio,
  type Run,
  type Summary,
  windowsWords,
} from './windows-summary.ts'

/** Times are ms since the epoch; empty is "never". Windows that were not open have no row. */
export function samplesCsv({ cells }: Run): string {
  const rows = cells.flatMap((cell) => cell.samples.map((sample) => ({ ...sample, ...cellPlace(cell) })))
  return csv(
    [
      ...([
        'mode',
        'session',
        'windows',
        'browsers',
        'key',
        'id',
        'receiver',
        'sentAt',
        'receivedAt',
      ] as const),
      ['transmission_ms', (sample) => csvTime(hasArrived(sample) ? transmissionMs(sample) : null)],
      ...(['acceptedAt', 'copies', 'reordered'] as const),
    ],
    rows,
  )
}

const cellPlace = ({ subject, windows, browsers }: Cell) => ({ mode: subject, windows, browsers })

/** A row for each window that was asked for. */
export function windowsCsv({ cells }: Run): string {
  const rows = cells.flatMap((cell) =>
    cell.states.map(({ isShown, isOpen, mode, fall }, place) => ({
      ...{ ...cellPlace(cell), session: cell.session, window: place + 1 },
      ...{ shown: isShown, open: isOpen, modeUsed: mode, fall },
    })),
  )
  return csv(['mode', 'session', 'windows', 'browsers', 'window', 'shown', 'open', 'modeUsed', 'fall'], rows)
}

const hasBrowsers = ({ modes }: Summary) => new Set(modes.map(({ browsers }) => browsers)).size > 1

const labelWith = ({ subject, browsers }: Pick<Place, 'subject' | 'browsers'>, summary: Summary) =>
  hasBrowsers(summary) ? `${labelOf(subject)}; ${browsersWords(browsers)}` : labelOf(subject)

export const namingIn = (summary: Summary) =>
  [
    ['Mode', (cell: CellSummary) => labelWith(cell, summary)],
    ['Windows', (cell: CellSummary) => count(cell.windows)],
  ] as const

/** A row for each mode and number of browsers, a column for each number of windows. */
function grid(
  summary: Summary,
  caption: string,
  cellOf: (cell: CellSummary) => string,
  modes = summary.modes,
) {
  const counts = distinct(summary.cells.map(({ windows }) => windows))
  const rows = modes.map((mode) => [
    labelWith(mode, summary),
    ...counts.map((windows) => {
      const cell = cellAt(summary, { ...mode, windows })
      return cell ? cellOf(cell) : nothing
    }),
  ])
  return table(caption, ['Mode', ...counts.map(windowsWords)], rows)
}

function cellAt(
  { cells }: Pick<Summary, 'cells'>,
  { subject, browsers, windows }: Pick<CellSummary, 'subject' | 'browsers' | 'windows'>,
): CellSummary | undefined {
  return cells.find(
    (cell) => cell.subject === subject && cell.browsers === browsers && cell.windows === windows,
  )
}

export function timesSection(summary: Summary): Section {
  const counts = distinct(summary.cells.map(({ windows }) => windows))
  const browsers = distinct(summary.modes.map((mode) => mode.browsers))
  const colours = [...new Set(summary.modes.map(({ subject }) => modeOf(subject)?.name))]
  const panels = browsers.map((number) => ({
    title: browsers.length === 1 ? '' : `in ${browsersWords(number)}`,
    series: summary.modes
      .filter((mode) => mode.browsers === number)
      .map(({ subject }) => ({
        label: labelOf(subject),
        isDashed: isPeer(subject) || isLaterShare(summary, subject),
        colour: colours.indexOf(modeOf(subject)?.name),
        points: counts.flatMap((windows): LinePoint[] => {
          const cell = cellAt(summary, { subject, browsers: number, windows })
          if (!cell) return []
          const mark = !isCarried(cell) ? 'failed' : hasFallen(cell) ? 'open' : 'filled'
          return [{ x: windows, y: cell.p50Ms, mark }]
        }),
      })),
  }))
  const labels = summary.modes.map((mode) => labelWith(mode, summary))
  return {
    title: 'Transmission time by number of windows',
    figure: {
      caption: `Median transmission time in milliseconds by number of windows; both axes are logarithmic. A hollow mark: every key arrived everywhere, but some windows used another mode than the one asked for. A cross at the top, and a gap in the line: windows did not open, or keys were lost. Dashed: ${summary.modes.some(({ subject }) => isPeer(subject)) ? 'the bare page' : 'another setting of share'}.`,
      description: `Median transmission time by number of windows for ${labels.join('; ')}. The table below gives the same in figures.`,
      draw: (width) => lines(panels, { width, axis: 'windows', ticks: counts }),
    },
    tables: [grid(summary, 'Median in milliseconds, by windows in all', medianCell)],
    paragraphs: [
      'A sample is one message at one receiving window; its time runs from being handed to the transport to being received. † Every key arrived, but some windows used another mode. ✗ Windows did not open or keys were lost: what did arrive has a median too, in summary.json, but it is no time of this mode with so many windows.',
    ],
  }
}

const isLaterShare = ({ modes }: Summary, subject: string) => {
  const first = modes.find((mode) => editorOf(mode.subject) !== undefined)
  return editorOf(subject) !== undefined && editorOf(subject) !== editorOf(first?.subject ?? '')
}

function medianCell(cell: CellSummary): string {
  if (!isCarried(cell)) return '✗'
  return `${figure(cell.p50Ms)}${hasFallen(cell) ? ' †' : ''}`
}

const reasons: Readonly<Record<string, string>> = {
  full: 'connections taken',
  blocked: 'it did not get through',
  unsupported: 'the browser lacks it',
  flapping: 'its connections kept ending',
}

export function openedSection(summary: Summary): Section {
  const opened = table(
    'Windows of each session, by mode',
    ['Mode', 'Asked for', 'Page shown', 'Opened', 'In the mode', text('In another mode, and why')],
    summary.cells.map((cell) => {
      const falls = cell.falls.map(
        ({ mode, why, windows }) =>
          `${count(windows)} in ${labelOf(mode)}: ${reasons[why] ?? 'the page does not say why'}`,
      )
      return [
        ...[labelWith(cell, summary), count(cell.windows), count(cell.shown)],
        ...[range([cell.opened, cell.mostOpened], count), count(cell.inMode), falls.join('; ') || nothing],
      ]
    }),
  )
  const limited = summary.modes.find(({ subject }) => isLimited(subject) && !isPeer(subject))
  const mode = limited && modeOf(limited.subject)
  const next = modeNamed(mode?.whenFull ?? '')
  const own =
    mode && next
      ? [
          `A browser opens six connections to a host over HTTP/1.1, and each stream holds one. With share: none, Crosswind’s own page lets ${mode.windowsPerBrowser} windows of a browser hold one in ${spokenName(mode.name)} and keeps the sixth for typing; every further window uses ${spokenName(next.name)} at once and says so. That is what it is meant to do, not a failure: no key is lost, but from there on the row measures a mixture. With share: auto or browser all windows of a browser use one stream, and none needs another mode.`,
        ]
      : []
  const bare = summary.modes.some(({ subject }) => isPeer(subject) && isLimited(subject))
    ? [
        'The bare page has no such limit: each of its windows takes a connection and keeps it. With six windows the sixth connection is a stream too, so that no request of the typing window gets out; a seventh window does not even receive the page, until another is closed. Neither is reported by the browser as an error.',
      ]
    : []
  return {
    title: 'Which windows opened, and in which mode',
    tables: [opened],
    paragraphs: [
      'Opened: the page is there and its stream is open. Page shown: the document is there, open or not. Where sessions differ, the column Opened has the fewest and the most, the others the fewest.',
      ...own,
      ...bare,
    ],
  }
}

export function lostSections(summary: Summary): readonly Section[] {
  const meaning = `Every window that was asked for is expected to receive every key, whether it opened or not. Lost: not received within ${summary.waitMs / 1000} s of the last key.`
  const caption = 'Numbers of windows at which something was lost, duplicated or reordered'
  const lost = lostSection(summary.cells, namingIn(summary), { caption, paragraphs: [meaning] })
  const received = grid(summary, 'Samples received, in percent of those expected', receivedCell)
  return [lost.tables ? { ...lost, tables: [received, ...lost.tables] } : lost]
}

/** 100 % is said of all alone. */
function receivedCell({ received, expected }: CellSummary): string {
  if (received === expected) return '100'
  if (received === 0) return '0'
  return figure(Math.min(99.9, (100 * received) / expected))
}

export function paperSections(summary: Summary): readonly Section[] {
  const { baseline, sessions } = summary
  if (baseline === null || !summary.cells.some(({ ratio }) => ratio !== null)) return []
  const ratioCell = (cell: CellSummary) =>
    cell.ratio === null ? nothing : `${ratioWords(cell.ratio, cell.ratioCi95)}${hasFallen(cell) ? ' †' : ''}`
  const others = summary.modes.filter(({ subject }) => subject !== baseline && !isPeer(subject))
  const compared = [...new Set(others.map(({ subject }) => subject))]
  const published = compared.flatMap((subject) => {
    const ratio = publishedRatio(subject, withoutEditor(baseline))
    const known: Readonly<Record<string, number>> = publishedMeansMs
    return ratio === null ? [] : [[labelOf(subject), String(known[withoutEditor(subject)]), figure(ratio)]]
  })
  return [
    {
      title: 'What the paper measured',
      tables: [
        grid(summary, `Mean, times that of ${spokenName(baseline)} with as many windows`, ratioCell, others),
        table(
          'Table 1 of the 2021 paper (n = 200): five windows on three computers',
          ['Mode', 'Mean, ms', 'Times WebSocket’s'],
          published,
        ),
      ],
      paragraphs: [
        `${sessions < 2 ? 'One session gives no interval: how far sessions differ is unknown.' : 'In brackets the 95 % interval of the ratio, Student’s t over the logarithms of the sessions’ ratios.'} A ratio stands only where both modes delivered every key. † Some windows used another mode.`,
        `The paper (4.2) had ${paperWindows} windows on the server’s own computer, ${paperWindows} on a laptop and the typing one on another laptop. With ${paperWindows} windows a browser holds ${paperWindows} of its six connections, and the typist’s holds one: nobody had to wait for a connection, if the page was the only one from that server. So its ratio is not the effect of the connection limit that it names as HTTP/1.1’s drawback (5), and the ratio does not show that effect either: it sets in at six windows of one browser, where it is not slowness but silence. What its ratio does show, it does not say; the paper states neither the browser, nor the pause between keys, nor a deviation. Requests that could not go on the connection of one before, or that opened a connection with a handshake of its own, are possible causes that this run does not test.`,
      ],
    },
  ]
}

export function costSection(summary: Summary): Section {
  const busy = (cell: CellSummary) =>
    cell.machineBusy === null || cell.received === 0 ? nothing : figure(100 * cell.machineBusy)
  const cpu = (cell: CellSummary) => (cell.received === 0 ? nothing : figure(cell.serverCpuMsPerKey))
  return {
    title: 'What server and machine spent',
    tables: [
      grid(summary, 'Processor time of the server for each key, in milliseconds', cpu),
      grid(summary, 'All processors of the machine while keys were typed, busy, in percent', busy),
    ],
    paragraphs: [
      'The server’s time covers all that it did while the keys were typed, and the reading of these figures. Busy processors are those of the whole machine, with the browsers, the lab and whatever else ran.',
    ],
  }
}

export function doubtsSection(summary: Summary): Section {
  const { clock, environment, cells, sessions } = summary
  const changed = cells.reduce((sum, cell) => sum + cell.switched, 0)
  return {
    title: 'Doubts',
    paragraphs: [
      ...machineWords(summary),
      `Server, browsers and lab shared one machine with ${environment.cores} cores; ${loadWords({ environment })}. Windows of one user on one machine share it too, but a server elsewhere would leave them more.`,
      sessionsWords(sessions),
      `Two windows’ stamps can differ by at most ${figure(clock.boundMs)} ms. The windows are headless Chromium’s; a browser with a screen also paints them.`,
      'A window that did not open within its patience is counted as not opened; whether it would have opened later, for instance when another is closed, was not waited for.',
      ...(changed > 0 ? [`${windowsWords(changed)} changed the mode while keys were typed.`] : []),
    ],
  }
}

/** The baseline needs neither HTTP/2 nor one of the six connections: its growth is the machine's. */
function machineWords(summary: Summary): readonly string[] {
  const { modes, baseline } = summary
  return modes
    .filter(({ subject }) => !isPeer(subject) && subject !== baseline)
    .flatMap(({ subject, browsers }) => {
      const base = modes.find((mode) => mode.subject === baseline && mode.browsers === browsers)
      const own = modes.find((mode) => mode.subject === subject && mode.browsers === browsers)
      if (!base?.leastP50Ms || !base.mostP50Ms || !own?.leastP50Ms || !own.mostP50Ms) return []
      if (base.most === distinct(summary.cells.map(({ windows }) => windows)).at(0)) return []
      const apart = own.mostP50Ms - base.mostP50Ms
      const end = cellAt(summary, { subject: base.subject, browsers, windows: base.most })
      const bare = modes.find((mode) => mode.subject.endsWith(`:${subject}`) && mode.browsers === browsers)
      const page = bare?.mostP50Ms
        ? ` The bare page took ${figure(bare.mostP50Ms)} ms in the same mode: what is above that is Crosswind’s page and server.`
        : ''
      const busy =
        end?.machineBusy == null
          ? ''
          : ` With them the machine’s processors were ${figure(100 * end.machineBusy)} % busy.`
      return [
        `${spokenName(base.subject)} uses neither HTTP/2 nor the limited connections, so that its growth is the machine’s: from ${figure(base.leastP50Ms)} ms with few windows to ${figure(base.mostP50Ms)} ms with ${base.most}${browsers > 1 ? ` in ${browsersWords(browsers)}` : ''}.${busy} ${spokenName(subject)} grew from ${figure(own.leastP50Ms)} to ${figure(own.mostP50Ms)} ms; ${apart > 0 ? `the ${figure(apart)} ms above WebSocket’s are its own, with the processor time that it needs and a busy machine lacks` : 'with that many it took no longer than WebSocket'}.${page}`,
      ]
    })
}
