// What went wrong: lost, duplicated and reordered samples, and the five that took longest.

import type { Run } from '../../lab/samples.ts'
import type { Summary } from '../../lab/stats/analysis.ts'
import { hasArrived, transmissionMs } from '../../lab/stats/messages.ts'
import { labelOf } from '../../lab/stats/names.ts'
import { count, figure } from '../format.ts'
import { number, type Section, text } from '../section.ts'

export function faultsSection({ modes }: Summary): Section {
  const faulty = modes.filter(({ lost, duplicated, reordered }) => lost + duplicated + reordered > 0)
  const expected = modes.reduce((sum, mode) => sum + mode.expected, 0)
  if (faulty.length === 0) {
    const clean = `Of ${count(expected)} samples none was lost, none came twice and none came out of order.`
    return {
      title: 'Lost, duplicated, reordered',
      tables: [],
      paragraphs: [expected === 0 ? 'No sample was expected.' : clean],
    }
  }
  return {
    title: 'Lost, duplicated, reordered',
    tables: [
      {
        caption: 'Samples that did not arrive once and in order',
        columns: [text('Mode'), ...['Expected', 'Lost', 'Lost, %', 'Duplicated', 'Reordered'].map(number)],
        rows: modes.map((mode) => [
          labelOf(mode.mode),
          count(mode.expected),
          count(mode.lost),
          figure((100 * mode.lost) / mode.expected),
          count(mode.duplicated),
          count(mode.reordered),
        ]),
      },
    ],
    paragraphs: [],
  }
}

/** The five slowest samples of the whole run: kept in every figure above, and named here. */
export function slowestSection({ samples }: Run): Section {
  const slowest = samples
    .filter(hasArrived)
    .toSorted((a, b) => transmissionMs(b) - transmissionMs(a))
    .slice(0, 5)
  if (slowest.length === 0)
    return { title: 'Samples that do not fit', tables: [], paragraphs: ['Nothing arrived.'] }
  return {
    title: 'Samples that do not fit',
    tables: [
      {
        caption: 'The five slowest samples',
        columns: [
          text('Message'),
          number('Time, ms'),
          text('Mode'),
          ...['Block', 'Key', 'Window'].map(number),
        ],
        rows: slowest.map((sample) => [
          sample.id,
          figure(transmissionMs(sample)),
          labelOf(sample.mode),
          ...[sample.block, sample.key, sample.receiver].map(String),
        ]),
      },
    ],
    paragraphs: ['No sample was left out as an outlier: these five are in every figure of this report.'],
  }
}
