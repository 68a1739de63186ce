// What each mode cost the server: processor time and memory.

import type { Summary } from '../../lab/stats/analysis.ts'
import type { ModeSummary } from '../../lab/stats/mode-summary.ts'
import { labelOf } from '../../lab/stats/names.ts'
import { figure, megabytes } from '../format.ts'
import { number, type Section, text } from '../section.ts'

export function costSection({ modes }: Summary): Section {
  const title = 'What the server spent'
  if (modes.every(({ serverCpuMs }) => serverCpuMs === null)) {
    return { title, tables: [], paragraphs: ['The server’s use of processor and memory was not recorded.'] }
  }
  return {
    title,
    tables: [
      {
        caption: 'Processor time over all blocks of a mode, and the highest resident memory in them',
        columns: [text('Mode'), number('CPU, ms'), number('CPU a sample received, µs'), number('Memory')],
        rows: modes.map((mode) => [
          labelOf(mode.mode),
          figure(mode.serverCpuMs),
          figure(perSample(mode)),
          megabytes(mode.serverRssBytes),
        ]),
      },
    ],
    paragraphs: [
      'Memory is that of the whole server process: where one process serves several modes in turn, a later block can inherit what an earlier one took.',
    ],
  }
}

/** Microseconds. */
function perSample({ serverCpuMs, n }: ModeSummary): number | null {
  return serverCpuMs === null || n === 0 ? null : (1000 * serverCpuMs) / n
}
