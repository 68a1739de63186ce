// How it was measured and on what: enough to run it again and to compute it again.

import type { Summary } from '../../lab/stats/analysis.ts'
import { figure, megabytes, moment } from '../format.ts'
import { type Section, text } from '../section.ts'

export function methodSection({ clock }: Summary): Section {
  const sameClock =
    'All windows and the server ran on one machine and used its system clock; each window set its own timer against it.'
  const exchanges =
    'Each window’s clock was set against the server’s by repeated exchanges, of which the fastest was kept.'
  return {
    title: 'How it was measured',
    tables: [],
    paragraphs: [
      'The modes took turns in short blocks within one run, so that a drift of the machine or the network meets all of them alike. Every mode was warmed up once before the first block and again before each of its turns; none of that is among the samples.',
      `${clock.method === 'one machine' ? sameClock : exchanges} Two windows’ stamps can differ by at most ${figure(clock.boundMs)} ms from this.`,
      'Quantiles are of type 7 (Hyndman and Fan, 1996). Means, deviations and quantiles are over samples; tests and intervals are over messages, which are taken as independent of each other: where messages of one block resemble each other, the intervals are narrower than they should be, and the table by block is the check.',
      'Every sample, lost ones included, is in samples.csv beside this report; the figures of this report are in summary.json.',
    ],
  }
}

export function circumstancesSection(summary: Summary): Section {
  return runAgainSection(summary, summary.command, [])
}

type Circumstances = Pick<Summary, 'environment' | 'startedAt' | 'finishedAt' | 'parameters'>

/** What it takes to make any scenario's run once more. */
export function runAgainSection(
  { environment, parameters, startedAt, finishedAt }: Circumstances,
  command: string,
  paragraphs: Section['paragraphs'],
): Section {
  const circumstances = [
    ['Machine', environment.machine],
    ['Processor', `${environment.cpu}, ${environment.cores} cores`],
    ['Memory', megabytes(environment.memoryBytes)],
    ['System', environment.os],
    ['Node', environment.node],
    ['Browser', environment.browser],
    ['Server', environment.server],
    ['Commit', environment.commit],
    [
      'Load average (1 min)',
      `${figure(environment.loadBefore)} before, ${figure(environment.loadAfter)} after`,
    ],
    ['Started', moment(startedAt)],
    ['Finished', moment(finishedAt)],
  ]
  return {
    title: 'Run it again',
    command,
    tables: [
      {
        caption: 'Parameters',
        columns: [text('Parameter'), text('Value')],
        rows: Object.entries(parameters).map((row) => row.map(String)),
      },
      { caption: 'Environment', columns: [text('What'), text('Value')], rows: circumstances },
    ],
    paragraphs,
  }
}
