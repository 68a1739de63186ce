// Each mode in figures, and its ratio to WebSocket beside the ratio that the 2021 paper found.

import type { Summary } from '../../lab/stats/analysis.ts'
import type { ModeSummary } from '../../lab/stats/mode-summary.ts'
import { labelOf } from '../../lab/stats/names.ts'
import { count, figure, nothing, spread } from '../format.ts'
import { publishedMeansMs, ratioBase } from '../published.ts'
import { number, type Section, type Table, text } from '../section.ts'

export function modesSection({ modes, baseline }: Summary): Section {
  return {
    title: 'Transmission times',
    tables: [timesTable(modes, baseline), publishedTable(modes)],
    paragraphs: [
      'A sample is one message at one receiving window; its time runs from being handed to the transport to being received. Lost samples have no time, so they are counted and cannot be in any mean.',
      'The paper measured with three computers on a LAN in 2021. Milliseconds of different machines cannot be compared; ratios within one set of machines can, with care. It printed no standard deviations, so nobody knows how sure its ratios are.',
    ],
  }
}

function timesTable(modes: readonly ModeSummary[], baseline: string): Table {
  return {
    caption: 'Modes of this run; times in milliseconds',
    columns: [
      text('Mode'),
      ...['Received', 'Expected', 'Lost', 'Dup.', 'Reord.'].map(number),
      ...['Mean ± sd', 'Median', 'p95', 'p99', 'Max.'].map(number),
    ],
    rows: modes.map((mode) => [
      mode.mode === baseline ? `${labelOf(mode.mode)} (baseline)` : labelOf(mode.mode),
      ...[mode.n, mode.expected, mode.lost, mode.duplicated, mode.reordered].map(count),
      spread(mode.meanMs, mode.sdMs),
      ...[mode.p50Ms, mode.p95Ms, mode.p99Ms, mode.maxMs].map(figure),
    ]),
  }
}

/** The paper's three modes, measured here or not. */
function publishedTable(modes: readonly ModeSummary[]): Table {
  const meanHere = (name: string) => modes.find(({ mode }) => mode === name)?.meanMs ?? null
  return {
    caption:
      'Beside Table 1 of the 2021 paper (n = 200); means in milliseconds, and how many times WebSocket’s they are',
    columns: [text('Mode'), ...['Here', 'Ratio here', 'Paper', 'Ratio in paper'].map(number)],
    rows: Object.entries(publishedMeansMs).map(([mode, published]) => [
      labelOf(mode),
      figure(meanHere(mode)),
      ratio(meanHere(mode), meanHere(ratioBase)),
      String(published),
      ratio(published, publishedMeansMs[ratioBase] ?? null),
    ]),
  }
}

function ratio(mean: number | null, base: number | null): string {
  return mean === null || base === null ? nothing : figure(mean / base)
}
