// The server's memory through the run, and whether it stayed where it was.

import * as Plot from '@observablehq/plot'
import { flatCriterion, type MemoryVerdict } from '../../resilience/memory.ts'
import type { MemorySample, ResilienceRecord } from '../../resilience/record.ts'
import type { ResilienceSummary } from '../../resilience/summary.ts'
import { svg } from '../figures/svg.ts'
import { figure, megabytes } from '../format.ts'
import { number, type Section, type Table, text } from '../section.ts'

export function memorySection({ memory }: ResilienceRecord, { memory: judged }: ResilienceSummary): Section {
  const { atFirst, last } = judged
  return {
    title: 'The server’s memory',
    figure: {
      caption:
        'Resident set (upper lines) and heap in use (lower lines), a pair for each of the server’s processes: every restart begins anew.',
      description: `Memory of the server over the run; ${last === null ? 'its last life was too short to judge' : last.isFlat ? 'flat at the end' : 'growing at the end'}.`,
      draw: (width) => memoryLines(memory, width),
    },
    tables: [memoryTable(atFirst, last)],
    paragraphs: [
      flatCriterion,
      last === null
        ? 'The last process lived too short to judge it.'
        : `By this it is ${last.isFlat ? 'flat' : 'NOT flat'}.`,
    ],
  }
}

function memoryTable(atFirst: MemorySample | null, last: MemoryVerdict | null): Table {
  const row = (name: string, sample: MemorySample) => [
    name,
    figure(sample.atMs / 1000),
    megabytes(sample.rssBytes),
    megabytes(sample.heapUsedBytes),
  ]
  return {
    caption: 'Start and end',
    columns: [text('When'), number('At, s'), number('Resident set'), number('Heap in use')],
    rows: [
      ...(atFirst ? [row('First process, all windows joined', atFirst)] : []),
      ...(last ? [row('Last process, first third after warm-up', last.start)] : []),
      ...(last ? [row('Last process, last third', last.end)] : []),
    ],
  }
}

function memoryLines(memory: readonly MemorySample[], width: number): string {
  const points = memory.map(({ atMs, life, rssBytes, heapUsedBytes }) => ({
    at: atMs / 1000,
    life,
    rss: rssBytes / 1e6,
    heap: heapUsedBytes / 1e6,
  }))
  const line = (y: 'rss' | 'heap', stroke: string) =>
    Plot.line(points, { x: 'at', y, z: 'life', stroke, strokeWidth: 1.8 })
  return svg({
    width,
    height: 260,
    marginLeft: 46,
    marginRight: 8,
    marginBottom: 40,
    x: { label: 's', labelAnchor: 'right', ticks: width < 500 ? 5 : 10 },
    y: { label: 'MB', grid: true, zero: true },
    marks: [line('rss', 'var(--accent)'), line('heap', 'var(--peer)')],
  })
}
