// The 2015 paper's tables and its test, beside what `pubsub` measures.

import { welch } from '../lab/statistics.ts'
import type { Analysis, FigureRow, Level } from '../lab/study.ts'
import { count, figure, nothing, probability, type Section, spread, table, text } from '../report/section.ts'

interface PaperRow {
  readonly users: number
  readonly broker: 'none' | 'sqs'
  readonly lossPercent: number
  readonly latencyMs: number
  readonly latencySdMs: number
  readonly kbps: number
}

/** Ganaputra and Pardamean 2015, tables I, III and IV: means of 30 iterations, in ms and kbit/s. */
export const publishedRows: readonly PaperRow[] = [
  { users: 50, broker: 'none', lossPercent: 0, latencyMs: 36.83, latencySdMs: 2.89, kbps: 10.52 },
  { users: 50, broker: 'sqs', lossPercent: 0, latencyMs: 38, latencySdMs: 1.7, kbps: 10.51 },
  { users: 100, broker: 'none', lossPercent: 0, latencyMs: 87.67, latencySdMs: 3.97, kbps: 18.92 },
  { users: 100, broker: 'sqs', lossPercent: 0, latencyMs: 89.37, latencySdMs: 2.68, kbps: 19.03 },
  { users: 500, broker: 'none', lossPercent: 0.74, latencyMs: 292.77, latencySdMs: 6.04, kbps: 44.47 },
  { users: 500, broker: 'sqs', lossPercent: 0, latencyMs: 300.2, latencySdMs: 3.4, kbps: 44.8 },
  { users: 1000, broker: 'none', lossPercent: 1.14, latencyMs: 489.43, latencySdMs: 7.76, kbps: 70.24 },
  { users: 1000, broker: 'sqs', lossPercent: 0, latencyMs: 497.5, latencySdMs: 4.53, kbps: 70.8 },
  { users: 5000, broker: 'none', lossPercent: 5.7, latencyMs: 678.87, latencySdMs: 11.27, kbps: 286.58 },
  { users: 5000, broker: 'sqs', lossPercent: 0.98, latencyMs: 688.97, latencySdMs: 4.87, kbps: 298.44 },
  { users: 10_000, broker: 'none', lossPercent: 8.29, latencyMs: 793.63, latencySdMs: 10.5, kbps: 307.25 },
  { users: 10_000, broker: 'sqs', lossPercent: 0.85, latencyMs: 805.3, latencySdMs: 5.48, kbps: 332.44 },
]

export type PubsubMeasure = 'meanMs' | 'kbps' | 'lost' | 'lastMs' | 'bytesPerMessage' | 'serverCpuMicros'

interface Place {
  readonly broker: Level
  readonly users: Level
  readonly mode: Level
}

export const figureAt = ({ figures }: Pick<Analysis, 'figures'>, name: PubsubMeasure, place: Place) =>
  figures.find(
    ({ measure, at }) =>
      measure === name && at.broker === place.broker && at.users === place.users && at.mode === place.mode,
  )

/** P of Welch's test over the iterations, as in the paper; null for fewer than two of either. */
export function paperP(own: FigureRow, base: FigureRow): number | null {
  const [first, second] = [own, base].map(({ at, expected, mean, sd }) => ({
    n: expected / Number(at.users),
    mean: mean ?? Number.NaN,
    sd: sd ?? Number.NaN,
  }))
  return first && second && first.n >= 2 && second.n >= 2 ? welch(first, second).p : null
}

/** `label`: a broker's or a mode's. */
export function paperSections(
  found: Pick<Analysis, 'figures' | 'levels'>,
  label: { readonly broker: (broker: Level) => string; readonly mode: (mode: Level) => string },
): readonly Section[] {
  const { mode: modes = [], users = [], broker: brokers = [] } = found.levels
  const besides = modes.flatMap((mode) => {
    const rows = publishedRows.flatMap((paper) => {
      const of = (name: PubsubMeasure) => figureAt(found, name, { ...paper, mode })
      const latency = of('meanMs')
      if (!latency) return []
      const lost = (100 * latency.lost) / latency.expected
      return [
        [
          count(paper.users),
          label.broker(paper.broker),
          spread(latency.mean, latency.sd),
          spread(paper.latencyMs, paper.latencySdMs),
          figure(lost),
          figure(paper.lossPercent),
          figure(of('kbps')?.mean),
          figure(paper.kbps),
        ],
      ]
    })
    const columns = ['Latency, ms', 'Paper', 'Lost, %', 'Paper', 'Bandwidth, kbit/s', 'Paper']
    const caption = `${label.mode(mode)}: means over the iterations, and the paper’s tables I, III and IV`
    return rows.length === 0 ? [] : [table(caption, ['Users', text('Broker'), ...columns], rows)]
  })
  const tests = modes.flatMap((mode) => {
    const rows = users.flatMap((size) =>
      brokers.flatMap((broker) => {
        const ps = (['meanMs', 'lost', 'kbps'] as const).map((name) => {
          const [own, base] = [broker, 'none'].map((one) =>
            figureAt(found, name, { broker: one, users: size, mode }),
          )
          return broker !== 'none' && own && base ? paperP(own, base) : null
        })
        if (ps.every((p) => p === null)) return []
        const words = ps.map((p) => (p === null ? nothing : probability(p)))
        return [[count(Number(size)), label.broker(broker), ...words]]
      }),
    )
    const columns = ['Users', text('Broker'), 'Latency', 'Lost messages', 'Bandwidth']
    const caption = `${label.mode(mode)}: p of Welch’s t-test over the iterations, against no broker`
    return rows.length === 0 ? [] : [table(caption, columns, rows)]
  })
  if (besides.length + tests.length === 0) return []
  return [
    {
      title: 'Beside the paper',
      tables: [...besides, ...tests],
      paragraphs: [
        'Ganaputra and Pardamean, “Asynchronous Publish/Subscribe Architecture over WebSocket for Building Real-time Web Applications”, Internetworking Indonesia Journal, 2015: 30 iterations over the Internet, on one Windows server with 1 GB of memory, with Amazon SQS. It does not say after what time a message counted as lost, nor where it was lost; its bandwidth is from a monitor that averages over a longer time.',
        'In its tables II, III and IV p is below 0.05 from 500 users on for latency, from 1,000 on for bandwidth, and at 5,000 and 10,000 for lost messages. Iterations of a session share servers and connections and resemble each other, so these p values overstate the evidence; the comparisons of this report count sessions.',
      ],
    },
  ]
}
