// Where the time goes: from the key to the paint, stage by stage.

import type { Summary } from '../../lab/stats/analysis.ts'
import { labelOf } from '../../lab/stats/names.ts'
import type { Stages } from '../../lab/stats/stages.ts'
import { figure } from '../format.ts'
import { number, type Section, text } from '../section.ts'

const names: readonly (readonly [stage: keyof Stages, title: string])[] = [
  ['inputMs', 'Input → sent'],
  ['upMs', 'Sent → server'],
  ['downMs', 'Server → received'],
  ['applyMs', 'Received → applied'],
  ['paintMs', 'Applied → painted'],
]

export function stagesSection({ modes, clock }: Summary): Section {
  const stamped = names.filter(([stage]) => modes.some((mode) => mode[stage] !== undefined))
  const isNear = clock.method === 'one machine'
  const absent = isNear
    ? []
    : ['The server ran on another machine, so its stamps are left out: its clock is not that of the windows.']
  if (stamped.length === 0)
    return { title: 'Where the time goes', tables: [], paragraphs: ['No stage was stamped.', ...absent] }
  return {
    title: 'Where the time goes',
    tables: [
      {
        caption: 'Median of each stage, in milliseconds',
        columns: [text('Mode'), ...stamped.map(([, title]) => number(title))],
        rows: modes.map((mode) => [labelOf(mode.mode), ...stamped.map(([stage]) => figure(mode[stage]))]),
      },
    ],
    paragraphs: ['Medians of the parts need not add up to the median of the whole.', ...absent],
  }
}
