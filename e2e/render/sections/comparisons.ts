// The differences with their intervals: drawn against the zero line, tested, corrected, and block by block.

import type { Summary } from '../../lab/stats/analysis.ts'
import { labelOf, opponentLabel, spokenName } from '../../lab/stats/names.ts'
import type { Comparison } from '../../lab/stats/verdict.ts'
import { intervals } from '../figures/intervals.ts'
import { count, figure, interval, nothing, probability, signed } from '../format.ts'
import { number, type Section, type Table, text } from '../section.ts'

const title = 'Differences'

export function comparisonsSection(summary: Summary): Section {
  const { comparisons } = summary
  const missing = summary.notCompared.map(
    ({ mode, baseline }) =>
      `${spokenName(mode)} could not be compared with ${spokenName(baseline)}: fewer than two messages arrived on one side.`,
  )
  if (comparisons.length === 0)
    return { title, tables: [], paragraphs: ['Nothing was compared.', ...missing] }
  return {
    title,
    figure: figureOf(summary),
    tables: [testsTable(comparisons, summary.clock.boundMs), blocksTable(comparisons)],
    paragraphs: [
      'The unit is the message, not the sample: windows that receive one message share its fate, so each message counts once, with its mean over the windows that received it. Welch’s t-test, two-sided; p corrected by Holm for all comparisons of this run; the intervals are for each comparison by itself.',
      `A difference is undecided where the corrected p is above 0.05, where its interval holds 0, or where it is no larger than the clock’s error of ${figure(summary.clock.boundMs)} ms.`,
      ...missing,
    ],
  }
}

function figureOf({ comparisons, clock }: Summary) {
  const rows = comparisons.map((comparison) => ({
    label: pairLabel(comparison),
    point: comparison.differenceMs,
    interval: comparison.ci95Ms,
    isDecided: comparison.verdict !== 'undecided',
    blocks: comparison.blocks.map(({ differenceMs }) => differenceMs),
  }))
  return {
    caption: `Difference of the means in milliseconds with its 95 % interval. Left of zero the first mode is faster. Filled: decided; hollow: undecided. Small uprights: the difference within each block. Shaded: the clock’s error, ± ${figure(clock.boundMs)} ms.`,
    description: comparisons
      .map(
        (comparison) =>
          `${pairLabel(comparison)}: ${signed(comparison.differenceMs)} ms, ${interval(comparison.ci95Ms)}, ${comparison.verdict}`,
      )
      .join('; '),
    draw: (width: number) =>
      intervals(rows, {
        width,
        axis: '← faster   difference, ms   slower →',
        references: [0],
        shadedTo: clock.boundMs,
      }),
  }
}

function pairLabel({ mode, baseline }: Comparison): string {
  return `${labelOf(mode)} − ${opponentLabel(baseline)}`
}

function testsTable(comparisons: readonly Comparison[], boundMs: number): Table {
  return {
    caption: 'Differences of the means, in milliseconds',
    columns: [
      text('Mode − against'),
      ...['Difference', '95 % interval'].map(number),
      text('Verdict'),
      ...['p (Welch)', 'p corrected', 'Messages'].map(number),
    ],
    rows: comparisons.map((comparison) => [
      pairLabel(comparison),
      signed(comparison.differenceMs),
      interval(comparison.ci95Ms),
      verdictText(comparison, boundMs),
      probability(comparison.p),
      probability(comparison.pCorrected),
      `${count(comparison.messages)} / ${count(comparison.baselineMessages)}`,
    ]),
  }
}

function verdictText({ verdict, differenceMs }: Comparison, boundMs: number): string {
  if (verdict !== 'undecided') return verdict
  return Math.abs(differenceMs) <= boundMs ? 'undecided (clock)' : 'undecided (chance)'
}

/** Does the difference hold in each block, or does one bad minute make it? */
function blocksTable(comparisons: readonly Comparison[]): Table {
  const numbers = [...new Set(comparisons.flatMap(({ blocks }) => blocks.map(({ block }) => block)))].sort(
    (a, b) => a - b,
  )
  return {
    caption: 'The same difference within each block, in milliseconds',
    columns: [text('Mode − against'), ...numbers.map((block) => number(`Block ${block}`))],
    rows: comparisons.map((comparison) => [
      pairLabel(comparison),
      ...numbers.map((wanted) => {
        const found = comparison.blocks.find(({ block }) => block === wanted)
        return found === undefined ? nothing : signed(found.differenceMs)
      }),
    ]),
  }
}
