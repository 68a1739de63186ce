// Report of a payload run: sections and files.

import { labelOf, spokenName } from '../lab/mode-names.ts'
import { lines } from '../report/charts.ts'
import { csv, csvTime, reportFiles } from '../report/render.ts'
import {
  count,
  figure,
  interval,
  megabytes,
  moment,
  nothing,
  number,
  runAgainSection,
  type Section,
  spread,
  type Table,
  text,
} from '../report/section.ts'
import { hasArrived, transmissionMs } from './keystrokes-analysis.ts'
import {
  alikeWithin,
  type PayloadSample,
  type Run,
  type SizeSummary,
  type Summary,
  sizeOf,
} from './payload-analysis.ts'

export function payloadFiles(run: Run, summary: Summary): Readonly<Record<string, string>> {
  const report = {
    title: `Crosswind lab: payload${summary.network ? ` over a simulated network, “${summary.network.profile}”` : ''}`,
    subtitle: `${moment(summary.startedAt)}, commit ${summary.environment.commit}`,
    finding: summary.finding,
    sections: [
      timesSection(summary),
      throughputSection(summary),
      ...comparisonSections(summary),
      lostSection(summary),
      sessionsSection(summary),
      costSection(summary),
      doubtsSection(summary),
      methodSection(summary),
      runAgainSection(summary, summary.command),
    ],
  }
  return reportFiles(report, summary, { 'samples.csv': samplesCsv(run.samples) })
}

/** Times are ms since the epoch; empty is "never". */
function samplesCsv(samples: readonly PayloadSample[]): string {
  return csv(
    [
      ['mode', ({ mode }) => mode],
      ['session', ({ session }) => session],
      ['bytes', ({ bytes }) => bytes],
      ['message', ({ key }) => key],
      ['id', ({ id }) => id],
      ['receiver', ({ receiver }) => receiver],
      ['sent_at', ({ sentAt }) => csvTime(sentAt)],
      ['received_at', ({ receivedAt }) => csvTime(receivedAt)],
      ['transmission_ms', (sample) => csvTime(hasArrived(sample) ? transmissionMs(sample) : null)],
      ['accepted_at', ({ acceptedAt }) => csvTime(acceptedAt)],
      ['sent_bytes', ({ sentBytes }) => sentBytes],
      ['received_bytes', ({ receivedBytes }) => receivedBytes],
      ['copies', ({ copies }) => copies],
      ['reordered', ({ reordered }) => reordered],
    ],
    samples,
  )
}

const sizesIn = ({ sizes }: Summary) => [...new Set(sizes.map(({ bytes }) => bytes))]

/** A row for each mode, a column for each size. */
function grid(summary: Summary, caption: string, cellOf: (size: SizeSummary) => string): Table {
  return {
    caption,
    columns: [text('Mode'), ...sizesIn(summary).map((bytes) => number(sizeOf(bytes)))],
    rows: summary.modes.map(({ mode }) => [
      labelOf(mode),
      ...summary.sizes.filter(({ subject }) => subject === mode).map(cellOf),
    ]),
  }
}

function timesSection(summary: Summary): Section {
  const series = summary.modes.map(({ mode }, place) => ({
    label: labelOf(mode),
    isDashed: false,
    colour: place,
    points: summary.sizes
      .filter(({ subject }) => subject === mode)
      .map(({ bytes, p50Ms, n }) => ({
        x: bytes,
        y: p50Ms,
        mark: n === 0 ? ('failed' as const) : ('filled' as const),
      })),
  }))
  return {
    title: 'Transmission time by size',
    figure: {
      caption: `Median transmission time in milliseconds by the size of the message’s text; both axes are logarithmic.${summary.sizes.some(({ n }) => n === 0) ? ' A cross at the top, and a gap in the line: nothing arrived.' : ''}`,
      description: `Median transmission time by size for ${summary.modes.map(({ mode }) => labelOf(mode)).join('; ')}. The table below gives the same in figures.`,
      draw: (width) =>
        lines([{ title: '', series }], {
          width,
          axis: 'size of the text',
          ticks: sizesIn(summary),
          tickFormat: sizeOf,
        }),
    },
    tables: [grid(summary, 'Median in milliseconds', ({ p50Ms }) => figure(p50Ms))],
    paragraphs: [
      'A sample is one message at one receiving window; its time runs from being handed to the window’s outbox to the arrival of its last byte, parsed. The envelope, some 150 bytes, comes on top of the size.',
    ],
  }
}

function throughputSection(summary: Summary): Section {
  return {
    title: 'Throughput',
    tables: [
      grid(
        summary,
        'The size over the median time, in kilobytes a second at each window',
        ({ kilobytesPerSecond }) =>
          kilobytesPerSecond !== null && kilobytesPerSecond >= 100
            ? count(Math.round(kilobytesPerSecond))
            : figure(kilobytesPerSecond),
      ),
    ],
    paragraphs: [
      'One message is under way at a time: this is what a single message reaches, not what a mode could carry in all. It goes to every window, so that the server sends as many times as much.',
    ],
  }
}

function comparisonSections(summary: Summary): readonly Section[] {
  const { baseline, modes, sessions } = summary
  if (modes.length < 2) return []
  const table = grid(summary, `Median, times that of ${spokenName(baseline)}`, ({ ratio, ratioCi95 }) =>
    ratio === null ? nothing : `${figure(ratio)}${ratioCi95 ? ` (${interval(ratioCi95)})` : ''}`,
  )
  const own = modes.findIndex(({ mode }) => mode === baseline)
  return [
    {
      title: `Against ${spokenName(baseline)}`,
      tables: [{ ...table, rows: table.rows.filter((_, place) => place !== own) }],
      paragraphs: [
        sessions < 2
          ? 'One session gives no interval: how far sessions differ is unknown.'
          : 'In brackets the 95 % interval, Student’s t over the logarithms of the sessions’ ratios.',
      ],
    },
  ]
}

