// How the run was made, and on what: enough to make it again.

import type { ResilienceSummary } from '../../resilience/summary.ts'
import { figure, megabytes, moment } from '../format.ts'
import { type Section, text } from '../section.ts'

export function circumstancesSection(summary: ResilienceSummary): Section {
  const { environment, parameters, seed, startedAt, finishedAt } = summary
  const known = [
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
    command: summary.command.includes('--seed') ? summary.command : `${summary.command} --seed ${seed}`,
    tables: [
      {
        caption: 'Parameters',
        columns: [text('Parameter'), text('Value')],
        rows: Object.entries(parameters).map((row) => row.map(String)),
      },
      { caption: 'Environment', columns: [text('What'), text('Value')], rows: known },
    ],
    paragraphs: [
      'All modes ran at the same time on one server, a process of its own, each mode on a channel of its own. A fleet window is the web app’s own link, run in Node over the same transports; two windows of each mode write, whether they are connected or not, and all of them receive.',
      'The windows stay in their modes (without --ladder), so that every mode is tried for what it is called. Connections are cut idle, right after a message was sent so that its acknowledgement is lost, and once more while the window comes back; its reading is stalled for a moment, until it counts as silent, and until its queue overflows. A cut that finds nobody connected waits until somebody is, and a window that came back is let be until its link counts as steady.',
      'The server of the run notices silence within five seconds, and keeps a megabyte for a slow window; all else is as it is by default.',
    ],
  }
}
