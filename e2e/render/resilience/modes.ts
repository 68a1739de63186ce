// What each mode came through with: deliveries, what was wrong with them, and how long its windows were away.

import { labelOf } from '../../lab/stats/names.ts'
import type { ResilienceSummary } from '../../resilience/summary.ts'
import { count, figure } from '../format.ts'
import { number, type Section, type Table, text } from '../section.ts'

export function modesSection(summary: ResilienceSummary): Section {
  return {
    title: 'What came of it',
    tables: [deliveriesTable(summary), livesTable(summary), ...browsersTable(summary)],
    paragraphs: [
      'Accepted is what was acknowledged to its author; every accepted message is expected once in every window of its mode, the author’s own included. Lost is what had not come when the faults were over and every window had been given time; duplicated and reordered are counted window by window, by the message’s id, by its number in the log, and by its sender’s own counter.',
      logSentence(summary),
      ...summary.failures,
      ...summary.traces.slice(0, 20),
    ],
  }
}

function deliveriesTable({ modes }: ResilienceSummary): Table {
  return {
    caption: 'Messages',
    columns: [
      text('Mode'),
      ...['Windows', 'Accepted', 'Expected', 'Delivered', 'Lost', 'Dup.', 'Reord.', 'Not ackn.'].map(number),
    ],
    rows: modes.map((mode) => [
      labelOf(mode.mode),
      ...[mode.windows, mode.accepted, mode.expected, mode.n].map(count),
      ...[mode.lost, mode.duplicated, mode.reordered, mode.unacknowledged].map(count),
    ]),
  }
}

function livesTable({ modes }: ResilienceSummary): Table {
  return {
    caption: 'Connections',
    columns: [
      text('Mode'),
      number('Longest outage, s'),
      ...['Outages', 'Cuts', 'Stalls', 'Recovered', 'Snapshots', 'Repairs', 'Held back', 'Mode changes'].map(
        number,
      ),
    ],
    rows: modes.map((mode) => [
      labelOf(mode.mode),
      figure(mode.longestOutageMs / 1000),
      ...[mode.outages, mode.cuts, mode.stalls, mode.recovered, mode.snapshots].map(count),
      ...[mode.repairs, mode.heldBack, mode.modeChanges].map(count),
    ]),
  }
}

function browsersTable({ browsers }: ResilienceSummary): readonly Table[] {
  if (browsers.length === 0) return []
  const columns = ['Typed', 'Expected', 'Delivered', 'Lost', 'Dup.', 'Reord.'].map(number)
  const rows = browsers.map(({ mode, typed, expected, n, lost, duplicated, reordered, isEqual }) => [
    labelOf(mode),
    ...[typed, expected, n, lost, duplicated, reordered].map(count),
    isEqual ? 'yes' : 'NO',
  ])
  return [
    {
      caption: 'Windows of a real Chromium, on a channel of their own',
      columns: [text('Mode'), ...columns, text('Shows what the log says')],
      rows,
    },
  ]
}

function logSentence({ log }: ResilienceSummary): string {
  const { messages, lost, duplicated, reordered, renumbered } = log
  const wrong = lost + duplicated + reordered + renumbered
  const verdict =
    wrong === 0
      ? 'every acknowledged message is in it once, under the number that was acknowledged, and every sender’s are in the sender’s order'
      : `${lost} acknowledged messages are missing, ${duplicated} are there again, ${reordered} are out of order, ${renumbered} have another number`
  return `The log was read back when all was over, ${count(messages)} messages: ${verdict}.`
}