function lostSection(summary: Summary): Section {
  const title = 'Lost, duplicated, reordered'
  const meaning = `Lost: not received within ${summary.waitMs / 1000} s.`
  const faulty = summary.sizes.filter(({ lost, duplicated, reordered }) => lost + duplicated + reordered > 0)
  const expected = summary.sizes.reduce((sum, size) => sum + size.expected, 0)
  if (faulty.length === 0) {
    const clean = `Of ${count(expected)} samples none was lost, none came twice and none came out of order.`
    return { title, paragraphs: [`${clean} ${meaning}`] }
  }
  const table: Table = {
    caption: 'Sizes at which something was lost, duplicated or reordered',
    columns: [text('Mode'), number('Size'), ...['Expected', 'Lost', 'Duplicated', 'Reordered'].map(number)],
    rows: faulty.map((size) => [
      labelOf(size.subject),
      sizeOf(size.bytes),
      ...[size.expected, size.lost, size.duplicated, size.reordered].map(count),
    ]),
  }
  return { title, tables: [table], paragraphs: [meaning] }
}

function sessionsSection(summary: Summary): Section {
  const sessions = Array.from({ length: summary.sessions }, (_, place) => place + 1)
  const figures: Table = {
    caption: 'Over all sessions and windows; times in milliseconds',
    columns: [
      text('Mode'),
      ...['Size', 'Mean ± sd', 'Median', 'p95', 'Max.', 'Received', 'Expected'].map(number),
    ],
    rows: summary.sizes.map((size) => [
      labelOf(size.subject),
      sizeOf(size.bytes),
      spread(size.meanMs, size.sdMs),
      ...[size.p50Ms, size.p95Ms, size.maxMs].map(figure),
      ...[size.n, size.expected].map(count),
    ]),
  }
  const each: Table = {
    caption: 'Median in each session, in milliseconds',
    columns: [text('Mode'), number('Size'), ...sessions.map((session) => number(`Session ${session}`))],
    rows: summary.sizes.map((size) => [
      labelOf(size.subject),
      sizeOf(size.bytes),
      ...sessions.map((_, place) => figure(size.sessionP50sMs[place])),
    ]),
  }
  return {
    title: 'Every figure, and every session',
    tables: summary.sessions > 1 ? [figures, each] : [figures],
  }
}

function costSection({ modes }: Summary): Section {
  return {
    title: 'What the server spent',
    tables: [
      {
        caption: 'Processor time over all sizes of a mode, and the highest resident memory in them',
        columns: [text('Mode'), number('CPU, ms'), number('Memory')],
        rows: modes.map(({ mode, serverCpuMs, serverRssBytes }) => [
          labelOf(mode),
          figure(serverCpuMs),
          megabytes(serverRssBytes),
        ]),
      },
    ],
    paragraphs: [
      'Memory is that of the whole server process: a later mode can inherit what an earlier one took.',
    ],
  }
}

function doubtsSection({ clock, environment, sessions }: Summary): Section {
  return {
    title: 'Doubts',
    paragraphs: [
      `Server, browser and lab shared one machine with ${environment.cores} cores; its load average (1 min) was ${figure(environment.loadBefore)} before and ${figure(environment.loadAfter)} after. Over loopback, bytes travel as fast as memory: what grows with the size is encoding, encryption, storing and parsing. A network adds its own time for each byte; --profile simulates one.`,
      sessions < 2
        ? 'One session does not tell how far sessions differ: the figures of another may be others.'
        : `${count(sessions)} sessions ran one after the other on this machine; another machine, or another day, may differ by more than their intervals say.`,
      `Two windows’ stamps can differ by at most ${figure(clock.boundMs)} ms. The text is one letter over and over; no mode compresses messages, but a proxy between might.`,
      `“Alike” in the finding is a ratio of medians of at most ${alikeWithin}; it is no test.`,
    ],
  }
}

function methodSection({ waitMs, clock, network, sessions, parameters }: Summary): Section {
  return {
    title: 'How it was measured',
    paragraphs: [
      `Each of the ${count(sessions)} session${sessions === 1 ? '' : 's'} started a server process, a browser and ${parameters.windows} windows anew. In it the modes came in a drawn order, and within a mode the sizes. The first window published probes, messages of a given size on a channel of their own, which the server admits, stores, numbers and sends to every window as it does an edit; no window draws them. The next was published when all windows had the one before, or after ${waitMs / 1000} s; the first of each size do not count. The server’s limits for messages, queues and outboxes were raised to fit the largest size.`,
      ...(network
        ? [
            `Between windows and server was a simulated network, “${network.profile}”: a relay on this machine that delays every byte in both directions. ${network.source} The relay itself added ${figure(network.lateMs)} ms to each way in the mean.`,
          ]
        : []),
      `All windows and the server used the machine’s clock; each window set its own timer against it, to within ${figure(clock.boundMs)} ms for two windows. Quantiles are of type 7 (Hyndman and Fan, 1996); they are over all samples that arrived, intervals over sessions.`,
      'Every sample, lost ones included, is in samples.csv; the figures of this report are in summary.json.',
    ],
  }
}
